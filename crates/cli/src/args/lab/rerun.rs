//! Flags of `pump lab rerun`.
//!
//! Must not know: how a study is run.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

use crate::args::{HOW, OUTPUT, WHAT};

/// Run again what a file of rows holds
///
/// The rows have their study, all that was changed of it, and the seed; nothing else is read. The new rows have the
/// same cells in the same order, and pump lab compare judges between the two files. The same command goes on where it
/// stopped.
#[derive(Debug, Args)]
pub struct LabRerunArguments {
    /// A file of rows; it is only read
    #[arg(value_name = "ROWS", help_heading = WHAT, display_order = 0)]
    pub rows: PathBuf,

    /// The folder for the files that are copied
    ///
    /// As with pump lab run. Default: the current folder.
    ///
    /// Example: pump lab rerun peers.jsonl --folder /mnt/disk
    #[arg(long, value_name = "DIR", env = "PUMP_FOLDER", help_heading = HOW)]
    pub folder: Option<PathBuf>,

    /// The file that the new rows are appended to
    ///
    /// Default: ROWS-again.jsonl in the current folder.
    ///
    /// Example: pump lab rerun old.jsonl --out new.jsonl
    #[arg(long, value_name = "FILE", env = "PUMP_OUT", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,

    /// Print the figures at the end as JSON
    ///
    /// On standard output, an event `summary` and a report. Default: off.
    ///
    /// Example: pump lab rerun old.jsonl --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}
