//! A time by the clock of the file system on which a list lies.
//!
//! Must not know: what the list says.

use std::time::Duration;

use datapump_engine::Handle;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW};

use datapump_files::disk::{AttributeHolder, FileCalls};

const NOW: Timestamps = {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Timestamps { last_access: now, last_modification: now }
};
/// Each twice as long as the one before, from 1 ms: 4 s together.
const TICK_WAITS: u32 = 12;

/// A time later than what stands there, by the file system's own clock, which goes by ticks (4 ms on ext4, 2 s on FAT).
/// One that does not go leaves everything in doubt.
pub(crate) fn time_after(list: &Handle) -> i128 {
    let tick = || {
        AttributeHolder::Open(list.os()).set_times(&NOW).ok()?;
        list.meta().ok().map(|meta| meta.ctime_ns)
    };
    let Some(before_ns) = tick() else { return i128::MAX };
    let waits = (0..TICK_WAITS).map(|wait| Duration::from_millis(1 << wait));
    let later = waits.map(std::thread::sleep).filter_map(|()| tick()).find(|&now_ns| now_ns > before_ns);
    later.unwrap_or(i128::MAX)
}
