//! Removes what exists under a name, for what comes in its place.
//!
//! Must not know: why it is removed, what comes.

use datapump_engine::Errno;

use crate::problem::{Operation, Problem};
use crate::tree::backup::{self, TakenName};
use crate::tree::batch::cursor::BatchName;
use datapump_files::disk::{FileKind, names};

/// Removes a file where a folder comes, behind a backup of it.
pub(crate) fn remove_file(at: BatchName<'_>) -> Result<bool, Problem> {
    let remove = || remove(at, FileKind::Regular);
    backup::replace_entry(at.shared, at.directory(), TakenName::gone(at.target()?, &at.name.name), remove)
}

/// Removes what exists there; false for a folder in which something is.
pub(crate) fn remove(at: BatchName<'_>, kind: FileKind) -> Result<bool, Problem> {
    let target = at.target()?;
    let remove = || names::remove(target, &at.name.name, kind == FileKind::Folder);
    match at.directory().in_opened(remove) {
        Ok(()) | Err(Errno::ENOENT) => Ok(true),
        Err(Errno::EEXIST | Errno::ENOTEMPTY) => Ok(false),
        Err(errno) => Err(Problem::system(Operation::Remove, &at.target_path(), errno.0)),
    }
}
