//! Flags of `pump lab trend`.
//!
//! Must not know: how rows are compared.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

use super::yardstick::YardstickArguments;
use crate::args::{OUTPUT, WHAT};

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

    #[command(flatten)]
    pub by: YardstickArguments,

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
