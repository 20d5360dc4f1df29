//! The one request type, and its completion.
//!
//! Must not know: which engine performs it, why it was asked.

use std::sync::Arc;

use crate::{Errno, Handle, Span};

/// Where in the file a transfer starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferPlace {
    /// At this offset in bytes (`pread`, `pwrite`).
    At(u64),
    /// Wherever the stream stands (`read`, `write`): pipes, terminals, character devices.
    Stream,
}

/// How a transfer at an offset is done besides. A stream has none of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferFlags {
    /// Its pages leave the page cache behind it: `RWF_DONTCACHE` (Linux 6.14; `EOPNOTSUPP` where the file system has
    /// no uncached I/O).
    pub uncached: bool,
    /// A write is complete when it is on stable storage: `RWF_DSYNC`, as of a file opened with `O_DSYNC`.
    pub durable: bool,
}

impl TransferFlags {
    /// Whether it is an ordinary transfer.
    pub fn is_plain(self) -> bool {
        self == TransferFlags::default()
    }
}

/// One request. It is complete when its [`Completion`] has been taken, and not before: until then the slot
/// belongs to the engine.
#[derive(Clone, Debug)]
pub enum Op {
    /// Does nothing and completes with `len`. `write` tells the simulated device which of its ends is meant.
    Nop {
        /// Bytes that it pretends to have moved.
        len: u32,
        /// Stands for a write rather than a read.
        write: bool,
    },
    /// Fills the span from the file. Completes with the bytes read; 0 is the end of data.
    Read {
        /// Open for reading.
        file: Arc<Handle>,
        /// Where to start.
        place: TransferPlace,
        /// Where to put it.
        span: Span,
        /// How besides.
        flags: TransferFlags,
    },
    /// Writes the span to the file. Completes with the bytes written, which may be fewer than asked.
    Write {
        /// Open for writing.
        file: Arc<Handle>,
        /// Where to start.
        place: TransferPlace,
        /// What to write.
        span: Span,
        /// How besides.
        flags: TransferFlags,
    },
    /// Copies inside the kernel (`copy_file_range(2)`), through no slot. Completes with the bytes copied;
    /// 0 is the end of data.
    CopyRange {
        /// Open for reading.
        from: Arc<Handle>,
        /// Offset in `from`, in bytes.
        from_at: u64,
        /// Open for writing.
        to: Arc<Handle>,
        /// Offset in `to`, in bytes.
        to_at: u64,
        /// Number of bytes.
        len: u32,
    },
}

impl Op {
    /// The ends that the request occupies: 0 the source, 1 the sink.
    pub(crate) fn sides(&self) -> std::ops::Range<usize> {
        match self {
            Op::Read { .. } | Op::Nop { write: false, .. } => 0..1,
            Op::Write { .. } | Op::Nop { write: true, .. } => 1..2,
            Op::CopyRange { .. } => 0..2,
        }
    }
}

/// The end of one request: its token, and the bytes moved or the system's error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// As it was given to [`crate::Engine::post`].
    pub token: u32,
    /// Bytes moved.
    pub result: Result<u32, Errno>,
}
