//! The greeting at the start of each connection: what it is for, and that the caller may have it.
//!
//! The caller greets, the called side welcomes or refuses. That the caller holds a ticket, and that the called side
//! made it, both have proved before with their keys, in the handshake of the encryption (RFC 8446, 4.4.3).
//!
//! Must not know: encryption, sockets, sessions.

use minicbor::{Decode, Encode};

use super::{VERSION, WireError, decode, encode};

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Purpose {
    /// A session is begun and watched over it.
    #[n(0)]
    Control,
    /// Names and attributes are asked for.
    #[n(1)]
    Names,
    /// Blocks are asked for.
    #[n(2)]
    Blocks,
    /// Names and small files come without being asked for.
    #[n(3)]
    Ahead,
}

/// The first message of the caller.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Greeting {
    /// Of the protocol.
    #[n(0)]
    pub version: (u16, u16),
    /// What the connection is for.
    #[n(1)]
    pub purpose: Purpose,
    /// The session that it belongs to; none on a control connection.
    #[n(2)]
    #[cbor(with = "minicbor::bytes")]
    pub session: Option<[u8; 16]>,
    /// The caller's program, for messages.
    #[n(3)]
    pub program: Option<String>,
    /// The number that the session of a control connection shall have, so that others can join before it is answered.
    /// On these: that it may not be there yet.
    #[n(4)]
    #[cbor(with = "minicbor::bytes")]
    pub early: Option<[u8; 16]>,
    /// The number of this connection, by which both sides tell how far it is; none on a control connection.
    #[n(5)]
    pub number: Option<u32>,
}

/// The first message of the called side.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Reply {
    /// It may go on.
    #[n(0)]
    Welcome {
        /// Of the protocol.
        #[n(0)]
        version: (u16, u16),
        /// The session that was made for a control connection.
        #[n(1)]
        #[cbor(with = "minicbor::bytes")]
        session: Option<[u8; 16]>,
        /// Connections for blocks that the session may have.
        #[n(2)]
        connections_max: Option<u32>,
        /// The called program, for messages.
        #[n(3)]
        program: Option<String>,
        /// Which start of which system it runs on.
        #[n(8)]
        #[cbor(with = "minicbor::bytes")]
        boot: Option<[u8; 16]>,
    },
    /// It may not: why.
    #[n(1)]
    Refused {
        /// Which kind of reason.
        #[n(0)]
        reason: Reason,
        /// The reason for people.
        #[n(1)]
        words: String,
    },
}

/// Kinds of reasons to refuse a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Reason {
    /// Another protocol version.
    #[n(0)]
    Version,
    /// The ticket is wrong, used up or expired, or does not allow this.
    #[n(1)]
    Ticket,
    /// There is no such session any more.
    #[n(2)]
    Session,
    /// Too many sessions or connections: try again later.
    #[n(3)]
    Busy,
}

/// What the caller sends first.
pub fn greet(
    purpose: Purpose,
    session: Option<[u8; 16]>,
    early: Option<[u8; 16]>,
    number: Option<u32>,
    program: &str,
) -> Vec<u8> {
    let program = Some(program.to_owned());
    encode(&Greeting { version: VERSION, purpose, session, program, early, number })
}

/// Reads a greeting. Another main version is an answer, not an error: the caller is told.
pub fn read_greeting(body: &[u8]) -> Result<Result<Greeting, Reply>, WireError> {
    let greeting: Greeting = decode(body)?;
    let belongs = greeting.session.is_none() == (greeting.purpose == Purpose::Control);
    if greeting.version.0 != VERSION.0 {
        Ok(Err(other_version(greeting.version.0, greeting.version.1)))
    } else if !belongs {
        Err(WireError::Unexpected("a greeting for no session"))
    } else {
        Ok(Ok(greeting))
    }
}

fn other_version(first: u16, second: u16) -> Reply {
    let words = format!(
        "this side speaks version {}.{} of the protocol and the caller {first}.{second}; install the same version of \
         pump on both",
        VERSION.0, VERSION.1
    );
    Reply::Refused { reason: Reason::Version, words }
}

/// Reads the reply; a welcome of another main version is a refusal.
pub fn read_reply(body: &[u8]) -> Result<Reply, WireError> {
    let reply = decode(body)?;
    match reply {
        Reply::Welcome { version, .. } if version.0 != VERSION.0 => Ok(other_version(version.0, version.1)),
        reply => Ok(reply),
    }
}
