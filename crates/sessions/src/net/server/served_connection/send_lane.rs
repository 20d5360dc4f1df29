//! The connection over which a lane sends blocks: what another host requested, in the order of its requests.
//!
//! Each request is answered in its turn: a block when it was read, everything else when it is next. Where the other
//! host lets it walk ahead, it answers requests that were not sent ([`AheadSender`]).
//!
//! Must not know: which tasks read the blocks, who requests them, why.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use datapump_core::wire::bounds::FileSize;
use datapump_core::wire::frame::DIGEST_BYTES;
use datapump_core::wire::peer_request::walk_ahead::{AHEAD, AheadScope, WalkAhead};
use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest, READ_ON_MAX};
use datapump_core::wire::turns::ReplyTurns;
use datapump_core::wire::{WireError, decode, encode};
use datapump_transport::{Channel, ConnectionStats, Digest, NetFault};

use super::ahead_sender::AheadSender;
use crate::end::BlockSender;
use crate::net::folder::convert::changed;
use crate::net::folder::given_file::GivenFile;
use crate::net::folder::handle_table::HandleTable;
use crate::net::folder::owners::Telling;
use crate::setup::budget::Charge;

/// Requests that are taken before the first of them is answered; honest ones are a quarter of it. The others stay in
/// the connection.
const REQUESTED_MAX: usize = 64;

/// The connection, and what was requested over it.
pub(crate) struct SendLane {
    channel: Channel,
    /// What this side has open for the other.
    pub(super) handles: Arc<HandleTable>,
    requested: ReplyTurns<RequestTurn>,
    owners: Telling,
    /// Streams by task; with what is answered to whoever requests more of one that has ended or failed.
    pub(super) streams: Vec<(u32, Option<Answer>)>,
    /// The answers that are sent before they are requested, where the other host wants that.
    ahead: Option<AheadSender>,
    /// Blocks that were requested together, as far as they are not taken.
    run: Option<ReadRun>,
    /// Files that are looked at behind their blocks.
    looks: VecDeque<BlockLook>,
    /// Bytes of the largest block that is read.
    request_bytes: u32,
    /// Nothing more will be requested.
    pub(super) is_over: bool,
}

/// The last of blocks that were requested together, their file, and where in it they are.
type BlockLook = (u64, u64, (u64, u64));

/// What was requested, until it is answered.
enum RequestTurn {
    Reading(Reading),
    /// It can be answered when its turn comes.
    Ready(Box<Answer>),
    /// A request for no block is looked at when its turn comes: answers are made only to be sent.
    Waiting(Box<PeerRequest>),
}

/// Blocks that were requested together.
struct ReadRun {
    file: u64,
    first: u64,
    at: u64,
    end: u64,
    block_len: u32,
    /// Of the next block.
    number: u64,
    sum: Option<bool>,
}

impl ReadRun {
    /// Errors: more blocks than may be requested together, or none.
    fn new(
        number: u64,
        file: u64,
        at: u64,
        len: u64,
        block_len: u32,
        sum: Option<bool>,
    ) -> Result<ReadRun, WireError> {
        let blocks = len.div_ceil(block_len.max(1).into());
        match at.checked_add(len) {
            Some(end) if block_len > 0 && (1..=READ_ON_MAX).contains(&blocks) => {
                Ok(ReadRun { file, first: at, at, end, block_len, number, sum })
            }
            _ => Err(WireError::Unexpected("a request for so many blocks")),
        }
    }

    /// The request for the next block and its number; whether it is the last one.
    fn next(&mut self) -> (PeerRequest, u64, bool) {
        let len = u64::from(self.block_len).min(self.end - self.at) as u32;
        let ask = PeerRequest::Read { file: self.file, at: FileSize(self.at), len, sum: self.sum };
        let number = self.number;
        (self.at, self.number) = (self.at + u64::from(len), number.wrapping_add(1));
        (ask, number, self.at == self.end)
    }
}

/// A block that is being read.
pub(crate) struct Reading {
    /// The task that reads it.
    pub(crate) task: u32,
    /// Bytes that were requested.
    pub(crate) len: u32,
    /// The answer that is sent before the block.
    pub(crate) head: Option<Box<Answer>>,
    /// Its digest is sent instead of it.
    pub(crate) is_sum: bool,
    /// A small file, which must stand still meanwhile.
    pub(crate) small: Option<Arc<GivenFile>>,
    /// What the answer takes, where that is much.
    pub(crate) _charge: Option<Charge>,
}

