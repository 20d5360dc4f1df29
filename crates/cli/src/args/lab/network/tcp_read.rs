//! Flags of `pump lab tcp-read`.
//!
//! Must not know: what is judged.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use datapump::units::parse_duration;

use crate::args::{HOW, OUTPUT, WHAT};

/// Say what a time series of TCP connections came to: windows, losses, recoveries, shares
///
/// For series of `pump copy --tcp-trace`, `pump lab tcp-watch --out` and the probe `tcp` of a study. A connection that
/// sent less than a hundredth of what the largest did is left out.
#[derive(Debug, Args)]
pub struct TcpReadArguments {
    /// The series
    #[arg(value_name = "FILE", help_heading = WHAT, display_order = 0)]
    pub file: PathBuf,

    /// Leave out so much of its beginning
    ///
    /// Default: 0s.
    ///
    /// Example: pump lab tcp-read tcp.jsonl --after 5s
    #[arg(long, value_name = "TIME", env = "PUMP_AFTER", help_heading = HOW, value_parser = parse_duration)]
    #[arg(default_value = "0s", hide_default_value = true)]
    pub after: Duration,

    /// Say who got how much in so many equal parts of it
    ///
    /// Default: 1.
    ///
    /// Example: pump lab tcp-read tcp.jsonl --periods 7
    #[arg(long, value_name = "N", env = "PUMP_PERIODS", help_heading = HOW)]
    #[arg(default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub periods: u32,

    /// Print it as JSON
    ///
    /// On standard output, events `tcp_flow` and `tcp_period` and a report. Default: off.
    ///
    /// Example: pump lab tcp-read tcp.jsonl --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}
