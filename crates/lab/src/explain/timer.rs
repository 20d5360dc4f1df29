//! A stop for one part of an explanation: after some time, after some bytes, or when the user stops all of it.
//!
//! Must not know: what is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use datapump::Watch;

/// Short beside a part of seconds; at 2 GB/s 4 MB pass meanwhile.
const STEP: Duration = Duration::from_millis(2);

/// When something ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub(super) time: Duration,
    pub(super) bytes: u64,
}

/// Runs something with a flag that is set at the limit, or when `stop` is.
pub(super) fn limited<T>(
    limit: Limit,
    stop: &AtomicBool,
    run: impl FnOnce(Arc<AtomicBool>, Arc<Watch>) -> T,
) -> T {
    let (flag, watch, over) =
        (Arc::new(AtomicBool::new(false)), Arc::<Watch>::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            let is_due = || start.elapsed() >= limit.time || watch.snapshot().bytes >= limit.bytes;
            while !over.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) && !is_due() {
                std::thread::sleep(STEP);
            }
            flag.store(true, Ordering::Relaxed);
        });
        let result = run(Arc::clone(&flag), Arc::clone(&watch));
        over.store(true, Ordering::Relaxed);
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_set_at_the_limit_or_by_the_user() {
        let never = Limit { time: Duration::from_secs(600), bytes: u64::MAX };
        for (what, limit, stop) in [
            ("time", Limit { time: Duration::ZERO, ..never }, false),
            ("bytes", Limit { bytes: 0, ..never }, false),
            ("the user", never, true),
        ] {
            let stopped = limited(limit, &AtomicBool::new(stop), |flag, _| {
                let start = Instant::now();
                while !flag.load(Ordering::Relaxed) && start.elapsed().as_secs() < 60 {
                    std::thread::sleep(STEP);
                }
                flag.load(Ordering::Relaxed)
            });
            assert!(stopped, "{what}");
        }
    }
}
