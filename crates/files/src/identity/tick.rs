//! How fine the times of a file system are, and whether a time can still hide a change: a file that is written to twice
//! within one tick of its clock has the same time after both.
//!
//! Must not know: how a doubt is settled.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::disk::Meta;
use crate::disk::coarse_now_ns;
use crate::disk::kind::{TimeRule, is_in_memory, time_rule};

const SECOND_NS: i128 = 1_000_000_000;
/// Times that differ by less may be one, on whatever file system.
pub const SAME_TIME_NS: i128 = 2 * SECOND_NS;
/// The longest tick of the kernel's clock that times are taken from (100 Hz).
const KERNEL_TICK_NS: i128 = 10_000_000;
/// A clock of another host may be so far behind this one, beyond the tick. Hosts that keep time differ by less.
const FOREIGN_CLOCK_NS: i128 = 8 * SECOND_NS;
/// Waited at a time: an interrupt is answered in between.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// The clock that times of changes are taken from, to be read before a file is looked at.
pub fn now_ns() -> i128 {
    coarse_now_ns()
}

/// What the times of a file can tell, found when it was looked at. The default hides nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeLook {
    /// Two changes closer than this may have times that are the same, or that are told differently.
    pub tick_ns: i128,
    /// A change right after the look may have left the times as they were.
    pub is_young: bool,
    /// The file is in memory alone: nothing is written back, so that stores through a mapping never show (a look at each page
    /// of 4 GiB takes 30 ms).
    pub is_in_memory: bool,
}

impl TimeLook {
    /// A look at a file (or folder) of a file system of this `statfs(2)` type. `now_ns` is the clock before it.
    pub fn new(now_ns: i128, magic: u64, meta: &Meta) -> TimeLook {
        let tick_ns = tick_ns(magic, meta);
        let newest_ns = meta.mtime_ns.max(meta.ctime_ns);
        // A time in the future is of another clock, or was set: it tells nothing.
        let is_young = newest_ns + tick_ns + KERNEL_TICK_NS + clock_is_behind_ns(magic) > now_ns;
        TimeLook { tick_ns, is_young, is_in_memory: is_in_memory(magic) }
    }

    /// A file of another host: that tells itself what may have changed.
    pub fn elsewhere() -> TimeLook {
        TimeLook { tick_ns: tick_ns(0, &Meta::nothing()), ..TimeLook::default() }
    }

    /// Whether two times of a content may be one that is told differently.
    pub fn is_same_time(&self, one_ns: i128, other_ns: i128) -> bool {
        one_ns == other_ns || (one_ns - other_ns).abs() < self.tick_ns
    }
}

/// How far apart two changes must be for their times to differ. What is not known is taken for the worst that is seen:
/// two seconds.
fn tick_ns(magic: u64, meta: &Meta) -> i128 {
    match time_rule(magic) {
        TimeRule::KernelClock if is_whole(meta) => SECOND_NS,
        TimeRule::KernelClock => KERNEL_TICK_NS,
        TimeRule::EvenSeconds | TimeRule::Unknown => SAME_TIME_NS,
    }
}

fn clock_is_behind_ns(magic: u64) -> i128 {
    if time_rule(magic) == TimeRule::Unknown { FOREIGN_CLOCK_NS } else { 0 }
}

/// Times of whole seconds, as ext4 with inodes of 128 bytes has them. A time of content may be set so; that of the
/// attributes cannot.
fn is_whole(meta: &Meta) -> bool {
    meta.mtime_ns % SECOND_NS == 0 && meta.ctime_ns % SECOND_NS == 0
}

/// Whether a copy was made so soon after the time that it shows that a later change of its source may have this time, too,
/// where times are told by the grain. `None` for one that was made long before: it got its content later, nobody knows
/// when.
pub fn is_made_soon(shown_ns: i128, grain_ns: i128, made_ns: i128, clocks_differ: bool) -> Option<bool> {
    let apart_ns = grain_ns + KERNEL_TICK_NS + if clocks_differ { FOREIGN_CLOCK_NS } else { 0 };
    (made_ns > shown_ns - apart_ns).then_some(made_ns < shown_ns + apart_ns)
}

/// Until when a further change could get the time of content that this file has: after that another change shows. By
/// this host's clock; a time in the future is not waited for.
pub fn settles_ns(magic: u64, meta: &Meta) -> i128 {
    let is_fine = meta.mtime_ns % SECOND_NS != 0;
    let tick_ns = if is_fine { KERNEL_TICK_NS } else { tick_ns(magic, meta) };
    meta.mtime_ns + tick_ns + KERNEL_TICK_NS
}

/// Whether a time may hide a change; the file system is asked only where its type decides.
pub fn is_young(now_ns: i128, meta: &Meta, magic: impl FnOnce() -> u64) -> bool {
    let may_be = TimeLook::new(now_ns, 0, meta).is_young;
    may_be && TimeLook::new(now_ns, magic(), meta).is_young
}

