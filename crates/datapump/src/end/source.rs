//! Where blocks come from.
//!
//! Must not know: where they go.

use std::sync::Arc;

use datapump_core::{Block, Settled};
use datapump_engine::{Errno, Handle, Op, Place, Slot, Span};

use super::{FileEnd, rest, settled};
use crate::net::far::FarFile;

/// A source.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    File(FileEnd),
    Stream(Arc<Handle>),
    /// Asked for at another host, over the lane's own connection.
    Far(Arc<FarFile>),
    /// Slots were filled when the lane began; requests do nothing.
    Null,
}

impl Source {
    #[inline]
    pub(crate) fn op(&self, slot: u32, block: Block, done: u32) -> Op {
        match self {
            Source::Null | Source::Far(_) => Op::Nop { len: block.len - done, write: false },
            Source::File(file) => file.read(slot, block, done),
            Source::Stream(handle) => {
                let span = Span { slot: Slot(slot), start: done, len: rest(block, done).1 };
                Op::Read { file: Arc::clone(handle), place: Place::Stream, span }
            }
        }
    }

    #[inline]
    pub(crate) fn settle(&self, block: Block, done: u32, result: Result<u32, Errno>) -> Settled {
        match self {
            Source::Null | Source::Stream(_) | Source::Far(_) => settled(result, block.len - done),
            Source::File(file) => file.settle(block, done, result),
        }
    }
}
