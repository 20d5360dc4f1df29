//! `--link-dest`: several folders, and between two hosts.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::programs::script;
use crate::support::serving::Serving;
use crate::support::{Home, PUMP, expect, make_folder};

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
