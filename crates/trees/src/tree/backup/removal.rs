//! Removes what exists under a name, for what comes in its place.
//!
//! Must not know: why it is removed, what comes.

use datapump_engine::Errno;

use crate::listed::Name;
use crate::problem::{Operation, Problem};
use crate::tree::Shared;
use crate::tree::backup::{self, TakenName};
use crate::tree::batch::cursor::BatchCursor;
use datapump_files::disk::{FileKind, names};

/// Removes a file where a folder comes, behind a backup of it.
pub(crate) fn remove_file(shared: &Shared<'_>, cursor: &BatchCursor, name: &Name) -> Result<bool, Problem> {
    let remove = || remove(cursor, name, FileKind::Regular);
    backup::of_entry(shared, &cursor.directory, TakenName::gone(cursor.target()?, &name.name), remove)
}

/// Removes what stands there; false for a folder in which something is.
pub(crate) fn remove(cursor: &BatchCursor, name: &Name, kind: FileKind) -> Result<bool, Problem> {
    let target = cursor.target()?;
    let remove = || names::remove(target, &name.name, kind == FileKind::Folder);
    let removed = match remove() {
        Err(Errno::EACCES) if cursor.directory.open_up() => remove(),
        removed => removed,
    };
    match removed {
        Ok(()) | Err(Errno::ENOENT) => Ok(true),
        Err(Errno::EEXIST | Errno::ENOTEMPTY) => Ok(false),
        Err(errno) => Err(Problem::system(Operation::Remove, &cursor.target_path(&name.name), errno.0)),
    }
}
