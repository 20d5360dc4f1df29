//! Which ranges of a file of a tree are copied; of one that holds more than the size that it tells, all until its end.
//!
//! Must not know: where the copy goes.

use std::path::Path;

use crate::open::held::Held;
use crate::problem::{Operation, Problem};
use crate::run::Shared;
use crate::tree::folder::directory::Traits;
use datapump_files::disk::Meta;
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
        Held::There(file) => return Ok(Some(file.ranges(meta, shared.settings.options.ignore_holes))),
        Held::Here(handle) => handle,
    };
    if goes_on_in(held, meta, traits, path)? {
        return Ok(None);
    }
    let ranges = holes::ranges(handle, meta, shared.settings.options.ignore_holes, &shared.stop);
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
