//! `-v`, `--json` and `--log-file` say all that a run did: not only files, and on every way between hosts.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{
    Home, Outcome, expect, is_root, make_fifo, make_folder, make_symlink, schema, set_mode, set_mtime,
};

const NOON: u64 = 1_500_000_000_000_000_000;

/// A folder with one of each kind, and at `to` an older copy: a file to replace, a mode to set, a name to delete.
fn lay(home: &Home, from: &str, to: &str) {
    for folder in [from, &format!("{from}/sub"), to] {
        make_folder(home, folder);
    }
    for (name, content) in [("a", "a"), ("sub/deep", "deep"), ("mode", "mode")] {
        fs::write(home.path(from).join(name), content).expect("room");
    }
    fs::hard_link(home.path(from).join("a"), home.path(from).join("b")).expect("links");
    make_symlink(home, "a", &format!("{from}/link"));
    make_fifo(&home.path(from).join("pipe"));
    for (name, content) in [("a", "older"), ("mode", "mode"), ("gone", "gone")] {
        fs::write(home.path(to).join(name), content).expect("room");
    }
    for name in [format!("{from}/mode"), format!("{to}/mode"), format!("{to}/a")] {
        set_mtime(&home.path(name), NOON);
    }
    set_mode(&home.path(from).join("mode"), 0o600);
    set_mode(&home.path(to).join("mode"), 0o644);
    set_mode(&home.path(from), 0o711);
}

/// What `-v` says of the copy of these, but for the two names of one file, of which either is copied; the target in the
/// place of `TO`.
const DONE: [&str; 9] = [
    "TO/a -> TO/a~: backed up",
    "TO/gone -> TO/gone~: backed up",
    "TO/gone: deleted",
    "TO/link -> a: symbolic link made",
    "TO/mode: attributes set",
    "TO/pipe: pipe made",
    "TO/sub/deep: 4 bytes",
    "TO/sub: folder made",
    "TO: attributes set",
];

/// The same by the words of an event: what was done, the path, where it leads.
const EVENTS: [[&str; 3]; 8] = [
    ["backed_up", "TO/a", "TO/a~"],
    ["backed_up", "TO/gone", "TO/gone~"],
    ["deleted", "TO/gone", ""],
    ["made", "TO/link", "a"],
    ["attributes_set", "TO/mode", ""],
    ["made", "TO/pipe", ""],
    ["made", "TO/sub", ""],
    ["attributes_set", "TO", ""],
];

const WORDS: [&str; 5] = ["copy", "-T", "--update", "--delete", "--backup"];

/// Both ways between hosts, and none: the places of the source and of the target, and runs of these words.
fn on_every_way(check: impl Fn(&Home, [&str; 2], &dyn Fn(&[&str]) -> Outcome)) {
    for way in Way::SERVED {
        let home = Home::new();
        let hosts = TwoHosts::new(&home, way);
        check(&home, [&hosts.source("from"), &hosts.target("to")], &|words| {
            hosts.pump(words, &["from"], "to")
        });
    }
}

/// One of both is copied, and the other linked to it.
fn is_linked(done: &BTreeSet<String>, to: &str) -> bool {
    [["a", "b"], ["b", "a"]].iter().any(|[first, other]| {
        let lines =
            [format!("{to}/{first}: 1 byte"), format!("{to}/{other} => {to}/{first}: hard link made")];
        lines.iter().all(|line| done.contains(line))
    })
}

#[test]
fn verbose_tells_each_thing_that_is_done_on_every_way() {
    on_every_way(|home, [from, to], run| {
        lay(home, from, to);
        let run = run(&[&WORDS[..], &["-v"]].concat());
        assert_eq!(run.status, 0, "{run:?}");
        let root = root_of(to);
        let done: BTreeSet<String> = run.err.lines().map(str::to_owned).collect();
        for line in DONE.map(|line| line.replace("TO", root)) {
            assert!(done.contains(&line), "{to}: no {line} in {run:?}");
        }
        assert!(is_linked(&done, root), "{to}: {run:?}");
    });
}

/// The target as the side that writes calls it.
fn root_of(to: &str) -> &str {
    to.strip_prefix("served/").unwrap_or(to)
}

/// The kind, path and other path of each event `change`.
fn changes(events: &[Value]) -> BTreeSet<[String; 3]> {
    let changes = events.iter().filter(|event| event["event"] == "change");
    let word = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
    changes.map(|event| ["kind", "path", "to"].map(|name| word(event, name))).collect()
}

