//! Waits until the next datagram is due: sleeps as long as sleeping is exact enough, then looks at the clock.
//!
//! Must not know: what is sent.

use std::time::{Duration, Instant};

use datapump_engine::os::linux::timer_slack;

/// A sleep may end so much late; the rest is spent looking at the clock.
const SPIN: Duration = Duration::from_micros(120);
/// No sleep is longer: whether all is over is looked at between two.
const SLEEP_MAX: Duration = Duration::from_millis(100);
/// A sender that is later than this does not catch up: what was held back would come as a burst.
const LATE_MAX: Duration = Duration::from_millis(1);

/// A schedule with equal times between its points.
#[derive(Debug)]
pub struct Pacer {
    apart: Duration,
    due: Instant,
    /// How far the schedule was moved since this thread was late.
    pub late: Duration,
}

impl Pacer {
    /// Begins now.
    pub fn new(apart: Duration) -> Pacer {
        // A timer may be 50 us late by default. Where the system refuses, more of the wait is spent looking.
        let _ = timer_slack(1);
        Pacer { apart, due: Instant::now(), late: Duration::ZERO }
    }

    /// Waits for the next point, or until all is over: whoever waits looks at that again. Gives the time when it was.
    pub fn wait(&mut self, is_over: &dyn Fn() -> bool) -> Instant {
        let mut now = Instant::now();
        while let Some(rest) = self.due.saturating_duration_since(now).checked_sub(SPIN) {
            if is_over() {
                return now;
            }
            std::thread::sleep(rest.min(SLEEP_MAX));
            now = Instant::now();
        }
        while now < self.due {
            std::hint::spin_loop();
            now = Instant::now();
        }
        let late = now - self.due;
        if late > LATE_MAX {
            self.late += late;
            self.due = now;
        }
        self.due += self.apart;
        now
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        // The default again.
        let _ = timer_slack(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_point_comes_early_and_a_late_one_is_not_caught_up() {
        let mut pacer = Pacer::new(Duration::from_micros(300));
        let start = pacer.due;
        for point in 0..20 {
            let now = pacer.wait(&|| false);
            assert!(now >= start + Duration::from_micros(300) * point, "{point}");
        }
        std::thread::sleep(Duration::from_millis(20));
        let late = pacer.wait(&|| false);
        assert!(pacer.late > LATE_MAX);
        assert!(pacer.wait(&|| false) >= late + Duration::from_micros(300), "no burst");
    }

    #[test]
    fn a_wait_of_any_length_ends_when_all_is_over() {
        let mut pacer = Pacer::new(Duration::from_secs(3600));
        pacer.wait(&|| false);
        let start = Instant::now();
        pacer.wait(&|| start.elapsed() > Duration::from_millis(150));
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
}
