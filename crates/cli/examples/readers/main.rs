//! SCIENCE S40 to S42 on the real clock: many readers of one paced server, and of a server for each.
//!
//! Prints a table for `pump lab fit --model level-off`. By hand, on a quiet machine, half a minute each:
//! `cargo run --release -p pump --example readers >one.csv`, and `-- own >own.csv`.

mod paced_server;

use datapump_engine::os::linux::timer_slack;
use datapump_engine::sim::SimClock;

use paced_server::{latencies_s, own_servers_s, table};

fn main() {
    // A sleep may otherwise overrun by 50 microseconds: prctl(2), PR_SET_TIMERSLACK.
    let _ = timer_slack(1);
    let numbers = [1, 5, 10, 20];
    let found = match std::env::args().nth(1).as_deref() {
        Some("own") => table(|stage, readers| own_servers_s(SimClock::real_time, stage, readers), &numbers),
        _ => table(|stage, readers| latencies_s(&SimClock::real_time(), stage, readers), &numbers),
    };
    print!("{found}");
}