#[test]
fn events_tell_the_same_and_the_report_counts_it() {
    on_every_way(|home, [from, to], run| {
        lay(home, from, to);
        let run = run(&[&WORDS[..], &["--json", "--log-file", "log"]].concat());
        assert_eq!(run.status, 0, "{run:?}");
        let events = schema::checked(&run.out);
        let (root, found) = (root_of(to), changes(&events));
        for row in EVENTS.map(|row| row.map(|word| word.replace("TO", root))) {
            assert!(found.contains(&row), "{to}: no {row:?} in {run:?}");
        }
        assert_eq!(found.len(), EVENTS.len() + 1, "and one hard link: {found:?}");
        let report = events.last().expect("a report");
        let counts = ["files", "hard_links", "links", "specials", "backups", "deleted", "sources_removed"];
        let counts = counts.map(|name| report[name].as_u64());
        assert_eq!(counts, [2, 1, 1, 1, 2, 1, 0].map(Some), "{report}");
        let log = fs::read_to_string(home.path("log")).expect("a log");
        let log = schema::checked(&log);
        assert!(
            log.iter().all(|event| event["time"].as_str().is_some_and(|time| time.ends_with('Z'))),
            "{log:?}"
        );
        assert_eq!(changes(&log), found, "{to}");
        fs::remove_file(home.path("log")).expect("it is there");
    });
}

#[test]
fn letters_come_with_the_events_where_they_are_asked_for() {
    let home = Home::new();
    lay(&home, "from", "to");
    let run = home.pump(&[&WORDS[..], &["--json", "-i", "from", "to"]].concat());
    let events = schema::checked(&run.out);
    let letters = |path: &str, kind: &str| {
        let is_it = |event: &&Value| event["path"] == path && event["kind"] == kind;
        events.iter().find(is_it).map(|event| event["itemized"].clone())
    };
    assert_eq!(letters("to/sub/deep", "copied"), Some(">f+++++++++".into()), "{run:?}");
    assert_eq!(letters("to/mode", "attributes_set"), Some(".f...p.....".into()), "{run:?}");
    assert_eq!(letters("to/gone", "deleted"), Some("*deleting".into()), "{run:?}");
    assert_eq!(letters("to/a", "backed_up"), Some(Value::Null), "rsync has none: {run:?}");
}

/// The lines of a log without their times, each of which begins with one.
fn log_lines(home: &Home) -> Vec<String> {
    let log = fs::read_to_string(home.path("log")).expect("a log");
    let lines = log.lines().map(|line| {
        let (time, rest) = line.split_once(' ').expect("a time");
        assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{line}");
        rest.to_owned()
    });
    lines.collect()
}

#[test]
fn a_log_has_each_thing_with_its_time_and_says_what_was_a_dry_run() {
    let home = Home::new();
    lay(&home, "from", "to");
    let words = [&WORDS[..], &["--log-file", "log"]].concat();
    expect(&home.pump(&[&words[..], &["-n", "from", "to"]].concat()), 0, &[], "dry run");
    let dry = log_lines(&home);
    assert_eq!(dry[0], "pump-log: dry run: copy from -> to");
    assert!(dry[1..].iter().all(|line| line.starts_with("dry run: ")), "{dry:?}");
    for line in ["dry run: remove 'to/gone'", "dry run: ended with status 0: nothing was copied"] {
        assert!(dry.iter().any(|said| said == line), "{line}: {dry:?}");
    }
    expect(&home.pump(&["copy", "--log-file", "log", "-n", "from/a", "new"]), 0, &[], "a file");
    let file = log_lines(&home).split_off(dry.len());
    assert_eq!(file[0], "pump-log: dry run: copy from/a -> new");
    assert!(file[1].starts_with("dry run: 'from/a' -> 'new' (1 byte"), "{file:?}");
    assert_eq!(file[2], "dry run: ended with status 0: nothing was copied");
    expect(&home.pump(&[&words[..], &["from", "to"]].concat()), 0, &[], "the run");
    let run = log_lines(&home).split_off(dry.len() + file.len());
    for line in [
        "pump-log: copy from -> to",
        "backed up: to/a -> to/a~",
        "deleted: to/gone",
        "symbolic link made: to/link -> a",
        "attributes set: to/mode",
        "pipe made: to/pipe",
        "folder made: to/sub",
        "copied 4 bytes: to/sub/deep",
    ] {
        assert!(run.iter().any(|said| said == line), "{line}: {run:?}");
    }
    let dry = home.pump(&[&WORDS[..], &["-n", "--json", "from", "to"]].concat());
    assert!(schema::checked(&dry.out)[0]["dry_run"] == true, "{dry:?}");
}

