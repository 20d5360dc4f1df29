//! Sinks: the ends that blocks go to.
//!
//! Must not know: where they come from.

use std::sync::Arc;

use datapump_core::{Block, Request, Settled};
use datapump_engine::{CpuStage, Engine, Errno, Handle, Op, Slot, meter::within};

use super::performer::{Performer, Posted};
use super::zeros::BlockPart;
use super::{FileEnd, StripeEnd, settle_completion, stream};
use crate::end::hash::BlockHash;

/// A sink.
#[derive(Clone, Debug)]
pub enum Sink {
    File(FileEnd),
    Stripe(Arc<StripeEnd>),
    Stream(Arc<Handle>),
    Null,
    /// Sent to another host, over the lane's own connection.
    RemoteHost,
    /// Reads the same range of another file into a second slot and compares: moves nothing.
    Compare(FileEnd),
}

impl Sink {
    /// Whether pages of zeros become holes.
    pub fn skips_zeros(&self) -> bool {
        matches!(self, Sink::File(file) if file.skips_zeros)
    }

    /// The same file, of which every byte is written.
    pub fn writing_zeros(&self) -> Sink {
        match self {
            Sink::File(file) => Sink::File(FileEnd { skips_zeros: false, ..file.clone() }),
            other => other.clone(),
        }
    }

    /// Posts the request for a block. Null sinks complete where they stand, unless the engine itself is studied.
    #[inline(always)]
    pub fn post(&self, by: &mut Performer<'_>, request: Request, is_inline: impl FnOnce() -> bool) -> Posted {
        if matches!(self, Sink::Null) && !by.queued.sink {
            return Posted::Done(Settled::Moved(request.block.len - request.done));
        }
        match self {
            Sink::RemoteHost => by.send(request),
            Sink::File(file) if file.skips_zeros => self.post_part(file, by, request, is_inline()),
            Sink::Null | Sink::File(_) | Sink::Stripe(_) | Sink::Stream(_) | Sink::Compare(_) => {
                self.pad(by, request);
                let op = self.make_op(by.twin(request.slot), request);
                let performed = by.perform(request, op, is_inline());
                performed.settled(|result| self.settle(by, request, result))
            }
        }
    }

    /// Passes over zeros, or posts the request for what stands before the next ones.
    #[cold]
    fn post_part(&self, file: &FileEnd, by: &mut Performer<'_>, request: Request, is_inline: bool) -> Posted {
        let Request { slot, block, done, .. } = request;
        match file.first_part(by.engine.bytes(Slot(slot)), block, done) {
            BlockPart::Zeros(len) => Posted::Done(Settled::Part(len)),
            BlockPart::Data(len) => {
                let end = done + len;
                let part = Block { len: end, ..block };
                self.pad(by, Request { block: part, ..request });
                let performed = by.perform(request, file.write(slot, part, done), is_inline);
                performed.settled(|result| self.settle(by, request, result))
            }
        }
    }

    /// Fills the slot with zeros behind the block, as far as a direct request needs them.
    #[inline]
    fn pad(&self, by: &mut Performer<'_>, Request { slot, block, .. }: Request) {
        let Sink::File(file) = self else { return };
        let padding = file.padding(block) as usize;
        if padding > 0 {
            let start = block.len as usize;
            by.engine.bytes_mut(Slot(slot))[start..start + padding].fill(0);
        }
    }

    /// The operation for what is still missing of a block. `twin`: the second slot of a sink that compares.
    #[inline]
    fn make_op(&self, twin: u32, request: Request) -> Op {
        let Request { slot, block, done, .. } = request;
        match self {
            Sink::Null | Sink::RemoteHost => Op::Nop { len: block.len - done, write: true },
            Sink::File(file) => file.write(slot, block, done),
            Sink::Stripe(stripe) => stripe.write(slot, block, done),
            Sink::Compare(file) => file.read(twin, block, done),
            Sink::Stream(handle) => stream::write(handle, slot, block, done),
        }
    }

    /// What a completion of the engine means for the block. Where a sink compares, the bytes that were read are compared; a
    /// read that gave none is repeated by a call.
    #[inline]
    pub fn settle(&self, by: &mut Performer<'_>, request: Request, result: Result<u32, Errno>) -> Settled {
        let twin = by.twin(request.slot);
        let result = by.completed(request, result, || self.make_op(twin, request));
        // Behind the size that it tells, which may be 0, FUSE gives nothing to a queue, and its daemon's bytes to a call.
        let result = match (self, result) {
            (Sink::Compare(_), Ok(0)) => {
                by.perform_inline(request.slot, self.make_op(twin, request), request.transfer)
            }
            _ => result,
        };
        let Request { block, done, .. } = request;
        match self {
            Sink::Null | Sink::RemoteHost | Sink::Stream(_) => settle_completion(result, block.len - done),
            Sink::File(file) if file.skips_zeros => settle_data_part(file, by, request, result),
            Sink::File(file) => file.settle(block, done, result),
            Sink::Stripe(stripe) => stripe.settle(block, done, result),
            Sink::Compare(file) => match file.settle(block, done, result) {
                Settled::Moved(bytes) => compare_block(by, request, bytes),
                Settled::EndOfData => Settled::Differs(0),
                settled => settled,
            },
        }
    }
}

/// What a completion means for a write that ends at the next zeros: it is a part of the block, and no partial return.
fn settle_data_part(
    file: &FileEnd,
    by: &Performer<'_>,
    request: Request,
    result: Result<u32, Errno>,
) -> Settled {
    let Request { slot, block, done, .. } = request;
    let BlockPart::Data(len) = file.first_part(by.engine.bytes(Slot(slot)), block, done) else {
        unreachable!("zeros are not posted")
    };
    match file.settle(Block { len: done + len, ..block }, done, result) {
        Settled::Moved(bytes) if bytes == len => Settled::Part(bytes),
        settled => settled,
    }
}

/// Compares what was read of a block with the source's bytes; with the source's digest once all of the block is read.
fn compare_block(by: &mut Performer<'_>, request: Request, bytes: u32) -> Settled {
    let Request { slot, done, block, .. } = request;
    let _stage = within(CpuStage::Hash);
    match by.sums.get(slot as usize).copied().flatten() {
        None => compare_bytes(&by.engine, slot, by.twin(slot), done, bytes),
        Some(_) if done + bytes < block.len => Settled::Moved(bytes),
        Some(sum) => {
            by.sums[slot as usize] = None;
            let own =
                BlockHash::from_bytes(block, &by.engine.bytes(Slot(by.twin(slot)))[..block.len as usize]);
            // Where in the block they differ is not known.
            if own.digest() != sum {
                return Settled::Differs(0);
            }
            by.hashes[slot as usize] = Some(own);
            Settled::Moved(bytes)
        }
    }
}

/// Compares bytes that were read of a block with those of the source in the slot `twin`; where they differ, with the
/// offset.
fn compare_bytes(engine: &Engine, slot: u32, twin: u32, done: u32, bytes: u32) -> Settled {
    let range = done as usize..(done + bytes) as usize;
    let (one, other) = (&engine.bytes(Slot(slot))[range.clone()], &engine.bytes(Slot(twin))[range]);
    if one == other {
        return Settled::Moved(bytes);
    }
    let behind = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    Settled::Differs(behind as u32)
}
