//! The rate limit: bytes are admitted at a fixed rate, whichever lane asks.
//!
//! A virtual schedule (generic cell rate algorithm, ITU-T I.371): each piece is admitted when the pieces before it are
//! paid for. Idle time is not saved up beyond a tenth of a second.
//!
//! Must not know: which end is limited, or why.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::world::Clock;

/// Time that an idle source may catch up at full speed, in nanoseconds.
const BURST_NS: u64 = 100_000_000;

#[derive(Debug)]
pub(crate) struct Rate {
    bytes_per_second: u64,
    /// When all that was admitted is paid for.
    paid_ns: AtomicU64,
}

impl Rate {
    pub(crate) fn new(bytes_per_second: u64) -> Rate {
        Rate { bytes_per_second, paid_ns: AtomicU64::new(0) }
    }

    /// Sleeps until `bytes` are admitted or a stop is asked for.
    pub(crate) fn admit(&self, clock: &Clock, bytes: u64, stop: &AtomicBool) {
        let cost_ns = (u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second)) as u64;
        let now_ns = clock.now_ns();
        let floor_ns = now_ns.saturating_sub(BURST_NS);
        let paid = |paid_ns: u64| Some(paid_ns.max(floor_ns) + cost_ns);
        let before = self
            .paid_ns
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, paid)
            .unwrap_or_else(|paid_ns| paid_ns);
        let due_ns = before.max(floor_ns) + cost_ns;
        if due_ns > now_ns {
            clock.sleep_until(due_ns, stop);
        }
    }
}
