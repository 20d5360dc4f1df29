//! Several streams over one pipe: the frames between the two ends of an ssh channel, and how much each may send.
//!
//! A head is 12 bytes, numbers little-endian: `kind` (1 byte: 1 open, 2 data, 3 credit, 4 end), three bytes of zero,
//! `stream` (4 bytes), `length` (4 bytes: of data what follows the head, of credit what may be sent more, else 0). The
//! caller opens streams, numbered 1, 2, 3 and so on. Each side may send [`WINDOW_BYTES`] in a stream before it has
//! heard of credit, so that a stream that nobody reads holds up no other. An end is of both directions: what was sent
//! before it still counts, what comes for it afterwards is dropped.
//!
//! Must not know: pipes, sockets, what the streams carry.

use super::WireError;

/// Bytes of a head.
pub const HEAD_BYTES: usize = 12;
/// Bytes in the longest frame.
pub const DATA_BYTES_MAX: u32 = 64 << 10;
/// Bytes that may be on their way in a stream: as much as ssh lets be on its way in a channel.
pub const WINDOW_BYTES: u32 = 2 << 20;
/// Streams at a time.
pub const STREAMS_MAX: usize = 1024;
/// Credit is told when so much has gathered.
const CREDIT_BYTES: u32 = WINDOW_BYTES / 8;

/// What a head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// A new stream.
    Open,
    /// So many bytes of a stream follow.
    Data(u32),
    /// The other side may send so many bytes more.
    Credit(u32),
    /// The stream is closed.
    End,
}

/// What stands before bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHead {
    /// What it says.
    pub kind: StreamKind,
    /// Of which stream.
    pub stream: u32,
}

impl StreamHead {
    /// The head as bytes.
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let (kind, length) = match self.kind {
            StreamKind::Open => (1, 0),
            StreamKind::Data(length) => (2, length),
            StreamKind::Credit(bytes) => (3, bytes),
            StreamKind::End => (4, 0),
        };
        let mut bytes = [0; HEAD_BYTES];
        bytes[0] = kind;
        bytes[4..8].copy_from_slice(&self.stream.to_le_bytes());
        bytes[8..].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    /// Reads a head. Its length is within the bound of its kind.
    pub fn decode(bytes: &[u8; HEAD_BYTES]) -> Result<StreamHead, WireError> {
        let [kind, 0, 0, 0, s0, s1, s2, s3, l0, l1, l2, l3] = *bytes else {
            return Err(WireError::NotAFrame);
        };
        let (stream, length) = (u32::from_le_bytes([s0, s1, s2, s3]), u32::from_le_bytes([l0, l1, l2, l3]));
        let within = |what, most: u32| match length {
            0 => Err(WireError::NotAFrame),
            _ if length > most => Err(WireError::TooLong(what, length.into(), most.into())),
            _ => Ok(length),
        };
        let kind = match (kind, length) {
            (1, 0) => StreamKind::Open,
            (2, _) => StreamKind::Data(within("a stream", DATA_BYTES_MAX)?),
            (3, _) => StreamKind::Credit(within("credit", WINDOW_BYTES)?),
            (4, 0) => StreamKind::End,
            _ => return Err(WireError::NotAFrame),
        };
        match stream {
            0 => Err(WireError::NotAFrame),
            _ => Ok(StreamHead { kind, stream }),
        }
    }
}

/// One side's account of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFlow {
    may_send: u32,
    may_come: u32,
    /// Taken by who reads the stream, and not told as credit yet.
    taken: u32,
}

impl Default for StreamFlow {
    fn default() -> StreamFlow {
        StreamFlow { may_send: WINDOW_BYTES, may_come: WINDOW_BYTES, taken: 0 }
    }
}

impl StreamFlow {
    /// Bytes that the next frame may have.
    pub fn may_send(&self) -> u32 {
        self.may_send.min(DATA_BYTES_MAX)
    }

    /// Bytes are sent: no more than may be.
    pub fn send(&mut self, bytes: u32) {
        self.may_send = self.may_send.saturating_sub(bytes);
    }

