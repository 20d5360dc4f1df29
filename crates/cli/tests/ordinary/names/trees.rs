//! Trees as an ordinary user copies them: cp's rules for the target, links, times, what stands there already, hostile
//! names.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use crate::support;
use crate::support::listing::{self, listing, same, same_apart_from_owners, stamps};
use crate::support::small_tree::{copies, make_removable, set_time, small_tree};
use crate::support::{Home, as_ordinary_user, expect, has_content, make_fifo, make_folder, noise, set_mode};
use rustix::fs::{CWD, FileType, Mode};

#[test]
fn the_target_follows_cp() {
    for (words, existing, expected) in [
        ("a new", "", "new"),
        ("a/ new", "", "new"),
        ("a/. new", "", "new"),
        ("a new/", "", "new"),
        ("./a ./new", "", "new"),
        ("a into", "into", "into/a"),
        ("a/ into", "into", "into"),
        ("a// into/", "into", "into"),
        ("a into/", "into", "into/a"),
        ("a/. into", "into", "into"),
        ("a into/new", "into", "into/new"),
        ("-T a into", "into", "into"),
        ("-T a/ into/", "into", "into"),
        ("-T a new", "", "new"),
    ] {
        let home = Home::new();
        let source = small_tree(&home, "a");
        if !existing.is_empty() {
            make_folder(&home, existing);
        }
        copies(&home, &format!("copy {words}"));
        same(&source, &home.path(expected), words);
    }
}

#[test]
fn a_target_that_is_a_link_to_a_folder_is_that_folder() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    make_folder(&home, "into");
    support::make_symlink(&home, "into", "link");
    copies(&home, "copy a link");
    same(&source, &home.path("into/a"), "through a link that was asked for");
}

#[test]
fn the_same_command_again_goes_below_an_existing_folder() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    copies(&home, "copy a new");
    copies(&home, "copy a new");
    same(&source, &home.path("new/a"), "the second copy");
    std::fs::remove_dir_all(home.path("new/a")).expect("it is there");
    set_time(&home.path("new"), 1_000_000_004, 987_654_321);
    same(&source, &home.path("new"), "the first copy");
}

#[test]
fn links_are_copied_as_links() {
    let home = Home::new();
    make_folder(&home, "a");
    make_folder(&home, "elsewhere");
    std::fs::write(home.path("elsewhere/file"), "not asked for").expect("room");
    let absolute = home.path("elsewhere").display().to_string();
    let long = "x/".repeat(2000);
    for (number, to) in
        ["../elsewhere", &absolute, "../elsewhere/file", "nowhere", ".", "..", "/", "link-0", "a\nb", &long]
            .into_iter()
            .enumerate()
    {
        let link = home.path(format!("a/link-{number}"));
        symlink(to, &link).expect("room for a link");
        set_time(&link, number as i64 * 600_000_000 - 1_000_000_000, 1 + number as i64);
    }
    let before = listing(&home.path("a"));
    copies(&home, "copy a new");
    same(&home.path("a"), &home.path("new"), "links");
    assert!(before == listing(&home.path("a")), "the source is as it was");
}

#[test]
fn hard_links_stay_links_also_across_sources() {
    let home = Home::new();
    for folder in ["a", "a/sub", "b", "into"] {
        make_folder(&home, folder);
    }
    for (name, bytes) in [("empty", 0), ("small", 300), ("large", 2_000_001)] {
        let file = home.path(format!("a/{name}"));
        std::fs::write(&file, noise(bytes, 5)).expect("room");
        for link in ["a/sub", "b", "a/sub/.."] {
            std::fs::hard_link(&file, home.path(link).join(format!("{name}-link"))).expect("a link");
        }
        std::fs::hard_link(&file, home.path(format!("{name}-outside"))).expect("a link");
    }
    symlink("small", home.path("a/symlink")).expect("a link");
    std::fs::hard_link(home.path("a/symlink"), home.path("a/sub/symlink")).expect("a link");
    for lanes in ["1", "7"] {
        copies(&home, &format!("copy --lanes {lanes} a b into"));
        for name in ["empty", "small", "large"] {
            let links = ["a/#", "a/#-link", "a/sub/#-link", "b/#-link"].map(|link| link.replace('#', name));
            let inodes = links.map(|link| home.path("into").join(link).metadata().expect("a link").ino());
            assert_eq!(inodes, [inodes[0]; 4], "{name}: one file");
            let outside = home.path(format!("{name}-outside")).metadata().expect("it is there");
            assert_ne!(inodes[0], outside.ino(), "{name}: the copy is no link to the source");
        }
        same(&home.path("a"), &home.path("into/a"), lanes);
        std::fs::remove_dir_all(home.path("into")).expect("it is there");
        make_folder(&home, "into");
    }
}

