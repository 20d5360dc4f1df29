//! The copy loop of one lane as a state machine.
//!
//! The owner asks [`Pump::poll`] what to do and does it: claims an extent from the plan, posts a request, or waits.
//! It reports back through the `handle_*` methods. Source depth, sink depth and request size are independent and
//! fixed; there is one pool of `source_depth + sink_depth` slots. A source slot is held from posting its read until
//! its block is handed to the sink; a sink slot from then until its write completed. (Mayr and Gray, *Performance of
//! the 1-1 Data Pump*, 2000, section 1; SCIENCE E1.)
//!
//! A partial return is continued on the same block and counted. A fault concerns one file: no more of its blocks are
//! posted, what is in flight drains, and the first cause is reported. Every wait has an end to charge it to.
//!
//! Must not know: files, sockets, threads, clocks, which engine performs the requests, what the bytes are.

use std::collections::BTreeSet;

use crate::ring::Ring;
use crate::{Block, Extent, Length, Way};

/// The fixed numbers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Size of every block but the last of a file, in bytes.
    pub request_bytes: u32,
    /// Blocks that may be on the source's side at a time: being read, or read and not yet handed on.
    pub source_depth: u32,
    /// Blocks that may be on the sink's side at a time.
    pub sink_depth: u32,
    /// Blocks are handed on in the order in which they were read: needed where the sink is a stream (S2).
    pub in_order: bool,
    /// The source takes one request at a time, each continuing where the one before ended: streams.
    pub source_serial: bool,
    /// The sink takes one request at a time: streams.
    pub sink_serial: bool,
    /// Partial reads are continued until the block is full (S10). Only a serial source can do without (S11).
    pub assemble: bool,
}

/// One of the two ends of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
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
    /// Claim an extent from the plan and report it by [`Pump::handle_claim`].
    Claim,
    /// Post this request, and report its end by [`Pump::handle_completion`].
    Post(Request),
    /// Nothing can be posted: wait for a completion, and charge the time to this end.
    Wait(Side),
    /// Nothing is in flight and the plan had nothing yet: wait for the plan, then report [`Pump::handle_more`].
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
    /// The source has no more data. (At the sink: it took nothing, which is a fault.)
    EndOfData,
    /// Nothing happened; the same request is to be posted again (`EINTR`).
    Retry,
    /// The request was called back because the run is stopping.
    Cancelled,
    /// It failed, with the system's error number.
    Failed(i32),
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
pub struct Fault {
    /// The end at which it happened; for a copy inside the kernel, which cannot tell, the sink.
    pub side: Side,
    /// The file's number in the plan.
    pub file: u32,
    /// Offset of the first byte that was not moved.
    pub at: u64,
    /// The cause.
    pub kind: FaultKind,
}

/// What a completion meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing for the owner to note.
    Nothing,
    /// The block was read; its bytes stand in the slot until the write is posted.
    Filled {
        /// The slot's number.
        slot: u32,
        /// The block.
        block: Block,
        /// Length of the file, when it was unknown and this was the last read to find it out.
        ended: Option<u64>,
    },
    /// The block was written, or copied inside the kernel.
    Landed {
        /// The block.
        block: Block,
    },
    /// The length of a file was unknown, and the last read of it found it out. Told once, here or with a block.
    Ended {
        /// The file's number in the plan.
        file: u32,
        /// Its length in bytes.
        at: u64,
    },
    /// A file failed; only the first fault of a file is told.
    Failed(Fault),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Reading,
    Full,
    Writing,
    Copying,
}

#[derive(Clone, Copy, Debug)]
struct SlotState {
    state: State,
    /// End of data is allowed here: the extent's length is unknown.
    open_ended: bool,
    done: u32,
    block: Block,
}

/// A file whose length is found out by reading it.
#[derive(Clone, Copy, Debug)]
struct OpenEnded {
    file: u32,
    /// Data were seen up to here.
    reach: u64,
    /// The source said that it ends here.
    end: Option<u64>,
}

const EMPTY: SlotState =
    SlotState { state: State::Free, open_ended: false, done: 0, block: Block { file: 0, at: 0, len: 0 } };

