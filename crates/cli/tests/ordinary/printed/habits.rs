//! What a copy prints while it runs and when it failed, and lists of hashes: as people of rsync, dd and b3sum expect.

use crate::command::habits::home;
use crate::support::running::{Running, eventually};
use crate::support::{expect, make_symlink, schema};
use rustix::process::Signal;

/// Before it does, a signal ends it: proc_pid_status(5), SigCgt, a bit for each signal from 1.
fn heeds(process: u32, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal.as_raw() - 1)) != 0
}

#[test]
fn usr1_prints_one_line_and_the_copy_goes_on() {
    let home = home();
    for flags in [&["--progress=never"][..], &["-q"], &["--json"]] {
        let words = [&["copy", "--bwlimit", "4MiB"], flags, &["null:1GiB", "null:"]].concat();
        let running = Running::start(home.command(&words));
        eventually("it heeds signals", || heeds(running.id(), Signal::USR1));
        eventually("it says how far it is", || {
            running.signal(Signal::USR1);
            running.err().contains("MiB")
        });
        assert!(!running.has_ended(), "{flags:?}");
        running.signal(Signal::INT);
        assert_eq!(running.end().status, 20, "{flags:?}");
    }
}

#[test]
fn progress_events_have_their_time_and_phase() {
    let home = home();
    let run = home.pump(&["copy", "--json", "--bwlimit", "4MiB", "null:6MiB", "null:"]);
    let events = schema::checked(&run.out);
    let progress: Vec<_> = events.iter().filter(|event| event["event"] == "progress").collect();
    assert!(!progress.is_empty(), "{run:?}");
    for event in &progress {
        assert!(event["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{event}");
        assert_eq!(event["phase"], "copying");
        assert!(event["elapsed_ns"].as_u64() > Some(0));
    }
}

#[test]
fn failures_are_summed_up_and_a_log_has_a_line_for_each_file() {
    let home = home();
    std::os::unix::net::UnixListener::bind(home.path("photos/socket")).expect("a socket");
    make_symlink(&home, "nowhere", "dangling");
    let words = ["copy", "--log-file", "log", "--delete", "photos/", "old"];
    assert_eq!(home.pump(&words).status, 0);
    let run = home.pump(&["copy", "--log-file", "log", "one", "missing", "dangling", "two", "into"]);
    expect(
        &run,
        23,
        &["2 errors (2 files copied): 'missing' (not found), 'dangling' (not found); see above and in log"],
        "two",
    );
    let log = std::fs::read_to_string(home.path("log")).expect("the log");
    let lines: Vec<&str> = log.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
    for (part, count) in [
        ("pump-log: copy photos/ -> old", 1),
        ("copied 3000 bytes: old/p", 1),
        ("deleted: old/gone", 1),
        ("ended with status 0: ", 1),
        ("pump-log: copy one missing dangling two -> into", 1),
        ("failed: ", 2),
        ("copied 10 bytes: into/one", 1),
        ("ended with status 23: ", 1),
    ] {
        assert_eq!(lines.iter().filter(|line| line.starts_with(part)).count(), count, "{part}: {log}");
    }
    expect(
        &home.pump(&["copy", "--log-file", "two", "one", "new"]),
        2,
        &["it holds something else than a log"],
        "two",
    );
    expect(
        &home.pump(&["copy", "--log-file", "one", "one", "new"]),
        2,
        &["--log-file", "cannot be what is copied"],
        "one",
    );
    let run = home.pump(&["copy", "--json", "--log-file", "log.jsonl", "photos/", "new"]);
    assert_eq!(run.status, 0, "{run:?}");
    let events = schema::checked(&std::fs::read_to_string(home.path("log.jsonl")).expect("the log"));
    assert_eq!(events.last().expect("a report")["event"], "report");
    assert!(events.iter().filter(|event| event["event"] == "file").count() >= 2, "{events:?}");
    let lost = home.pump(&["copy", "--log-file", "old/log", "--delete", "photos/", "old"]);
    expect(&lost, 0, &[], "a log in the target");
    assert!(home.path("old/log").exists(), "what the command writes itself stays");
    std::fs::write(home.path("photos/log"), "a name of the source").expect("room");
    let taken = home.pump(&["copy", "--log-file", "old/log", "photos/", "old"]);
    expect(
        &taken,
        23,
        &["'old/log': is 'old/log', which is written beside the copy"],
        "a name of the source",
    );
    let stats = home.pump(&["copy", "--stats", "one", "three"]);
    expect(&stats, 0, &["one -> three: 10 B in ", "10 bytes, 1 request, ", "s of CPU"], "--stats");
}

#[test]
fn folders_are_hashed_and_lists_are_checked() {
    let home = home();
    let hashed = home.pump(&["hash", "photos", "one"]);
    let names: Vec<_> =
        hashed.out.lines().filter_map(|line| line.split_once("  ").map(|(_, name)| name)).collect();
    assert_eq!(names, ["photos/p", "photos/sub/q", "one"], "{hashed:?}");
    std::fs::write(home.path("list"), &hashed.out).expect("room");
    let right = home.pump(&["hash", "--check", "list"]);
    assert_eq!((right.status, &*right.out), (0, "photos/p: OK\nphotos/sub/q: OK\none: OK\n"), "{right:?}");
    assert_eq!(home.pump(&["copy", "photos", "one", "into"]).status, 0);
    std::fs::write(home.path("into/photos/sub/q"), "another").expect("room");
    std::fs::remove_file(home.path("into/one")).expect("it is there");
    let wrong = home.pump(&["hash", "-q", "--check", "list", "--directory", "into"]);
    assert_eq!((wrong.status, &*wrong.out), (1, "photos/sub/q: FAILED\none: FAILED\n"), "{wrong:?}");
    expect(&wrong, 1, &["into/one", "of 3 files 1 do not match, and 1 could not be read"], "what is wrong");
    expect(&home.pump(&["hash", "--check", "one"]), 2, &["'one', line 1: no line of b3sum"], "no list");
    expect(&home.pump(&["hash", "--check", "missing"]), 2, &["read 'missing'"], "no file");
    let below = home.pump(&["hash", "--directory", "photos", "sub", "p"]);
    let names: Vec<_> =
        below.out.lines().filter_map(|line| line.split_once("  ").map(|(_, name)| name)).collect();
    assert_eq!(names, ["sub/q", "p"], "{below:?}");
}
