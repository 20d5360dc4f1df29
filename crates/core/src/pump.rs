//! The copy loop of one lane as a state machine.
//!
//! The owner asks [`Pump::poll`] what to do and does it: claims an extent from the plan, posts a request, or waits.
//! It reports back through the `handle_*` methods. Source depth, sink depth and request size are independent and
//! fixed, but for a source behind a long path, whose depth its owner may raise while the run goes on; there is one pool
//! of `source_depth_max + sink_depth` slots. A source slot is held from posting its read until
//! its block is handed to the sink; a sink slot from then until its write completed. (Mayr and Gray, *Performance of
//! the 1-1 Data Pump*, 2000, section 1.)
//!
//! A partial return is continued on the same block and counted. A fault concerns one file: no more of its blocks are
//! posted, what is in flight drains, and the first cause is reported. Every wait has an end to charge it to.
//!
//! Must not know: files, sockets, threads, clocks, which engine performs the requests, what the bytes are.

pub(crate) mod block;
pub(crate) mod connection_growth;
mod in_kernel;
pub(crate) mod open_ended;
pub(crate) mod path_window;
pub(crate) mod ring;
pub(crate) mod slot;
pub(crate) mod stripe;
pub(crate) mod talk;

use std::collections::BTreeSet;

use crate::pump::open_ended::OpenEnded;
use crate::pump::ring::Ring;
use crate::pump::slot::{EMPTY, SlotPhase, SlotState};
use crate::pump::talk::{
    Claimed, Counts, FaultKind, PumpEvent, PumpFault, PumpSide, Request, Settled, Shape, Step, Transfer,
};
use crate::{Block, BlockRoute, Extent, Length};

