//! Connections of a session over which nothing comes any more, while both hosts live: a firewall forgot one, or bytes
//! of it were lost or garbled.
//!
//! Each side counts the bytes that it sent and received over each connection, and tells both on the control connection.
//! A side waits in vain where the other one sent what does not come, where the other one has all that this side sent
//! and nothing in hand, or where it does not have the connection any more. A side that works is waited for.
//!
//! Must not know: sockets, what is sent, how a session is lost.

use minicbor::{Decode, Encode};

/// What one side tells of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ConnectionTraffic {
    /// Its number, which the caller chose.
    #[n(0)]
    pub number: u32,
    /// Bytes that this side sent over it, or that it tries to send; before they are sealed.
    #[n(1)]
    pub sent: u64,
    /// Bytes that it received.
    #[n(2)]
    pub received: u64,
    /// It answered all that it was asked, and waits for more.
    #[n(3)]
    pub is_idle: bool,
}

/// What a side knows of a connection of its own. All counts only grow, but for `sent` where the rest of a record waits
/// for the next flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Its number.
    pub number: u32,
    /// Bytes that were sent, or are being sent; before they are sealed.
    pub sent: u64,
    /// Bytes that were received and opened.
    pub received: u64,
    /// Bytes that arrived, whatever they are.
    pub arrived: u64,
    /// Waits that ended without anything.
    pub looked: u64,
    /// Of these, waits for something without which its owner cannot go on.
    pub needed: u64,
    /// Its owner passes on what comes: it does not know what is in hand.
    pub relays: bool,
}

/// One connection at the last look.
#[derive(Clone, Copy, Debug)]
struct SeenConnection {
    traffic: ConnectionCounts,
    /// It waited in vain then.
    was_in_vain: bool,
    /// For how long it has waited in vain.
    stalled_ns: u64,
}

/// All connections of a session, as one side sees them.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    seen: Vec<SeenConnection>,
    /// What the other side told last; an older one tells nothing.
    heard: Option<Vec<ConnectionTraffic>>,
}

impl Stalls {
    /// The other side told of its connections.
    pub(super) fn handle_traffic(&mut self, told: Vec<ConnectionTraffic>) {
        self.heard = Some(told);
    }

    /// Looks at all connections, so long after the last look. Gives what is told of them.
    pub(super) fn look(&mut self, own: &[ConnectionCounts], elapsed_ns: u64) -> Vec<ConnectionTraffic> {
        let (seen, told) = own.iter().map(|traffic| self.look_at(*traffic, elapsed_ns)).unzip();
        self.seen = seen;
        told
    }

    fn look_at(&self, now: ConnectionCounts, elapsed_ns: u64) -> (SeenConnection, ConnectionTraffic) {
        let before = self.seen.iter().find(|seen| seen.traffic.number == now.number);
        let ConnectionCounts { number, sent, received, .. } = now;
        let told = ConnectionTraffic { number, sent, received, is_idle: false };
        let Some(before) = before else {
            return (SeenConnection { traffic: now, was_in_vain: false, stalled_ns: 0 }, told);
        };
        let last = before.traffic;
        let is_still = now.arrived == last.arrived;
        let (has_looked, needs) = (now.looked != last.looked, now.needed != last.needed);
        let is_in_vain = is_still && self.waits_in_vain(&now, needs);
        let stalled_ns = if !is_in_vain {
            0
        } else if before.was_in_vain && has_looked {
            before.stalled_ns.saturating_add(elapsed_ns)
        } else {
            // An owner that does not look has something else to do: what was received may wait for it.
            before.stalled_ns
        };
        let is_idle = is_still && has_looked && !needs && !now.relays;
        (
            SeenConnection { traffic: now, was_in_vain: is_in_vain, stalled_ns },
            ConnectionTraffic { is_idle, ..told },
        )
    }

    fn waits_in_vain(&self, own: &ConnectionCounts, needs: bool) -> bool {
        let Some(heard) = &self.heard else { return false };
        match heard.iter().find(|other| other.number == own.number) {
            Some(other) if other.sent > own.received => true,
            Some(other) => needs && other.is_idle && other.received >= own.sent,
            None => needs,
        }
    }