/// The copy loop of one lane.
#[derive(Debug)]
pub struct Pump {
    shape: Shape,
    slots: Vec<SlotState>,
    /// Free slots; the last one freed is used first, its memory is warm.
    free: Vec<u32>,
    /// Slots on the source's side in reading order (in order), or full slots as they came (any order).
    queue: Ring,
    /// Slots whose request must be posted again.
    again: Ring,
    extent: Option<Extent>,
    plan_done: bool,
    /// The plan had nothing; it is asked again when something has completed.
    starved: bool,
    stopped: bool,
    /// Blocks on the source's side: reading or full.
    held: u32,
    /// Reads in flight.
    reading: u32,
    /// Blocks on the sink's side.
    writing: u32,
    /// What is known of files whose length is unknown.
    open_files: Vec<OpenEnded>,
    failed: BTreeSet<u32>,
    counts: Counts,
}

impl Pump {
    /// A pump for one run.
    ///
    /// # Panics
    /// When the request size or a depth is zero, or a source that is not serial should do without assembling.
    pub fn new(shape: Shape) -> Pump {
        assert!(shape.request_bytes > 0 && shape.source_depth > 0 && shape.sink_depth > 0, "{shape:?}");
        assert!(shape.assemble || shape.source_serial, "only a serial source can hand on partial blocks");
        let slots = shape.source_depth + shape.sink_depth;
        Pump {
            shape,
            slots: vec![EMPTY; slots as usize],
            free: (0..slots).rev().collect(),
            queue: Ring::new(slots),
            again: Ring::new(slots),
            extent: None,
            plan_done: false,
            starved: false,
            stopped: false,
            held: 0,
            reading: 0,
            writing: 0,
            open_files: Vec::new(),
            failed: BTreeSet::new(),
            counts: Counts::default(),
        }
    }

    /// Number of slots that the shape needs.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// What was counted so far.
    #[inline]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What to do now. Rests first, then writes, then reads: a block goes on before another is begun.
    #[inline]
    pub fn poll(&mut self) -> Step {
        if let Some(request) = self.next_again().or_else(|| self.next_write()) {
            return Step::Post(request);
        }
        if self.may_read() {
            match self.extent {
                Some(extent) if self.may_start(extent) => return Step::Post(self.start(extent)),
                Some(_) => {}
                None if self.plan_done || self.starved => {}
                None => return Step::Claim,
            }
        }
        match self.reading + self.writing {
            0 if self.starved => Step::Starved,
            0 => Step::Done,
            _ => Step::Wait(self.waiting_for()),
        }
    }

    /// Whom a wait is charged to: the sink, if full blocks are held back by its depth or if only it has work;
    /// otherwise the source.
    #[inline]
    fn waiting_for(&self) -> Side {
        let held_back = self.front_is_full() && !self.sink_is_free();
        if held_back || self.reading == 0 { Side::Sink } else { Side::Source }
    }

    #[inline]
    fn front_is_full(&self) -> bool {
        self.queue.front().is_some_and(|slot| self.slots[slot as usize].state == State::Full)
    }

    #[inline]
    fn sink_is_free(&self) -> bool {
        if self.shape.sink_serial { self.writing == 0 } else { self.writing < self.shape.sink_depth }
    }

    #[inline]
    fn may_read(&self) -> bool {
        let room = self.held < self.shape.source_depth && !self.stopped;
        room && !(self.shape.source_serial && self.reading > 0)
    }

    /// A copy inside the kernel needs room at both ends.
    #[inline]
    fn may_start(&self, extent: Extent) -> bool {
        extent.way == Way::Slots || self.sink_is_free()
    }

    #[inline]
    fn next_again(&mut self) -> Option<Request> {
        while let Some(slot) = self.again.pop_front() {
            let SlotState { state, block, done, .. } = self.slots[slot as usize];
            let dropped = self.stopped || self.failed.contains(&block.file);
            match state {
                State::Reading if dropped => self.drop_read(slot),
                State::Writing if dropped => self.drop_write(slot),
                State::Copying if dropped => self.drop_copy(slot),
                State::Reading => return Some(Request { transfer: Transfer::Read, slot, done, block }),
                State::Writing => return Some(Request { transfer: Transfer::Write, slot, done, block }),
                State::Copying => return Some(Request { transfer: Transfer::Copy, slot, done, block }),
                State::Free | State::Full => unreachable!("only requests in flight are posted again"),
            };
        }
        None
    }

