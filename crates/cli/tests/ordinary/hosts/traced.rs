//! `--tcp-trace`: a copy's own connections are sampled while it runs, and what was there before is not written over.

use std::collections::BTreeMap;

use crate::support::schema;
use crate::support::serving::Serving;
use crate::support::{Home, expect, has_content, make_folder, noise_file};
use serde_json::Value;

const COUNTERS: [&str; 8] = [
    "time_ns",
    "retransmitted_segments",
    "sent_segments",
    "bytes_acked",
    "bytes_sent",
    "bytes_received",
    "busy_ns",
    "receive_window_limited_ns",
];

fn home() -> Home {
    let home = Home::new();
    make_folder(&home, "served");
    home
}

/// The samples by the kernel's number of their socket. Counters never fall.
fn samples(home: &Home, name: &str) -> BTreeMap<u64, Vec<Value>> {
    let text = std::fs::read_to_string(home.path(name)).expect("it was written");
    let mut sockets: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for line in text.lines() {
        let sample: Value = serde_json::from_str(line).expect("a sample");
        assert_eq!((&sample["v"], &sample["event"]), (&1.into(), &"tcp".into()), "{line}");
        sockets.entry(sample["socket"].as_u64().expect("a number")).or_default().push(sample);
    }
    for (socket, samples) in &sockets {
        for name in COUNTERS {
            let counts = samples.iter().map(|sample| sample[name].as_u64().expect(name));
            assert!(counts.is_sorted(), "{name} of {socket} falls");
        }
    }
    sockets
}

fn last_sum(sockets: &BTreeMap<u64, Vec<Value>>, name: &str) -> u64 {
    sockets.values().filter_map(|samples| samples.last()?[name].as_u64()).sum()
}

#[test]
fn a_copy_from_and_to_another_host_is_sampled_while_it_runs() {
    let home = home();
    let content = noise_file(&home, "large", 8 << 20, 1);
    let serving = Serving::new(&home, &[]);
    let far = serving.at("large");
    // At this rate the copy takes half a second; new connections are looked for twenty times a second.
    let copy = ["copy", "--ticket-file", "ticket", "--bwlimit", "16MiB", "--tcp-trace", "tcp.jsonl"];
    for (places, counter) in [(["large", &far], "bytes_acked"), ([&far, "back"], "bytes_received")] {
        let run = home.pump(&[&copy[..], &["-v"], &places].concat());
        expect(&run, 0, &["'tcp.jsonl': ", "samples of", "8.0 MiB in "], counter);
        let sockets = samples(&home, "tcp.jsonl");
        assert!(last_sum(&sockets, counter) > 1 << 20, "{counter}: {sockets:?}");
    }
    has_content(&home.path("back"), &content, "it came back");
    let run = home.pump(&[&copy[..], &["--json", "-q", "large", &far]].concat());
    let events = schema::checked(&run.out);
    assert_eq!(events[events.len() - 1]["event"], "report", "the report stays the last");
    assert_eq!(run.err, "", "quiet");
    assert!(!samples(&home, "tcp.jsonl").is_empty());
}

#[test]
fn an_explained_copy_is_sampled_too() {
    let home = home();
    noise_file(&home, "large", 8 << 20, 1);
    let serving = Serving::new(&home, &[]);
    let explain = ["explain", "--ticket-file", "ticket", "--bwlimit", "16MiB"];
    let far = serving.at("copied");
    let traced = ["--tcp-trace", "tcp.jsonl", "large", &far];
    expect(&home.pump(&[&explain[..], &traced].concat()), 0, &["'tcp.jsonl': "], "explain");
    assert!(last_sum(&samples(&home, "tcp.jsonl"), "bytes_acked") > 1 << 20);
}

#[test]
fn what_cannot_be_sampled_is_refused_before_anything_is_copied() {
    let home = home();
    noise_file(&home, "large", 1000, 1);
    std::fs::write(home.path("notes"), "mine").expect("room");
    let serving = Serving::new(&home, &[]);
    let far = serving.at("copy");
    for (trace, target, status, part) in [
        ("tcp.jsonl", "copy", 2, "all places are on this host"),
        ("notes", &far, 2, "'notes': it holds something else than a time series"),
        ("large", &far, 2, "'large': a time series cannot be what is copied"),
        ("no/such/file", &far, 1, "No such file"),
        ("served", &far, 1, "directory"),
    ] {
        let words = ["copy", "--ticket-file", "ticket", "--tcp-trace", trace, "large", target];
        expect(&home.pump(&words), status, &[part], trace);
        let explain = [&["explain"], &words[1..]].concat();
        expect(&home.pump(&explain), status, &[part], trace);
        assert!(!home.path("served/copy").exists() && !home.path("copy").exists(), "{trace}");
    }
    assert_eq!(std::fs::read(home.path("notes")).expect("it is there"), b"mine");
    let words = ["explain", "--pid", "1", "--tcp-trace", "tcp.jsonl"];
    expect(&home.pump(&words), 2, &["pump lab tcp-watch pid:1"], "a process");
}

#[test]
fn a_series_that_cannot_be_written_is_a_problem_of_a_whole_copy() {
    let home = home();
    let content = noise_file(&home, "large", 4 << 20, 1);
    let serving = Serving::new(&home, &[]);
    let far = serving.at("copy");
    let copy = ["copy", "--ticket-file", "ticket", "--bwlimit", "16MiB", "--tcp-trace", "/dev/full"];
    let run = home.pump(&[&copy[..], &["--json", "large", &far]].concat());
    let events = schema::checked(&run.out);
    assert_eq!((run.status, &events[events.len() - 1]["exit_status"]), (1, &1.into()), "{run:?}");
    assert!(run.err.contains("no time series of the connections"), "{run:?}");
    has_content(&home.path("served/copy"), &content, "the copy itself");
}
