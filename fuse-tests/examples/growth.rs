//! Statements S17 and S18 with the engines of the program on the real clock: a file grows on a paced file system whose
//! writes follow one another, by the loop itself (`inline`) and by helper threads (`threads`).
//!
//! Each read of the source and each write of the target takes a known time (FUSE, one call after the other). Prints what
//! is stated and whether it holds; status 1 if not. In a minute:
//! `cargo run -p fuse-tests --example growth -- --out FILE` after `cargo build -p pump` (the same profile).

#[path = "../tests/parts/mod.rs"]
mod parts;
#[path = "../../crates/datapump/examples/judged/rows.rs"]
mod rows;

use std::process::ExitCode;
use std::time::Duration;

use parts::fuse::Fuse;
// The parts name each other from the root.
#[allow(unused_imports)]
use parts::{support, wider_parts};
use rows::Judged;
use serde_json::Value;
use support::{Home, expect, noise};

const REQUESTS: usize = 60;
const REQUEST_BYTES: usize = 65_536;
/// The last request is shorter.
const BYTES: usize = (REQUESTS - 1) * REQUEST_BYTES + 777;
/// Long beside what a call of FUSE takes, up to 0.6 ms here. The source is the slower end: that a loop waits for the faster one
/// is the helper's doing.
const READ: Duration = Duration::from_millis(40);
const WRITE: Duration = Duration::from_millis(25);
const ROUNDS: usize = 5;
/// Tolerance of elapsed times.
const TOLERANCE: f64 = 0.05;
/// Helpers leave at most this part of the time for which plain appends block the loop.
const BLOCKED_MAX: f64 = 0.2;
/// The band of equal runs is this wide at least: a timer's accuracy.
const BAND_MIN: f64 = 0.01;

/// How a file is written: engine, depth of the sink.
type Writer = (&'static str, u32);

const WRITERS: [Writer; 4] = [("inline", 1), ("threads", 1), ("threads", 4), ("threads", 1)];

/// Seconds of each round.
#[derive(Clone, Debug, Default)]
struct Times {
    elapsed_s: Vec<f64>,
    blocked_s: Vec<f64>,
}

fn main() -> ExitCode {
    let content = noise(BYTES, 1);
    let (source, target) = (Fuse::new(), Fuse::new());
    source.put("source", &content);
    source.slow.slow_down(&["read"], READ);
    target.slow.slow_down(&["write"], WRITE);
    let home = Home::new();
    let mut all = WRITERS.map(|_| Times::default());
    for round in 0..ROUNDS {
        for ((engine, depth), times) in WRITERS.into_iter().zip(&mut all) {
            let (engine_word, depth_word) = (format!("--engine={engine}"), format!("--sink-depth={depth}"));
            let fixed =
                ["--direct=always", "--no-reserve", "--lanes=1", "--source-depth=1", "--request-size=64KiB"];
            let places = [source.at("source"), target.at("target")];
            let words =
                [&["copy", "--json", &engine_word, &depth_word], &fixed[..], &[&places[0], &places[1]]]
                    .concat();
            let run = home.pump(&words);
            expect(&run, 0, &[], engine);
            // Same content, however it grew (S18).
            assert!(
                target.content("target").as_deref() == Some(&*content),
                "{engine}, depth {depth}, round {round}"
            );
            std::fs::remove_file(target.at("target")).expect("it is there");
            let report: Value =
                serde_json::from_str(run.out.lines().last().expect("a report")).expect("JSON");
            assert_eq!(report["requests"], REQUESTS, "{report}");
            assert_eq!(report["engine"]["got"], engine, "{report}");
            let seconds = |value: &Value| value.as_f64().expect("a time") / 1e9;
            times.elapsed_s.push(seconds(&report["elapsed_ns"]));
            times.blocked_s.push(seconds(&report["waits_ns"]["sink"]));
        }
    }
    rows::report(&judged(&all))
}

fn judged([append, helper, deep, again]: &[Times; 4]) -> Vec<Judged> {
    let count = REQUESTS as f64;
    let (sum_s, longer_s) = ((READ + WRITE).as_secs_f64() * count, READ.max(WRITE).as_secs_f64() * count);
    let middles_s = [append, helper, deep, again].map(|times| median(&times.elapsed_s));
    let blocked = median(&helper.blocked_s) / median(&append.blocked_s);
    let band = (middles_s[1] / middles_s[3] - 1.0).abs().max(BAND_MIN);
    let row = |statement, figure, measured, [least, most]: [f64; 2], rounds_s: &[f64]| Judged {
        statement,
        case: format!("read {} ms, write {} ms", READ.as_millis(), WRITE.as_millis()),
        figure,
        measured,
        least,
        most,
        rounds_s: rounds_s.to_vec(),
    };
    let near = [1.0 - TOLERANCE, 1.0 + TOLERANCE];
    vec![
        row("S17", "append: elapsed over the sum", middles_s[0] / sum_s, near, &append.elapsed_s),
        row("S17", "helper: elapsed over the longer", middles_s[1] / longer_s, near, &helper.elapsed_s),
        row("S17", "helper: lost to the sink, of append", blocked, [0.0, BLOCKED_MAX], &helper.blocked_s),
        row(
            "S18",
            "depth 4: times as fast as 1",
            middles_s[1] / middles_s[2],
            [1.0 - band, 1.0 + band],
            &deep.elapsed_s,
        ),
    ]
}

/// The middle one of an odd number of values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
