//! The time of another host's requests: those about names and attributes, and those that read data once more.
//!
//! Must not know: which request is which.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use datapump_core::wire::session::SenderStats;
use datapump_engine::os::linux::thread_ns;

/// Nanoseconds, summed over the threads that make the calls.
#[derive(Debug, Default)]
pub(super) struct CallTimes {
    names: AtomicU64,
    /// Without what the thread computed meanwhile.
    reads: AtomicU64,
    /// CPU time of threads without a lane while they read.
    sums_cpu: AtomicU64,
}

impl CallTimes {
    /// Makes a call about names or attributes.
    pub(super) fn names<T>(&self, call: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let made = call();
        self.charge_names(start.elapsed());
        made
    }

    pub(super) fn charge_names(&self, time: Duration) {
        self.names.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Reads data in the thread of a lane, which counts its CPU time itself.
    pub(super) fn read<T>(&self, read: impl FnOnce() -> T) -> T {
        self.read_timed(read).0
    }

    /// Reads data for a digest, in a thread without a lane.
    pub(super) fn sum<T>(&self, read: impl FnOnce() -> T) -> T {
        let (made, cpu_ns) = self.read_timed(read);
        self.sums_cpu.fetch_add(cpu_ns, Ordering::Relaxed);
        made
    }

    /// Gives also what the thread computed.
    fn read_timed<T>(&self, read: impl FnOnce() -> T) -> (T, u64) {
        let (start, cpu_ns) = (Instant::now(), thread_ns());
        let made = read();
        let cpu_ns = thread_ns() - cpu_ns;
        let elapsed_ns = start.elapsed().as_nanos() as u64;
        self.reads.fetch_add(elapsed_ns.saturating_sub(cpu_ns), Ordering::Relaxed);
        (made, cpu_ns)
    }

    /// Adds these times to those of the lanes: a lane has nothing to do while its file is read for digests.
    pub(super) fn add_to(&self, lanes: SenderStats) -> SenderStats {
        let ns = |time: &AtomicU64| time.load(Ordering::Relaxed);
        let plus = |of_lanes: Option<u64>, time: &AtomicU64| Some(of_lanes.unwrap_or(0) + ns(time));
        SenderStats {
            names_ns: Some(ns(&self.names)),
            source_wait_ns: plus(lanes.source_wait_ns, &self.reads),
            hashing_ns: plus(lanes.hashing_ns, &self.sums_cpu),
            lanes_cpu_ns: plus(lanes.lanes_cpu_ns, &self.sums_cpu),
            ..lanes
        }
    }
}
