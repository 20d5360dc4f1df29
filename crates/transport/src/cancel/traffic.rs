//! How far the connections of a session are: what went over each, and whether its owner waits.
//!
//! Must not know: what is sent, what follows from it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use datapump_core::wire::talk::ConnectionCounts;

/// The counts of one connection. Only its owner writes them.
#[derive(Debug, Default)]
pub(crate) struct ConnectionMeter {
    sent: AtomicU64,
    received: AtomicU64,
    arrived: AtomicU64,
    looked: AtomicU64,
    needed: AtomicU64,
    relays: AtomicBool,
}

/// One writer: no other one's count is lost.
fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

impl ConnectionMeter {
    /// So many bytes were sent or are being sent, all in all.
    pub(crate) fn sent(&self, bytes: u64) {
        self.sent.store(bytes, Ordering::Relaxed);
    }

    /// More bytes were opened.
    pub(crate) fn received(&self, bytes: usize) {
        add(&self.received, bytes as u64);
    }

    /// More bytes arrived.
    pub(crate) fn arrived(&self, bytes: usize) {
        add(&self.arrived, bytes as u64);
    }

    /// Nothing came for a while.
    pub(crate) fn looked(&self) {
        add(&self.looked, 1);
    }

    /// Nothing came for a while, and the owner cannot go on without.
    pub(crate) fn needed(&self) {
        add(&self.needed, 1);
        self.looked();
    }

    /// What comes is passed on.
    pub(crate) fn relays(&self) {
        self.relays.store(true, Ordering::Relaxed);
    }

    fn traffic(&self, number: u32) -> ConnectionCounts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        // In this order: what arrives in between is not taken for a wait behind it.
        let (looked, needed) = (of(&self.looked), of(&self.needed));
        let (sent, received) = (of(&self.sent), of(&self.received));
        let (arrived, relays) = (of(&self.arrived), self.relays.load(Ordering::Relaxed));
        ConnectionCounts { number, sent, received, arrived, looked, needed, relays }
    }
}

/// The connections of a session that are counted.
#[derive(Debug, Default)]
pub(crate) struct CountedConnections {
    meters: Mutex<Vec<(u32, Weak<ConnectionMeter>)>>,
    last: AtomicU32,
}

impl CountedConnections {
    /// A number that no other connection of the session has, for the side that makes them.
    pub(crate) fn next_number(&self) -> u32 {
        self.last.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn add(&self, number: u32, meter: &Arc<ConnectionMeter>) {
        self.meters().push((number, Arc::downgrade(meter)));
    }

    /// Those that are open.
    pub(crate) fn traffic(&self) -> Vec<ConnectionCounts> {
        let mut meters = self.meters();
        meters.retain(|(_, meter)| meter.strong_count() > 0);
        meters.iter().filter_map(|(number, meter)| Some(meter.upgrade()?.traffic(*number))).collect()
    }

    fn meters(&self) -> MutexGuard<'_, Vec<(u32, Weak<ConnectionMeter>)>> {
        self.meters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
