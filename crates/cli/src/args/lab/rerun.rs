//! Flags of `pump lab rerun`.
//!
//! Must not know: how a study is run.

use std::path::PathBuf;

use clap::Args;

use super::files::FilesArguments;
use crate::args::WHAT;

/// Run again what a file of rows holds
///
/// The rows have their study, all that was changed of it, and the seed; nothing else is read. The new rows have the
/// same cells in the same order, and pump lab compare judges between three such sessions of each. The same command
/// goes on where it stopped.
#[derive(Debug, Args)]
pub struct LabRerunArguments {
    /// A file of rows; it is only read
    #[arg(value_name = "ROWS", help_heading = WHAT, display_order = 0)]
    pub rows: PathBuf,

    #[command(flatten)]
    pub files: FilesArguments,
}
