//! Where the time of a copy went: each nanosecond is charged once, and the verdict follows from that.

mod support;

use serde_json::Value;
use support::{Home, Outcome, expect, make_folder, noise_file};

fn events(run: &Outcome, event: &str) -> Vec<Value> {
    let lines = run.out.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    lines.filter(|line: &Value| line["event"] == event).collect()
}

/// A report whose waits, with the CPU time of the lanes, are no more than the time of the lanes.
fn report(run: &Outcome) -> Value {
    let report = events(run, "report").pop().expect("a report");
    let number = |name: &str| report[name].as_u64().expect("a number");
    let waits = report["waits_ns"].as_object().expect("stages");
    let waited: u64 =
        waits.iter().filter(|(stage, _)| *stage != "hashing").filter_map(|it| it.1.as_u64()).sum();
    let whole = number("lanes") * number("elapsed_ns");
    assert!(waited + number("lanes_cpu_ns") <= whole, "{report}");
    report
}

#[test]
fn a_copy_that_is_held_back_is_limited_by_that_from_its_first_progress_on() {
    let home = Home::new();
    make_folder(&home, "from");
    (0..80).for_each(|number| drop(noise_file(&home, &format!("from/{number}"), 4_000, number)));
    noise_file(&home, "from/large", 10_000_000, 99);
    let words = "copy --sync=none --bwlimit=5MB --json --progress=always from to";
    let run = home.pump(&words.split(' ').collect::<Vec<_>>());
    expect(&run, 0, &[], words);
    let report = report(&run);
    assert_eq!(report["limited_by"], "source", "{report}");
    assert_eq!(report["limited_detail"]["why"], "rate limit", "{report}");
    let progress = events(&run, "progress");
    assert!(progress.last().is_some_and(|last| last["limited_by"] == "source"), "{progress:?}");
}

#[test]
fn what_is_removed_is_counted_and_its_time_is_charged_to_that() {
    let home = Home::new();
    ["from", "to", "to/sub"].iter().for_each(|name| make_folder(&home, name));
    noise_file(&home, "from/one", 10, 1);
    (0..300).for_each(|number| drop(noise_file(&home, &format!("to/sub/{number}"), 1, number)));
    let words = "copy --delete --json -T from to";
    let run = home.pump(&words.split(' ').collect::<Vec<_>>());
    expect(&run, 0, &[], words);
    let report = report(&run);
    assert_eq!(report["deleted"], 301, "{report}");
    assert!(report["waits_ns"]["deleting"].as_u64() > Some(0), "{report}");
}

#[test]
fn an_idle_lane_waits_for_nobody() {
    let home = Home::new();
    noise_file(&home, "from", 30_000_000, 1);
    let words = "copy --lanes=4 --json from to";
    let run = home.pump(&words.split(' ').collect::<Vec<_>>());
    expect(&run, 0, &[], words);
    report(&run);
}
