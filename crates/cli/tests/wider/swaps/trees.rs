//! Somebody swaps a folder for a symbolic link while a tree is copied, in the source or in the target: nothing outside
//! is ever read into the copy, and nothing outside is ever written.
//!
//! `DATAPUMP_KILLS=200` does it that often.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::listing::{listing, paths, stamps};
use crate::support::{Home, Outcome, expect, noise};
use crate::wider_parts::judge::{is_ours, same_tree};
use crate::wider_parts::pump_with;
use crate::wider_parts::random::seeds;
use crate::wider_parts::swapper::Swapper;
use rustix::fs::{CWD, RenameFlags};

/// What stands in every file outside.
const MARKER: &[u8] = b"outside: must not be in any copy";
const FILES: usize = 120;

/// Makes folders in a folder, with files in each; outside they have the same names and hold the marker.
fn make_ground(home: &Home) {
    for (root, outside) in [("source/inner", false), ("outside", true)] {
        for folder in ["", "below", "below/deeper"] {
            let folder = home.path(root).join(folder);
            std::fs::create_dir_all(&folder).expect("room");
            for number in 0..FILES {
                let content = if outside { MARKER.to_vec() } else { noise(2000 + number, number as u64) };
                std::fs::write(folder.join(format!("file-{number}")), content).expect("room");
            }
        }
    }
    for number in 0..FILES {
        std::fs::write(home.path(format!("source/file-{number}")), noise(3000, 7)).expect("room");
    }
}

fn copy(home: &Home, options: &[&str]) -> Outcome {
    let places = ["source", "copy"].map(|name| home.path(name).display().to_string());
    pump_with(&["copy", &places[0], &places[1]], options)
}

/// Each regular file of the copy, looked at without following links.
fn holds_no_marker(copy: &Path, row: &str) {
    for path in paths(copy).into_iter().filter(|path| !is_ours(path)) {
        let full = copy.join(&path);
        if full.symlink_metadata().expect("nobody removes it").is_file() {
            let content = std::fs::read(&full).expect("readable");
            assert!(!content.starts_with(MARKER), "{row}: {path:?} was read outside");
        }
    }
}

/// The inner folder is where it belongs, and the link beside the tree.
fn put_right(inner: &Path, spare: &Path) {
    if inner.is_symlink() {
        rustix::fs::renameat_with(CWD, inner, CWD, spare, RenameFlags::EXCHANGE).expect("both are there");
    }
}

const WAYS: [&[&str]; 4] =
    [&["--sync=none"], &["--sync=none", "--lanes=1"], &["--sync=none", "--lanes=7"], &[]];

#[test]
fn a_folder_of_the_source_swapped_for_a_link_never_leads_out() {
    let home = Home::new();
    make_ground(&home);
    let (inner, spare) = (home.path("source/inner"), home.path("spare"));
    symlink(home.path("outside"), &spare).expect("room for a link");
    let mut swaps = 0;
    for (round, seed) in seeds("swaps in the source", 20).enumerate() {
        let row = format!("round {round} {:?}", WAYS[round % WAYS.len()]);
        let swapper = Swapper::start(inner.clone(), spare.clone(), seed);
        let run = copy(&home, WAYS[round % WAYS.len()]);
        swaps += swapper.stop();
        assert!([0, 1, 23, 24].contains(&run.status), "{row}: {run:?}");
        expect(&run, run.status, &[], &row);
        holds_no_marker(&home.path("copy"), &row);
        std::fs::remove_dir_all(home.path("copy")).expect("it is there");
        put_right(&inner, &spare);
    }
    assert!(swaps > 0, "nothing was swapped");
    expect(&copy(&home, &[]), 0, &[], "undisturbed");
    same_tree(&home.path("source"), &home.path("copy"), "undisturbed");
}

#[test]
fn a_folder_of_the_target_swapped_for_a_link_never_leads_out() {
    let home = Home::new();
    make_ground(&home);
    let before = (listing(&home.path("outside")), stamps(&home.path("outside")));
    let (inner, spare) = (home.path("copy/inner"), home.path("spare"));
    let mut swaps = 0;
    for (round, seed) in seeds("swaps in the target", 20).enumerate() {
        let row = format!("round {round} {:?}", WAYS[round % WAYS.len()]);
        // Half of the rounds replace what is there already.
        for folder in
            if round % 2 == 0 { &["inner"][..] } else { &["inner", "inner/below", "inner/below/deeper"] }
        {
            std::fs::create_dir_all(home.path("copy").join(folder)).expect("room");
            std::fs::write(home.path("copy").join(folder).join("file-7"), "old").expect("room");
        }
        symlink(home.path("outside"), &spare).expect("room for a link");
        let swapper = Swapper::start(inner.clone(), spare.clone(), seed);
        let run = copy(&home, &[&["-T"], WAYS[round % WAYS.len()]].concat());
        swaps += swapper.stop();
        assert!([0, 1, 23, 24].contains(&run.status), "{row}: {run:?}");
        expect(&run, run.status, &[], &row);
        let after = (listing(&home.path("outside")), stamps(&home.path("outside")));
        assert!(before == after, "{row}: something outside was written");
        let _ = std::fs::remove_file(&spare);
        let _ = std::fs::remove_dir_all(&spare);
        std::fs::remove_dir_all(home.path("copy")).expect("it is there");
    }
    assert!(swaps > 0, "nothing was swapped");
    expect(&copy(&home, &[]), 0, &[], "undisturbed");
    same_tree(&home.path("source"), &home.path("copy"), "undisturbed");
}

#[test]
fn a_file_of_the_source_swapped_for_a_link_is_never_followed() {
    let home = Home::new();
    make_ground(&home);
    let (inner, spare) = (home.path("source/inner/below/file-50"), home.path("spare"));
    symlink(home.path("outside/file-1"), &spare).expect("room for a link");
    for (round, seed) in seeds("swaps of a file", 20).enumerate() {
        let row = format!("round {round} {:?}", WAYS[round % WAYS.len()]);
        let swapper = Swapper::start(inner.clone(), spare.clone(), seed);
        let run = copy(&home, WAYS[round % WAYS.len()]);
        swapper.stop();
        assert!([0, 23, 24].contains(&run.status), "{row}: {run:?}");
        holds_no_marker(&home.path("copy"), &row);
        std::fs::remove_dir_all(home.path("copy")).expect("it is there");
        put_right(&inner, &spare);
    }
}

#[test]
fn folders_that_come_and_go_while_walked_do_not_stop_the_rest() {
    let home = Home::new();
    make_ground(&home);
    // Within the source, so that one of the two names is always a folder, and the other always a file.
    std::fs::write(home.path("source/aside"), "a file").expect("room");
    let (inner, aside) = (home.path("source/inner/below"), home.path("source/aside"));
    for (round, seed) in seeds("folders and files swapped", 20).enumerate() {
        let row = format!("round {round} {:?}", WAYS[round % WAYS.len()]);
        let swapper = Swapper::start(inner.clone(), aside.clone(), seed);
        let run = copy(&home, WAYS[round % WAYS.len()]);
        swapper.stop();
        assert!([0, 23, 24].contains(&run.status), "{row}: {run:?}");
        for number in 0..FILES {
            let file = home.path(format!("copy/file-{number}"));
            crate::support::has_content(&file, &noise(3000, 7), &row);
        }
        std::fs::remove_dir_all(home.path("copy")).expect("it is there");
    }
}
