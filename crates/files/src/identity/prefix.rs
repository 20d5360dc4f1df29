//! Compares the bytes of two files: one that became longer and its copy, or two of one number.
//!
//! Must not know: how it was copied, what follows.

use std::sync::atomic::{AtomicBool, Ordering};

use datapump_engine::Handle;

use crate::disk::{FileCalls, Meta, Outcome, open_cached};
use crate::holes::{self, ByteRanges};

/// Read of each file at a time.
const PIECE_BYTES: u64 = 256 << 10;

/// Whether the first bytes of both files are the same. All of the copy was read before this looks: what is the same is
/// what the source held in between, at one time. A stop ends the looking, and nothing is known to be the same.
pub fn is_shared(source: &Handle, copy: &Handle, bytes: u64, stop: &AtomicBool) -> Outcome<bool> {
    let cached = open_cached(source);
    let source = cached.as_ref().unwrap_or(source);
    let ranges = holes::union(ranges(source, bytes, stop)?, ranges(copy, bytes, stop)?, bytes);
    for (start, end) in ranges {
        if !is_same(source, copy, start, end, stop)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where one of them holds data: what is a hole in both is the same.
fn ranges(handle: &Handle, bytes: u64, stop: &AtomicBool) -> Outcome<ByteRanges> {
    holes::ranges(handle, &Meta { size_bytes: bytes, ..handle.meta()? }, false, stop)
}

/// Whether both hold the same bytes in a range; also false after a stop.
fn is_same(source: &Handle, copy: &Handle, start: u64, end: u64, stop: &AtomicBool) -> Outcome<bool> {
    let most = PIECE_BYTES.min(end - start) as usize;
    let (mut one, mut other, mut at) = (vec![0; most], vec![0; most], start);
    while at < end {
        let most = PIECE_BYTES.min(end - at) as usize;
        let read = source.peek(at, &mut one[..most])?;
        let count = copy.peek(at, &mut other[..read])?;
        if count == 0 || one[..count] != other[..count] || stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        at += count as u64;
    }
    Ok(true)
}
