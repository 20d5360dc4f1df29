//! A command as it is typed, and how it must end; and the small files that it needs.

use std::fs;

use super::{Home, Outcome, expect};

/// Runs a line of words that have no spaces; it must end as [`expect`] says.
pub fn pump(home: &Home, line: &str, status: i32, parts: &[&str]) -> Outcome {
    let run = home.pump(&line.split(' ').collect::<Vec<_>>());
    expect(&run, status, parts, line);
    run
}

/// Files with a byte each, and the folders that they lie in.
pub fn make(home: &Home, files: &[&str]) {
    for file in files {
        let path = home.path(file);
        fs::create_dir_all(path.parent().expect("it has one")).expect("room");
        fs::write(path, "x").expect("room");
    }
}
