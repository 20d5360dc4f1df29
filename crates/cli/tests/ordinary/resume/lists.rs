//! The list of a copy that was cut (`.pump-job`): for what it counts, where it leads, and what of it is swept away.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::listing::stamps;
use crate::support::running::{Running, eventually};
use crate::support::{
    Home, Outcome, expect, has_content, is_root, leftovers, make_folder, noise_file, set_mode, set_mtime,
};
use rustix::process::Signal;

const FILES: usize = 8;
/// More than a tick of the kernel's clock: what is done later has another time.
const CLOCK_STEP: std::time::Duration = std::time::Duration::from_millis(20);
/// Files of this size are put on the list one by one.
const FILE_BYTES: usize = 1 << 20 | 5;
/// Most ways of a cut copy: what came counts at once.
const CUT: [&str; 3] = ["--sync=none", "--bwlimit=8MB", "-q"];

fn source(home: &Home) {
    fs::create_dir_all(home.path("source")).expect("room");
    for number in 0..FILES {
        let name = format!("source/f{number}");
        noise_file(home, &name, FILE_BYTES, number as u64);
        set_mtime(&home.path(&name), 1_000_000_007);
    }
}

/// A copy that was killed when half of its files were there.
fn cut(home: &Home, words: &[&str], lands: &str) {
    let running = Running::start(home.command(&[&["copy"], &CUT[..], words].concat()));
    let count = || {
        let names = fs::read_dir(home.path(lands)).ok();
        let names = names.into_iter().flatten().flatten();
        let names = names.filter(|entry| entry.metadata().is_ok_and(|meta| meta.len() == FILE_BYTES as u64));
        names.filter(|name| name.file_name().to_string_lossy().starts_with('f')).count()
    };
    eventually("half of the files", || count() > FILES / 2 || running.has_ended());
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 137, "{words:?}");
    assert!(home.path(lands).join(".pump-job").exists(), "{words:?}");
}

fn moved_files(run: &Outcome) -> u64 {
    run.report()["files"].as_u64().expect("a number")
}

fn same(home: &Home, target: &str, row: &str) {
    expect(&home.pump(&["verify", "source", target]), 0, &[], row);
}

#[test]
fn the_same_command_takes_what_was_done_for_done() {
    let home = Home::new();
    source(&home);
    cut(&home, &["source", "new"], "new");
    let run = home.pump(&["copy", "--sync=none", "--json", "source", "new"]);
    expect(&run, 0, &[], "the second run");
    assert!(moved_files(&run) < FILES as u64, "{run:?}");
    same(&home, "new", "the second run");
}

/// In a folder that was made for the copy, too.
#[test]
fn what_somebody_wrote_since_is_kept() {
    let home = Home::new();
    source(&home);
    let words = ["--ignore-existing", "source", "new"];
    let in_place: fn(&Home) = |_| {};
    for (row, bytes, then) in [
        ("shorter", 5, in_place),
        ("as long", FILE_BYTES, in_place),
        ("longer", FILE_BYTES + 1, in_place),
        ("with another mode later", FILE_BYTES, |home| set_mode(&home.path("new/f0"), 0o640)),
        ("saved as a new file", FILE_BYTES, |home| {
            fs::rename(home.path("new/f0"), home.path("new/saved")).expect("it is ours");
            fs::rename(home.path("new/saved"), home.path("new/f0")).expect("it is ours");
        }),
        ("of an older day", FILE_BYTES, |home| set_mtime(&home.path("new/f0"), 2_000_000_007)),
    ] {
        cut(&home, &words, "new");
        let own = noise_file(&home, "new/f0", bytes, 99);
        std::thread::sleep(CLOCK_STEP);
        then(&home);
        let run = home.pump(&[&["copy", "--sync=none"], &words[..]].concat());
        expect(&run, 0, &[], row);
        has_content(&home.path("new/f0"), &own, row);
        fs::remove_dir_all(home.path("new")).expect("it is ours");
    }
}

