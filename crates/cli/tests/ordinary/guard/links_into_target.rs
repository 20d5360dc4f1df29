//! Links that are followed and lead into what is copied to: refused where the same copy has made or replaced what they
//! lead to, and followed everywhere else. What they led to is not removed.

use std::fs;

use crate::support::{Home, expect, make_folder, make_symlink};

/// Trees `tree` and `other`, a target `t` with a part of both, and what lies outside of them.
fn home() -> Home {
    let home = Home::new();
    for folder in ["tree/sub", "tree/in", "other", "t/sub", "t/pool", "t/n", "t/other", "t/tree", "t/album"] {
        fs::create_dir_all(home.path(folder)).expect("room");
    }
    make_folder(&home, "out");
    for (name, content) in [
        ("tree/f", "new"),
        ("tree/sub/g", "new"),
        ("tree/n", "new"),
        ("tree/k", "new"),
        ("tree/in/f", "older"),
        ("tree/in/free", "free"),
        ("other/o", "new"),
        ("file", "new"),
        ("t/f", "older"),
        ("t/sub/g", "older"),
        ("t/sub/free", "free"),
        ("t/pool/p", "free"),
        ("t/n/below", "older"),
        ("t/other/o", "older"),
        ("t/other/free", "free"),
        ("t/tree/f", "older"),
        ("t/file", "older"),
        ("t/l", "older"),
        ("out/o", "free"),
    ] {
        fs::write(home.path(name), content).expect("room");
    }
    for (to, name) in [("t", "alias"), ("../out/o", "t/k"), ("../out/o", "t/m"), ("t/sub", "deep")] {
        make_symlink(&home, to, name);
    }
    home
}

/// The line, the link and what it leads to.
type Row = (&'static [&'static str], &'static str, &'static str);

const REPLACED: &[Row] = &[
    (&["-L", "tree/", "t"], "tree/l", "../t/f"),
    (&["-L", "tree/", "t"], "tree/sub/l", "../../t/sub/g"),
    (&["-L", "tree/.", "t/"], "tree/l", "../tree/../t/./sub/../f"),
    (&["--copy-unsafe-links", "tree/", "t"], "tree/l", "../t/f"),
    (&["-L", "--lanes=3", "-n", "tree/", "t"], "tree/l", "../t/f"),
    // Whatever it is called: what counts is the folder.
    (&["-L", "tree/", "t"], "tree/l", "../alias/f"),
    (&["-L", "tree/", "t"], "tree/l", "../deep/g"),
    (&["-L", "tree/", "alias"], "tree/l", "../t/f"),
    // A name that the link has itself, a link on the way.
    (&["-L", "tree/", "t"], "tree/l", "../t/l"),
    (&["-L", "tree/", "t"], "tree/l", "../t/k"),
    // Folders.
    (&["-L", "tree/", "t"], "tree/l", "../t/sub"),
    // Another source is copied there.
    (&["-L", "tree", "other", "t"], "tree/l", "../t/other/o"),
    (&["-L", "tree", "other", "t"], "tree/l", "../t/other"),
    (&["-L", "tree", "other", "t"], "other/l", "../t/tree/f"),
    (&["-L", "tree", "file", "t"], "tree/l", "../t/file"),
    (&["-L", "tree", "file", "t"], "tree/l", "../t"),
    (&["-L", "--exclude", "/in", "tree/.", "tree/in"], "tree/l", "in/f"),
];

#[test]
fn a_link_to_what_the_copy_replaces_is_refused_by_name_and_the_rest_is_copied() {
    for (words, link, to) in REPLACED {
        let home = home();
        make_symlink(&home, to, link);
        let row = format!("{link} -> {to}: {words:?}");
        for run in ["the first run", "the second run"] {
            let run_row = format!("{row}: {run}");
            let parts = ["which this copy replaces", "without -L and --copy-unsafe-links", "run of its own"];
            let parts =
                if *to == "../t" { &["is what this copy replaces", "reached by"][..] } else { &parts };
            expect(&home.pump(&[&["copy"], *words].concat()), 23, parts, &run_row);
            let read = |name: &str| fs::read_to_string(home.path(name)).unwrap_or_default();
            let target = words[words.len() - 1];
            let (copied, is_named) = (format!("{target}/sub/g"), words.contains(&"tree"));
            let copied = if is_named { "t/tree/sub/g".into() } else { copied };
            let expected = if words.contains(&"-n") { "older" } else { "new" };
            assert_eq!(read(&copied), expected, "{run_row}");
            assert_eq!(read("t/l"), "older", "{run_row}");
            let is_copied = ["t/tree/l/o", "t/tree/l/tree", "t/other/l", "tree/in/l"]
                .map(|name| home.path(name).exists());
            assert_eq!(is_copied, [false; 4], "{run_row}");
        }
    }
}

