//! Which ranges of a file are copied; of one of a tree that holds more than the size that it tells, all until its end.
//!
//! Must not know: where the copy goes.

use std::path::Path;

use crate::open::held::Held;
use crate::problem::{Operation, Problem};
use crate::run::MoverRun;
use datapump_files::disk::Meta;
use datapump_files::holes;
use datapump_files::holes::ByteRanges;
use datapump_files::holes::sizes::goes_on;

/// The ranges of a file of a tree, on a file system of this `statfs(2)` type; `None` until its end. Another host tells of
/// such files itself.
pub(crate) fn ranges(
    run: &MoverRun<'_>,
    (held, meta): (&Held, &Meta),
    magic: u64,
    path: &Path,
) -> Result<Option<ByteRanges>, Problem> {
    let handle = match held {
        Held::There(file) => return Ok(Some(file.ranges(meta, run.settings.options.tuning.ignore_holes))),
        Held::Here(handle) => handle,
    };
    if goes_on_in(held, meta, magic, path)? {
        return Ok(None);
    }
    let ranges = holes::ranges(handle, meta, run.settings.options.tuning.ignore_holes, &run.stop);
    ranges.map(Some).map_err(|errno| Problem::system(Operation::ReadMap, path, errno.0))
}

/// [`goes_on`] of a file of a tree.
pub(crate) fn goes_on_in(held: &Held, meta: &Meta, magic: u64, path: &Path) -> Result<bool, Problem> {
    match held {
        Held::Here(handle) => goes_on(handle, meta, magic)
            .map_err(|errno| Problem::system(Operation::Read, path, errno.0).at(meta.size_bytes)),
        Held::There(_) => Ok(false),
    }
}
