//! 0.1.0 and this version: each answers the other, and goes on with what the other left.
//!
//! `DATAPUMP_BINARY_OF_BEFORE` names a program of 0.1.0; `cargo xtask wider --full` builds one. Without it nothing is
//! tested, which is printed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::listing::{leftovers_below, listing, same};
use crate::support::running::{Running, eventually, is_unlocked};
use crate::support::schema;
use crate::support::small_tree::{set_time, small_tree};
use crate::support::told::left;
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, Outcome, PUMP, expect, has_content, noise_file, set_xattr};
use rustix::process::Signal;

const VARIABLE: &str = "DATAPUMP_BINARY_OF_BEFORE";
const MIB: u64 = 1 << 20;
/// Between hosts, by tickets and over ssh.
const WAYS: [Way; 4] = [Way::Pushed, Way::Pulled, Way::PushedBySsh, Way::PulledBySsh];

/// The two programs in both orders.
fn orders() -> Vec<[PathBuf; 2]> {
    let Some(before) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        eprintln!("not tested: {VARIABLE} names no program of 0.1.0");
        return Vec::new();
    };
    let now = PathBuf::from(PUMP);
    vec![[before.clone(), now.clone()], [now, before]]
}

/// A tree with files of all sizes, links, attributes and a hole.
fn make(home: &Home, name: &str) {
    fs::create_dir_all(home.path(name).parent().expect("a folder")).expect("room");
    let tree = small_tree(home, name);
    set_xattr(&tree.join("sub/c"), "user.colour", b"blue");
    fs::File::create(tree.join("sparse")).and_then(|file| file.set_len(3 * MIB)).expect("a hole");
    for number in 0..150 {
        noise_file(home, &format!("{name}/sub/{number}"), number * 30, number as u64);
        set_time(&tree.join(format!("sub/{number}")), 1_000_000_000, 7);
    }
}

/// Each order and way, and the name of both.
fn on_each_way(ways: &[Way], check: impl Fn(&Home, &TwoHosts<'_>, &str)) {
    for [here, there] in orders() {
        for way in ways {
            let home = Home::new();
            let row = format!("{} calls {}, {way:?}", here.display(), there.display());
            check(&home, &TwoHosts::of_programs(&home, *way, &here, &there), &row);
        }
    }
}

#[test]
fn trees_are_copied_mirrored_and_compared() {
    on_each_way(&WAYS, |home, hosts, row| {
        make(home, &hosts.source("tree"));
        let (source, target) = (home.path(hosts.source("tree")), home.path(hosts.target("copy")));
        let run = |words: &[&str]| {
            let run = hosts.pump(words, &["tree/"], "copy");
            expect(&run, 0, &[], &format!("{row}: {words:?}"));
            run.out
        };
        run(&["copy"]);
        same(&source, &target, row);
        run(&["verify", "--attributes"]);
        assert_eq!(run(&["mirror", "-i"]), "", "{row}: nothing is left to do");
        fs::remove_file(source.join("sub/7")).expect("it was made");
        fs::write(source.join("sub/8"), "another").expect("room");
        fs::write(source.join("new"), "new").expect("room");
        let words = ["copy", "-i", "--delete", "--update=differs", "--backup=numbered"];
        let planned = run(&[&words[..], &["-n"]].concat());
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(String::from).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&run(&words)), sorted(&planned), "{row}");
        assert!(target.join("sub/7.~1~").exists() && target.join("sub/8.~1~").exists(), "{row}");
        run(&["mirror"]);
        same(&source, &target, row);
        run(&["copy", "--checksum", "--verify"]);
        assert_eq!(leftovers_below(&home.path("")), [""; 0], "{row}");
    });
}