#[test]
fn read_only_folders_and_files() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    for (path, mode) in [
        ("sub/deeper/d", 0o400),
        ("b", 0o444),
        ("sub/deeper/deepest", 0o500),
        ("sub/deeper", 0o555),
        ("sub", 0o711),
        ("empty", 0o2555),
        ("", 0o555),
    ] {
        set_mode(&source.join(path), mode);
    }
    belongs_to_nobody(&source);
    set_mode(&source.join("empty"), 0o2555);
    make_folder(&home, "into");
    set_mode(&home.path("into"), 0o777);
    for lanes in ["1", "3"] {
        let Some(run) = as_ordinary_user(&home, &["copy", "--lanes", lanes, "a", "into/new"]) else { break };
        expect(&run, 0, &[], lanes);
        same(&source, &home.path("into/new"), lanes);
        make_removable(&home.path("into/new"));
        std::fs::remove_dir_all(home.path("into/new")).expect("it is there");
    }
    make_removable(&source);
}

/// Root may write everywhere: when it runs the tests, nobody copies.
fn belongs_to_nobody(tree: &Path) {
    if support::is_root() {
        for path in listing::paths(tree) {
            std::os::unix::fs::lchown(tree.join(path), Some(65_534), Some(65_534)).expect("root");
        }
    }
}

#[test]
fn what_stands_there_is_merged_with() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    make_folder(&home, "new");
    make_folder(&home, "new/sub");
    make_folder(&home, "new/other");
    for (name, bytes) in [("b", 500_000), ("extra", 10), ("sub/c", 5000), ("sub/extra", 20), ("other/x", 1)] {
        std::fs::write(home.path("new").join(name), noise(bytes, 77)).expect("room");
    }
    std::fs::hard_link(home.path("new/sub/c"), home.path("kept")).expect("a link");
    copies(&home, "copy -T a new");
    let (expected, found) = (listing(&source), listing(&home.path("new")));
    for (path, entry) in &expected {
        let found = found.get(path).unwrap_or_else(|| panic!("{path:?} is missing"));
        assert_eq!(found, entry, "{path:?}");
    }
    let more: Vec<_> = found.keys().filter(|path| !expected.contains_key(*path)).collect();
    assert_eq!(more, ["extra", "other", "other/x", "sub/extra"].map(Path::new), "what was there stays");
    has_content(&home.path("new/sub/extra"), &noise(20, 77), "untouched");
    has_content(&home.path("kept"), &noise(5000, 77), "another name of a file that was replaced");
}

#[test]
fn what_stands_in_the_way_is_told_and_the_rest_is_done() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    make_folder(&home, "new");
    // A folder where a file is to be, and a file where a folder is to be, which gives way.
    make_folder(&home, "new/b");
    std::fs::write(home.path("new/b/inside"), "mine").expect("room");
    std::fs::write(home.path("new/empty"), "mine").expect("room");
    let run = home.pump(&["copy", "-T", "a", "new"]);
    expect(&run, 23, &["new/b'"], "kinds");
    has_content(&home.path("new/b/inside"), b"mine", "a folder is not replaced by a file");
    assert!(home.path("new/empty").is_dir(), "a file is replaced by a folder");
    for file in ["zero", "sub/c", "sub/deeper/d", "sub/deeper/deepest/e"] {
        has_content(&home.path("new").join(file), &std::fs::read(source.join(file)).expect("readable"), file);
    }
}

#[test]
fn links_in_the_target_are_never_followed() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    for folder in ["outside", "outside/deeper", "new"] {
        make_folder(&home, folder);
    }
    std::fs::write(home.path("outside/victim"), "mine").expect("room");
    std::fs::write(home.path("outside/c"), "mine").expect("room");
    support::make_symlink(&home, "../outside", "new/sub");
    support::make_symlink(&home, "../outside/victim", "new/b");
    let before = (listing(&home.path("outside")), stamps(&home.path("outside")));
    let run = home.pump(&["copy", "-T", "a", "new"]);
    assert!([0, 23].contains(&run.status), "{run:?}");
    assert!(before == (listing(&home.path("outside")), stamps(&home.path("outside"))), "{run:?}");
    has_content(&home.path("new/zero"), b"", "the rest is done");
    if run.status == 0 {
        same(&source, &home.path("new"), "links in the target were replaced");
    } else {
        assert!(run.err.contains("new/sub"), "{run:?}");
    }
}

#[test]
fn sockets_are_left_out_with_a_line() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::mknodat(CWD, source.join("sub/talk"), FileType::Socket, mode, 0).expect("a socket");
    let run = copies(&home, "copy a new");
    assert!(run.err.contains("sub/talk") && run.err.contains("socket"), "{run:?}");
    assert!(home.path("new/sub/talk").symlink_metadata().is_err(), "no socket in the copy");
    // The folder's time is that of the source, which had the socket made in it.
    same(&source, &home.path("new"), "the rest");
    let run = home.pump(&["verify", "a", "new"]);
    expect(&run, 0, &["sub/talk"], "verify leaves it out too");
    assert_eq!(run.out, "", "no difference");
}

