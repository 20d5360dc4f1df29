//! Frames: the head of each message and each block.
//!
//! A head is 24 bytes, numbers little-endian: `kind` (1 byte: 1 message, 2 block), three bytes of zero, `length` (4
//! bytes: what follows the head), `number` (8 bytes: which asking it answers, 0 where nothing was asked), `check` (4
//! bytes: CRC-32 of a message's body, 0 for a block), and CRC-32 of these 20 bytes (4 bytes). A block's bytes stand
//! behind a digest of 32 bytes.
//!
//! The sums find what TLS cannot: bits that change in the memory of a host, or on a way without TLS. A head is believed
//! before its length is waited for.
//!
//! Must not know: what messages mean.

use super::{BLOCK_BYTES_MAX, MESSAGE_BYTES_MAX, WireError};

/// Bytes of a head.
pub const HEAD_BYTES: usize = 24;
/// Those of them that the last four sum up.
const SUMMED_BYTES: usize = 20;
/// Bytes of a digest: BLAKE3.
pub const DIGEST_BYTES: u32 = 32;

const MESSAGE: u8 = 1;
const BLOCK: u8 = 2;

/// What a head announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// One message in CBOR.
    Message,
    /// A digest and the bytes of one block.
    Block,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What follows.
    pub kind: FrameKind,
    /// Bytes that follow; of a block without its digest.
    pub len: u32,
    /// Which asking this answers.
    pub number: u64,
    /// Of a message's body.
    check: u32,
}

impl Head {
    /// The head of a message.
    ///
    /// Errors: a body that nobody would take.
    pub fn message(body: &[u8], number: u64) -> Result<Head, WireError> {
        let check = crc32fast::hash(body);
        match u32::try_from(body.len()) {
            Ok(len) if len <= MESSAGE_BYTES_MAX => Ok(Head { kind: FrameKind::Message, len, number, check }),
            _ => Err(WireError::TooLong("a message", body.len() as u64, MESSAGE_BYTES_MAX.into())),
        }
    }

    /// Whether this is the body that it announced.
    ///
    /// Errors: it was damaged on its way.
    pub fn check(&self, body: &[u8]) -> Result<(), WireError> {
        if crc32fast::hash(body) == self.check { Ok(()) } else { Err(WireError::Damaged) }
    }

    /// The head of a block of `len` bytes.
    pub fn block(len: u32, number: u64) -> Head {
        Head { kind: FrameKind::Block, len, number, check: 0 }
    }

    /// The head as bytes.
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let (kind, len) = match self.kind {
            FrameKind::Message => (MESSAGE, self.len),
            FrameKind::Block => (BLOCK, self.len + DIGEST_BYTES),
        };
        let mut bytes = [0; HEAD_BYTES];
        bytes[0] = kind;
        bytes[4..8].copy_from_slice(&len.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..SUMMED_BYTES].copy_from_slice(&self.check.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..SUMMED_BYTES]);
        bytes[SUMMED_BYTES..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a head. Its length is within the bound of its kind.
    pub fn decode(bytes: &[u8; HEAD_BYTES]) -> Result<Head, WireError> {
        let [kind @ (MESSAGE | BLOCK), 0, 0, 0, rest @ ..] = bytes else { return Err(WireError::NotAFrame) };
        let four = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().expect("four bytes"));
        if four(16) != crc32fast::hash(&bytes[..SUMMED_BYTES]) {
            return Err(WireError::Damaged);
        }
        let (len, check) = (four(0), four(12));
        let number = u64::from(four(4)) | u64::from(four(8)) << 32;
        let (kind, what, len, most) = match *kind {
            MESSAGE => (FrameKind::Message, "a message", Some(len), MESSAGE_BYTES_MAX),
            _ => (FrameKind::Block, "a block", len.checked_sub(DIGEST_BYTES), BLOCK_BYTES_MAX),
        };
        match len {
            Some(len) if len <= most => Ok(Head { kind, len, number, check }),
            Some(len) => Err(WireError::TooLong(what, len.into(), most.into())),
            None => Err(WireError::NotAFrame),
        }
    }
}

