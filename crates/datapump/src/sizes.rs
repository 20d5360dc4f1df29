//! Files that hold more than the size that they tell, as some file systems in user space have: 0, or what they knew
//! last. They are read until they end, never cut at that size without a word.
//!
//! Must not know: where the copy goes.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use datapump_engine::{Errno, Handle};

use crate::problem::Problem;
use crate::run::Shared;
use crate::task::Held;
use crate::tree::branch::Traits;
use datapump_files::disk::{FileCalls, FileKind, Meta, kind};
use datapump_files::holes;
use datapump_files::holes::Ranges;

/// Whether a file of a file system of this type goes on behind the size that it tells. One read where sizes may lie.
pub(crate) fn goes_on(handle: &Handle, meta: &Meta, magic: u64) -> Result<bool, Errno> {
    if meta.kind != FileKind::Regular || !kind::sizes_may_lie(magic) {
        return Ok(false);
    }
    handle.peek(meta.size_bytes, &mut [0]).map(|bytes| bytes > 0)
}

/// `statfs(2)` types by device, each asked for once.
#[derive(Debug, Default)]
pub(crate) struct Magics(Mutex<HashMap<u64, u64>>);

impl Magics {
    pub(crate) fn of(&self, handle: &Handle, meta: &Meta) -> u64 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(meta.device).or_insert_with(|| handle.room().magic)
    }
}

/// The ranges of a file of a tree; `None` until its end. Another host tells of such files itself.
pub(crate) fn ranges(
    shared: &Shared<'_>,
    (held, meta): (&Held, &Meta),
    traits: Traits,
    path: &Path,
) -> Result<Option<Ranges>, Problem> {
    let handle = match held {
        _ if traits.made_up => return Ok(None),
        Held::There(file) => return Ok(Some(file.ranges(meta, shared.options.ignore_holes))),
        Held::Here(handle) => handle,
    };
    if goes_on_in(held, meta, traits, path)? {
        return Ok(None);
    }
    let ranges = holes::ranges(handle, meta, shared.options.ignore_holes, &shared.stop);
    ranges.map(Some).map_err(|errno| Problem::system("read the map of", path, errno.0))
}

/// [`goes_on`] of a file of a tree.
pub(crate) fn goes_on_in(held: &Held, meta: &Meta, traits: Traits, path: &Path) -> Result<bool, Problem> {
    match held {
        Held::Here(handle) => goes_on(handle, meta, traits.source_magic)
            .map_err(|errno| Problem::system("read", path, errno.0).at(meta.size_bytes)),
        Held::There(_) => Ok(false),
    }
}
