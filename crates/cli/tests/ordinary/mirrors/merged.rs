//! Several sources that go to one folder, with `--delete`: what none of them has is removed, once.

use std::fs;

use crate::support::{Home, expect, make_folder, make_symlink, noise_file};

/// Extra names in the root, in a folder that both sources have, in one that each has alone, and a folder with one.
const EXTRA: [&str; 6] = ["x", "both/x", "a/x", "b/x", "gone/x", "gone"];

fn home() -> Home {
    let home = Home::new();
    for folder in ["one", "one/both", "one/a", "two", "two/both", "two/b", "t"] {
        make_folder(&home, folder);
    }
    for folder in ["t/both", "t/a", "t/b", "t/gone"] {
        make_folder(&home, folder);
    }
    for file in ["one/f", "one/both/f", "two/g", "two/both/g", "two/b/g", "t/f"] {
        noise_file(&home, file, 10, 1);
    }
    for extra in &EXTRA[..5] {
        noise_file(&home, &format!("t/{extra}"), 10, 2);
    }
    home
}

#[test]
fn what_no_source_has_is_removed_and_counted_once() {
    for sources in [["one/", "two/"], ["two/", "one/"]] {
        let home = home();
        let pump = |words: &[&str]| home.pump(&[&["copy", "--delete"], words, &sources, &["t"]].concat());
        expect(&pump(&["--max-delete=5", "-n"]), 1, &["more than 5 names would be removed"], "one too many");
        expect(&pump(&["--max-delete=5"]), 1, &["more than 5 names would be removed"], "one too many");
        let deleted = |out: &str| {
            let lines = out.lines().filter_map(|line| line.strip_prefix("*deleting"));
            let mut names: Vec<String> = lines.map(|name| name.trim().trim_end_matches('/').into()).collect();
            names.sort();
            names
        };
        let mut expected = EXTRA.map(String::from).to_vec();
        expected.sort();
        for flags in [&["-n"][..], &[]] {
            let run = pump(&[&["-i", "--max-delete=6"], flags].concat());
            expect(&run, 0, &[], &format!("{sources:?} {flags:?}"));
            assert_eq!(deleted(&run.out), expected, "{sources:?} {flags:?}: {run:?}");
        }
        for extra in EXTRA {
            assert!(!home.path("t").join(extra).exists(), "{sources:?}: {extra}");
        }
        for file in ["f", "both/f", "g", "both/g", "b/g"] {
            assert!(home.path("t").join(file).exists(), "{sources:?}: {file}");
        }
        let run = pump(&["--json"]);
        expect(&run, 0, &["\"deleted\":0"], "nothing is left to do");
    }
}

/// A folder of the target in the place of a file of the second source is removed for that.
#[test]
fn a_folder_in_the_place_of_a_file_of_a_further_source_is_removed() {
    for flags in [&["-n"][..], &[]] {
        let home = home();
        noise_file(&home, "two/gone", 10, 3);
        make_folder(&home, "t/link");
        noise_file(&home, "t/link/x", 10, 2);
        make_symlink(&home, "g", "two/link");
        let words = ["copy", "-i", "--delete", "--max-delete=6", "one/", "two/", "t"];
        let run = home.pump(&[&words[..1], flags, &words[1..]].concat());
        // The four others, and what was in the two folders; the folders themselves count as well.
        expect(&run, 1, &["(--max-delete)"], "8 names");
        let run =
            home.pump(&[&words[..1], flags, &["-i", "--delete", "--max-delete=8"], &words[4..]].concat());
        expect(&run, 0, &[], &format!("{flags:?}"));
        assert_eq!(run.out.matches("*deleting").count(), 8, "{run:?}");
        if flags.is_empty() {
            assert_eq!(fs::read(home.path("t/gone")).expect("a file").len(), 10);
            assert_eq!(home.path("t/link").read_link().expect("a link"), std::path::Path::new("g"));
        }
    }
}