#[test]
fn named_pipes_are_made_and_not_read() {
    let home = Home::new();
    make_folder(&home, "a");
    make_fifo(&home.path("a/pipe"));
    set_mode(&home.path("a/pipe"), 0o640);
    set_time(&home.path("a/pipe"), 5, 6);
    std::fs::hard_link(home.path("a/pipe"), home.path("a/pipe again")).expect("pipes have links");
    copies(&home, "copy a new");
    same(&home.path("a"), &home.path("new"), "a pipe");
}

#[test]
fn several_sources_folders_and_files() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    std::fs::create_dir(home.path("b")).expect("room");
    let content = support::noise_file(&home, "file", 100_000, 3);
    make_folder(&home, "into");
    copies(&home, "copy a file b into");
    same(&source, &home.path("into/a"), "a");
    same(&home.path("b"), &home.path("into/b"), "b");
    has_content(&home.path("into/file"), &content, "file");
    let run = home.pump(&["copy", "a", "missing", "file", "into"]);
    expect(&run, 23, &["'missing'", "No such file or directory"], "one of several is missing");
    same(&source, &home.path("into/a"), "the rest is done");
    expect(&home.pump(&["copy", "missing", "into"]), 1, &["'missing'"], "the only one is missing");
}

#[test]
fn hostile_names_are_only_names() {
    let home = Home::new();
    make_folder(&home, "a");
    let longest = [b'n'; 255];
    let names: [&[u8]; 14] = [
        b"...",
        b".. ",
        b"..a",
        b" ",
        b"-rf",
        b"--delete",
        b"new\nline",
        b"\x1b[2J\x07",
        b"\xff\xfe",
        b"host:path",
        b"null:",
        b"%s",
        "\u{202e}".as_bytes(),
        &longest,
    ];
    for (number, bytes) in names.into_iter().enumerate() {
        let folder = home.path("a").join(std::ffi::OsStr::from_bytes(bytes));
        std::fs::create_dir(&folder).expect("room");
        std::fs::write(folder.join(std::ffi::OsStr::from_bytes(bytes)), noise(number, 1)).expect("room");
    }
    copies(&home, "copy a new");
    same(&home.path("a"), &home.path("new"), "names");
    let changed = home.path("new/\x1b[2J\x07/\x1b[2J\x07");
    std::fs::write(&changed, "other").expect("room");
    let run = home.pump(&["verify", "a", "new"]);
    expect(&run, 1, &["[2J"], "escaped");
    assert!(!run.out.contains('\x1b'), "{run:?}");
}

#[test]
fn lanes_and_ways_give_the_same_tree() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    for flags in [
        "--lanes=1",
        "--lanes=2",
        "--lanes=7",
        "--lanes=64",
        "--sync=none",
        "--sync=each",
        "--verify",
        "--engine=threads",
        "--engine=inline",
        "--engine=uring",
        "--request-size=4KiB",
        "--reflink=never",
        "--sparse=never",
        "--progress=always",
    ] {
        copies(&home, &format!("copy {flags} a new"));
        same_apart_from_owners(&source, &home.path("new"), flags);
        std::fs::remove_dir_all(home.path("new")).expect("it is there");
    }
}

#[test]
fn a_narrow_limit_of_open_files_is_enough() {
    let home = Home::new();
    let source = small_tree(&home, "a");
    let mut folder = source.join("sub");
    for level in 0..100 {
        folder.push(format!("level-{level}"));
        std::fs::create_dir(&folder).expect("room");
        std::fs::write(folder.join("file"), noise(level, 1)).expect("room");
    }
    for flags in ["--lanes=1", "--lanes=7"] {
        let run = support::outcome(support::after(&home, "ulimit -n 64", &["copy", flags, "a", "new"]), b"");
        expect(&run, 0, &[], flags);
        same(&source, &home.path("new"), flags);
        std::fs::remove_dir_all(home.path("new")).expect("it is there");
    }
}

/// A file that is read back, or compared, or waited for by other names may bring more to do when all else is done: the
/// last lanes must not end before.
#[test]
fn what_comes_last_is_done_too() {
    let home = Home::new();
    let source = home.path("a");
    std::fs::create_dir(&source).expect("room");
    for number in 0..300 {
        std::fs::write(source.join(format!("f{number}")), noise(1000, number)).expect("room");
    }
    std::fs::hard_link(source.join("f3"), source.join("other name")).expect("one file system");
    for round in 0..24 {
        let lanes = ["--lanes=2", "--lanes=4", "--lanes=7"][round / 2 % 3];
        let way = ["--verify", "--checksum", "--sync=each"][round % 3];
        expect(
            &home.pump(&["copy", lanes, way, "-T", "a", "new"]),
            0,
            &[],
            &format!("{round}: {lanes} {way}"),
        );
        same(&source, &home.path("new"), &format!("{round}: {lanes} {way}"));
        match round % 2 {
            0 => std::fs::remove_dir_all(home.path("new")).expect("it is there"),
            _ => std::fs::write(home.path("new/f5"), noise(1000, 99)).expect("room"),
        }
    }
}
