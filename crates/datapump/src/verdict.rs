//! Names what limited a move, from the time charged to each stage. A label comes with its numbers, or not at all.
//!
//! Must not know: how the numbers were taken.

use crate::report::{Cpu, LimitedBy, LimitedDetail, Waits};

/// A lead below this fraction of the time is no lead: both ends are about equally slow.
const BALANCED_FRACTION: f64 = 0.10;
/// Below this fraction of the time the largest stage explains too little.
const EXPLAINS_FRACTION: f64 = 0.25;
/// A process that computes for this fraction of the time is bound by the CPU, whoever it seems to wait for: the kernel
/// copies bytes inside the calls that are charged to an end.
pub(crate) const CPU_FRACTION: f64 = 0.85;

/// A quota that keeps the process from running for this part of the time is the cause, whoever it seems to wait for: it
/// stands still wherever it is.
const HELD_FRACTION: f64 = 0.5;

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    /// Time of all lanes together, in nanoseconds.
    pub(crate) lanes_ns: u64,
    pub(crate) waits: Waits,
    pub(crate) cpu: Cpu,
    /// CPU time of the lanes' own threads, where another host is at their other end: the process may hold other
    /// sessions.
    pub(crate) lanes_cpu_ns: Option<u64>,
    /// The part of the time in which a quota of CPU time kept the process from running.
    pub(crate) held_fraction: f64,
    /// Time in which what came over a network was opened, or sealed what went.
    pub(crate) sealing_ns: u64,
    /// One device serves both ends.
    pub(crate) shared_device: bool,
    /// A file was copied inside the kernel.
    pub(crate) in_kernel: bool,
    /// A file was completed or a byte moved.
    pub(crate) did_something: bool,
}

/// The cause, and where and why.
pub(crate) fn verdict(evidence: &Evidence) -> (LimitedBy, LimitedDetail) {
    let Evidence { lanes_ns, waits, cpu, .. } = *evidence;
    if lanes_ns == 0 || !evidence.did_something {
        return answer(LimitedBy::Unknown, "", "nothing was moved", 0, 0);
    }
    let fraction = |ns: u64| ns as f64 / lanes_ns as f64;
    let computing = lanes_ns.saturating_sub(waits.total()).min(evidence.lanes_cpu_ns.unwrap_or(u64::MAX));
    let cpu_ns = evidence.lanes_cpu_ns.unwrap_or(cpu.user_ns + cpu.system_ns);
    if fraction(cpu_ns) >= CPU_FRACTION {
        return answer(LimitedBy::Cpu, "compute", cpu_reason(evidence), cpu_ns, lanes_ns);
    }
    if evidence.held_fraction >= HELD_FRACTION {
        let held_ns = (evidence.held_fraction.min(1.0) * lanes_ns as f64) as u64;
        return answer(LimitedBy::Cpu, "compute", "cpu quota", held_ns, lanes_ns);
    }
    let device = if evidence.shared_device { "shared device" } else { "device" };
    let mut stages = [
        (waits.source, LimitedBy::Source, "read", device),
        (waits.sink, LimitedBy::Sink, "write", device),
        (waits.verify, LimitedBy::Sink, "read back", "device"),
        (waits.metadata, LimitedBy::Metadata, "metadata", "names and attributes"),
        (waits.sync, LimitedBy::Sync, "sync", "stable storage"),
        (waits.rate_limit, LimitedBy::Source, "read", "rate limit"),
        (computing, LimitedBy::Cpu, "compute", cpu_reason(evidence)),
    ];
    stages.sort_by_key(|stage| std::cmp::Reverse(stage.0));
    let [(first, limit, stage, why), (second, next, ..), ..] = stages;
    let lead = fraction(first) - fraction(second);
    match (fraction(first) >= EXPLAINS_FRACTION, lead < BALANCED_FRACTION && limit != next) {
        (false, _) => answer(LimitedBy::Balanced, "", "no stage stands out", first, lanes_ns),
        (true, true) if evidence.shared_device && is_end(limit) && is_end(next) => {
            answer(limit, stage, "shared device", first, lanes_ns)
        }
        (true, true) => answer(LimitedBy::Balanced, stage, "two stages take equal time", first, lanes_ns),
        (true, false) => answer(limit, stage, why, first, lanes_ns),
    }
}

fn is_end(limit: LimitedBy) -> bool {
    matches!(limit, LimitedBy::Source | LimitedBy::Sink)
}

