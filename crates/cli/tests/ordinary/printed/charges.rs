//! Where the time of a copy went: each nanosecond is charged once, and the verdict follows from that.

use crate::support::running::Running;
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, expect, make_folder, noise_file};
use serde_json::Value;

fn events(run: &Outcome, event: &str) -> Vec<Value> {
    let lines = run.events().into_iter();
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
    // CPU time and elapsed time are two clocks, read one after the other: 340 ns of 153 ms were seen.
    assert!(waited + number("lanes_cpu_ns") <= whole + whole / 1000, "{report}");
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

/// What the progress and the report of a copy to another host say bounds it.
fn limits_of_push(home: &Home, words: &[&str], input: impl FnOnce(&mut Running)) -> [Value; 2] {
    make_folder(home, "served");
    let serving = Serving::new(home, &[]);
    let common = ["copy", "--sync=none", "--json", "--progress=always", "--ticket-file", "ticket"];
    let target = serving.at("to");
    let mut running = Running::start(home.command(&[&common, words, &[&target]].concat()));
    input(&mut running);
    let run = running.end();
    expect(&run, 0, &[], &format!("{words:?}"));
    let mut progress = events(&run, "progress");
    let last = progress.pop().expect("progress");
    [last["limited_by"].clone(), report(&run)["limited_by"].clone()]
}

#[test]
fn progress_of_a_push_says_what_bounds_it_at_either_host() {
    let home = Home::new();
    noise_file(&home, "from", 8_000_000, 1);
    let limits = limits_of_push(&home, &["--bwlimit=5MB", "from"], |_| {});
    assert_eq!(limits, ["source", "source"], "held to a rate where it is written");
}

#[test]
fn a_push_of_a_pipe_that_trickles_waits_for_its_source() {
    let home = Home::new();
    let limits = limits_of_push(&home, &["-"], |running| {
        for _ in 0..40 {
            running.send(&[7; 1 << 16]);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    });
    assert_eq!(limits, ["source", "source"], "the source is here");
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
