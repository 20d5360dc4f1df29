//! Somebody who swaps names while a copy runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags};

use super::random::Random;

/// Swaps two names for each other, over and over, until it is dropped.
pub struct Swapper {
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Swapper {
    pub fn start(one: PathBuf, other: PathBuf, seed: u64) -> Swapper {
        let (stop, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (told, count) = (Arc::clone(&stop), Arc::clone(&swaps));
        let thread = thread::spawn(move || {
            let mut random = Random(seed);
            while !told.load(Ordering::Relaxed) {
                // It fails while the target does not have the folder yet.
                if rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).is_ok() {
                    count.fetch_add(1, Ordering::Relaxed);
                }
                (0..random.below(2000)).for_each(|_| std::hint::spin_loop());
            }
        });
        Swapper { stop, swaps, thread: Some(thread) }
    }

    /// Stops; how often it swapped.
    pub fn stop(mut self) -> u64 {
        self.end();
        self.swaps.load(Ordering::Relaxed)
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic while swapping");
        }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.end();
    }
}
