//! `pump lab report` and `pump lab rerun` by the real binary: what they need, refuse, and never write over.

use crate::support;
use crate::support::running::{Running, eventually};
use crate::support::{Home, expect};
use serde_json::Value;

const STUDY: &str = r#"
name = "tiny"
title = "null to null"
repeats = 2
warmup = 0
[factors]
request_size = ["4KiB", "64KiB"]
[job]
source = "null:1MiB"
target = "null:"
request_size = "{request_size}"
engine = "inline"
depth = 2
"#;

#[test]
fn rows_become_a_page_and_stay_as_they_are() {
    let home = Home::new();
    std::fs::write(home.path("tiny.toml"), STUDY).expect("room");
    let run = home.pump(&["lab", "run", "tiny.toml", "--out", "rows.jsonl"]);
    expect(&run, 0, &["tiny: 4 runs"], "the study");
    let rows = std::fs::read(home.path("rows.jsonl")).expect("rows");
    let row = "a page";
    // A busy machine disturbs runs, and without them a chart of fits may be missing.
    let run = home.pump(&["lab", "report", "rows.jsonl", "--keep-disturbed", "-o", "page.html"]);
    expect(&run, 0, &["'page.html': 1 studies, 4 runs (0 failed), 3 charts"], row);
    let page = std::fs::read_to_string(home.path("page.html")).expect("a page");
    assert!(page.contains("<h2>tiny</h2>") && page.ends_with("</html>\n"), "{row}");
    std::os::unix::fs::symlink("rows.jsonl", home.path("same")).expect("a link");
    std::fs::hard_link(home.path("rows.jsonl"), home.path("hard")).expect("a link");
    std::fs::write(home.path("notes"), "mine\n").expect("room");
    for (words, status, part) in [
        (&["rows.jsonl"][..], 2, "--out"),
        (&["-o", "page.html"], 2, "<ROWS>"),
        (&["rows.jsonl", "-o", "rows.jsonl"], 2, "written over the rows"),
        (&["rows.jsonl", "-o", "same"], 2, "written over the rows"),
        (&["rows.jsonl", "-o", "hard"], 2, "written over the rows"),
        (&["rows.jsonl", "-o", "notes"], 1, "notes is there and is no page of HTML"),
        (&["rows.jsonl", "-o", "."], 1, "is a folder"),
        (&["none", "-o", "new.html"], 1, "read none: No such file"),
        (&["notes", "-o", "new.html"], 1, "line 1: this is no row"),
        (&["rows.jsonl", "-o", "no/such/page.html"], 1, "No such file"),
    ] {
        expect(&home.pump(&[&["lab", "report"], words].concat()), status, &[part], &format!("{words:?}"));
        assert!(!home.path("new.html").exists(), "{words:?}");
    }
    assert_eq!(std::fs::read(home.path("rows.jsonl")).expect("rows"), rows);
    assert_eq!(std::fs::read(home.path("notes")).expect("notes"), b"mine\n");
    let run = home.pump(&["lab", "report", "rows.jsonl", "-o", "page.html"]);
    expect(&run, 0, &["4 runs"], "a page in the place of a page");
}

#[test]
fn names_in_rows_reach_no_terminal_as_they_are() {
    let home = Home::new();
    std::fs::write(home.path("tiny.toml"), STUDY).expect("room");
    expect(&home.pump(&["lab", "run", "tiny.toml", "--out", "rows.jsonl"]), 0, &[], "the study");
    let rows = std::fs::read_to_string(home.path("rows.jsonl")).expect("rows");
    let rows = rows.replace("\"tiny\"", "\"ti\\u001b[31mny\"");
    std::fs::write(home.path("rows.jsonl"), rows).expect("room");
    for command in ["view", "compare", "fit"] {
        let words = ["lab", command, "rows.jsonl", "rows.jsonl"];
        let words = &words[..if command == "compare" { 4 } else { 3 }];
        let run = home.pump(words);
        assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'), "{words:?} {run:?}");
    }
}

#[test]
fn runs_that_failed_and_are_there_are_told() {
    let home = Home::new();
    std::fs::write(home.path("tiny.toml"), STUDY.replace("null:1MiB", "missing")).expect("room");
    let words = ["lab", "run", "tiny.toml", "--out", "rows.jsonl"];
    expect(&home.pump(&words), 23, &["2 missing"], "a source that is not there");
    let told = "4 of the rows are of runs that failed, and these are not run again";
    expect(&home.pump(&words), 23, &[told], "the same command");
}

/// A study whose rows go to the file of another one is run, with a warning before. A rerun means all that its file has.
#[test]
fn a_file_that_has_rows_of_another_study_is_named_before_a_run() {
    let home = Home::new();
    for name in ["tiny", "other", "other"] {
        let text = STUDY.replace("\"tiny\"", &format!("\"{name}\""));
        std::fs::write(home.path("study.toml"), text).expect("room");
        let run = home.pump(&["lab", "run", "study.toml", "--out", "rows.jsonl"]);
        expect(&run, 0, &[&format!("{name}: 4 runs")], name);
        let warning = "warning: rows.jsonl has rows of another study (tiny); name another file with --out";
        assert_eq!(run.err.contains(warning), name == "other", "{}", run.err);
    }
    let run = home.pump(&["lab", "rerun", "rows.jsonl", "--out", "again.jsonl"]);
    expect(&run, 0, &["tiny: 4 runs", "other: 4 runs"], "both again");
    assert!(!run.err.contains("rows of another study"), "{}", run.err);
}

