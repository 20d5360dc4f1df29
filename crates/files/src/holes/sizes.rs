//! Files that hold more than their reported size, as on some file systems in user space: 0, or an old size. They are
//! read until they end, never cut at that size without a word.
//!
//! Must not know: where the copy goes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use datapump_engine::{Errno, Handle};

use crate::disk::{FileCalls, FileKind, Meta, kind};

/// Whether a file of a file system of this type goes on behind the size that it tells. One read where sizes may lie.
pub fn goes_on(handle: &Handle, meta: &Meta, magic: u64) -> Result<bool, Errno> {
    if meta.kind != FileKind::Regular || !kind::sizes_may_lie(magic) {
        return Ok(false);
    }
    handle.peek(meta.size_bytes, &mut [0]).map(|bytes| bytes > 0)
}

/// Whether a file has a byte at this place: where its size may not be that of its content, a read says.
pub fn has_byte(handle: &Handle, at: u64) -> Result<bool, Errno> {
    let meta = handle.meta()?;
    let magic = handle.room().magic;
    let is_size_true =
        meta.kind == FileKind::Regular && !kind::is_made_up(magic) && !kind::sizes_may_lie(magic);
    if is_size_true { Ok(at < meta.size_bytes) } else { handle.peek(at, &mut [0]).map(|bytes| bytes > 0) }
}

/// `statfs(2)` types by device, each asked for once.
#[derive(Debug, Default)]
pub struct Magics(Mutex<HashMap<u64, u64>>);

impl Magics {
    /// That of an open file's device.
    pub fn of(&self, handle: &Handle, meta: &Meta) -> u64 {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(meta.device).or_insert_with(|| handle.room().magic)
    }
}
