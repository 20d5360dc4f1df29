//! Messages between two hosts: from bytes, and to bytes.
//!
//! Every connection carries frames (`frame`): a head of fixed size, then either one message in CBOR (RFC 8949) or the
//! bytes of one block. A connection begins with a greeting (`hello`), in which the side that was called learns what the
//! connection is for and that the caller holds a ticket. On a control connection follows one session (`session`); on
//! the others one side asks for names, attributes and blocks and the other answers (`ask`), in the order of the asking
//! (`turns`). What time does to a session is `talk`.
//! A session may be about datagrams instead (`datagrams`), which then go beside it.
//! A far end that was started over ssh says in a line how it is reached (`opening`); where it cannot be called, its
//! connections go through the pipe of ssh (`streams`).
//!
//! Fields are numbered and never renumbered; unknown ones are skipped, and a field that is added later is optional.
//! Every length is bounded before memory is taken for it, and every number where it is read (`bounds`).
//!
//! Must not know: sockets, encryption, files, who is right.

pub mod attributes;
pub mod bounds;
pub mod datagrams;
pub mod frame;
pub mod hello;
pub mod opening;
pub mod peer_request;
pub mod session;
pub mod streams;
pub mod talk;
#[cfg(test)]
mod tests;
pub mod turns;

use minicbor::encode::Write;
use minicbor::{Decode, Encode};

/// The version of all of this. Both sides must have the same first number; the second may differ.
pub const VERSION: (u16, u16) = (1, 1);
/// Bytes of the longest message: a batch of names with their attributes, or one large extended attribute.
pub const MESSAGE_BYTES_MAX: u32 = 1 << 20;
/// Bytes of the longest request: a name and a few numbers.
pub const ASK_BYTES_MAX: u32 = 4 << 10;
/// Bytes of the longest block.
pub const BLOCK_BYTES_MAX: u32 = 64 << 20;
/// Names in the longest batch of names.
pub const NAMES_MAX: usize = 1024;
/// Extended attributes of one file or folder: more than 64 KiB of names (XATTR_LIST_MAX) can be.
pub const ATTRIBUTES_MAX: usize = 16 << 10;
/// Names of owners and groups that are told with one answer.
pub const OWNERS_MAX: usize = 16 << 10;
/// Pieces of a file's map.
pub const RANGES_MAX: usize = 30_000;
/// Numbers of what is not wanted in one request, which is short.
pub const UNWANTED_MAX: usize = 256;
/// Connections of a session that are told of.
pub const TRAFFIC_MAX: usize = 4096;
/// Places of a session that are read.
pub const SOURCES_MAX: usize = 1 << 16;

/// Why bytes mean nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// No frame begins like this: another protocol, or a damaged stream.
    NotAFrame,
    /// Bits changed on the way, or in memory.
    Damaged,
    /// A length beyond its bound: what, how long, at most.
    TooLong(&'static str, u64, u64),
    /// A message that cannot be read: why.
    Unreadable(String),
    /// A message that may not come now: what came.
    Unexpected(&'static str),
}

impl std::fmt::Display for WireError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WireError::NotAFrame => out.write_str("the other side speaks another protocol"),
            WireError::Damaged => out.write_str("what the other side sent was damaged on the way"),
            WireError::TooLong(what, length, most) => {
                write!(out, "the other side announced {length} bytes of {what}; at most {most} are taken")
            }
            WireError::Unreadable(why) => write!(out, "a message of the other side cannot be read: {why}"),
            WireError::Unexpected(what) => write!(out, "the other side sent {what} where it may not"),
        }
    }
}

impl std::error::Error for WireError {}

/// What most messages take: the attributes of a file. Room for it at once spares growing to it by doubling.
const USUAL_BYTES: usize = 192;

/// A message as the body of a frame.
///
/// Errors: none for messages of this module; a message that is too long is refused by [`frame::Head::message`].
pub fn encode<T: Encode<()>>(message: &T) -> Vec<u8> {
    let mut body = EncodedBody(Vec::with_capacity(USUAL_BYTES));
    minicbor::encode(message, &mut body).expect("memory takes any message");
    body.0
}

/// Reads the body of a frame. Bytes behind the message are refused.
pub fn decode<'body, T: Decode<'body, ()>>(body: &'body [u8]) -> Result<T, WireError> {
    let mut decoder = minicbor::Decoder::new(body);
    let message = decoder.decode().map_err(|error| WireError::Unreadable(error.to_string()))?;
    if decoder.position() == body.len() {
        Ok(message)
    } else {
        Err(WireError::Unreadable("something stands behind it".into()))
    }
}

struct EncodedBody(Vec<u8>);

impl Write for EncodedBody {
    type Error = std::convert::Infallible;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}
