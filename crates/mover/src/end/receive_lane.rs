//! The connection over which a lane receives blocks: it requests them of another host, and receives them into slots.
//!
//! Requests are put on the connection as they are posted and answered in that order. A block is checked against the
//! digest that was taken where it was read; a damaged one is requested again, alone.
//!
//! How many requests fill the path is learnt from when they were put and answered (`PathWindow`).
//!
//! Must not know: names, what becomes of a block that was received.

use std::sync::Arc;

use datapump_core::wire::bounds::FileSize;
use datapump_core::wire::frame::{DIGEST_BYTES, FrameKind, Head};
use datapump_core::wire::peer_request::{Answer, PeerRequest, READ_ON_MAX};
use datapump_core::wire::turns::RequestTurns;
use datapump_core::wire::{WireError, encode};
use datapump_core::{Block, Extent, Length, PathWindow, Request, Settled};
use datapump_engine::{CpuStage, Engine, Slot, meter::within};
use datapump_transport::{Channel, ConnectionStats, Digest, NetFault};

use super::{ArrivedItem, BeforeBlock, RemoteBlocks, RemoteKind, Trouble};
use crate::end::hash::BlockHash;
use crate::report::latency::round_trips::{TripCounter, TripPhase, TripStamp};

/// How often a block is requested that comes damaged.
pub const TRIES_MAX: u32 = 4;
/// Requests for small files that are sent together while answers wait here, at most three of four that may be under
/// way: each time the other side is woken costs as much as a small file's block. 50,000 files over loopback, beside 6:
/// 12 takes 0.96 of the CPU of both ends and 0.97 of the time; 24 of 32 takes 0.94 and 0.96, with twice the slots.
const SENT_TOGETHER: u32 = 12;

/// The connection, and the blocks that were requested over it.
pub struct ReceiveLane {
    pub(super) channel: Channel,
    /// Blocks are checked against the digest that comes with them.
    is_hashed: bool,
    requested: RequestTurns<Requested>,
    /// Of those, how many have a slot, and how many have none yet.
    posted: u32,
    announced: u32,
    /// What was requested last was announced.
    announces: bool,
    /// The most that was under way.
    pub(super) depth: u32,
    window: PathWindow,
    trips: Arc<TripCounter>,
    /// Requests that were put and not sent; any that is not for a small file counts as many.
    unsent: u32,
    /// Of blocks that had to be requested again.
    again_bytes: u64,
}

#[derive(Clone, Debug)]
struct Requested {
    block: Block,
    file: Arc<dyn RemoteBlocks>,
    tries: u32,
    stamp: TripStamp,
    turn: BlockTurn,
    /// Its digest comes instead of it.
    is_sum: bool,
    /// Bytes of the blocks that were requested together and end with this one, which is looked at with it.
    looked_bytes: u64,
}

/// What becomes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockTurn {
    /// It has a slot.
    Posted(Request),
    /// It was requested with others, and its slot comes later.
    Announced,
}

/// What the next answer means for the pump.
pub(super) enum LaneReply {
    /// A request has ended.
    Ended(Request, Settled, Option<BlockHash>),
    /// The digest of a block that was requested instead of it.
    Sum(Request, Digest),
    /// A block could not be had.
    Failed(Request, Trouble),
    /// Nothing for the pump: a damaged block is requested again, or an announced block was passed over.
    Again,
}

/// A block that arrived without a request, or its digest.
pub(super) enum TakenAhead {
    /// With its length, which may be another than was listed.
    Block(Option<BlockHash>, u32),
    /// Of a block that is compared.
    Sum(Digest),
}

impl ReceiveLane {
    /// A lane with no request under way. `is_hashed`: blocks are hashed as they arrive.
    pub fn new(channel: Channel, is_hashed: bool, trips: Arc<TripCounter>) -> ReceiveLane {
        ReceiveLane {
            channel,
            is_hashed,
            requested: RequestTurns::default(),
            posted: 0,
            announced: 0,
            announces: false,
            depth: 0,
            window: PathWindow::default(),
            trips,
            unsent: 0,
            again_bytes: 0,
        }
    }

    /// A path with this round trip, by what was asked over other connections, is filled from the start.
    /// `announces`: requests of large files need no slots for that.
    pub fn follow(&mut self, round_trip_ns: u64, announces: bool, request_bytes: u32) {
        self.announces = announces;
        self.window.begin(round_trip_ns, request_bytes);
    }

    /// Requests that fill the path, as far as is known, where each needs a slot.
    pub(super) fn path_depth(&self) -> u32 {
        if self.announces { 0 } else { self.window.requests() }
    }

