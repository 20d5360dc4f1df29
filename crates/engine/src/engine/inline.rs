//! Performs one request at once, in the calling thread. The threads engine uses the same code in its workers.
//!
//! Must not know: tokens, queues, which other requests there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Arena, Errno, Op, TransferPlace, os};

/// The engine that performs each request where it is posted and keeps nothing in flight.
#[derive(Debug)]
pub struct Inline {
    stop: Arc<AtomicBool>,
}

impl Inline {
    /// Once `stop` is set, a stream that would have to be waited for answers `ECANCELED` instead, within 100 ms.
    pub fn new(stop: Arc<AtomicBool>) -> Inline {
        Inline { stop }
    }

    /// Performs the request and returns its result: bytes moved, or the system's error number.
    ///
    /// # Panics
    /// When an engine owns the slot, or the span leaves the slot.
    pub fn perform(&mut self, arena: &mut Arena, op: &Op) -> Result<u32, Errno> {
        let bytes = match op {
            Op::Read { span, .. } | Op::Write { span, .. } => {
                let start = span.start as usize;
                &mut arena.bytes_mut(span.slot)[start..start + span.len as usize]
            }
            Op::Nop { .. } | Op::CopyRange { .. } => &mut [],
        };
        perform(op, bytes, &|| self.stop.load(Ordering::Relaxed))
    }
}

/// Performs a request on its span's bytes (none for requests without a slot). `stopped` ends the waiting for a
/// stream.
pub(crate) fn perform(op: &Op, bytes: &mut [u8], stopped: &dyn Fn() -> bool) -> Result<u32, Errno> {
    let count = match op {
        Op::Nop { len, .. } => return Ok(*len),
        Op::Read { file, place: TransferPlace::At(at), flags, .. } => {
            os::read_at(file.os(), *at, bytes, *flags)?
        }
        Op::Read { file, place: TransferPlace::Stream, .. } => os::read_stream(file.os(), bytes, stopped)?,
        Op::Write { file, place: TransferPlace::At(at), flags, .. } => {
            os::write_at(file.os(), *at, bytes, *flags)?
        }
        Op::Write { file, place: TransferPlace::Stream, .. } => os::write_stream(file.os(), bytes, stopped)?,
        Op::CopyRange { from, from_at, to, to_at, len } => {
            os::copy_file_range(from.os(), *from_at, to.os(), *to_at, *len as usize)?
        }
    };
    Ok(count as u32) // no more than the span's or the range's `len`, a u32
}