impl SendLane {
    pub(crate) fn new(channel: Channel, handles: Arc<HandleTable>, request_bytes: u32) -> SendLane {
        let (requested, owners, streams) = (ReplyTurns::new(REQUESTED_MAX), Telling::default(), Vec::new());
        let (ahead, run, looks, is_over) = (None, None, VecDeque::new(), false);
        SendLane { channel, handles, requested, owners, streams, ahead, run, looks, request_bytes, is_over }
    }

    /// The next request that has come, or that a walk ahead leads to, and its number. `None` when there is none now, or
    /// never again.
    pub(super) fn next_request(&mut self) -> Result<Option<(PeerRequest, u64)>, NetFault> {
        while !self.is_over && self.requested.has_room() {
            // What was requested behind it stays in the connection until then.
            if let Some(next) = self.next_of_run() {
                return Ok(Some(next));
            }
            let received = match self.channel.has_come() {
                Ok(false) => return Ok(self.next_ahead()),
                Ok(true) => self.channel.receive_request(),
                Err(fault) => Err(fault),
            };
            match received {
                // The peer hangs up when it has all that it wanted, also while more of it is on its way.
                Err(NetFault::Lost(_)) if self.requested.is_empty() || self.ahead.is_some() => {
                    self.hang_up();
                }
                received => {
                    let (body, number) = received?;
                    match self.handle_walk_request(decode(&body)?)? {
                        Some(PeerRequest::ReadOn { file, at, len, block_len, sum }) => {
                            self.run = Some(ReadRun::new(number, file, at.0, len.0, block_len, sum)?);
                        }
                        Some(ask) => return Ok(Some((ask, number))),
                        None => {}
                    }
                }
            }
        }
        Ok(None)
    }

    /// The next block of a run that was requested by one message. Behind the last one the file is looked at again.
    fn next_of_run(&mut self) -> Option<(PeerRequest, u64)> {
        let run = self.run.as_mut()?;
        let (ask, number, is_last) = run.next();
        if is_last {
            let look = (number, run.file, (run.first, run.end - run.first));
            self.run = None;
            self.put_look(look);
        }
        Some((ask, number))
    }

    /// Those of blocks that are not answered yet are fewer than are kept.
    fn put_look(&mut self, look: BlockLook) {
        self.looks.push_back(look);
        if self.looks.len() > REQUESTED_MAX {
            self.looks.pop_front();
        }
    }

    /// The next request that the walk ahead makes, as far as credit and slots go.
    fn next_ahead(&mut self) -> Option<(PeerRequest, u64)> {
        let under_way = self.under_way_bytes();
        let ahead = self.ahead.as_mut()?;
        let (number, ask) = ahead.poll(under_way)?;
        if let PeerRequest::Read { file, at, len, .. } = &ask
            && ahead.walk.looks()
        {
            self.put_look((number, *file, (at.0, u64::from(*len))));
        }
        Some((ask, number))
    }

    /// Bytes of blocks that are being read.
    fn under_way_bytes(&self) -> u64 {
        let bytes = |turn: &RequestTurn| match turn {
            RequestTurn::Reading(reading) => reading.len.into(),
            RequestTurn::Ready(_) | RequestTurn::Waiting(_) => 0,
        };
        self.requested.iter().map(bytes).sum()
    }

    /// Handles what is requested about a walk ahead; gives other requests back.
    ///
    /// Errors: a request that does not fit the session.
    fn handle_walk_request(&mut self, ask: PeerRequest) -> Result<Option<PeerRequest>, NetFault> {
        match (ask, &mut self.ahead) {
            (
                PeerRequest::Ahead {
                    credit,
                    file_bytes_max,
                    with_attributes,
                    sums: sum,
                    empty_files,
                    places_alone,
                    looks,
                    any_length,
                },
                None,
            ) => {
                let file_bytes_max = file_bytes_max.min(self.request_bytes);
                let scope = AheadScope {
                    file_bytes_max,
                    with_attributes,
                    sum,
                    empty_files: empty_files == Some(true),
                    places_alone: places_alone == Some(true),
                    looks: looks == Some(true),
                    any_length: any_length == Some(true),
                };
                let walk = WalkAhead::new(self.handles.places(), scope);
                match AheadSender::new(walk, credit, self.handles.share()) {
                    Some(ahead) => self.ahead = Some(ahead),
                    // The other side requests everything then.
                    None => self.hang_up(),
                }
            }
            (PeerRequest::Credit(bytes), Some(ahead)) => ahead.credit.handle_grant(bytes),
            (PeerRequest::Unwanted(numbers), Some(_)) => {
                numbers.into_iter().try_for_each(|number| self.drop_ahead(number))?;
            }
            (PeerRequest::Ahead { .. } | PeerRequest::Credit(_) | PeerRequest::Unwanted(_), _) => {
                return Err(WireError::Unexpected("a request about what is sent ahead").into());
            }
            // The numbers of its requests would be those of what is sent ahead.
            (_, Some(_)) => return Err(WireError::Unexpected("a request where all is sent ahead").into()),
            (ask, None) => return Ok(Some(ask)),
        }
        Ok(None)
    }

