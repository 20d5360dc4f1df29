//! Sources and targets on a file system whose clock ticks in whole seconds (ext4 with inodes of 128 bytes): what is
//! written twice within a second has the same times after both, and so have its copies. Only reading tells.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::running::Running;
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, expect, has_content, noise, noise_file};
use crate::wider_parts::{Mount, pump_command};
use rustix::process::Signal;

const BYTES: usize = 2 << 20;
/// A second may be over before the test has done in it what it wants.
const SECONDS_TRIED: usize = 30;

fn mount() -> (Mount, PathBuf) {
    let mount = Mount::ext4(64, &["-I", "128"]);
    let folder = PathBuf::from(mount.point());
    fs::write(folder.join("probe"), "").expect("room");
    assert_eq!(meta(&folder.join("probe")).ctime_nsec(), 0, "it tells whole seconds");
    (mount, folder)
}

fn meta(path: &Path) -> fs::Metadata {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn times(path: &Path) -> (u64, i64, i64, i64, i64) {
    let meta = meta(path);
    (meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec())
}

fn await_new_second() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later");
    std::thread::sleep(Duration::from_secs(1) - Duration::from_nanos(now.subsec_nanos().into()));
    // The kernel's clock of the last tick comes behind.
    std::thread::sleep(Duration::from_millis(15));
}

/// Runs a copy and changes its source in the middle, in the second in which `watched` was written. `None`: the second
/// was over.
fn within_a_second(
    words: &[&str],
    (target, watched): (&Path, &Path),
    write: impl FnOnce(),
    change: impl FnOnce(),
) -> Option<Outcome> {
    await_new_second();
    write();
    let before = times(watched);
    let slow = ["copy", "--lanes=1", "--request-size=16KiB", "--bwlimit=1MiB"];
    let mut running = Running::start(pump_command(&[&slow[..], words].concat()));
    running.await_temporary(target);
    // At the rate of this copy that is a part of its content: what is rewritten before is copied, and no change.
    std::thread::sleep(std::time::Duration::from_millis(300));
    running.signal(Signal::STOP);
    let is_on_time = !running.has_ended();
    change();
    let is_hidden = times(watched) == before;
    running.signal(Signal::CONT);
    let ended = running.end();
    (is_on_time && is_hidden).then_some(ended)
}

#[test]
fn a_source_that_is_rewritten_in_its_second_is_no_mix() {
    let (_mount, source) = mount();
    for (row, to_host) in [("here", false), ("pushed", true)] {
        let served = Home::new();
        fs::create_dir(served.path("served")).expect("room");
        let serving = Serving::new(&served, &[]);
        let (to, ticket) = (serving.at("copy"), served.path("ticket").display().to_string());
        let copy = served.path("served/copy");
        let to = if to_host { to } else { copy.display().to_string() };
        let file = source.join("file");
        let from = file.display().to_string();
        let ended = (0..SECONDS_TRIED).find_map(|_| {
            let _ = fs::remove_file(&copy);
            let words = ["--ticket-file", &*ticket, &*from, &*to];
            let write = || fs::write(&file, noise(BYTES, 1)).expect("room");
            let change = || {
                use std::os::unix::fs::FileExt;
                let open = fs::OpenOptions::new().write(true).open(&file).expect("it is there");
                open.write_all_at(&noise(BYTES, 2), 0).expect("room");
            };
            within_a_second(&words, (&served.path("served"), &file), write, change)
        });
        let ended = ended.expect("one of the seconds is long enough");
        expect(&ended, 24, &["file'", "copy again when the source is quiet"], row);
        assert!(!copy.exists(), "{row}: half of the one, half of the other");
        // Left alone it is copied, in its second or not.
        fs::write(&file, noise(BYTES, 3)).expect("room");
        let again = Running::start(pump_command(&["copy", "--ticket-file", &*ticket, &*from, &*to])).end();
        expect(&again, 0, &[], row);
        has_content(&copy, &noise(BYTES, 3), row);
        fs::remove_file(&copy).expect("it was copied");
    }
}

