//! Rate limits: bytes are admitted at a fixed rate, whichever lane has them, of whichever job.
//!
//! A virtual schedule (generic cell rate algorithm, ITU-T I.371): each piece is admitted when the pieces before it are
//! paid for. Idle time is not saved up beyond a tenth of a second.
//!
//! A run may have two limits: its own, and one that it shares with other runs. A piece is charged to both before it waits,
//! and waits for the later of the two: the wait for one is the wait for the other, so that together they are the lower
//! one. Large requests are charged in pieces: one run's does not hold those of the others up.
//!
//! Must not know: which end is limited, or why.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::setup::platform::Clock;

/// Time that an idle source may catch up at full speed, in nanoseconds.
const BURST_NS: u64 = 100_000_000;
/// Pieces that are charged in a second: the wait for one is half of what may be caught up.
const PIECES_PER_SECOND: u64 = 20;
/// The least piece: a low limit does not wake its lane for each byte.
const PIECE_BYTES_MIN: u64 = 4096;

#[derive(Debug)]
pub struct Rate {
    bytes_per_second: u64,
    /// Its own: the clocks of several jobs begin at different times.
    clock: Clock,
    /// When all that was admitted is paid for.
    paid_ns: AtomicU64,
}

/// The limits of a run.
#[derive(Debug, Default)]
pub struct RateLimits {
    own: Option<Rate>,
    shared: Option<Arc<Rate>>,
    /// How long pieces waited that the own limit, or the shared one, admitted last.
    own_wait_ns: AtomicU64,
    shared_wait_ns: AtomicU64,
}

/// How long a piece waits for a limit, and until when by the clock of that.
struct PieceWait<'run> {
    wait_ns: u64,
    due_ns: u64,
    clock: &'run Clock,
    /// The sum of such waits.
    sum_ns: &'run AtomicU64,
}

impl Rate {
    pub fn new(bytes_per_second: u64, clock: Clock) -> Rate {
        // Nothing would ever be admitted at 0; a limit of 0 is refused where flags and options are checked.
        Rate { bytes_per_second: bytes_per_second.max(1), clock, paid_ns: AtomicU64::new(0) }
    }

    fn charge<'run>(&'run self, bytes: u64, sum_ns: &'run AtomicU64) -> PieceWait<'run> {
        let cost_ns = (u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second)) as u64;
        let now_ns = self.clock.now_ns();
        let floor_ns = now_ns.saturating_sub(BURST_NS);
        let paid = |paid_ns: u64| Some(paid_ns.max(floor_ns) + cost_ns);
        let before = self
            .paid_ns
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, paid)
            .unwrap_or_else(|paid_ns| paid_ns);
        let due_ns = before.max(floor_ns) + cost_ns;
        PieceWait { wait_ns: due_ns.saturating_sub(now_ns), due_ns, clock: &self.clock, sum_ns }
    }
}