    /// What its connection did.
    pub(super) fn connection_stats(&self) -> ConnectionStats {
        ConnectionStats { again_bytes: self.again_bytes, ..self.channel.connection_stats() }
    }

    /// Whether blocks are still to come that have a slot.
    pub(super) fn is_waiting(&self) -> bool {
        self.posted > 0
    }

    /// Whether more is to be requested before there are slots for it, to fill the path: this lane's part of it.
    pub(super) fn may_announce(&self, lanes: u32) -> bool {
        (self.requested.len() as u64)
            < u64::from(self.window.requests()).min(READ_ON_MAX) / u64::from(lanes.max(1))
    }

    /// Requests the blocks of an extent by one message, before they are posted. False where each has to be requested alone.
    pub(super) fn announce(
        &mut self,
        extent: Extent,
        file: &Arc<dyn RemoteBlocks>,
        block_len: u32,
        is_sum: bool,
        now_ns: u64,
    ) -> Result<bool, NetFault> {
        let (Length::Bytes(bytes), Some(number)) = (extent.length, file.number()) else {
            return Ok(false);
        };
        let blocks = bytes.div_ceil(block_len.into());
        if !(2..=READ_ON_MAX).contains(&blocks) {
            return Ok(false);
        }
        let (mut at, end, stamp) = (extent.at, extent.at + bytes, self.trips.sent());
        let mut first = None;
        while at < end {
            let len = u64::from(block_len).min(end - at) as u32;
            let (block, file) = (Block { file: extent.file, at, len }, Arc::clone(file));
            at += u64::from(len);
            let looked_bytes = if at == end { bytes } else { 0 };
            self.window.handle_request(now_ns);
            let turn = BlockTurn::Announced;
            let number =
                self.requested.ask(Requested { block, file, tries: 1, stamp, turn, is_sum, looked_bytes });
            first.get_or_insert(number);
        }
        file.expect_look(bytes);
        self.announces = true;
        self.announced += blocks as u32;
        self.depth = self.depth.max(self.requested.len() as u32);
        self.unsent += SENT_TOGETHER;
        let (at, len) = (FileSize(extent.at), FileSize(bytes));
        let ask = PeerRequest::ReadOn { file: number, at, len, block_len, sum: is_sum.then_some(true) };
        self.channel.put_message(&encode(&ask), first.expect("two blocks or more")).map(|()| true)
    }

    /// Gives an announced block the slot of its request. False if it was not announced.
    fn attach(&mut self, request: Request) -> bool {
        let is_it = |requested: &Requested| {
            requested.turn == BlockTurn::Announced && requested.block == request.block
        };
        let announced = if self.announced > 0 { self.requested.find(is_it) } else { None };
        let Some(announced) = announced else { return false };
        announced.turn = BlockTurn::Posted(request);
        (self.announced, self.posted) = (self.announced - 1, self.posted + 1);
        true
    }

    /// Whether something of the next answer is here, and has a slot.
    pub(super) fn has_come(&mut self) -> bool {
        if self.requested.next().is_none_or(|next| next.turn == BlockTurn::Announced) {
            return false;
        }
        // An error of the connection is reported by the receiver.
        self.send_together().is_err() || self.channel.has_come().unwrap_or(true)
    }

    /// Sends what was put, or keeps it for a while if there is something to work on: what is here belongs to a request
    /// that was sent, so that nobody waits for what is kept.
    fn send_together(&mut self) -> Result<(), NetFault> {
        if self.unsent < SENT_TOGETHER.min(self.depth * 3 / 4) && self.channel.has_buffered() {
            return Ok(());
        }
        self.flush()
    }

    /// Sends the requests that were put.
    pub(super) fn flush(&mut self) -> Result<(), NetFault> {
        self.unsent = 0;
        self.channel.flush()
    }

    /// Requests a block, by a message that may be held back and sent with others. One that was announced gets its slot only.
    /// `tries`: how often it is requested, with this time.
    pub(super) fn request_block(
        &mut self,
        request: Request,
        file: &Arc<dyn RemoteBlocks>,
        is_sum: bool,
        tries: u32,
        now_ns: u64,
    ) -> Result<(), NetFault> {
        let Request { block, done, .. } = request;
        let is_first = (tries, done) == (1, 0);
        if is_first && self.attach(request) {
            return Ok(());
        }
        self.announces = false;
        self.window.handle_request(now_ns);
        let (ask, looked_bytes) = match is_first.then(|| file.request_looked(block, is_sum)).flatten() {
            Some(ask) => (ask, u64::from(block.len)),
            _ => {
                file.doubt_looks();
                (file.request(block.at + u64::from(done), block.len - done, is_sum), 0)
            }
        };
        let (stamp, turn) = (self.trips.sent(), BlockTurn::Posted(request));
        let file_again = Arc::clone(file);
        let requested = Requested { block, file: file_again, tries, stamp, turn, is_sum, looked_bytes };
        let number = self.requested.ask(requested);
        self.posted += 1;
        self.depth = self.depth.max(self.requested.len() as u32);
        self.unsent += if file.kind() == RemoteKind::Small { 1 } else { SENT_TOGETHER };
        self.channel.put_message(&encode(&ask), number)
    }

