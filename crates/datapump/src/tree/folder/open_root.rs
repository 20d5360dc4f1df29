//! Opens the target of a tree that stands there.
//!
//! Must not know: what it becomes.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::problem::{Class, Operation, Problem};
use datapump_files::disk::{Folder, PathAt, names};

/// Opens a target that stands there. A link that stands, or is put, in its place leads nobody anywhere.
pub(crate) fn open_target(at: &PathAt) -> Result<Arc<File>, Problem> {
    let name = at.name().unwrap_or(OsStr::new("."));
    let opened = match at.folder() {
        Ok(Folder::Os(folder)) => names::open_folder(folder, name),
        Ok(Folder::Sim(_)) => return Err(simulated(&at.path)),
        Err(errno) => Err(errno),
    };
    opened.map(Arc::new).map_err(|errno| Problem::system(Operation::Open, &at.path, errno.0))
}

pub(crate) fn simulated(path: &Path) -> Problem {
    Problem::new(Class::Usage, Operation::Open, path, "the simulation has no trees")
}
