//! The connection over which a lane receives blocks: it requests them of another host, and receives them into slots.
//!
//! Requests are put on the connection as they are posted and answered in that order. A block is checked against the
//! digest that was taken where it was read; a damaged one is requested again, alone.
//!
//! How many requests fill the path is learnt from when they were put and answered (`PathWindow`).
//!
//! Must not know: names, what becomes of a block that was received.

use crate::problem::Operation;
use std::sync::Arc;

use datapump_core::wire::frame::{FrameKind, Head};
use datapump_core::wire::peer_request::{Answer, Fault};
use datapump_core::wire::turns::RequestTurns;
use datapump_core::wire::{WireError, decode, encode};
use datapump_core::{Block, PathWindow, Request, Settled};
use datapump_engine::{CpuStage, Engine, Slot, meter::within};
use datapump_transport::{Channel, ConnectionStats, Digest, NetFault};

use crate::file::hash::BlockHash;
use crate::job::budget::OverBudget;
use crate::net::folder::convert::from_wire;
use crate::net::folder::remote_host::{
    ArrivedItem, LONG_BYTES, RemoteFile, TripCounter, TripPhase, TripStamp, named,
};
use crate::net::folder::weight;

/// How often a block is requested that comes damaged.
pub(crate) const TRIES_MAX: u32 = 4;
/// Attributes of a small file that its slot outweighs.
const UNCHARGED_BYTES: usize = 4 << 10;

/// So many requests for small files are sent together while answers are here to work on: each time the other side is
/// woken costs as much as a small file's block.
const SENT_TOGETHER: u32 = 6;

/// The connection, and the blocks that were requested over it.
pub(crate) struct ReceiveLane {
    channel: Channel,
    /// Blocks are checked against the digest that comes with them.
    is_hashed: bool,
    requested: RequestTurns<Requested>,
    window: PathWindow,
    trips: Arc<TripCounter>,
    /// Requests that were put and not sent; any that is not for a small file counts as many.
    unsent: u32,
    /// Of blocks that had to be requested again.
    again_bytes: u64,
}

#[derive(Clone, Debug)]
struct Requested {
    request: Request,
    file: Arc<RemoteFile>,
    tries: u32,
    stamp: TripStamp,
}

/// What came.
pub(super) enum Came {
    /// A request has ended.
    Ended(Request, Settled, Option<BlockHash>),
    /// A block could not be had.
    Failed(Request, Trouble),
    /// A block was damaged and is requested again.
    Again,
}

/// Why a block could not be had.
pub(crate) enum Trouble {
    /// The other host says why.
    Fault(Fault),
    /// The attributes of its file are more than this side may hold.
    Over(OverBudget),
    /// It came damaged each time.
    Damaged,
}

impl ReceiveLane {
    pub(crate) fn new(channel: Channel, is_hashed: bool, trips: Arc<TripCounter>) -> ReceiveLane {
        let (requested, window) = (RequestTurns::default(), PathWindow::default());
        ReceiveLane { channel, is_hashed, requested, window, trips, unsent: 0, again_bytes: 0 }
    }

    /// A path with this round trip, by what was asked over other connections, is filled from the start.
    pub(crate) fn follow(&mut self, round_trip_ns: u64, request_bytes: u32) {
        self.window.begin(round_trip_ns, request_bytes);
    }

    /// Requests that fill the path, as far as is known.
    pub(super) fn path_depth(&self) -> u32 {
        self.window.requests()
    }

    /// What its connection did.
    pub(super) fn connection_stats(&self) -> ConnectionStats {
        ConnectionStats { again_bytes: self.again_bytes, ..self.channel.connection_stats() }
    }

    /// The connection.
    pub(super) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Whether answers are still to come.
    pub(super) fn is_waiting(&self) -> bool {
        self.requested.is_waiting()
    }

    /// Whether something of the next answer is here.
    pub(super) fn has_come(&mut self) -> bool {
        // What is wrong with the connection is told by who receives.
        self.send_together().is_err() || self.channel.has_come().unwrap_or(true)
    }

    /// Sends what was put, or keeps it for a while if there is something to work on: what is here belongs to a request
    /// that was sent, so that nobody waits for what is kept.
    fn send_together(&mut self) -> Result<(), NetFault> {
        if self.unsent < SENT_TOGETHER && self.channel.has_buffered() {
            return Ok(());
        }
        self.unsent = 0;
        self.channel.flush()
    }

    /// Requests a block, sooner or later.
    pub(super) fn request(
        &mut self,
        request: Request,
        file: &Arc<RemoteFile>,
        (tries, now_ns): (u32, u64),
    ) -> Result<(), NetFault> {
        self.window.handle_request(now_ns);
        let Request { block, done, .. } = request;
        let ask = file.asking(block.at + u64::from(done), block.len - done);
        let stamp = self.trips.sent();
        let number = self.requested.ask(Requested { request, file: Arc::clone(file), tries, stamp });
        self.unsent += if matches!(**file, RemoteFile::Small(_)) { 1 } else { SENT_TOGETHER };
        self.channel.put_message(&encode(&ask), number)
    }

    /// Takes a block that came without a request into its slot. `None` where it is not as it should be: then it is
    /// requested, and what is wrong is told.
    pub(super) fn take_ahead(
        &mut self,
        arrived: ArrivedItem,
        request: &Request,
        (file, bytes): (&RemoteFile, &mut [u8]),
    ) -> Option<(Settled, Option<BlockHash>)> {
        let (digest, came) = arrived.block.filter(|(_, came)| came.len() == bytes.len())?;
        bytes.copy_from_slice(&came);
        let hash = {
            let _stage = within(CpuStage::Hash);
            self.is_hashed.then(|| BlockHash::of(request.block, bytes))
        };
        if hash.as_ref().is_some_and(|hash| hash.digest() != digest) {
            self.again_bytes += u64::from(request.block.len);
            return None;
        }
        if matches!(file, RemoteFile::Small(_)) {
            let before = before_block(file, arrived.answer, request.block.len);
            before.ok().filter(|before| matches!(before, BeforeBlock::Block))?;
        }
        Some((Settled::Moved(request.block.len), hash))
    }

