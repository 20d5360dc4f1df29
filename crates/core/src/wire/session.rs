//! One session over its control connection: what is to be done, what happens, and that both sides agree on the end.
//!
//! The caller begins; whichever side writes performs the job, asking the other for what it reads (`ask`). While it
//! runs the writing side tells what happens. At the end it tells its report, and the reading side answers what it
//! gave: only then is the session over, and a connection that ends before that was lost.
//!
//! [`Session`] is one of the two sides as a machine: `handle_message` takes what came, `send` says something, and
//! `poll_message` gives what goes out. A message out of its turn is an error.
//!
//! Must not know: sockets, time, how a job is done.

mod host_settings;
mod progress;
mod sender_stats;

use std::collections::VecDeque;

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

use super::bounds::{ErrorNumber, FileSize, bounded, counted, lists};
use super::datagrams::{DatagramCounts, DatagramGrant, DatagramRequest};
use super::talk::ConnectionTraffic;
use super::{WireError, decode, encode};

pub use host_settings::{HostSettings, LinkFacts, ShortText};
pub use progress::Progress;
pub use sender_stats::{STAGES_MAX, SenderStats, TcpStats};

/// Which side writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Direction {
    /// The caller reads and the called side writes.
    #[n(0)]
    Push,
    /// The called side reads and the caller writes.
    #[n(1)]
    Pull,
}

/// The task of a session.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Begin {
    /// Which side writes.
    #[n(0)]
    pub way: Direction,
    /// Places that are read, by their paths at the reading side. Asked for by their number in this list.
    #[n(1)]
    #[cbor(decode_with = "lists::sources")]
    pub sources: Vec<ByteVec>,
    /// The place that is written, at the called side; with [`Direction::Pull`] empty.
    #[n(2)]
    pub target: ByteVec,
    /// What the writing side is to heed, as JSON: the options of a job.
    #[n(3)]
    pub options: String,
    /// Connections for blocks.
    #[n(4)]
    pub connections: u32,
    /// The client wants an event for each file and each change.
    #[n(5)]
    pub tells_files: Option<bool>,
    /// Which start of which system the caller runs on: two sides that have the same are one host.
    #[n(10)]
    #[cbor(with = "minicbor::bytes")]
    pub boot: Option<[u8; 16]>,
    /// A session of the same caller that it has lost: it ends before this one begins, so that what it had in hand is
    /// free.
    #[n(11)]
    #[cbor(with = "minicbor::bytes")]
    pub instead_of: Option<[u8; 16]>,
    /// The shortest round trip that the caller has seen, in nanoseconds.
    #[n(12)]
    pub round_trip_ns: Option<u64>,
    /// A connection comes for what is sent without a request.
    #[n(13)]
    pub sends_ahead: Option<bool>,
    /// The caller knows `PeerRequest::ReadOn`.
    #[n(14)]
    pub reads_on: Option<bool>,
    /// The caller asks for the facts of the called host.
    #[n(15)]
    pub asks_host: Option<bool>,
    /// The caller sends datagrams, and nothing is copied. A called side that does not know them grants none.
    #[n(16)]
    pub datagrams: Option<DatagramRequest>,
    /// Places with wildcards stand for what they match at the called side, which reads.
    #[n(17)]
    pub expands: Option<bool>,
    /// The called side, which reads, counts what it has beside the copy.
    #[n(18)]
    pub counts_ahead: Option<bool>,
    /// A place of the called side, which reads, that is a symbolic link stays one: it is not followed.
    #[n(19)]
    pub keeps_links: Option<bool>,
    /// For how many milliseconds without a sign of life or progress the caller waits. A called side that the caller's
    /// own user started waits as long; a server of others as long as its administrator says.
    #[n(20)]
    pub patience_ms: Option<u64>,
    /// With backups: what tells the places that are read from others of the same words, by folder and host.
    #[n(21)]
    pub sources_sum: Option<u64>,
}

