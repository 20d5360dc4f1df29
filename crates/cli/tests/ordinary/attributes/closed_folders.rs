//! Folders of a target that their mode closes to their owner, who is not root: they are opened up as long as a run works
//! in them, and have their mode at the end of it, however it ends.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::support::running::Running;
use crate::support::{
    Home, PUMP, as_ordinary_user, expect, has_content, is_root, make_folder, noise_file, set_mode,
};

/// A part of what a dry run says of folders that it cannot look into.
const UNSEEN: &str = "a dry run does not open up folders that their mode closes";

const MODES: [u32; 6] = [0o500, 0o400, 0o300, 0o200, 0o100, 0];

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o7777
}

/// A source with a file and a folder in a folder, and a folder `open` that everybody may write to.
fn places() -> Home {
    let home = Home::new();
    for name in ["from", "from/a", "from/a/in", "open"] {
        make_folder(&home, name);
    }
    noise_file(&home, "from/a/f", 700, 1);
    noise_file(&home, "from/a/in/g", 900, 2);
    set_mode(&home.path("open"), 0o777);
    home
}

/// Checks the modes of the folders from the outside to the inside, and opens them for a look; then the contents.
fn is_as_asked(home: &Home, bits: u32, names: &[&str], row: &str) {
    let folders = ["open/to", "open/to/a", "open/to/a/in"];
    for name in folders {
        assert_eq!(mode(&home.path(name)), bits, "{row}: {name}");
        set_mode(&home.path(name), 0o700);
    }
    for name in names {
        let content = fs::read(home.path(format!("from/{name}"))).expect("it is there");
        has_content(&home.path(format!("open/to/{name}")), &content, row);
    }
    let count = |name: &str| fs::read_dir(home.path(name)).expect("it is there").count();
    assert_eq!(folders.map(count).iter().sum::<usize>(), names.len() + 2, "{row}: nothing else");
    folders.iter().rev().for_each(|name| set_mode(&home.path(name), bits));
}

/// The mode of a folder that files are named into is no part of the copy: it is refused, as with cp and rsync.
#[test]
fn a_folder_that_files_are_named_into_keeps_its_mode() {
    let home = places();
    let made = as_ordinary_user(&home, &["copy", "--chmod=D0500,F644", "from/", "open/to"]);
    let Some(made) = made else { return eprintln!("skipped: only root can become another user") };
    expect(&made, 0, &[], "the folder");
    for words in [
        &["copy", "from/a/f", "open/to/"][..],
        &["copy", "from/a/f", "from/a/in/g", "open/to/"],
        &["copy", "from/a/f", "open/to/new"],
        &["copy", "--remove-source-files", "from/a/f", "open/to/"],
    ] {
        let run = as_ordinary_user(&home, words).expect("root");
        assert!([1, 23].contains(&run.status) && run.err.contains("Permission denied"), "{words:?}: {run:?}");
        assert_eq!(mode(&home.path("open/to")), 0o500, "{words:?}");
        assert!(home.path("from/a/f").exists(), "{words:?}");
        assert_eq!(fs::read_dir(home.path("open/to")).expect("it is there").count(), 1, "{words:?}");
    }
}

#[test]
fn closed_folders_are_opened_up_while_they_are_worked_in() {
    for bits in MODES {
        let home = places();
        let chmod = format!("--chmod=D{bits:04o},F644");
        let run = |words: &[&str]| as_ordinary_user(&home, &[words, &[&chmod]].concat());
        let mut names = vec!["a/f", "a/in/g"];
        let Some(first) = run(&["copy", "from/", "open/to"]) else { return };
        expect(&first, 0, &[], "the first");
        is_as_asked(&home, bits, &names, "the first");
        let again = run(&["mirror", "--json", "from/", "open/to"]).expect("as before");
        expect(&again, 0, &[], "nothing to do");
        let report = again.report();
        for field in ["bytes_moved", "deleted", "files"] {
            assert_eq!(report[field], 0, "{bits:o}: {field}");
        }
        is_as_asked(&home, bits, &names, "nothing to do");
        // New files in each folder, also as further names of one file.
        noise_file(&home, "from/a/new", 300, 3);
        fs::hard_link(home.path("from/a/new"), home.path("from/a/in/new")).expect("one file system");
        names.extend(["a/new", "a/in/new"]);
        expect(&run(&["mirror", "from/", "open/to"]).expect("as before"), 0, &[], "new files");
        is_as_asked(&home, bits, &names, "new files");
        for name in ["a/f", "a/in/new"] {
            fs::remove_file(home.path(format!("from/{name}"))).expect("it is there");
        }
        names.retain(|name| !["a/f", "a/in/new"].contains(name));
        expect(&run(&["mirror", "from/", "open/to"]).expect("as before"), 0, &[], "removals");
        is_as_asked(&home, bits, &names, "removals");
        // A plan changes nothing, and says where it does not look.
        let plan = run(&["mirror", "-n", "from/", "open/to"]).expect("as before");
        expect(&plan, 0, if bits == 0o500 { &[] } else { &[UNSEEN] }, &format!("{bits:o}: a plan"));
        is_as_asked(&home, bits, &names, "a plan");
        fs::remove_dir_all(home.path("from/a")).expect("it is there");
        noise_file(&home, "from/other", 100, 4);
        expect(&run(&["mirror", "from/", "open/to"]).expect("as before"), 0, &[], "folders go");
        assert_eq!(mode(&home.path("open/to")), bits);
        set_mode(&home.path("open/to"), 0o755);
        assert!(!home.path("open/to/a").exists() && home.path("open/to/other").exists(), "{bits:o}");
    }
}

