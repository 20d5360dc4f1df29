//! What `--update` leaves alone: by time, by difference, by size, and within a window of times.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, expect, has_content, make_folder, set_mtime};

const SECOND: u64 = 1_000_000_000;
const NOON: u64 = 1_500_000_000 * SECOND;

/// Two folders that differ in one file alone, and that file's place in both.
fn lay(home: &Home, (from, to): (&str, &str), (ours, theirs): ((&str, u64), (&str, u64))) {
    for (folder, (content, time)) in [(from, ours), (to, theirs)] {
        let _ = fs::remove_dir_all(home.path(folder));
        make_folder(home, folder);
        fs::write(home.path(format!("{folder}/file")), content).expect("room");
        set_mtime(&home.path(format!("{folder}/file")), time);
    }
}

/// Flags; content and time here and there; what stands there then: the content, and whose time.
type Row = (&'static str, (&'static str, u64), (&'static str, u64), (&'static str, u64));

const ROWS: [Row; 15] = [
    ("--update", ("ours", NOON), ("theirs", NOON + SECOND), ("theirs", NOON + SECOND)),
    ("--update=older", ("ours", NOON), ("theirs", NOON + SECOND), ("theirs", NOON + SECOND)),
    ("--update=differs", ("ours", NOON), ("theirs", NOON + SECOND), ("ours", NOON)),
    ("--update=differs", ("ours", NOON), ("more", NOON + SECOND), ("ours", NOON)),
    ("--update=differs", ("ours", NOON), ("more", NOON), ("more", NOON)),
    ("--update=differs", ("ours", NOON), ("theirs", NOON), ("ours", NOON)),
    ("--update=all", ("ours", NOON), ("more", NOON), ("ours", NOON)),
    ("--update=none", ("ours", NOON), ("theirs", NOON - SECOND), ("theirs", NOON - SECOND)),
    ("--update=differs --size-only", ("ours", NOON), ("more", NOON + SECOND), ("more", NOON)),
    ("--update=differs --size-only", ("ours", NOON), ("theirs", NOON), ("ours", NOON)),
    ("--update --size-only", ("ours", NOON), ("more", NOON - SECOND), ("more", NOON)),
    ("--update=differs --modify-window 2s", ("ours", NOON), ("more", NOON + SECOND), ("more", NOON + SECOND)),
    ("--update=differs --modify-window 2s", ("ours", NOON), ("more", NOON + 3 * SECOND), ("ours", NOON)),
    ("--update --modify-window 2s", ("ours", NOON), ("theirs", NOON + SECOND), ("ours", NOON)),
    ("--update=differs --update=older", ("ours", NOON), ("more", NOON + SECOND), ("more", NOON + SECOND)),
];

fn check(home: &Home, hosts: &TwoHosts<'_>, row: &Row, whole: bool) {
    let (flags, ours, theirs, (content, time)) = *row;
    let there = hosts.target("to");
    lay(home, (&hosts.source("from"), &there), (ours, theirs));
    let (from, to) = if whole { ("from/.", "to") } else { ("from/file", "to/file") };
    let words: Vec<&str> = ["copy", "-i"].into_iter().chain(flags.split(' ')).collect();
    let shown = format!("{flags} {from} {to} {:?}", hosts.way);
    let planned = hosts.pump(&[&words[..], &["-n"]].concat(), &[from], to);
    expect(&planned, 0, &[], &shown);
    let run = hosts.pump(&words, &[from], to);
    expect(&run, 0, &[], &shown);
    assert_eq!(planned.out, run.out, "{shown}: what is told before is what is done");
    let file = home.path(format!("{there}/file"));
    has_content(&file, content.as_bytes(), &shown);
    let now = fs::metadata(&file).expect("it is there").mtime() as u64 * SECOND;
    assert_eq!(now, time, "{shown}: the time");
}

#[test]
fn update_leaves_alone_what_its_word_says_in_trees_and_of_files_and_between_hosts() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        ROWS.iter().for_each(|row| [true, false].iter().for_each(|&whole| check(&home, &hosts, row, whole)));
    }
}

#[test]
fn the_variable_of_a_switch_is_still_one() {
    for (value, content) in
        [("1", "theirs"), ("true", "theirs"), ("older", "theirs"), ("differs", "ours"), ("0", "ours")]
    {
        let home = Home::new();
        lay(&home, ("from", "to"), (("ours", NOON), ("theirs", NOON + SECOND)));
        let mut command = home.command(&["copy", "from/.", "to"]);
        let run = command.env("PUMP_UPDATE", value).output().expect("it runs");
        assert_eq!(run.status.code(), Some(0), "{value}: {run:?}");
        has_content(&home.path("to/file"), content.as_bytes(), value);
    }
}

#[test]
fn a_second_run_of_an_update_by_difference_writes_nothing() {
    let home = Home::new();
    lay(&home, ("from", "to"), (("ours", NOON), ("theirs", NOON + SECOND)));
    let copy = || home.pump(&["copy", "-i", "--update=differs", "from/.", "to"]);
    assert!(copy().out.contains(">f.st...... file"));
    assert_eq!(copy().out, "");
    set_mtime(&home.path("to/file"), NOON + SECOND);
    let touched = home.pump(&["copy", "-i", "--update=differs", "--size-only", "from/.", "to"]);
    assert!(touched.out.contains(".f..t...... file"), "{touched:?}");
}

#[test]
fn a_flag_that_says_what_update_leaves_needs_it() {
    let home = Home::new();
    lay(&home, ("from", "to"), (("ours", NOON), ("theirs", NOON)));
    for (flags, part) in [
        ("--size-only", "add --update"),
        ("--size-only --update=all", "add --update"),
        ("--modify-window 2s", "add --update"),
        ("--update=newer", "possible values: older, differs, all, none"),
        ("--update --modify-window 2", "is not a duration"),
    ] {
        let mut words = vec!["copy"];
        words.extend(flags.split(' ').chain(["from/.", "to"]));
        expect(&home.pump(&words), 2, &[part], flags);
        has_content(&home.path("to/file"), b"theirs", flags);
    }
    for (variable, value) in [("PUMP_SIZE_ONLY", "1"), ("PUMP_MODIFY_WINDOW", "2s")] {
        let mut command = home.command(&["copy", "from/.", "to"]);
        let run = command.env(variable, value).output().expect("it runs");
        assert_eq!(run.status.code(), Some(0), "{variable} is for whatever it is of use to: {run:?}");
    }
}