    #[inline]
    fn next_write(&mut self) -> Option<Request> {
        while self.front_is_full() && self.sink_is_free() {
            let slot = self.queue.pop_front()?;
            self.held -= 1;
            let block = self.slots[slot as usize].block;
            if self.stopped || self.failed.contains(&block.file) {
                self.release(slot);
                continue;
            }
            self.slots[slot as usize].state = State::Writing;
            self.slots[slot as usize].done = 0;
            self.writing += 1;
            return Some(Request { transfer: Transfer::Write, slot, done: 0, block });
        }
        None
    }

    /// Cuts the next block from the extent and posts it.
    #[inline]
    fn start(&mut self, extent: Extent) -> Request {
        let slot = self.free.pop().expect("held + writing is below the number of slots");
        let full = u64::from(self.shape.request_bytes);
        let (len, rest, open_ended) = match extent.length {
            Length::Bytes(bytes) => (bytes.min(full), Length::Bytes(bytes - bytes.min(full)), false),
            Length::UntilEnd => (full, Length::UntilEnd, true),
        };
        self.extent = match rest {
            Length::Bytes(0) => None,
            length => Some(Extent { at: extent.at + len, length, ..extent }),
        };
        let block = Block { file: extent.file, at: extent.at, len: len as u32 };
        self.held += 1;
        self.reading += 1;
        let state = match extent.way {
            Way::Slots => State::Reading,
            Way::InKernel => State::Copying,
        };
        self.slots[slot as usize] = SlotState { state, open_ended, done: 0, block };
        if extent.way == Way::InKernel {
            self.writing += 1;
            return Request { transfer: Transfer::Copy, slot, done: 0, block };
        }
        if self.shape.in_order {
            self.queue.push_back(slot);
        }
        Request { transfer: Transfer::Read, slot, done: 0, block }
    }

    /// The plan's answer to [`Step::Claim`].
    pub fn handle_claim(&mut self, claimed: Claimed) {
        debug_assert!(self.extent.is_none());
        match claimed {
            Claimed::Extent(Extent { length: Length::Bytes(0), .. }) => {}
            Claimed::Extent(extent) if self.failed.contains(&extent.file) => {}
            Claimed::Extent(extent) => self.extent = Some(extent),
            Claimed::NotYet => self.starved = true,
            Claimed::Never => self.plan_done = true,
        }
    }

    /// The plan may have more now.
    pub fn handle_more(&mut self) {
        self.starved = false;
    }

    /// Posts no more; what is in flight drains, what was read and not written is dropped.
    pub fn handle_stop(&mut self) {
        self.stopped = true;
        self.plan_done = true;
        self.starved = false;
        self.extent = None;
    }

    /// Gives a file up because of something that happened outside the loop; its requests in flight drain.
    pub fn handle_failed_file(&mut self, file: u32) {
        self.failed.insert(file);
        if self.extent.is_some_and(|extent| extent.file == file) {
            self.extent = None;
        }
    }

    /// The end of the request that was posted for this slot.
    #[inline]
    pub fn handle_completion(&mut self, slot: u32, settled: Settled) -> Event {
        self.starved = false;
        match self.slots[slot as usize].state {
            State::Reading => self.read_completed(slot, settled),
            State::Writing => self.write_completed(slot, settled),
            State::Copying => self.copy_completed(slot, settled),
            State::Free | State::Full => unreachable!("slot {slot} has no request in flight"),
        }
    }

    #[inline]
    fn read_completed(&mut self, slot: u32, settled: Settled) -> Event {
        let entry = self.slots[slot as usize];
        match settled {
            _ if self.stopped || self.failed.contains(&entry.block.file) => self.drop_read(slot),
            Settled::Moved(bytes) => self.read_moved(slot, bytes),
            Settled::Retry => self.post_again(slot),
            Settled::Cancelled => self.drop_read(slot),
            Settled::EndOfData if entry.open_ended => self.read_ended(slot),
            Settled::EndOfData => self.read_failed(slot, FaultKind::SourceEnded),
            Settled::Failed(errno) => self.read_failed(slot, FaultKind::Errno(errno)),
            Settled::Differs(_) => unreachable!("only a sink compares"),
        }
    }