    /// The other side gave credit.
    ///
    /// Errors: more than was ever sent.
    pub fn handle_credit(&mut self, bytes: u32) -> Result<(), WireError> {
        match self.may_send.checked_add(bytes) {
            Some(sum) if sum <= WINDOW_BYTES => self.may_send = sum,
            _ => return Err(WireError::Unexpected("credit for bytes that were never sent")),
        }
        Ok(())
    }

    /// Bytes came.
    ///
    /// Errors: more than may.
    pub fn handle_data(&mut self, bytes: u32) -> Result<(), WireError> {
        let most = self.may_come;
        let left = most.checked_sub(bytes);
        self.may_come =
            left.ok_or(WireError::TooLong("a stream that is not read", bytes.into(), most.into()))?;
        Ok(())
    }

    /// The reader of the stream took bytes. Gives the credit that is to be told, if any.
    pub fn take(&mut self, bytes: u32) -> Option<u32> {
        self.taken = self.taken.saturating_add(bytes).min(WINDOW_BYTES - self.may_come);
        if self.taken < CREDIT_BYTES {
            return None;
        }
        let credit = std::mem::take(&mut self.taken);
        self.may_come += credit;
        Some(credit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_were_written() {
        for kind in [
            StreamKind::Open,
            StreamKind::Data(1),
            StreamKind::Data(DATA_BYTES_MAX),
            StreamKind::Credit(1),
            StreamKind::Credit(WINDOW_BYTES),
            StreamKind::End,
        ] {
            for stream in [1, 256, u32::MAX] {
                let head = StreamHead { kind, stream };
                assert_eq!(StreamHead::decode(&head.encode()), Ok(head));
            }
        }
    }

    #[test]
    fn what_is_no_head_is_refused() {
        let bytes = |kind: u8, stream: u32, length: u32| {
            let mut bytes = [0; HEAD_BYTES];
            bytes[0] = kind;
            bytes[4..8].copy_from_slice(&stream.to_le_bytes());
            bytes[8..].copy_from_slice(&length.to_le_bytes());
            bytes
        };
        let long = |what, length: u32, most: u32| WireError::TooLong(what, length.into(), most.into());
        for (bytes, error) in [
            (*b"Last login: ", WireError::NotAFrame),
            ([0; HEAD_BYTES], WireError::NotAFrame),
            (bytes(5, 1, 0), WireError::NotAFrame),
            (bytes(1, 0, 0), WireError::NotAFrame),
            (bytes(1, 1, 1), WireError::NotAFrame),
            (bytes(4, 1, 1), WireError::NotAFrame),
            (bytes(2, 1, 0), WireError::NotAFrame),
            (bytes(2, 1, DATA_BYTES_MAX + 1), long("a stream", DATA_BYTES_MAX + 1, DATA_BYTES_MAX)),
            (bytes(3, 1, u32::MAX), long("credit", u32::MAX, WINDOW_BYTES)),
        ] {
            assert_eq!(StreamHead::decode(&bytes), Err(error), "{bytes:?}");
        }
    }

    #[test]
    fn a_stream_that_is_not_read_stops_at_its_window_and_goes_on_with_credit() {
        let (mut one, mut other) = (StreamFlow::default(), StreamFlow::default());
        let mut sent = 0;
        while one.may_send() > 0 {
            let bytes = one.may_send();
            one.send(bytes);
            other.handle_data(bytes).expect("it is within the window");
            sent += bytes;
        }
        assert_eq!(sent, WINDOW_BYTES);
        assert!(other.handle_data(1).is_err(), "more than the window");
        let mut credit = 0;
        for _ in 0..sent / 1000 {
            credit += other.take(1000).unwrap_or(0);
        }
        assert!(credit >= sent - CREDIT_BYTES - 1000 && credit <= sent, "{credit}");
        one.handle_credit(credit).expect("it was sent");
        assert_eq!(one.may_send(), DATA_BYTES_MAX);
        assert!(one.handle_credit(WINDOW_BYTES).is_err(), "more than was sent");
    }
}