#[test]
fn with_other_options_nothing_counts_that_was_done() {
    for (first, then) in
        [(&["--no-preserve=all"][..], &["--sync=none"][..]), (&[], &["--sync=none", "--verify"]), (&[], &[])]
    {
        let home = Home::new();
        source(&home);
        cut(&home, &[first, &["source", "new"]].concat(), "new");
        let run = home.pump(&[&["copy", "--json"], then, &["source", "new"]].concat());
        expect(&run, 0, &[], "the second run");
        assert_eq!(moved_files(&run), FILES as u64, "{first:?} {then:?}");
        same(&home, "new", "the second run");
        let times = |name: &str| stamps(&home.path(name));
        assert_eq!(times("source").len(), times("new").len(), "{first:?} {then:?}");
    }
}

/// What makes a list one that others may have made, and what is then said.
type Harm = (fn(&Home), &'static str);

#[test]
fn a_list_that_others_may_have_made_leads_nowhere() {
    let harms: [Harm; 3] = [
        (|home| set_mode(&home.path("new/.pump-job"), 0o644), "its mode is not 0600"),
        (|home| fs::hard_link(home.path("new/.pump-job"), home.path("other")).expect("room"), "another name"),
        (|home| set_mode(&home.path("new"), 0o777), "others can write to this folder"),
    ];
    for (harm, words) in harms {
        let home = Home::new();
        source(&home);
        cut(&home, &["source", "new"], "new");
        harm(&home);
        let before = fs::read(home.path("new/.pump-job")).expect("it is there");
        noise_file(&home, "new/precious", 10, 1);
        let run = home.pump(&["copy", "--delete", "source", "new/"]);
        expect(&run, 0, &["is ignored", words], words);
        assert!(home.path("new/precious").exists(), "{words}");
        assert!(fs::read(home.path("new/.pump-job")).expect("it is left") == before, "{words}");
        same(&home, "new/source", words);
    }
}

/// As root copies the home folder of a user: that user can move a temporary file of root's copy to the name of the list,
/// with any content.
#[test]
fn a_list_in_a_folder_of_another_user_leads_nowhere() {
    if !is_root() {
        eprintln!("not tested: folders of another user: only root can give one away");
        return;
    }
    let home = Home::new();
    source(&home);
    make_folder(&home, "old");
    for folder in ["source", "old"] {
        std::os::unix::fs::chown(home.path(folder), Some(1000), Some(1000)).expect("root may");
        set_mode(&home.path(folder), 0o755);
    }
    cut(&home, &["source/.", "old"], "old");
    let words = ["copy", "--sync=none", "--json", "source/.", "old"];
    let run = home.pump(&words);
    expect(
        &run,
        0,
        &["no list of what was done can be kept: others can write to this folder"],
        "the same command",
    );
    assert_eq!(moved_files(&run), FILES as u64, "nothing counts");
    same(&home, "old", "the same command");
}

#[test]
fn a_list_that_was_moved_to_another_folder_leads_nowhere() {
    let home = Home::new();
    source(&home);
    cut(&home, &["source", "new"], "new");
    make_folder(&home, "other");
    fs::rename(home.path("new/.pump-job"), home.path("other/.pump-job")).expect("one file system");
    noise_file(&home, "other/precious", 10, 1);
    expect(&home.pump(&["copy", "--delete", "source", "other/"]), 0, &[], "the copy");
    assert!(home.path("other/precious").exists());
    same(&home, "other/source", "the copy");
}

#[test]
fn a_list_in_a_folder_that_stood_there_changes_nothing_about_where() {
    let home = Home::new();
    source(&home);
    make_folder(&home, "old");
    noise_file(&home, "old/precious", 10, 1);
    cut(&home, &["source/.", "old"], "old");
    expect(&home.pump(&["copy", "--delete", "source", "old/"]), 0, &[], "with a slash");
    assert!(home.path("old/precious").exists(), "nothing in the folder itself is deleted");
    same(&home, "old/source", "with a slash");
    // The same command goes on all the same.
    fs::remove_dir_all(home.path("old/source")).expect("it is ours");
    let run = home.pump(&["copy", "--sync=none", "--json", "source/.", "old"]);
    expect(&run, 0, &[], "the same command");
    assert!(moved_files(&run) < FILES as u64, "{run:?}");
    assert!(!home.path("old/.pump-job").exists());
}

/// A list that nobody would believe is no list, and does not stay behind a copy that ended well.
#[test]
fn where_others_can_write_a_list_leads_nowhere_and_goes_with_the_copy() {
    let home = Home::new();
    source(&home);
    set_mode(&home.path("source"), 0o777);
    make_folder(&home, "old");
    set_mode(&home.path("old"), 0o777);
    let words = ["copy", "--sync=none", "--no-preserve=mode", "--json", "source/.", "old"];
    expect(&home.pump(&words), 0, &["no list of what was done can be kept: others can write"], "all at once");
    assert!(!home.path("old/.pump-job").exists(), "all at once");
    fs::remove_dir_all(home.path("old")).expect("it is ours");
    make_folder(&home, "old");
    set_mode(&home.path("old"), 0o777);
    cut(&home, &["--no-preserve=mode", "source/.", "old"], "old");
    let run = home.pump(&words);
    expect(&run, 0, &["no list of what was done can be kept"], "the same command");
    assert_eq!(moved_files(&run), FILES as u64, "nothing counts");
    assert!(!home.path("old/.pump-job").exists(), "the same command");
    same(&home, "old", "the same command");
}

#[test]
fn a_list_goes_behind_a_copy_of_as_many_names() {
    let left_out = ["--exclude", "f0"];
    for (first, then, goes) in
        [(&left_out[..], &left_out[..], true), (&left_out, &[], true), (&[], &left_out, false)]
    {
        let home = Home::new();
        source(&home);
        let row = format!("{first:?}, then {then:?}");
        cut(&home, &[first, &["source", "new"]].concat(), "new");
        let run = home.pump(&[&["copy", "source", "new"], then].concat());
        expect(&run, 0, if goes { &[] } else { &["'new/.pump-job' stays"] }, &row);
        assert_eq!(!home.path("new/.pump-job").exists(), goes, "{row}");
        expect(&home.pump(&["copy", "source", "new"]), 0, &[], &row);
    }
}

#[test]
fn the_list_of_another_copy_says_how_to_settle_it() {
    let home = Home::new();
    source(&home);
    for name in ["other", "target"] {
        make_folder(&home, name);
    }
    noise_file(&home, "other/more", 10, 1);
    cut(&home, &["--update", "source/.", "target"], "target");
    let other = ["copy", "--update", "other/.", "target"];
    let words =
        ["'target/.pump-job' was left by another copy", "run that copy to its end", "remove this file"];
    expect(&home.pump(&other), 0, &words, "another copy");
    assert!(home.path("target/.pump-job").exists(), "another copy does not settle it");
    // Below its folder it counts as well, and is named as the user would.
    for below in ["target/deep", "target/deep/er"] {
        make_folder(&home, below);
        let run = home.pump(&["copy", "--update", "other/.", below]);
        expect(&run, 0, &["'target/.pump-job' was left by another copy"], below);
        fs::remove_file(home.path(format!("{below}/more"))).expect("it was copied");
    }
    fs::remove_dir_all(home.path("target/deep")).expect("it is ours");
    // What else came there may be of a source that is away.
    let words = ["'target/.pump-job' stays", "'target/more' changed since", "remove them or the list"];
    expect(&home.pump(&["copy", "--update", "source/.", "target"]), 0, &words, "that copy");
    fs::remove_file(home.path("target/.pump-job")).expect("it stays");
    let run = home.pump(&other);
    expect(&run, 0, &[], "the other once more");
    assert!(!run.err.contains("warning"), "{run:?}");
}

#[test]
fn a_file_that_is_named_is_copied_again_where_a_copy_did_not_end_well() {
    let home = Home::new();
    source(&home);
    make_folder(&home, "target");
    cut(&home, &["--update", "source/.", "target"], "target");
    let inode = |name: &str| fs::metadata(home.path(name)).expect("it is there").ino();
    for (flag, target, stands) in [
        ("--update", "target", "target/f0"),
        ("--checksum", "target/f0", "target/f0"),
        ("--link-dest=target", "f0", "f0"),
    ] {
        let before = inode("target/f0");
        let run = home.pump(&["copy", flag, "source/f0", target]);
        expect(&run, 0, &["was left by another copy"], "the disk may not have it");
        assert_ne!(inode(stands), before, "{flag}");
    }
}

/// The run that goes on gives folders the modes that they would have got from one that was not cut.
#[test]
fn folders_of_a_cut_copy_get_the_modes_of_a_whole_one() {
    let no_mode = "--no-preserve=mode";
    for flags in [&[][..], &["--update"], &[no_mode], &[no_mode, "--update"]] {
        let home = Home::new();
        source(&home);
        make_folder(&home, "source/sub");
        make_folder(&home, "source/done");
        for (folder, mode) in [("source/sub", 0o511), ("source", 0o555)] {
            set_mode(&home.path(folder), mode);
        }
        cut(&home, &[flags, &["source", "new"]].concat(), "new");
        let mode = |name: &str| fs::metadata(home.path(name)).expect("it is there").mode() & 0o777;
        assert_eq!(mode("new"), 0o700, "{flags:?}: until all is done");
        fs::create_dir_all(home.path("new/sub")).expect("room");
        set_mode(&home.path("new/sub"), 0o700);
        // It is not finished: it has another time than its source.
        fs::write(home.path("new/sub/name"), "").expect("room");
        fs::remove_file(home.path("new/sub/name")).expect("it is there");
        // This one is, and its user closed it.
        fs::create_dir_all(home.path("new/done")).expect("room");
        set_mode(&home.path("new/done"), 0o700);
        let time = fs::metadata(home.path("source/done")).and_then(|meta| meta.modified()).expect("a time");
        fs::File::open(home.path("new/done")).and_then(|folder| folder.set_modified(time)).expect("set");
        for target in ["whole", "new"] {
            let run = home.pump(&[&["copy"], flags, &["source", target]].concat());
            expect(&run, 0, &[], &format!("{flags:?} {target}"));
        }
        assert_eq!(["new", "new/sub"].map(mode), ["whole", "whole/sub"].map(mode), "{flags:?}");
        assert!(flags.contains(&no_mode) || mode("new") == 0o555, "{flags:?}");
        assert!(!flags.contains(&no_mode) || mode("new/done") == 0o700, "{flags:?}");
        // An ordinary user removes nothing from them otherwise.
        for folder in ["source", "whole", "new"] {
            set_mode(&home.path(folder), 0o755);
        }
    }
}

#[test]
fn a_list_goes_whatever_somebody_wrote_beside_the_copy() {
    let home = Home::new();
    source(&home);
    make_folder(&home, "target");
    cut(&home, &["source/.", "target"], "target");
    fs::write(home.path("target/own"), "written there").expect("room");
    expect(&home.pump(&["copy", "source/.", "target"]), 0, &[], "the same command");
    assert!(!home.path("target/.pump-job").exists());
}

/// Replacing one name of a file changes the file under its other name.
#[test]
fn a_list_goes_though_a_replaced_file_has_another_name() {
    for flags in [&[][..], &["--update"]] {
        let home = Home::new();
        source(&home);
        make_folder(&home, "target");
        let names = [0, FILES - 1].map(|number| format!("target/f{number}"));
        for name in &names {
            noise_file(&home, name, 100, 9);
            set_mtime(&home.path(name), 1_000_000_000);
            fs::hard_link(home.path(name), home.path(format!("{name}.own"))).expect("one file system");
        }
        // Older than the copy on each file system.
        std::thread::sleep(std::time::Duration::from_millis(2_100));
        let words = [flags, &["source/.", "target"]].concat();
        cut(&home, &words, "target");
        let run = home.pump(&[&["copy"], &words[..]].concat());
        expect(&run, 0, &[], "the same command");
        assert!(!home.path("target/.pump-job").exists(), "{flags:?}: {run:?}");
    }
}

/// A file goes away while it is copied to `m1`; all others are there in the end.
fn vanished(home: &Home) {
    make_folder(home, "source");
    for name in (0..FILES).map(|number| format!("source/a{number}")) {
        noise_file(home, &name, 100, 1);
        set_mtime(&home.path(&name), 1_000_000_007);
    }
    noise_file(home, "source/long", 8 * FILE_BYTES, 77);
    let words = ["copy", "-q", "--bwlimit=3MiB", "--request-size=64KiB", "source", "m1"];
    let running = Running::start(home.command(&words));
    let is_long = |entry: fs::DirEntry| entry.metadata().is_ok_and(|meta| meta.len() > 100_000);
    let is_started = || fs::read_dir(home.path("m1")).into_iter().flatten().flatten().any(is_long);
    eventually("the long one is started", || is_started() || running.has_ended());
    fs::remove_file(home.path("source/long")).expect("the source");
    expect(&running.end(), 24, &["was deleted"], "vanished");
    assert!(home.path("m1/.pump-job").exists(), "the same command goes on");
}

fn inode_of(home: &Home, name: &str) -> u64 {
    fs::metadata(home.path(name)).unwrap_or_else(|error| panic!("{name}: {error}")).ino()
}

#[test]
fn a_snapshot_is_linked_to_one_for_which_a_file_vanished() {
    let home = Home::new();
    vanished(&home);
    // Another name changes a file, too.
    fs::hard_link(home.path("m1/a0"), home.path("other")).expect("room");
    for (dest, snapshot) in [("m1", "m2"), ("m1", "m3"), ("m2", "m4")] {
        let run = home.pump(&["copy", "--link-dest", dest, "source/", snapshot]);
        expect(&run, 0, &[], snapshot);
        assert!(!run.err.contains(".pump-job"), "{snapshot}: {run:?}");
        for number in 0..FILES {
            let at = |folder: &str| inode_of(&home, &format!("{folder}/a{number}"));
            assert_eq!(at(snapshot), at("m1"), "{snapshot}: a{number}");
        }
    }
    expect(&home.pump(&["copy", "source", "m1"]), 0, &[], "the same command");
    assert!(!home.path("m1/source").exists() && !home.path("m1/.pump-job").exists(), "it is over");
}

/// What a later run of the same command writes is in doubt again until that ends.
#[test]
fn a_list_that_was_settled_doubts_what_a_killed_run_wrote() {
    let home = Home::new();
    vanished(&home);
    source(&home);
    cut(&home, &["--update", "source", "m1"], "m1");
    let run = home.pump(&["copy", "--link-dest", "m1", "source/", "m2"]);
    expect(&run, 0, &["'m1/.pump-job' was left by another copy"], "killed");
    let came = names(&home.path("m1")).into_iter().filter(|name| name.starts_with('f'));
    for name in came {
        assert_ne!(inode_of(&home, &format!("m2/{name}")), inode_of(&home, &format!("m1/{name}")), "{name}");
    }
    assert_eq!(inode_of(&home, "m2/a0"), inode_of(&home, "m1/a0"), "of the run before");
}

#[test]
fn what_a_cut_copy_left_has_no_backup() {
    let home = Home::new();
    source(&home);
    for folder in ["other", "target", "target/sub"] {
        make_folder(&home, folder);
    }
    cut(&home, &["source/.", "target/sub"], "target/sub");
    let left = names(&home.path("target/sub"));
    assert!(left.iter().any(|name| name.starts_with(".pump-") && name != ".pump-job"), "{left:?}");
    expect(&home.pump(&["copy", "--delete", "--backup-dir=kept", "other/.", "target"]), 0, &[], "");
    let files = left.into_iter().filter(|name| name.starts_with('f'));
    assert_eq!(names(&home.path("target/kept/sub")), files.collect::<Vec<_>>());
    assert!(!home.path("target/sub").exists());
}

#[test]
fn a_list_stays_where_a_rule_keeps_what_it_leaves_unverified() {
    let home = Home::new();
    source(&home);
    for folder in ["other", "target", "target/sub"] {
        make_folder(&home, folder);
    }
    cut(&home, &["source/.", "target/sub"], "target/sub");
    let run = home.pump(&["copy", "--delete", "--exclude=f*", "other/.", "target"]);
    expect(&run, 0, &["target/sub/.pump-job"], "files of the cut copy stay");
    assert!(home.path("target/sub/.pump-job").exists());
}

/// A file of the user that is called so, and begins so, is no list: others may write to it.
#[test]
fn what_is_only_called_as_a_list_has_a_backup() {
    let home = Home::new();
    ["other", "target", "target/sub"].iter().for_each(|folder| make_folder(&home, folder));
    fs::write(home.path("target/sub/.pump-job"), "pumpjob5 and notes of mine").expect("room");
    expect(&home.pump(&["copy", "--delete", "--backup-dir=kept", "other/.", "target"]), 0, &[], "");
    assert_eq!(names(&home.path("target/kept/sub")), [".pump-job"]);
}

#[test]
fn what_is_left_in_a_folder_whose_source_is_gone_is_swept_away() {
    let home = Home::new();
    source(&home);
    fs::create_dir_all(home.path("source/sub/below")).expect("room");
    noise_file(&home, "source/sub/below/f", 1000, 1);
    cut(&home, &["source", "new"], "new");
    let below = home.path("new/sub/below");
    let _ = fs::remove_dir_all(home.path("new/sub"));
    fs::create_dir_all(&below).expect("room");
    fs::remove_dir_all(home.path("source/sub")).expect("it is ours");
    for (name, content) in [
        (".pump-0123456789abcdef", "left"),
        (".pump-0123456789abcdef.journal", "cut"),
        (".pump-fedcba9876543210.journal", ""),
    ] {
        fs::write(below.join(name), content).expect("room");
        set_mode(&below.join(name), 0o600);
    }
    // As folders are made, and stay until all in them is done.
    [home.path("new/sub"), below.clone()].iter().for_each(|folder| set_mode(folder, 0o700));
    fs::write(below.join("kept"), "of the user").expect("room");
    expect(&home.pump(&["copy", "source", "new"]), 0, &[], "the same command");
    assert_eq!(names(&below), ["kept"]);
    assert_eq!(leftovers(&home), [""; 0]);
}

#[test]
fn links_and_pipes_with_temporary_names_are_swept_away() {
    let home = Home::new();
    source(&home);
    cut(&home, &["source", "new"], "new");
    let new = home.path("new");
    fs::write(home.path("user"), "of the user").expect("room");
    std::os::unix::fs::symlink(home.path("user"), new.join(".pump-0123456789abcdef")).expect("room");
    let pipe = std::process::Command::new("mkfifo").arg(new.join(".pump-fedcba9876543210")).status();
    assert!(pipe.expect("mkfifo").success());
    std::os::unix::fs::symlink("user", new.join(".pump-user")).expect("room");
    expect(&home.pump(&["copy", "source", "new"]), 0, &[], "the same command");
    let left: Vec<String> = names(&new).into_iter().filter(|name| name.starts_with(".pump-")).collect();
    assert_eq!(left, [".pump-user"]);
    assert_eq!(fs::read(home.path("user")).expect("what the link leads to stays"), b"of the user");
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("it is there")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}
