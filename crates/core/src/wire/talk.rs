//! A session over its control connection, in time: what is said and heard, that both sides live, and when silence means
//! that the other one is gone. Time comes in; nothing here looks at a clock.
//!
//! Must not know: sockets, what messages lead to.

mod stalls;

use super::WireError;
use super::session::{Message, Session};

use stalls::Stalls;
pub use stalls::{ConnectionCounts, ConnectionTraffic};

/// How often a side says that it lives when it has nothing else to say. Neither knows the other's patience: it is half
/// of the least that may be asked for.
const ALIVE_EVERY_NS: u64 = 500_000_000;
/// The most that counts of the time between two looks: a host that slept has not waited.
const LOOK_NS_MAX: u64 = 2 * ALIVE_EVERY_NS;

/// What time has told of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It lives, and so do the connections.
    Alive,
    /// It has been silent for too long.
    Silent,
    /// It lives, but over one of the connections something is missing for too long.
    Stalled,
}

/// One side of a session and what time does to it.
#[derive(Debug)]
pub struct Talk {
    session: Session,
    /// Silence after which the other side is taken for dead.
    patience_ns: u64,
    heard_ns: u64,
    said_ns: u64,
    looked_ns: u64,
    stalls: Stalls,
}

impl Talk {
    /// One side that begins to listen now.
    pub fn new(session: Session, patience_ns: u64, now_ns: u64) -> Talk {
        let (heard_ns, said_ns, looked_ns) = (now_ns, now_ns, now_ns);
        Talk { session, patience_ns, heard_ns, said_ns, looked_ns, stalls: Stalls::default() }
    }

    /// From now on the other side has so long.
    pub fn set_patience_ns(&mut self, patience_ns: u64) {
        self.patience_ns = patience_ns;
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
        Ok(match self.session.handle_message(body)? {
            Message::Alive(told) => {
                told.into_iter().for_each(|told| self.stalls.handle_traffic(told));
                None
            }
            message => Some(message),
        })
    }

    /// Time has passed: this side may have to say that it lives, and how far its connections are: `traffic`.
    ///
    /// Errors: none that an honest session has.
    pub fn handle_time(
        &mut self,
        now_ns: u64,
        traffic: &dyn Fn() -> Vec<ConnectionCounts>,
    ) -> Result<Liveness, WireError> {
        let is_running = self.session.is_running();
        let since_ns = now_ns.saturating_sub(self.looked_ns);
        let told = (is_running && since_ns >= ALIVE_EVERY_NS).then(|| {
            self.looked_ns = now_ns;
            self.stalls.look(&traffic(), since_ns.min(LOOK_NS_MAX))
        });
        if told.is_some() || now_ns.saturating_sub(self.said_ns) >= ALIVE_EVERY_NS {
            self.said_ns = now_ns;
            self.session.send(Message::Alive(told))?;
        }
        Ok(if now_ns.saturating_sub(self.heard_ns) > self.patience_ns {
            Liveness::Silent
        } else if is_running && self.stalls.longest_ns() >= self.patience_ns {
            // Behind the report connections end, each when it likes.
            Liveness::Stalled
        } else {
            Liveness::Alive
        })
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
    use crate::wire::session::Direction;

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
                (caller.handle_time(now_ns, &Vec::new), called.handle_time(now_ns, &Vec::new)),
                (Ok(Liveness::Alive), Ok(Liveness::Alive)),
                "{now_ms}"
            );
            assert_eq!(carry(&mut caller, &mut called, now_ns), []);
            assert_eq!(carry(&mut called, &mut caller, now_ns), []);
        }
        assert!(!caller.is_over() && !caller.is_running());
    }

    #[test]
    fn a_sign_of_life_before_a_session_comes_half_a_second_behind_the_last_word() {
        let mut talk = Talk::new(Session::caller(), 1000 * MS, 0);
        let mut said = Vec::new();
        for now_ms in (0..5000).step_by(100) {
            if now_ms == 600 {
                talk.say(crate::wire::tests::begin(Direction::Push)).expect("its turn");
            }
            talk.handle_time(now_ms * MS, &Vec::new).expect("an honest session");
            said.extend(std::iter::from_fn(|| talk.poll_message(now_ms * MS)).map(|_| now_ms));
        }
        assert!(said.windows(2).all(|two| two[1] - two[0] <= 500), "{said:?}");
    }

    #[test]
    fn who_is_silent_for_longer_than_the_patience_is_gone() {
        let mut talk = Talk::new(Session::caller(), 30_000 * MS, 7 * MS);
        assert_eq!(talk.handle_time(30_007 * MS, &Vec::new), Ok(Liveness::Alive));
        assert_eq!(talk.handle_time(30_008 * MS, &Vec::new), Ok(Liveness::Silent));
        // A sign of life, and it is not.
        let mut other = Talk::new(Session::called(), 1000 * MS, 0);
        assert_eq!(other.handle_time(500 * MS, &Vec::new), Ok(Liveness::Alive));
        assert_eq!(carry(&mut other, &mut talk, 40_000 * MS), []);
        assert_eq!(talk.handle_time(70_000 * MS, &Vec::new), Ok(Liveness::Alive));
    }

    /// A caller that wrote 700 bytes and waits for an answer, and a called side to which `came` of them came.
    fn after_a_minute(came: u64) -> [u64; 2] {
        let mut sides = [Session::caller(), Session::called()].map(|side| Talk::new(side, 30_000 * MS, 0));
        let [caller, called] = &mut sides;
        caller.say(crate::wire::tests::begin(Direction::Push)).expect("its turn");
        carry(caller, called, 0);
        called.say(crate::wire::tests::session_answer()).expect("its turn");
        carry(called, caller, 0);
        let mut first = [u64::MAX; 2];
        for now_ms in (0..60_000).step_by(100) {
            let now_ns = now_ms * MS;
            let traffic = |sent, received, needed| {
                vec![ConnectionCounts {
                    number: 1,
                    sent,
                    received,
                    looked: now_ms,
                    needed,
                    ..ConnectionCounts::default()
                }]
            };
            let looks = [
                sides[0].handle_time(now_ns, &|| traffic(700, 0, now_ms)),
                sides[1].handle_time(now_ns, &|| traffic(0, came, 0)),
            ];
            for (first, look) in first.iter_mut().zip(looks) {
                if look != Ok(Liveness::Alive) {
                    assert_eq!(look, Ok(Liveness::Stalled));
                    *first = now_ms.min(*first);
                }
            }
            let [caller, called] = &mut sides;
            assert_eq!(carry(caller, called, now_ns), []);
            assert_eq!(carry(called, caller, now_ns), []);
        }
        first
    }

    #[test]
    fn what_was_sent_and_does_not_come_ends_a_session_whose_sides_live() {
        let [caller, called] = after_a_minute(100);
        assert!((30_000..32_000).contains(&called) && caller == u64::MAX, "{called} {caller}");
    }

    #[test]
    fn an_answer_of_one_that_has_nothing_in_hand_is_waited_for_no_longer_than_the_patience() {
        let [caller, called] = after_a_minute(700);
        assert!((30_000..32_000).contains(&caller) && called == u64::MAX, "{called} {caller}");
    }
}
