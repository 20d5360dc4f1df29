//! A stop for one part of an explanation: after some time, or when the user stops all of it.
//!
//! Must not know: what is stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Short beside a part of 60 ms.
const STEP: Duration = Duration::from_millis(2);

/// Runs something with a flag that is set after `time`, or when `stop` is.
pub(super) fn limited<T>(time: Duration, stop: &AtomicBool, run: impl FnOnce(Arc<AtomicBool>) -> T) -> T {
    let (flag, over) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            while !over.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) && start.elapsed() < time {
                std::thread::sleep(STEP);
            }
            flag.store(true, Ordering::Relaxed);
        });
        let result = run(Arc::clone(&flag));
        over.store(true, Ordering::Relaxed);
        result
    })
}

/// Runs a call that nothing can stop, such as fsync, beside, and waits for it no longer than `time`, nor after `stop`. Gives
/// whether it has ended; if not, it ends when it can.
pub(super) fn has_ended_within(
    time: Duration,
    stop: &AtomicBool,
    call: impl FnOnce() + Send + 'static,
) -> bool {
    let (ended, is_ended) = channel();
    let run = move || {
        call();
        let _ = ended.send(());
    };
    if std::thread::Builder::new().name("commit".into()).spawn(run).is_err() {
        return false;
    }
    let start = Instant::now();
    loop {
        match is_ended.recv_timeout(STEP) {
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) || start.elapsed() >= time => {
                return false;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_set_at_the_limit_or_by_the_user() {
        for (what, time, stop) in
            [("time", Duration::ZERO, false), ("the user", Duration::from_secs(600), true)]
        {
            let stopped = limited(time, &AtomicBool::new(stop), |flag| {
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