impl Begin {
    /// A session that copies nothing to nowhere, over one connection, and asks for nothing besides.
    pub fn new(way: Direction) -> Begin {
        Begin {
            way,
            sources: Vec::new(),
            target: Vec::new().into(),
            options: "{}".into(),
            connections: 1,
            tells_files: None,
            boot: None,
            instead_of: None,
            round_trip_ns: None,
            sends_ahead: None,
            reads_on: None,
            asks_host: None,
            datagrams: None,
            expands: None,
            counts_ahead: None,
            keeps_links: None,
            patience_ms: None,
            sources_sum: None,
        }
    }
}

/// Something that happened. Paths are those of the side that tells.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SessionEvent {
    /// A file is complete.
    #[n(0)]
    File {
        /// Its path.
        #[n(0)]
        path: ByteVec,
        /// Its length in bytes.
        #[n(1)]
        bytes: FileSize,
        /// Root of its BLAKE3 tree in hex.
        #[n(2)]
        blake3: Option<String>,
    },
    /// Something went wrong.
    #[n(1)]
    Problem {
        /// Its class, such as `denied`.
        #[n(0)]
        class: String,
        /// The path that it is about.
        #[n(1)]
        path: Option<ByteVec>,
        /// What was tried.
        #[n(2)]
        operation: String,
        /// Where in the file.
        #[n(3)]
        offset: Option<FileSize>,
        /// The words for people.
        #[n(4)]
        message: String,
        /// The path lies on the side that is told.
        #[n(5)]
        yours: Option<bool>,
        /// The error number of the side's system, if it said one.
        #[n(6)]
        errno: Option<ErrorNumber>,
        /// It cost an attribute alone: its kind, as `--no-preserve` calls it.
        #[n(7)]
        lost: Option<String>,
        /// So many names lost one of that kind; of one name alone missing.
        #[n(8)]
        names: Option<u32>,
        /// What the file held when it was opened is copied.
        #[n(9)]
        is_copied: Option<bool>,
    },
    /// Something that could not be kept.
    #[n(2)]
    Warning(
        /// The words for people.
        #[n(0)]
        String,
        /// It is a notice, which is not for those who want quiet.
        #[n(1)]
        Option<bool>,
    ),
    /// What was decided.
    #[n(3)]
    Note(#[n(0)] String),
    /// A change was made, or would be.
    #[n(4)]
    Change {
        /// `copy`, `link`, `adjust`, `delete`, `backup`, `remove_source`.
        #[n(0)]
        kind: String,
        /// Where it comes from.
        #[n(1)]
        source: ByteVec,
        /// The name.
        #[n(2)]
        target: ByteVec,
        /// The path from the target that the user named.
        #[n(3)]
        relative: ByteVec,
        /// Length in bytes.
        #[n(4)]
        bytes: Option<FileSize>,
        /// What kind of thing it is.
        #[n(5)]
        what: String,
        /// The letters of `--itemize-changes`.
        #[n(6)]
        itemized: String,
        /// Where a link leads.
        #[n(7)]
        leads_to: Option<ByteVec>,
    },
}

