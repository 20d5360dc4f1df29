//! A net in memory: connections whose bytes take a time to arrive, on a virtual clock, driven by one thread.
//!
//! A call that would wait lets the others of its thread go on ([`go_on_meanwhile`]); when none of them has anything to
//! do, the clock jumps to the next arrival. A wait that nothing can end is an error, not a hang. Bandwidth has no
//! limit: with nothing else that takes time, elapsed time over the path's round trip is the number of round trips.
//!
//! An end may have a clock of its own ([`SimNet::second_ends_have`]): where it sleeps, the others go on meanwhile.
//!
//! Must not know: what the bytes mean, which machine has which end.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Until;
use crate::sim::SimClock;

thread_local! {
    static OTHERS: RefCell<Vec<Option<Other>>> = const { RefCell::new(Vec::new()) };
}

/// Goes on as far as it can; whether it did anything.
type Other = Box<dyn FnMut() -> bool>;

/// Goes on while this thread waits for something of a simulated net.
pub fn go_on_meanwhile(other: impl FnMut() -> bool + 'static) {
    OTHERS.with_borrow_mut(|others| others.push(Some(Box::new(other))));
}

/// Lets each of the others go on as far as it can; whether one did. One that waits itself is not asked again.
fn others_go_on() -> bool {
    let count = OTHERS.with_borrow(Vec::len);
    (0..count).fold(false, |went, index| {
        let Some(mut other) = OTHERS.with_borrow_mut(|others| others[index].take()) else { return went };
        let goes = other();
        OTHERS.with_borrow_mut(|others| others[index] = Some(other));
        went | goes
    })
}

/// Connections between two hosts.
#[derive(Clone, Debug)]
pub struct SimNet(Arc<Mutex<Net>>);

#[derive(Debug)]
struct Net {
    clock: SimClock,
    delay_ps: u64,
    /// Two for each connection.
    ways: Vec<NetWay>,
    /// Bytes that were sent.
    sent: u64,
    /// So many are; then everything is cut.
    cut_after: Option<u64>,
    /// That of the second end of a new connection, if it has its own.
    second_clock: Option<SimClock>,
}

/// The bytes in flight in one direction.
#[derive(Debug, Default)]
struct NetWay {
    /// Bytes take so long.
    delay_ps: u64,
    bytes: VecDeque<u8>,
    /// When how many of them arrive, the oldest first.
    arrivals: VecDeque<(u64, usize)>,
    is_closed: bool,
}

/// One end of a connection.
#[derive(Debug)]
pub struct SimLink {
    net: SimNet,
    incoming: usize,
    outgoing: usize,
    /// Its own, if it has one.
    clock: Option<SimClock>,
}

impl SimNet {
    /// A net whose bytes take so long each way.
    pub fn new(clock: SimClock, delay: Duration) -> SimNet {
        let delay_ps = delay.as_nanos() as u64 * 1000;
        SimNet(Arc::new(Mutex::new(Net {
            clock,
            delay_ps,
            ways: Vec::new(),
            sent: 0,
            cut_after: None,
            second_clock: None,
        })))
    }

    /// The second end of each connection from now on has this clock. What it sends is sent at that time, and what it has
    /// received has arrived by then. The net's clock is that of all other ends.
    pub fn second_ends_have(&self, clock: Option<SimClock>) {
        self.net().second_clock = clock;
    }

    /// All connections are cut when so many more bytes were sent.
    pub fn cut_after(&self, bytes: u64) {
        let mut net = self.net();
        net.cut_after = Some(net.sent + bytes);
    }

    /// Connections are whole again; those that were cut stay so.
    pub fn mend(&self) {
        self.net().cut_after = None;
    }

    /// Bytes that were sent until now, in both directions.
    pub fn sent_bytes(&self) -> u64 {
        self.net().sent
    }

    /// A new connection.
    pub fn pair(&self) -> (SimLink, SimLink) {
        let delay_ps = self.net().delay_ps;
        self.pair_of(delay_ps)
    }

    /// A new connection within a host: nothing takes any time.
    pub fn local_pair(&self) -> (SimLink, SimLink) {
        self.pair_of(0)
    }

    fn pair_of(&self, delay_ps: u64) -> (SimLink, SimLink) {
        let mut net = self.net();
        let (one, other) = (net.ways.len(), net.ways.len() + 1);
        net.ways.extend([0, 1].map(|_| NetWay { delay_ps, ..NetWay::default() }));
        let second_clock = net.second_clock.clone();
        let end = |incoming, outgoing, clock| SimLink { net: self.clone(), incoming, outgoing, clock };
        (end(one, other, None), end(other, one, second_clock))
    }