    /// What has this number is not sent any more, and what does not come is told.
    fn drop_ahead(&mut self, number: u64) -> Result<(), NetFault> {
        let done = self.ahead.as_mut().map(|ahead| ahead.walk.handle_unwanted(number)).unwrap_or_default();
        if done.contains(&number) {
            self.leave(number)?;
        }
        done.into_iter().try_for_each(|number| self.reply(number, Answer::Done))
    }

    /// A folder that was opened ahead is not needed any more.
    fn leave(&self, number: u64) -> Result<(), NetFault> {
        self.handles.answer(PeerRequest::Leave(AHEAD | number), &mut |_| Ok(()))
    }

    /// A request whose block is being read.
    pub(super) fn read(&mut self, number: u64, reading: Reading) {
        self.requested.handle_ask(number, RequestTurn::Reading(reading));
    }

    /// A request that can be answered at once when its turn comes.
    pub(super) fn reply(&mut self, number: u64, answer: Answer) -> Result<(), NetFault> {
        self.requested.handle_ask(number, RequestTurn::Ready(Box::new(answer)));
        self.answer_ready()
    }

    /// A request that is looked at when its turn comes.
    pub(super) fn look_up(&mut self, number: u64, ask: PeerRequest) -> Result<(), NetFault> {
        self.requested.handle_ask(number, RequestTurn::Waiting(Box::new(ask)));
        self.answer_ready()
    }

    /// The connection is lost.
    fn hang_up(&mut self) {
        self.is_over = true;
        self.requested.forget();
    }

    /// Waits until something may have been requested. Whether it was.
    pub(super) fn wait(&mut self, patience: Duration) -> Result<bool, NetFault> {
        self.channel.flush()?;
        self.channel.line_check()?;
        let under_way = self.under_way_bytes();
        let goes_on = self.ahead.as_ref().is_some_and(|ahead| ahead.has_next(under_way));
        if goes_on { Ok(true) } else { self.channel.has_input(patience) }
    }

    /// The answer to a request for more of a stream that is over.
    pub(super) fn ended(&self, task: u32) -> Option<&Answer> {
        self.streams.iter().find(|(stream, _)| *stream == task).and_then(|(_, ended)| ended.as_ref())
    }

    /// Sends what is ready, then a block that was read, or its digest, and what may follow it. A small file that changed
    /// meanwhile is answered by a fault.
    fn send(&mut self, task: u32, bytes: &[u8], digest: &Digest) -> Result<(), NetFault> {
        self.answer_ready()?;
        let Some((number, RequestTurn::Reading(reading))) = self.requested.poll_answer(|_| true) else {
            return Err(NetFault::Protocol("a block that nobody asked for was read".into()));
        };
        debug_assert_eq!(reading.task, task, "blocks are sent as they were requested");
        let Reading { len, head, is_sum, small, _charge, .. } = reading;
        let handles = Arc::clone(&self.handles);
        let head = match small {
            Some(given) => handles.check_small(&given, bytes, head),
            None => Ok(head),
        };
        let Ok(head) = head else {
            self.put(Answer::Fault(changed(CHANGED, None)), number)?;
            return self.answer_ready();
        };
        head.map_or(Ok(()), |head| self.put(*head, number))?;
        self.look_behind(number)?;
        if is_sum {
            self.put(Answer::Sum(*digest), number)?;
            return self.answer_ready();
        }
        self.channel.put_block(bytes, digest, number)?;
        if let Some(ahead) = &mut self.ahead {
            ahead.credit.handle_frame(DIGEST_BYTES as usize + bytes.len());
        }
        if bytes.len() < len as usize {
            self.stream_is_over(task, &Answer::End);
        }
        self.answer_ready()
    }

