//! A stream: pipe, terminal or character device. It is read and written where it stands.
//!
//! Must not know: what stands at the other end.

use std::sync::Arc;

use datapump_core::Block;
use datapump_engine::{Handle, Op, Slot, Span, TransferFlags, TransferPlace};

use super::rest;

fn span(slot: u32, block: Block, done: u32) -> Span {
    Span { slot: Slot(slot), start: done, len: rest(block, done).1 }
}

pub(super) fn read(handle: &Arc<Handle>, slot: u32, block: Block, done: u32) -> Op {
    let span = span(slot, block, done);
    Op::Read { file: Arc::clone(handle), place: TransferPlace::Stream, span, flags: TransferFlags::default() }
}

/// The operation that writes the rest of a block to a stream.
pub(super) fn write(handle: &Arc<Handle>, slot: u32, block: Block, done: u32) -> Op {
    let span = span(slot, block, done);
    Op::Write {
        file: Arc::clone(handle),
        place: TransferPlace::Stream,
        span,
        flags: TransferFlags::default(),
    }
}
