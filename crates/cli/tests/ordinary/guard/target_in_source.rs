//! Copies of a folder into itself: refused where the copy would come by its own target, and only there.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::listing::listing;
use crate::support::small_tree::small_tree;
use crate::support::{Home, expect, make_folder, noise_file};

/// A tree `h` with a folder `h/backup`, and lists of names.
fn house() -> Home {
    let home = Home::new();
    small_tree(&home, "h");
    make_folder(&home, "h/backup");
    noise_file(&home, "file", 10, 1);
    fs::write(home.path("without"), "b\nsub/\n").expect("room");
    fs::write(home.path("with"), "b\nbackup/\n").expect("room");
    home
}

/// The names in a folder and below.
fn names(home: &Home, folder: &str) -> Vec<PathBuf> {
    listing(&home.path(folder)).into_keys().filter(|path| path != Path::new("")).collect()
}

#[test]
fn a_target_in_the_source_that_is_not_copied_from_receives_the_rest() {
    let all = |path: &PathBuf| !path.starts_with("backup");
    let some = |path: &PathBuf| path == Path::new("b") || path.starts_with("sub");
    let listed = |path: &PathBuf| some(path) && path.components().count() < 3;
    for (line, target, is_copied) in [
        ("copy --exclude /backup h/. h/backup", "h/backup", &all as &dyn Fn(&PathBuf) -> bool),
        ("copy --exclude /h/backup h h/backup", "h/backup/h", &all),
        ("copy --exclude backup/ -T h h/backup/new", "h/backup/new", &all),
        ("copy --exclude /backup --update=differs --delete h/. h/backup", "h/backup", &all),
        ("copy --exclude /h/backup h file h/backup", "h/backup/h", &all),
        ("mirror --exclude /backup h h/backup", "h/backup", &all),
        ("copy --include /sub/*** --include /b --exclude * h/. h/backup", "h/backup", &some),
        ("copy --files-from without h/. h/backup", "h/backup", &listed),
    ] {
        let home = house();
        let words: Vec<&str> = line.split(' ').collect();
        for run in ["the first run", "the second run"] {
            expect(&home.pump(&words), 0, &[], &format!("{line}: {run}"));
            let source: Vec<PathBuf> = names(&home, "h").into_iter().filter(is_copied).collect();
            assert_eq!(names(&home, target), source, "{line}: {run}");
        }
    }
}

#[test]
fn a_target_in_the_source_that_would_be_copied_is_refused_before_anything_is_written() {
    let home = house();
    make_folder(&home, "h/h");
    let before = listing(&home.path(""));
    for line in [
        "h/. h",
        "h/. h/backup",
        "h h",
        "--exclude /other h/. h/backup",
        "--exclude /new --include /backup h/. h/backup",
        "--files-from with h/. h/backup",
        "-x h/. h/backup",
        "--exclude /h/h h file h",
        "--exclude * h/. h",
    ] {
        let words: Vec<&str> = ["copy"].into_iter().chain(line.split(' ')).collect();
        expect(&home.pump(&words), 2, &["or lies in it"], line);
        assert_eq!(listing(&home.path("")), before, "{line}");
    }
}