    #[inline]
    fn read_moved(&mut self, slot: u32, bytes: u32) -> Event {
        let entry = &mut self.slots[slot as usize];
        let asked = entry.block.len - entry.done;
        debug_assert!(bytes > 0 && bytes <= asked, "{bytes} of {asked} bytes");
        entry.done += bytes;
        let SlotState { block, done, open_ended, .. } = *entry;
        if open_ended && !self.reaches(block.file, block.at + u64::from(done)) {
            return self.read_failed(slot, FaultKind::SourceGrew);
        }
        if bytes < asked {
            self.counts.source_partial += 1;
            self.counts.partial_bytes += u64::from(bytes);
            if self.shape.assemble {
                return self.post_again(slot);
            }
            self.give_up_rest(slot);
        }
        self.read_finished(slot)
    }

    /// Without assembling, the block ends where the read did and the extent goes on from there.
    fn give_up_rest(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let rest = entry.block.len - entry.done;
        entry.block.len = entry.done;
        let (file, at) = (entry.block.file, entry.block.at + u64::from(entry.done));
        let length = match (self.extent, entry.open_ended) {
            (_, true) => Length::UntilEnd,
            (Some(Extent { length: Length::Bytes(bytes), .. }), _) => Length::Bytes(bytes + u64::from(rest)),
            (_, false) => Length::Bytes(u64::from(rest)),
        };
        self.extent = Some(Extent { file, at, length, way: Way::Slots });
    }

    #[inline]
    fn read_finished(&mut self, slot: u32) -> Event {
        self.reading -= 1;
        self.slots[slot as usize].state = State::Full;
        if !self.shape.in_order {
            self.queue.push_back(slot);
        }
        self.counts.source_requests += 1;
        let SlotState { block, open_ended, .. } = self.slots[slot as usize];
        let ended = if open_ended { self.settled_end(block.file) } else { None };
        Event::Filled { slot, block, ended }
    }

    /// The data of an open-ended file end within or before this block.
    fn read_ended(&mut self, slot: u32) -> Event {
        let entry = self.slots[slot as usize];
        let (file, at) = (entry.block.file, entry.block.at + u64::from(entry.done));
        if self.extent.is_some_and(|extent| extent.file == file) {
            self.extent = None;
        }
        if !self.ends_at(file, at) {
            return self.read_failed(slot, FaultKind::SourceGrew);
        }
        if entry.done == 0 {
            self.drop_read(slot);
            return self.settled_end(file).map_or(Event::Nothing, |at| Event::Ended { file, at });
        }
        // What came before the end is a block of its own, shorter than asked.
        self.slots[slot as usize].block.len = entry.done;
        self.read_finished(slot)
    }

    fn open_file(&mut self, file: u32) -> &mut OpenEnded {
        let index = self.open_files.iter().position(|open| open.file == file).unwrap_or_else(|| {
            self.open_files.push(OpenEnded { file, reach: 0, end: None });
            self.open_files.len() - 1
        });
        &mut self.open_files[index]
    }

    /// Notes that data were seen up to here; false when the file had ended before.
    fn reaches(&mut self, file: u32, reach: u64) -> bool {
        let open = self.open_file(file);
        open.reach = open.reach.max(reach);
        open.end.is_none_or(|end| reach <= end)
    }

    /// Notes that the file ends here; false when data were seen behind it.
    fn ends_at(&mut self, file: u32, at: u64) -> bool {
        let open = self.open_file(file);
        open.end = Some(open.end.map_or(at, |end| end.min(at)));
        open.reach <= at
    }

    #[inline]
    /// Where the file ends, once no read of it is in flight that could still tell otherwise.
    fn settled_end(&mut self, file: u32) -> Option<u64> {
        let reading = |entry: &SlotState| entry.state == State::Reading && entry.block.file == file;
        let end = self.open_file(file).end;
        end.filter(|_| !self.slots.iter().any(reading))
    }

