//! A backup is never the copy itself: what an earlier session or a cut or failed run of the same command has put under
//! a name is not set aside, and takes the place of no backup.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;

use crate::support::listing::leftovers_below;
use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::typed::pump;
use crate::support::{Home, expect, make_folder, make_symlink, noise_file, outcome, set_mtime};

/// Sources `s` and an older target `t` of the same names and sizes, of another time; and what keeps a first run from
/// ending well: a folder in the place of `s/zz`.
fn home() -> Home {
    let home = Home::new();
    for folder in ["s", "t", "t/zz"] {
        make_folder(&home, folder);
    }
    for name in ["f1", "f2"] {
        for (folder, word, seconds) in [("s", "new", 2000), ("t", "old", 1000)] {
            let path = format!("{folder}/{name}");
            fs::write(home.path(&path), format!("{word} {name}")).expect("room");
            set_mtime(&home.path(&path), seconds * 1_000_000_000);
        }
    }
    fs::write(home.path("s/zz"), "zz").expect("room");
    fs::write(home.path("t/zz/in the way"), "").expect("room");
    make_symlink(&home, "new", "s/link");
    make_symlink(&home, "old", "t/link");
    home
}

/// What keeps a run from ending well goes: the folder in the place of a file, and a source that is missing.
fn end_well(home: &Home) {
    fs::remove_dir_all(home.path("t/zz")).expect("it is there");
    fs::rename(home.path("s/zz"), home.path("s/gone")).expect("one folder");
}

#[test]
fn a_run_behind_one_that_failed_makes_no_backups_of_its_copies() {
    for (flags, backup) in [
        ("--backup", "t/f1~"),
        ("--backup=numbered", "t/f1.~1~"),
        ("--backup=existing", "t/f1~"),
        ("--backup --suffix=.orig", "t/f1.orig"),
        ("--backup-dir kept", "t/kept/f1"),
        ("--backup --checksum", "t/f1~"),
        ("--backup --no-preserve=times", "t/f1~"),
        ("--backup --remove-source-files", "t/f1~"),
    ] {
        for source in ["s/f1 s/f2 s/link s/gone t/", "s/ t"] {
            let home = home();
            let line = format!("copy -d {flags} {source}");
            let first = home.pump(&line.split(' ').collect::<Vec<_>>());
            assert!(first.status != 0, "{line}: {first:?}");
            end_well(&home);
            for run in ["second", "third"] {
                if run == "third" && flags.contains("remove") {
                    break;
                }
                pump(&home, &line, 0, &[]);
                let found = [home.text("t/f1"), home.text(backup)];
                assert_eq!(found, ["new f1", "old f1"], "{line}: {run}");
                let old = fs::read_link(home.path(backup.replace("f1", "link"))).expect("a link");
                assert_eq!(old.to_str(), Some("old"), "{line}: {run}");
                let count = fs::read_dir(home.path(backup).parent().expect("one")).expect("a folder").count();
                let expected = if flags.contains("dir") { 3 } else { 7 };
                assert_eq!(count, expected, "{line}: {run}: no backup more");
            }
            assert_eq!(leftovers_below(&home.path("")), Vec::<String>::new(), "{line}");
        }
    }
}

/// Its source may have changed since: then it is kept, and takes the place of no backup.
#[test]
fn what_a_failed_run_put_replaces_no_backup_when_its_source_has_changed() {
    for source in ["s/f1 s/f2 s/gone t/", "s/ t"] {
        let home = home();
        let line = format!("copy --backup {source}");
        let first = home.pump(&line.split(' ').collect::<Vec<_>>());
        assert!(first.status != 0, "{line}: {first:?}");
        fs::write(home.path("s/f1"), "newer f1").expect("room");
        end_well(&home);
        pump(&home, &line, 0, &[]);
        let found = ["f1", "f1~", "f1.~1~", "f2~"].map(|name| home.text(format!("t/{name}")));
        assert_eq!(found, ["newer f1", "old f1", "new f1", "old f2"], "{line}");
        assert_eq!(leftovers_below(&home.path("")), Vec::<String>::new(), "{line}");
        // Behind a run that ended well a simple backup replaces the one before it.
        fs::write(home.path("s/f1"), "newest f1").expect("room");
        pump(&home, &line, 0, &[]);
        let found = ["f1", "f1~", "f1.~1~"].map(|name| home.text(format!("t/{name}")));
        assert_eq!(found, ["newest f1", "newer f1", "new f1"], "{line}");
    }
}

