//! Root copies into a folder of somebody who puts files of his choice in the place of what is made there, between the
//! call that makes it and those that give it its attributes: nothing else ever gets them.
//!
//! `DATAPUMP_KILLS=200` does it that often.

use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;

use crate::support::{Home, expect, make_fifo, set_mode};
use crate::wider_parts::pump_with;
use crate::wider_parts::random::seeds;
use crate::wider_parts::swapper::{Renamer, Swapper};
use rustix::fs::{CWD, FileType, Mode};

/// What a name may be given that it must not get: owner, group and mode.
fn rights(path: &Path) -> (u32, u32, u32) {
    let meta = path.symlink_metadata().expect("it is there");
    (meta.uid(), meta.gid(), meta.mode() & 0o7777)
}

fn make(path: &Path, kind: &str) {
    match kind {
        "pipe" => make_fifo(path),
        "device" => {
            let device = rustix::fs::makedev(1, 3);
            rustix::fs::mknodat(CWD, path, FileType::CharacterDevice, Mode::RUSR, device).expect("root");
        }
        "link" => symlink("nowhere", path).expect("room"),
        "folder" => std::fs::create_dir(path).expect("room"),
        _ => std::fs::write(path, "the same length").expect("room"),
    }
    if kind != "link" {
        set_mode(path, 0o666);
    }
    std::os::unix::fs::lchown(path, Some(1234), Some(4321)).expect("root");
}

/// One round: a tree of one thing goes into a folder in which a name is swapped for `bait`.
fn round(kind: &str, options: &[&str], is_there: bool, seed: u64, row: &str) -> u64 {
    let home = Home::new();
    for folder in ["source", "copy"] {
        std::fs::create_dir(home.path(folder)).expect("room");
    }
    chown(home.path("copy"), Some(1234), Some(4321)).expect("root");
    make(&home.path("source/thing"), kind);
    let bait = home.path("copy/bait");
    match kind {
        "folder" => {
            std::fs::create_dir(&bait).expect("room");
            std::fs::write(bait.join("secret"), "secret").expect("room");
            set_mode(&bait, 0o700);
        }
        _ => {
            std::fs::write(home.path("secret"), "secret").expect("room");
            set_mode(&home.path("secret"), 0o600);
            std::fs::hard_link(home.path("secret"), &bait).expect("room");
        }
    }
    let secret = if kind == "folder" { bait.clone() } else { home.path("secret") };
    if is_there {
        // Equal in content and time: only its attributes are wrong.
        let paths = ["source/thing", "copy/thing"].map(|name| home.path(name));
        std::fs::write(&paths[1], "the same length").expect("room");
        paths.iter().for_each(|path| crate::support::set_mtime(path, 1_000_000_000));
    }
    let (before, inode) = (rights(&secret), secret.metadata().expect("it is there").ino());
    let copy = home.path("copy");
    if kind != "folder" {
        std::fs::hard_link(home.path("secret"), copy.join("bait-too")).expect("room");
    }
    let swappers = [
        Swapper::start(copy.join("thing"), bait, seed),
        Swapper::of_temporary(copy.clone(), copy.join("bait-too"), seed),
    ];
    let places = ["source/.", "copy"].map(|name| home.path(name).display().to_string());
    let run = pump_with(&["copy", "--sync=none", &places[0], &places[1]], options);
    let swaps = swappers.into_iter().map(Swapper::stop).sum();
    assert!([0, 1, 23, 24].contains(&run.status), "{row}: {run:?}");
    expect(&run, run.status, &[], row);
    let bait = ["copy/bait", "copy/thing"].map(|name| home.path(name));
    let at = |path: &&std::path::PathBuf| path.symlink_metadata().is_ok_and(|meta| meta.ino() == inode);
    let secret = if kind == "folder" { bait.iter().find(at).expect("it was only swapped") } else { &secret };
    assert_eq!(rights(secret), before, "{row}: what was put there got the attributes: {run:?}");
    swaps
}

