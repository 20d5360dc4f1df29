//! Folders nested so deeply that no path leads to the last.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

/// Nests so many folders in each other, with a file in the last.
pub fn nest(root: &Path, levels: usize, name_bytes: usize) {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY;
    let mut folder = openat(CWD, root, flags, Mode::empty()).expect("it was made");
    for level in 0..levels {
        let name = format!("{level:0>name_bytes$}");
        mkdirat(&folder, &name, Mode::from(0o755)).expect("room");
        folder = openat(&folder, &name, flags, Mode::empty()).expect("it was just made");
    }
    let file = openat(&folder, "file", OFlags::CREATE | OFlags::WRONLY, Mode::from(0o644)).expect("room");
    File::from(file).sync_all().expect("a file");
}

/// Their removal would take a path longer than the system takes, or an open file for each level.
pub fn remove(path: &Path) {
    assert!(Command::new("rm").arg("-rf").arg(path).status().expect("rm is installed").success());
}
