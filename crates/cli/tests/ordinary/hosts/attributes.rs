//! What belongs to a file besides its bytes, between two hosts: of empty files too, of which no block tells.

use crate::support::two_hosts::{TwoHosts, Way};
use std::path::Path;

use crate::support::{
    Home, expect, has_attributes_of, make_fifo, make_folder, make_symlink, set_mode, set_mtime, set_xattr,
    xattr,
};

const NOTE: &str = "user.note";
const ACL: &str = "system.posix_acl_access";

#[test]
fn empty_and_small_files_keep_their_attributes_both_ways() {
    let home = Home::new();
    make_folder(&home, "tree");
    for (name, content) in [("tree/empty", &b""[..]), ("tree/small", b"content")] {
        std::fs::write(home.path(name), content).expect("room");
        set_xattr(&home.path(name), "user.colour", name.as_bytes());
        set_mode(&home.path(name), 0o640);
        set_mtime(&home.path(name), 1_000_000_004_987_654_321);
    }
    for (way, source, target) in [(Way::Pushed, "tree", "copy"), (Way::Pulled, "copy", "back")] {
        let run = TwoHosts::new(&home, way).pump(&["copy"], &[source], target);
        expect(&run, 0, &[], &format!("{way:?}"));
    }
    for (original, copies) in [
        ("tree/empty", ["served/copy/empty", "back/empty"]),
        ("tree/small", ["served/copy/small", "back/small"]),
    ] {
        for copy in copies {
            has_attributes_of(&home.path(original), &home.path(copy), copy);
        }
    }
}

/// `u::rw-,u:USER:r--,g::r--,m::r--,o::r--`, as the kernel has it.
fn acl_of(user: u32) -> Vec<u8> {
    let none = u32::MAX;
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, none), (2, 4, user), (4, 4, none), (0x10, 4, none), (0x20, 4, none)];
    let of_entry = |&(tag, bits, id): &(u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2u32.to_le_bytes().to_vec(), entries.iter().flat_map(of_entry).collect()].concat()
}

fn hidden(path: &Path) -> [Option<Vec<u8>>; 3] {
    [NOTE, "user.other", ACL].map(|name| xattr(path, name))
}

/// What somebody does to a file behind a copy: its size and its times stay.
fn spoil(path: &Path, what: &str) {
    let remove = |name: &str| rustix::fs::removexattr(path, name).expect("it has one");
    match what {
        "another value" => assert!(set_xattr(path, NOTE, b"wrong")),
        "one removed" => remove(NOTE),
        "one more" => assert!(set_xattr(path, "user.other", b"more")),
        "another list" => assert!(set_xattr(path, ACL, &acl_of(1001))),
        "no list" => remove(ACL),
        _ => unreachable!("{what}"),
    }
}

#[test]
fn what_a_file_of_another_host_carries_is_compared_by_value() {
    let home = Home::new();
    for name in ["served", "served/tree", "tree"] {
        make_folder(&home, name);
    }
    let files = ["empty", "small", "large"];
    for (file, bytes) in files.iter().zip([0, 9, 5 << 20]) {
        for tree in ["tree", "served/tree"] {
            let path = home.path(tree).join(file);
            std::fs::write(&path, vec![7; bytes]).expect("room");
            set_mode(&path, 0o644);
            if !set_xattr(&path, NOTE, b"right") || !set_xattr(&path, ACL, &acl_of(1000)) {
                eprintln!("left out: this file system has no extended attributes or access control lists");
                return;
            }
        }
    }
    for way in [Way::Pushed, Way::Pulled] {
        let hosts = TwoHosts::new(&home, way);
        let (source, target) = (home.path(hosts.source("tree")), home.path(hosts.target("copy")));
        let run = |option: &str, row: &str| {
            expect(&hosts.pump(&["copy", "-T", option], &["tree"], "copy"), 0, &[], row);
        };
        run("--update", "first");
        for option in ["--update", "--checksum"] {
            for what in ["another value", "one removed", "one more", "another list", "no list"] {
                let row = format!("{way:?} {option}: {what}");
                files.iter().for_each(|file| spoil(&target.join(file), what));
                run(option, &row);
                for file in files {
                    assert_eq!(hidden(&target.join(file)), hidden(&source.join(file)), "{row}: {file}");
                }
            }
            let again = hosts.pump(&["copy", "-T", option, "--itemize-changes"], &["tree"], "copy");
            expect(&again, 0, &[], option);
            assert!(!again.out.contains("small"), "{way:?} {option}: nothing is to be done: {again:?}");
        }
    }
}

/// More than a listing tells: the rest is requested file by file.
#[test]
fn more_attributes_than_a_listing_holds_are_compared() {
    const FILES: usize = 320;
    let home = Home::new();
    make_folder(&home, "tree");
    let path = |root: &str, number: usize| home.path(root).join(number.to_string());
    for number in 0..FILES {
        std::fs::write(path("tree", number), "content").expect("room");
        if !set_xattr(&path("tree", number), NOTE, &[b'a'; 3800]) {
            eprintln!("left out: this file system has no extended attributes of this size");
            return;
        }
    }
    let hosts = TwoHosts::new(&home, Way::Pushed);
    let run = || hosts.pump(&["copy", "-T", "--update"], &["tree"], "copy");
    expect(&run(), 0, &[], "first");
    let copies: Vec<_> = (0..FILES).map(|number| path("served/copy", number)).collect();
    assert!(copies.iter().all(|copy| set_xattr(copy, NOTE, &[b'b'; 3800])));
    expect(&run(), 0, &[], "second");
    for copy in &copies {
        assert_eq!(xattr(copy, NOTE), Some(vec![b'a'; 3800]), "{}", copy.display());
    }
}

#[test]
fn links_and_pipes_of_a_list_that_are_right_are_left_alone() {
    let home = Home::new();
    ["served", "served/tree"].into_iter().for_each(|name| make_folder(&home, name));
    make_symlink(&home, "somewhere", "served/tree/link");
    make_fifo(&home.path("served/tree/pipe"));
    std::fs::write(home.path("list"), "link\npipe\n").expect("room");
    let hosts = TwoHosts::new(&home, Way::Pulled);
    let run = || hosts.pump(&["copy", "-iu", "--files-from", "list"], &["tree/."], "copy");
    expect(&run(), 0, &["cL+++++++++ link -> somewhere", "cS+++++++++ pipe"], "first");
    let again = run();
    expect(&again, 0, &[], "again");
    assert_eq!(again.out, "", "nothing is left to do");
}
