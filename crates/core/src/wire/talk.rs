//! A session over its control connection, in time: what is said and heard, that both sides live, and when silence means
//! that the other one is gone. Time comes in; nothing here looks at a clock.
//!
//! Must not know: sockets, what messages lead to.

use super::WireError;
use super::session::{Message, Session};

/// How often a side says that it lives when it has nothing else to say. Neither knows the other's patience: it is half
/// of the least that may be asked for.
const ALIVE_EVERY_NS: u64 = 500_000_000;

/// One side of a session and what time does to it.
#[derive(Debug)]
pub struct Talk {
    session: Session,
    /// Silence after which the other side is taken for dead.
    patience_ns: u64,
    heard_ns: u64,
    said_ns: u64,
}

impl Talk {
    /// One side that begins to listen now.
    pub fn new(session: Session, patience_ns: u64, now_ns: u64) -> Talk {
        Talk { session, patience_ns, heard_ns: now_ns, said_ns: now_ns }
    }

    /// Silence after which the other side is taken for dead.
    pub fn patience_ns(&self) -> u64 {
        self.patience_ns
    }

    /// Something is to be said.
    ///
    /// Errors: it is not this side's turn to say it.
    pub fn say(&mut self, message: Message) -> Result<(), WireError> {
        self.session.send(message)
    }

    /// The body of the next message to be sent.
    pub fn poll_message(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        let body = self.session.poll_message()?;
        self.said_ns = now_ns;
        Some(body)
    }

    /// The body of a message came. Gives what it says, unless it is a sign of life alone.
    ///
    /// Errors: it means nothing, or may not come now. The session is lost then.
    pub fn handle_message(&mut self, body: &[u8], now_ns: u64) -> Result<Option<Message>, WireError> {
        self.heard_ns = now_ns;
        Ok(Some(self.session.handle_message(body)?).filter(|message| *message != Message::Alive))
    }

    /// Time has passed: this side may have to say that it lives. False if the other one has been silent for too long.
    ///
    /// Errors: none that an honest session has.
    pub fn handle_time(&mut self, now_ns: u64) -> Result<bool, WireError> {
        if now_ns.saturating_sub(self.said_ns) >= ALIVE_EVERY_NS {
            self.said_ns = now_ns;
            self.session.send(Message::Alive)?;
        }
        Ok(now_ns.saturating_sub(self.heard_ns) <= self.patience_ns)
    }

    /// The job runs, and has not been reported.
    pub fn is_running(&self) -> bool {
        self.session.is_running()
    }

    /// Both sides have said all there was to say.
    pub fn is_over(&self) -> bool {
        self.session.is_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Carries what one has to say to the other.
    fn carry(from: &mut Talk, to: &mut Talk, now_ns: u64) -> Vec<Message> {
        let bodies: Vec<_> = std::iter::from_fn(|| from.poll_message(now_ns)).collect();
        bodies.iter().filter_map(|body| to.handle_message(body, now_ns).expect("in its turn")).collect()
    }

    #[test]
    fn two_that_have_nothing_to_say_stay_alive() {
        let patience_ns = 1000 * MS;
        let mut caller = Talk::new(Session::caller(), patience_ns, 0);
        let mut called = Talk::new(Session::called(), patience_ns, 0);
        for now_ms in (0..60_000).step_by(100) {
            let now_ns = now_ms * MS;
            assert_eq!(
                (caller.handle_time(now_ns), called.handle_time(now_ns)),
                (Ok(true), Ok(true)),
                "{now_ms}"
            );
            assert_eq!(carry(&mut caller, &mut called, now_ns), []);
            assert_eq!(carry(&mut called, &mut caller, now_ns), []);
        }
        assert!(!caller.is_over() && !caller.is_running());
    }

    #[test]
    fn who_is_silent_for_longer_than_the_patience_is_gone() {
        let mut talk = Talk::new(Session::caller(), 30_000 * MS, 7 * MS);
        assert_eq!(talk.handle_time(30_007 * MS), Ok(true));
        assert_eq!(talk.handle_time(30_008 * MS), Ok(false));
        // A sign of life, and it is not.
        let mut other = Talk::new(Session::called(), 1000 * MS, 0);
        assert_eq!(other.handle_time(500 * MS), Ok(true));
        assert_eq!(carry(&mut other, &mut talk, 40_000 * MS), []);
        assert_eq!(talk.handle_time(70_000 * MS), Ok(true));
    }
}
