//! Flags of `pump lab tcp-watch`.
//!
//! Must not know: how connections are sampled.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use datapump::units::parse_duration;
use datapump_lab::tcp_trace::TcpTarget;

use crate::args::{HOW, OUTPUT, WHAT};

/// Sample TCP connections of a process or port two hundred times a second
///
/// Each sample is a line of JSON: congestion window, round trip, what was sent again, whose window was full (TCP.md of
/// the lab describes the fields). Nothing is touched. Ends with the process, after the time, or when it is stopped.
#[derive(Debug, Args)]
pub struct TcpWatchArguments {
    /// The number of a process or port; pid:NUMBER or port:NUMBER where a number is both
    #[arg(value_name = "PID-or-PORT", help_heading = WHAT, display_order = 0)]
    pub target: TcpTarget,

    /// For how long
    ///
    /// Default: 10s.
    ///
    /// Example: pump lab tcp-watch 4000 --for 1m
    #[arg(long = "for", value_name = "TIME", env = "PUMP_FOR", help_heading = HOW, value_parser = parse_duration)]
    pub time: Option<Duration>,

    /// The file that samples are written to
    ///
    /// It is made anew. Default: standard output.
    ///
    /// Example: pump lab tcp-watch 4000 --out tcp.jsonl
    #[arg(long, value_name = "FILE", env = "PUMP_OUT", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,

    /// Print what was seen as JSON
    ///
    /// On standard output, an event `tcp_watched` and a report. Default: off.
    ///
    /// Example: pump lab tcp-watch 4000 --out tcp.jsonl --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}