    /// Waits for the next answer.
    pub(super) fn receive(
        &mut self,
        engine: &mut Engine,
        now_ns: impl Fn() -> u64,
    ) -> Result<Came, NetFault> {
        self.send_together()?;
        // It stays in the queue until it has ended: a connection that is lost takes all with it that are there.
        let Requested { request, file, tries, stamp } =
            self.requested.next().expect("something was requested").clone();
        let (mut head, mut over) = (self.answer()?, None);
        let replied_ns = now_ns();
        self.window.handle_reply(replied_ns);
        self.trips.answered(stamp, TripPhase::Data);
        if head.kind == FrameKind::Message {
            let body = self.channel.receive_body(head)?;
            let answer = read(&file, &body)?;
            if answer == Answer::End && matches!(*file, RemoteFile::Stream(_)) {
                self.requested.handle_end();
                return Ok(Came::Ended(request, Settled::EndOfData, None));
            }
            match before_block(&file, answer, request.block.len)? {
                BeforeBlock::Nothing(fault) => {
                    self.requested.handle_end();
                    return Ok(Came::Failed(request, Trouble::Fault(fault)));
                }
                BeforeBlock::Block => {}
                BeforeBlock::Over(refusal) => over = Some(refusal),
            }
            head = self.answer()?;
        }
        let (hash, digest) = self.block(engine, head, &request, &file)?;
        self.requested.handle_end();
        if let Some(refusal) = over {
            return Ok(Came::Failed(request, Trouble::Over(refusal)));
        }
        if hash.as_ref().is_none_or(|hash| hash.digest() == digest) {
            return Ok(Came::Ended(request, Settled::Moved(head.len), hash));
        }
        self.again_bytes += u64::from(head.len);
        // What was taken out of a pipe is not there a second time.
        match tries < TRIES_MAX && !matches!(*file, RemoteFile::Stream(_)) {
            true => self.request(request, &file, (tries + 1, replied_ns)).map(|()| Came::Again),
            false => Ok(Came::Failed(request, Trouble::Damaged)),
        }
    }

    fn answer(&mut self) -> Result<Head, NetFault> {
        let head = self.channel.receive_head()?;
        self.requested.handle_head(&head)?;
        Ok(head)
    }

    fn block(
        &mut self,
        engine: &mut Engine,
        head: Head,
        request: &Request,
        file: &RemoteFile,
    ) -> Result<(Option<BlockHash>, Digest), NetFault> {
        let block = Block { len: head.len, ..request.block };
        // The last block of a pipe may be shorter.
        let is_last = matches!(file, RemoteFile::Stream(_)) && head.len > 0 && head.len < request.block.len;
        let fits = head.len == request.block.len || is_last;
        if head.kind != FrameKind::Block || !fits || request.done > 0 {
            return Err(WireError::Unexpected("another block than was asked for").into());
        }
        let (mut digest, bytes) = ([0; 32], &mut engine.bytes_mut(Slot(request.slot))[..block.len as usize]);
        self.channel.receive(&mut digest)?;
        self.channel.receive(bytes)?;
        let _stage = within(CpuStage::Hash);
        Ok((self.is_hashed.then(|| BlockHash::of(block, bytes)), digest))
    }

    /// The connection is lost: what was requested will not come.
    pub(super) fn forget(&mut self) -> impl Iterator<Item = Request> + use<> {
        self.window.forget();
        self.requested.forget().map(|requested| requested.request)
    }
}

fn read(file: &RemoteFile, body: &[u8]) -> Result<Answer, WireError> {
    match file {
        RemoteFile::Small(small) => small.folder.remote_host.read(body),
        _ if body.len() > LONG_BYTES => Err(WireError::Unexpected("so long a message")),
        RemoteFile::Open(_) | RemoteFile::Stream(_) => decode(body),
    }
}

/// What a message before a block means.
enum BeforeBlock {
    /// No block comes.
    Nothing(Fault),
    Block,
    /// A block comes, of a file whose attributes are more than this side may hold.
    Over(OverBudget),
}

fn before_block(file: &RemoteFile, answer: Answer, len: u32) -> Result<BeforeBlock, NetFault> {
    match (answer, file) {
        (Answer::Fault(fault), _) => Ok(BeforeBlock::Nothing(fault)),
        (Answer::File { meta, .. }, RemoteFile::Small(_)) if meta.size_bytes.0 != u64::from(len) => {
            let words =
                Some("changed its length after it was listed; copy again when the source is quiet".into());
            Ok(BeforeBlock::Nothing(Fault {
                operation: Operation::Read.words().into(),
                errno: None,
                words,
                class: None,
            }))
        }
        (Answer::File { meta, attributes, .. }, RemoteFile::Small(small)) => {
            let bytes = weight::of_attributes(&attributes);
            if bytes > UNCHARGED_BYTES {
                match small.folder.remote_host.charge(bytes) {
                    Ok(charge) => drop(small.charge.set(charge)),
                    Err(over) => return Ok(BeforeBlock::Over(over)),
                }
            }
            let _ = small.told.set((from_wire(&meta), named(attributes)));
            Ok(BeforeBlock::Block)
        }
        _ => Err(WireError::Unexpected("another answer than was asked for").into()),
    }
}
