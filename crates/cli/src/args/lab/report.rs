//! Flags of `pump lab report`.
//!
//! Must not know: what a page says.

mod reproduce;

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

use super::files::DisturbedArguments;
use crate::args::{HOW, OUTPUT, WHAT};

pub use reproduce::LabReproduceArguments;

/// Write a page of HTML with tables and charts of rows
///
/// One file that loads nothing: medians, intervals, ratios and verdicts of each study, charts where a factor is
/// numeric, the fit of the cost model, machines, commands and failed runs. Files may also be the report of a copy
/// (--report of pump copy and explain), with the time of its lanes in parts, and a time series of its connections
/// (--tcp-trace, pump lab tcp-watch).
#[derive(Debug, Args)]
pub struct LabReportArguments {
    /// Files of rows, reports of copies, time series of TCP connections
    #[arg(value_name = "ROWS", required = true, help_heading = WHAT, display_order = 0)]
    pub rows: Vec<PathBuf>,

    #[command(flatten)]
    pub disturbed: DisturbedArguments,

    /// Draw runs of several builds, machines and kernels in one figure
    ///
    /// A figure of them shows no single one: without this flag the page says so in its place. Default: off.
    ///
    /// Example: pump lab report before.jsonl after.jsonl --mixed --out both.html
    #[arg(long, env = "PUMP_MIXED", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub mixed: bool,

    /// The page, which is written over
    ///
    /// Default: none; it must be given.
    ///
    /// Example: pump lab report cpu.jsonl --out cpu.html
    #[arg(short, long, value_name = "FILE.html", env = "PUMP_OUT", help_heading = OUTPUT, required = true)]
    pub out: PathBuf,
}
