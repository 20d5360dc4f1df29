//! Flags of `pump lab trend`.
//!
//! Must not know: how rows are compared.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use datapump_lab::{Metric, Normalise};

use super::super::files::DisturbedArguments;
use crate::args::{HOW, OUTPUT, WHAT};

/// Say what each change of build or kernel did to a study
///
/// The rows of one study, of all its sessions: those of one build and kernel are put together, and each such version is
/// compared with the one before it in time, as pump lab compare does. That takes three sessions (calls of the program)
/// of each, or builds that were run in turns. Run the study after each upgrade, with another --seed, into the same
/// file. Status 1 if no change could be judged.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct LabTrendArguments {
    /// Files of rows of one study
    #[arg(value_name = "ROWS", required = true, help_heading = WHAT, display_order = 0)]
    pub rows: Vec<PathBuf>,

    /// The metric to compare
    ///
    /// elapsed, elapsed-per-byte, cpu, cpu-per-byte, cpu-per-request, machine-cpu or memory. Of all of them less is
    /// better, and called faster. Default: elapsed.
    ///
    /// Example: pump lab trend cpu.jsonl --metric cpu-per-request
    #[arg(long, value_name = "METRIC", env = "PUMP_METRIC", default_value_t, hide_default_value = true)]
    #[arg(help_heading = HOW)]
    pub metric: Metric,

    /// Put times into proportion: rows of several machines
    ///
    /// disk: to the speed of each session's disk, the largest median of its cells, for elapsed. clock: to the clock of
    /// each run's processor. Without it rows of several machines have no verdict. Default: none.
    ///
    /// Example: pump lab trend seqio.jsonl --normalise disk
    #[arg(long, value_name = "TO", env = "PUMP_NORMALISE", help_heading = HOW)]
    pub normalise: Option<Normalise>,

    #[command(flatten)]
    pub disturbed: DisturbedArguments,

    /// Print the verdicts as JSON
    ///
    /// On standard output, an event `trend` and a report. Default: off.
    ///
    /// Example: pump lab trend --json cpu.jsonl
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  pump lab run cpu --out cpu.jsonl --seed 7    one more session: after an upgrade, three of them
  pump lab trend cpu.jsonl                     what each change of build or kernel did";
