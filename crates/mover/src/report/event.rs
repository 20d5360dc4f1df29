//! Events of a running job.
//!
//! Must not know: who hears it.

use std::path::PathBuf;

use crate::problem::Problem;
use crate::report::change::Change;

/// What a job tells while it runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A file is complete.
    File {
        /// The target, as the user named it; the source where there is no target.
        path: PathBuf,
        /// Its length in bytes.
        bytes: u64,
        /// Root of its BLAKE3 tree in hex, when it was computed.
        blake3: Option<String>,
    },
    /// A change was made; in a dry run: would be made. Those that are no copied files are told with files
    /// (`Job::tells_files`), and all of them if that was asked for (`ReportingOptions::changes`).
    Change(Box<Change>),
    /// Something went wrong with a file; the others go on.
    Problem(Problem),
    /// Something that could not be kept, although the copy is good.
    Warning(String),
    /// Something that goes otherwise than one may expect: for all who do not want quiet.
    Notice(String),
    /// What was decided and why: for those who ask.
    Note(String),
}
