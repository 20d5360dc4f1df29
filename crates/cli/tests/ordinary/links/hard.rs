//! Names of one file stay names of one file: among files that are named, and where what stands at the target under one
//! of them is newer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::small_tree::set_time;
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, expect, has_content, make_folder, make_symlink, set_mtime};

const SOURCE: u64 = 1_000_000_000_000_000_000;
const HOUR: u64 = 3_600_000_000_000;

fn file(home: &Home, name: &str, content: &str, mtime: u64) {
    fs::write(home.path(name), content).expect("room");
    set_mtime(&home.path(name), mtime);
}

fn link(home: &Home, name: &str, other: &str) {
    fs::hard_link(home.path(name), home.path(other)).expect("links");
}

fn pump(home: &Home, words: &[&str]) -> String {
    let run = home.pump(words);
    expect(&run, 0, &[], &words.join(" "));
    run.out
}

fn inodes(home: &Home, names: &[&str]) -> BTreeSet<u64> {
    names.iter().map(|name| fs::metadata(home.path(name)).expect("it is there").ino()).collect()
}

/// What a run would do, then does: the same lines, several lanes in another order.
fn told(run: &dyn Fn(&[&str]) -> String, words: &[&str]) -> String {
    let planned = run(&[words, &["-n"]].concat());
    let done = run(words);
    let lines = |text: &str| text.lines().map(str::to_string).collect::<BTreeSet<_>>();
    assert_eq!(lines(&planned), lines(&done), "{words:?}");
    done
}

#[test]
fn files_that_are_named_stay_names_of_one_file_on_one_host_and_between_two() {
    let home = Home::new();
    for folder in ["served", "served/into", "into"] {
        make_folder(&home, folder);
    }
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (from, to) = (hosts.source(""), hosts.target("into"));
        for (content, lanes) in [("some", "1"), ("some", "4"), ("", "4")] {
            for name in ["one", "two", "three", "other"] {
                let _ = fs::remove_file(home.path(format!("{from}{name}")));
                let _ = fs::remove_file(home.path(format!("{to}/{name}")));
            }
            file(&home, &format!("{from}one"), content, SOURCE);
            file(&home, &format!("{from}other"), content, SOURCE);
            link(&home, &format!("{from}one"), &format!("{from}two"));
            link(&home, &format!("{from}one"), &format!("{from}three"));
            let lanes = format!("--lanes={lanes}");
            let mut words = vec!["copy", "-i", &lanes];
            let run = |words: &[&str]| {
                let run = hosts.pump(words, &["one", "other", "two", "three"], "into/");
                expect(&run, 0, &[], &format!("{way:?} {words:?}"));
                run.out
            };
            let out = told(&run, &words);
            let row = format!("{way:?} {content:?} {lanes}: {out}");
            assert!(out.contains(">f+++++++++ one"), "{row}");
            assert!(out.contains("hf+++++++++ two => one"), "{row}");
            let names = ["one", "two", "three"].map(|name| format!("{to}/{name}"));
            let names = names.each_ref().map(String::as_str);
            assert_eq!(inodes(&home, &names).len(), 1, "{row}");
            assert_eq!(fs::metadata(home.path(names[0])).expect("it is there").nlink(), 3, "{row}");
            names.iter().for_each(|name| has_content(&home.path(name), content.as_bytes(), &row));
            words.push("--update");
            assert_eq!(told(&run, &words), "", "{row}: nothing is left to do");
            words.push("--no-preserve=links");
            words.push("--update=all");
            run(&words);
            assert_eq!(inodes(&home, &names).len(), 3, "{row}");
        }
    }
}

#[test]
fn a_file_that_is_named_and_one_in_a_folder_that_is_named_are_one_file() {
    for sources in [["d", "e"], ["e", "d"]] {
        let home = Home::new();
        ["d", "into"].iter().for_each(|folder| make_folder(&home, folder));
        file(&home, "d/f", "some", SOURCE);
        link(&home, "d/f", "e");
        let words = [&["copy", "-i"], &sources[..], &["into"]].concat();
        assert!(pump(&home, &words).contains("hf+++++++++ "), "{sources:?}");
        assert_eq!(inodes(&home, &["into/e", "into/d/f"]).len(), 1, "{sources:?}");
    }
}

#[test]
fn what_stands_at_the_target_stays_and_the_other_names_are_one_file() {
    let home = Home::new();
    make_folder(&home, "into");
    file(&home, "one", "some", SOURCE);
    ["two", "three"].iter().for_each(|name| link(&home, "one", name));
    file(&home, "into/one", "precious", SOURCE);
    let words = ["copy", "-i", "--ignore-existing", "one", "two", "three", "into"];
    assert_eq!(told(&|words| pump(&home, words), &words), ">f+++++++++ two\nhf+++++++++ three => two\n");
    has_content(&home.path("into/one"), b"precious", "it stood there");
    assert_eq!(inodes(&home, &["into/two", "into/three"]).len(), 1);
}

