//! Faults between two hosts.
//!
//! Must not know: jobs, what the connection was for.

use std::io;

use datapump_core::problem::{Class, Operation, Problem, shown, words_about};
use datapump_core::wire::WireError;
use datapump_core::wire::hello::{Reason, Reply};

/// Why a connection is of no more use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetFault {
    /// Nobody answered at all: there is no such host, or nothing listens there.
    Unreached(String),
    /// The connection was cut, or the peer is silent: the session may be resumed.
    Lost(String),
    /// The other side does not want this: ticket, scope, version.
    Refused(String),
    /// The other side is busy: it may want this later.
    Busy(String),
    /// The other side says what is no message here, or out of turn.
    Protocol(String),
    /// This run is stopping.
    Stopped,
}

impl NetFault {
    /// What the system said of a connection.
    pub fn of_io(operation: &str, error: &io::Error) -> NetFault {
        NetFault::Lost(format!("{operation}: {error}"))
    }

    /// The same of the very first connection to a host: it was never there.
    pub(crate) fn of_first(self) -> NetFault {
        match self {
            NetFault::Lost(words) => NetFault::Unreached(words),
            fault => fault,
        }
    }

    /// A reply to a greeting that lets this side in.
    ///
    /// Errors: it does not.
    pub(crate) fn of_reply(reply: Reply) -> Result<Reply, NetFault> {
        let told = |words: String| shown(words.as_bytes());
        match reply {
            Reply::Refused { reason: Reason::Busy, words } => Err(NetFault::Busy(told(words))),
            // It took this side for dead meanwhile, or was stopped: a new session may be had.
            Reply::Refused { reason: Reason::Session, words } => Err(NetFault::Lost(told(words))),
            Reply::Refused { words, .. } => Err(NetFault::Refused(told(words))),
            welcome @ Reply::Welcome { .. } => Ok(welcome),
        }
    }

    /// What happened.
    pub(crate) fn words(&self) -> &str {
        match self {
            NetFault::Unreached(words)
            | NetFault::Lost(words)
            | NetFault::Refused(words)
            | NetFault::Busy(words)
            | NetFault::Protocol(words) => words,
            NetFault::Stopped => "this run was stopped",
        }
    }

    /// The problem for people. `place` is the other side as the user named it.
    pub fn problem(&self, place: &str) -> Problem {
        let class = match self {
            NetFault::Refused(_) | NetFault::Busy(_) => Class::Refused,
            _ => Class::Lost,
        };
        let words = self.words();
        let operation =
            if matches!(self, NetFault::Unreached(_)) { Operation::Reach } else { Operation::Connect };
        Problem::of(class, operation, words_about(place, words))
    }
}

impl From<WireError> for NetFault {
    fn from(error: WireError) -> NetFault {
        match error {
            // It speaks our protocol: with another connection it may be understood.
            WireError::Damaged => NetFault::Lost(error.to_string()),
            error => NetFault::Protocol(error.to_string()),
        }
    }
}
