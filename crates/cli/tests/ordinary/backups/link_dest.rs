//! `--link-dest`: several folders, between two hosts, and behind copies that lack a file.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::programs::script;
use crate::support::serving::Serving;
use crate::support::{Home, PUMP, as_ordinary_user, expect, is_root, make_folder, set_mode, set_mtime};

/// `from` with three files, of which `monday` has one and `tuesday` two; all in this folder.
fn home(below: &str) -> Home {
    let home = Home::new();
    make_folder(&home, "from");
    make_folder(&home, "from/sub");
    if !below.is_empty() {
        make_folder(&home, below);
    }
    for (name, content) in [("from/a", "a"), ("from/sub/b", "b"), ("from/c", "c")] {
        fs::write(home.path(name), content).expect("room");
    }
    let at = |name: &str| if below.is_empty() { name.to_string() } else { format!("{below}/{name}") };
    for (day, exclude) in [("monday", ["b", "c"]), ("tuesday", ["c", "none"])] {
        let [one, other] = exclude;
        let copy = ["copy", "--exclude", one, "--exclude", other, "from/", &at(day)];
        expect(&home.pump(&copy), 0, &[], day);
    }
    home
}

fn inode(home: &Home, name: &str) -> u64 {
    fs::metadata(home.path(name)).unwrap_or_else(|error| panic!("{name}: {error}")).ino()
}

/// Of both the first has `a`, the second alone `b`, none `c`.
fn is_linked(home: &Home, [monday, tuesday, copy]: [&str; 3], row: &str) {
    let same = |one: String, other: String| inode(home, &one) == inode(home, &other);
    assert!(same(format!("{copy}/a"), format!("{monday}/a")), "{row}");
    assert!(same(format!("{copy}/sub/b"), format!("{tuesday}/sub/b")), "{row}");
    assert_eq!(fs::metadata(home.path(format!("{copy}/c"))).expect(row).nlink(), 1, "{row}");
}

#[test]
fn the_first_folder_that_has_a_file_counts() {
    let home = home("");
    let dest = ["--link-dest", "monday", "--link-dest", "tuesday"];
    let run = home.pump(&[&["copy", "-i"], &dest[..], &["from/", "wednesday"]].concat());
    expect(&run, 0, &["hf"], "a tree");
    is_linked(&home, ["monday", "tuesday", "wednesday"], "a tree");
    make_folder(&home, "named");
    let named = home.pump(&[&["copy"], &dest[..], &["from/a", "from/c", "named"]].concat());
    expect(&named, 0, &[], "files");
    assert_eq!(inode(&home, "named/a"), inode(&home, "monday/a"));
    let missing = ["copy", "--link-dest", "monday", "--link-dest", "nowhere", "from/", "thursday"];
    expect(&home.pump(&missing), 2, &["--link-dest 'nowhere'"], "missing");
    assert!(!home.path("thursday").exists());
    // As rsync has it: from the target, which is not there yet.
    make_folder(&home, "snaps");
    expect(&home.pump(&["copy", "from/", "snaps/1"]), 0, &[], "a snapshot");
    for target in ["snaps/2", "./snaps/2/"] {
        let run = home.pump(&["copy", "-a", "--delete", "--link-dest=../1", "from/", target]);
        let said =
            "rsync's path begins in the target, here it begins in the working directory: write 'snaps/1'";
        expect(&run, 2, &["--link-dest '../1'", said], target);
        assert!(!home.path("snaps/2").exists(), "{target}");
    }
    expect(&home.pump(&["copy", "-a", "--link-dest=snaps/1", "from/", "snaps/2"]), 0, &[], "as it says");
}

#[test]
fn links_are_made_where_the_copy_is_written() {
    let home = home("far");
    let far = home.path("far").display().to_string();
    script(home.path("rsh"), &format!("shift; HOME={far} exec sh -c \"$*\""));
    let over_ssh = ["copy", "--ssh=./rsh", "--remote-bin", PUMP];
    let dest = ["--link-dest", "monday", "--link-dest", "tuesday"];
    let push = [&over_ssh[..], &dest, &["from/", "host:wednesday"]].concat();
    expect(&home.pump(&push), 0, &[], "push");
    is_linked(&home, ["far/monday", "far/tuesday", "far/wednesday"], "push");
    let dest = ["--link-dest", "far/monday", "--link-dest", "far/tuesday"];
    let from = format!("host:{}/", home.path("from").display());
    let pull = [&over_ssh[..], &dest, &[&*from, "far/pulled"]].concat();
    expect(&home.pump(&pull), 0, &[], "pull");
    is_linked(&home, ["far/monday", "far/tuesday", "far/pulled"], "pull");
}

