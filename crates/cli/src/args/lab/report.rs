//! Flags of `pump lab report`.
//!
//! Must not know: what a page says.

mod reproduce;

use std::path::PathBuf;

use clap::Args;

use super::files::DisturbedArguments;
use crate::args::{OUTPUT, WHAT};

pub use reproduce::LabReproduceArguments;

/// Write a page of HTML with tables and charts of rows
///
/// One file that loads nothing: medians, intervals, ratios and verdicts of each study, charts where a factor is
/// numeric, the fit of the cost model, machines, commands and failed runs. A time series of pump lab tcp-watch or of
/// --tcp-trace may stand beside the rows.
#[derive(Debug, Args)]
pub struct LabReportArguments {
    /// Files of rows, and time series of TCP connections
    #[arg(value_name = "ROWS", required = true, help_heading = WHAT, display_order = 0)]
    pub rows: Vec<PathBuf>,

    #[command(flatten)]
    pub disturbed: DisturbedArguments,

    /// The page, which is written over
    ///
    /// Default: none; it must be given.
    ///
    /// Example: pump lab report cpu.jsonl --out cpu.html
    #[arg(short, long, value_name = "FILE.html", env = "PUMP_OUT", help_heading = OUTPUT, required = true)]
    pub out: PathBuf,
}