/// Messages of a session, of both sides.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Message {
    /// Of the caller: what is to be done.
    #[n(0)]
    Begin(#[n(0)] Begin),
    /// Of the called side: it is going to be done.
    #[n(1)]
    Begun {
        /// The target is a folder that receives the sources under their names. A client that begins again after a loss
        /// must not take for one what the lost session made.
        #[n(0)]
        receives: Option<bool>,
        /// This side knows `PeerRequest::ReadOn`.
        #[n(1)]
        reads_on: Option<bool>,
        /// False: this side has no room for what would be sent without a request; it has to be requested.
        #[n(2)]
        sends_ahead: Option<bool>,
        /// The facts of this host, where they were asked for.
        #[n(3)]
        host: Option<Box<HostSettings>>,
        /// What the caller may send as datagrams.
        #[n(4)]
        datagrams: Option<DatagramGrant>,
        /// What the places that are read stand for, where that was asked for: numbers of places are those of this list.
        #[n(5)]
        #[cbor(decode_with = "lists::places", nil = "lists::none")]
        places: Option<Vec<ByteVec>>,
        /// Where links were to stay links: whether a place is one. A called side that leaves it out follows them.
        #[n(6)]
        has_links: Option<bool>,
        /// This side writes, and knows `HoldEvents`.
        #[n(7)]
        holds_events: Option<bool>,
    },
    /// Of the called side: it will not be done, and why: a problem.
    #[n(2)]
    Refused(#[n(0)] SessionEvent),
    /// Of the writing side: something happened.
    #[n(3)]
    Event(#[n(0)] SessionEvent),
    /// Of the writing side: how far it is.
    #[n(4)]
    Progress(
        #[n(0)]
        #[cbor(encode_with = "bounded", decode_with = "counted")]
        Progress,
    ),
    /// Of the caller: end soon.
    #[n(5)]
    Stop,
    /// Of the writing side: the end, with its report as JSON.
    #[n(6)]
    Report(#[n(0)] String),
    /// Of the reading side, after the report: what it gave.
    #[n(7)]
    Agreed(
        #[n(0)]
        #[cbor(encode_with = "bounded", decode_with = "counted")]
        Box<SenderStats>,
    ),
    /// Of either side, now and then: it is alive, and how far its connections are. An older one does not tell that.
    #[n(8)]
    Alive(
        #[n(0)]
        #[cbor(decode_with = "lists::traffic", nil = "lists::none")]
        Option<Vec<ConnectionTraffic>>,
    ),
    /// Of the called side: it cannot be done now, but may be later: why.
    #[n(12)]
    Busy(#[n(0)] String),
    /// Of the caller: so many datagrams were sent, and no more will be.
    #[n(13)]
    DatagramsSent(#[n(0)] u64),
    /// Of the called side, after that: what came of them.
    #[n(14)]
    DatagramsCounted(
        #[n(0)]
        #[cbor(encode_with = "bounded", decode_with = "counted")]
        Box<DatagramCounts>,
    ),
    /// Of the reading side that is called: what there is to copy, once it is counted.
    #[n(15)]
    Counted {
        /// Files.
        #[n(0)]
        files: u64,
        /// Bytes in them.
        #[n(1)]
        bytes: FileSize,
        /// Names of any kind.
        #[n(2)]
        names: Option<u64>,
    },
    /// Of the caller, which reads: whether events and the report are to wait, because nobody takes them here. Signs of
    /// life and progress go on.
    #[n(16)]
    HoldEvents(#[n(0)] bool),
}

impl Message {
    fn name(&self) -> &'static str {
        match self {
            Message::Begin(_) => "the beginning of a session",
            Message::Begun { .. } => "the beginning of a session",
            Message::Refused(_) => "a refusal",
            Message::Event(_) => "an event",
            Message::Progress(_) => "progress",
            Message::Stop => "a wish to stop",
            Message::Report(_) => "a report",
            Message::Agreed(_) => "its agreement",
            Message::Alive(_) => "a sign of life",
            Message::Busy(_) => "that it is busy",
            Message::DatagramsSent(_) => "a number of datagrams",
            Message::DatagramsCounted(_) => "counts of datagrams",
            Message::Counted { .. } => "counts of what there is",
            Message::HoldEvents(_) => "a wish to wait with events",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionState {
    /// Nothing was asked yet.
    Idle,
    /// The caller has asked; the called side has to answer.
    Asked(Direction),
    Running(Direction),
    /// The report was told; the reading side has to agree.
    Reported(Direction),
    Over,
}

/// What both sides have: the state, and what is to be sent.
#[derive(Debug)]
struct SessionSide {
    state: SessionState,
    is_caller: bool,
    outgoing: VecDeque<Message>,
}

impl SessionSide {
    fn new(is_caller: bool) -> SessionSide {
        SessionSide { state: SessionState::Idle, is_caller, outgoing: VecDeque::new() }
    }

    fn writes(&self, way: Direction) -> bool {
        self.is_caller == (way == Direction::Pull)
    }

    /// Whether this side may send, or (`comes`) receive, the message now; and what follows from it.
    fn step(&mut self, message: &Message, comes: bool) -> Result<(), WireError> {
        let of_caller = self.is_caller != comes;
        let of_writer = |way: Direction| of_caller == (way == Direction::Pull);
        let next = match (self.state, message) {
            (state, Message::Alive(_)) => state,
            (SessionState::Idle, Message::Begin(begin)) if of_caller => SessionState::Asked(begin.way),
            (SessionState::Asked(way), Message::Begun { .. }) if !of_caller => SessionState::Running(way),
            (SessionState::Asked(_), Message::Refused(_) | Message::Busy(_)) if !of_caller => {
                SessionState::Over
            }
            // The caller may have changed its mind before it heard the answer.
            (
                state @ (SessionState::Asked(_) | SessionState::Running(_) | SessionState::Reported(_)),
                Message::Stop,
            ) if of_caller => state,
            (state @ SessionState::Running(way), Message::Event(_) | Message::Progress(_))
                if of_writer(way) =>
            {
                state
            }
            (state @ SessionState::Running(_), Message::DatagramsSent(_)) if of_caller => state,
            // The report may have been told before it was heard.
            (state @ (SessionState::Running(way) | SessionState::Reported(way)), Message::HoldEvents(_))
                if of_caller && !of_writer(way) =>
            {
                state
            }
            (state @ SessionState::Running(_), Message::DatagramsCounted(_)) if !of_caller => state,
            // The report may come while it is counted.
            (state @ (SessionState::Running(way) | SessionState::Reported(way)), Message::Counted { .. })
                if !of_writer(way) && !of_caller =>
            {
                state
            }
            (SessionState::Running(way), Message::Report(_)) if of_writer(way) => SessionState::Reported(way),
            (SessionState::Reported(way), Message::Agreed(_)) if !of_writer(way) => SessionState::Over,
            _ => return Err(WireError::Unexpected(message.name())),
        };
        self.state = next;
        Ok(())
    }

    fn send(&mut self, message: Message) -> Result<(), WireError> {
        self.step(&message, false)?;
        self.outgoing.push_back(message);
        Ok(())
    }

    fn handle(&mut self, body: &[u8]) -> Result<Message, WireError> {
        let message = decode(body)?;
        self.step(&message, true)?;
        Ok(message)
    }
}

/// One side of a session.
#[derive(Debug)]
pub struct Session(SessionSide);

impl Session {
    /// The side that calls.
    pub fn caller() -> Session {
        Session(SessionSide::new(true))
    }

    /// The side that is called.
    pub fn called() -> Session {
        Session(SessionSide::new(false))
    }

    /// Something is to be said.
    ///
    /// Errors: it is not this side's turn to say it.
    pub fn send(&mut self, message: Message) -> Result<(), WireError> {
        self.0.send(message)
    }

    /// The body of the next message to be sent.
    pub fn poll_message(&mut self) -> Option<Vec<u8>> {
        self.0.outgoing.pop_front().map(|message| encode(&message))
    }

    /// The body of a message came.
    ///
    /// Errors: it means nothing, or may not come now. The session is lost then.
    pub fn handle_message(&mut self, body: &[u8]) -> Result<Message, WireError> {
        self.0.handle(body)
    }

    /// Whether this side writes; nobody knows before the session has begun.
    pub fn writes(&self) -> Option<bool> {
        match self.0.state {
            SessionState::Idle | SessionState::Over => None,
            SessionState::Asked(way) | SessionState::Running(way) | SessionState::Reported(way) => {
                Some(self.0.writes(way))
            }
        }
    }

    /// The job runs, and has not been reported.
    pub fn is_running(&self) -> bool {
        matches!(self.0.state, SessionState::Running(_))
    }

    /// Both sides have said all there was to say. A connection that ends before was lost.
    pub fn is_over(&self) -> bool {
        self.0.state == SessionState::Over && self.0.outgoing.is_empty()
    }
}