/// Nobody ever writes to it.
#[test]
fn a_pipe_ends_with_a_signal_and_takes_no_rows() {
    let home = Home::new();
    support::make_fifo(&home.path("pipe"));
    std::fs::write(home.path("tiny.toml"), STUDY).expect("room");
    for words in [&["run", "tiny.toml", "--out", "pipe"][..], &["rerun", "pipe"]] {
        expect(&home.pump(&[&["lab"], words].concat()), 1, &["is a pipe"], &format!("{words:?}"));
    }
    let waiting = Running::start(home.command(&["lab", "run", "pipe"]));
    eventually("it catches the signal", || catches_term(waiting.id()));
    waiting.signal(rustix::process::Signal::TERM);
    assert_eq!(waiting.end().status, 20);
}

/// Until then a signal ends a program at once.
fn catches_term(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it is there");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("proc(5)");
    u64::from_str_radix(caught.trim(), 16).expect("a mask") & (1 << (15 - 1)) != 0
}

#[test]
fn rows_are_run_again_from_their_file_alone_and_compared() {
    let home = Home::new();
    std::fs::write(home.path("tiny.toml"), STUDY).expect("room");
    let words = ["lab", "run", "tiny.toml", "--out", "old.jsonl", "--repeats", "4", "--seed", "9"];
    expect(&home.pump(&words), 0, &["tiny: 8 runs"], "the study");
    std::fs::remove_file(home.path("tiny.toml")).expect("it was there");
    expect(&home.pump(&["lab", "rerun", "old.jsonl"]), 0, &["tiny: 8 runs"], "again");
    let run = home.pump(&["lab", "compare", "--keep-disturbed", "old.jsonl", "old-again.jsonl"]);
    expect(&run, 1, &["overall", "nothing could be judged: not interleaved"], "one session each");
    let json = home.pump(&["lab", "rerun", "old.jsonl", "--json"]);
    let last = json.out.lines().last().expect("a report");
    assert!(json.status == 0 && last.contains("\"event\":\"report\""), "{json:?}");
    let text = std::fs::read_to_string(home.path("old.jsonl")).expect("rows");
    let (_, rest) = text.split_once('\n').expect("rows");
    std::fs::write(home.path("older.jsonl"), rest).expect("room");
    for (words, status, part) in [
        (&["older.jsonl"][..], 2, "no row holds the study 'tiny' of seed 9"),
        (&["old.jsonl", "--out", "old.jsonl"], 2, "would go into the old file"),
        (&["none"], 1, "read none: No such file"),
    ] {
        expect(&home.pump(&[&["lab", "rerun"], words].concat()), status, &[part], &format!("{words:?}"));
    }
    assert!(!home.path("older-again.jsonl").exists());
    assert_eq!(std::fs::read_to_string(home.path("old.jsonl")).expect("rows"), text);
}

const NETWORK: &str = r#"
name = "net"
title = "a slow copy over loopback"
repeats = 2
warmup = 0
probes = ["tcp"]
prepare = [{ step = "new_host" }]
[command.levels]
bare = """
. {host}/host.sh; start {pump} serve --insecure=bare --listen 127.0.0.1:{port} null: &&
{pump} copy --insecure=bare --json --bwlimit 8MiB null:4MiB pump://127.0.0.1:{port}/x
"""
none = "true"
"#;

#[test]
fn the_probe_tcp_leaves_a_series_of_each_run_that_a_page_can_show() {
    let home = Home::new();
    std::fs::write(home.path("net.toml"), NETWORK).expect("room");
    expect(&home.pump(&["lab", "run", "net.toml"]), 0, &["net: 4 runs"], "the study");
    let rows = home.rows("net.jsonl");
    let (with, without): (Vec<&Value>, Vec<&Value>) =
        rows.iter().partition(|row| row["asked"]["command"] == "bare");
    assert!(without.iter().all(|row| row["tcp"].is_null()), "{without:?}");
    for row in &with {
        let tcp = &row["tcp"];
        assert!(tcp["bytes_acked"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{tcp}");
        let file = format!("net.tcp/net-1-{:06}.jsonl", row["order"].as_u64().expect("a place"));
        assert_eq!(tcp["file"], file, "{tcp}");
        let samples = std::fs::read_to_string(home.path(&file)).expect("a series").lines().count();
        assert_eq!(tcp["samples"], samples, "{tcp}");
        let words = ["lab", "report", "net.jsonl", &file, "--keep-disturbed", "-o", "page.html"];
        let run = home.pump(&words);
        expect(&run, 0, &["1 studies, 4 runs (0 failed), 3 charts", "samples of TCP"], "a page");
    }
    assert_eq!((with.len(), std::fs::read_dir(home.path("net.tcp")).expect("a folder").count()), (2, 2));
}