#[test]
fn a_file_that_is_named_by_a_link_too_is_one_file_between_two_hosts() {
    let home = Home::new();
    for folder in ["served", "served/into", "into"] {
        make_folder(&home, folder);
    }
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        for (names, content) in [(["one", "two"], "some"), (["two", "one"], "some"), (["one", "two"], "")] {
            let (one, two) = (hosts.source("one"), hosts.source("two"));
            let copies = ["one", "two"].map(|name| hosts.target(&format!("into/{name}")));
            for name in [&one, &two, &copies[0], &copies[1]] {
                let _ = fs::remove_file(home.path(name));
            }
            file(&home, &one, content, SOURCE);
            make_symlink(&home, "one", &two);
            let run = |words: &[&str]| {
                let run = hosts.pump(words, &names, "into/");
                expect(&run, 0, &[], &format!("{way:?} {words:?}"));
                run.out
            };
            let out = told(&run, &["copy", "-i"]);
            let row = format!("{way:?} {names:?} {content:?}");
            assert_eq!(
                out,
                format!(">f+++++++++ {0}\nhf+++++++++ {1} => {0}\n", names[0], names[1]),
                "{row}"
            );
            let copies = copies.each_ref().map(String::as_str);
            assert_eq!(inodes(&home, &copies).len(), 1, "{row}");
            assert_eq!(told(&run, &["copy", "-i", "--update"]), "", "{row}: nothing is left to do");
        }
    }
}

#[test]
fn a_file_that_is_named_by_a_link_too_is_one_file() {
    let home = Home::new();
    make_folder(&home, "into");
    file(&home, "one", "some", SOURCE);
    make_symlink(&home, "one", "two");
    let out = told(&|words| pump(&home, words), &["copy", "-i", "one", "two", "into"]);
    assert_eq!(out, ">f+++++++++ one\nhf+++++++++ two => one\n");
    assert_eq!(inodes(&home, &["into/one", "into/two"]).len(), 1);
    // With -L it is a file of its own, as in a folder; names of one file are one there, too.
    link(&home, "one", "three");
    for target in ["named", "folder"] {
        make_folder(&home, target);
    }
    make_folder(&home, "from");
    ["one", "two", "three"].iter().for_each(|name| {
        fs::rename(home.path(name), home.path(format!("from/{name}"))).expect("one file system");
    });
    pump(&home, &["copy", "-L", "from/two", "from/one", "from/three", "named"]);
    pump(&home, &["copy", "-L", "from/.", "folder"]);
    for target in ["named", "folder"] {
        let of = |names: [&str; 2]| {
            let names = names.map(|name| format!("{target}/{name}"));
            inodes(&home, &names.each_ref().map(String::as_str))
        };
        assert_eq!(of(["one", "three"]).len(), 1, "{target}");
        assert_eq!(of(["one", "two"]).len(), 2, "{target}");
    }
}

/// What stands under the names `a`, `b`, `c` of one file before: none, or when it was changed; names of one file are
/// named by the same letter.
type Stands = [Option<(char, u64)>; 3];

const MISSING: Option<(char, u64)> = None;
const OLDER: Option<(char, u64)> = Some(('o', SOURCE - HOUR));
const EQUAL: Option<(char, u64)> = Some(('s', SOURCE));
const NEWER: Option<(char, u64)> = Some(('n', SOURCE + HOUR));
const NEWEST: Option<(char, u64)> = Some(('m', SOURCE + 2 * HOUR));

/// And the content of each after: what is newer stays, and the others are names of one file.
const CASES: [(Stands, [&str; 3]); 9] = [
    ([MISSING, MISSING, NEWER], ["s", "s", "n"]),
    ([NEWER, MISSING, OLDER], ["n", "s", "s"]),
    ([OLDER, NEWER, MISSING], ["s", "n", "s"]),
    ([EQUAL, EQUAL, NEWER], ["s", "s", "n"]),
    ([NEWER, EQUAL, NEWER], ["n", "s", "n"]),
    ([NEWER, NEWEST, MISSING], ["n", "m", "s"]),
    ([NEWEST, NEWER, OLDER], ["m", "n", "s"]),
    ([NEWER, NEWER, NEWER], ["n", "n", "n"]),
    ([OLDER, OLDER, EQUAL], ["s", "s", "s"]),
];

/// Makes what stands at the target.
fn stand(home: &Home, names: [&str; 3], stands: Stands) {
    let mut first: BTreeMap<char, &str> = BTreeMap::new();
    for (name, stands) in names.into_iter().zip(stands) {
        let _ = fs::remove_file(home.path(name));
        let Some((letter, mtime)) = stands else { continue };
        match first.get(&letter) {
            Some(other) => link(home, other, name),
            None => {
                file(home, name, &letter.to_string(), mtime);
                first.insert(letter, name);
            }
        }
    }
}