#[test]
fn what_has_size_and_time_of_the_copy_and_another_content_replaces_no_backup() {
    let home = home();
    fs::write(home.path("t/f1~"), "first").expect("room");
    set_mtime(&home.path("t/f1"), 2_000_000_000_000);
    pump(&home, "copy --backup s/f1 t/", 0, &[]);
    let found = ["f1", "f1~", "f1.~1~"].map(|name| home.text(format!("t/{name}")));
    assert_eq!(found, ["new f1", "first", "old f1"]);
}

#[test]
fn a_further_name_of_a_copied_file_is_no_older_state() {
    let home = home();
    fs::remove_file(home.path("s/f2")).expect("it is there");
    fs::hard_link(home.path("s/f1"), home.path("s/f2")).expect("one file system");
    let first = home.pump(&["copy", "--backup", "s/", "t"]);
    assert!(first.status != 0, "{first:?}");
    fs::remove_dir_all(home.path("t/zz")).expect("it is there");
    for _ in 0..2 {
        pump(&home, "copy --backup s/ t", 0, &[]);
        let found = ["f1", "f1~", "f2", "f2~"].map(|name| home.text(format!("t/{name}")));
        assert_eq!(found, ["new f1", "old f1", "new f1", "old f2"]);
    }
}

/// Ctrl-C and kill -9, while a large file is under way.
#[test]
fn a_run_behind_one_that_was_cut_makes_no_backups_of_its_copies() {
    for signal in [Signal::INT, Signal::KILL] {
        for (source, is_changed) in
            [("s/f1 s/f2 s/large t/", false), ("s/f1 s/f2 s/large t/", true), ("s/ t", false)]
        {
            let home = home();
            fs::remove_dir_all(home.path("t/zz")).expect("it is there");
            noise_file(&home, "s/large", 8 << 20, 1);
            fs::write(home.path("t/large"), "old large").expect("room");
            let line = format!("copy --backup {source}");
            let slow = format!("{line} --bwlimit 1MiB --lanes 2");
            let running = Running::start(home.command(&slow.split(' ').collect::<Vec<_>>()));
            eventually("both are put", || {
                ["t/f1", "t/f2"].iter().all(|name| home.text(name).starts_with("new"))
            });
            running.signal(signal);
            running.end();
            if is_changed {
                fs::write(home.path("s/f1"), "newer f1").expect("room");
            }
            pump(&home, &line, 0, &[]);
            let found = ["f1~", "f2~", "large~"].map(|name| home.text(format!("t/{name}")));
            assert_eq!(found, ["old f1", "old f2", "old large"], "{signal:?} {line}");
            assert_eq!(home.path("t/f1.~1~").exists(), is_changed, "{signal:?} {line}");
            assert_eq!(leftovers_below(&home.path("")), Vec::<String>::new(), "{signal:?} {line}");
        }
    }
}

