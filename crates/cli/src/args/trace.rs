//! The flags `--tcp-trace`, `--report` and `--log-file`: files about a copy.
//!
//! Must not know: how connections are sampled, what a report says.

use std::path::PathBuf;

use clap::Args;

use crate::args::OUTPUT;

/// The files that are kept of a copy, beside it.
#[derive(Debug, Args)]
pub struct TraceArguments {
    /// Write what TCP says of this copy's connections to a file while it runs
    ///
    /// A line of JSON for each connection two hundred times a second: window, round trip, what was sent again, rate;
    /// crates/lab/TCP.md has all fields. For copies from or to another host, also of the ssh that this command starts.
    /// Written over is only what is such a file already. Default: none.
    ///
    /// Example: pump copy --tcp-trace tcp.jsonl big.bin pump://host:4000/
    #[arg(long, value_name = "FILE", env = "PUMP_TCP_TRACE", help_heading = OUTPUT)]
    pub tcp_trace: Option<PathBuf>,

    /// Write a line for each thing that is done to a log: copied, made, linked, deleted, failed
    ///
    /// Each begins with its time, in UTC, behind the lines of earlier runs; lines of a dry run (-n) say so. Warnings
    /// are in it, too, and with -v each name that stays as it is, and why; names that a filter excludes are not. With
    /// --json the lines are the events, each with its time. Default: none.
    ///
    /// Example: pump copy --log-file copy.log photos/ /backup/photos
    #[arg(long, value_name = "FILE", env = "PUMP_LOG_FILE", help_heading = OUTPUT)]
    pub log_file: Option<PathBuf>,

    /// Write the report to a file
    ///
    /// One line of JSON, the same that ends `--json`, whatever else is printed, and of a command that failed too.
    /// Written over is only what is such a file already. Default: none.
    ///
    /// Example: pump copy --report report.json big.bin /backup/
    #[arg(long, value_name = "FILE", env = "PUMP_REPORT", help_heading = OUTPUT)]
    pub report: Option<PathBuf>,
}

impl TraceArguments {
    /// Those that are named.
    pub fn files(&self) -> Vec<PathBuf> {
        [&self.tcp_trace, &self.log_file, &self.report].into_iter().flatten().cloned().collect()
    }
}
