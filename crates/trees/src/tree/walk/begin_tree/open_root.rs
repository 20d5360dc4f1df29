//! Opens the target of a tree that exists, or the folder in which it is made.
//!
//! Must not know: what it becomes.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::Errno;

use crate::problem::{Class, Operation, Problem};
use datapump_files::disk::{Folder, Meta, Outcome, PathAt, file_meta, names};
use datapump_files::opened_folders::OpenedFolders;

/// A folder that was opened, what it was before that, and whether it was closed to this user.
type OpenedRoot = (File, Meta, bool);

/// The open folder, and what it was before where it is closed to this user.
type FoundRoot = (Arc<File>, Option<Meta>);

/// Opens an existing target, and gives what it was where it was opened up. A link that is, or is put, in its place leads
/// nobody anywhere.
pub(crate) fn open_target(
    at: &PathAt,
    open: impl Fn(&File, Option<&OsStr>) -> Outcome<OpenedRoot>,
) -> Result<FoundRoot, Problem> {
    let opened = match at.folder() {
        Ok(Folder::Os(folder)) => open(folder, at.name()),
        Ok(Folder::Sim(_)) => return Err(simulated(&at.path)),
        Err(errno) => Err(errno),
    };
    let (folder, meta, was_closed) =
        opened.map_err(|errno| Problem::system(Operation::Open, &at.path, errno.0))?;
    Ok((Arc::new(folder), was_closed.then_some(meta)))
}

/// Nothing is changed.
pub(crate) fn open_plain(above: &File, name: Option<&OsStr>) -> Outcome<OpenedRoot> {
    let folder = names::open_folder(above, name.unwrap_or(OsStr::new(".")))?;
    let meta = file_meta(&folder)?;
    Ok((folder, meta, false))
}

/// Opens the folder in which a target is made.
pub(crate) fn open_parent(at: &PathAt) -> Result<Arc<File>, Problem> {
    let path = &*at.path;
    match at.folder_to_sync() {
        Ok(Folder::Os(folder)) => Ok(folder),
        Ok(Folder::Sim(_)) => Err(simulated(path)),
        Err(errno) => {
            let folder = path.parent().unwrap_or(path);
            Err(Problem::system(Operation::Open, folder, errno.0).of_folder_above())
        }
    }
}

/// Opens the existing target of a dry run, and gives what it was where it is closed: else a run could make it. With
/// `makes_path` it makes what is missing above it, too.
pub(crate) fn open_if_there(
    at: &PathAt,
    folders: &OpenedFolders,
    makes_path: bool,
) -> Result<Option<FoundRoot>, Problem> {
    let is_made = makes_path && at.folder().err() == Some(Errno::ENOENT);
    if !is_made && at.name().is_some() && at.metadata_of_name().is_err() {
        open_parent(at)?;
    }
    match open_target(at, |above, name| folders.open(above, name)) {
        Err(problem) if problem.class == Class::Missing && (is_made || at.name().is_some()) => Ok(None),
        opened => opened.map(Some),
    }
}

pub(crate) fn simulated(path: &Path) -> Problem {
    Problem::new(Class::Usage, Operation::Open, path, "the simulation has no trees")
}