/// A name that is moved into a walked folder, in the second of its last change, shows nowhere but in its listing.
#[test]
fn what_is_renamed_in_the_second_of_its_folders_stays_in_the_backup() {
    let (_mount, folder) = mount();
    let home = Home::new();
    for name in ["copy", "copy/one", "copy/two"] {
        fs::create_dir(home.path(name)).expect("room");
    }
    fs::create_dir(folder.join("one")).expect("room");
    fs::create_dir(folder.join("two")).expect("room");
    noise_file(&home, "large", 2 << 20, 1);
    let places: Vec<String> = [folder.join("one"), home.path("large"), folder.join("two"), home.path("copy")]
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let ended = (0..SECONDS_TRIED).find_map(|_| {
        for name in ["one/moved", "one/first", "two/moved"] {
            let _ = fs::remove_file(folder.join(name));
        }
        let _ = fs::remove_file(home.path("copy/large"));
        fs::write(folder.join("two/moved"), "precious").expect("room");
        fs::write(home.path("copy/two/moved"), "precious").expect("room");
        let words: Vec<&str> =
            ["--update", "--delete"].into_iter().chain(places.iter().map(|it| &**it)).collect();
        let write = || {
            // A file that is new itself would be waited for.
            let first = fs::File::create(folder.join("one/first")).expect("room");
            first.set_modified(UNIX_EPOCH).expect("it is ours");
        };
        let change =
            || fs::rename(folder.join("two/moved"), folder.join("one/moved")).expect("one file system");
        within_a_second(&words, (&home.path("copy"), &folder.join("one")), write, change)
    });
    let ended = ended.expect("one of the seconds is long enough");
    // It was in neither folder when that was walked, and no time tells so: the folder is listed once more.
    expect(&ended, 0, &["1 deleted"], "renamed");
    has_content(&home.path("copy/one/moved"), b"precious", "copied where it is by now");
    assert!(!home.path("copy/two/moved").exists(), "removed where it was");
}

/// A whole tree that is written and copied in one second, and one that nobody touches any more.
#[test]
fn what_is_new_and_left_alone_is_copied_and_mirrored() {
    let (_mount, folder) = mount();
    let home = Home::new();
    fs::create_dir_all(home.path("copy/sub")).expect("room");
    fs::write(home.path("copy/sub/old"), "too much").expect("room");
    fs::create_dir_all(folder.join("tree/sub")).expect("room");
    for number in 0..50 {
        fs::write(folder.join("tree/sub").join(number.to_string()), noise(10_000, number)).expect("room");
    }
    let (from, to) = (folder.join("tree").display().to_string(), home.path("copy").display().to_string());
    let ended = Running::start(pump_command(&["mirror", &from, &to])).end();
    expect(&ended, 0, &[], "new");
    expect(&Running::start(pump_command(&["verify", &from, &to])).end(), 0, &[], "new");
    assert!(!home.path("copy/sub/old").exists(), "new");
    fs::write(folder.join("tree/sub/7"), noise(10_000, 77)).expect("room");
    let ended =
        Running::start(pump_command(&["copy", "-T", "--update", "--remove-source-files", &from, &to])).end();
    expect(&ended, 0, &[], "moved");
    assert_eq!(
        fs::read_dir(folder.join("tree/sub")).expect("folders stay").count(),
        0,
        "all of it is copied"
    );
    has_content(&home.path("copy/sub/7"), &noise(10_000, 77), "moved");
}

/// Copies OLD, and writes NEW over its source in the second of that: all that the copy's file system tells is the same.
/// The copy has the source's times as far as the file system keeps them.
#[test]
fn times_that_the_disk_rounds_are_no_difference() {
    let (_mount, folder) = mount();
    let home = Home::new();
    fs::create_dir_all(home.path("tree/sub")).expect("room");
    noise_file(&home, "tree/sub/a", 1000, 1);
    noise_file(&home, "tree/b", 1000, 2);
    let (from, to) = (home.path("tree").display().to_string(), folder.join("copy").display().to_string());
    expect(&Running::start(pump_command(&["mirror", &from, &to])).end(), 0, &[], "copied");
    for words in [["verify", &from, &to], ["verify", &to, &from]] {
        expect(&Running::start(pump_command(&words)).end(), 0, &[], words[1]);
    }
    let older = fs::File::open(folder.join("copy/b")).expect("it was copied");
    older.set_modified(UNIX_EPOCH + Duration::from_secs(1_577_836_800)).expect("it is ours");
    expect(&Running::start(pump_command(&["verify", &from, &to])).end(), 1, &["was changed at"], "older");
}

fn rewritten_within_a_second(file: &Path, copy: &Path, words: &[&str]) {
    let is_hidden = (0..SECONDS_TRIED).any(|_| {
        let _ = fs::remove_file(copy);
        await_new_second();
        fs::write(file, "OLD").expect("room");
        expect(&Running::start(pump_command(words)).end(), 0, &[], "first");
        let second = meta(file).mtime();
        fs::write(file, "NEW").expect("room");
        let is_hidden = meta(file).mtime() == second;
        assert_eq!(meta(copy).mtime(), second, "it has the time of its source");
        is_hidden && meta(copy).ctime() == second
    });
    assert!(is_hidden, "one of the seconds is long enough");
    // So that the time of the source is none that could change once more.
    await_new_second();
}