/// A message as a whole frame.
///
/// Errors: a body that nobody would take.
pub fn framed(body: &[u8], number: u64) -> Result<Vec<u8>, WireError> {
    let head = Head::message(body, number)?;
    Ok([&head.encode()[..], body].concat())
}

/// Takes bytes as they come and gives messages. For connections on which no blocks travel.
#[derive(Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
}

impl Messages {
    /// More bytes came.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message: the number of its frame, and its body.
    ///
    /// Errors: what is no message of ours. The connection is of no more use then.
    pub fn poll_message(&mut self) -> Result<Option<(u64, Vec<u8>)>, WireError> {
        let Some(head) = self.bytes.first_chunk() else { return Ok(None) };
        let head = Head::decode(head)?;
        if head.kind == FrameKind::Block {
            return Err(WireError::Unexpected("a block"));
        }
        let end = HEAD_BYTES + head.len as usize;
        if self.bytes.len() < end {
            return Ok(None);
        }
        let body = self.bytes[HEAD_BYTES..end].to_vec();
        head.check(&body)?;
        self.bytes.drain(..end);
        Ok(Some((head.number, body)))
    }

    /// Whether a message has begun and is not whole.
    pub fn is_amid(&self) -> bool {
        !self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_were_written() {
        for head in [
            Head::message(&[], 0).unwrap(),
            Head::message(&vec![7; MESSAGE_BYTES_MAX as usize], u64::MAX).unwrap(),
            Head::block(0, 7),
            Head::block(BLOCK_BYTES_MAX, 1 << 40),
        ] {
            assert_eq!(Head::decode(&head.encode()), Ok(head));
        }
    }

    #[test]
    fn what_is_no_head_is_refused() {
        let block = Head::block(5, 0);
        let with = |at: usize, byte: u8| {
            let mut head = block.encode();
            head[at] = byte;
            head
        };
        for (bytes, error) in [
            (*b"GET / HTTP/1.1\r\nHost: a\r", WireError::NotAFrame),
            (*b"SSH-2.0-OpenSSH_10.0p2\r\n", WireError::NotAFrame),
            ([0; HEAD_BYTES], WireError::NotAFrame),
            (with(0, 3), WireError::NotAFrame),
            (with(1, 1), WireError::NotAFrame),
            (with(4, 31), WireError::Damaged),
            (
                Head { len: 0xff00_0000, ..block }.encode(),
                WireError::TooLong("a block", 0xff00_0000, BLOCK_BYTES_MAX.into()),
            ),
            (
                Head { kind: FrameKind::Message, len: u32::MAX, ..block }.encode(),
                WireError::TooLong("a message", u32::MAX.into(), MESSAGE_BYTES_MAX.into()),
            ),
        ] {
            assert_eq!(Head::decode(&bytes), Err(error), "{bytes:?}");
        }
    }

    #[test]
    fn any_flipped_bit_is_found() {
        let frame = framed(b"a message", 77).unwrap();
        for bit in 0..8 * frame.len() {
            let mut damaged = frame.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let mut messages = Messages::default();
            messages.handle_bytes(&damaged);
            assert!(messages.poll_message().is_err(), "bit {bit}");
        }
    }

    #[test]
    fn messages_come_whole_however_the_bytes_are_cut() {
        let stream =
            [framed(b"one", 1).unwrap(), framed(b"", 2).unwrap(), framed(&[3; 300], 3).unwrap()].concat();
        for piece in [1, 2, 23, 24, 25, 27, 100, stream.len()] {
            let (mut messages, mut seen) = (Messages::default(), Vec::new());
            for bytes in stream.chunks(piece) {
                messages.handle_bytes(bytes);
                while let Some(message) = messages.poll_message().expect("whole messages") {
                    seen.push(message);
                }
            }
            assert_eq!(seen, [(1, b"one".to_vec()), (2, Vec::new()), (3, vec![3; 300])], "{piece}");
            assert!(!messages.is_amid());
        }
    }
}