    fn write_completed(&mut self, slot: u32, settled: Settled) -> Event {
        let entry = self.slots[slot as usize];
        match settled {
            _ if self.stopped || self.failed.contains(&entry.block.file) => self.drop_write(slot),
            Settled::Moved(bytes) => self.write_moved(slot, bytes),
            Settled::Retry => self.post_again(slot),
            Settled::Cancelled => self.drop_write(slot),
            Settled::EndOfData => self.write_failed(slot, FaultKind::WroteNothing),
            Settled::Failed(errno) => self.write_failed(slot, FaultKind::Errno(errno)),
            Settled::Differs(behind) => {
                self.slots[slot as usize].done += behind;
                self.write_failed(slot, FaultKind::Differs)
            }
        }
    }

    #[inline]
    fn write_moved(&mut self, slot: u32, bytes: u32) -> Event {
        let entry = &mut self.slots[slot as usize];
        let asked = entry.block.len - entry.done;
        debug_assert!(bytes > 0 && bytes <= asked, "{bytes} of {asked} bytes");
        entry.done += bytes;
        if bytes < asked {
            self.counts.sink_partial += 1;
            self.counts.partial_bytes += u64::from(bytes);
            return self.post_again(slot);
        }
        let block = entry.block;
        self.writing -= 1;
        self.landed(slot, block)
    }

    #[inline]
    fn landed(&mut self, slot: u32, block: Block) -> Event {
        self.counts.sink_requests += 1;
        self.counts.bytes += u64::from(block.len);
        self.release(slot);
        Event::Landed { block }
    }

    fn copy_completed(&mut self, slot: u32, settled: Settled) -> Event {
        let entry = &mut self.slots[slot as usize];
        let over = self.stopped || self.failed.contains(&entry.block.file);
        match settled {
            Settled::Moved(bytes) if !over => {
                let asked = entry.block.len - entry.done;
                entry.done += bytes;
                if bytes < asked {
                    self.counts.source_partial += 1;
                    self.counts.partial_bytes += u64::from(bytes);
                    return self.post_again(slot);
                }
                let block = entry.block;
                self.counts.source_requests += 1;
                self.leave_copy();
                self.landed(slot, block)
            }
            Settled::Retry if !over => self.post_again(slot),
            Settled::EndOfData if !over => self.copy_failed(slot, FaultKind::SourceEnded),
            Settled::Failed(errno) if !over => self.copy_failed(slot, FaultKind::Errno(errno)),
            _ => self.drop_copy(slot),
        }
    }

    fn drop_copy(&mut self, slot: u32) -> Event {
        self.leave_copy();
        self.release(slot);
        Event::Nothing
    }

    fn leave_copy(&mut self) {
        self.held -= 1;
        self.reading -= 1;
        self.writing -= 1;
    }

    fn copy_failed(&mut self, slot: u32, kind: FaultKind) -> Event {
        self.leave_copy();
        let side = if kind == FaultKind::SourceEnded { Side::Source } else { Side::Sink };
        let fault = self.fault(slot, side, kind);
        self.release(slot);
        fault
    }

    fn read_failed(&mut self, slot: u32, kind: FaultKind) -> Event {
        let fault = self.fault(slot, Side::Source, kind);
        self.drop_read(slot);
        fault
    }

    fn write_failed(&mut self, slot: u32, kind: FaultKind) -> Event {
        let fault = self.fault(slot, Side::Sink, kind);
        self.drop_write(slot);
        fault
    }

    fn fault(&mut self, slot: u32, side: Side, kind: FaultKind) -> Event {
        let SlotState { block, done, .. } = self.slots[slot as usize];
        self.handle_failed_file(block.file);
        Event::Failed(Fault { side, file: block.file, at: block.at + u64::from(done), kind })
    }

    fn post_again(&mut self, slot: u32) -> Event {
        self.again.push_back(slot);
        Event::Nothing
    }

    fn drop_read(&mut self, slot: u32) -> Event {
        self.held -= 1;
        self.reading -= 1;
        if self.shape.in_order {
            self.queue.remove(slot);
        }
        self.release(slot);
        Event::Nothing
    }

    fn drop_write(&mut self, slot: u32) -> Event {
        self.writing -= 1;
        self.release(slot);
        Event::Nothing
    }

    #[inline]
    fn release(&mut self, slot: u32) {
        self.slots[slot as usize].state = State::Free;
        self.free.push(slot);
    }
}
