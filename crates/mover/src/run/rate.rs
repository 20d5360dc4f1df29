//! The rate limit: bytes are admitted at a fixed rate, whichever lane asks, of whichever job.
//!
//! A virtual schedule (generic cell rate algorithm, ITU-T I.371): each piece is admitted when the pieces before it are
//! paid for. Idle time is not saved up beyond a tenth of a second.
//!
//! Must not know: which end is limited, or why.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::setup::platform::Clock;

/// Time that an idle source may catch up at full speed, in nanoseconds.
const BURST_NS: u64 = 100_000_000;

#[derive(Debug)]
pub struct Rate {
    bytes_per_second: u64,
    /// Its own: the clocks of several jobs begin at different times.
    clock: Clock,
    /// When all that was admitted is paid for.
    paid_ns: AtomicU64,
}

impl Rate {
    pub fn new(bytes_per_second: u64, clock: Clock) -> Rate {
        // Nothing would ever be admitted at 0; who asks for that is refused where flags and options are checked.
        Rate { bytes_per_second: bytes_per_second.max(1), clock, paid_ns: AtomicU64::new(0) }
    }

    /// Sleeps until `bytes` are admitted or a stop is asked for.
    pub fn admit(&self, bytes: u64, stopped: &dyn Fn() -> bool) {
        let cost_ns = (u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second)) as u64;
        let now_ns = self.clock.now_ns();
        let floor_ns = now_ns.saturating_sub(BURST_NS);
        let paid = |paid_ns: u64| Some(paid_ns.max(floor_ns) + cost_ns);
        let before = self
            .paid_ns
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, paid)
            .unwrap_or_else(|paid_ns| paid_ns);
        let due_ns = before.max(floor_ns) + cost_ns;
        if due_ns > now_ns {
            self.clock.sleep_until(due_ns, stopped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::platform::Platform;
    use datapump_engine::sim::SimClock;

    /// Two jobs that share a limit have it together: the virtual clock tells how long that takes.
    #[test]
    fn a_limit_is_one_for_all_who_share_it() {
        let clock = Clock::Sim(SimClock::virtual_time());
        let rate = Rate::new(1_000_000, clock.clone());
        let before_ns = clock.now_ns();
        for _ in 0..10 {
            ["one job", "another"].iter().for_each(|_| rate.admit(100_000, &|| false));
        }
        let second_ns = 1_000_000_000;
        assert!((2 * second_ns - BURST_NS..=2 * second_ns).contains(&(clock.now_ns() - before_ns)));
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let rate = Rate::new(1, Platform::real().clock);
        rate.admit(u64::from(u32::MAX), &|| true);
    }
}
