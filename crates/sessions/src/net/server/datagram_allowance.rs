//! What a server allows of datagrams, for all its sessions together: each is granted a share, and what all of them take
//! is charged to one rate (generic cell rate algorithm, ITU-T I.371), so that beginning again gives nobody more.
//!
//! Must not know: sessions, sockets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How far datagrams may bunch together on their way: the rate is one of the whole time and a second more, or of two
/// datagrams where that takes longer. With one alone, each that is a microsecond early would be dropped.
pub(crate) const BUNCHED_NS: u64 = 1_000_000_000;

/// The rate that all sessions share.
#[derive(Debug)]
pub(crate) struct DatagramAllowance {
    bytes_per_second: u64,
    /// The sum of what sessions were granted and still use.
    granted: AtomicU64,
    start: Instant,
    /// When all that was taken is paid for, since the start.
    paid_ns: AtomicU64,
}

impl DatagramAllowance {
    pub(crate) fn new(bytes_per_second: u64) -> DatagramAllowance {
        let (granted, paid_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        DatagramAllowance { bytes_per_second, granted, start: Instant::now(), paid_ns }
    }

    /// Grants a share. False where others have what is left.
    pub(crate) fn grant(&self, share: u64) -> bool {
        let add = |granted: u64| granted.checked_add(share).filter(|sum| *sum <= self.bytes_per_second);
        self.granted.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add).is_ok()
    }

    /// Takes a share back.
    pub(crate) fn give_back(&self, share: u64) {
        self.granted.fetch_sub(share, Ordering::SeqCst);
    }

    /// Charges so many bytes. False, and nothing is charged, if they would exceed the rate.
    pub(crate) fn charge(&self, bytes: u64, now: Instant) -> bool {
        let cost_ns = u128::from(bytes) * 1_000_000_000;
        let cost_ns = cost_ns.div_ceil(self.bytes_per_second.max(1).into()) as u64;
        let now_ns = now.saturating_duration_since(self.start).as_nanos() as u64;
        let pay = |paid_ns: u64| {
            let from_ns = paid_ns.max(now_ns);
            let early_ns = BUNCHED_NS.saturating_sub(cost_ns).max(cost_ns);
            (from_ns - now_ns <= early_ns).then(|| from_ns.saturating_add(cost_ns))
        };
        self.paid_ns.fetch_update(Ordering::SeqCst, Ordering::SeqCst, pay).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn shares_are_no_more_than_all() {
        let allowance = DatagramAllowance::new(100);
        assert!(allowance.grant(60) && !allowance.grant(41) && !allowance.grant(u64::MAX));
        assert!(allowance.grant(40) && !allowance.grant(1));
        allowance.give_back(60);
        assert!(allowance.grant(60));
    }

    /// All sessions together, however often one begins: a second's worth ahead, and the rate from then on.
    #[test]
    fn what_all_take_together_is_within_the_rate() {
        let allowance = DatagramAllowance::new(1000);
        let taken_at = |ms: u64| {
            let now = allowance.start + Duration::from_millis(ms);
            (0..1000).filter(|_| allowance.charge(100, now)).count()
        };
        assert_eq!([0, 0, 100, 550, 600].map(taken_at), [10, 0, 1, 4, 1]);
        assert_eq!(taken_at(60_000), 10, "idle time is not saved up beyond a second");
    }

    #[test]
    fn one_that_takes_longer_than_a_second_has_its_time() {
        let allowance = DatagramAllowance::new(1000);
        let is_taken = |ms: u64| allowance.charge(3000, allowance.start + Duration::from_millis(ms));
        assert_eq!([0, 0, 2999, 3000, 3001, 6000].map(is_taken), [true, true, false, true, false, true]);
    }
}