#[test]
fn what_is_put_in_the_place_of_what_was_made_gets_nothing() {
    let rows: [(&str, &[&str], bool); 5] = [
        ("pipe", &[], false),
        ("device", &[], false),
        ("link", &[], false),
        ("folder", &[], false),
        ("file", &["--update"], true),
    ];
    for (kind, options, is_there) in rows {
        let swaps: u64 = seeds(kind, 20)
            .map(|seed| round(kind, options, is_there, seed, &format!("{kind}, seed {seed}")))
            .sum();
        assert!(swaps > 0, "{kind}: nothing was swapped");
    }
}

/// The further names of a file are given to the copy of its first one, and to nothing else that got its name.
#[test]
fn a_hard_link_is_made_to_what_was_copied_and_to_nothing_else() {
    let mut swaps = 0;
    for seed in seeds("hard links", 20) {
        let home = Home::new();
        for folder in ["source", "source/one", "source/other", "copy", "copy/other"] {
            std::fs::create_dir(home.path(folder)).expect("room");
        }
        std::fs::write(home.path("source/other/file"), "good").expect("room");
        for number in 0..30 {
            let name = home.path(format!("source/one/file-{number}"));
            std::fs::hard_link(home.path("source/other/file"), name).expect("room");
        }
        std::fs::write(home.path("copy/other/bait"), "evil").expect("room");
        chown(home.path("copy/other/bait"), Some(1234), Some(4321)).expect("root");
        let swapper = Swapper::start(home.path("copy/other/file"), home.path("copy/other/bait"), seed);
        let places = ["source/.", "copy"].map(|name| home.path(name).display().to_string());
        // The folder that is listed last is dealt with first.
        let others: String = (0..30).map(|number| format!("one/file-{number}\n")).collect();
        std::fs::write(home.path("list"), format!("{others}other/file\n")).expect("room");
        let list = format!("--files-from={}", home.path("list").display());
        let run = pump_with(&["copy", "--sync=none", "--lanes=1", &places[0], &places[1]], &[&list]);
        swaps += swapper.stop();
        assert!([0, 1, 23, 24].contains(&run.status), "seed {seed}: {run:?}");
        for number in 0..30 {
            let found = std::fs::read(home.path(format!("copy/one/file-{number}")));
            assert!(found.is_err() || found.is_ok_and(|found| found == b"good"), "seed {seed}: {run:?}");
        }
    }
    assert!(swaps > 0, "nothing was swapped");
}

/// A user who may rename what root makes gives a closed folder the name of an open one before that is made: it would be
/// entered as the open one, and get its mode in the end.
#[test]
fn a_folder_that_is_filled_is_entered_under_no_second_name() {
    const FOLDERS: usize = 200;
    let mut renamed = 0;
    for seed in seeds("second names", 20) {
        let home = Home::new();
        std::fs::create_dir(home.path("copy")).expect("room");
        chown(home.path("copy"), Some(1234), Some(4321)).expect("root");
        for number in 0..FOLDERS {
            for (kind, mode) in [("closed", 0o700), ("open", 0o755)] {
                let folder = home.path(format!("source/{kind}-{number}"));
                std::fs::create_dir_all(&folder).expect("room");
                std::fs::write(folder.join(kind), kind).expect("room");
                set_mode(&folder, mode);
            }
        }
        let renamer = Renamer::start(home.path("copy"), FOLDERS, seed);
        let places = ["source/.", "copy"].map(|name| home.path(name).display().to_string());
        let run = pump_with(&["copy", "--sync=none", &places[0], &places[1]], &[]);
        renamed += renamer.stop();
        assert!([0, 1, 23, 24].contains(&run.status), "seed {seed}: {run:?}");
        for folder in std::fs::read_dir(home.path("copy")).expect("it is there") {
            let folder = folder.expect("an entry").path();
            assert!(!folder.join("closed").exists() || rights(&folder).2 == 0o700, "seed {seed}: {folder:?}");
        }
    }
    assert!(renamed > 0, "nothing was renamed");
}
