//! `pump lab run disks` and `disk-net` where they cannot begin: told before anything is written.

use std::fs;

use crate::support::{Home, expect};

#[test]
fn studies_of_disks_need_a_folder_with_room() {
    let home = Home::new();
    fs::write(home.path("file"), b"content").expect("room");
    for (words, told) in [
        (&["disks", "--folder", "/dev/null"][..], "/dev/null is not a directory; name one on the disk"),
        (&["disk-net", "--folder", "/dev/null"], "/dev/null is not a directory; name one on the disk"),
        (&["disks", "--folder", "file"], "file is not a directory"),
        (&["disks", "--set", "size=4PiB"], "free, the study needs"),
    ] {
        let run = home.pump(&[&["lab", "run", "--out", "rows.jsonl", "--quick"], words].concat());
        assert_ne!(run.status, 0, "{words:?}");
        expect(&run, run.status, &[told], &format!("{words:?}"));
        assert_eq!(home.names(), ["file"], "{words:?}: nothing was written");
    }
}

/// Both studies are there with what they vary.
#[test]
fn studies_of_disks_can_be_shown() {
    let home = Home::new();
    for (study, words) in [
        ("disks", &["read_ahead", "scheduler", "position", "btrfs", "[quick]"][..]),
        ("disk-net", &["mtu", "9000", "control"]),
    ] {
        expect(&home.pump(&["lab", "show", study]), 0, words, study);
    }
}
