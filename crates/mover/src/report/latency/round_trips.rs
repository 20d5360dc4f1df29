//! Counts round trips: the longest chain of messages that had to wait for one another.
//!
//! A logical clock (Lamport, *Time, Clocks, and the Ordering of Events in a Distributed System*, 1978): a request
//! carries the length of the chain until then, and its answer makes the chain one longer, unless it is longer already.
//! Only the side that writes waits for answers, so that it counts alone.
//!
//! Must not know: what is requested, how long anything takes.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a round trip is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TripPhase {
    /// Names, and what they are.
    Listing,
    /// Files and their bytes.
    Data,
}

/// The chain until something was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TripStamp(u64);

/// Counts the round trips of a session.
#[derive(Debug, Default)]
pub struct TripCounter {
    longest: AtomicU64,
    listing: AtomicU64,
    data: AtomicU64,
    requests: AtomicU64,
}

impl TripCounter {
    /// A request is sent.
    pub fn sent(&self) -> TripStamp {
        TripStamp(self.longest.load(Ordering::Relaxed))
    }

    /// It is answered.
    pub fn answered(&self, TripStamp(stamp): TripStamp, phase: TripPhase) {
        let before = self.longest.fetch_max(stamp + 1, Ordering::Relaxed);
        let count = if phase == TripPhase::Listing { &self.listing } else { &self.data };
        count.fetch_add((stamp + 1).saturating_sub(before), Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Requests that were answered.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Round trips for names, and for data.
    pub fn counts(&self) -> (u64, u64) {
        (self.listing.load(Ordering::Relaxed), self.data.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_together_is_one_round_trip() {
        let trips = TripCounter::default();
        trips.answered(trips.sent(), TripPhase::Listing);
        // A window of four, moved on with each answer.
        let mut under_way: std::collections::VecDeque<_> = (0..4).map(|_| trips.sent()).collect();
        for _ in 0..12 {
            let oldest = under_way.pop_front().expect("four are under way");
            trips.answered(oldest, TripPhase::Data);
            under_way.push_back(trips.sent());
        }
        assert_eq!((trips.counts(), trips.requests()), ((1, 3), 13));
    }
}
