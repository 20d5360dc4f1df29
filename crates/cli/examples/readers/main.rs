//! Statements S40 to S42 on the real clock: many readers of one paced server, and of a server for each.
//!
//! Prints a table for `pump lab fit --model level-off`, of three rounds the middle one, and on standard error what is
//! stated of each row and whether it holds; status 1 if one does not. By hand, on a quiet machine, in one and a half
//! minutes and 25 s: `cargo run --release -p pump --example readers >one.csv`, and `-- own >own.csv`.

mod paced_server;

use std::cell::RefCell;
use std::process::ExitCode;

use datapump_engine::os::linux::timer_slack;
use datapump_engine::sim::SimClock;

use paced_server::{READER_BYTES, Stage, latencies_s, own_servers_s, single_reader_s, table};

/// A latency may be so far from max(R1, n D): statement S40.
const TOLERANCE: f64 = 0.05;
/// With a server of its own the slowest reader takes so many times what one alone takes at most, and all together have
/// this part of their bandwidths at least: statement S42.
const SLOWEST_MAX: f64 = 1.33;
const AGGREGATE_MIN: f64 = 0.75;

fn main() -> ExitCode {
    // A sleep may otherwise overrun by 50 microseconds: prctl(2), PR_SET_TIMERSLACK.
    let _ = timer_slack(1);
    let numbers = [1, 5, 10, 20];
    let own = std::env::args().nth(1).as_deref() == Some("own");
    let all_hold = RefCell::new(true);
    let found = table(
        |stage, readers| {
            let each = middle(|| {
                if own {
                    own_servers_s(SimClock::real_time, stage, readers)
                } else {
                    latencies_s(&SimClock::real_time(), stage, readers)
                }
            });
            let holds = if own { keeps_up(stage, &each) } else { levels_off(stage, &each) };
            *all_hold.borrow_mut() &= holds;
            each
        },
        &numbers,
    );
    print!("{found}");
    if all_hold.into_inner() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// S40, of readers of one server.
fn levels_off(stage: &Stage, each: &[f64]) -> bool {
    let (n, mean_s) = (each.len() as f64, each.iter().sum::<f64>() / each.len() as f64);
    let ratio = mean_s / single_reader_s(stage).max(n * stage.d_s);
    let holds = (ratio - 1.0).abs() <= TOLERANCE;
    told("S40", stage, &format!("{n} readers: {ratio:.3} of max(R1, n D)"), holds)
}

/// S42, of readers that have a server each.
fn keeps_up(stage: &Stage, each: &[f64]) -> bool {
    let (n, single_s) = (each.len() as f64, single_reader_s(stage));
    let slowest = each.iter().copied().fold(0.0, f64::max) / single_s;
    let mean_s = each.iter().sum::<f64>() / n;
    let aggregate = (n * READER_BYTES / mean_s) / (n * READER_BYTES / single_s);
    let what = format!("{n} readers: {slowest:.3} of one's time, {aggregate:.3} of their bandwidths");
    told("S42", stage, &what, slowest <= SLOWEST_MAX && aggregate >= AGGREGATE_MIN)
}

fn told(statement: &str, stage: &Stage, what: &str, holds: bool) -> bool {
    let verdict = if holds { "holds" } else { "DOES NOT HOLD" };
    eprintln!("{statement}  {:<15} {what}: {verdict}", stage.name);
    holds
}

/// Of three rounds the one in the middle: somebody else may have had the CPU for a moment.
fn middle(round: impl Fn() -> Vec<f64>) -> Vec<f64> {
    let mut rounds = [round(), round(), round()];
    rounds.sort_by(|one, other| one.iter().sum::<f64>().total_cmp(&other.iter().sum()));
    let [_, middle, _] = rounds;
    middle
}
