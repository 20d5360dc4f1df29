//! A connection on its way to its greeting: takes what was received, answers the handshake, and never waits. A caller
//! that sends nothing, or a byte now and then, costs an open file and a few kilobytes; no thread.
//!
//! Must not know: who may connect, how many may wait, what follows the greeting.

use std::os::fd::BorrowedFd;

use datapump_core::wire::WireError;
use datapump_core::wire::encode;
use datapump_core::wire::frame::{FrameKind, HEAD_BYTES, Head, framed};
use datapump_core::wire::hello::{Reason, Reply};
use datapump_engine::{Socket, Until};

use crate::cancel::CancelToken;
use crate::channel::{Channel, may_go_on};
use crate::fault::NetFault;
use crate::timed::POLL_INTERVAL;
use crate::tls::{NOT_SEALED, Outgoing, Seal, Turn, is_tls_handshake};

/// Bytes received at a time, few enough that one caller does not hold up the others.
const PIECE_BYTES: usize = 16 << 10;
/// A handshake and a greeting take about a kilobyte.
const CAME_BYTES_MAX: usize = 64 << 10;

/// For a caller with `--insecure`.
fn sealed_only() -> Reply {
    let words =
        "the server encrypts, and this side does not: drop --insecure here, or start the server with it";
    Reply::Refused { reason: Reason::Ticket, words: words.into() }
}

/// A connection that has not greeted yet.
pub struct Handshake {
    socket: Socket,
    seal: Seal,
    /// Came, and is not opened yet.
    came: Vec<u8>,
    /// Opened: the greeting, as far as it came.
    plain: Vec<u8>,
    outgoing: Outgoing,
    has_spoken: bool,
    was_answered: bool,
}

impl Handshake {
    /// One that was just made.
    pub fn new(socket: Socket, seal: Seal) -> Handshake {
        // An error is reported when the socket becomes a channel.
        let _ = socket.prepare(POLL_INTERVAL);
        let (came, plain) = (Vec::new(), Vec::new());
        Handshake {
            socket,
            seal,
            came,
            plain,
            outgoing: Outgoing::default(),
            has_spoken: false,
            was_answered: false,
        }
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// Whether anything came.
    pub(crate) fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// Whether what came was worth an answer: half of a handshake.
    pub(crate) fn was_answered(&self) -> bool {
        self.was_answered
    }

    /// Takes what is there. Whether the greeting is here.
    ///
    /// Errors: the caller has gone, or says what is no handshake and greeting.
    pub(crate) fn advance(&mut self) -> Result<bool, NetFault> {
        let start = self.came.len();
        self.came.resize(start + PIECE_BYTES, 0);
        let received = self.socket.receive(&mut self.came[start..], Until::Now);
        self.came.truncate(start + received.as_ref().map_or(0, |len| *len));
        match received {
            Ok(0) => return Err(NetFault::Lost("the caller has hung up".into())),
            Ok(_) => self.has_spoken = true,
            Err(error) if may_go_on(&error) => return Ok(false),
            Err(error) => return Err(NetFault::of_io("receive", &error)),
        }
        self.refuse_other_seal()?;
        self.open()?;
        self.has_greeted()
    }

    /// A caller that seals where this side does not, or the other way round, is answered as it can read it.
    fn refuse_other_seal(&self) -> Result<(), NetFault> {
        let is_frame =
            || self.came.first_chunk::<HEAD_BYTES>().is_some_and(|head| Head::decode(head).is_ok());
        let (answer, words) = match &self.seal {
            _ if self.was_answered || !self.plain.is_empty() => return Ok(()),
            Seal::Open if is_tls_handshake(&self.came) => (NOT_SEALED.to_vec(), "the caller encrypts"),
            Seal::Called(_) if is_frame() => {
                (framed(&encode(&sealed_only()), 0)?, "the caller does not encrypt")
            }
            _ => return Ok(()),
        };
        let _ = self.socket.send_now(&answer);
        Err(NetFault::Refused(words.into()))
    }

    /// Opens what came, and answers it.
    fn open(&mut self) -> Result<(), NetFault> {
        loop {
            let Handshake { seal, came, plain, outgoing, .. } = self;
            let opened = seal.open(came, outgoing, &mut |opened| plain.extend_from_slice(opened));
            // Also why it is refused is told.
            let sent = self.answer();
            let (used, turn) = opened?;
            self.came.drain(..used);
            sent?;
            match turn {
                Turn::Closed => return Err(NetFault::Lost("the caller has closed the connection".into())),
                Turn::Receive | Turn::Ready if used == 0 || self.came.is_empty() => return Ok(()),
                Turn::Send | Turn::Receive | Turn::Ready => {}
            }
        }
    }

    /// The buffer of a new connection takes all that a handshake says: one that does not is none of ours.
    fn answer(&mut self) -> Result<(), NetFault> {
        let bytes = self.outgoing.bytes();
        if bytes.is_empty() {
            return Ok(());
        }
        match self.socket.send_now(bytes) {
            Ok(sent) if sent == bytes.len() => {}
            Ok(_) => return Err(NetFault::Lost("the caller takes no answer".into())),
            Err(error) => return Err(NetFault::of_io("send", &error)),
        }
        self.outgoing.clear();
        self.was_answered = true;
        Ok(())
    }

    fn has_greeted(&self) -> Result<bool, NetFault> {
        if self.came.len() + self.plain.len() > CAME_BYTES_MAX {
            let (came, most) = (self.came.len() + self.plain.len(), CAME_BYTES_MAX);
            return Err(WireError::TooLong("a greeting", came as u64, most as u64).into());
        }
        let Some(head) = self.plain.first_chunk::<HEAD_BYTES>() else { return Ok(false) };
        let head = Head::decode(head)?;
        match head.kind {
            FrameKind::Message if head.len as usize <= CAME_BYTES_MAX - HEAD_BYTES => {
                Ok(self.plain.len() >= HEAD_BYTES + head.len as usize)
            }
            _ => Err(WireError::Unexpected("what is no greeting").into()),
        }
    }

    /// The connection, whose greeting is here.
    pub fn channel(self, cancel: CancelToken) -> Result<Channel, NetFault> {
        Channel::greeted(self.socket.into(), self.seal, cancel, &self.came, self.plain)
    }
}
