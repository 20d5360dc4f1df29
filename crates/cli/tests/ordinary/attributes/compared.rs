//! Extended attributes under `--update` and `--checksum`: compared by what they are, not by when they were set.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::support;
use crate::support::{Home, as_ordinary_user, expect, set_mode, set_mtime, set_xattr, xattr};

const NAME: &str = "user.note";

fn make(home: &Home, root: &str) {
    std::fs::create_dir(home.path(root)).expect("room");
    std::fs::create_dir(home.path(root).join("folder")).expect("room");
    std::fs::write(home.path(root).join("file"), "content").expect("room");
}

fn remove(path: &Path) {
    rustix::fs::removexattr(path, NAME).expect("it has one");
}

#[test]
fn what_the_target_got_later_is_put_right() {
    let home = Home::new();
    make(&home, "source");
    let places = ["source/file", "source/folder"].map(|name| home.path(name));
    if !places.iter().all(|path| set_xattr(path, NAME, b"right")) {
        return;
    }
    let words = ["copy", "-T", "source", "copy"];
    expect(&home.pump(&words), 0, &[], "first");
    for option in ["--update", "--checksum"] {
        for (name, source) in ["file", "folder"].iter().zip(&places) {
            let target = home.path("copy").join(name);
            let row = format!("{option} {name}");
            let run = || expect(&home.pump(&[&words[..], &[option]].concat()), 0, &[], &row);
            // Each of them is the last change on either side.
            set_xattr(&target, NAME, b"wrong");
            run();
            assert_eq!(xattr(&target, NAME), Some(b"right".to_vec()), "{row}: another value");
            remove(&target);
            run();
            assert_eq!(xattr(&target, NAME), Some(b"right".to_vec()), "{row}: none");
            set_xattr(&target, "user.other", b"more");
            run();
            assert_eq!(xattr(&target, "user.other"), None, "{row}: one more");
            remove(source);
            set_xattr(&target, NAME, b"right");
            run();
            assert_eq!(xattr(&target, NAME), None, "{row}: removed at the source");
            set_xattr(source, NAME, b"right");
            run();
        }
    }
}

#[test]
fn an_attribute_that_cannot_be_read_is_named() {
    let home = Home::new();
    for root in ["source", "copy"] {
        make(&home, root);
        set_mtime(&home.path(root).join("file"), 1_000_000_000);
    }
    let source = home.path("source/file");
    if !set_xattr(&source, NAME, b"hidden") {
        return;
    }
    set_mode(&source, 0);
    if support::is_root() {
        let nobody =
            std::process::Command::new("chown").args(["-R", "65534:65534"]).arg(home.path("")).status();
        assert!(nobody.expect("chown is installed").success());
    }
    let words = ["copy", "-T", "--update", "source", "copy"];
    let Some(run) = as_ordinary_user(&home, &words) else { return };
    expect(&run, 23, &["'copy/file': extended attribute user.note: could not be read"], "unreadable");
}

#[test]
fn what_its_mode_closes_to_writing_gets_the_attributes_of_an_ordinary_user_too() {
    let home = Home::new();
    make(&home, "source");
    let names = ["file", "folder"];
    for name in names {
        let path = home.path("source").join(name);
        if !set_xattr(&path, NAME, b"old") || !set_xattr(&path, "user.more", b"more") {
            return;
        }
        set_mode(&path, 0o555);
    }
    std::fs::create_dir(home.path("open")).expect("room");
    set_mode(&home.path("open"), 0o777);
    let update = || as_ordinary_user(&home, &["copy", "-iu", "source/.", "open/copy"]);
    let Some(first) = update() else { return };
    expect(&first, 0, &[], "first");
    for name in names {
        let path = home.path("source").join(name);
        assert!(set_xattr(&path, NAME, b"new"));
        rustix::fs::removexattr(&path, "user.more").expect("it has one");
    }
    let again = update().expect("it could be done before");
    expect(&again, 0, &[".f........x file", ".d........x folder/"], "again");
    for name in names {
        let path = home.path("open/copy").join(name);
        assert_eq!((xattr(&path, NAME), xattr(&path, "user.more")), (Some(b"new".to_vec()), None), "{name}");
        assert_eq!(path.metadata().expect("it was copied").permissions().mode() & 0o7777, 0o555, "{name}");
    }
}

/// A user who may not give files away may still give its own to its own groups.
#[test]
fn the_group_is_put_right_for_an_ordinary_user_too() {
    const NOBODY: u32 = 65_534;
    if !support::is_root() {
        return eprintln!("skipped: only root can make a file of a wrong group");
    }
    let home = Home::new();
    for folder in ["source", "open"] {
        std::fs::create_dir(home.path(folder)).expect("room");
        set_mode(&home.path(folder), 0o777);
    }
    std::fs::write(home.path("source/file"), "content").expect("room");
    let give = |name: &str, group| {
        std::os::unix::fs::lchown(home.path(name), Some(NOBODY), Some(group)).expect("root may");
    };
    let group = |name: &str| std::fs::metadata(home.path(name)).expect("it was copied").gid();
    give("source/file", NOBODY);
    for flags in [&["-i"][..], &["-iu"], &["-i", "--update=differs"], &["-i", "--checksum"]] {
        let words = [&["copy", "-T"], flags, &["source", "open/copy"]].concat();
        let Some(run) = as_ordinary_user(&home, &words) else { return };
        expect(&run, 0, &[], "a copy");
        assert_eq!(group("open/copy/file"), NOBODY, "{flags:?}: {run:?}");
        let again = as_ordinary_user(&home, &words).expect("as before");
        assert!(!again.out.contains("f......g"), "{flags:?}: it is right");
        give("open/copy/file", 0);
    }
    let older = home.path("open/copy").display().to_string();
    let words = ["copy", "-T", "--link-dest", &older, "source", "open/next"];
    expect(&as_ordinary_user(&home, &words).expect("as before"), 0, &[], "--link-dest");
    assert_eq!((group("open/next/file"), group("open/copy/file")), (NOBODY, 0), "no link to a wrong group");
}