const REMOVED: &[Row] = &[
    (&["-L", "--delete", "tree/", "t"], "tree/l", "../t/pool/p"),
    (&["-L", "--delete", "tree/", "t"], "tree/l", "../t/pool"),
    (&["-L", "--delete", "tree/", "t"], "tree/l", "../t/m"),
    (&["-L", "--delete", "tree/", "t"], "tree/l", "../t/sub/free"),
    (&["-L", "--delete", "--exclude", "/pool", "--delete-excluded", "tree/", "t"], "tree/l", "../t/pool/p"),
    (&["-L", "--delete", "--filter", "H /pool", "tree/", "t"], "tree/l", "../t/pool/p"),
    (&["-L", "--delete", "--filter", "P /pool/q", "tree/", "t"], "tree/l", "../t/pool/p"),
];

/// The first run replaces the file, the second leaves it alone.
#[test]
fn a_link_to_what_is_left_alone_is_followed_once_it_is() {
    let home = home();
    make_symlink(&home, "../t/f", "tree/l");
    fs::remove_file(home.path("tree/n")).expect("it is there");
    let copy = ["copy", "-L", "--update=differs", "tree/", "t"];
    expect(&home.pump(&copy), 23, &["leads to", "which this copy replaces"], "the first run");
    assert_eq!(home.text("t/l"), "older");
    expect(&home.pump(&copy), 0, &[], "the second run");
    assert_eq!(home.text("t/l"), "new");
}

/// A name that stays a folder is not replaced: the link to that folder is followed.
#[test]
fn a_link_to_a_folder_that_stays_in_the_place_of_a_file_is_followed() {
    let home = home();
    make_symlink(&home, "../t/n", "tree/l");
    expect(&home.pump(&["copy", "-L", "tree/", "t"]), 23, &["t/n': is a folder"], "a folder");
    assert_eq!((home.text("t/n/below"), home.text("t/l/below")), ("older".into(), "older".into()));
}

/// Names that links bring are made as well: a link to one waits with the others, and is refused whichever comes first.
#[test]
fn a_link_to_the_copy_of_a_link_is_refused_and_nothing_waits_without_end() {
    for lanes in ["--lanes=1", "--lanes=4"] {
        let home = home();
        fs::remove_file(home.path("tree/n")).expect("it is there");
        for (to, name) in
            [("../t/pool", "tree/a"), ("../t/c", "tree/b"), ("../t/b", "tree/c"), ("../t/a/p", "tree/d")]
        {
            make_symlink(&home, to, name);
        }
        for name in ["t/b", "t/c"] {
            fs::write(home.path(name), "older").expect("room");
        }
        fs::create_dir_all(home.path("t/a")).expect("room");
        fs::write(home.path("t/a/p"), "older").expect("room");
        let said = ["tree/b': leads to", "tree/c': leads to", "tree/d': leads to"];
        for run in ["the first run", "the second run"] {
            expect(&home.pump(&["copy", "-L", lanes, "tree/", "t"]), 23, &said, run);
            assert_eq!([home.text("t/b"), home.text("t/c"), home.text("t/a/p")], ["older", "older", "free"]);
        }
    }
}

#[test]
fn what_a_link_leads_to_is_not_removed() {
    for (words, link, to) in REMOVED {
        let home = home();
        make_symlink(&home, to, link);
        fs::remove_file(home.path("tree/n")).expect("it is there");
        let row = format!("{link} -> {to}: {words:?}");
        for flag in ["-n", "-v"] {
            let parts = ["is copied from", "nothing was removed"];
            expect(&home.pump(&[&["copy", flag], *words].concat()), 23, &parts, &row);
            assert!(home.path("t/pool/p").exists() && home.path("t/m").is_symlink(), "{row}");
            assert_eq!(home.text("t/sub/free"), "free", "{row}");
        }
    }
}

/// The line, the link, what it leads to, and what was copied for it.
type Followed = (&'static [&'static str], &'static str, &'static str, &'static str);

const FOLLOWED: &[Followed] = &[
    (&["-L", "tree/", "t"], "tree/l", "../t/pool/p", "t/l"),
    (&["-L", "tree/", "t"], "tree/link", "../t/pool", "t/link/p"),
    (&["-L", "tree/", "t"], "tree/l", "../t/sub/free", "t/l"),
    (&["-L", "tree/", "t"], "tree/l", "../t/m", "t/l"),
    (&["-L", "tree/", "t"], "tree/l", "../out/o", "t/l"),
    (&["-L", "--exclude", "/k", "tree/", "t"], "tree/l", "../t/k", "t/l"),
    (&["-L", "-n", "tree/", "t"], "tree/l", "../t/pool/p", "t/pool/p"),
    (&["--copy-unsafe-links", "tree/", "t"], "tree/l", "../t/pool/p", "t/l"),
    // Names that lie in a target, and not in this one.
    (&["-L", "t/album/", "t"], "t/album/l", "../pool/p", "t/l"),
    (&["-L", "t/album/", "t"], "t/album/link", "../pool", "t/link/p"),
    (&["-L", "tree/", "t/new"], "tree/l", "../t/f", "t/sub/free"),
    (&["-L", "tree", "other", "t"], "tree/l", "../t/other/free", "t/tree/l"),
    (&["-L", "tree", "other", "t"], "tree/link", "../t/pool", "t/tree/link/p"),
    (&["-L", "--exclude", "/in", "tree/.", "tree/in"], "tree/l", "in/free", "tree/in/l"),
    // What a rule spares stays.
    (&["-L", "--delete", "--exclude", "/pool", "tree/", "t"], "tree/l", "../t/pool/p", "t/l"),
    (&["-L", "--delete", "--filter", "P /pool", "tree/", "t"], "tree/l", "../t/pool/p", "t/l"),
    (&["-L", "--delete", "--filter", "P /pool/p", "tree/", "t"], "tree/l", "../t/pool/p", "t/l"),
    (&["-L", "--delete", "tree/", "t"], "tree/l", "../out/o", "t/l"),
];