    fn net(&self) -> MutexGuard<'_, Net> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something else happens, not later than `until_ps`; false if that time has come, or nothing ever will.
    fn go_on(&self, until_ps: u64) -> bool {
        let sent = self.net().sent;
        // What one of them sent within a host is there at once, for another.
        if others_go_on() || self.net().sent != sent {
            return true;
        }
        let net = self.net();
        let (now_ps, first_ps) = (net.clock.now_ps(), net.first_arrival_ps());
        let next_ps = first_ps.unwrap_or(u64::MAX).min(until_ps);
        if next_ps == u64::MAX || next_ps <= now_ps {
            return false;
        }
        net.clock.advance_to(next_ps);
        true
    }
}

impl Net {
    /// When what is under way arrives next.
    fn first_arrival_ps(&self) -> Option<u64> {
        let now_ps = self.clock.now_ps();
        let arrivals = self.ways.iter().flat_map(|way| &way.arrivals);
        arrivals.map(|&(at_ps, _)| at_ps).filter(|&at_ps| at_ps > now_ps).min()
    }

    fn is_cut(&self) -> bool {
        self.cut_after.is_some_and(|most| self.sent >= most)
    }

    /// Bytes of a way that have arrived.
    fn arrived(&self, way: usize) -> usize {
        let now_ps = self.clock.now_ps();
        self.ways[way].arrivals.iter().take_while(|(at_ps, _)| *at_ps <= now_ps).map(|(_, len)| len).sum()
    }

    /// Takes what has arrived of a way: how much, and when the last of it arrived.
    fn take(&mut self, way: usize, bytes: &mut [u8]) -> (usize, u64) {
        let len = self.arrived(way).min(bytes.len());
        let way = &mut self.ways[way];
        bytes[..len].iter_mut().for_each(|byte| *byte = way.bytes.pop_front().expect("it has arrived"));
        let (mut left, mut arrived_ps) = (len, 0);
        while left > 0 {
            let (at_ps, first) = way.arrivals.front_mut().expect("it has arrived");
            let taken = left.min(*first);
            (*first, left, arrived_ps) = (*first - taken, left - taken, *at_ps);
            if *first == 0 {
                way.arrivals.pop_front();
            }
        }
        (len, arrived_ps)
    }

    fn put(&mut self, way: usize, bytes: &[u8], now_ps: u64) {
        let at_ps = now_ps + self.ways[way].delay_ps;
        self.sent += bytes.len() as u64;
        self.ways[way].bytes.extend(bytes);
        self.ways[way].arrivals.push_back((at_ps, bytes.len()));
    }
}

impl SimLink {
    pub(super) fn now_ns(&self) -> u64 {
        self.now_ps() / 1000
    }

    fn now_ps(&self) -> u64 {
        self.clock.as_ref().map_or_else(|| self.net.net().clock.now_ps(), SimClock::now_ps)
    }

    pub(crate) fn receive(&mut self, bytes: &mut [u8], until: Until) -> io::Result<usize> {
        let mut at = 0;
        loop {
            let (len, arrived_ps) = self.net.net().take(self.incoming, &mut bytes[at..]);
            self.clock.iter().for_each(|clock| clock.advance_to(arrived_ps));
            at += len;
            if at == bytes.len() || (at > 0 && until != Until::Whole) {
                return Ok(at);
            }
            if let Some(end) = self.end() {
                return if at > 0 { Ok(at) } else { end };
            }
            if until == Until::Now {
                return Err(ErrorKind::WouldBlock.into());
            }
            if !self.net.go_on(u64::MAX) {
                return Err(io::Error::new(ErrorKind::Deadlock, "everybody waits for something"));
            }
        }
    }

    /// What a receive says when nothing more comes.
    fn end(&self) -> Option<io::Result<usize>> {
        let net = self.net.net();
        let way = &net.ways[self.incoming];
        if !way.bytes.is_empty() {
            None
        } else if net.is_cut() {
            Some(Err(ErrorKind::ConnectionReset.into()))
        } else if way.is_closed {
            Some(Ok(0))
        } else {
            None
        }
    }

    pub(crate) fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let now_ps = self.now_ps();
        let mut net = self.net.net();
        if net.is_cut() || net.ways[self.incoming].is_closed {
            return Err(ErrorKind::ConnectionReset.into());
        }
        let room = net.cut_after.map_or(u64::MAX, |most| most - net.sent);
        let mut taken = 0;
        for part in parts {
            let len = (part.len() as u64).min(room - taken);
            if len > 0 {
                net.put(self.outgoing, &part[..len as usize], now_ps);
            }
            taken += len;
        }
        Ok(taken as usize)
    }

    pub(crate) fn has_input(&self, patience: Duration) -> io::Result<bool> {
        let until_ps = self.net.net().clock.now_ps() + patience.as_nanos() as u64 * 1000;
        loop {
            if self.net.net().arrived(self.incoming) > 0 || self.end().is_some() {
                return Ok(true);
            }
            if patience.is_zero() || !self.net.go_on(until_ps) {
                return Ok(false);
            }
        }
    }
}

impl Drop for SimLink {
    fn drop(&mut self) {
        self.net.net().ways[self.outgoing].is_closed = true;
    }
}