#[test]
fn a_log_has_warnings_and_with_v_what_stays() {
    let home = Home::new();
    make_folder(&home, "from");
    fs::write(home.path("from/same"), "same").expect("room");
    let _socket = std::os::unix::net::UnixListener::bind(home.path("from/socket")).expect("a socket");
    let words = ["copy", "-q", "-u", "--log-file", "log", "from/", "to"];
    expect(&home.pump(&words), 0, &[], "first");
    let first = log_lines(&home);
    let socket = "'from/socket' is a socket: it has no content and is left out, as is each further one";
    assert!(first.iter().any(|line| line == socket), "-q is for the terminal: {first:?}");
    let stays = |lines: &[String]| lines.iter().any(|line| line.starts_with("'to/same': not changed: "));
    expect(&home.pump(&words), 0, &[], "again");
    let again = log_lines(&home).split_off(first.len());
    assert!(!stays(&again), "a log of a backup has what is done: {again:?}");
    expect(&home.pump(&[&["copy", "-v"], &words[2..]].concat()), 0, &[], "-v");
    let verbose = log_lines(&home).split_off(first.len() + again.len());
    assert!(stays(&verbose), "{verbose:?}");
    fs::remove_file(home.path("log")).expect("it exists");
    expect(&home.pump(&[&["copy", "--json", "-v"], &words[2..]].concat()), 0, &[], "--json");
    schema::checked(&fs::read_to_string(home.path("log")).expect("a log"));
}

#[test]
fn a_log_of_an_earlier_version_is_gone_on_with() {
    let home = Home::new();
    home.file("one", 10);
    fs::write(home.path("log"), "pump-log: copy a -> b\n").expect("room");
    expect(&home.pump(&["copy", "--log-file", "log", "one", "two"]), 0, &[], "without times");
    expect(&home.pump(&["copy", "--log-file", "log", "one", "two"]), 0, &[], "both");
    fs::write(home.path("log"), "2026-11-27T19:07:24.123Z another log\n").expect("room");
    let run = home.pump(&["copy", "--log-file", "log", "one", "two"]);
    expect(&run, 2, &["it holds something else than a log"], "of another program");
}

#[test]
fn files_beside_a_copy_are_written_through_links_of_root_and_this_user_alone() {
    let home = Home::new();
    home.file("one", 10);
    fs::create_dir(home.path("logs")).expect("room");
    fs::write(home.path("logs/there"), "").expect("room");
    make_symlink(&home, "logs", "folder");
    make_symlink(&home, "logs/there", "there");
    make_symlink(&home, "logs/none", "none");
    for (flag, path) in [("--log-file", "there"), ("--report", "folder/new"), ("--log-file", "folder/log")] {
        expect(&home.pump(&["copy", flag, path, "one", "two"]), 0, &[], path);
    }
    let nowhere = home.pump(&["copy", "--log-file", "none", "one", "three"]);
    expect(&nowhere, 2, &["'none': it is a symbolic link to a file that is not there"], "nowhere");
    if is_root() {
        for link in ["folder", "there", "none"] {
            std::os::unix::fs::lchown(home.path(link), Some(65_534), None).expect("root");
        }
        for flag in ["--log-file", "--report"] {
            for path in ["there", "none", "folder/log", "folder/made"] {
                let run = home.pump(&["copy", flag, path, "one", "three"]);
                expect(&run, 2, &["a symbolic link of another user (uid 65534)"], path);
            }
        }
        assert!(!home.path("logs/made").exists());
    }
    assert!(!home.path("three").exists() && !home.path("logs/none").exists());
}

#[test]
fn removals_links_and_pipes_are_something_to_do() {
    let home = Home::new();
    lay(&home, "from", "to");
    let update = ["copy", "-T", "-u", "--delete", "from", "to"];
    expect(&home.pump(&update), 0, &[], "first");
    expect(&home.pump(&update), 0, &["Nothing to do: "], "again");
    fs::hard_link(home.path("from/a"), home.path("from/c")).expect("links");
    make_fifo(&home.path("from/sub/more"));
    expect(&home.pump(&update), 0, &[": 1 hard link, 1 special file in "], "a link and a pipe");
    fs::remove_file(home.path("from/link")).expect("it is there");
    let run = home.pump(&update);
    expect(&run, 0, &["1 deleted"], "a removal");
    assert!(!run.err.contains("Nothing to do"), "{run:?}");
    let moved = ["copy", "-v", "-T", "-u", "--remove-source-files", "from", "to"];
    let lines = ["from/mode: removed from the source\n", "from/pipe: removed from the source\n"];
    expect(&home.pump(&moved), 0, &[lines[0], lines[1], "7 removed from the source"], "sources");
}

#[test]
fn pipes_and_links_alone_are_counted_beside_failures() {
    let home = Home::new();
    make_folder(&home, "to");
    make_fifo(&home.path("pipe"));
    make_symlink(&home, "pipe", "link");
    let run = home.pump(&["copy", "-a", "pipe", "link", "missing", "to"]);
    expect(
        &run,
        23,
        &["1 error (0 files copied, 1 link made, 1 special file made): 'missing' (not found)"],
        "both",
    );
}