#[test]
fn what_was_rewritten_in_the_second_of_its_copy_is_copied_anew() {
    let (_mount, folder) = mount();
    let (home, served) = (Home::new(), folder.join("served"));
    fs::create_dir(&served).expect("room");
    fs::create_dir(home.path("from")).expect("room");
    let (file, from) = (home.path("from/file"), home.path("from").display().to_string());
    let serving =
        Serving::start(home.command(&["serve", &served.display().to_string(), "--ticket-file", "ticket"]));
    let (ticket, far) = (home.path("ticket").display().to_string(), serving.at("far"));
    let near = served.join("near").display().to_string();
    let named = [file.display().to_string(), served.join("named").display().to_string()];
    for (words, copy) in [
        (&["mirror", &from, &near][..], "near/file"),
        (&["mirror", &from, &far], "far/file"),
        (&["copy", "-T", "--update", &from, &near], "near/file"),
        (&["copy", "-T", "--update", &named[0], &named[1]], "named"),
    ] {
        let words = [words, &["--ticket-file", &ticket]].concat();
        let (row, copy) = (format!("{words:?}"), served.join(copy));
        rewritten_within_a_second(&file, &copy, &words);
        expect(&Running::start(pump_command(&words)).end(), 0, &[], &row);
        has_content(&copy, b"NEW", &row);
    }
    // What was made later than its source could get that time again is not read.
    fs::File::open(&file)
        .and_then(|file| file.set_modified(UNIX_EPOCH + Duration::from_millis(7_500)))
        .expect("ours");
    let words = ["copy", "-T", "--update=differs", "-v", &from, &near];
    expect(&Running::start(pump_command(&words)).end(), 0, &[], "with an old time");
    let again = Running::start(pump_command(&words)).end();
    expect(&again, 0, &["equal in size and time"], "again");
}

#[test]
fn what_was_rewritten_in_the_second_of_its_copy_is_linked_to_no_older_one() {
    let (_mount, folder) = mount();
    let home = Home::new();
    fs::create_dir(home.path("from")).expect("room");
    let from = home.path("from").display().to_string();
    let [older, new] = ["older", "new"].map(|name| folder.join(name).display().to_string());
    let copy = folder.join("older/file");
    rewritten_within_a_second(&home.path("from/file"), &copy, &["copy", "-T", &from, &older]);
    let named = home.path("from/file").display().to_string();
    for (words, source) in [(&["copy", "-T"][..], from), (&["copy"], named)] {
        fs::create_dir(&new).expect("room");
        let words = [words, &["--link-dest", &older, &source, &new]].concat();
        expect(&Running::start(pump_command(&words)).end(), 0, &[], &source);
        has_content(&folder.join("new/file"), b"NEW", &source);
        has_content(&copy, b"OLD", &source);
        fs::remove_dir_all(&new).expect("it is there");
    }
}

#[test]
fn what_was_rewritten_in_the_second_of_its_copy_does_not_go() {
    let (_mount, folder) = mount();
    let home = Home::new();
    fs::create_dir(home.path("from")).expect("room");
    let (file, copy) = (home.path("from/file"), folder.join("copy/file"));
    let from = home.path("from").display().to_string();
    let to = folder.join("copy").display().to_string();
    let named = [file.display().to_string(), copy.display().to_string()];
    for update in ["--update", "--update=differs"] {
        for [from, to] in [[&from, &to], [&named[0], &named[1]]] {
            for is_touched in [false, true] {
                let row = format!("{update} {from} {is_touched}");
                rewritten_within_a_second(&file, &copy, &["copy", "-T", from, to]);
                // Of what is named nobody asks whose clock its file system has: it is compared anyhow.
                let is_believed = is_touched && *from != named[0];
                if is_touched {
                    // Nothing tells any more when it was made: only what is to go is read.
                    await_new_second();
                    await_new_second();
                    let mode = meta(&copy).permissions();
                    fs::set_permissions(&copy, mode).expect("it is ours");
                }
                let words = ["copy", "-T", update, "--remove-source-files", from, to];
                let ended = Running::start(pump_command(&words)).end();
                if is_believed {
                    expect(&ended, 24, &["stays in the source"], &row);
                    has_content(&file, b"NEW", &row);
                    fs::remove_file(&copy).expect("it is there");
                } else {
                    expect(&ended, 0, &[], &row);
                    has_content(&copy, b"NEW", &row);
                    assert!(!file.exists(), "{row}: it was copied");
                }
            }
        }
    }
}
