//! "Nothing to do" is said where nothing was done: attributes that were set and folders that were made are told.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, Outcome, expect, make_folder, noise_file, set_mode};

const NOON: u64 = 1_500_000_000_000_000_000;
const MORNING: u64 = NOON - 3_600_000_000_000;

/// Of a file or a folder.
fn set_time(path: &Path, ns: u64) {
    let opened = fs::File::open(path).expect("it is there");
    opened.set_modified(SystemTime::UNIX_EPOCH + Duration::from_nanos(ns)).expect("a time can be set");
}

/// A folder with a file and a folder, whose times do not change by themselves.
fn lay(home: &Home, from: &str) {
    make_folder(home, from);
    make_folder(home, &format!("{from}/sub"));
    noise_file(home, &format!("{from}/x"), 300, 1);
    for (name, mode) in [("x", 0o644), ("sub", 0o755), ("", 0o755)] {
        let path = home.path(from).join(name);
        set_mode(&path, mode);
        set_time(&path, NOON);
    }
}

/// Runs once where something differs, which is told, and once more where nothing does.
fn reported_once(run: &dyn Fn() -> Outcome, said: &str, row: &str) {
    let first = run();
    expect(&first, 0, &[" -> ", "0 files in ", &format!("; 1 up to date, {said}\n")], row);
    assert!(!first.err.contains("Nothing to do"), "{row}: {first:?}");
    let again = run();
    expect(&again, 0, &["Nothing to do: 1 file up to date.\n"], row);
}

/// Changes the source, one thing after the other, and looks for what is said of it.
fn check(home: &Home, from: &str, to: &str, run: &dyn Fn() -> Outcome, row: &str) {
    expect(&run(), 0, &["300 B in "], row);
    expect(&run(), 0, &["Nothing to do: 1 file up to date.\n"], row);
    let (from, to) = (home.path(from), home.path(to));
    set_mode(&from.join("x"), 0o600);
    reported_once(run, "attributes of 1 name set", &format!("{row}: a file's mode"));
    set_mode(&from.join("sub"), 0o700);
    reported_once(run, "attributes of 1 name set", &format!("{row}: a folder's mode"));
    set_time(&from.join("sub"), MORNING);
    set_mode(&from.join("x"), 0o640);
    reported_once(run, "attributes of 2 names set", &format!("{row}: a folder's time and a file's mode"));
    set_time(&from, MORNING);
    reported_once(run, "attributes of 1 name set", &format!("{row}: the root's time"));
    fs::create_dir(from.join("empty")).expect("room");
    // The root is as it was: that the copy gives it its time once more is nothing that differed.
    set_time(&from, MORNING);
    reported_once(run, "1 folder made", &format!("{row}: an empty folder"));
    let mode = |name: &str| fs::metadata(to.join(name)).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode("x"), mode("sub")), (0o640, 0o700), "{row}");
    let time = |path: &Path| fs::metadata(path).expect("it is there").mtime() as u64 * 1_000_000_000;
    assert_eq!((time(&to), time(&to.join("sub"))), (MORNING, MORNING), "{row}");
}

#[test]
fn attributes_that_are_set_and_folders_that_are_made_are_told_on_every_way() {
    for words in [&["mirror"][..], &["copy", "-u"]] {
        let home = Home::new();
        for (way, from) in [(Way::Here, "here"), (Way::Pushed, "pushed"), (Way::Pulled, "pulled")] {
            let hosts = TwoHosts::new(&home, way);
            let (source, target) = (hosts.source(from), hosts.target("to"));
            let _ = fs::remove_dir_all(home.path(&target));
            lay(&home, &source);
            let run = || hosts.pump(words, &[&format!("{from}/")], "to");
            check(&home, &source, &target, &run, &format!("{words:?} {way:?}"));
        }
    }
}

#[test]
fn a_file_alone_and_the_report_say_so_too() {
    let home = Home::new();
    lay(&home, "from");
    let run = || home.pump(&["copy", "-u", "from/x", "y"]);
    expect(&run(), 0, &["300 B in "], "new");
    set_mode(&home.path("from/x"), 0o600);
    reported_once(&run, "attributes of 1 name set", "a file");
    expect(&home.pump(&["mirror", "from", "to"]), 0, &[], "new");
    set_mode(&home.path("from/x"), 0o644);
    fs::create_dir(home.path("from/sub/empty")).expect("room");
    set_time(&home.path("from/sub"), NOON);
    let run = home.pump(&["mirror", "--json", "from", "to"]);
    let report = run.report();
    assert_eq!((&report["adjusted"], &report["folders_made"]), (&1.into(), &1.into()), "{run:?}");
}

/// Notes about names that a run might put are names, too.
#[test]
fn a_mirror_with_backups_and_hard_links_that_has_nothing_to_do_writes_nothing() {
    let home = Home::new();
    lay(&home, "from");
    for name in ["from/other", "from/sub/third"] {
        fs::hard_link(home.path("from/x"), home.path(name)).expect("one file system");
    }
    let changed = || {
        let stamp = |name| {
            let meta = fs::metadata(home.path(name)).expect("it is there");
            (meta.ctime(), meta.ctime_nsec())
        };
        ["to", "to/sub", "to/x"].map(stamp)
    };
    for backup in ["--backup", "--backup-dir=old"] {
        let run = || home.pump(&["mirror", backup, "from", "to"]);
        expect(&run(), 0, &[], backup);
        let before = changed();
        expect(&run(), 0, &["Nothing to do"], backup);
        assert_eq!(changed(), before, "{backup}");
    }
}