#[test]
fn a_dry_run_into_closed_folders_has_the_status_of_the_run() {
    for bits in MODES {
        let home = places();
        let chmod = format!("--chmod=D{bits:04o},F644");
        let run = |words: &[&str]| as_ordinary_user(&home, &[words, &[&chmod]].concat());
        let Some(first) = run(&["copy", "from/", "open/to"]) else { return };
        expect(&first, 0, &[], "the first");
        noise_file(&home, "from/a/f", 800, 3);
        let plan = run(&["copy", "-n", "--update=differs", "from/", "open/to"]).expect("as before");
        // With the right to search a folder its names are looked at.
        let is_seen = bits & 0o100 != 0;
        expect(&plan, 0, &["a/f'"], &format!("{bits:o}"));
        assert_eq!(plan.out.contains("/g'"), !is_seen, "{bits:o}: {plan:?}");
        assert_eq!(plan.err.contains(UNSEEN), !is_seen, "{bits:o}: {plan:?}");
        assert_eq!(mode(&home.path("open/to")), bits);
        let done = run(&["copy", "--update=differs", "from/", "open/to"]).expect("as before");
        expect(&done, 0, &[], "the run");
        is_as_asked(&home, bits, &["a/f", "a/in/g"], "the run");
    }
}

#[test]
fn a_folder_that_was_closed_keeps_the_mode_that_opening_up_gives_it() {
    let home = places();
    let Some(first) = as_ordinary_user(&home, &["copy", "--chmod=D0300,F644", "from/", "open/to"]) else {
        return;
    };
    expect(&first, 0, &[], "closed");
    let again = as_ordinary_user(&home, &["mirror", "--chmod=D0700,F644", "from/", "open/to"]);
    expect(&again.expect("as before"), 0, &[], "open");
    is_as_asked(&home, 0o700, &["a/f", "a/in/g"], "open");
}

#[test]
fn backups_are_kept_in_closed_folders_too() {
    for bits in MODES {
        let home = places();
        let (chmod, old) = (format!("--chmod=D{bits:04o},F644"), home.path("open/old"));
        let backups = format!("--backup-dir={}", old.display());
        let run = |words: &[&str]| as_ordinary_user(&home, &[words, &[&chmod, "from/", "open/to"]].concat());
        let Some(first) = run(&["copy"]) else { return };
        expect(&first, 0, &[], "the first");
        for round in 1..4 {
            noise_file(&home, "from/a/f", 700 + round, 7);
            noise_file(&home, "from/a/in/g", 900 + round, 8);
            let row = format!("{bits:o}, round {round}");
            expect(&run(&["mirror", &backups]).expect("as before"), 0, &[], &row);
            is_as_asked(&home, bits, &["a/f", "a/in/g"], &row);
        }
        for name in ["open/old", "open/old/a", "open/old/a/in"] {
            assert_eq!(mode(&home.path(name)), bits, "{name}");
            set_mode(&home.path(name), 0o700);
        }
        assert!(old.join("a/f").exists() && old.join("a/in/g").exists(), "{bits:o}");
    }
}

#[test]
fn a_run_that_is_cut_closes_what_it_opened_up() {
    let home = places();
    let chmod = "--chmod=D0000,F644";
    let Some(first) = as_ordinary_user(&home, &["copy", chmod, "from/", "open/to"]) else { return };
    expect(&first, 0, &[], "the first");
    noise_file(&home, "from/a/in/large", 4 << 20, 5);
    let words = ["mirror", chmod, "--bwlimit=200kB", "from/", "open/to"];
    let own = home.path(".program");
    let program = if own.exists() { own } else { PUMP.into() };
    let mut command = Command::new(program);
    command.args(words).current_dir(home.path(""));
    if is_root() {
        command.uid(65_534).gid(65_534);
    }
    let mut running = Running::start(command);
    running.await_temporary(&home.path("open/to/a/in"));
    running.signal(Signal::INT);
    assert_eq!(running.end().status, 20);
    for name in ["open/to", "open/to/a", "open/to/a/in"] {
        assert_eq!(mode(&home.path(name)), 0, "{name}");
        set_mode(&home.path(name), 0o700);
    }
    // A kill closes nothing.
    let again = as_ordinary_user(&home, &["mirror", chmod, "from/", "open/to"]).expect("as before");
    expect(&again, 0, &[], "again");
    is_as_asked(&home, 0, &["a/f", "a/in/g", "a/in/large"], "again");
}

#[test]
fn a_closed_folder_of_the_source_is_left_as_it_is_and_its_copy_is_filled() {
    let home = places();
    set_mode(&home.path("from/a/in"), 0o555);
    set_mode(&home.path("from/a"), 0o555);
    let changed = || fs::metadata(home.path("from/a")).map(|meta| (meta.ctime(), meta.ctime_nsec())).ok();
    let before = changed();
    let Some(first) = as_ordinary_user(&home, &["copy", "from/", "open/to"]) else { return };
    expect(&first, 0, &[], "the first");
    let again = as_ordinary_user(&home, &["mirror", "from/", "open/to"]).expect("as before");
    expect(&again, 0, &[], "again");
    assert_eq!(changed(), before, "the source");
    assert_eq!(mode(&home.path("open/to/a/in")), 0o555);
    for name in ["from/a", "from/a/in", "open/to/a", "open/to/a/in"] {
        set_mode(&home.path(name), 0o755);
    }
    has_content(&home.path("open/to/a/in/g"), &fs::read(home.path("from/a/in/g")).expect("it is there"), "g");
}
