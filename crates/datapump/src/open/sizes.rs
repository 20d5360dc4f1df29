//! Which ranges of a file are copied; of one of a tree that holds more than the size that it tells, all until its end.
//!
//! Must not know: where the copy goes.

use std::path::Path;

use crate::open::held::Held;
use crate::problem::{Operation, Problem};
use crate::run::Shared;
use crate::target::Target;
use crate::tree::folder::directory::Traits;
use datapump_files::disk::{Access, FileCalls, FileKind, Meta, Outcome, PathAt};
use datapump_files::holes;
use datapump_files::holes::ByteRanges;
use datapump_files::holes::sizes::goes_on;

/// The ranges of a file of a tree; `None` until its end. Another host tells of such files itself.
pub(crate) fn ranges(
    shared: &Shared<'_>,
    (held, meta): (&Held, &Meta),
    traits: Traits,
    path: &Path,
) -> Result<Option<ByteRanges>, Problem> {
    let handle = match held {
        _ if traits.made_up => return Ok(None),
        Held::There(file) => return Ok(Some(file.ranges(meta, shared.settings.options.tuning.ignore_holes))),
        Held::Here(handle) => handle,
    };
    if goes_on_in(held, meta, traits, path)? {
        return Ok(None);
    }
    let ranges = holes::ranges(handle, meta, shared.settings.options.tuning.ignore_holes, &shared.stop);
    ranges.map(Some).map_err(|errno| Problem::system(Operation::ReadMap, path, errno.0))
}

/// [`goes_on`] of a file of a tree.
pub(crate) fn goes_on_in(held: &Held, meta: &Meta, traits: Traits, path: &Path) -> Result<bool, Problem> {
    match held {
        Held::Here(handle) => goes_on(handle, meta, traits.source_magic)
            .map_err(|errno| Problem::system(Operation::Read, path, errno.0).at(meta.size_bytes)),
        Held::There(_) => Ok(false),
    }
}

/// The ranges to move. A hole may be left out where nothing stands yet, or where the other file has one too.
pub(crate) fn ranges_to(
    shared: &Shared<'_>,
    here: impl FnOnce() -> Outcome<ByteRanges>,
    meta: &Meta,
    target: &Target,
) -> Outcome<ByteRanges> {
    let there = match target {
        Target::File(_) if !shared.settings.options.durability.inplace => return here(),
        Target::File(at) => ranges_there(shared, at, meta, false),
        Target::Compare(at) => ranges_there(shared, at, meta, true),
        Target::Special(_)
        | Target::Device(_)
        | Target::Stripe(_)
        | Target::Tree(_)
        | Target::Entry(_)
        | Target::Stream
        | Target::Null => None,
    };
    match there {
        Some(there) => Ok(holes::union(here()?, there, meta.size_bytes)),
        None => Ok(vec![(0, meta.size_bytes)]),
    }
}

/// What the other file holds; `None` when every byte counts. An error of that file is reported when it is opened to be
/// used.
fn ranges_there(shared: &Shared<'_>, at: &PathAt, meta: &Meta, same_size: bool) -> Option<ByteRanges> {
    let other = match at.open(Access::Read) {
        Ok(other) => other,
        Err(errno) => return (errno.0 == 2).then(Vec::new), // ENOENT: nothing stands there
    };
    let there = other.meta().ok()?;
    let of_use = there.kind == FileKind::Regular && (!same_size || there.size_bytes == meta.size_bytes);
    if !of_use {
        return None;
    }
    holes::ranges(&other, &there, shared.settings.options.tuning.ignore_holes, &shared.stop).ok()
}
