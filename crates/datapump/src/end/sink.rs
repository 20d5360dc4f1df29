//! Where blocks go.
//!
//! Must not know: where they come from.

use std::sync::Arc;

use datapump_core::{Block, Settled};
use datapump_engine::{Engine, Errno, Handle, Op, Place, Slot, Span, Stage, meter::within};

use super::{FileEnd, rest, settled};

/// A sink.
#[derive(Clone, Debug)]
pub(crate) enum Sink {
    File(FileEnd),
    Stream(Arc<Handle>),
    Null,
    /// Sent to another host, over the lane's own connection.
    Far,
    /// Reads the same range of another file into a second slot and compares: moves nothing.
    Compare(FileEnd),
}

impl Sink {
    /// The request for a block. `twin` is the second slot of a sink that compares.
    #[inline]
    pub(crate) fn op(&self, slot: u32, twin: u32, block: Block, done: u32) -> Op {
        match self {
            Sink::Null | Sink::Far => Op::Nop { len: block.len - done, write: true },
            Sink::File(file) => file.write(slot, block, done),
            Sink::Compare(file) => file.read(twin, block, done),
            Sink::Stream(handle) => {
                let span = Span { slot: Slot(slot), start: done, len: rest(block, done).1 };
                Op::Write { file: Arc::clone(handle), place: Place::Stream, span }
            }
        }
    }

    /// Bytes of zeros that the block needs behind it in its slot.
    #[inline]
    pub(crate) fn padding(&self, block: Block) -> u32 {
        match self {
            Sink::File(file) => file.padding(block),
            Sink::Stream(_) | Sink::Null | Sink::Far | Sink::Compare(_) => 0,
        }
    }

    #[inline]
    pub(crate) fn settle(
        &self,
        engine: &Engine,
        slots: (u32, u32),
        block: Block,
        done: u32,
        result: Result<u32, Errno>,
    ) -> Settled {
        match self {
            Sink::Null | Sink::Far | Sink::Stream(_) => settled(result, block.len - done),
            Sink::File(file) => file.settle(block, done, result),
            Sink::Compare(file) => match file.settle(block, done, result) {
                Settled::Moved(bytes) => compared(engine, slots, done, bytes),
                Settled::EndOfData => Settled::Differs(0),
                settled => settled,
            },
        }
    }
}

fn compared(engine: &Engine, (slot, twin): (u32, u32), done: u32, bytes: u32) -> Settled {
    let _stage = within(Stage::Hash);
    let range = done as usize..(done + bytes) as usize;
    let (one, other) = (&engine.bytes(Slot(slot))[range.clone()], &engine.bytes(Slot(twin))[range]);
    if one == other {
        return Settled::Moved(bytes);
    }
    let behind = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    Settled::Differs(behind as u32)
}