/// The copy loop of one lane.
#[derive(Debug)]
pub struct Pump {
    shape: Shape,
    slots: Vec<SlotState>,
    /// Free slots; the last one freed is used first, its memory is warm.
    free: Vec<u32>,
    /// Slots on the source's side in reading order (in order), or full slots as they came (any order).
    queue: Ring,
    /// Blocks that may be on the source's side now.
    source_depth: u32,
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
    /// The files whose length is unknown.
    open_files: OpenEnded,
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
        assert!(shape.source_depth <= shape.source_depth_max, "{shape:?}");
        let slots = shape.source_depth_max + shape.sink_depth;
        Pump {
            shape,
            source_depth: shape.source_depth,
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
            open_files: OpenEnded::default(),
            failed: BTreeSet::new(),
            counts: Counts::default(),
        }
    }

    /// Number of slots that the shape needs.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Blocks that may be on the source's side now.
    pub fn source_depth(&self) -> u32 {
        self.source_depth
    }

    /// More requests fill the path to the source: so many may be under way from now on, as far as there are slots.
    /// A depth that was reached stays: what was posted is not taken back.
    #[inline]
    pub fn raise_source_depth(&mut self, depth: u32) {
        self.source_depth = depth.clamp(self.source_depth, self.shape.source_depth_max);
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
            match &self.extent {
                Some(extent) if self.may_start(extent.way) => return Step::Post(self.start()),
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
    fn waiting_for(&self) -> PumpSide {
        let held_back = self.front_is_full() && !self.sink_is_free();
        if held_back || self.reading == 0 { PumpSide::Sink } else { PumpSide::Source }
    }

    #[inline]
    fn front_is_full(&self) -> bool {
        self.queue.front().is_some_and(|slot| self.slots[slot as usize].state == SlotPhase::Full)
    }

    #[inline]
    fn sink_is_free(&self) -> bool {
        if self.shape.sink_serial { self.writing == 0 } else { self.writing < self.shape.sink_depth }
    }

    #[inline]
    fn may_read(&self) -> bool {
        let room = self.held < self.source_depth && !self.stopped;
        room && !(self.shape.source_serial && self.reading > 0)
    }

    /// A copy inside the kernel needs room at both ends.
    #[inline]
    fn may_start(&self, way: BlockRoute) -> bool {
        way == BlockRoute::Slots || self.sink_is_free()
    }

    #[inline]
    fn next_again(&mut self) -> Option<Request> {
        while let Some(slot) = self.again.pop_front() {
            let SlotState { state, block, done, .. } = self.slots[slot as usize];
            let dropped = self.stopped || self.failed.contains(&block.file);
            match state {
                SlotPhase::Reading if dropped => self.drop_read(slot),
                SlotPhase::Writing if dropped => self.drop_write(slot),
                SlotPhase::Copying if dropped => self.drop_copy(slot),
                SlotPhase::Reading => return Some(Request { transfer: Transfer::Read, slot, done, block }),
                SlotPhase::Writing => return Some(Request { transfer: Transfer::Write, slot, done, block }),
                SlotPhase::Copying => return Some(Request { transfer: Transfer::Copy, slot, done, block }),
                SlotPhase::Free | SlotPhase::Full => unreachable!("only requests in flight are posted again"),
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
            self.slots[slot as usize].state = SlotPhase::Writing;
            self.slots[slot as usize].done = 0;
            self.writing += 1;
            return Some(Request { transfer: Transfer::Write, slot, done: 0, block });
        }
        None
    }

    /// Cuts the next block from the extent and posts it.
    #[inline]
    fn start(&mut self) -> Request {
        let extent = self.extent.as_mut().expect("polled for one");
        let (file, at) = (extent.file, extent.at);
        // The kernel copies files only; what must keep its order goes through slots.
        let way = if self.shape.in_order { BlockRoute::Slots } else { extent.way };
        let full = u64::from(self.shape.request_bytes);
        let open_ended = !matches!(extent.length, Length::Bytes(_));
        let (len, used_up) = match &mut extent.length {
            Length::Bytes(bytes) | Length::UpTo(bytes) => {
                let len = (*bytes).min(full);
                *bytes -= len;
                (len, *bytes == 0)
            }
            Length::UntilEnd => (full, false),
        };
        extent.at += len;
        if used_up {
            self.extent = None;
        }
        let block = Block { file, at, len: len as u32 };
        let slot = self.free.pop().expect("held + writing is below the number of slots");
        self.held += 1;
        self.reading += 1;
        let (state, transfer) = match way {
            BlockRoute::Slots => (SlotPhase::Reading, Transfer::Read),
            BlockRoute::InKernel => (SlotPhase::Copying, Transfer::Copy),
        };
        self.slots[slot as usize] = SlotState { state, open_ended, done: 0, block };
        match way {
            BlockRoute::InKernel => self.writing += 1,
            BlockRoute::Slots if self.shape.in_order => self.queue.push_back(slot),
            BlockRoute::Slots => {}
        }
        Request { transfer, slot, done: 0, block }
    }

    /// The plan's answer to [`Step::Claim`].
    pub fn handle_claim(&mut self, claimed: Claimed) {
        debug_assert!(self.extent.is_none());
        match claimed {
            Claimed::Extent(Extent { length: Length::Bytes(0) | Length::UpTo(0), .. }) => {}
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
    pub fn handle_completion(&mut self, slot: u32, settled: Settled) -> PumpEvent {
        self.starved = false;
        match self.slots[slot as usize].state {
            SlotPhase::Reading => self.read_completed(slot, settled),
            SlotPhase::Writing => self.write_completed(slot, settled),
            SlotPhase::Copying => self.copy_completed(slot, settled),
            SlotPhase::Free | SlotPhase::Full => unreachable!("slot {slot} has no request in flight"),
        }
    }

    #[inline]
    fn read_completed(&mut self, slot: u32, settled: Settled) -> PumpEvent {
        let entry = self.slots[slot as usize];
        match settled {
            _ if self.stopped || self.failed.contains(&entry.block.file) => self.drop_read(slot),
            Settled::Moved(bytes) => self.read_moved(slot, bytes),
            Settled::Whole(bytes) => self.read_whole(slot, bytes),
            Settled::Cancelled => self.drop_read(slot),
            Settled::EndOfData if entry.open_ended => self.read_ended(slot),
            Settled::EndOfData => self.read_failed(slot, FaultKind::SourceEnded),
            Settled::Failed(errno) => self.read_failed(slot, FaultKind::Errno(errno)),
            Settled::Part(_) | Settled::Differs(_) | Settled::Unable => {
                unreachable!("only a sink takes parts or compares, only a copy is unable")
            }
        }
    }

    /// The one block of a file has another length than was requested.
    #[cold]
    fn read_whole(&mut self, slot: u32, bytes: u32) -> PumpEvent {
        let file = self.slots[slot as usize].block.file;
        debug_assert!(bytes <= self.shape.request_bytes, "{bytes} bytes in a slot");
        if bytes == 0 {
            self.drop_read(slot);
            return PumpEvent::Ended { file, at: 0 };
        }
        self.slots[slot as usize].block.len = bytes;
        self.read_finished(slot);
        PumpEvent::Filled { slot, block: self.slots[slot as usize].block, ended: Some(bytes.into()) }
    }

    #[inline]
    fn read_moved(&mut self, slot: u32, bytes: u32) -> PumpEvent {
        let entry = &mut self.slots[slot as usize];
        let asked = entry.block.len - entry.done;
        debug_assert!(bytes > 0 && bytes <= asked, "{bytes} of {asked} bytes");
        entry.done += bytes;
        let SlotState { block, done, open_ended, .. } = *entry;
        if open_ended && !self.open_files.reaches(block.file, block.at + u64::from(done)) {
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
        self.extent = Some(Extent { file, at, length, way: BlockRoute::Slots });
    }

    #[inline]
    fn read_finished(&mut self, slot: u32) -> PumpEvent {
        self.reading -= 1;
        self.slots[slot as usize].state = SlotPhase::Full;
        if !self.shape.in_order {
            self.queue.push_back(slot);
        }
        self.counts.source_requests += 1;
        let SlotState { block, open_ended, .. } = self.slots[slot as usize];
        let ended = if open_ended { self.settled_end(block.file) } else { None };
        PumpEvent::Filled { slot, block, ended }
    }

    /// The data of an open-ended file end within or before this block.
    fn read_ended(&mut self, slot: u32) -> PumpEvent {
        let entry = self.slots[slot as usize];
        let (file, at) = (entry.block.file, entry.block.at + u64::from(entry.done));
        if self.extent.is_some_and(|extent| extent.file == file) {
            self.extent = None;
        }
        if !self.open_files.ends_at(file, at) {
            return self.read_failed(slot, FaultKind::SourceGrew);
        }
        if entry.done == 0 {
            self.drop_read(slot);
            return self.settled_end(file).map_or(PumpEvent::Nothing, |at| PumpEvent::Ended { file, at });
        }
        // What came before the end is a block of its own, shorter than asked.
        self.slots[slot as usize].block.len = entry.done;
        self.read_finished(slot)
    }

    /// Where the file ends, once no read of it is in flight that could still tell otherwise.
    fn settled_end(&mut self, file: u32) -> Option<u64> {
        let reading = |entry: &SlotState| entry.state == SlotPhase::Reading && entry.block.file == file;
        let end = self.open_files.end(file);
        let settled = end.filter(|_| !self.slots.iter().any(reading));
        if settled.is_some() {
            self.open_files.forget(file);
        }
        settled
    }

    fn write_completed(&mut self, slot: u32, settled: Settled) -> PumpEvent {
        let entry = self.slots[slot as usize];
        match settled {
            _ if self.stopped || self.failed.contains(&entry.block.file) => self.drop_write(slot),
            Settled::Moved(bytes) => self.write_moved(slot, bytes),
            Settled::Part(bytes) => self.write_part(slot, bytes),
            Settled::Cancelled => self.drop_write(slot),
            Settled::EndOfData => self.write_failed(slot, FaultKind::WroteNothing),
            Settled::Failed(errno) => self.write_failed(slot, FaultKind::Errno(errno)),
            Settled::Differs(behind) => {
                self.slots[slot as usize].done += behind;
                self.write_failed(slot, FaultKind::Differs)
            }
            Settled::Unable | Settled::Whole(_) => {
                unreachable!("only a copy is unable, only a source is whole")
            }
        }
    }

    #[inline]
    fn write_moved(&mut self, slot: u32, bytes: u32) -> PumpEvent {
        let entry = &self.slots[slot as usize];
        if bytes < entry.block.len - entry.done {
            self.counts.sink_partial += 1;
            self.counts.partial_bytes += u64::from(bytes);
        }
        self.write_part(slot, bytes)
    }

    #[inline]
    fn write_part(&mut self, slot: u32, bytes: u32) -> PumpEvent {
        let entry = &mut self.slots[slot as usize];
        let asked = entry.block.len - entry.done;
        debug_assert!(bytes > 0 && bytes <= asked, "{bytes} of {asked} bytes");
        entry.done += bytes;
        if bytes < asked {
            return self.post_again(slot);
        }
        let block = entry.block;
        self.writing -= 1;
        self.landed(slot, block)
    }

    #[inline]
    fn landed(&mut self, slot: u32, block: Block) -> PumpEvent {
        self.counts.sink_requests += 1;
        self.counts.bytes += u64::from(block.len);
        self.release(slot);
        PumpEvent::Landed { block }
    }

    fn read_failed(&mut self, slot: u32, kind: FaultKind) -> PumpEvent {
        let fault = self.fault(slot, PumpSide::Source, kind);
        self.drop_read(slot);
        fault
    }

    fn write_failed(&mut self, slot: u32, kind: FaultKind) -> PumpEvent {
        let fault = self.fault(slot, PumpSide::Sink, kind);
        self.drop_write(slot);
        fault
    }

    fn fault(&mut self, slot: u32, side: PumpSide, kind: FaultKind) -> PumpEvent {
        let SlotState { block, done, .. } = self.slots[slot as usize];
        self.handle_failed_file(block.file);
        PumpEvent::Failed(PumpFault { side, file: block.file, at: block.at + u64::from(done), kind })
    }

    fn post_again(&mut self, slot: u32) -> PumpEvent {
        self.again.push_back(slot);
        PumpEvent::Nothing
    }

    fn drop_read(&mut self, slot: u32) -> PumpEvent {
        self.held -= 1;
        self.reading -= 1;
        if self.shape.in_order {
            self.queue.remove(slot);
        }
        self.release(slot);
        PumpEvent::Nothing
    }

    fn drop_write(&mut self, slot: u32) -> PumpEvent {
        self.writing -= 1;
        self.release(slot);
        PumpEvent::Nothing
    }

    #[inline]
    fn release(&mut self, slot: u32) {
        self.slots[slot as usize].state = SlotPhase::Free;
        self.free.push(slot);
    }
}
