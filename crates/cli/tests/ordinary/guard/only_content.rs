//! What a copy reads is never what it takes away: a link that would replace what it leads to, a source that lies in its
//! own target.

use std::fs;

use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder, make_symlink, set_mtime};

/// The tree `a` and its target `dst`, which has the only content, from long ago.
fn home() -> Home {
    let home = Home::new();
    for folder in ["a", "dst/folder/sub"] {
        fs::create_dir_all(home.path(folder)).expect("room");
    }
    for name in ["dst/data", "dst/folder/data", "dst/folder/sub/data"] {
        fs::write(home.path(name), "ONLY").expect("room");
        set_mtime(&home.path(name), 1_000_000_000_000_000_000);
    }
    make_symlink(&home, "dst", "alias");
    fs::write(home.path("a/other"), "other").expect("room");
    home
}

fn is_untouched(home: &Home, row: &str) {
    for name in ["dst/data", "dst/folder/data", "dst/folder/sub/data"] {
        let content = fs::symlink_metadata(home.path(name)).map(|_| fs::read(home.path(name)));
        assert_eq!(content.expect("it stays").expect("it is a file"), b"ONLY", "{row}: {name}");
    }
    assert!(!home.path("dst/folder").is_symlink() && !home.path("dst/data").is_symlink(), "{row}");
}

#[test]
fn a_link_in_a_tree_does_not_replace_what_it_leads_to() {
    let here = |home: &Home, to: &str| to.replace("$PWD", &home.path("").display().to_string());
    for (link, to) in [
        ("a/data", "../dst/data"),
        ("a/data", "$PWD/dst/data"),
        ("a/data", "../alias/data"),
        ("a/folder", "../dst/folder"),
        ("a/folder", "../dst/folder/data"),
        ("a/folder", "$PWD/dst/folder/sub/data"),
        ("a/folder", "../alias/folder/sub"),
    ] {
        for words in [
            "copy -a a/ dst",
            "copy -a -u a/ dst",
            "copy -a --backup a/ dst",
            "mirror a dst",
            "mirror -n a dst",
        ] {
            let home = home();
            make_symlink(&home, &here(&home, to), link);
            let row = format!("{link} -> {to}: {words}");
            let run = home.pump(&words.split(' ').collect::<Vec<_>>());
            expect(&run, 23, &["is what the symbolic link", "leads to", "copy with -L"], &row);
            is_untouched(&home, &row);
            assert_eq!(home.path("dst/other").exists(), !words.contains("-n"), "{row}");
        }
    }
    let home = home();
    make_folder(&home, "x");
    make_folder(&home, "x/folder");
    make_symlink(&home, &here(&home, "$PWD/dst/folder/data"), "x/folder/data");
    let run = home.pump(&["copy", "-a", "--relative", "x/./folder/data", "dst"]);
    expect(&run, 23, &["is what the symbolic link"], "--relative");
    is_untouched(&home, "--relative");
}

/// Names that only look like that: nothing is lost when they are replaced.
#[test]
fn links_that_change_places_with_files_are_copied() {
    let home = home();
    let lib = |name: &str| home.path(name);
    fs::write(lib("a/lib.so"), "lib").expect("room");
    for (to, name) in [("lib.so", "a/lib.so.1"), ("loop", "a/loop"), ("one", "a/two"), ("data", "a/one")] {
        make_symlink(&home, to, name);
    }
    fs::write(lib("a/data"), "data").expect("room");
    for run in ["the first run", "the second run"] {
        expect(&home.pump(&["copy", "-a", "a/", "dst"]), 0, &[], run);
    }
    fs::rename(lib("a/lib.so"), lib("a/lib.so.1")).expect("one folder");
    make_symlink(&home, "lib.so.1", "a/lib.so");
    for name in ["a/one", "a/two"] {
        fs::remove_file(lib(name)).expect("it is there");
    }
    make_symlink(&home, "two", "a/one");
    make_symlink(&home, "data", "a/two");
    for run in ["they changed places", "once more"] {
        expect(&home.pump(&["copy", "-a", "a/", "dst"]), 0, &[], run);
        for (name, content) in [("lib.so", "lib"), ("lib.so.1", "lib"), ("one", "data"), ("two", "data")] {
            let found = fs::read_to_string(lib(&format!("dst/{name}"))).expect("it leads to a file");
            assert_eq!(found, content, "{run}: {name}");
        }
    }
}

#[test]
fn a_mirror_does_not_remove_the_source_that_another_host_gives_it_from_there() {
    for deep in ["served/x", "served/y/x"] {
        for flag in ["-n", "-v"] {
            let home = Home::new();
            fs::create_dir_all(home.path(deep)).expect("room");
            fs::write(home.path(format!("{deep}/f")), "F").expect("room");
            fs::write(home.path(format!("{deep}/big")), "BIGBIGBIG").expect("room");
            let serving = Serving::new(&home, &[]);
            let from = serving.at(deep.trim_start_matches("served/"));
            let words = ["mirror", flag, "--max-size", "5B", "--ticket-file", "ticket", &from, "served"];
            let row = format!("{deep} {flag}");
            expect(&home.pump(&words), 23, &["is copied from", "exclude it, or move it away"], &row);
            let content = fs::read_to_string(home.path(format!("{deep}/big")));
            assert_eq!(content.expect("it stays"), "BIGBIGBIG", "{row}");
        }
    }
}

/// A file that has another name is not lost with one of them: so hard links become symbolic ones.
#[test]
fn a_link_takes_the_place_of_a_further_name_of_what_it_leads_to() {
    let home = Home::new();
    for folder in ["src", "dst"] {
        make_folder(&home, folder);
        fs::write(home.path(format!("{folder}/git")), "git").expect("room");
    }
    fs::hard_link(home.path("dst/git"), home.path("dst/git-add")).expect("links");
    make_symlink(&home, "git", "src/git-add");
    for run in ["the first run", "the second run"] {
        expect(&home.pump(&["mirror", "src/", "dst"]), 0, &[], run);
        assert_eq!(fs::read_link(home.path("dst/git-add")).expect("a link").as_os_str(), "git", "{run}");
        assert_eq!(fs::read_to_string(home.path("dst/git")).expect("a file"), "git", "{run}");
    }
}
