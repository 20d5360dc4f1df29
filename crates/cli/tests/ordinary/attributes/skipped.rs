//! Attributes that are not copied, as a line says: extended attributes that the system marks skip, owners that fakeroot
//! makes up.

use crate::support::{Home, expect, outcome, set_xattr, xattr};

const NOTE: &str = "user.note";
/// Marked `skip` by the list that libattr installs, and by our own where there is none.
const SKIPPED: &str = "user.Beagle.index";

#[test]
fn attributes_that_the_system_marks_skip_are_not_copied() {
    if std::fs::read_to_string("/etc/xattr.conf").is_ok_and(|list| !list.contains("user.Beagle.*")) {
        eprintln!("left out: the /etc/xattr.conf of this system is not the usual one");
        return;
    }
    let home = Home::new();
    std::fs::write(home.path("source"), "content").expect("room");
    if ![NOTE, SKIPPED].iter().all(|name| set_xattr(&home.path("source"), name, b"value")) {
        eprintln!("left out: this file system has no extended attributes");
        return;
    }
    let copy = home.path("copy");
    let values = || [NOTE, SKIPPED].map(|name| xattr(&copy, name));
    expect(&home.pump(&["copy", "source", "copy"]), 0, &[], "first");
    assert_eq!(values(), [Some(b"value".to_vec()), None]);
    // What the target's system made of it there is neither a difference nor removed.
    assert!(set_xattr(&copy, SKIPPED, b"its own"));
    let run = home.pump(&["copy", "--update", "-i", "source", "copy"]);
    expect(&run, 0, &[], "again");
    assert_eq!((run.out.as_str(), values()[1].as_deref()), ("", Some(&b"its own"[..])));
}

#[test]
fn under_fakeroot_one_line_says_that_its_owners_are_not_seen() {
    let home = Home::new();
    std::fs::write(home.path("source"), "content").expect("room");
    let run = |words: &[&str]| {
        let mut command = home.command(words);
        command.env("FAKEROOTKEY", "1");
        outcome(command, b"")
    };
    let count = |words: &[&str]| run(words).err.matches("owners that only fakeroot knows").count();
    expect(&run(&["copy", "source", "copy"]), 0, &["are not seen"], "the copy is made");
    assert_eq!(count(&["copy", "source", "copy"]), 1);
    assert_eq!(count(&["verify", "--attributes", "source", "copy"]), 1);
    // Nobody wants to hear of owners that are not kept.
    assert_eq!(count(&["copy", "--no-preserve=ownership", "source", "copy"]), 0);
    assert_eq!(home.pump(&["copy", "source", "copy"]).err.matches("fakeroot").count(), 0);
}
