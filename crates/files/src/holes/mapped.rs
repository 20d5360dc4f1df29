//! Sources that are changed through a mapping (mmap): their times change only when a page is written to for the first
//! time after it was written back, so that stores into pages that are dirty already go unnoticed.
//!
//! So dirty pages are written back, and thereby write-protected, before a source is read: what is stored later changes
//! the times. tmpfs has no write-back and files below 1 MiB are not worth the calls: there the gap stays.
//!
//! Must not know: where the copy goes, what the times are compared with.

use std::sync::atomic::{AtomicBool, Ordering};

use datapump_engine::Handle;

use crate::disk::{FileCalls, FileKind, Meta, Outcome};

/// What happened to such a source.
pub const STORED_TO: &str = "was written to through a mapping";
/// From this size on three more calls are nothing beside the copy: 0.5 us of 200.
const MIN_BYTES: u64 = 1 << 20;
/// Written back at a time: an interrupt is answered in between.
const PIECE_BYTES: u64 = 64 << 20;
/// A source whose times change each time is noticed in the end.
const ROUNDS_MAX: u32 = 3;

/// The source's attributes as they may be believed: each store from before the first byte is read on will differ from
/// them. The write-back may change them itself (FUSE, NFS): then they are taken again, before the next one.
pub fn believed(handle: &Handle, meta: Meta, stop: &AtomicBool) -> Outcome<Meta> {
    let mut before = meta;
    for _ in 0..ROUNDS_MAX {
        if !is_watched(&before) || !write_back(handle, before.size_bytes, stop) {
            break;
        }
        let now = handle.meta()?;
        if now == (Meta { atime_ns: now.atime_ns, ..before }) {
            break;
        }
        before = now;
    }
    Ok(before)
}

/// Whether pages were stored to since, although the times may not tell: clocks are coarse (4 ms before Linux 6.13).
/// Pages that stay dirty when they are written back tell nothing.
pub fn was_stored_to(handle: &Handle, meta: &Meta) -> bool {
    was_stored_within(handle, meta, 0, meta.size_bytes)
}

/// Whether pages of a range were stored to, for callers that look often: the kernel visits each page that is cached.
pub fn was_stored_within(handle: &Handle, meta: &Meta, at: u64, len: u64) -> bool {
    if !is_watched(meta) || !handle.has_dirty_pages(at, len) {
        return false;
    }
    write_back(handle, meta.size_bytes, &AtomicBool::new(false));
    let is_other = || handle.meta().is_ok_and(|now| now.mtime_ns != meta.mtime_ns);
    !handle.has_dirty_pages(at, len) || is_other()
}

fn is_watched(meta: &Meta) -> bool {
    meta.kind == FileKind::Regular && meta.size_bytes >= MIN_BYTES
}

/// False if it was stopped.
fn write_back(handle: &Handle, size_bytes: u64, stop: &AtomicBool) -> bool {
    let mut at = 0;
    while at < size_bytes && !stop.load(Ordering::Relaxed) {
        handle.write_back(at, PIECE_BYTES);
        at += PIECE_BYTES;
    }
    at >= size_bytes
}