    /// Takes a block that came without a request into its slot. `None` where it is not as it should be: then it is
    /// requested, and what is wrong is reported. The slot has room for any block.
    pub(super) fn take_ahead(
        &mut self,
        arrived: ArrivedItem,
        request: &Request,
        file: &Arc<dyn RemoteBlocks>,
        is_sum: bool,
        bytes: &mut [u8],
    ) -> Option<TakenAhead> {
        let (digest, block) = arrived.block?;
        // The answer about a file counts only with what it is followed by.
        let reported_len = || match (&*arrived.answer, file.kind()) {
            (Answer::Meta { .. }, RemoteKind::Open) | (_, RemoteKind::Small) => {
                let (answer, charge) = arrived.answer.into_parts();
                let looked_bytes = request.block.len.into();
                match file.before_block(looked_bytes, answer, Some(charge), request.block.len) {
                    Ok(BeforeBlock::Block(len, None)) => Some(len),
                    _ => None,
                }
            }
            _ => Some(request.block.len),
        };
        if is_sum && block.is_empty() {
            return reported_len().map(|_| TakenAhead::Sum(digest));
        }
        let len = block.len() as u32;
        let bytes = bytes.get_mut(..block.len())?;
        bytes.copy_from_slice(&block);
        let hash = {
            let _stage = within(CpuStage::Hash);
            self.is_hashed.then(|| BlockHash::from_bytes(Block { len, ..request.block }, bytes))
        };
        if hash.as_ref().is_some_and(|hash| hash.digest() != digest) {
            self.again_bytes += u64::from(len);
            return None;
        }
        (reported_len() == Some(len)).then_some(TakenAhead::Block(hash, len))
    }

    /// Sends what is held back, waits for the next answer, and checks the block. A damaged one is requested again, until it was
    /// requested too often.
    pub(super) fn receive_reply(
        &mut self,
        engine: &mut Engine,
        now_ns: impl Fn() -> u64,
    ) -> Result<LaneReply, NetFault> {
        self.send_together()?;
        // It stays in the queue until it has ended: a connection that is lost takes all with it that are there.
        let Requested { block, file, tries, stamp, turn, is_sum, looked_bytes } =
            self.requested.next().expect("something was requested").clone();
        let BlockTurn::Posted(request) = turn else {
            self.pass_over(&*file, block, is_sum)?;
            self.window.handle_reply(now_ns());
            return Ok(LaneReply::Again);
        };
        let failed = |trouble| LaneReply::Failed(request, trouble);
        let (mut head, mut len, mut trouble) = (self.answer()?, block.len, None);
        let replied_ns = now_ns();
        self.window.handle_reply(replied_ns);
        self.trips.answered(stamp, TripPhase::Data);
        if head.kind == FrameKind::Message {
            let body = self.channel.receive_body(head)?;
            let answer = file.read(&body)?;
            if answer == Answer::End && file.kind() == RemoteKind::Stream {
                self.handle_end();
                return Ok(LaneReply::Ended(request, Settled::EndOfData, None));
            }
            if let (Answer::Sum(digest), true) = (&answer, is_sum) {
                self.handle_end();
                return Ok(LaneReply::Sum(request, *digest));
            }
            match file.before_block(looked_bytes, answer, None, block.len)? {
                BeforeBlock::Nothing(fault) => {
                    self.handle_end();
                    return Ok(failed(Trouble::Fault(fault)));
                }
                BeforeBlock::Block(bytes, why) => (len, trouble) = (bytes, why),
            }
            if len == 0 {
                self.handle_end();
                return Ok(trouble.map_or(LaneReply::Ended(request, Settled::Whole(0), None), failed));
            }
            head = self.answer()?;
        }
        if is_sum {
            return self.sum_of(request, head, &*file, trouble);
        }
        let (hash, digest) =
            self.receive_block(engine, head, &Request { block: Block { len, ..block }, ..request }, &*file)?;
        self.handle_end();
        if let Some(trouble) = trouble {
            return Ok(failed(trouble));
        }
        if hash.as_ref().is_none_or(|hash| hash.digest() == digest) {
            let settled = if len == block.len { Settled::Moved } else { Settled::Whole };
            return Ok(LaneReply::Ended(request, settled(head.len), hash));
        }
        self.again_bytes += u64::from(head.len);
        // What was taken out of a pipe is not there a second time.
        if tries < TRIES_MAX && file.kind() != RemoteKind::Stream {
            self.request_block(request, &file, false, tries + 1, replied_ns).map(|()| LaneReply::Again)
        } else {
            Ok(LaneReply::Failed(request, Trouble::Damaged))
        }
    }

