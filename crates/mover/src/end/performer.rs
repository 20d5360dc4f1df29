//! Performs a lane's requests: an engine with slots for system calls, a connection for another host. Charges the time
//! of each to its end.
//!
//! Must not know: which block comes next, what a task is, what follows from a block.

use datapump_core::verdict::Waits;
use datapump_core::{Block, Extent, PumpSide, Request, Settled, Transfer};
use datapump_engine::{Completion, CpuStage, Engine, EngineKind, Errno, Op, Slot, WAIT_MAX, meter::within};
use datapump_transport::{ConnectionStats, Digest, NetFault};

use super::receive_lane::{LaneReply, ReceiveLane, TakenAhead};
use super::{BlockSender, RemoteBlocks, Trouble};
use crate::end::hash::BlockHash;
use crate::report::latency::LaneLatencies;
use crate::setup::platform::Clock;
use std::sync::Arc;

/// Which null ends take the engine's queue instead of completing where they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedNulls {
    pub source: bool,
    pub sink: bool,
}

/// What became of a request that was posted.
pub enum Posted {
    /// It is settled: nobody had to be asked.
    Done(Settled),
    /// It is settled: this thread performed it, which may have taken a while.
    Performed(Settled),
    /// It completes later: [`Performer::take`], [`Performer::receive_reply`].
    Later,
    /// The connection to the other host is lost. (Boxed: every request of a null end returns one of these.)
    Lost(Box<NetFault>),
}

impl Posted {
    #[cold]
    fn lost(fault: NetFault) -> Posted {
        Posted::Lost(Box::new(fault))
    }
}

/// A request that the engine completed: its end settles it.
pub type Completed = (Request, Result<u32, Errno>);

/// A request that the other host answered; with what it said of a block that it could not give.
pub type Answered = (Request, Settled, Option<Trouble>);

/// The connection of a lane to another host.
pub enum Connection {
    None,
    /// Blocks come from there.
    Receive(Box<ReceiveLane>),
    /// Blocks go there.
    Send(Box<dyn BlockSender>),
}

/// What performs a lane's requests.
pub struct Performer<'run> {
    pub engine: Engine,
    pub connection: Connection,
    pub waits: Waits,
    /// Hashes of blocks that were read here and are sent, or came with them, by slot.
    pub hashes: Vec<Option<BlockHash>>,
    /// Digests of blocks that were requested instead of them, by slot, until they are compared.
    pub(super) sums: Vec<Option<Digest>>,
    /// How long requests take, if that was asked for: without, no clock is read.
    pub latencies: Option<LaneLatencies>,
    /// The lane reads a target back: its waits are charged to that.
    pub reads_back: bool,
    /// Null ends that take the engine's queue.
    pub(super) queued: QueuedNulls,
    clock: &'run Clock,
    flights: Vec<Request>,
    /// Posting may block: the time inside is a wait.
    blocking: bool,
    /// With a bill: what the requests are that were posted and not handed to the system.
    posted: Option<CpuStage>,
    is_metered: bool,
}