#[test]
fn a_link_to_what_the_copy_leaves_alone_is_followed() {
    for (words, link, to, copied) in FOLLOWED {
        let home = home();
        make_symlink(&home, to, link);
        // A file never takes the place of this folder without --delete.
        fs::remove_file(home.path("tree/n")).expect("it is there");
        for run in ["the first run", "the second run"] {
            let row = format!("{link} -> {to}: {words:?}: {run}");
            expect(&home.pump(&[&["copy"], *words].concat()), 0, &[], &row);
            assert_eq!(fs::read_to_string(home.path(copied)).expect("copied"), "free", "{row}");
            assert!(!home.path(copied).is_symlink(), "{row}");
        }
    }
}

#[test]
fn a_file_in_the_place_of_a_folder_removes_its_content_with_delete_alone() {
    for (flag, part, copied) in [
        ("--lanes=1", "t/n': is a folder", "below"),
        ("--delete", "which this copy replaces or makes", "older"),
    ] {
        let home = home();
        make_symlink(&home, "../t/n/below", "tree/l");
        fs::write(home.path("t/n/below"), "below").expect("room");
        expect(&home.pump(&["copy", flag, "-L", "tree/", "t"]), 23, &[part], flag);
        assert_eq!(fs::read_to_string(home.path("t/l")).expect("it was there"), copied, "{flag}");
    }
}

/// A folder that this copy makes is there when its link is met, and is not when nothing was copied yet.
#[test]
fn a_pattern_for_folders_does_not_hide_a_link_to_what_the_copy_makes() {
    for (pattern, flags, status) in [("c/", &["-n", "-v", "-v"][..], 23), ("c", &["-v", "-v"], 0)] {
        let home = Home::new();
        fs::create_dir_all(home.path("s/a")).expect("room");
        fs::write(home.path("s/a/f"), "new").expect("room");
        make_symlink(&home, "../../d/a", "s/a/c");
        for flag in flags {
            let row = format!("{pattern} {flag}");
            expect(
                &home.pump(&["copy", flag, "-T", "-L", "--exclude", pattern, "s", "d"]),
                status,
                &[],
                &row,
            );
            assert!(!home.path("d/a/c").exists(), "{row}");
        }
    }
}

/// Targets that do not exist yet are no names of a source that a link leads to: they are refused by name, as when they do.
#[test]
fn a_link_to_the_folder_in_which_a_target_is_made_is_followed_without_that() {
    for (line, made) in [
        (&["tree/", "out/new"][..], &["new"][..]),
        (&["tree", "other", "out"], &["tree", "other"]),
        (&["other", "tree", "file", "out"], &["other", "tree", "file"]),
        (&["--delete", "tree/", "out/new"], &["new"]),
    ] {
        for lanes in ["--lanes=1", "--lanes=4"] {
            let home = home();
            fs::write(home.path("out/new-not"), "free").expect("room");
            for link in ["tree/l", "tree/sub/l"] {
                let up = "../".repeat(link.matches('/').count());
                make_symlink(&home, &format!("{up}out"), link);
            }
            let said: Vec<String> =
                made.iter().map(|name| format!("tree/l/{name}': is what this copy")).collect();
            let said: Vec<&str> = said.iter().map(String::as_str).collect();
            let row = format!("{line:?} {lanes}");
            for flags in [&["-n"][..], &[]] {
                let run = home.pump(&[&["copy", "-L", lanes], flags, line].concat());
                expect(&run, 23, &said, &format!("{row} {flags:?}"));
                assert!(!run.err.contains(".pump-"), "{row} {flags:?}: {run:?}");
            }
            let root = if line.len() == 2 || line[0] == "--delete" { "out/new" } else { "out/tree" };
            assert_eq!(home.text(format!("{root}/l/o")), "free", "{row}");
            assert!(!made.iter().any(|name| home.path(format!("{root}/l/{name}")).exists()), "{row}");
            // What a pattern excludes is not looked at.
            let excluded: Vec<String> = made.iter().map(|name| format!("--exclude=l/{name}")).collect();
            let excluded: Vec<&str> = excluded.iter().map(String::as_str).collect();
            let run = home.pump(&[&["copy", "-n", "-L", lanes], &excluded[..], line].concat());
            expect(&run, 0, &[], &format!("{row} {excluded:?}"));
        }
    }
}
