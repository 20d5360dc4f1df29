//! Statements S40 to S42 on the real clock: many readers of one paced server, and of a server for each.
//!
//! Prints a table for `pump lab fit --model level-off`, of three rounds the middle one. By hand, on a quiet machine, in
//! one and a half minutes and 25 s: `cargo run --release -p pump --example readers >one.csv`, and `-- own >own.csv`.

mod paced_server;

use datapump_engine::os::linux::timer_slack;
use datapump_engine::sim::SimClock;

use paced_server::{Stage, latencies_s, own_servers_s, table};

fn main() {
    // A sleep may otherwise overrun by 50 microseconds: prctl(2), PR_SET_TIMERSLACK.
    let _ = timer_slack(1);
    let numbers = [1, 5, 10, 20];
    let found = match std::env::args().nth(1).as_deref() {
        Some("own") => {
            let round = |stage: &Stage, readers| own_servers_s(SimClock::real_time, stage, readers);
            table(|stage, readers| middle(|| round(stage, readers)), &numbers)
        }
        _ => {
            let round = |stage: &Stage, readers| latencies_s(&SimClock::real_time(), stage, readers);
            table(|stage, readers| middle(|| round(stage, readers)), &numbers)
        }
    };
    print!("{found}");
}

/// Of three rounds the one in the middle: somebody else may have had the CPU for a moment.
fn middle(round: impl Fn() -> Vec<f64>) -> Vec<f64> {
    let mut rounds = [round(), round(), round()];
    rounds.sort_by(|one, other| one.iter().sum::<f64>().total_cmp(&other.iter().sum()));
    let [_, middle, _] = rounds;
    middle
}