    /// Receives the digest of a block, and ends its request; with `trouble` it fails for that.
    fn sum_of(
        &mut self,
        request: Request,
        head: Head,
        file: &dyn RemoteBlocks,
        trouble: Option<Trouble>,
    ) -> Result<LaneReply, NetFault> {
        let digest = self.sum(head, file)?;
        self.handle_end();
        Ok(trouble.map_or(LaneReply::Sum(request, digest), |trouble| LaneReply::Failed(request, trouble)))
    }

    /// The digest that is sent instead of a block.
    fn sum(&mut self, head: Head, file: &dyn RemoteBlocks) -> Result<Digest, NetFault> {
        if head.kind == FrameKind::Message {
            let body = self.channel.receive_body(head)?;
            if let Answer::Sum(digest) = file.read(&body)? {
                return Ok(digest);
            }
        }
        Err(WireError::Unexpected("another thing than a digest").into())
    }

    /// The first block that has a slot has come.
    fn handle_end(&mut self) {
        self.requested.handle_end();
        self.posted -= 1;
    }

    /// Receives and drops an announced block that the pump does not wait for: its file was given up, or a damaged block is
    /// requested again first.
    fn pass_over(&mut self, file: &dyn RemoteBlocks, block: Block, is_sum: bool) -> Result<(), NetFault> {
        self.announced -= 1;
        file.doubt_looks();
        let mut head = self.answer()?;
        if head.kind == FrameKind::Message {
            let body = self.channel.receive_body(head)?;
            if !matches!(file.read(&body)?, Answer::Meta { .. }) {
                self.requested.handle_end();
                return Ok(());
            }
            head = self.answer()?;
        }
        if is_sum {
            self.sum(head, file)?;
            self.requested.handle_end();
            return Ok(());
        }
        if head.kind != FrameKind::Block || head.len != block.len {
            return Err(WireError::Unexpected("another block than was asked for").into());
        }
        self.again_bytes += u64::from(block.len);
        let mut bytes = vec![0; DIGEST_BYTES as usize + block.len as usize];
        self.channel.receive(&mut bytes)?;
        self.requested.handle_end();
        Ok(())
    }

    fn answer(&mut self) -> Result<Head, NetFault> {
        let head = self.channel.receive_head()?;
        self.requested.handle_head(&head)?;
        Ok(head)
    }

    /// Receives a block into its slot, with the digest that the sender took, and hashes it if this lane hashes.
    ///
    /// Errors: it is another block than was requested.
    fn receive_block(
        &mut self,
        engine: &mut Engine,
        head: Head,
        request: &Request,
        file: &dyn RemoteBlocks,
    ) -> Result<(Option<BlockHash>, Digest), NetFault> {
        let block = Block { len: head.len, ..request.block };
        // The last block of a pipe may be shorter.
        let is_last = file.kind() == RemoteKind::Stream && head.len > 0 && head.len < request.block.len;
        let fits = head.len == request.block.len || is_last;
        if head.kind != FrameKind::Block || !fits || request.done > 0 {
            return Err(WireError::Unexpected("another block than was asked for").into());
        }
        let (mut digest, bytes) = ([0; 32], &mut engine.bytes_mut(Slot(request.slot))[..block.len as usize]);
        self.channel.receive(&mut digest)?;
        self.channel.receive(bytes)?;
        let _stage = within(CpuStage::Hash);
        Ok((self.is_hashed.then(|| BlockHash::from_bytes(block, bytes)), digest))
    }

    /// Forgets all requests, whose replies will not come since the connection is lost, and gives them.
    pub(super) fn forget(&mut self) -> impl Iterator<Item = Request> + use<> {
        self.window.forget();
        (self.posted, self.announced) = (0, 0);
        self.requested.forget().filter_map(|requested| match requested.turn {
            BlockTurn::Posted(request) => Some(request),
            BlockTurn::Announced => None,
        })
    }
}
