//! Folders in folders until no path can name the lowest: made and read step by step.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

/// 20 names of 250 bytes: PATH_MAX is 4096.
const LEVELS: usize = 20;
const NAME_BYTES: usize = 250;

/// Where it stands in a tree.
pub const NAME: &str = "longer than any path";

/// What stands on one level: content of the file, mode and times of file and folder.
type Level = (String, u32, i64, u32, i64);

fn name() -> String {
    "n".repeat(NAME_BYTES)
}

fn open_folder(below: &OwnedFd, name: &str) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(below, name, OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
}

fn open_root(path: &Path) -> OwnedFd {
    rustix::fs::openat(CWD, path, OFlags::DIRECTORY, Mode::empty()).expect("the folder")
}

/// Makes it under its name in a tree.
pub fn make(tree: &Path) {
    let root = tree.join(NAME);
    std::fs::create_dir(&root).expect("room for a folder");
    let mut folder = open_root(&root);
    for level in 0..LEVELS {
        rustix::fs::mkdirat(&folder, name(), Mode::from_raw_mode(0o750)).expect("room for a folder");
        folder = open_folder(&folder, &name()).expect("just made");
        let flags = OFlags::CREATE | OFlags::WRONLY;
        let file = rustix::fs::openat(&folder, "file", flags, Mode::from_raw_mode(0o640));
        let mut file = File::from(file.expect("room for a file"));
        file.write_all(format!("content of level {level}").as_bytes()).expect("room");
    }
}

/// What it holds, from the top.
pub fn levels(tree: &Path) -> Vec<Level> {
    let mut folder = open_root(&tree.join(NAME));
    let mut found = Vec::new();
    while let Ok(next) = open_folder(&folder, &name()) {
        folder = next;
        found.push(level(&folder));
    }
    found
}

fn level(folder: &OwnedFd) -> Level {
    let Ok(file) = rustix::fs::openat(folder, "file", OFlags::RDONLY, Mode::empty()) else {
        return ("no file".into(), 0, 0, 0, 0);
    };
    let (own, file_stat) =
        (rustix::fs::fstat(folder).expect("a folder"), rustix::fs::fstat(&file).expect("a file"));
    let mut content = String::new();
    File::from(file).read_to_string(&mut content).expect("readable");
    (content, own.st_mode, own.st_mtime, file_stat.st_mode, file_stat.st_mtime)
}

/// The copy holds all of it.
pub fn same(source: &Path, copy: &Path, row: &str) {
    let found = levels(copy);
    assert_eq!(found.len(), LEVELS, "{row}: levels");
    assert_eq!(found, levels(source), "{row}");
    let stray = rustix::fs::statat(open_root(&copy.join(NAME)), "file", AtFlags::empty());
    assert!(stray.is_err(), "{row}: a file on the wrong level");
}
