//! Flags of `pump lab compare`.
//!
//! Must not know: how rows are compared.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use datapump_lab::Metric;

use super::super::{HOW, OUTPUT, WHAT};

/// Say whether B is faster than A, cell by cell and overall
///
/// A and B are rows of one study, run by two versions of what is measured. The ratio is A's time over B's: above 1 B is
/// faster. Status 1 if nothing could be judged: that takes three runs of a cell in each file, and ten are better.
#[derive(Debug, Args)]
pub struct LabCompareArguments {
    /// Rows from before
    #[arg(value_name = "A", help_heading = WHAT, display_order = 0)]
    pub a: PathBuf,

    /// Rows from after
    #[arg(value_name = "B", help_heading = WHAT, display_order = 0)]
    pub b: PathBuf,

    /// What is compared
    ///
    /// elapsed, elapsed-per-byte, cpu, cpu-per-byte, cpu-per-request, machine-cpu or memory. Of all of them less is
    /// better, and called faster. Default: elapsed.
    ///
    /// Example: pump lab compare before.jsonl after.jsonl --metric cpu-per-byte
    #[arg(long, value_name = "METRIC", env = "PUMP_METRIC", default_value_t, hide_default_value = true)]
    #[arg(help_heading = HOW)]
    pub metric: Metric,

    /// Print the figures as JSON
    ///
    /// On standard output, an event `comparison` and a report. Default: off.
    ///
    /// Example: pump lab compare --json before.jsonl after.jsonl
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}
