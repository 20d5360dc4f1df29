//! Which ranges of a file are copied; of one of a tree that holds more than the size that it tells, all until its end.
//!
//! Must not know: where the copy goes.

use std::path::Path;

use crate::open::held::Held;
use crate::problem::{Operation, Problem};
use crate::run::MoverRun;
use datapump_engine::Handle;
use datapump_files::disk::{FileCalls, FileKind, Meta};
use datapump_files::holes::sizes::goes_on;
use datapump_files::holes::{self, ByteRanges};

/// The ranges with data of a file of a tree, on a file system of this `statfs(2)` type; `None`: until its end. Another host
/// tells the ranges itself.
pub fn data_ranges(
    run: &MoverRun<'_>,
    held: &Held,
    meta: &Meta,
    magic: u64,
    path: &Path,
) -> Result<Option<ByteRanges>, Problem> {
    if goes_on_in(held, meta, magic, path)? {
        return Ok(None);
    }
    sized_ranges(run, held, meta, path).map(Some)
}

/// The ranges with data of a file that ends where its size says.
pub fn sized_ranges(
    run: &MoverRun<'_>,
    held: &Held,
    meta: &Meta,
    path: &Path,
) -> Result<ByteRanges, Problem> {
    let ignore_holes = run.settings.options.tuning.ignore_holes;
    match held {
        Held::There(file) => Ok(file.ranges(meta, ignore_holes)),
        Held::Here(handle) => holes::ranges(handle, meta, ignore_holes, &run.stop)
            .map_err(|errno| Problem::system(Operation::ReadMap, path, errno.0)),
    }
}

/// [`goes_on`] of a file of a tree.
pub fn goes_on_in(held: &Held, meta: &Meta, magic: u64, path: &Path) -> Result<bool, Problem> {
    match held {
        Held::Here(handle) => goes_on(handle, meta, magic)
            .map_err(|errno| Problem::system(Operation::Read, path, errno.0).at(meta.size_bytes)),
        Held::There(_) => Ok(false),
    }
}

/// The ranges to move into an existing file that is written in place: holes of the source where that has bytes, too.
pub fn with_existing(
    run: &MoverRun<'_>,
    ranges: ByteRanges,
    existing: Option<Handle>,
    meta: &Meta,
) -> ByteRanges {
    match ranges_of(run, existing, meta, false) {
        Some(there) => holes::union(ranges, there, meta.size_bytes),
        None => vec![(0, meta.size_bytes)],
    }
}

/// The ranges that the other file holds; `None` when every byte counts. An error of that file is reported when it is
/// opened to be used.
pub fn ranges_of(
    run: &MoverRun<'_>,
    other: Option<Handle>,
    meta: &Meta,
    same_size: bool,
) -> Option<ByteRanges> {
    let other = other?;
    let there = other.meta().ok()?;
    let of_use = there.kind == FileKind::Regular && (!same_size || there.size_bytes == meta.size_bytes);
    if !of_use {
        return None;
    }
    holes::ranges(&other, &there, run.settings.options.tuning.ignore_holes, &run.stop).ok()
}