#[test]
fn files_that_are_named_are_copied() {
    on_each_way(&WAYS, |home, hosts, row| {
        make(home, &hosts.source("tree"));
        let names = ["tree/b", "tree/sub/b again", "tree/link", "tree/sparse", "tree/sub/deeper/deepest/e"];
        fs::create_dir_all(home.path(hosts.target("into"))).expect("room");
        let run = |words: &[&str], names: &[&str]| {
            expect(&hosts.pump(words, names, "into/"), 0, &[], &format!("{row}: {words:?}"));
        };
        for words in [&["copy", "-a"][..], &["copy", "-a", "--update"], &["copy", "-a", "--checksum"]] {
            run(words, &names);
        }
        fs::remove_file(home.path(hosts.target("into/b"))).expect("it was copied");
        fs::write(home.path(hosts.target("into/b")), "of another time").expect("room");
        run(&["copy", "--backup"], &["tree/b"]);
        let found: Vec<PathBuf> = listing(&home.path(hosts.target("into"))).into_keys().collect();
        let expected = ["", "b", "b again", "b~", "e", "link", "sparse"].map(PathBuf::from);
        assert_eq!(found, expected, "{row}");
        for (name, copy) in names.iter().zip(["b", "b again", "link", "sparse", "e"]) {
            // The link is kept, and leads nowhere beside files of other folders.
            if copy == "link" {
                let link = |path| fs::read_link(home.path(path)).expect("a link");
                assert_eq!(link(hosts.target("into/link")), link(hosts.source(name)), "{row}");
                continue;
            }
            let content = fs::read(home.path(hosts.source(name))).expect("it was made");
            has_content(&home.path(hosts.target("into")).join(copy), &content, row);
        }
    });
}

/// Kills a slow copy when a part of its large file is there, and waits until nobody writes it any more.
fn cut(hosts: &TwoHosts<'_>, folder: &Path, names: [&str; 2], row: &str) -> u64 {
    let slow = ["copy", "-T", "-q", "--lanes=1", "--bwlimit=20MB"];
    let running = Running::start(hosts.line(&slow, &names[..1], names[1]));
    let told = || left(folder).map_or(0, |left| left.told(false).max(left.told(true)));
    eventually("a part of it", || told() >= 4 * MIB || running.has_ended());
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 128 + Signal::KILL.as_raw(), "{row}");
    let file = fs::File::open(left(folder).expect("something to go on with").file).expect("it is there");
    eventually("nobody writes it", || is_unlocked(&file));
    told()
}

fn resumed(run: &Outcome) -> u64 {
    schema::checked(&run.out).pop().expect("a report")["bytes_resumed"].as_u64().expect("a number")
}

/// One version is killed, and the other goes on: a file, and a tree with its list.
#[test]
fn one_goes_on_with_what_the_other_left() {
    for way in [Way::Here, Way::Pushed, Way::Pulled, Way::PushedBySsh, Way::PulledBySsh] {
        for [first, second] in orders() {
            let home = Home::new();
            let row = format!("{} is killed, {} goes on, {way:?}", first.display(), second.display());
            let killed = TwoHosts::of_programs(&home, way, &first, &first);
            make(&home, &killed.source("tree"));
            let content = noise_file(&home, &killed.source("tree/sub/zz large"), 72 << 20, 1);
            set_time(&home.path(killed.source("tree/sub/zz large")), 1_000_000_000, 7);
            let target = home.path(killed.target("copy"));
            let file = ["tree/sub/zz large", "file"];
            let told = [
                cut(&killed, &home.path(killed.target("")), file, &row),
                cut(&killed, &target.join("sub"), ["tree", "copy"], &row),
            ];
            assert!(target.join(".pump-job").exists(), "{row}: a list");
            drop(killed);
            let hosts = TwoHosts::of_programs(&home, way, &second, &second);
            for ([from, to], told) in [file, ["tree", "copy"]].into_iter().zip(told) {
                let run = hosts.pump(&["copy", "-T", "--json"], &[from], to);
                expect(&run, 0, &[], &row);
                assert!(resumed(&run) >= told.min(4 * MIB), "{row}: {to}: {told} bytes were told: {run:?}");
            }
            has_content(&home.path(hosts.target("file")), &content, &row);
            same(&home.path(hosts.source("tree")), &target, &row);
            assert_eq!(leftovers_below(&home.path("")), [""; 0], "{row}");
        }
    }
}