/// Waits until a further change would give the file another time of content than it has: two seconds at most.
pub fn wait_until_settled(magic: u64, meta: &Meta, stop: &AtomicBool) {
    let settles_ns = settles_ns(magic, meta);
    let mut now = now_ns();
    while meta.mtime_ns <= now && now <= settles_ns && !stop.load(Ordering::Relaxed) {
        let (left_ns, start) = (u64::try_from(settles_ns - now + 1).unwrap_or(0), Instant::now());
        std::thread::sleep(Duration::from_nanos(left_ns).min(PAUSE_MAX));
        SETTLING_NS.set(SETTLING_NS.get() + start.elapsed().as_nanos() as u64);
        now = now_ns();
    }
}

thread_local! { static SETTLING_NS: Cell<u64> = const { Cell::new(0) } }

/// How long the calling thread has slept in [`wait_until_settled`]: a wait for a clock, and for no disk.
pub fn settling_ns() -> u64 {
    SETTLING_NS.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXT4: u64 = 0xef53;
    const FAT: u64 = 0x4d44;
    const FUSE: u64 = 0x6573_5546;
    const MS: i128 = 1_000_000;

    fn meta(mtime_ns: i128, ctime_ns: i128) -> Meta {
        Meta { mtime_ns, ctime_ns, ..Meta::nothing() }
    }

    #[test]
    fn a_time_is_young_for_as_long_as_its_tick() {
        let at = 1_000 * SECOND_NS;
        let fine = meta(at + 5, at + 5);
        let whole = meta(at, at);
        for (magic, meta, after_ns, is_young) in [
            (EXT4, fine, 5 * MS, true),
            (EXT4, fine, 25 * MS, false),
            (EXT4, whole, 999 * MS, true),
            (EXT4, whole, 1_015 * MS, false),
            // The time of content was set; that of the attributes tells how fine the clock is.
            (EXT4, meta(at, at + 5), 25 * MS, false),
            (EXT4, meta(at - 50 * SECOND_NS, at + 5), 5 * MS, true),
            (FAT, whole, 1_999 * MS, true),
            (FAT, whole, 2_015 * MS, false),
            (FUSE, whole, 1_999 * MS, true),
            (FUSE, fine, 9_999 * MS, true),
            (FUSE, fine, 10_100 * MS, false),
            // In the future.
            (EXT4, fine, -3_600 * SECOND_NS, true),
        ] {
            let look = TimeLook::new(at + after_ns, magic, &meta);
            assert_eq!(look.is_young, is_young, "{magic:x} {after_ns}");
        }
    }

    #[test]
    fn times_that_differ_by_less_than_a_tick_may_be_one() {
        let at = 1_000 * SECOND_NS;
        let look = TimeLook::new(at, FUSE, &meta(0, 5));
        assert!(look.is_same_time(at, at + 3 * MS) && !look.is_same_time(at, at + 2 * SECOND_NS));
        let look = TimeLook::new(at, EXT4, &meta(0, 5));
        assert!(look.is_same_time(at, at - 3 * MS) && !look.is_same_time(at, at + 10 * MS));
        assert!(!TimeLook::default().is_same_time(at, at + 1));
    }

    #[test]
    fn a_copy_that_was_made_in_the_tick_of_its_source_may_hide_a_change() {
        let at = 1_000 * SECOND_NS;
        for (grain, made_after_ns, clocks_differ, is_soon) in [
            (SECOND_NS, 0, false, Some(true)),
            (SECOND_NS, SECOND_NS, false, Some(true)),
            (SECOND_NS, 2 * SECOND_NS, false, Some(false)),
            (SECOND_NS, 2 * SECOND_NS, true, Some(true)),
            (2 * SECOND_NS, 2 * SECOND_NS, false, Some(true)),
            (2 * SECOND_NS, 11 * SECOND_NS, true, Some(false)),
            (SECOND_NS, -3_600 * SECOND_NS, true, None),
        ] {
            let found = is_made_soon(at, grain, at + made_after_ns, clocks_differ);
            assert_eq!(found, is_soon, "{grain} {made_after_ns} {clocks_differ}");
        }
    }

    #[test]
    fn what_is_waited_for_is_what_the_file_shows() {
        let at = 1_000 * SECOND_NS;
        assert_eq!(settles_ns(FUSE, &meta(at + 5, at)) - at, 20 * MS + 5);
        assert_eq!(settles_ns(FUSE, &meta(at, at + 5)) - at, 2 * SECOND_NS + 10 * MS);
        assert_eq!(settles_ns(EXT4, &meta(at, at)) - at, SECOND_NS + 10 * MS);
        assert_eq!(settles_ns(EXT4, &meta(at, at + 5)) - at, 20 * MS);
    }
}
