//! Folders below a source that a mount shows in the target, or the other way round: nothing is written to them.

use crate::support::{Home, expect, has_content};
use crate::wider_parts::mounts::Bind;

/// A folder below the source, however deep, that a mount shows in the target under another folder's name: it is known
/// before it is walked.
#[test]
fn a_folder_below_a_source_that_a_mount_shows_in_the_target_is_not_written_to() {
    for (shown, place, words) in [
        ("s/y", "t/a", "copy -v"),
        ("s/y", "t/a", "copy -n"),
        ("s/y", "t/a", "copy --lanes=1"),
        ("s/y", "t/a", "mirror --lanes=1"),
        ("s/y", "t/a", "copy --remove-source-files"),
        ("s/z/deep/y", "t/a", "copy --lanes=1"),
        ("s/z/deep", "t/a", "copy --lanes=1"),
        // The other way round: a mount in the source shows a folder of the target.
        ("t/a", "s/z/deep/y", "copy --lanes=1"),
    ] {
        let home = Home::new();
        let row = format!("{shown} at {place}, {words}");
        for folder in ["s/a/y", shown, place] {
            std::fs::create_dir_all(home.path(folder)).expect("room");
        }
        for file in ["s/a/f", "s/a/y/f"] {
            std::fs::write(home.path(file), "from-a").expect("room");
        }
        let precious = home.path(shown).join("f");
        std::fs::write(&precious, "precious").expect("room");
        let bound = [shown, place].map(|name| home.path(name).display().to_string());
        let bind = Bind::new(&bound[0], &bound[1]);
        let words: Vec<&str> = words.split(' ').chain(["s/", "t"]).collect();
        expect(&home.pump(&words), 23, &["'t/a", "is a folder that is copied from", "unmount it"], &row);
        has_content(&precious, b"precious", &row);
        drop(bind);
    }
}

/// What a pattern excludes is not copied from, and what has one name on both sides is its own copy.
#[test]
fn a_folder_that_is_not_copied_from_may_be_shown_in_the_target() {
    for (target, shown, place, flag) in [
        ("t", "s/y", "t/a", "--exclude=/y"),
        ("t", "s/y", "t/a", "--exclude=y/"),
        ("s/t", "s/t/b", "s/t/a", "--exclude=/t"),
        ("t", "s/a", "t/a", "-v"),
    ] {
        let home = Home::new();
        for folder in ["s/a", shown, place] {
            std::fs::create_dir_all(home.path(folder)).expect("room");
        }
        std::fs::write(home.path("s/a/f"), "from-a").expect("room");
        let bound = [shown, place].map(|name| home.path(name).display().to_string());
        let _bind = Bind::new(&bound[0], &bound[1]);
        let run = home.pump(&["copy", flag, "s/", target]);
        let row = format!("{shown} at {place}, {flag}: {run:?}");
        assert!(!run.err.contains("is a folder that is copied from"), "{row}");
        has_content(&home.path(place).join("f"), b"from-a", &row);
    }
}
