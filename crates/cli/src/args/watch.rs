//! Flags of `pump explain --pid`.
//!
//! Must not know: how a process is watched.

use std::time::Duration;

use clap::Args;
use datapump::units::parse_duration;

use crate::args::{HOW, WHAT};

/// A process that is watched instead of a copy that is made.
#[derive(Debug, Args)]
pub struct WatchArguments {
    /// Say what limits a running process that moves data, instead of copying
    ///
    /// Watches cp, rsync, scp, tar or anything else by its number, and what it started, without touching it: where its
    /// threads wait, its files, the devices they lie on, its connections and whose window is full. As root it sees
    /// most; of a process of the same user it sees enough. Default: none.
    ///
    /// Example: pump explain --pid 1234
    #[arg(long, value_name = "PID", env = "PUMP_PID", help_heading = WHAT)]
    #[arg(value_parser = parse_pid)]
    pub pid: Option<u32>,

    /// For how long the process is watched
    ///
    /// Default: 10s.
    ///
    /// Example: pump explain --pid 1234 --for 1m
    #[arg(long = "for", value_name = "TIME", env = "PUMP_FOR", help_heading = HOW, value_parser = parse_duration)]
    pub time: Option<Duration>,
}

fn parse_pid(text: &str) -> Result<u32, String> {
    let pid = text.parse().ok().filter(|pid| (1..=i32::MAX as u32).contains(pid));
    pid.ok_or_else(|| "write the number of a process, such as 1234; `ps` lists them".into())
}
