//! What `--bill` tells, of real copies: the stages that there must be, and that all sums agree.
//!
//! No figure is compared with what it should be: that needs a quiet machine (`wider/measuring/bill.rs`).

use crate::support;
use crate::support::schema;
use crate::support::serving::Serving;
use crate::support::{Home, expect, has_content, noise_file};
use serde_json::Value;

/// Seconds that may go to rounding: each stage is told in nanoseconds, the process's time in microseconds.
const ROUNDING_S: f64 = 20e-6;

/// The report of a copy with these words.
fn report_of(home: &Home, words: &[&str]) -> Value {
    let run = home.pump(&[&["copy", "--json"], words].concat());
    expect(&run, 0, &[], &format!("{words:?}"));
    schema::checked(&run.out).pop().expect("a report")
}

fn seconds_of(bill: &Value, is_it: impl Fn(&str, &str) -> bool) -> f64 {
    let stages = bill["stages"].as_array().expect("a list");
    let words = |value: &Value| value.as_str().expect("a word").to_owned();
    let asked = stages.iter().filter(|it| is_it(&words(&it["host"]), &words(&it["stage"])));
    asked.map(|it| it["cpu_seconds"].as_f64().expect("a number")).sum()
}

fn cpu_seconds(cpu: &Value) -> f64 {
    (cpu["user_ns"].as_u64().expect("a number") + cpu["system_ns"].as_u64().expect("a number")) as f64 / 1e9
}

/// The bill has these stages, and adds up to what the report says in other fields.
fn adds_up(report: &Value, stages: &[(&str, &str)], row: &str) {
    let bill = &report["bill"];
    for (host, stage) in stages {
        assert!(seconds_of(bill, |a, b| (a, b) == (host, stage)) > 0.0, "{row}: no {host} {stage}: {bill}");
    }
    let total = bill["cpu_seconds_total"].as_f64().expect("a number");
    let agrees = |seconds: f64, other: f64| (seconds - other).abs() <= ROUNDING_S;
    assert!(agrees(total, seconds_of(bill, |_, _| true)), "{row}: {bill}");
    let far = &report["cpu_far"];
    let far = if far.is_null() { 0.0 } else { cpu_seconds(far) };
    let kernel = seconds_of(bill, |_, stage| stage == "kernel threads");
    let told = cpu_seconds(&report["cpu"]) + far + kernel;
    // The process's time leaves out up to a tick of a thread that is just ending; the bill has it, and says so.
    let lags = bill["measured_by"].as_str().is_some_and(|by| by.contains("lags"));
    assert!(agrees(total, told) || (lags && told < total), "{row}: {report}");
    let (bytes, requests) = (report["bytes_moved"].as_f64(), report["requests"].as_f64());
    for it in bill["stages"].as_array().expect("a list") {
        let seconds = it["cpu_seconds"].as_f64().expect("a number");
        let figure = |name: &str, each: f64| {
            let told = it[name].as_f64().expect("something was moved");
            assert!((told - seconds / each).abs() <= 1e-9 * told.abs(), "{row}: {name} of {it}");
        };
        figure("seconds_per_gib", bytes.expect("bytes") / 1_073_741_824.0);
        figure("us_per_request", requests.expect("requests") / 1e6);
    }
}

#[test]
fn a_bill_of_one_host_adds_up() {
    let home = Home::new();
    let content = noise_file(&home, "a", 30_000_001, 1);
    support::make_folder(&home, "tree");
    for name in ["tree/one", "tree/two"] {
        std::fs::write(home.path(name), &content[..70_000]).expect("room");
    }
    let local = |stages: &[&'static str]| stages.iter().map(|stage| ("local", *stage)).collect::<Vec<_>>();
    for (words, stages) in [
        (&["a", "b"][..], local(&["metadata", "loop"])),
        (&["--engine=inline", "--reflink=never", "a", "c"], local(&["read", "write", "metadata", "loop"])),
        (&["--engine=uring", "--direct=never", "a", "d"], local(&["metadata", "loop"])),
        (&["--engine=threads", "a", "e"], local(&["metadata", "loop", "other threads"])),
        (&["--verify", "a", "f"], local(&["hash", "metadata"])),
        (&["--lanes=3", "a", "g"], local(&["metadata", "loop"])),
        (&["tree", "new"], local(&["metadata", "loop"])),
        (&["null:256MiB", "null:"], local(&["loop"])),
    ] {
        let words = [&["--bill"], words].concat();
        adds_up(&report_of(&home, &words), &stages, &format!("{words:?}"));
    }
    has_content(&home.path("d"), &content, "d");
}

#[test]
fn a_bill_of_two_hosts_names_both_and_adds_up() {
    let home = Home::new();
    support::make_folder(&home, "served");
    let content = noise_file(&home, "a", 20_000_001, 2);
    let server = Serving::new(&home, &[]);
    let (there, back) = (server.at("b"), "c");
    for words in [["a", &there], [&there, back]] {
        let words = [&["--bill", "--ticket-file", "ticket"], &words[..]].concat();
        let report = report_of(&home, &words);
        let sender = ["hash", "encrypt", "send"].map(|stage| ("sender", stage));
        let receiver = ["hash", "decrypt", "receive", "metadata"].map(|stage| ("receiver", stage));
        adds_up(&report, &[sender.as_slice(), receiver.as_slice()].concat(), &format!("{words:?}"));
        let bill = &report["bill"];
        assert_eq!(seconds_of(bill, |host, _| host == "local"), 0.0, "{bill}");
        // Both sides have one kernel, which counts once.
        assert_eq!(seconds_of(bill, |host, stage| (host, stage) == ("receiver", "kernel threads")), 0.0);
        let by = bill["measured_by"].as_str().expect("words");
        assert!(by.starts_with("sender: thread clocks") && by.contains("; receiver: thread clocks"), "{by}");
    }
    has_content(&home.path(back), &content, back);
}

#[test]
fn a_bill_is_a_table_for_people_and_only_there_when_asked_for() {
    let home = Home::new();
    noise_file(&home, "a", 3_000_000, 3);
    let run = home.pump(&["copy", "--bill", "a", "b"]);
    expect(&run, 0, &["CPU bill: ", "s/GiB  us/request", "  local    metadata "], "a table");
    assert_eq!(run.out, "", "standard output is for data");
    let run = home.pump(&["copy", "--bill", "-q", "a", "b"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "quiet");
    let run = home.pump(&["copy", "a", "b"]);
    assert!(run.status == 0 && !run.err.contains("bill"), "{run:?}");
    assert!(report_of(&home, &["a", "b"]).get("bill").is_none());
    let mut asked = home.command(&["copy", "a", "b"]);
    asked.env("PUMP_BILL", "1");
    expect(&support::outcome(asked, b""), 0, &["CPU bill: "], "by its variable");
}
