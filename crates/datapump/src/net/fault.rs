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

    /// The problem for people. `place` is the other side as the user named it.
    pub(crate) fn problem(&self, place: &str) -> Problem {
        let (class, words) = match self {
            NetFault::Lost(words) => (Class::Lost, words.clone()),
            NetFault::Refused(words) | NetFault::Busy(words) => (Class::Refused, words.clone()),
            NetFault::Protocol(words) => (Class::Lost, words.clone()),
            NetFault::Stopped => (Class::Lost, "this run was stopped".into()),
        };
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
