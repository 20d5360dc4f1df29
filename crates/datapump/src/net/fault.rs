//! What may go wrong between two hosts.
//!
//! Must not know: jobs, what the connection was for.

use std::io;

use datapump_core::wire::WireError;

use crate::problem::{Class, Problem};

/// Why a connection is of no more use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NetFault {
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
    pub(crate) fn of_io(operation: &str, error: &io::Error) -> NetFault {
        NetFault::Lost(format!("{operation}: {error}"))
    }

    /// What happened.
    pub(crate) fn words(&self) -> &str {
        match self {
            NetFault::Lost(words)
            | NetFault::Refused(words)
            | NetFault::Busy(words)
            | NetFault::Protocol(words) => words,
            NetFault::Stopped => "this run was stopped",
        }
    }

    /// The problem for people. `place` is the other side as the user named it.
    pub(crate) fn problem(&self, place: &str) -> Problem {
        let class = match self {
            NetFault::Refused(_) | NetFault::Busy(_) => Class::Refused,
            NetFault::Lost(_) | NetFault::Protocol(_) | NetFault::Stopped => Class::Lost,
        };
        let words = self.words();
        Problem {
            class,
            path: None,
            operation: "connect",
            offset: None,
            message: format!("{place}: {words}"),
        }
    }
}

impl From<WireError> for NetFault {
    fn from(error: WireError) -> NetFault {
        NetFault::Protocol(error.to_string())
    }
}
