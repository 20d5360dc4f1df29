//! Flags of `pump lab fit`.
//!
//! Must not know: how a model is fitted.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, ValueEnum};
use datapump_lab::judge::cost::CpuBy;

use super::files::DisturbedArguments;
use crate::args::{HOW, OUTPUT, WHAT};

/// Fit a model to rows or to a table, with intervals
///
/// Rows are fitted in groups that agree in every factor but the one that the model is about: `request_size` (cost),
/// `readers` (level-off), `touch`, `size` (overhead), or a depth (knee); `crossings` compares ways with each other. Rows of
/// failed runs are left out. A table, for cost and level-off, is a CSV file with a header.
#[derive(Debug, Args)]
pub struct LabFitArguments {
    /// A file of rows, or a table
    ///
    /// A table for `cost` has the columns request_size_bytes (or request_size, with units) and observed_ns_per_byte (or
    /// ns_per_byte, cpu_ns_per_byte, cost_us_per_request, cpu_us_per_request), and may have `component`; one for
    /// `level-off` has readers and latency_s, and may have stage and aggregate_bandwidth_mb_per_s.
    #[arg(value_name = "ROWS.jsonl-or-TABLE.csv", help_heading = WHAT, display_order = 0)]
    pub file: PathBuf,

    /// The model to fit
    ///
    /// Default: cost.
    ///
    /// Example: pump lab fit latencies.csv --model level-off
    #[arg(long, value_name = "MODEL", env = "PUMP_MODEL", help_heading = HOW)]
    #[arg(value_enum, default_value_t = LabModel::Cost, hide_default_value = true)]
    pub model: LabModel,

    /// The measure of CPU time
    ///
    /// For --model cost, from rows: soaker, process or machine. Default: one for the whole file: the soaker where each
    /// cell has it, else the process, else the machine. The output says which.
    ///
    /// Example: pump lab fit --cpu machine disk-source.jsonl
    #[arg(long, value_name = "MEASURE", env = "PUMP_CPU", help_heading = HOW)]
    pub cpu: Option<CpuBy>,

    #[command(flatten)]
    pub disturbed: DisturbedArguments,

    /// Print the figures as JSON
    ///
    /// On standard output, an event `fit` for each group and a report. Default: off.
    ///
    /// Example: pump lab fit --json cpu.jsonl
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}

/// The models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LabModel {
    /// CPU time = bytes x Cb + requests x Cr
    Cost,
    /// Latency of n readers of one server = max(R1, n D)
    LevelOff,
    /// Bandwidth and CPU time over what is used of each page (rows of the study access)
    Touch,
    /// Rates beside what memory allows for the times their bytes cross it (rows of the study crossings)
    Crossings,
    /// Time of an application = o + bytes / rate, beside the probe (rows of the study applications)
    Overhead,
    /// The smallest request size and depth that reach 98 % of the best rate (rows of the study depth)
    Knee,
}
