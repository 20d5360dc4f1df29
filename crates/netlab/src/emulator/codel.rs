//! CoDel (RFC 8289): a queue whose packets wait longer than its target for longer than its interval drops one, then
//! more and more often until they do not.
//!
//! Must not know: packets, clocks.

/// What a standing queue may wait.
const TARGET_NS: u64 = 5_000_000;
/// How long it may stand: about the longest round trip that is usual.
const INTERVAL_NS: u64 = 100_000_000;

/// The state of a queue.
#[derive(Clone, Debug, Default)]
pub struct Codel {
    /// When the queue will have stood for an interval.
    first_above_ns: Option<u64>,
    is_dropping: bool,
    next_drop_ns: u64,
    /// Drops since dropping began, and when it began before.
    drops: u32,
    drops_before: u32,
}

impl Codel {
    /// Whether a packet that leaves the queue now, after such a wait, is dropped instead. A queue with less than a
    /// packet behind it stands for nobody.
    pub fn drops(&mut self, now_ns: u64, wait_ns: u64, is_short: bool) -> bool {
        let stands = self.stands(now_ns, if is_short { 0 } else { wait_ns });
        if !stands {
            self.is_dropping = false;
            return false;
        }
        if !self.is_dropping {
            self.begin(now_ns);
            return true;
        }
        if now_ns < self.next_drop_ns {
            return false;
        }
        self.drops += 1;
        self.next_drop_ns = next_drop_ns(self.next_drop_ns, self.drops);
        true
    }

    /// Whether packets have waited too long for an interval.
    fn stands(&mut self, now_ns: u64, wait_ns: u64) -> bool {
        if wait_ns < TARGET_NS {
            self.first_above_ns = None;
            return false;
        }
        now_ns >= *self.first_above_ns.get_or_insert(now_ns + INTERVAL_NS)
    }

    /// Dropping begins; soon after the last time it goes on about as often as then (section 5.4).
    fn begin(&mut self, now_ns: u64) {
        self.is_dropping = true;
        let since = self.drops - self.drops_before;
        let is_recent = now_ns.saturating_sub(self.next_drop_ns) < 16 * INTERVAL_NS;
        self.drops = if since > 1 && is_recent { since } else { 1 };
        self.drops_before = self.drops;
        self.next_drop_ns = next_drop_ns(now_ns, self.drops);
    }
}

fn next_drop_ns(from_ns: u64, drops: u32) -> u64 {
    from_ns + (INTERVAL_NS as f64 / f64::from(drops).sqrt()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_stands_drops_more_and_more_often_until_it_is_short() {
        let mut codel = Codel::default();
        let ms = 1_000_000;
        let mut drops = Vec::new();
        for at_ms in 0..1000 {
            // Long from the beginning; short for a while.
            let wait_ms = if (600..700).contains(&at_ms) { 1 } else { 20 };
            if codel.drops(at_ms * ms, wait_ms * ms, false) {
                drops.push(at_ms);
            }
        }
        assert!(drops.iter().all(|at_ms| !(600..800).contains(at_ms)), "{drops:?}");
        assert_eq!(
            drops[..4],
            [100, 200, 271, 329],
            "an interval, and then its parts by the root of the count"
        );
    }

    #[test]
    fn a_slow_link_with_one_packet_is_left_alone() {
        let mut codel = Codel::default();
        assert!((0..1000).all(|at_ms| !codel.drops(at_ms * 1_000_000, 12_000_000, true)));
    }

    #[test]
    fn a_short_burst_is_let_through() {
        let mut codel = Codel::default();
        assert!((0..99).all(|at_ms| !codel.drops(at_ms * 1_000_000, 50_000_000, false)));
        assert!(!codel.drops(99_000_000, 0, false) && !codel.drops(150_000_000, 50_000_000, false));
    }
}