impl RateLimits {
    /// `own`: of this run alone.
    pub fn new(own: Option<Rate>, shared: Option<Arc<Rate>>) -> RateLimits {
        RateLimits { own, shared, ..RateLimits::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.own.is_none() && self.shared.is_none()
    }

    /// Whether pieces waited for the shared limit longer than for the own one.
    pub fn is_shared_lower(&self) -> bool {
        self.shared_wait_ns.load(Ordering::Relaxed) > self.own_wait_ns.load(Ordering::Relaxed)
    }

    /// Admits `bytes`, piece by piece. `wait` is called for each that is not yet admitted, with a clock and the time to sleep
    /// until; it says whether to go on.
    pub fn admit(&self, bytes: u64, wait: &mut dyn FnMut(&Clock, u64) -> bool) {
        let mut left_bytes = bytes;
        while left_bytes > 0 {
            let Some(PieceWait { wait_ns, due_ns, clock, sum_ns }) = self.charge_piece(&mut left_bytes)
            else {
                return;
            };
            sum_ns.fetch_add(wait_ns, Ordering::Relaxed);
            if wait_ns > 0 && !wait(clock, due_ns) {
                return;
            }
        }
    }

    /// Charges the next piece to both limits, and takes it off `left_bytes`. Gives the longer wait; `None` without a limit.
    fn charge_piece(&self, left_bytes: &mut u64) -> Option<PieceWait<'_>> {
        let limits = [(self.own.as_ref(), &self.own_wait_ns), (self.shared.as_deref(), &self.shared_wait_ns)];
        let limits = limits.into_iter().filter_map(|(limit, sum_ns)| limit.zip(Some(sum_ns)));
        let lowest = limits.clone().map(|(limit, _)| limit.bytes_per_second).min()?;
        let piece_bytes = (lowest / PIECES_PER_SECOND).max(PIECE_BYTES_MIN).min(*left_bytes);
        *left_bytes -= piece_bytes;
        // The first of two that are equal: the own one.
        limits
            .map(|(limit, sum_ns)| limit.charge(piece_bytes, sum_ns))
            .reduce(|own, shared| if shared.wait_ns > own.wait_ns { shared } else { own })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::platform::Platform;
    use datapump_engine::sim::{Random, SimClock};

    const SECOND_NS: u64 = 1_000_000_000;

    fn admit(limits: &RateLimits, bytes: u64) {
        limits.admit(bytes, &mut |clock, due_ns| {
            clock.sleep_until(due_ns, &|| false);
            true
        });
    }

    /// Two jobs that share a limit have it together: the virtual clock shows how long that takes.
    #[test]
    fn a_limit_is_one_for_all_who_share_it() {
        let clock = Clock::Sim(SimClock::virtual_time());
        let rate = Arc::new(Rate::new(1_000_000, clock.clone()));
        let jobs = [0; 2].map(|_| RateLimits::new(None, Some(Arc::clone(&rate))));
        let before_ns = clock.now_ns();
        for _ in 0..10 {
            jobs.iter().for_each(|limits| admit(limits, 100_000));
        }
        assert!((2 * SECOND_NS - BURST_NS..=2 * SECOND_NS).contains(&(clock.now_ns() - before_ns)));
        assert!(jobs.iter().all(RateLimits::is_shared_lower));
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let limits = RateLimits::new(Some(Rate::new(1, Platform::real().clock)), None);
        limits.admit(u32::MAX.into(), &mut |clock, due_ns| {
            clock.sleep_until(due_ns, &|| true);
            false
        });
    }

    /// A lane of a run, on a clock that all lanes share.
    struct SimLane {
        run: usize,
        request_bytes: u64,
        left_bytes: u64,
        ready_ns: u64,
    }

    /// Runs with these limits beside a shared one, each with lanes that always have a request of their own size. Gives the
    /// runs' limits and the bytes that each has admitted when the virtual clock stops.
    fn run_lanes(
        own: &[Option<u64>],
        shared: Option<u64>,
        request_bytes: &[Vec<u64>],
        stop_ns: u64,
    ) -> Vec<(RateLimits, u64)> {
        let sim = SimClock::virtual_time();
        let clock = Clock::Sim(sim.clone());
        let rate = |limit| Rate::new(limit, clock.clone());
        let shared = shared.map(rate).map(Arc::new);
        let limits = own.iter().map(|own| RateLimits::new(own.map(rate), shared.clone()));
        let mut runs: Vec<_> = limits.map(|limits| (limits, 0)).collect();
        let of_run = |(run, sizes): (usize, &Vec<u64>)| {
            let lane = |&request_bytes: &u64| SimLane { run, request_bytes, left_bytes: 0, ready_ns: 0 };
            sizes.iter().map(lane).collect::<Vec<_>>()
        };
        let mut lanes: Vec<_> = request_bytes.iter().enumerate().flat_map(of_run).collect();
        loop {
            let lane = lanes.iter_mut().min_by_key(|lane| lane.ready_ns).expect("there is one");
            if lane.ready_ns >= stop_ns {
                return runs;
            }
            sim.advance_to(lane.ready_ns * 1000);
            let (limits, admitted) = &mut runs[lane.run];
            if lane.left_bytes == 0 {
                lane.left_bytes = lane.request_bytes;
            }
            let before = lane.left_bytes;
            let wait = limits.charge_piece(&mut lane.left_bytes).expect("there is a limit");
            wait.sum_ns.fetch_add(wait.wait_ns, Ordering::Relaxed);
            lane.ready_ns = lane.ready_ns.max(wait.due_ns);
            *admitted += before - lane.left_bytes;
        }
    }

    /// From some kB/s to some GB/s, and requests that take from no time to many seconds.
    fn any(random: &mut Random, least: u64, doublings: u64) -> u64 {
        let size = least << random.below(doublings);
        size + random.below(size)
    }

    /// Any two limits of one run, with one lane or several, admit what the lower one admits alone, to the byte.
    #[test]
    fn two_limits_of_a_run_are_the_lower_one() {
        for seed in 0..500 {
            let mut random = Random::new(seed);
            let (own, shared) = (any(&mut random, 2_000, 20), any(&mut random, 2_000, 20));
            let lower = own.min(shared);
            let request_bytes = any(&mut random, 4096, 10);
            let lanes = [vec![request_bytes; 1 + random.below(4) as usize]];
            let piece_bytes = (lower / PIECES_PER_SECOND).max(PIECE_BYTES_MIN).min(request_bytes);
            let stop_ns = 300 * SECOND_NS * piece_bytes / lower;
            let admitted = |own, shared| run_lanes(&[own], shared, &lanes, stop_ns).remove(0);
            let (limits, both) = admitted(Some(own), Some(shared));
            let (_, alone) = admitted(Some(lower), None);
            let row = format!("seed {seed}: {own} and {shared}, {lanes:?}");
            assert_eq!(both, alone, "{row}");
            assert!(
                own.abs_diff(shared) < lower / 100 || limits.is_shared_lower() == (shared < own),
                "{row}"
            );
        }
    }

    /// Runs with and without limits of their own share one: none exceeds its own, and together they have all that theirs
    /// and the shared one allow, whatever the size of their requests.
    #[test]
    fn runs_with_limits_of_their_own_have_a_shared_one_together() {
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let shared = any(&mut random, 1 << 20, 3);
            let runs = 2 + random.below(3);
            let own: Vec<_> = (0..runs)
                .map(|_| (random.below(4) > 0).then(|| shared / 10 + random.below(shared)))
                .collect();
            let lanes: Vec<Vec<u64>> =
                (0..runs).map(|_| vec![any(&mut random, 1 << 16, 7); 1 + random.below(3) as usize]).collect();
            let seconds = 50;
            let ended = run_lanes(&own, Some(shared), &lanes, seconds * SECOND_NS);
            let total: u64 = ended.iter().map(|(_, bytes)| bytes).sum();
            let allowed = own.iter().map(|own| own.unwrap_or(shared)).sum::<u64>().min(shared);
            let row = format!("seed {seed}: {own:?} of {shared}, {lanes:?}: {total}");
            // A burst, and a piece of each lane, may be too much or too little.
            let part = total as f64 / (allowed * seconds) as f64;
            assert!((0.95..1.05).contains(&part), "{row}");
            for ((_, bytes), own) in ended.iter().zip(&own) {
                let most = own.unwrap_or(shared) * seconds;
                assert!(*bytes as f64 / (most as f64) < 1.05, "{row}: {bytes}");
            }
        }
    }
}
