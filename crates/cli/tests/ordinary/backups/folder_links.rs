//! `--backup-dir` through symbolic links: followed where they are one's own or root's, refused where they are another
//! user's.

use std::fs;
use std::os::unix::fs::lchown;

use crate::support::listing::listing;
use crate::support::{Home, as_ordinary_user, expect, is_root, make_folder, make_symlink, set_mode};

/// A user who is neither root nor the one that tests run as.
const ANOTHER: u32 = 12_345;

/// A tree, an older one at the target, and links to the folder of backups: `theirs` of another user, `own`.
fn home() -> Home {
    let home = Home::new();
    for folder in ["new", "to", "kept", "kept/below", "shared"] {
        make_folder(&home, folder);
    }
    for (name, content) in [("new/a", "new"), ("new/b", "new"), ("to/a", "old"), ("to/b", "old")] {
        fs::write(home.path(name), content).expect("room");
    }
    let absolute = home.path("shared/theirs").display().to_string();
    for (to, name) in [
        ("../kept", "shared/theirs"),
        ("../kept", "shared/own"),
        (&*absolute, "hidden"),
        ("kept", "straight"),
    ] {
        make_symlink(&home, to, name);
    }
    home
}

#[test]
fn backups_behind_the_link_of_another_user_are_refused_before_anything_is_written() {
    if !is_root() {
        return;
    }
    let home = home();
    lchown(home.path("shared/theirs"), Some(ANOTHER), Some(ANOTHER)).expect("root");
    let absolute = home.path("shared/theirs/below").display().to_string();
    let before = listing(&home.path(""));
    for folder in [
        "../shared/theirs",
        "../shared/theirs/below",
        "../shared/theirs/none/deep",
        // A link of one's own that leads over another's.
        "../hidden",
        &*absolute,
    ] {
        for words in [
            &["new/", "to"][..],
            &["--update=differs", "--delete", "new/", "to"],
            &["-n", "new/", "to"],
            &["new/a", "to/a"],
            &["new/a", "new/b", "to"],
            &["--mkpath", "new/a", "made/"],
            &["-n", "--mkpath", "new/a", "made/"],
            &["--mkpath", "new/", "to/../made/"],
        ] {
            let row = format!("{folder}: {words:?}");
            let run = home.pump(&[&["copy", "--backup-dir", folder], words].concat());
            let said = ["/shared/theirs'", "another user (uid 12345)", "name the folder that it leads to"];
            expect(&run, 2, &said, &row);
            assert_eq!(listing(&home.path("")), before, "{row}");
        }
    }
}

#[test]
fn backups_behind_links_of_ones_own_and_of_root_are_kept() {
    for folder in ["../shared/own", "../straight", "../shared/own/below", "../shared/own/made"] {
        let home = home();
        let kept = home.path("to").join(folder).join("a");
        expect(&home.pump(&["copy", "--backup-dir", folder, "new/", "to"]), 0, &[], folder);
        assert_eq!(fs::read_to_string(&kept).expect("a backup"), "old", "{folder}");
        // Root's, for somebody else.
        fs::remove_file(&kept).expect("it was kept");
        fs::write(home.path("new/a"), "newer").expect("room");
        [home.path("to"), home.path("to").join(folder)].iter().for_each(|open| set_mode(open, 0o777));
        if let Some(run) = as_ordinary_user(&home, &["copy", "--backup-dir", folder, "new/a", "to"]) {
            expect(&run, 0, &[], folder);
            assert_eq!(fs::read_to_string(&kept).expect("a backup"), "new", "{folder}");
        }
    }
}
