//! Whether a source of this host or another is still what it was when its copy began.
//!
//! Must not know: what tells that two states of a file differ (`identity`).

use crate::open::held::{Held, Original};
use crate::problem::Problem;
use datapump_files::disk::Disk;
use datapump_files::identity::{self, OpenSource, SourceChange, changed};

/// A problem of class `changed` when the source was deleted, replaced, appended to, truncated or rewritten since its
/// attributes were taken from its open handle.
pub(crate) fn check_unchanged(disk: &Disk, original: &Original, target_is_kept: bool) -> Result<(), Problem> {
    match find_change(disk, original)? {
        None => Ok(()),
        Some(SourceChange::Grew(words) | SourceChange::Other(words)) => {
            Err(changed(&original.path, &words, target_is_kept))
        }
    }
}

/// What happened to it since, if something did.
pub(crate) fn find_change(disk: &Disk, original: &Original) -> Result<Option<SourceChange>, Problem> {
    let Original { path, held, meta: before, folder, .. } = original;
    match held {
        Held::Here(handle) => {
            let source = OpenSource { path, handle, before, folder: folder.as_ref() };
            identity::find_change(disk, source)
        }
        Held::There(file) => file.find_change(original),
    }
}
