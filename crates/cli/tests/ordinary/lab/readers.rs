//! Statements S40 to S42: many readers of one server, in simulated time, as `pump lab fit --model level-off` tells them.
//! The same on the real clock: `cargo run --release -p pump --example readers`.

use datapump_engine::sim::SimClock;
use serde_json::Value;

use crate::support::schema;
use crate::support::{Home, Outcome, expect};

#[path = "../../../examples/readers/paced_server.rs"]
mod paced_server;

use paced_server::{READER_BYTES, STAGES, Stage, latencies_s, own_servers_s, single_reader_s};

/// Those of the source, and around the knee.
const READERS: [u32; 6] = [1, 2, 3, 5, 10, 20];

fn one_server(stage: &Stage, readers: u32) -> Vec<f64> {
    latencies_s(&SimClock::virtual_time(), stage, readers)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A table as `pump lab fit --model level-off` takes it: a row for each stage and number of readers.
fn table(latencies_s: impl Fn(&Stage, u32) -> Vec<f64>, numbers: &[u32]) -> String {
    let mut table = String::from("stage,readers,latency_s,aggregate_bandwidth_mb_per_s\n");
    for stage in &STAGES {
        for &readers in numbers {
            let each = latencies_s(stage, readers);
            let mean_s = each.iter().sum::<f64>() / f64::from(readers);
            let aggregate = f64::from(readers) * READER_BYTES / mean_s / 1e6;
            table += &format!("{},{readers},{mean_s},{aggregate}\n", stage.name);
        }
    }
    table
}

/// What `pump lab fit` says of a table.
fn fitted(table: &str, words: &[&str]) -> Outcome {
    let home = Home::new();
    std::fs::write(home.path("readers.csv"), table).expect("room");
    let run = home.pump(&[&["lab", "fit", "readers.csv", "--model", "level-off"], words].concat());
    expect(&run, 0, &[], "a fit");
    run
}

fn fits(table: &str) -> Vec<Value> {
    let events = schema::checked(&fitted(table, &["--json"]).out);
    events.into_iter().filter(|event| event["stage"].is_string()).collect()
}

fn number(fit: &Value, field: &str) -> f64 {
    fit[field].as_f64().unwrap_or_else(|| panic!("no number {field}: {fit}"))
}

/// How far one is from the other, in percent of the other.
fn apart(one: f64, other: f64) -> f64 {
    100.0 * (one / other - 1.0).abs()
}

#[test]
fn s40_latencies_of_one_server_level_off_at_its_cost() {
    let table = table(one_server, &READERS);
    for (stage, fit) in STAGES[..4].iter().zip(fits(&table)) {
        assert_eq!(fit["stage"], stage.name);
        for readers in READERS {
            let (got, law) =
                (mean(&one_server(stage, readers)), stage.r1_s.max(f64::from(readers) * stage.d_s));
            assert!(apart(got, law) <= 5.0, "{}, {readers} readers: {got} s, not {law} s", stage.name);
        }
        for (field, known) in [
            ("r1_s", stage.r1_s),
            ("d_s", stage.d_s),
            ("knee_readers", stage.r1_s / stage.d_s),
            ("plateau_bytes_per_s", READER_BYTES / stage.d_s),
        ] {
            assert!(apart(number(&fit, field), known) <= 5.0, "{field} of {}: {fit}", stage.name);
        }
    }
    let people = fitted(&table, &[]).out;
    for stage in STAGES {
        let told = people.split_once(&format!("stage {}:", stage.name)).expect(stage.name).1;
        let line = told.lines().nth(1).unwrap_or_default();
        let has = ["R1 ", "D ", "knee at ", "plateau "].iter().all(|word| line.contains(word));
        assert!(has, "{}: {line}", stage.name);
    }
}

/// The fifth stage, with two requests in flight, at the numbers of readers of the source: R1 is what one reader takes
/// by the closed form, D the server's as before.
#[test]
fn s40_the_fifth_stage_levels_off_at_the_same_cost() {
    let numbers = [1, 5, 10, 20];
    for (stage, fit) in STAGES.iter().zip(fits(&table(one_server, &numbers))) {
        let r1_s = single_reader_s(stage);
        assert!(stage.window == 2 || apart(r1_s, stage.r1_s) < 1e-6, "{}: {r1_s}", stage.name);
        for readers in numbers {
            let (got, law) = (mean(&one_server(stage, readers)), r1_s.max(f64::from(readers) * stage.d_s));
            assert!(apart(got, law) <= 5.0, "{}, {readers} readers: {got} s, not {law} s", stage.name);
        }
        for (field, known) in [
            ("r1_s", r1_s),
            ("d_s", stage.d_s),
            ("knee_readers", r1_s / stage.d_s),
            ("plateau_bytes_per_s", READER_BYTES / stage.d_s),
        ] {
            assert!(apart(number(&fit, field), known) <= 5.0, "{field} of {}: {fit}", stage.name);
        }
    }
}

#[test]
fn s41_a_window_changes_the_single_reader_and_not_the_server() {
    let fits = fits(&table(one_server, &READERS));
    let [before, after] = [&fits[3], &fits[4]];
    assert_eq!((&before["stage"], &after["stage"]), (&"io_additions".into(), &"sliding_window".into()));
    assert!(apart(number(after, "d_s"), number(before, "d_s")) <= 3.0, "D: {before} {after}");
    // Two requests in flight: the latencies of two overlap, and the server is never idle while one reader waits.
    let r1 = number(after, "r1_s") / number(before, "r1_s");
    assert!((0.5..0.6).contains(&r1), "R1 is {r1} of what it was");
    assert!(number(after, "knee_readers") < 0.6 * number(before, "knee_readers"), "the knee: {after}");
}

#[test]
fn s42_with_a_server_for_each_reader_nothing_levels_off() {
    let numbers = [1, 5, 10, 20];
    let own = |stage: &Stage, readers| own_servers_s(SimClock::virtual_time, stage, readers);
    for (stage, fit) in STAGES.iter().zip(fits(&table(own, &numbers))) {
        let single_s = mean(&own(stage, 1));
        for readers in numbers {
            let (each, n) = (own(stage, readers), f64::from(readers));
            assert_eq!(each.len() as u32, readers, "{}", stage.name);
            let slowest_s = each.iter().copied().fold(0.0, f64::max);
            assert!(slowest_s <= 1.33 * single_s, "{}: {slowest_s} s, alone {single_s} s", stage.name);
            let (aggregate, single) = (n * READER_BYTES / mean(&each), READER_BYTES / single_s);
            assert!(aggregate >= 0.75 * n * single, "{}: {aggregate} of {n} x {single}", stage.name);
        }
        let warning = fit["warning"].as_str().unwrap_or_default();
        assert!(warning.contains("not full with 20 readers"), "{}: {fit}", stage.name);
    }
    // With one server for all, levelling off is found.
    let shared = &fits(&table(one_server, &numbers))[0];
    assert!(shared["warning"].is_null(), "a shared server is full: {shared}");
}
