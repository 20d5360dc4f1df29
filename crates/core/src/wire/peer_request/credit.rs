//! How far one side may send what was not requested: bytes of frames that the other side has room for.
//!
//! [`SendCredit`] is the side that sends, [`ReceiveCredit`] the side that has the room. Both count the same bytes. An
//! item that is begun while there is credit is sent whole, so that the last thing may go beyond it.
//!
//! Must not know: what is sent.

use super::super::WireError;
use super::super::frame::HEAD_BYTES;

/// What may come beyond the credit: things that were begun before it was used up.
const BEYOND_BYTES: u64 = 16 << 20;

/// Of the side that sends.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendCredit {
    granted: u64,
    sent: u64,
}

impl SendCredit {
    /// So much more may be sent.
    pub fn handle_grant(&mut self, bytes: u64) {
        self.granted = self.granted.saturating_add(bytes);
    }

    /// A frame of so many bytes behind its head is sent.
    pub fn handle_frame(&mut self, bytes: usize) {
        self.sent += (HEAD_BYTES + bytes) as u64;
    }

    /// Whether something more may be begun while so much is under way.
    pub fn may_begin(&self, under_way_bytes: u64) -> bool {
        self.sent.saturating_add(under_way_bytes) < self.granted
    }
}

/// Of the side that receives.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveCredit {
    granted: u64,
    received: u64,
    /// Received, not held any more, and not granted anew.
    free: u64,
    window: u64,
}

impl ReceiveCredit {
    /// The other side was granted so much.
    pub fn new(window: u64) -> ReceiveCredit {
        ReceiveCredit { granted: window, received: 0, free: 0, window }
    }

    /// A frame of so many bytes behind its head came. Gives its bytes with the head.
    ///
    /// Errors: the other side sends beyond its credit.
    pub fn handle_frame(&mut self, bytes: usize) -> Result<u64, WireError> {
        if self.received > self.granted.saturating_add(BEYOND_BYTES) {
            return Err(WireError::Unexpected("more than it has credit for"));
        }
        let frame_bytes = (HEAD_BYTES + bytes) as u64;
        self.received += frame_bytes;
        Ok(frame_bytes)
    }

    /// So much of what came is not held any more.
    pub fn handle_free(&mut self, bytes: u64) {
        self.free += bytes;
    }

    /// There is room for so much more than before.
    pub fn widen(&mut self, bytes: u64) {
        self.window += bytes;
        self.free += bytes;
    }

    /// The other side waits for credit: nothing is on its way.
    pub fn is_used_up(&self) -> bool {
        self.received >= self.granted
    }

    /// The other side waits for credit, and what was freed would not be enough: it has sent beyond it.
    pub fn is_stuck(&self) -> bool {
        self.received >= self.granted.saturating_add(self.free)
    }

    /// Whether nothing has come.
    pub fn is_untouched(&self) -> bool {
        self.received == 0
    }

    /// Credit to grant now: a quarter of the window together, or whatever is free where the other side waits for it.
    pub fn poll_grant(&mut self) -> Option<u64> {
        let is_due = self.free * 4 >= self.window || (self.is_used_up() && self.free > 0);
        let bytes = is_due.then(|| std::mem::take(&mut self.free)).filter(|bytes| *bytes > 0)?;
        self.granted = self.granted.saturating_add(bytes);
        Some(bytes)
    }

    /// The window in bytes.
    pub fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_follows_what_is_freed() {
        let (mut sender, mut receiver) = (SendCredit::default(), ReceiveCredit::new(1000));
        sender.handle_grant(1000);
        let (mut held, mut frames) = (0, 0);
        for round in 0..1000 {
            while sender.may_begin(0) {
                sender.handle_frame(76);
                receiver.handle_frame(76).expect("it has credit");
                (held, frames) = (held + 100, frames + 1);
            }
            assert!(receiver.is_used_up() && held < 1100, "{round}: {held}");
            receiver.handle_free(100);
            held -= 100;
            receiver.poll_grant().into_iter().for_each(|bytes| sender.handle_grant(bytes));
        }
        assert!(frames > 1000 && receiver.window() == 1000);
    }

    #[test]
    fn beyond_the_credit_the_session_ends() {
        let mut receiver = ReceiveCredit::new(1000);
        let whole = (0..).take_while(|_| receiver.handle_frame(1 << 20).is_ok()).count();
        assert!((16..=18).contains(&whole), "{whole}");
        assert_eq!(receiver.handle_frame(1), Err(WireError::Unexpected("more than it has credit for")));
    }

    #[test]
    fn credit_is_granted_in_quarters_while_something_is_on_its_way() {
        let mut receiver = ReceiveCredit::new(1000);
        receiver.handle_frame(176).expect("it has credit");
        receiver.handle_free(200);
        assert_eq!(receiver.poll_grant(), None);
        receiver.handle_free(50);
        assert_eq!((receiver.poll_grant(), receiver.poll_grant()), (Some(250), None));
        receiver.widen(500);
        assert_eq!((receiver.poll_grant(), receiver.window()), (Some(500), 1500));
    }

    #[test]
    fn what_is_freed_of_what_came_beyond_the_credit_lets_nothing_come() {
        let mut receiver = ReceiveCredit::new(100);
        receiver.handle_frame(276).expect("it was begun before");
        receiver.handle_free(200);
        assert!(receiver.is_used_up() && receiver.is_stuck());
        receiver.handle_free(100);
        assert!(receiver.is_used_up() && !receiver.is_stuck());
    }
}
