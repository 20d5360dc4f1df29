//! A small tree as most are, and how it is copied.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

use super::{Home, Outcome, expect, listing, noise, set_mode};

/// Makes `name` with what most trees have: files of some sizes, folders in folders, one of them empty, links.
pub fn small_tree(home: &Home, name: &str) -> PathBuf {
    let tree = home.path(name);
    for folder in ["", "empty", "sub", "sub/deeper", "sub/deeper/deepest"] {
        std::fs::create_dir(tree.join(folder)).expect("room for a folder");
    }
    for (file, bytes) in [
        ("zero", 0),
        ("b", 10),
        ("sub/c", 5000),
        ("sub/deeper/d", 70_001),
        ("sub/deeper/deepest/e", 1_000_003),
    ] {
        std::fs::write(tree.join(file), noise(bytes, bytes as u64 + 1)).expect("room for a file");
        set_time(&tree.join(file), 978_307_201, bytes as i64 % 999_999_999);
    }
    symlink("sub/c", tree.join("link")).expect("room for a link");
    std::fs::hard_link(tree.join("b"), tree.join("sub/b again")).expect("the same file system");
    for (number, folder) in ["sub/deeper/deepest", "sub/deeper", "sub", "empty", ""].into_iter().enumerate() {
        set_time(&tree.join(folder), 1_000_000_000 + number as i64, 987_654_321);
    }
    tree
}

pub fn set_time(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).expect("a time can be set");
}

/// `pump` with these words, separated by spaces, must succeed.
pub fn copies(home: &Home, words: &str) -> Outcome {
    let run = home.pump(&words.split(' ').collect::<Vec<_>>());
    expect(&run, 0, &[], words);
    assert_eq!(listing::leftovers_below(&home.path("")), [""; 0], "{words}: left behind");
    run
}

/// Folders that nobody may write would outlive the test.
pub fn make_removable(folder: &Path) {
    for path in listing::paths(folder) {
        let path = folder.join(path);
        if path.symlink_metadata().expect("it was listed").is_dir() {
            set_mode(&path, 0o755);
        }
    }
}
