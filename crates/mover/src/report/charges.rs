//! Charges a lane's time: waits, CPU time, nothing to do, no CPU to run on. Each nanosecond once.
//!
//! A lane charges the time that its calls took; inside of these its thread computes, too. How long is known for the
//! whole lane only, from the clock of its thread: it is taken out of the calls in proportion. (The call that tells the
//! CPU time costs as much as the smallest of these, and each would need two.)
//!
//! Must not know: how a lane moves blocks, clocks, which stage is whose.

use datapump_core::Counts;
use datapump_core::verdict::Waits;
use datapump_transport::ConnectionStats;

use crate::report::AskedAndGot;
use crate::report::latency::LaneLatencies;

/// The results of a lane that has ended.
#[derive(Debug)]
pub struct LaneResult {
    pub counts: Counts,
    pub waits: Waits,
    pub engine: AskedAndGot,
    /// Requests that it had under way at the source at most.
    pub source_depth: u32,
    pub done_ns: u64,
    /// What its thread did meanwhile.
    pub time: ThreadTime,
    /// What its connection to another host did.
    pub connection_stats: ConnectionStats,
    /// How long its requests took, if that was asked for.
    pub latencies: Option<LaneLatencies>,
}

/// What one thread did for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    pub elapsed_ns: u64,
    pub cpu_ns: u64,
    /// It could have run, and the system ran something else.
    pub delayed_ns: u64,
}

impl ThreadTime {
    pub fn plus(self, other: ThreadTime) -> ThreadTime {
        ThreadTime {
            elapsed_ns: self.elapsed_ns + other.elapsed_ns,
            cpu_ns: self.cpu_ns + other.cpu_ns,
            delayed_ns: self.delayed_ns + other.delayed_ns,
        }
    }

    pub fn since(self, start: ThreadTime) -> ThreadTime {
        ThreadTime {
            elapsed_ns: self.elapsed_ns - start.elapsed_ns,
            cpu_ns: self.cpu_ns.saturating_sub(start.cpu_ns),
            delayed_ns: self.delayed_ns.saturating_sub(start.delayed_ns),
        }
    }
}

/// The waits alone of what a thread charged. Together with its CPU time they are no longer than it was there.
pub fn waits_alone(charged: Waits, time: ThreadTime) -> Waits {
    let left = time.elapsed_ns.saturating_sub(time.cpu_ns);
    let not_scheduled = time.delayed_ns.min(left);
    let asleep_ns = left - not_scheduled;
    let mut waits = Waits { not_scheduled, ..charged };
    // A sleeping thread computes nothing: the CPU time comes off the calls first.
    let sleeps = charged.idle + charged.rate_limit + charged.outage;
    let calls = charged.total() + charged.idle - sleeps;
    let calls_left = calls.min(asleep_ns.saturating_sub(sleeps));
    for stage in calls_of(&mut waits) {
        *stage = part(*stage, calls_left, calls);
    }
    let sleeps_left = sleeps.min(asleep_ns);
    for stage in [&mut waits.idle, &mut waits.rate_limit, &mut waits.outage] {
        *stage = part(*stage, sleeps_left, sleeps);
    }
    waits
}

fn calls_of(waits: &mut Waits) -> [&mut u64; 8] {
    let Waits { source, sink, metadata, sync, verify, reserving, deleting, listing, .. } = waits;
    [source, sink, metadata, sync, verify, reserving, deleting, listing]
}

/// `ns` x `of` / `whole`, without loss where these are the same.
fn part(ns: u64, of: u64, whole: u64) -> u64 {
    if of == whole { ns } else { (u128::from(ns) * u128::from(of) / u128::from(whole.max(1))) as u64 }
}

/// A lane without bytes that was waited for in one part of so many had names or attributes to do.
const BUSY_PART: u64 = 10;

/// Lanes that had something to do; all of them, if none had. One file keeps one lane busy: what the others do meanwhile
/// is not the copy's time.
pub fn busy(lanes: &[LaneResult]) -> impl Iterator<Item = &LaneResult> {
    let is_busy =
        |lane: &LaneResult| lane.counts.bytes > 0 || lane.waits.total() * BUSY_PART >= lane.time.elapsed_ns;
    let is_any = lanes.iter().any(is_busy);
    lanes.iter().filter(move |lane| !is_any || is_busy(lane))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(waits: &Waits) -> u64 {
        waits.total() + waits.idle + waits.not_scheduled
    }

    #[test]
    fn computing_inside_of_calls_is_no_wait() {
        let charged = Waits { metadata: 600, source: 200, rate_limit: 100, ..Waits::default() };
        let time = ThreadTime { elapsed_ns: 1000, cpu_ns: 500, delayed_ns: 0 };
        let waits = waits_alone(charged, time);
        assert_eq!((waits.metadata, waits.source, waits.rate_limit), (300, 100, 100));
        assert_eq!(all(&waits) + time.cpu_ns, time.elapsed_ns);
    }

    #[test]
    fn on_a_virtual_clock_nothing_computes() {
        let charged = Waits { sink: 900, idle: 60, verify: 40, ..Waits::default() };
        let time = ThreadTime { elapsed_ns: 1000, ..ThreadTime::default() };
        assert_eq!(waits_alone(charged, time), charged);
    }

    proptest! {
        #[test]
        fn nothing_is_counted_twice(
            [source, sink, metadata, sync, idle, rate_limit] in any::<[u32; 6]>().prop_map(|all| all.map(u64::from)),
            [cpu_ns, delayed_ns, uncharged] in any::<[u32; 3]>().prop_map(|all| all.map(u64::from)),
        ) {
            let charged = Waits { source, sink, metadata, sync, idle, rate_limit, ..Waits::default() };
            let elapsed_ns = all(&charged) + uncharged;
            let time = ThreadTime { elapsed_ns, cpu_ns: cpu_ns.min(elapsed_ns), delayed_ns };
            let waits = waits_alone(charged, time);
            prop_assert!(all(&waits) + time.cpu_ns <= elapsed_ns);
            // Time left over was slept outside of all charges.
            let slept = elapsed_ns - time.cpu_ns - waits.not_scheduled;
            prop_assert!(all(&waits) - waits.not_scheduled + 8 >= slept.min(all(&charged)));
        }
    }
}
