//! `pump verify --attributes`: what else belongs to a file.

use std::fs;

use crate::support::{Home, expect, is_root, make_folder, make_symlink, noise_file, set_xattr};

/// Two trees that are the same.
fn twins(home: &Home) -> bool {
    make_folder(home, "one");
    make_folder(home, "one/sub");
    noise_file(home, "one/sub/file", 3000, 1);
    make_symlink(home, "sub/file", "one/link");
    let has_xattrs = set_xattr(&home.path("one/sub/file"), "user.kept", b"1");
    expect(&home.pump(&["copy", "one", "other"]), 0, &[], "a copy");
    has_xattrs
}

#[test]
fn attributes_are_compared_where_that_is_asked_for() {
    let home = Home::new();
    if !twins(&home) {
        return eprintln!("skipped: no extended attributes here");
    }
    let all = ["verify", "--attributes", "one", "other"];
    expect(&home.pump(&all), 0, &[], "the same");
    let list = [2u32.to_le_bytes().to_vec(), acl(6, 4, 4, 0)].concat();
    for (path, name, value, words) in [
        ("other/sub/file", "user.kept", &b"2"[..], "extended attribute user.kept: not the one of"),
        ("other/sub/file", "user.more", &b""[..], "extended attribute user.more: only"),
        ("one/sub", "user.of_folder", &b"x"[..], "extended attribute user.of_folder: 'other/sub' has none"),
        ("one", "user.of_root", &b"x"[..], "extended attribute user.of_root: 'other' has none"),
        (
            "one/sub",
            "system.posix_acl_default",
            &list[..],
            "default access control list: 'other/sub' has none",
        ),
    ] {
        assert!(set_xattr(&home.path(path), name, value), "{name}");
        expect(&home.pump(&all), 1, &[words], name);
    }
    expect(&home.pump(&["verify", "one", "other"]), 0, &["not compared: owners"], "not asked for");
    expect(&home.pump(&["verify", "--content-only", "one", "other"]), 0, &[], "content alone");
    let files = ["one/sub/file", "other/sub/file"];
    let run = home.pump(&[&["verify", "--attributes"][..], &files].concat());
    expect(&run, 1, &["user.kept: not the one of"], "two files");
    expect(&home.pump(&[&["verify", "-q"][..], &files].concat()), 0, &[], "two files, content and mode");
    expect(&home.pump(&["verify", "--attributes", "--content-only", "one", "other"]), 2, &[], "both");
}

/// Entries of an access control list: owner, group, one more group, others.
fn acl(owner: u16, group: u16, named: u16, others: u16) -> Vec<u8> {
    const NONE: u32 = u32::MAX;
    let entry = |tag: u16, bits: u16, id: u32| {
        [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [
        entry(1, owner, NONE),
        entry(4, group, NONE),
        entry(8, named, 1),
        entry(16, named, NONE),
        entry(32, others, NONE),
    ]
    .concat()
}

#[test]
fn owners_are_compared_where_that_is_asked_for() {
    let home = Home::new();
    if !is_root() {
        return eprintln!("skipped: only root gives files away");
    }
    twins(&home);
    for name in ["other/sub", "other/sub/file", "other/link"] {
        std::os::unix::fs::lchown(home.path(name), Some(1), Some(2)).expect("root may");
        let words = format!("belongs to 0:0, '{name}' to 1:2");
        expect(&home.pump(&["verify", "--attributes", "one", "other"]), 1, &[&words], name);
    }
    expect(&home.pump(&["verify", "-q", "one", "other"]), 0, &[], "not asked for");
    fs::remove_dir_all(home.path("other")).expect("it is ours");
}
