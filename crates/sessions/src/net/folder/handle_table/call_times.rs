//! The time of another host's requests: those about names and attributes, and those that read data once more. Waits for
//! the clock of a file system are in neither, and are counted alone.
//!
//! Must not know: which request is which.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use datapump_core::wire::session::SenderStats;
use datapump_engine::os::linux::thread_ns;
use datapump_files::identity::tick::settling_ns;

/// When a call began. Its time is that of the thread which makes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallStart {
    at: Instant,
    settling_ns: u64,
}

impl CallStart {
    pub(super) fn now() -> CallStart {
        CallStart { at: Instant::now(), settling_ns: settling_ns() }
    }
}

/// Nanoseconds, summed over the threads that make the calls.
#[derive(Debug, Default)]
pub(super) struct CallTimes {
    names: AtomicU64,
    /// Without what the thread computed meanwhile.
    reads: AtomicU64,
    /// CPU time of threads without a lane while they read.
    sums_cpu: AtomicU64,
    /// Waits for a clock.
    settling: AtomicU64,
}

impl CallTimes {
    /// Makes a call about names or attributes.
    pub(super) fn names<T>(&self, call: impl FnOnce() -> T) -> T {
        let start = CallStart::now();
        let made = call();
        self.charge_names(start, Duration::ZERO);
        made
    }

    /// Charges a call about names or attributes, without what it did besides.
    pub(super) fn charge_names(&self, start: CallStart, besides: Duration) {
        let time = self.end(start).saturating_sub(besides);
        self.names.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Charges the waits for a clock of a call that ends, and gives its time without them.
    fn end(&self, start: CallStart) -> Duration {
        let settling_ns = settling_ns() - start.settling_ns;
        self.settling.fetch_add(settling_ns, Ordering::Relaxed);
        start.at.elapsed().saturating_sub(Duration::from_nanos(settling_ns))
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
        let (start, cpu_ns) = (CallStart::now(), thread_ns());
        let made = read();
        let cpu_ns = thread_ns() - cpu_ns;
        let elapsed_ns = self.end(start).as_nanos() as u64;
        self.reads.fetch_add(elapsed_ns.saturating_sub(cpu_ns), Ordering::Relaxed);
        (made, cpu_ns)
    }

    /// Adds these times to those of the lanes: a lane has nothing to do while its file is read for digests. More threads
    /// may read than there are lanes, and then these count as there for as long.
    pub(super) fn add_to(&self, lanes: SenderStats) -> SenderStats {
        let ns = |time: &AtomicU64| time.load(Ordering::Relaxed);
        let plus = |of_lanes: Option<u64>, time: &AtomicU64| Some(of_lanes.unwrap_or(0) + ns(time));
        // Calls use CPU time, too: the lanes' time is no shorter than either of the two sums.
        let sum = |parts: &[Option<u64>]| parts.iter().flatten().sum::<u64>();
        let calls_ns = sum(&[lanes.source_wait_ns, lanes.network_wait_ns, lanes.rate_wait_ns]);
        let clock_ns = calls_ns + sum(&[lanes.hashing_ns, lanes.sealing_ns]);
        let lanes_own_ns = clock_ns.max(sum(&[lanes.lanes_cpu_ns, lanes.not_scheduled_ns]));
        let there_ns = lanes_own_ns + ns(&self.reads) + ns(&self.sums_cpu);
        SenderStats {
            names_ns: Some(ns(&self.names)),
            settling_ns: Some(ns(&self.settling)),
            source_wait_ns: plus(lanes.source_wait_ns, &self.reads),
            hashing_ns: plus(lanes.hashing_ns, &self.sums_cpu),
            lanes_cpu_ns: plus(lanes.lanes_cpu_ns, &self.sums_cpu),
            lanes_ns: lanes.lanes_ns.map(|ns| ns.max(there_ns)),
            ..lanes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads of cached pages and sends use CPU time within calls whose time is charged.
    #[test]
    fn lanes_are_there_no_longer_than_they_were_or_others_read() {
        let lanes = SenderStats {
            lanes_ns: Some(1000),
            source_wait_ns: Some(300),
            network_wait_ns: Some(500),
            hashing_ns: Some(150),
            sealing_ns: Some(50),
            lanes_cpu_ns: Some(900),
            not_scheduled_ns: Some(100),
            ..SenderStats::default()
        };
        for (reads_ns, there_ns) in [(0, 1000), (700, 1700)] {
            let times = CallTimes { reads: AtomicU64::new(reads_ns), ..CallTimes::default() };
            assert_eq!(times.add_to(lanes.clone()).lanes_ns, Some(there_ns));
        }
        let idle = SenderStats { lanes_ns: Some(1000), lanes_cpu_ns: Some(100), ..SenderStats::default() };
        let times = CallTimes { reads: AtomicU64::new(700), ..CallTimes::default() };
        assert_eq!(times.add_to(idle).lanes_ns, Some(1000), "a lane is idle meanwhile");
    }
}
