//! Flags of `pump lab memory`.
//!
//! Must not know: how memory is copied.

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, value_parser};
use datapump::units::parse_bytes;

use crate::args::{HOW, OUTPUT, WHAT};

/// Measure memory bandwidth: copy areas larger than any cache on all processors
///
/// For the study `crossings`: no transfer is faster than memory for the times its bytes cross it. A byte that is copied
/// crosses twice.
#[derive(Debug, Args)]
pub struct LabMemoryArguments {
    /// Bytes copied in one pass, by all threads together
    ///
    /// It takes twice as much memory. At least four times the processor's largest cache. Default: that, or 256MiB if
    /// more.
    ///
    /// Example: pump lab memory --size 1GiB
    #[arg(long, value_name = "SIZE", env = "PUMP_SIZE", help_heading = WHAT, value_parser = parse_bytes)]
    pub size: Option<u64>,

    /// Threads that copy a part each
    ///
    /// A count from 1 to 1024. Default: one for each processor.
    ///
    /// Example: pump lab memory --threads 1
    #[arg(long, value_name = "COUNT", env = "PUMP_THREADS", help_heading = HOW)]
    #[arg(value_parser = value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,

    /// How often it is copied
    ///
    /// A count from 1. Default: 8.
    ///
    /// Example: pump lab memory --passes 32
    #[arg(long, value_name = "COUNT", env = "PUMP_PASSES", help_heading = HOW)]
    #[arg(value_parser = value_parser!(u32).range(1..), default_value_t = 8, hide_default_value = true)]
    pub passes: u32,

    /// Print the figures as JSON
    ///
    /// On standard output, an event `memory` and a report. Default: off.
    ///
    /// Example: pump lab memory --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}
