//! The connection over which a lane sends blocks: what another host requested, in the order of its requests.
//!
//! Each request is answered in its turn: a block when it was read, everything else when it is next.
//!
//! Must not know: which tasks read the blocks, who requests them, why.

use crate::problem::Operation;
use std::sync::Arc;
use std::time::Duration;

use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest};
use datapump_core::wire::turns::ReplyTurns;
use datapump_core::wire::{decode, encode};
use datapump_transport::{Channel, Digest, NetFault};

use crate::net::folder::handle_table::{GivenFile, HandleTable};
use crate::net::folder::owners::Telling;

/// Requests that are taken before the first of them is answered; honest ones are a quarter of it. The others stay in
/// the connection.
const REQUESTED_MAX: usize = 64;

/// The connection, and what was requested over it.
pub(crate) struct SendLane {
    channel: Channel,
    handles: Arc<HandleTable>,
    requested: ReplyTurns<RequestTurn>,
    owners: Telling,
    /// Streams by task; with what is answered to whoever requests more of one that has ended or failed.
    streams: Vec<(u32, Option<Answer>)>,
    /// Nothing more will be requested.
    is_over: bool,
}

/// What was requested, until it is answered.
enum RequestTurn {
    Reading(Reading),
    /// It can be answered when its turn comes.
    Ready(Box<Answer>),
    /// What is no block is looked at when its turn comes: answers are made only to be sent.
    Waiting(Box<PeerRequest>),
}

/// A block that is being read.
pub(crate) struct Reading {
    /// The task that reads it.
    pub(crate) task: u32,
    /// Bytes that were requested.
    pub(crate) len: u32,
    /// What is said before the block.
    pub(crate) head: Option<Box<Answer>>,
    /// A small file, which must stand still meanwhile.
    pub(crate) small: Option<Arc<GivenFile>>,
}

impl SendLane {
    pub(crate) fn new(channel: Channel, handles: Arc<HandleTable>) -> SendLane {
        let (requested, owners, streams) = (ReplyTurns::new(REQUESTED_MAX), Telling::default(), Vec::new());
        SendLane { channel, handles, requested, owners, streams, is_over: false }
    }

    /// The next request that has come, and its number. `None` when there is none now, or never again.
    pub(crate) fn next(&mut self) -> Result<Option<(PeerRequest, u64)>, NetFault> {
        if self.is_over || !self.requested.has_room() {
            return Ok(None);
        }
        let received = match self.channel.has_come() {
            Ok(false) => return Ok(None),
            Ok(true) => self.channel.receive_request(),
            Err(fault) => Err(fault),
        };
        match received {
            // The peer hangs up when it has all that it wanted.
            Err(NetFault::Lost(_)) if self.requested.is_empty() => {
                self.is_over = true;
                Ok(None)
            }
            received => received.and_then(|(body, number)| Ok(Some((decode(&body)?, number)))),
        }
    }

    /// Nothing more will be requested.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// What this side has open for the other.
    pub(crate) fn handles(&self) -> &Arc<HandleTable> {
        &self.handles
    }

    /// The connection.
    pub(super) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// A request whose block is being read.
    pub(crate) fn read(&mut self, number: u64, reading: Reading) {
        self.requested.handle_ask(number, RequestTurn::Reading(reading));
    }

    /// A request that can be answered at once when its turn comes.
    pub(crate) fn reply(&mut self, number: u64, answer: Answer) -> Result<(), NetFault> {
        self.requested.handle_ask(number, RequestTurn::Ready(Box::new(answer)));
        self.answer_ready()
    }

    /// A request that is looked at when its turn comes.
    pub(crate) fn look_up(&mut self, number: u64, ask: PeerRequest) -> Result<(), NetFault> {
        self.requested.handle_ask(number, RequestTurn::Waiting(Box::new(ask)));
        self.answer_ready()
    }

    /// The connection is lost.
    pub(super) fn hang_up(&mut self) {
        self.is_over = true;
        self.requested.forget();
    }

    /// Sends what was put: nothing more comes to it for now.
    pub(super) fn flush(&mut self) -> Result<(), NetFault> {
        self.channel.flush()
    }

    /// Waits until something may have been requested. Whether it was.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<bool, NetFault> {
        self.channel.flush()?;
        self.channel.line_check()?;
        self.channel.has_input(patience)
    }

    /// A stream that this task reads on and on.
    pub(crate) fn add_stream(&mut self, task: u32) {
        self.streams.push((task, None));
    }

    /// What is answered to whoever requests more of a stream that is over.
    pub(crate) fn ended(&self, task: u32) -> Option<&Answer> {
        self.streams.iter().find(|(stream, _)| *stream == task).and_then(|(_, ended)| ended.as_ref())
    }

    /// A stream has ended: nothing is left for the first that was requested of it.
    pub(crate) fn end(&mut self, task: u32) -> Result<(), NetFault> {
        self.ready(task, Answer::End)
    }

    /// A block could not be read.
    pub(crate) fn fail(&mut self, task: u32, fault: Fault) -> Result<(), NetFault> {
        self.ready(task, Answer::Fault(fault))
    }

    /// Sends a block that was read, and whatever can be said behind it.
    pub(super) fn send(&mut self, task: u32, bytes: &[u8], digest: &Digest) -> Result<(), NetFault> {
        self.answer_ready()?;
        let Some((number, RequestTurn::Reading(reading))) = self.requested.poll_answer(|_| true) else {
            return Err(NetFault::Protocol("a block that nobody asked for was read".into()));
        };
        debug_assert_eq!(reading.task, task, "blocks are sent as they were requested");
        let Reading { len, head, small, .. } = reading;
        if small.is_some_and(|given| !given.stood_still()) {
            self.put(Answer::Fault(changed()), number)?;
        } else {
            head.map_or(Ok(()), |head| self.put(*head, number))?;
            self.channel.put_block(bytes, digest, number)?;
            if bytes.len() < len as usize {
                self.stream_is_over(task, &Answer::End);
            }
        }
        self.answer_ready()
    }

    /// Files are requested by blocks, each for itself; a stream that has ended or failed answers so from now on.
    fn stream_is_over(&mut self, task: u32, answer: &Answer) {
        if let Some((_, ended)) = self.streams.iter_mut().find(|(stream, _)| *stream == task) {
            *ended = Some(answer.clone());
        }
    }

    fn ready(&mut self, task: u32, answer: Answer) -> Result<(), NetFault> {
        self.stream_is_over(task, &answer);
        let is_it =
            |turn: &RequestTurn| matches!(turn, RequestTurn::Reading(reading) if reading.task == task);
        if let Some(turn) = self.requested.find(is_it) {
            *turn = RequestTurn::Ready(Box::new(answer));
        }
        self.answer_ready()
    }

    /// Says what can be said before a block comes whose turn it is. Sent before the next wait.
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

    fn put(&mut self, answer: Answer, number: u64) -> Result<(), NetFault> {
        let SendLane { channel, handles, owners, .. } = self;
        let put = &mut |answer| channel.put_message(&encode(&answer), number);
        owners.tell(answer, &handles.own_names, put)
    }
}

fn changed() -> Fault {
    let words = Some("changed while it was read; copy again when the source is quiet".into());
    Fault { operation: Operation::Read.words().into(), errno: None, words, class: None }
}
