//! Statements S40 to S42 on the real clock: many readers of one paced server, and of a server for each, in five stages.
//!
//! Prints what is stated of each stage and number of readers, of three rounds the middle one, and whether it holds;
//! status 1 if one does not. In three minutes: `cargo run --release -p pump --example readers -- --out FILE`; kept:
//! `bench/paced-readers.ndjson`.

mod paced_server;
#[path = "../../../datapump/examples/judged/rows.rs"]
mod rows;

use std::process::ExitCode;

use datapump_engine::os::linux::timer_slack;
use datapump_engine::sim::SimClock;

use paced_server::{READER_BYTES, STAGES, Stage, latencies_s, own_servers_s, single_reader_s};
use rows::Judged;

/// Readers of a server, as the source has them.
const NUMBERS: [u32; 4] = [1, 5, 10, 20];
/// A latency may be so far from max(R1, n D): statement S40.
const TOLERANCE: f64 = 0.05;
/// A second request in flight changes a server's cost by so much at most: statement S41.
const COST_TOLERANCE: f64 = 0.03;
/// With a server of its own the slowest reader takes so many times what one alone takes at most, and all together have
/// this part of their bandwidths at least: statement S42.
const SLOWEST_MAX: f64 = 1.33;
const AGGREGATE_MIN: f64 = 0.75;
/// No bound above.
const NO_BOUND: f64 = 99.0;

/// The latencies of a stage's readers: for each of `NUMBERS`, those of one server and those of servers of their own.
struct Found<'stage> {
    stage: &'stage Stage,
    shared: [Vec<f64>; 4],
    own: [Vec<f64>; 4],
}

fn main() -> ExitCode {
    // A sleep may otherwise overrun by 50 microseconds: prctl(2), PR_SET_TIMERSLACK.
    let _ = timer_slack(1);
    let found = STAGES.each_ref().map(|stage| Found {
        stage,
        shared: NUMBERS.map(|readers| middle(|| latencies_s(&SimClock::real_time(), stage, readers))),
        own: NUMBERS.map(|readers| middle(|| own_servers_s(SimClock::real_time, stage, readers))),
    });
    let each = |it: &Found| [levels_off(it), keeps_up(it)].concat();
    let all: Vec<Judged> = found.iter().flat_map(each).collect();
    rows::report(&[all, vec![same_cost(&found[3], &found[4])]].concat())
}

fn mean(each: &[f64]) -> f64 {
    each.iter().sum::<f64>() / each.len() as f64
}

/// S40, of readers of one server: latency is that of one reader, or what the server takes for all of them.
fn levels_off(found: &Found) -> Vec<Judged> {
    let stage = found.stage;
    let row = |(readers, each): (&u32, &Vec<f64>)| Judged {
        statement: "S40",
        case: format!("{}, {readers} readers of one server", stage.name),
        figure: "mean latency over max(R1, n D)",
        measured: mean(each) / single_reader_s(stage).max(f64::from(*readers) * stage.d_s),
        least: 1.0 - TOLERANCE,
        most: 1.0 + TOLERANCE,
        rounds_s: each.clone(),
    };
    let last = &found.shared[3];
    let plateau = Judged {
        statement: "S40",
        case: format!("{}, {} readers of one server", stage.name, last.len()),
        figure: "all readers' rate over size / D",
        measured: (last.len() as f64 * READER_BYTES / mean(last)) / (READER_BYTES / stage.d_s),
        least: 1.0 - TOLERANCE,
        most: 1.0 + TOLERANCE,
        rounds_s: last.clone(),
    };
    NUMBERS.iter().zip(&found.shared).map(row).chain([plateau]).collect()
}

/// S41: D, the latency of 20 readers over their number, is the same with two requests in flight.
fn same_cost(before: &Found, after: &Found) -> Judged {
    let [before_s, after_s] = [before, after].map(|found| mean(&found.shared[3]));
    Judged {
        statement: "S41",
        case: format!("{} beside {}", after.stage.name, before.stage.name),
        figure: "D over that of one request in flight",
        measured: after_s / before_s,
        least: 1.0 - COST_TOLERANCE,
        most: 1.0 + COST_TOLERANCE,
        rounds_s: after.shared[3].clone(),
    }
}

/// S42, of readers that have a server each, beside one reader that was measured alone.
fn keeps_up(found: &Found) -> Vec<Judged> {
    let single_s = mean(&found.own[0]);
    let rows = |each: &Vec<f64>| {
        let case = format!("{}, {} readers, a server for each", found.stage.name, each.len());
        let slowest_s = each.iter().copied().fold(0.0, f64::max);
        let row = |figure, measured, least, most| Judged {
            statement: "S42",
            case: case.clone(),
            figure,
            measured,
            least,
            most,
            rounds_s: each.clone(),
        };
        [
            row("slowest latency over one reader's", slowest_s / single_s, 0.0, SLOWEST_MAX),
            row("rate of all over n times one's", single_s / mean(each), AGGREGATE_MIN, NO_BOUND),
        ]
    };
    found.own[1..].iter().flat_map(rows).collect()
}

/// Of three rounds the one in the middle: somebody else may have had the CPU for a moment.
fn middle(round: impl Fn() -> Vec<f64>) -> Vec<f64> {
    let mut rounds = [round(), round(), round()];
    rounds.sort_by(|one, other| one.iter().sum::<f64>().total_cmp(&other.iter().sum()));
    let [_, middle, _] = rounds;
    middle
}
