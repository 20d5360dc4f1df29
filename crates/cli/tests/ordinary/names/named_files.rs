//! Files, links and pipes that are named one by one go as in a folder, and are as safe.

use std::fs;

use crate::support::{Home, expect, make_fifo, make_symlink};

/// The kernel makes it up: its size says nothing.
#[test]
fn with_checksum_a_file_without_a_size_is_read() {
    let home = Home::new();
    fs::create_dir(home.path("to")).expect("room");
    fs::write(home.path("to/version"), "").expect("room");
    expect(&home.pump(&["copy", "-c", "/proc/version", "to/"]), 0, &[], "named");
    let version = fs::read("/proc/version").expect("Linux has it");
    assert!(fs::read(home.path("to/version")).expect("it was copied") == version);
}

#[test]
fn a_link_to_a_pipe_that_is_named_beside_a_file_stays_a_link() {
    let home = Home::new();
    for folder in ["from", "to"] {
        fs::create_dir(home.path(folder)).expect("room");
    }
    fs::write(home.path("from/c"), "c").expect("room");
    make_fifo(&home.path("from/b"));
    make_symlink(&home, "b", "from/a");
    expect(&home.pump(&["copy", "from/a", "from/c", "to/"]), 0, &[], "a link to a pipe");
    assert_eq!(fs::read_link(home.path("to/a")).expect("a link").as_os_str(), "b");
    assert!(home.path("to/c").exists());
}
