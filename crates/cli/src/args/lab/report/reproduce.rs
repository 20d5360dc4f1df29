//! Flags of `pump lab reproduce`.
//!
//! Must not know: which documents there are.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

use crate::args::lab::files::DisturbedArguments;
use crate::args::{OUTPUT, WHAT};

/// Redo a founding study on this machine: its runs, its figures, the published values beside
///
/// Writes a page into the folder, with a picture and a file of rows of each part. It says before how long it takes and what
/// it needs. Repeated, it goes on where it stopped: rows that are there are not measured again.
#[derive(Debug, Args)]
pub struct LabReproduceArguments {
    /// The document
    #[arg(value_name = "NAME", help_heading = WHAT, required_unless_present = "list", display_order = 0)]
    pub name: Option<String>,

    /// Print the documents, how long they take and what they need
    ///
    /// Default: off.
    ///
    /// Example: pump lab reproduce --list
    #[arg(long, env = "PUMP_LIST", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub list: bool,

    /// The small form of every study: to see the page, not to measure
    ///
    /// Default: off.
    ///
    /// Example: pump lab reproduce datapump --quick --out page
    #[arg(long, env = "PUMP_QUICK", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub quick: bool,

    /// Run and show one part or figure only
    ///
    /// Default: all of them.
    ///
    /// Example: pump lab reproduce datapump --only table-1 --out page
    #[arg(long, value_name = "NAME", env = "PUMP_ONLY", help_heading = WHAT)]
    pub only: Option<String>,

    #[command(flatten)]
    pub disturbed: DisturbedArguments,

    /// The folder for the files that are moved
    ///
    /// Default: that of the page. Free space is checked before the first run.
    ///
    /// Example: pump lab reproduce datapump --out page --folder /mnt/disk
    #[arg(long, value_name = "FOLDER", env = "PUMP_FOLDER", help_heading = OUTPUT)]
    pub folder: Option<PathBuf>,

    /// The folder of the page
    ///
    /// Default: none; it must be given.
    ///
    /// Example: pump lab reproduce access --out page
    #[arg(short, long, value_name = "FOLDER", env = "PUMP_OUT", help_heading = OUTPUT)]
    #[arg(required_unless_present = "list")]
    pub out: Option<PathBuf>,

    /// Print a report as JSON
    ///
    /// Default: off.
    ///
    /// Example: pump lab reproduce --list --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}
