//! A stop for one part of an explanation: after some time, after some bytes, or when the user stops all of it.
//!
//! Must not know: what is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use datapump::Watch;

/// Short beside a part of seconds; at 2 GB/s 4 MB pass meanwhile.
const STEP: Duration = Duration::from_millis(2);

/// A pace that was seen for less tells little.
const PACE_MIN: Duration = Duration::from_millis(300);

/// When something ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimerLimit {
    pub(super) time: Duration,
    pub(super) bytes: u64,
}

/// How bytes arrived: when the first were there, and when the last. Between the two lies neither what it takes to begin
/// nor what was on its way at the end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    first: Option<(Duration, u64)>,
    last: (Duration, u64),
}

impl Pace {
    fn see(&mut self, at: Duration, bytes: u64) {
        if bytes > self.last.1 {
            self.last = (at, bytes);
            self.first.get_or_insert(self.last);
        }
    }

    /// Bytes in a second, if they arrived for long enough to tell.
    pub(super) fn bytes_per_second(&self) -> Option<f64> {
        let (since, before) = self.first?;
        let time = self.last.0 - since;
        (time >= PACE_MIN).then(|| (self.last.1 - before) as f64 / time.as_secs_f64())
    }
}

/// Runs something with a flag that is set at the limit, or when `stop` is.
pub(super) fn limited<T>(
    limit: TimerLimit,
    stop: &AtomicBool,
    run: impl FnOnce(Arc<AtomicBool>, Arc<Watch>) -> T,
) -> (T, Pace) {
    let (flag, watch, over) =
        (Arc::new(AtomicBool::new(false)), Arc::<Watch>::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let pace = scope.spawn(|| {
            let (start, mut pace) = (Instant::now(), Pace::default());
            while !over.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
                pace.see(start.elapsed(), watch.snapshot().bytes);
                if start.elapsed() >= limit.time || pace.last.1 >= limit.bytes {
                    break;
                }
                std::thread::sleep(STEP);
            }
            flag.store(true, Ordering::Relaxed);
            pace
        });
        let result = run(Arc::clone(&flag), Arc::clone(&watch));
        over.store(true, Ordering::Relaxed);
        (result, pace.join().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_set_at_the_limit_or_by_the_user() {
        let never = TimerLimit { time: Duration::from_secs(600), bytes: u64::MAX };
        for (what, limit, stop) in [
            ("time", TimerLimit { time: Duration::ZERO, ..never }, false),
            ("bytes", TimerLimit { bytes: 0, ..never }, false),
            ("the user", never, true),
        ] {
            let stopped = limited(limit, &AtomicBool::new(stop), |flag, _| {
                let start = Instant::now();
                while !flag.load(Ordering::Relaxed) && start.elapsed().as_secs() < 60 {
                    std::thread::sleep(STEP);
                }
                flag.load(Ordering::Relaxed)
            });
            let (stopped, _) = stopped;
            assert!(stopped, "{what}");
        }
    }

    /// 4.7 MB/s over a path, in blocks of 1 MiB, with four of them on their way when it was stopped after 2.5 s: bytes
    /// over time would give 3.4 MB/s.
    #[test]
    fn a_pace_knows_nothing_of_beginning_and_end() {
        let mut pace = Pace::default();
        assert_eq!(pace.bytes_per_second(), None);
        for (ms, mebibytes) in [(0, 0), (420, 1), (423, 1), (643, 2), (1535, 6), (1981, 8), (2500, 8)] {
            pace.see(Duration::from_millis(ms), mebibytes << 20);
        }
        let speed = pace.bytes_per_second().expect("it was seen for 1.56 s");
        assert!((speed / 1e6 - 4.70).abs() < 0.01, "{speed}");
    }
}