fn are_as(home: &Home, names: [&str; 3], contents: [&str; 3], row: &str) {
    for (name, content) in names.into_iter().zip(contents) {
        has_content(&home.path(name), content.as_bytes(), &format!("{row} {name}"));
    }
    let linked: Vec<&str> = names
        .into_iter()
        .zip(contents)
        .filter(|(_, content)| *content == "s")
        .map(|(name, _)| name)
        .collect();
    assert!(inodes(home, &linked).len() <= 1, "{row}: {linked:?}");
}

#[test]
fn under_update_what_is_newer_stays_and_the_other_names_are_one_file() {
    let home = Home::new();
    for folder in ["tree", "tree/b", "tree/d", "copy", "copy/b", "copy/d", "into"] {
        make_folder(&home, folder);
    }
    file(&home, "tree/a", "s", SOURCE);
    link(&home, "tree/a", "tree/b/b");
    link(&home, "tree/a", "tree/d/c");
    ["tree/b", "tree/d", "tree"].iter().for_each(|folder| set_time(&home.path(folder), 1_000_000_000, 0));
    for (stands, contents) in CASES {
        // Several lanes often enough for their races to show.
        for lanes in ["--lanes=1"].into_iter().chain(["--lanes=4"; 20]) {
            let row = format!("{stands:?} {lanes}");
            let names = ["copy/a", "copy/b/b", "copy/d/c"];
            stand(&home, names, stands);
            let words = ["copy", "-T", "-i", "--update", lanes, "tree", "copy"];
            if lanes == "--lanes=1" {
                told(&|words| pump(&home, words), &words);
            }
            pump(&home, &words);
            are_as(&home, names, contents, &row);
            for folder in ["copy", "copy/b", "copy/d"] {
                let mtime = fs::metadata(home.path(folder)).expect("it is there").mtime();
                assert_eq!(mtime as u64, SOURCE / 1_000_000_000, "{row} {folder}");
            }
            assert_eq!(pump(&home, &words), "", "{row}: nothing is left to do");
        }
    }
}

#[test]
fn under_update_that_holds_for_names_that_are_named_too() {
    let home = Home::new();
    make_folder(&home, "into");
    file(&home, "a", "s", SOURCE);
    ["b", "c"].iter().for_each(|name| link(&home, "a", name));
    for (stands, contents) in CASES {
        let names = ["into/a", "into/b", "into/c"];
        stand(&home, names, stands);
        let words = ["copy", "-i", "--update", "a", "b", "c", "into"];
        told(&|words| pump(&home, words), &words);
        are_as(&home, names, contents, &format!("{stands:?}"));
        assert_eq!(pump(&home, &words), "", "{stands:?}: nothing is left to do");
    }
}

#[test]
fn a_copy_and_its_comparison_count_further_names_alike() {
    let home = Home::new();
    make_folder(&home, "a");
    for name in ["one", "two", "three"] {
        file(&home, &format!("a/{name}"), name, SOURCE);
    }
    link(&home, "a/one", "a/other");
    let counted = "3 files, 1 hard link, 11 B in ";
    for way in [Way::Here, Way::Pushed] {
        let (hosts, row) = (TwoHosts::new(&home, way), format!("{way:?}"));
        expect(&hosts.pump(&["copy", "-T"], &["a"], "b"), 0, &[counted], &row);
        expect(&hosts.pump(&["verify"], &["a"], "b"), 0, &["are the same: ", counted], &row);
    }
    let alone = home.pump(&["verify", "--content-only", "a", "b"]);
    expect(&alone, 0, &["are the same: 4 files, 14 B in "], "content alone is compared: names are not");
}

/// A folder with a time in the future is listed once more before something is removed: its time says nothing of changes.
#[test]
fn a_folder_of_names_of_one_file_is_quiet_whatever_its_time() {
    for way in Way::SERVED {
        let home = Home::new();
        let (hosts, row) = (TwoHosts::new(&home, way), format!("{way:?}"));
        let (tree, copy) = (hosts.source("tree"), hosts.target("copy"));
        for folder in [&tree, &format!("{tree}/d"), &copy] {
            make_folder(&home, folder);
        }
        let names = ["a", "b", "c"].map(|name| format!("{tree}/d/{name}"));
        file(&home, &names[0], "s", SOURCE);
        names[1..].iter().for_each(|name| link(&home, &names[0], name));
        file(&home, &format!("{copy}/extra"), "s", SOURCE);
        set_time(&home.path(format!("{tree}/d")), 4_000_000_000, 0);
        expect(
            &hosts.pump(&["copy", "-T", "--delete"], &["tree"], "copy"),
            0,
            &["1 file, 2 hard links"],
            &row,
        );
        assert!(!home.path(format!("{copy}/extra")).exists(), "{row}");
    }
}