    /// The longest wait in vain.
    pub(super) fn longest_ns(&self) -> u64 {
        self.seen.iter().map(|seen| seen.stalled_ns).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::session::Message;
    use crate::wire::{TRAFFIC_MAX, WireError, decode, encode};

    const TICK_NS: u64 = 500_000_000;

    /// One connection with two sides, each of which looks every half second.
    #[derive(Default)]
    struct Pair {
        sides: [(Stalls, ConnectionCounts); 2],
    }

    impl Pair {
        /// Half a second passes. What each owner did meanwhile, and whether one is heard by the other.
        fn tick(&mut self, did: [fn(&mut ConnectionCounts); 2], is_heard: bool) -> [u64; 2] {
            let told = [0, 1].map(|index| {
                let (stalls, traffic) = &mut self.sides[index];
                did[index](traffic);
                stalls.look(&[*traffic], TICK_NS)
            });
            if is_heard {
                let [first, second] = told;
                self.sides[0].0.handle_traffic(second);
                self.sides[1].0.handle_traffic(first);
            }
            [0, 1].map(|index| self.sides[index].0.longest_ns())
        }
    }

    fn needs(traffic: &mut ConnectionCounts) {
        traffic.looked += 5;
        traffic.needed += 5;
    }

    fn listens(traffic: &mut ConnectionCounts) {
        traffic.looked += 5;
    }

    fn works(_: &mut ConnectionCounts) {}

    fn sends(traffic: &mut ConnectionCounts) {
        traffic.sent += 100;
        needs(traffic);
    }

    fn takes(traffic: &mut ConnectionCounts) {
        traffic.received += 100;
        traffic.arrived += 122;
    }

    #[test]
    fn a_request_that_was_lost_is_missed_where_it_should_come() {
        let mut pair = Pair::default();
        pair.tick([needs, listens], true);
        pair.tick([sends, listens], true);
        let waited: Vec<u64> = (0..6).map(|_| pair.tick([needs, listens], true)[1] / TICK_NS).collect();
        assert_eq!(waited, [0, 1, 2, 3, 4, 5], "from the look behind the one at which it was told");
        assert_eq!(pair.tick([needs, takes], true), [0, 0], "it came");
    }

    #[test]
    fn an_answer_that_was_lost_is_missed_where_it_was_needed() {
        let mut pair = Pair::default();
        pair.tick([sends, takes], true);
        let lost: fn(&mut ConnectionCounts) = |answers| {
            answers.sent += 4000;
            answers.looked += 1;
        };
        pair.tick([needs, lost], true);
        let waited = (0..6).map(|_| pair.tick([needs, listens], true)).last();
        assert_eq!(waited, Some([5 * TICK_NS, 0]));
    }

    #[test]
    fn a_side_that_works_is_waited_for() {
        let mut pair = Pair::default();
        pair.tick([sends, listens], true);
        pair.tick([needs, takes], true);
        for _ in 0..1000 {
            assert_eq!(pair.tick([needs, works], true), [0, 0]);
        }
        // What came meanwhile lies in its socket.
        pair.tick([sends, works], true);
        for _ in 0..1000 {
            assert_eq!(pair.tick([needs, works], true), [0, 0]);
        }
    }

    #[test]
    fn one_that_nobody_needs_is_left_alone() {
        let mut pair = Pair::default();
        for _ in 0..1000 {
            assert_eq!(pair.tick([listens, listens], true), [0, 0]);
            assert_eq!(pair.tick([works, listens], true), [0, 0]);
        }
    }

    #[test]
    fn a_side_that_has_nothing_in_hand_is_not_waited_for() {
        let mut pair = Pair::default();
        pair.tick([sends, listens], true);
        pair.tick([needs, takes], true);
        let waited = (0..8).map(|_| pair.tick([needs, listens], true)).last();
        assert!(waited.is_some_and(|[first, second]| first >= 5 * TICK_NS && second == 0), "{waited:?}");
    }

    #[test]
    fn a_relay_does_not_say_that_it_has_nothing_in_hand() {
        let mut pair = Pair::default();
        pair.sides[1].1.relays = true;
        pair.tick([sends, takes], true);
        for _ in 0..1000 {
            assert_eq!(pair.tick([needs, listens], true), [0, 0]);
        }
    }

    #[test]
    fn one_that_the_other_side_does_not_have_any_more_is_given_up_once_it_is_needed() {
        let (mut stalls, mut traffic) = (Stalls::default(), ConnectionCounts::default());
        for round in 0..6 {
            if round >= 2 {
                needs(&mut traffic);
            }
            stalls.look(&[traffic], TICK_NS);
            stalls.handle_traffic(Vec::new());
        }
        assert_eq!(stalls.longest_ns(), 3 * TICK_NS);
    }

    #[test]
    fn an_older_side_tells_nothing_and_is_waited_for() {
        let mut pair = Pair::default();
        pair.tick([sends, listens], false);
        for _ in 0..1000 {
            assert_eq!(pair.tick([needs, listens], false), [0, 0]);
        }
    }

    #[test]
    fn bytes_that_come_slowly_are_progress() {
        let mut pair = Pair::default();
        pair.tick([sends, works], true);
        let trickle: fn(&mut ConnectionCounts) = |traffic| {
            traffic.arrived += 1;
            traffic.looked += 4;
            traffic.needed += 4;
        };
        for _ in 0..1000 {
            assert_eq!(pair.tick([sends, trickle], true), [0, 0]);
        }
    }

    /// What an older version knows of a sign of life.
    #[derive(Debug, PartialEq, Eq, Encode, Decode)]
    enum OlderMessage {
        #[n(8)]
        Alive,
    }

    #[test]
    fn an_older_version_reads_past_what_is_told_of_connections() {
        let told = ConnectionTraffic { number: u32::MAX, sent: u64::MAX, received: 0, is_idle: true };
        let alive = Message::Alive(Some(vec![told; 3]));
        assert_eq!(decode::<OlderMessage>(&encode(&alive)), Ok(OlderMessage::Alive));
        assert_eq!(decode::<Message>(&encode(&alive)), Ok(alive));
        let many = Message::Alive(Some(vec![told; TRAFFIC_MAX + 1]));
        assert!(matches!(decode::<Message>(&encode(&many)), Err(WireError::Unreadable(_))));
    }
}
