//! `--exclude`, `--include` and `--exclude-from`, judged by rsync: both copy the same trees with the same words.
//!
//! `DATAPUMP_FILTERS=500` makes that many trees; `DATAPUMP_SEED=7041` repeats one of them. Patterns that can never
//! match as written are left out: `pump` refuses them, rsync does not; so are `#` and `;` in zero-ended lists.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::{Home, expect, make_folder, make_symlink};
use crate::wider_parts::program;

/// Lists of rules for each tree.
const LISTS: u64 = 20;

/// Few and alike, so that patterns hit; some are letters of patterns.
const NAMES: [&str; 16] =
    ["a", "b", "a", "b", "ab", "aa", "abc", "c", "a.o", "b.o", "[a", "]", "a\\b", "*", "- a", "größe"];

/// Each is in order by itself, and so is any row of them.
const PIECES: [&str; 32] = [
    "a",
    "b",
    "a",
    "b",
    "ab",
    "c",
    ".o",
    "/",
    "/",
    "/",
    "/",
    "*",
    "*",
    "*",
    "?",
    "**",
    "**",
    "***",
    "**/",
    "[ab]",
    "[a-c]",
    "[!a]",
    "[^b]",
    "[[:alpha:]]",
    "[]]",
    "[!]a]",
    "[a\\]]",
    "\\a",
    "\\*",
    "\\[",
    "!",
    "-",
];

/// What stands before a line in a file of rules.
const STARTS: [&str; 8] = ["", "", "", "+ ", "- ", "# ", ";", " "];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % bound
    }

    fn one_of(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len() as u64) as usize]
    }

    fn pattern(&mut self) -> String {
        if self.below(30) == 0 {
            return "!".into();
        }
        let start = if self.below(4) == 0 { "/" } else { "" };
        let middle: String = (0..=self.below(4)).map(|_| self.one_of(&PIECES)).collect();
        let end = if self.below(4) == 0 { "/" } else { "" };
        format!("{start}{middle}{end}")
    }

    /// Words that both programs take, with an equals sign: patterns may begin with a dash.
    fn rules(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        for _ in 0..=self.below(4) {
            let flag = if self.below(3) == 0 { "--include" } else { "--exclude" };
            let prefix = if self.below(20) == 0 { "+ " } else { "" };
            words.push(format!("{flag}={prefix}{}", self.pattern()));
        }
        words
    }

    fn lines(&mut self) -> String {
        (0..self.below(4))
            .map(|_| {
                let (start, pattern) = (self.one_of(&STARTS), self.pattern());
                format!("{start}{pattern}{}", self.one_of(&["\n", "\n\n", "\r\n", "\r"]))
            })
            .collect()
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The seeds of the trees: a different first one each day the suite runs, printed.
fn seeds() -> std::ops::Range<u64> {
    if let Some(seed) = number("DATAPUMP_SEED") {
        return seed..seed + 1;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let first = u64::from(now.subsec_nanos()) << 16;
    first..first + number("DATAPUMP_FILTERS").unwrap_or(10)
}

/// Fills a folder that is there with a few names, and the folders among them.
fn grow(random: &mut Random, folder: &Path, depth: u64) {
    for _ in 0..2 + random.below(4) {
        let path = folder.join(random.one_of(&NAMES));
        if path.exists() {
            continue;
        }
        if depth > 0 && random.below(5) < 3 {
            std::fs::create_dir(&path).expect("a folder");
            grow(random, &path, depth - 1);
        } else {
            std::fs::write(&path, b"content").expect("room for a file");
        }
    }
}

/// Every path below the folder, with a slash behind a folder's.
fn names_below(folder: &Path, before: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let entry = entry.expect("an entry");
        let path = format!("{before}{}", entry.file_name().to_str().expect("names are text here"));
        if entry.file_type().expect("a type").is_dir() {
            let folder_path = format!("{path}/");
            names_below(&entry.path(), &folder_path, found);
            found.insert(folder_path);
        } else {
            found.insert(path);
        }
    }
}

/// What stands in a folder of the home; the folder is gone afterwards.
fn taken(home: &Home, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    names_below(&home.path(name), "", &mut found);
    std::fs::remove_dir_all(home.path(name)).expect("a folder of our own");
    found
}

/// Copies the folder `source` with both programs and gives what both copied.
fn both(home: &Home, rules: &[String], row: &str) -> BTreeSet<String> {
    make_folder(home, "by-pump");
    make_folder(home, "by-rsync");
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let run = home.pump(&[&["copy"], &rules[..], &["source/.", "by-pump"]].concat());
    expect(&run, 0, &[], row);
    let path = |name: &str| format!("{}/", home.path(name).display());
    let (source, target) = (path("source"), path("by-rsync"));
    program(&[&["rsync", "-a"], &rules[..], &[&source, &target]].concat());
    let (pumped, expected) = (taken(home, "by-pump"), taken(home, "by-rsync"));
    assert_eq!(pumped, expected, "{row}: pump, rsync");
    pumped
}

#[test]
fn pump_copies_the_names_that_rsync_copies() {
    let seeds = seeds();
    eprintln!("filters: seeds {seeds:?}");
    let (mut all, mut less) = (0, 0);
    for seed in seeds {
        let (home, mut random) = (Home::new(), Random(seed));
        make_folder(&home, "source");
        grow(&mut random, &home.path("source"), 4);
        let whole = both(&home, &[], &format!("DATAPUMP_SEED={seed}, no rules"));
        for _ in 0..LISTS {
            let lines = random.lines();
            std::fs::write(home.path("rules"), &lines).expect("room for a file");
            let mut rules = random.rules();
            // Among the others, so that the order of unlike options shows.
            let place = random.below(rules.len() as u64 + 1) as usize;
            rules.insert(place, format!("--exclude-from={}", home.path("rules").display()));
            let row = format!("DATAPUMP_SEED={seed}, {rules:?}, the file {lines:?}");
            all += 1;
            less += usize::from(both(&home, &rules, &row) != whole);
        }
    }
    eprintln!("filters: {less} of {all} lists left something out");
    assert!(less * 10 > all, "the lists must leave something out: {less} of {all}");
}

#[test]
fn the_examples_of_the_manual_hold() {
    let home = Home::new();
    for folder in ["source", "source/foo", "source/foo/x", "source/foo/x/y", "source/z", "source/z/foo"] {
        make_folder(&home, folder);
        for name in ["bar", "bar.c", "b.o"] {
            home.file(format!("{folder}/{name}"), 10);
        }
    }
    for rules in [
        &["--exclude=*.o"][..],
        &["--exclude=/foo"],
        &["--exclude=foo/"],
        &["--exclude=foo/*/bar"],
        &["--exclude=/foo/**/bar"],
        &["--include=*/", "--include=*.c", "--exclude=*"],
        &["--include=foo/", "--include=foo/bar.c", "--exclude=*"],
        &["--exclude=foo/***"],
        &["--include=/foo/***", "--exclude=*"],
        &["--exclude=/foo", "--include=/foo/bar.c"],
    ] {
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).into()).collect();
        assert!(!both(&home, &rules, &format!("{rules:?}")).is_empty());
    }
    assert_eq!(both(&home, &["--exclude=*".into()], "nothing"), BTreeSet::new());
}

#[test]
fn a_link_to_a_folder_is_no_folder() {
    let home = Home::new();
    make_folder(&home, "source");
    make_folder(&home, "source/a");
    make_symlink(&home, "a", "source/link");
    for rule in ["--exclude=*/", "--exclude=link/", "--exclude=link/***", "--exclude=link"] {
        both(&home, &[rule.into()], rule);
    }
}
