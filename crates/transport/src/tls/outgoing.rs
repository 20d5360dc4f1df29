//! Bytes that are to be sent: room for more behind them, which is cleared only once.
//!
//! Must not know: what the bytes are, where they go.

/// Bytes that are to be sent.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Initialised, and not shortened: what is about to be sealed over need not be cleared.
    bytes: Vec<u8>,
    used: usize,
}

impl Outgoing {
    /// The bytes to send.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// So many bytes behind it, with anything in them.
    pub(crate) fn room(&mut self, len: usize) -> &mut [u8] {
        let end = self.used + len;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.used..end]
    }

    /// So many bytes of the room are to be sent, too.
    pub(crate) fn add(&mut self, len: usize) {
        self.used += len;
        debug_assert!(self.used <= self.bytes.len(), "{} of {}", self.used, self.bytes.len());
    }

    /// All is sent.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }
}