#[test]
fn a_folder_that_is_served_is_pulled_with_links_and_pushed_without() {
    let home = home("");
    make_folder(&home, "served");
    expect(&home.pump(&["copy", "from/", "served/from"]), 0, &[], "to be pulled");
    let serving = Serving::new(&home, &[]);
    let dest = ["copy", "--ticket-file", "ticket", "--link-dest", "monday", "--link-dest", "tuesday"];
    expect(&home.pump(&[&dest[..], &[&*serving.at("from/"), "pulled"]].concat()), 0, &[], "pull");
    is_linked(&home, ["monday", "tuesday", "pulled"], "pull");
    let run = home.pump(&[&dest[..], &["from/", &serving.at("pushed")]].concat());
    expect(&run, 5, &["--link-dest is for hosts that are reached over ssh"], "push");
    assert!(!home.path("served/pushed").exists());
}

/// `source` with a file that its user cannot read, beside `into`.
fn with_an_unreadable_file() -> Home {
    let home = Home::new();
    ["source", "into"].iter().for_each(|folder| make_folder(&home, folder));
    for name in ["a", "b", "closed"] {
        fs::write(home.path("source").join(name), name).expect("room");
        set_mtime(&home.path("source").join(name), 1_000_000_007);
    }
    set_mode(&home.path("source/closed"), 0);
    // Root reads everything: when it runs the tests, nobody copies.
    let given = ["", "source", "into", "source/a", "source/b", "source/closed"];
    given.iter().filter(|_| is_root()).for_each(|name| {
        std::os::unix::fs::lchown(home.path(name), Some(65_534), Some(65_534)).expect("root");
    });
    home
}

#[test]
fn a_snapshot_is_linked_to_one_that_lacks_an_unreadable_file() {
    for sync in ["end", "each"] {
        let (home, sync) = (with_an_unreadable_file(), format!("--sync={sync}"));
        let snapshots = [
            &["copy", &sync, "source", "into/m1"][..],
            &["copy", &sync, "--link-dest", "into/m1", "source", "into/m2"],
            &["copy", &sync, "--link-dest", "into/m2", "source", "into/m3"],
        ];
        for words in snapshots {
            let Some(run) = as_ordinary_user(&home, words) else { return };
            expect(&run, 23, &["source/closed'"], &format!("{words:?}"));
            assert!(!run.err.contains(".pump-job"), "{run:?}");
        }
        for (name, snapshot) in [("a", "m2"), ("b", "m2"), ("a", "m3"), ("b", "m3")] {
            let row = format!("{sync} {name} {snapshot}");
            assert_eq!(
                inode(&home, &format!("into/{snapshot}/{name}")),
                inode(&home, &format!("into/m1/{name}")),
                "{row}"
            );
        }
        set_mode(&home.path("source/closed"), 0o400);
        let Some(run) = as_ordinary_user(&home, snapshots[2]) else { return };
        expect(&run, 0, &[], "the same command");
        assert!(home.path("into/m3/closed").exists() && !home.path("into/m3/.pump-job").exists(), "{run:?}");
    }
}

#[test]
fn no_name_is_linked_to_what_nobody_synced() {
    let home = with_an_unreadable_file();
    let Some(run) = as_ordinary_user(&home, &["copy", "--sync=none", "source", "into/m1"]) else { return };
    expect(&run, 23, &["source/closed'"], "not synced");
    let next = ["copy", "--link-dest", "into/m1", "source", "into/m2"];
    let Some(run) = as_ordinary_user(&home, &next) else { return };
    expect(&run, 23, &["'into/m1/.pump-job' was left by another copy", "run that copy to its end"], "next");
    assert_ne!(inode(&home, "into/m2/a"), inode(&home, "into/m1/a"));
    // That copy again: it knows what it has, and syncs.
    let again = ["copy", "source", "into/m1"];
    let Some(run) = as_ordinary_user(&home, &again) else { return };
    expect(&run, 23, &["source/closed'"], "again");
    let last = ["copy", "--link-dest", "into/m1", "source", "into/m3"];
    let Some(run) = as_ordinary_user(&home, &last) else { return };
    expect(&run, 23, &[], "last");
    assert_eq!(inode(&home, "into/m3/a"), inode(&home, "into/m1/a"));
}