/// Carries connections to an address, until they are cut.
struct Cable {
    address: String,
    ends: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cable {
    fn to(address: &str) -> Cable {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (to, ends) = (address.to_owned(), Arc::new(Mutex::new(Vec::new())));
        let cable =
            Cable { address: listener.local_addr().expect("its own").to_string(), ends: Arc::clone(&ends) };
        thread::spawn(move || {
            for from in listener.incoming().map_while(Result::ok) {
                let Ok(to) = TcpStream::connect(&to) else { continue };
                for (one, other) in [(&from, &to), (&to, &from)] {
                    let (one, other) = (one.try_clone().expect("room"), other.try_clone().expect("room"));
                    ends.lock().expect("no panic").push(one.try_clone().expect("room"));
                    thread::spawn(move || carry(one, other));
                }
            }
        });
        cable
    }

    fn cut(&self) {
        self.ends.lock().expect("no panic").drain(..).for_each(|end| drop(end.shutdown(Shutdown::Both)));
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn a_session_behind_a_lost_one_makes_no_backups_of_its_copies() {
    for (pushes, source, is_changed) in [
        (true, &["f1", "f2", "large"][..], false),
        (true, &["f1", "f2", "large"], true),
        (true, &[""], false),
        (false, &["f1", "f2", "large"], false),
        (false, &["f1", "f2", "large"], true),
        (false, &[""], false),
    ] {
        let row = format!("pushes {pushes}, {source:?}, changed {is_changed}");
        let home = home();
        fs::remove_dir_all(home.path("t/zz")).expect("it is there");
        fs::write(home.path("t/large"), "old large").expect("room");
        noise_file(&home, "s/large", 8 << 20, 1);
        let served = if pushes { "t" } else { "s" };
        make_folder(&home, "served");
        fs::rename(home.path(served), home.path(format!("served/{served}"))).expect("one folder");
        let (s, t) = if pushes { ("s", "served/t") } else { ("served/s", "t") };
        let serving = Serving::new(&home, &[]);
        let cable = Cable::to(&serving.address);
        let at = |name: &str| format!("pump://{}/{name}", cable.address);
        let target = if pushes { at("t/") } else { "t/".to_owned() };
        let sources =
            source.iter().map(|name| if pushes { format!("s/{name}") } else { at(&format!("s/{name}")) });
        let mut words =
            ["copy", "--ticket-file", "ticket", "--backup", "--bwlimit", "1MiB"].map(str::to_owned).to_vec();
        words.extend(sources.chain([target]));
        let running = Running::start(home.command(&words));
        let is_put = |name: &&str| home.text(format!("{t}/{name}")).starts_with("new");
        eventually("both are put", || ["f1", "f2"].iter().all(is_put));
        if is_changed {
            fs::write(home.path(format!("{s}/f1")), "newer f1").expect("room");
        }
        cable.cut();
        let end = running.end();
        // A pulled source that changed meanwhile is told.
        assert!(matches!(end.status, 0 | 24) && end.err.contains("again"), "{row}: {end:?}");
        let found = ["f1~", "f2~", "large~"].map(|name| home.text(format!("{t}/{name}")));
        assert_eq!(found, ["old f1", "old f2", "old large"], "{row}: {end:?}");
        if end.status == 0 {
            let left = leftovers_below(&home.path(""));
            assert_eq!(left, Vec::<String>::new(), "{row}: {end:?}");
        }
    }
}

/// What a mirror put before it was killed is doubted by its list, and copied again.
#[test]
fn a_mirror_behind_a_killed_one_keeps_the_old_content_in_the_folder_of_backups() {
    let home = home();
    fs::remove_dir_all(home.path("t/zz")).expect("it is there");
    noise_file(&home, "s/large", 8 << 20, 1);
    let words = ["mirror", "--backup-dir", "kept", "s", "t"];
    let slow = home.command(&[&words[..], &["--bwlimit", "1MiB", "--lanes", "2"]].concat());
    let running = Running::start(slow);
    eventually("both are put", || ["t/f1", "t/f2"].iter().all(|name| home.text(name).starts_with("new")));
    running.signal(Signal::KILL);
    running.end();
    fs::write(home.path("s/f2"), "newer f2").expect("room");
    expect(&home.pump(&words), 0, &[], "again");
    let found = ["f1", "f2", "f2.~1~"].map(|name| home.text(format!("t/kept/{name}")));
    assert_eq!(found, ["old f1", "old f2", "new f2"]);
    assert!(!home.path("t/kept/f1.~1~").exists(), "f1 is as it was");
}

/// What the first run puts where nothing stood is known to the second one, whatever it is and however it got its name.
#[test]
fn what_a_failed_run_put_where_nothing_stood_replaces_no_backup() {
    for (flags, old) in
        [("--backup", "t/"), ("--backup=existing", "t/"), ("--backup-dir kept --suffix ~", "t/kept/")]
    {
        for source in ["s/f s/link s/other s/gone t/", "s/ t"] {
            let home = Home::new();
            for folder in ["s", "t", "t/kept", "t/zz"] {
                make_folder(&home, folder);
            }
            fs::write(home.path("t/zz/in the way"), "").expect("room");
            fs::write(home.path("s/zz"), "zz").expect("room");
            fs::write(home.path("s/f"), "new").expect("room");
            fs::hard_link(home.path("s/f"), home.path("s/other")).expect("one file system");
            make_symlink(&home, "new", "s/link");
            for name in ["f~", "link~", "other~"] {
                fs::write(home.path(old).join(name), "precious").expect("room");
            }
            let line = format!("copy -d {flags} {source}");
            let first = home.pump(&line.split(' ').collect::<Vec<_>>());
            assert!(first.status != 0, "{line}: {first:?}");
            assert_eq!(home.text("t/other"), "new", "{line}");
            fs::write(home.path("s/f"), "newer").expect("room");
            fs::remove_file(home.path("s/link")).expect("it is there");
            make_symlink(&home, "newer", "s/link");
            end_well(&home);
            pump(&home, &line, 0, &[]);
            for name in ["f", "link", "other"] {
                let there = fs::read_to_string(home.path(old).join(format!("{name}~")));
                assert_eq!(there.ok().as_deref(), Some("precious"), "{line}: {name}");
            }
            assert_eq!(["t/f", "t/other"].map(|name| home.text(name)), ["newer"; 2], "{line}");
            let to = fs::read_link(home.path("t/link")).expect("a link");
            assert_eq!(to.to_str(), Some("newer"), "{line}");
            assert_eq!(leftovers_below(&home.path("")), Vec::<String>::new(), "{line}");
        }
    }
}

/// It may be the last copy of what the source has lost since.
#[test]
fn what_a_failed_run_put_is_replaced_by_no_backup() {
    for source in ["s/f1 s/f1~ s/gone t/", "s/ t"] {
        let home = home();
        fs::write(home.path("s/f1~"), "of the source").expect("room");
        // The one there is newer, and stays.
        set_mtime(&home.path("t/f1"), 3_000_000_000_000);
        let line = format!("copy -u --backup {source}");
        let first = home.pump(&line.split(' ').collect::<Vec<_>>());
        assert!(first.status != 0, "{line}: {first:?}");
        end_well(&home);
        fs::remove_file(home.path("s/f1~")).expect("it is there");
        set_mtime(&home.path("s/f1"), 4_000_000_000_000);
        pump(&home, &line.replace("s/f1~ ", ""), 0, &[]);
        let found = ["f1", "f1~", "f1.~1~"].map(|name| home.text(format!("t/{name}")));
        assert_eq!(found, ["new f1", "of the source", "old f1"], "{line}");
    }
}

/// Names of one file are put where one of them is newer, and stays.
#[test]
fn of_names_of_one_file_each_that_is_replaced_has_one_backup() {
    for (flags, backups) in [
        ("--backup", "t/"),
        ("--backup=existing", "t/"),
        ("--backup-dir kept", "t/kept/"),
        ("--backup --lanes 1", "t/"),
    ] {
        for stood in [true, false] {
            let home = Home::new();
            for folder in ["s", "t", "t/kept"] {
                make_folder(&home, folder);
            }
            fs::write(home.path("s/a"), "source").expect("room");
            set_mtime(&home.path("s/a"), 1_000_000_000_000_000);
            for name in ["s/b", "s/c"] {
                fs::hard_link(home.path("s/a"), home.path(name)).expect("one file system");
            }
            let suffix = if flags.contains("dir") { "" } else { "~" };
            for (name, seconds) in [("a", 500_000), ("b", 500_000), ("c", 2_000_000)] {
                if !stood && name != "c" {
                    fs::write(home.path(format!("{backups}{name}{suffix}")), format!("old {name}"))
                        .expect("room");
                    continue;
                }
                fs::write(home.path(format!("t/{name}")), format!("old {name}")).expect("room");
                set_mtime(&home.path(format!("t/{name}")), seconds * 1_000_000_000);
            }
            let line = format!("copy -T -u {flags} s t");
            pump(&home, &line, 0, &[]);
            for name in ["a", "b"] {
                let found = [format!("t/{name}"), format!("{backups}{name}{suffix}")];
                let found = found.map(|name| home.text(name));
                assert_eq!(found, ["source".to_owned(), format!("old {name}")], "{line} {stood}");
            }
            assert_eq!(home.text("t/c"), "old c", "{line} {stood}");
            let count = fs::read_dir(home.path(backups)).expect("a folder").count();
            let expected = if suffix.is_empty() { 2 } else { 6 };
            assert_eq!(count, expected, "{line} {stood}: no backup more");
        }
    }
}

/// A small file that a copy with backups keeps in its target is nothing that another copy takes along.
#[test]
fn what_a_failed_run_put_is_noted_for_that_run_alone() {
    let note = |home: &Home, folder: &str| {
        let names =
            fs::read_dir(home.path(folder)).expect("a folder").flatten().map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).find(|name| name.starts_with(".pump-"))
    };
    for is_torn in [false, true] {
        for line in [
            "copy --backup s/ t/",
            "copy --backup --remove-source-files s/ t/",
            "mirror s t",
            "copy --backup s/f1 s/NOTE t/",
            "copy --ticket-file ticket s/ AT/t/",
            "copy --ticket-file ticket --backup AT/s/ t/",
            "copy --ticket-file ticket --backup AT/s/f1 AT/s/NOTE t/",
        ] {
            let home = home();
            fs::remove_dir_all(home.path("t/zz")).expect("it is there");
            let first = home.pump(&["copy", "--backup", "t/f1", "t/gone", "s/"]);
            assert!(first.status != 0, "{first:?}");
            let noted = note(&home, "s").unwrap_or_else(|| panic!("{line}: a note"));
            if is_torn {
                fs::File::create(home.path("s").join(&noted)).expect("it is there");
            }
            let serving = Serving::start(home.command(&["serve", ".", "--ticket-file", "ticket"]));
            let line = line.replace("NOTE", &noted).replace("AT", &format!("pump://{}", serving.address));
            for run in ["first", "second"] {
                let done = home.pump(&line.split(' ').collect::<Vec<_>>());
                assert_eq!(done.status, 0, "{line} {is_torn} {run}: {done:?}");
                assert_eq!(note(&home, "t"), None, "{line} {is_torn} {run}");
                assert_eq!(home.text("t/f1"), "old f1", "{line} {is_torn} {run}");
                if !line.contains("remove") {
                    assert_eq!(note(&home, "s").as_ref(), Some(&noted), "{line}: {run}");
                }
            }
            if line.contains(" s/ pump:") {
                pump(&home, "verify s t", 0, &[]);
            }
        }
    }
}

/// Between a run that failed and its repetition others end well, which deal with other names.
#[test]
fn a_run_of_other_names_leaves_what_a_failed_run_put() {
    for between in ["copy --backup --exclude f1 -T s t", "copy --backup -T other t", "copy --backup s/f2 t/"]
    {
        let home = home();
        make_folder(&home, "other");
        fs::write(home.path("other/x"), "x").expect("room");
        let first = home.pump(&["copy", "--backup", "-T", "s", "t"]);
        assert!(first.status != 0, "{between}: {first:?}");
        end_well(&home);
        pump(&home, between, 0, &[]);
        fs::write(home.path("s/f1"), "newer f1").expect("room");
        pump(&home, "copy --backup -T s t", 0, &[]);
        let found = ["f1", "f1~", "f1.~1~"].map(|name| home.text(format!("t/{name}")));
        assert_eq!(found, ["newer f1", "old f1", "new f1"], "{between}");
        assert_eq!(leftovers_below(&home.path("")), Vec::<String>::new(), "{between}");
    }
}

/// The same words in another folder are another command.
#[test]
fn a_run_of_the_same_words_elsewhere_leaves_what_a_failed_run_put() {
    for (source, other, pushes) in
        [("./", "other", false), ("../s/", "other/deeper", false), ("./", "other", true)]
    {
        let row = format!("{source}, pushes {pushes}");
        let home = home();
        for folder in ["other", "other/deeper", "other/s", "served"] {
            make_folder(&home, folder);
        }
        fs::write(home.path("other/x"), "x").expect("room");
        let t = if pushes { "served/t" } else { "t" };
        fs::rename(home.path("t"), home.path(t)).expect("one folder");
        let serving = pushes.then(|| Serving::new(&home, &[]));
        let here = home.path(t).display().to_string();
        let target = serving.as_ref().map_or(here, |serving| format!("pump://{}/t", serving.address));
        let ticket = home.path("ticket").display().to_string();
        let run_in = |folder: &str| {
            let with_ticket = pushes.then_some(["--ticket-file", &ticket]);
            let words = ["copy", "--backup", "-T", source, &target];
            let words: Vec<_> = words.into_iter().chain(with_ticket.into_iter().flatten()).collect();
            let mut command = home.command(&words);
            command.current_dir(home.path(folder));
            outcome(command, b"")
        };
        let first = run_in("s");
        assert!(first.status != 0, "{row}: {first:?}");
        expect(&run_in(other), 0, &[], other);
        fs::remove_dir_all(home.path(t).join("zz")).expect("it is there");
        fs::write(home.path("s/f1"), "newer f1").expect("room");
        expect(&run_in("s"), 0, &[], source);
        let found = ["f1", "f1~", "f1.~1~"].map(|name| home.text(format!("{t}/{name}")));
        assert_eq!(found, ["newer f1", "old f1", "new f1"], "{row}");
        assert_eq!(leftovers_below(&home.path("")), Vec::<String>::new(), "{row}");
    }
}

/// A run finds right what one that failed has put, and puts nothing: then nothing is left of that one.
#[test]
fn a_run_that_finds_all_of_it_right_leaves_no_note() {
    for (first, second) in [
        // Another command, of which each name was dealt with.
        ("copy -d --backup s/f1 s/link s/gone t/", "copy -d -u --backup s/f1 s/link t/"),
        ("copy -u --backup -T s t", "copy -u --backup -T s t"),
    ] {
        let home = home();
        let failed = home.pump(&first.split(' ').collect::<Vec<_>>());
        assert!(failed.status != 0, "{first}: {failed:?}");
        assert!(!leftovers_below(&home.path("")).is_empty(), "{first}: a note");
        fs::remove_dir_all(home.path("t/zz")).expect("it is there");
        fs::remove_file(home.path("s/zz")).expect("it is there");
        pump(&home, second, 0, &[]);
        assert_eq!(leftovers_below(&home.path("")), Vec::<String>::new(), "{second}");
    }
}

/// A command has ended well when all of it has: its sources are removed, too, and so it is with each of its trees.
#[test]
fn what_a_tree_put_is_known_until_the_whole_command_has_ended_well() {
    let home = home();
    end_well(&home);
    make_folder(&home, "b");
    fs::write(home.path("b/x"), "x").expect("room");
    make_folder(&home, "both");
    fs::rename(home.path("t"), home.path("both/s")).expect("one folder");
    make_folder(&home, "both/b");
    make_folder(&home, "both/b/x");
    fs::write(home.path("both/b/x/in the way"), "").expect("room");
    let line = "copy --backup s b both/";
    let first = home.pump(&line.split(' ').collect::<Vec<_>>());
    assert!(first.status != 0, "{first:?}");
    fs::remove_dir_all(home.path("both/b/x")).expect("it is there");
    fs::write(home.path("s/f1"), "newer f1").expect("room");
    // Its folder is closed to its owner by then.
    fs::set_permissions(home.path("s"), PermissionsExt::from_mode(0o555)).expect("its own");
    pump(&home, line, 0, &[]);
    let found = ["f1", "f1~", "f1.~1~"].map(|name| home.text(format!("both/s/{name}")));
    assert_eq!(found, ["newer f1", "old f1", "new f1"]);
    let mode = fs::metadata(home.path("both/s")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o555);
    for name in ["s", "both/s"] {
        fs::set_permissions(home.path(name), PermissionsExt::from_mode(0o755)).expect("its own");
    }
    assert_eq!(leftovers_below(&home.path("")), Vec::<String>::new());
}

/// The first run could not keep the time, and the second one can.
#[test]
fn a_copy_that_lost_its_time_is_the_copy_all_the_same() {
    for line in
        ["copy --backup s/f1 s/f2 s/link t/ -d", "copy --backup -T s t", "mirror --backup-dir kept s t"]
    {
        let home = home();
        end_well(&home);
        pump(&home, line, 0, &[]);
        for name in ["f1", "f2"] {
            let copy = fs::File::options().write(true).open(home.path(format!("t/{name}")));
            copy.expect("it is there").set_modified(SystemTime::now()).expect("its own time");
        }
        pump(&home, line, 0, &[]);
        let old = if line.contains("dir") { ["t/kept/f1", "t/kept/f2"] } else { ["t/f1~", "t/f2~"] };
        assert_eq!(old.map(|name| home.text(name)), ["old f1", "old f2"], "{line}");
    }
}

/// An older state that no run is known to have put may be large: it gets its backup, whatever its content.
#[test]
fn what_nothing_tells_to_be_a_copy_is_not_read() {
    for line in ["copy --backup s/f1 s/f2 t/", "copy --backup -T s t", "copy --backup-dir kept -T s t"] {
        let home = home();
        end_well(&home);
        for name in ["t/f1", "t/f2"] {
            fs::write(home.path(name), home.text(name).replace("old", "new")).expect("room");
            set_mtime(&home.path(name), 1_000_000_000_000);
        }
        if fs::metadata(home.path("t/f1")).expect("it is there").created().is_err() {
            eprintln!("not tested: what is not read: no file here tells its birth");
            return;
        }
        pump(&home, line, 0, &[]);
        let old = if line.contains("dir") { ["t/kept/f1", "t/kept/f2"] } else { ["t/f1~", "t/f2~"] };
        for path in old {
            let meta =
                fs::metadata(home.path(path)).unwrap_or_else(|error| panic!("{line}: {path}: {error}"));
            let set = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
            assert_eq!(meta.modified().expect("a time"), set, "{line}: {path}");
        }
    }
}
