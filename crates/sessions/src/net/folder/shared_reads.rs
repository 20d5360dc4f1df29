//! Finds files that several clients of a server read at the same time, so that the disk is read once for all.
//!
//! A large file that is not in the page cache is read past it, for one client (copy_method.rs). Several clients would
//! read it from the disk several times. So a file that a second client opens is read through the cache from then on, by
//! each until it closes the file. The first client may have read some of it by then: for a second after the first open
//! it reads only a small part past the cache, because clients that are started together do not open it together.
//!
//! Must not know: how files are opened and read, who the clients are.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::setup::platform::Clock;

/// How long a second client is waited for.
const JOIN_WITHIN_NS: u64 = 1_000_000_000;
/// Until then an eighth of the file goes past the cache, which is all that is read twice if a second client comes. The
/// goal is at most 1.2 times the file in all; a file that takes eight seconds or more never notices the wait.
const DIRECT_PART: u64 = 8;
/// Files that were closed are forgotten when there are as many again as were open before, and these at least.
const SWEEP_MIN: usize = 64;

/// A file of this host: its device and its inode.
pub(crate) type FileOnDevice = (u64, u64);

/// The files that clients of one server have open.
#[derive(Debug)]
pub(crate) struct SharedReads {
    clock: Clock,
    open: Mutex<OpenGroups>,
}

#[derive(Debug, Default)]
struct OpenGroups {
    groups: HashMap<FileOnDevice, Weak<ReaderGroup>>,
    sweep_at: usize,
}

/// Those that have one file open. It ends when the last of them closes the file.
#[derive(Debug)]
pub(crate) struct ReaderGroup {
    clock: Clock,
    begun_ns: u64,
    direct_bytes_max: u64,
    /// Read past the cache, or asked for, by the first alone.
    direct_bytes: AtomicU64,
    is_shared: AtomicBool,
}

impl SharedReads {
    pub(crate) fn new(clock: Clock) -> Arc<SharedReads> {
        Arc::new(SharedReads { clock, open: Mutex::default() })
    }

    /// Notes that a client opens the file, and gives the group of those that read it now.
    pub(crate) fn join(&self, file: FileOnDevice, size_bytes: u64) -> Arc<ReaderGroup> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = open.groups.get(&file).and_then(Weak::upgrade) {
            group.is_shared.store(true, Ordering::Relaxed);
            return group;
        }
        let group = Arc::new(ReaderGroup {
            clock: self.clock.clone(),
            begun_ns: self.clock.now_ns(),
            direct_bytes_max: size_bytes / DIRECT_PART,
            direct_bytes: AtomicU64::new(0),
            is_shared: AtomicBool::new(false),
        });
        open.insert(file, &group);
        group
    }
}

impl OpenGroups {
    fn insert(&mut self, file: FileOnDevice, group: &Arc<ReaderGroup>) {
        if self.groups.len() >= self.sweep_at {
            self.groups.retain(|_, group| group.strong_count() > 0);
            self.sweep_at = SWEEP_MIN.max(self.groups.len() * 2);
        }
        self.groups.insert(file, Arc::downgrade(group));
    }
}

impl ReaderGroup {
    /// Whether a block of so many bytes may be read past the cache. It is counted as read.
    pub(crate) fn may_go_past_cache(&self, len: u32) -> bool {
        if self.is_shared.load(Ordering::Relaxed) {
            return false;
        }
        if self.clock.now_ns().saturating_sub(self.begun_ns) >= JOIN_WITHIN_NS {
            return true;
        }
        let len = u64::from(len);
        let room = |bytes: u64| (bytes + len <= self.direct_bytes_max).then_some(bytes + len);
        self.direct_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::sim::SimClock;

    const FILE: FileOnDevice = (1, 2);
    const MIB: u32 = 1 << 20;
    const SIZE: u64 = 80 << 20;

    fn virtual_reads() -> (Arc<SharedReads>, SimClock) {
        let clock = SimClock::virtual_time();
        (SharedReads::new(Clock::Sim(clock.clone())), clock)
    }

    /// How many of the file's blocks go past the cache.
    fn direct(group: &ReaderGroup, blocks: u32) -> u32 {
        (0..blocks).filter(|_| group.may_go_past_cache(MIB)).count() as u32
    }

    #[test]
    fn one_reader_goes_past_the_cache_after_a_second_and_with_an_eighth_before() {
        let (reads, clock) = virtual_reads();
        let alone = reads.join(FILE, SIZE);
        assert_eq!(direct(&alone, 40), 10, "an eighth of 80 MiB");
        clock.advance_to((JOIN_WITHIN_NS - 1) * 1000);
        assert_eq!(direct(&alone, 1), 0);
        clock.advance_to(JOIN_WITHIN_NS * 1000);
        assert_eq!(direct(&alone, 40), 40);
        let small = reads.join((1, 3), u64::from(MIB));
        assert_eq!(direct(&small, 1), 0, "less than a block");
    }

    #[test]
    fn a_second_reader_brings_both_into_the_cache_until_both_have_closed_the_file() {
        let (reads, clock) = virtual_reads();
        let first = reads.join(FILE, SIZE);
        clock.advance_to(JOIN_WITHIN_NS * 1000);
        assert_eq!(direct(&first, 1), 1);
        let other_file = reads.join((2, 2), SIZE);
        assert_eq!(direct(&first, 1), 1, "an inode of another device is another file");
        let second = reads.join(FILE, SIZE);
        assert_eq!((direct(&first, 5), direct(&second, 5)), (0, 0));
        drop(first);
        clock.advance_to(3 * JOIN_WITHIN_NS * 1000);
        assert_eq!(direct(&second, 5), 0, "what the first has read is in the cache");
        assert_eq!(direct(&other_file, 5), 5);
        drop(second);
        let next = reads.join(FILE, SIZE);
        clock.advance_to(5 * JOIN_WITHIN_NS * 1000);
        assert_eq!(direct(&next, 5), 5, "it is alone again");
    }

    #[test]
    fn files_that_were_closed_take_no_memory() {
        let (reads, _) = virtual_reads();
        let kept: Vec<_> = (0..3).map(|inode| reads.join((1, inode), SIZE)).collect();
        for inode in 3..10_000 {
            reads.join((1, inode), SIZE);
        }
        let open = reads.open.lock().expect("no panic").groups.len();
        assert!((kept.len()..=SWEEP_MIN).contains(&open), "{open}");
        reads.join((1, 0), SIZE);
        assert!(!kept[0].may_go_past_cache(MIB), "the sweep keeps what is open");
        assert_eq!(direct(&kept[0], 1) + direct(&kept[1], 1), 1);
    }
}