    /// Puts an answer before the last of blocks that were requested together: what their file is, now that they are
    /// read.
    fn look_behind(&mut self, number: u64) -> Result<(), NetFault> {
        // Of those that could not be read none is sent.
        while self.looks.pop_front_if(|(last, ..)| *last < number).is_some() {}
        let Some((_, file, blocks)) = self.looks.pop_front_if(|(last, ..)| *last == number) else {
            return Ok(());
        };
        // Where it cannot be told it is requested.
        self.handles.look_behind(file, blocks).map_or(Ok(()), |answer| self.put(answer, number))
    }

    /// Files are requested by blocks, each for itself; a stream that has ended or failed answers so from now on.
    fn stream_is_over(&mut self, task: u32, answer: &Answer) {
        if let Some((_, ended)) = self.streams.iter_mut().find(|(stream, _)| *stream == task) {
            *ended = Some(answer.clone());
        }
    }

    /// Answers the first request of a block that cannot be sent, in its turn.
    fn answer_instead(&mut self, task: u32, answer: Answer) -> Result<(), NetFault> {
        self.stream_is_over(task, &answer);
        let is_it =
            |turn: &RequestTurn| matches!(turn, RequestTurn::Reading(reading) if reading.task == task);
        if let Some(turn) = self.requested.find(is_it) {
            *turn = RequestTurn::Ready(Box::new(answer));
        }
        self.answer_ready()
    }

    /// Puts the answers on the connection whose turn it is, up to the next block that is being read. They are sent
    /// before the next wait.
    fn answer_ready(&mut self) -> Result<(), NetFault> {
        while let Some((number, turn)) =
            self.requested.poll_answer(|turn| !matches!(turn, RequestTurn::Reading(_)))
        {
            match turn {
                RequestTurn::Ready(answer) => self.put(*answer, number)?,
                RequestTurn::Waiting(ask) => {
                    let handles = Arc::clone(&self.handles);
                    handles.answer(*ask, &mut |answer| self.put(answer, number))?;
                }
                RequestTurn::Reading(_) => unreachable!("it was looked at above"),
            }
        }
        Ok(())
    }

    /// Puts an answer on the connection, with names of its owners. One that became unwanted is left, and reported as done.
    fn put(&mut self, mut answer: Answer, number: u64) -> Result<(), NetFault> {
        let SendLane { channel, handles, owners, ahead, .. } = self;
        let is_unwanted = ahead.as_mut().is_some_and(|ahead| ahead.handle_answer(number, &mut answer));
        let put = &mut |answer| {
            let body = encode(&answer);
            ahead.iter_mut().for_each(|ahead| ahead.credit.handle_frame(body.len()));
            channel.put_message(&body, number)
        };
        owners.send_with_names(answer, &handles.own_names, put)?;
        if is_unwanted {
            self.leave(number)?;
            return self.put(Answer::Done, number);
        }
        Ok(())
    }
}

/// The connection as the lane has it that sends over it; the work of that lane has it, too.
pub(super) struct SharedLane(pub(super) Rc<RefCell<SendLane>>);

impl BlockSender for SharedLane {
    fn send(&mut self, task: u32, bytes: &[u8], digest: &Digest) -> Result<(), NetFault> {
        self.0.borrow_mut().send(task, bytes, digest)
    }

    fn end(&mut self, task: u32) -> Result<(), NetFault> {
        self.0.borrow_mut().answer_instead(task, Answer::End)
    }

    fn fail(&mut self, task: u32, fault: Fault) -> Result<(), NetFault> {
        self.0.borrow_mut().answer_instead(task, Answer::Fault(fault))
    }

    fn flush(&mut self) -> Result<(), NetFault> {
        self.0.borrow_mut().channel.flush()
    }

    fn hang_up(&mut self) {
        self.0.borrow_mut().hang_up();
    }

    fn is_cut(&self) -> bool {
        self.0.borrow().channel.line_check().is_err()
    }

    fn waited_ns(&self) -> u64 {
        self.0.borrow().channel.waited_ns()
    }

    fn stats(&self) -> ConnectionStats {
        self.0.borrow().channel.connection_stats()
    }
}

/// A small file did not stand still while it was read.
pub(super) const CHANGED: &str = "changed while it was read";