impl<'run> Performer<'run> {
    /// A performer without requests in flight. `is_metered`: CPU time is billed by stages.
    pub fn new(
        engine: Engine,
        slots: u32,
        connection: Connection,
        clock: &'run Clock,
        queued: QueuedNulls,
        is_metered: bool,
    ) -> Performer<'run> {
        let is_remote = !matches!(connection, Connection::None);
        let block = Block { file: 0, at: 0, len: 0 };
        let empty = Request { transfer: Transfer::Read, slot: 0, done: 0, block };
        Performer {
            blocking: matches!(engine.kind(), EngineKind::Inline | EngineKind::Sim),
            engine,
            hashes: if is_remote { (0..slots).map(|_| None).collect() } else { Vec::new() },
            sums: if is_remote { vec![None; slots as usize] } else { Vec::new() },
            connection,
            waits: Waits::default(),
            latencies: None,
            reads_back: false,
            queued,
            clock,
            flights: vec![empty; slots as usize],
            posted: None,
            is_metered,
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The second slot of a sink that compares.
    pub(super) fn twin(&self, slot: u32) -> u32 {
        slot + self.flights.len() as u32
    }

    /// Performs a request in this thread if `inline`, else as the engine does.
    #[inline]
    pub(super) fn perform(&mut self, request: Request, op: Op, inline: bool) -> Performed {
        let Request { transfer, slot, .. } = request;
        if let Some(latencies) = &mut self.latencies {
            latencies.post(slot, self.clock.now_ns());
        }
        if inline {
            return Performed::Inline(self.perform_inline(slot, op, transfer));
        }
        self.flights[slot as usize] = request;
        let completion = if self.blocking || transfer == Transfer::Copy {
            self.post_timed(slot, op, transfer)
        } else {
            self.post_queued(slot, op, transfer)
        };
        completion.map_or(Performed::Later, |completion| Performed::Timed(completion.result))
    }

    /// One request at a time costs less than a queue for small files (50,000 files: 1.06 s, by linked ring entries 1.79).
    pub(super) fn perform_inline(&mut self, slot: u32, op: Op, transfer: Transfer) -> Result<u32, Errno> {
        let _stage = within(stage_of(transfer));
        let start_ns = self.now_ns();
        let completion = self.engine.post_inline(slot, op);
        self.charge(side_of(transfer), self.now_ns() - start_ns);
        completion.result
    }

    /// Posts a request that the engine hands to the system with others. A bill cannot tell apart what one call does for both
    /// ends, so that with a bill what is posted for the other end is submitted first.
    #[inline]
    fn post_queued(&mut self, slot: u32, op: Op, transfer: Transfer) -> Option<Completion> {
        if self.is_metered {
            let stage = stage_of(transfer);
            if self.posted.is_some_and(|posted| posted != stage) {
                self.submit();
            }
            self.posted = Some(stage);
        }
        self.engine.post(slot, op)
    }

    /// A request that may block: the time inside is charged to its end.
    fn post_timed(&mut self, slot: u32, op: Op, transfer: Transfer) -> Option<Completion> {
        let _stage = within(stage_of(transfer));
        let start_ns = self.now_ns();
        let completion = self.engine.post(slot, op);
        self.charge(side_of(transfer), self.now_ns() - start_ns);
        completion
    }

    /// What a completion says. A stream that somebody opened with O_NONBLOCK has nothing now: it is waited for here
    /// instead of asked in a loop.
    #[inline]
    pub(super) fn completed(
        &mut self,
        request: Request,
        result: Result<u32, Errno>,
        op: impl Fn() -> Op,
    ) -> Result<u32, Errno> {
        let result = if result == Err(Errno::EAGAIN) { self.wait_inline(request, op) } else { result };
        if let Some(latencies) = &mut self.latencies {
            latencies.complete(request.slot, request.transfer, self.clock.now_ns());
        }
        result
    }

    /// Performs a request in this thread, again and again while it says EAGAIN.
    #[cold]
    fn wait_inline(&mut self, request: Request, op: impl Fn() -> Op) -> Result<u32, Errno> {
        loop {
            match self.perform_inline(request.slot, op(), request.transfer) {
                Err(Errno::EAGAIN) => {}
                result => return result,
            }
        }
    }

    /// Hands posted requests to the system: before this thread does something else for a while. Some file systems perform
    /// them inside of that call (FUSE): between two hosts, where one end is the connection, the time is the other end's.
    pub fn submit(&mut self) {
        let _stage = self.posted.take().map(within);
        let side = match &self.connection {
            Connection::None => None,
            Connection::Send(_) => Some(PumpSide::Source),
            Connection::Receive(_) => Some(PumpSide::Sink),
        };
        let start_ns = side.map(|_| self.now_ns());
        // An error of the engine is reported by its next wait.
        let _ = self.engine.submit();
        if let Some((side, start_ns)) = side.zip(start_ns) {
            self.charge(side, self.now_ns() - start_ns);
        }
    }

    /// A request that the engine has completed, without waiting.
    #[inline]
    pub fn take(&mut self) -> Option<Completed> {
        let completion = self.engine.take()?;
        Some((self.flights[completion.token as usize], completion.result))
    }

    /// Before a wait for the device, where blocks are sent: submits what was posted, then takes a completed request or flushes
    /// the connection. `None` where nothing has completed, and where no blocks are sent.
    pub fn take_or_flush(&mut self) -> Result<Option<Completed>, NetFault> {
        if !self.sends() {
            return Ok(None);
        }
        self.submit();
        match self.take() {
            None => self.flush_connection().map(|()| None),
            completed => Ok(completed),
        }
    }

    /// Submits what was posted, and sends what was put on the connection: before this thread sleeps.
    pub fn flush(&mut self) -> Result<(), NetFault> {
        self.submit();
        self.flush_connection()
    }

    fn flush_connection(&mut self) -> Result<(), NetFault> {
        match &mut self.connection {
            Connection::None => Ok(()),
            Connection::Receive(lane) => lane.flush(),
            Connection::Send(lane) => lane.flush(),
        }
    }

    /// Whether the next block is to be received now. While full blocks wait for the sink the thread takes what has
    /// come already, as opening and hashing it is work; but it waits for the sink, not for more to come.
    pub fn may_receive(&mut self, side: PumpSide) -> bool {
        let Connection::Receive(lane) = &mut self.connection else { return false };
        lane.is_waiting() && (side == PumpSide::Source || lane.has_come())
    }

    /// Whether blocks that came from another host are being written.
    pub fn writes_received(&self) -> bool {
        matches!(self.connection, Connection::Receive(_)) && self.engine.in_flight() > 0
    }

    /// Submits what was posted, and waits for the next reply of the other host. The wait is charged to the source, other time
    /// to hashing. `None`: nothing for the pump, see `LaneReply::Again`.
    pub fn receive_reply(&mut self) -> Result<Option<Answered>, NetFault> {
        self.submit();
        let start_ns = self.now_ns();
        let Connection::Receive(lane) = &mut self.connection else { unreachable!("something was requested") };
        let (before_ns, opened_ns) = (lane.channel.waited_ns(), lane.channel.opening_ns());
        let received = lane.receive_reply(&mut self.engine, || self.clock.now_ns());
        let waited_ns = lane.channel.waited_ns() - before_ns;
        // Time that is no wait is work: bytes are opened and hashed.
        let opened_ns = lane.channel.opening_ns() - opened_ns;
        self.waits.hashing += (self.clock.now_ns() - start_ns).saturating_sub(waited_ns + opened_ns);
        self.charge(PumpSide::Source, waited_ns);
        Ok(match received? {
            LaneReply::Again => None,
            LaneReply::Failed(request, trouble) => {
                Some((request, Settled::Failed(Errno::EIO.0), Some(trouble)))
            }
            LaneReply::Sum(request, digest) => {
                self.sums[request.slot as usize] = Some(digest);
                Some((request, Settled::Moved(request.block.len), None))
            }
            LaneReply::Ended(request, settled, hash) => {
                self.sums[request.slot as usize] = None;
                if let Some(hash) = hash {
                    self.hashes[request.slot as usize] = Some(hash);
                }
                Some((request, settled, None))
            }
        })
    }

    /// Submits what was posted, waits a while for a completion of the engine (`WAIT_MAX` at most), and charges the wait
    /// to this side. Gives its nanoseconds.
    pub fn wait(&mut self, side: PumpSide) -> Result<u64, Errno> {
        let start_ns = self.now_ns();
        // The call hands over what was posted, and waits.
        let stage = self.is_metered.then(|| within(self.posted.take().unwrap_or(CpuStage::Waiting)));
        let waited = self.engine.wait(WAIT_MAX);
        drop(stage);
        let waited_ns = self.now_ns() - start_ns;
        self.charge(side, waited_ns);
        waited.map(|()| waited_ns)
    }

    pub fn charge(&mut self, side: PumpSide, ns: u64) {
        match side {
            _ if self.reads_back => self.waits.verify += ns,
            PumpSide::Source => self.waits.source += ns,
            PumpSide::Sink => self.waits.sink += ns,
        }
    }

    /// Requests a block of another host's file, unless it arrives without a request.
    pub(super) fn request_block(
        &mut self,
        request: Request,
        file: &Arc<dyn RemoteBlocks>,
        is_sum: bool,
    ) -> Posted {
        match self.take_ahead(request, file, is_sum) {
            Ok(None) => {}
            Ok(Some(settled)) => return Posted::Performed(settled),
            Err(fault) => return Posted::lost(fault),
        }
        let Connection::Receive(lane) = &mut self.connection else {
            unreachable!("its source lies at another host")
        };
        lane.request_block(request, file, is_sum, 1, self.clock.now_ns())
            .map_or_else(Posted::lost, |()| Posted::Later)
    }

    /// Waits for a block that arrives without a request, and charges the wait to the source. `None` where it has to be
    /// requested.
    fn take_ahead(
        &mut self,
        request: Request,
        file: &Arc<dyn RemoteBlocks>,
        is_sum: bool,
    ) -> Result<Option<Settled>, NetFault> {
        let Request { block, slot, done: 0, .. } = request else { return Ok(None) };
        let start_ns = self.now_ns();
        let arrived = file.take_ahead(block.at, block.len)?;
        let arrived_ns = self.now_ns();
        // Also where it was waited for in vain.
        self.charge(PumpSide::Source, arrived_ns - start_ns);
        let Some(arrived) = arrived else { return Ok(None) };
        let Connection::Receive(lane) = &mut self.connection else { return Ok(None) };
        let bytes = self.engine.bytes_mut(Slot(slot));
        let taken = lane.take_ahead(arrived, &request, file, is_sum, bytes);
        self.waits.hashing += self.clock.now_ns() - arrived_ns;
        Ok(taken.map(|taken| match taken {
            TakenAhead::Block(hash, len) => {
                (self.hashes[slot as usize], self.sums[slot as usize]) = (hash, None);
                if len == block.len { Settled::Moved(len) } else { Settled::Whole(len) }
            }
            TakenAhead::Sum(digest) => {
                self.sums[slot as usize] = Some(digest);
                Settled::Moved(block.len)
            }
        }))
    }

    /// Sends a block that was read. The time inside calls that send is the network's.
    pub(super) fn send(&mut self, Request { slot, block, .. }: Request) -> Posted {
        let hash = self.hashes[slot as usize].take();
        let digest = hash.map_or([0; 32], |hash| hash.digest());
        let Connection::Send(lane) = &mut self.connection else {
            unreachable!("its sink lies at another host")
        };
        let bytes = &self.engine.bytes(Slot(slot))[..block.len as usize];
        let before_ns = lane.waited_ns();
        let sent = lane.send(block.file, bytes, &digest);
        // The rest of the time is work: bytes are sealed.
        let waited_ns = lane.waited_ns() - before_ns;
        self.charge(PumpSide::Sink, waited_ns);
        sent.map_or_else(Posted::lost, |()| Posted::Done(Settled::Moved(block.len)))
    }

    /// The path to another host, as far as it is known by now.
    pub fn follow(&mut self, round_trip_ns: u64, request_bytes: u32) {
        if let Connection::Receive(lane) = &mut self.connection {
            lane.follow(round_trip_ns, true, request_bytes);
        }
    }

    /// Whether more is to be requested than there are slots for.
    pub fn may_announce(&self, lanes: u32) -> bool {
        matches!(&self.connection, Connection::Receive(lane) if lane.may_announce(lanes))
    }

    /// Requests blocks of another host's file before they are posted.
    pub(super) fn announce(
        &mut self,
        extent: Extent,
        file: &Arc<dyn RemoteBlocks>,
        block_len: u32,
        is_sum: bool,
    ) -> Result<bool, NetFault> {
        let now_ns = self.clock.now_ns();
        let Connection::Receive(lane) = &mut self.connection else { return Ok(false) };
        lane.announce(extent, file, block_len, is_sum, now_ns)
    }

    /// Requests that were under way at another host at most.
    pub fn depth(&self) -> u32 {
        if let Connection::Receive(lane) = &self.connection { lane.depth } else { 0 }
    }

    /// Requests that fill the path to another host, as far as is known.
    pub fn path_depth(&self) -> u32 {
        if let Connection::Receive(lane) = &self.connection { lane.path_depth() } else { 0 }
    }

    /// Blocks go to another host.
    pub fn sends(&self) -> bool {
        matches!(self.connection, Connection::Send(_))
    }

    /// The other host waits no more for what this lane sends.
    pub fn is_cut(&self) -> bool {
        matches!(&self.connection, Connection::Send(lane) if lane.is_cut())
    }

    /// What its connection did.
    pub fn connection_stats(&self) -> ConnectionStats {
        match &self.connection {
            Connection::Receive(lane) => lane.connection_stats(),
            Connection::Send(lane) => lane.stats(),
            Connection::None => ConnectionStats::default(),
        }
    }

    /// Ends the connection, which is lost. Gives the requests for blocks that were under way on it.
    pub fn hang_up(&mut self) -> Vec<Request> {
        match &mut self.connection {
            Connection::Receive(lane) => lane.forget().collect(),
            Connection::Send(lane) => {
                lane.hang_up();
                Vec::new()
            }
            Connection::None => Vec::new(),
        }
    }
}

/// How a request was performed.
pub(super) enum Performed {
    /// In this thread, as one that takes no time worth a look at whether to stop.
    Inline(Result<u32, Errno>),
    /// In this thread, for as long as it took.
    Timed(Result<u32, Errno>),
    Later,
}

impl Performed {
    /// What the end makes of it.
    #[inline]
    pub(super) fn settled(self, settle: impl FnOnce(Result<u32, Errno>) -> Settled) -> Posted {
        match self {
            Performed::Inline(result) => Posted::Done(settle(result)),
            Performed::Timed(result) => Posted::Performed(settle(result)),
            Performed::Later => Posted::Later,
        }
    }
}

fn stage_of(transfer: Transfer) -> CpuStage {
    match transfer {
        Transfer::Read => CpuStage::Read,
        Transfer::Write => CpuStage::Write,
        Transfer::Copy => CpuStage::Copy,
    }
}

fn side_of(transfer: Transfer) -> PumpSide {
    if transfer == Transfer::Read { PumpSide::Source } else { PumpSide::Sink }
}
