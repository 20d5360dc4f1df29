//! Messages between the pump and its owner: shape of a run, steps, requests, completions, events, counts.
//!
//! Must not know: how the pump decides.

use crate::{Block, Extent};

/// The fixed numbers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Size of every block but the last of a file, in bytes.
    pub request_bytes: u32,
    /// Blocks that may be on the source's side at a time: being read, or read and not yet handed on.
    pub source_depth: u32,
    /// To so many the source's depth may be raised; there is a slot for each.
    pub source_depth_max: u32,
    /// Blocks that may be on the sink's side at a time.
    pub sink_depth: u32,
    /// Blocks are handed on in the order in which they were read: needed where the sink is a stream.
    pub in_order: bool,
    /// The source takes one request at a time, each continuing where the one before ended: streams.
    pub source_serial: bool,
    /// The sink takes one request at a time: streams.
    pub sink_serial: bool,
    /// Partial reads are continued until the block is full. Only a serial source can do without.
    pub assemble: bool,
}

/// One of the two ends of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PumpSide {
    /// Where bytes come from.
    Source,
    /// Where bytes go.
    Sink,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// Reads into the slot, behind the bytes that are there.
    Read,
    /// Writes from the slot.
    Write,
    /// Copies inside the kernel; the slot is only a number.
    Copy,
}

/// A request to post: move `block` from byte `done` on. Its completion is reported under its slot's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub transfer: Transfer,
    /// The slot's number.
    pub slot: u32,
    /// Bytes of the block that earlier partial returns moved.
    pub done: u32,
    /// The whole block.
    pub block: Block,
}

/// What the owner must do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Claim an extent from the plan and report it by [`crate::Pump::handle_claim`].
    Claim,
    /// Post this request, and report its end by [`crate::Pump::handle_completion`].
    Post(Request),
    /// Nothing can be posted: wait for a completion, and charge the time to this end.
    Wait(PumpSide),
    /// Nothing is in flight and the plan had nothing yet: wait for the plan, then report [`crate::Pump::handle_more`].
    Starved,
    /// Nothing is in flight and nothing is left to do.
    Done,
}

/// What the plan had to offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// This extent; no other lane gets it.
    Extent(Extent),
    /// Nothing now, but there may be more when something has completed.
    NotYet,
    /// Nothing ever again.
    Never,
}

/// How one request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// So many bytes were moved: at least one, at most what was asked.
    Moved(u32),
    /// The same of a sink that takes its requests in parts by itself.
    Part(u32),
    /// So many bytes were read, which are all that the file has: its length changed since its one block was requested. At
    /// most what a slot holds.
    Whole(u32),
    /// The source has no more data. (At the sink: it took nothing, which is a fault.)
    EndOfData,
    /// The request was called back because the run is stopping.
    Cancelled,
    /// It failed, with the system's error number.
    Failed(i32),
    /// It cannot be copied inside the kernel: the block goes through its slot instead.
    Unable,
    /// A sink that compares found a difference, so many bytes behind what had been compared.
    Differs(u32),
}

/// Why a file cannot be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The system's error number.
    Errno(i32),
    /// The source ended before the extent did: it was truncated.
    SourceEnded,
    /// Data came from behind the end of data: the source grew.
    SourceGrew,
    /// The sink took no bytes and gave no error.
    WroteNothing,
    /// A sink that compares found a difference.
    Differs,
}

/// The first thing that went wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PumpFault {
    /// The end at which it happened; for a copy inside the kernel, which cannot tell, the sink.
    pub side: PumpSide,
    /// The file's number in the plan.
    pub file: u32,
    /// Offset of the first byte that was not moved.
    pub at: u64,
    /// The cause.
    pub kind: FaultKind,
}

/// What a completion meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PumpEvent {
    /// Nothing for the owner to note.
    Nothing,
    /// The block was read; its bytes stand in the slot until the write is posted.
    Filled {
        /// The slot's number.
        slot: u32,
        /// The block.
        block: Block,
        /// Length of the file, when it was unknown or changed, and this was the last read to find it out.
        ended: Option<u64>,
    },
    /// The block was written, or copied inside the kernel.
    Landed {
        /// The block.
        block: Block,
    },
    /// The length of a file was unknown or changed, and the last read of it found it out: reported once, here or with a
    /// block.
    Ended {
        /// The file's number in the plan.
        file: u32,
        /// Its length in bytes.
        at: u64,
    },
    /// A file failed; only the first fault of a file is told.
    Failed(PumpFault),
}

/// What was counted, of both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Blocks read (or copied inside the kernel).
    pub source_requests: u64,
    /// Blocks written (or copied inside the kernel).
    pub sink_requests: u64,
    /// Bytes landed.
    pub bytes: u64,
    /// Completions at the source that moved less than was asked.
    pub source_partial: u64,
    /// Completions at the sink that moved less than was asked.
    pub sink_partial: u64,
    /// Bytes that partial returns of both ends moved; divided by their number, the mean size.
    pub partial_bytes: u64,
}