fn cpu_reason(evidence: &Evidence) -> &'static str {
    let cpu_ns = evidence.lanes_cpu_ns.unwrap_or(evidence.cpu.user_ns + evidence.cpu.system_ns);
    let (hashing, sealing) = (evidence.waits.hashing, evidence.sealing_ns);
    let other = cpu_ns.saturating_sub(hashing + sealing);
    match () {
        () if hashing > other && hashing >= sealing => "hashing",
        () if sealing > other => "encryption",
        () if evidence.in_kernel || evidence.cpu.system_ns > evidence.cpu.user_ns => "copying",
        () => "posting requests",
    }
}

fn answer(
    limit: LimitedBy,
    stage: &str,
    why: &str,
    waited_ns: u64,
    of_ns: u64,
) -> (LimitedBy, LimitedDetail) {
    let host = "local".into();
    (limit, LimitedDetail { host, stage: stage.into(), why: why.into(), waited_ns, of_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(source: u64, sink: u64) -> Waits {
        Waits { source, sink, ..Waits::default() }
    }

    /// Between two hosts a lane may have nothing to do; and its process may compute for other sessions.
    #[test]
    fn a_lane_computes_for_as_long_as_its_thread_did() {
        let cpu = Cpu { user_ns: 5000, system_ns: 0 };
        for (lanes_cpu_ns, sealing_ns, limit, why) in [
            (50, 30, "balanced", "no stage stands out"),
            (900, 500, "cpu", "encryption"),
            (600, 100, "cpu", "posting requests"),
        ] {
            let evidence = Evidence {
                lanes_ns: 1000,
                waits: Waits { hashing: lanes_cpu_ns / 4, ..waits(100, 50) },
                cpu,
                lanes_cpu_ns: Some(lanes_cpu_ns),
                held_fraction: 0.0,
                sealing_ns,
                shared_device: false,
                in_kernel: false,
                did_something: true,
            };
            let (got, detail) = verdict(&evidence);
            assert_eq!((got.name(), detail.why.as_str()), (limit, why), "{evidence:?}");
        }
    }

    /// Held back for 860 of 1000 ms wherever it stood, as under a quota of 5 % of a CPU.
    #[test]
    fn a_quota_comes_before_what_seems_to_be_waited_for() {
        for (held_fraction, limit, why) in
            [(0.86, "cpu", "cpu quota"), (1.7, "cpu", "cpu quota"), (0.2, "sync", "stable storage")]
        {
            let evidence = Evidence {
                lanes_ns: 1000,
                waits: Waits { sync: 600, ..waits(100, 100) },
                cpu: Cpu { user_ns: 10, system_ns: 40 },
                lanes_cpu_ns: None,
                held_fraction,
                sealing_ns: 0,
                shared_device: false,
                in_kernel: false,
                did_something: true,
            };
            let (got, detail) = verdict(&evidence);
            assert_eq!((got.name(), detail.why.as_str()), (limit, why), "{held_fraction}");
            assert!(detail.waited_ns <= detail.of_ns);
        }
    }

    #[test]
    fn the_verdict_follows_the_waits() {
        let cpu = |ns| Cpu { user_ns: ns, system_ns: 0 };
        for (waits, cpu, shared_device, limit, why) in [
            (waits(900, 50), cpu(50), false, "source", "device"),
            (waits(50, 900), cpu(50), false, "sink", "device"),
            (waits(480, 470), cpu(50), false, "balanced", "two stages take equal time"),
            (waits(480, 470), cpu(50), true, "source", "shared device"),
            (waits(0, 0), cpu(990), false, "cpu", "posting requests"),
            (waits(0, 900), cpu(900), false, "cpu", "posting requests"),
            (Waits { hashing: 800, ..waits(100, 0) }, cpu(900), false, "cpu", "hashing"),
            (Waits { sync: 700, ..waits(100, 100) }, cpu(100), false, "sync", "stable storage"),
            (Waits { rate_limit: 900, ..waits(10, 10) }, cpu(10), false, "source", "rate limit"),
        ] {
            let evidence = Evidence {
                lanes_ns: 1000,
                waits,
                cpu,
                lanes_cpu_ns: None,
                held_fraction: 0.0,
                sealing_ns: 0,
                shared_device,
                in_kernel: false,
                did_something: true,
            };
            let (got, detail) = verdict(&evidence);
            assert_eq!((got.name(), detail.why.as_str()), (limit, why), "{evidence:?}");
        }
    }
}
