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
        Swapper::of(move || Some(one.clone()), other, seed)
    }

    /// Swaps whatever has a temporary name in the folder.
    pub fn of_temporary(folder: PathBuf, other: PathBuf, seed: u64) -> Swapper {
        let is_temporary = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            name.starts_with(b".pump-") && name.len() == b".pump-0123456789abcdef".len()
        };
        let names =
            move || std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        Swapper::of(move || names().find(is_temporary), other, seed)
    }

    fn of(find: impl Fn() -> Option<PathBuf> + Send + 'static, other: PathBuf, seed: u64) -> Swapper {
        let (stop, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (told, count) = (Arc::clone(&stop), Arc::clone(&swaps));
        let thread = thread::spawn(move || {
            let mut random = Random(seed);
            while !told.load(Ordering::Relaxed) {
                // It fails while the target does not have the folder yet.
                let swap =
                    |one: PathBuf| rustix::fs::renameat_with(CWD, one, CWD, &other, RenameFlags::EXCHANGE);
                if find().is_some_and(|one| swap(one).is_ok()) {
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

/// Somebody who gives each `closed-N` of a folder the name `open-N` while nothing has that.
pub struct Renamer {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<u64>,
}

impl Renamer {
    pub fn start(folder: PathBuf, folders: usize, seed: u64) -> Renamer {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let (mut random, mut renamed) = (Random(seed), 0);
            while !told.load(Ordering::Relaxed) {
                let number = random.below(folders as u64);
                let [closed, open] = ["closed", "open"].map(|kind| folder.join(format!("{kind}-{number}")));
                let flags = RenameFlags::NOREPLACE;
                renamed += u64::from(rustix::fs::renameat_with(CWD, &closed, CWD, &open, flags).is_ok());
            }
            renamed
        });
        Renamer { stop, thread }
    }

    /// Stops; how many it renamed.
    pub fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("no panic while renaming")
    }
}
