//! Whether two names of the same numbers have the same content, where no handle says that they are one file.
//!
//! Must not know: what becomes of the names.

use std::fs::File;

use datapump_engine::Handle;

use crate::open::held::Held;
use crate::origin::Origin;
use crate::tree::Shared;
use crate::tree::state::links::{Copied, FileState, TreeEntry};
use datapump_files::disk::{FileCalls, file_meta, names};
use datapump_files::identity::{id, prefix};

/// Whether a name of this host has the content of this copy. What cannot be read is no copy of it.
pub(super) fn equals_copy(
    shared: &Shared<'_>,
    entry: &TreeEntry,
    held: Option<&Held>,
    first: &Copied,
) -> bool {
    let Some(copy) = open(first) else { return false };
    match held {
        Some(Held::Here(handle)) => are_equal(shared, handle, copy),
        _ => {
            let Ok(Origin::Here(folder)) = entry.directory.source.origin() else { return false };
            let opened = folder.open_source(&entry.name);
            opened.is_ok_and(|source| are_equal(shared, &Handle::Os(source), copy))
        }
    }
}

/// The file of the same numbers whose copy has the content of this one, which could not be compared before.
pub(super) fn find_equal_copy(
    shared: &Shared<'_>,
    file: FileState,
    copied: &Copied,
) -> Option<(FileState, Copied)> {
    if copied.entry.directory.source.is_here() {
        return None;
    }
    let others = shared.trees.links.copies_of_other_classes(file);
    if others.is_empty() {
        return None;
    }
    let handle = Handle::Os(open(copied)?);
    others.into_iter().find(|(_, other)| {
        other.copy != copied.copy && open(other).is_some_and(|other| are_equal(shared, &handle, other))
    })
}

/// Whether two names have the same content at the target; what cannot be read has not.
pub(crate) fn at_target(shared: &Shared<'_>, one: &TreeEntry, other: &TreeEntry) -> bool {
    let open = |entry: &TreeEntry| open(&Copied { entry: entry.clone(), copy: None });
    match (open(one), open(other)) {
        (Some(one), Some(other)) => are_equal(shared, &Handle::Os(one), other),
        _ => false,
    }
}

/// The copy under its name, if it is still that.
fn open(copied: &Copied) -> Option<File> {
    let folder = copied.entry.directory.target.as_ref()?.file().ok()?;
    let file = names::open_source(&folder, &copied.entry.name, true).ok()?;
    let meta = file_meta(&file).ok()?;
    copied.copy.is_none_or(|copy| copy == id(&meta)).then_some(file)
}

fn are_equal(shared: &Shared<'_>, one: &Handle, other: File) -> bool {
    let other = Handle::Os(other);
    let (Ok(meta), Ok(other_meta)) = (one.meta(), other.meta()) else { return false };
    meta.size_bytes == other_meta.size_bytes
        && prefix::is_shared(one, &other, meta.size_bytes, &shared.stop) == Ok(true)
}
