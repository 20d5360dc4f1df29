//! Names what limited a move, from the time charged to each stage. A label comes with its numbers, or not at all.
//!
//! Must not know: how the numbers were taken.

/// A word of a later version is not known here: then, and without a word, it is this one.
macro_rules! unknown_is {
    ($list:ident::$unknown:ident) => {
        impl Default for $list {
            fn default() -> $list {
                $list::$unknown
            }
        }

        impl<'de> serde::Deserialize<'de> for $list {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<$list, D::Error> {
                let words = String::deserialize(input)?;
                Ok($list::named(&words).unwrap_or_default())
            }
        }
    };
}

mod bottleneck;
mod limit;
mod phase;
mod waits;
mod why;

pub use bottleneck::LimitWords;
pub use limit::{LimitedBy, LimitedDetail};
pub use phase::Phase;
pub use waits::{Cpu, STAGES, Waits};
pub use why::Why;

/// A lead below this fraction of the time is no lead: both ends are about equally slow.
const BALANCED_FRACTION: f64 = 0.10;
/// Below this fraction of the time the largest stage explains too little.
const EXPLAINS_FRACTION: f64 = 0.25;
/// A process that computes for this fraction of the time is bound by the CPU, whatever it seems to wait for: threads
/// that perform requests for a lane compute while it waits for them.
pub const CPU_FRACTION: f64 = 0.85;

/// A quota that keeps the process from running for this part of the time is the cause, whatever it seems to wait for: it
/// stands still wherever it is.
pub const HELD_FRACTION: f64 = 0.5;

/// Stalls for memory that last this part of the waits for both ends are their cause: a copy through 64 MiB of page cache to
/// a disk of 32 MiB/s took 4.5 s instead of 0.3, 4.3 of them in waits for its ends, of which the kernel counted 2.1 as stalls
/// (the rest it waited in its own threads); without the limit it counted none.
const MEMORY_FRACTION: f64 = 0.25;

/// The cause of a wait for one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndCause {
    /// Its device.
    #[default]
    Device,
    /// The program at the other end of a pipe.
    Pipe,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// Time of all lanes together in which they were not idle, in nanoseconds.
    pub lanes_ns: u64,
    /// By stage.
    pub waits: Waits,
    /// CPU time of the process.
    pub cpu: Cpu,
    /// The process does nothing else: where another host is at the other end, it may hold other sessions.
    pub is_alone: bool,
    /// CPU time of the lanes' own threads.
    pub lanes_cpu_ns: u64,
    /// The time of CPUs: [`contended_ns`].
    pub cpus_ns: u64,
    /// The part of the time in which a quota of CPU time kept the process from running.
    pub held_fraction: f64,
    /// The part of the time in which the control group's limit for memory kept a thread waiting. None where all that is
    /// written goes to the disk within the move, however much the page cache takes.
    pub memory_held_fraction: f64,
    /// Time in which what came over a network was opened, or sealed what went.
    pub sealing_ns: u64,
    /// One device serves both ends.
    pub shared_device: bool,
    /// The cause of a wait for the source.
    pub source: EndCause,
    /// The cause of a wait for the target.
    pub target: EndCause,
    /// The source is a server on the web.
    pub reads_the_web: bool,
    /// A file was copied inside the kernel.
    pub in_kernel: bool,
    /// A file was completed or a byte moved.
    pub did_something: bool,
}

/// The cause, and where and why.
pub fn verdict(evidence: &Evidence) -> (LimitedBy, LimitedDetail) {
    let Evidence { lanes_ns, waits, lanes_cpu_ns, .. } = *evidence;
    if lanes_ns == 0 || !evidence.did_something {
        return answer(LimitedBy::Unknown, "", Why::NothingMoved, 0, 0);
    }
    let fraction = |ns: u64| ns as f64 / lanes_ns as f64;
    let cpu_ns = evidence.cpu_ns();
    let others_ns = waited_for_others_ns(waits.not_scheduled, evidence.cpus_ns, cpu_ns);
    let lanes_cpu_ns = lanes_cpu_ns + (waits.not_scheduled - others_ns);
    let cpu_ns = cpu_ns.max(lanes_cpu_ns);
    if fraction(cpu_ns) >= CPU_FRACTION {
        return answer(LimitedBy::Cpu, "compute", cpu_reason(evidence), cpu_ns, lanes_ns);
    }
    if evidence.held_fraction >= HELD_FRACTION {
        let held_ns = (evidence.held_fraction.min(1.0) * lanes_ns as f64) as u64;
        return answer(LimitedBy::Cpu, "compute", Why::CpuQuota, held_ns, lanes_ns);
    }
    let (reads, stage, read_why) = if evidence.reads_the_web {
        (LimitedBy::Network, "network", Why::Server)
    } else {
        (LimitedBy::Source, "read", evidence.end_reason(evidence.source))
    };
    let (names, names_stage, names_why) = names(&waits);
    let ends = evidence.ends();
    let mut stages = [
        (ends.source_ns, reads, stage, read_why),
        (ends.sink_ns, LimitedBy::Sink, "write", ends.sink_why),
        (waits.verify, LimitedBy::Sink, "read back", Why::Device),
        (names, LimitedBy::Metadata, names_stage, names_why),
        (waits.sync, LimitedBy::Sync, "sync", Why::StableStorage),
        (waits.rate_limit, LimitedBy::Source, "read", Why::RateLimit),
        (waits.outage, LimitedBy::Network, "network", Why::Outage),
        (others_ns, LimitedBy::Cpu, "compute", Why::NotScheduled),
        (lanes_cpu_ns, LimitedBy::Cpu, "compute", cpu_reason(evidence)),
    ];
    stages.sort_by_key(|stage| std::cmp::Reverse(stage.0));
    let [(first, limit, stage, why), (second, next, _, next_why), ..] = stages;
    let lead = fraction(first) - fraction(second);
    match (fraction(first) >= EXPLAINS_FRACTION, lead < BALANCED_FRACTION && limit != next) {
        (false, _) => answer(LimitedBy::Balanced, "", Why::NoStage, first, lanes_ns),
        (true, true) if evidence.shared_device && is_end(limit) && is_end(next) => {
            answer(limit, stage, Why::SharedDevice, first, lanes_ns)
        }
        (true, true) => answer(LimitedBy::Balanced, stage, Why::EqualStages, first, lanes_ns),
        (true, false) if next_why == Why::NotScheduled && shares_its_cpu(second, first, lanes_ns) => {
            answer(next, stage, next_why, second, lanes_ns)
        }
        (true, false) => answer(limit, stage, why, first, lanes_ns),
    }
}

/// The time without a CPU that is for other programs. Where more lanes could run than there are CPUs they wait for each
/// other, too: other programs have as large a part of the time in which lanes could run as they can have had of the CPUs.
/// `cpus_ns` is that of [`contended_ns`].
pub fn waited_for_others_ns(not_scheduled_ns: u64, cpus_ns: u64, own_cpu_ns: u64) -> u64 {
    let runnable_ns = u128::from(own_cpu_ns) + u128::from(not_scheduled_ns);
    let of_others = u128::from(cpus_ns.saturating_sub(own_cpu_ns));
    (runnable_ns * of_others / u128::from(cpus_ns.max(1))).min(not_scheduled_ns.into()) as u64
}

/// The time of so many CPUs in which a lane without one can have waited for others: as far as these can have run something, by
/// the machine's own count, or a quota withheld them. Of lanes that run in bursts nobody has the rest.
pub fn contended_ns(cpus: Option<u32>, elapsed_ns: u64, busy_ns: Option<u64>, held_ns: u64) -> u64 {
    let of_cpus = |ns: u64| cpus.map_or(u64::MAX, |cpus| ns.saturating_mul(cpus.into()));
    let busy_ns = busy_ns.map_or(u64::MAX, |ns| ns.saturating_add(of_cpus(held_ns)));
    of_cpus(elapsed_ns).min(busy_ns)
}

/// Whether lanes that computed for so long, and waited for other programs about as long, are held back by these. A lane
/// that has one of them on its CPU gets half of it, at times more and at times less.
pub fn shares_its_cpu(others_ns: u64, computed_ns: u64, of_ns: u64) -> bool {
    let of = |fraction: f64| fraction * of_ns as f64;
    let lead_ns = computed_ns.saturating_sub(others_ns);
    others_ns as f64 >= of(EXPLAINS_FRACTION) && (lead_ns as f64) < of(BALANCED_FRACTION)
}

/// Time for names of all kinds, and what most of it was.
fn names(waits: &Waits) -> (u64, &'static str, Why) {
    let kinds = [
        (waits.metadata, "metadata", Why::NamesAndAttributes),
        (waits.listing, "listing", Why::Listing),
        (waits.deleting, "deleting", Why::Deleting),
    ];
    let [mut most, ..] = kinds;
    kinds.into_iter().for_each(|kind| most = if kind.0 > most.0 { kind } else { most });
    (waits.metadata + waits.listing + waits.deleting, most.1, most.2)
}

/// Waits for both ends.
struct EndWaits {
    source_ns: u64,
    sink_ns: u64,
    sink_why: Why,
}

impl Evidence {
    /// At a group's limit for memory reads wait as writes do, until what was written has left the page cache: both are
    /// waits for the sink.
    fn ends(&self) -> EndWaits {
        let Waits { source, sink, reserving, .. } = self.waits;
        let is_read_here = self.is_alone && !self.reads_the_web && self.source == EndCause::Device;
        let read_ns = if is_read_here { source } else { 0 };
        let (sink_ns, sink_why) = (sink + reserving, self.end_reason(self.target));
        let waited_fraction = (sink_ns + read_ns) as f64 / self.lanes_ns.max(1) as f64;
        let is_held = self.memory_held_fraction > 0.0
            && self.memory_held_fraction >= waited_fraction * MEMORY_FRACTION
            && sink_ns > 0
            && self.target == EndCause::Device;
        if is_held {
            EndWaits { source_ns: source - read_ns, sink_ns: sink_ns + read_ns, sink_why: Why::MemoryLimit }
        } else {
            EndWaits { source_ns: source, sink_ns, sink_why }
        }
    }

    /// Why an end is waited for.
    fn end_reason(&self, cause: EndCause) -> Why {
        match cause {
            EndCause::Pipe => Why::Pipe,
            EndCause::Device if self.shared_device => Why::SharedDevice,
            EndCause::Device => Why::Device,
        }
    }

    /// CPU time behind the copy: that of all threads, or of the lanes' alone.
    fn cpu_ns(&self) -> u64 {
        let process_ns = if self.is_alone { self.cpu.total_ns() } else { 0 };
        process_ns.max(self.lanes_cpu_ns)
    }
}

fn is_end(limit: LimitedBy) -> bool {
    matches!(limit, LimitedBy::Source | LimitedBy::Sink)
}

fn cpu_reason(evidence: &Evidence) -> Why {
    let cpu_ns = evidence.cpu_ns();
    let is_kernels = evidence.cpu.system_ns > evidence.cpu.user_ns;
    let (hashing, sealing) = (evidence.waits.hashing, evidence.sealing_ns);
    let other = cpu_ns.saturating_sub(hashing + sealing);
    if hashing > other && hashing >= sealing {
        Why::Hashing
    } else if sealing > other {
        Why::Encryption
    } else if evidence.in_kernel || is_kernels {
        Why::Copying
    } else {
        Why::PostingRequests
    }
}

fn answer(limit: LimitedBy, stage: &str, why: Why, waited_ns: u64, of_ns: u64) -> (LimitedBy, LimitedDetail) {
    (limit, LimitedDetail::here(stage, why, waited_ns, of_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(source: u64, sink: u64) -> Waits {
        Waits { source, sink, ..Waits::default() }
    }

    /// Of a thousand nanoseconds of lanes; what is not waited for is computed.
    fn evidence(waits: Waits) -> Evidence {
        let lanes_cpu_ns = 1000u64.saturating_sub(waits.total() + waits.not_scheduled);
        Evidence {
            lanes_ns: 1000,
            waits,
            cpu: Cpu { user_ns: lanes_cpu_ns, system_ns: 0 },
            is_alone: true,
            lanes_cpu_ns,
            cpus_ns: 2000,
            held_fraction: 0.0,
            memory_held_fraction: 0.0,
            sealing_ns: 0,
            shared_device: false,
            source: EndCause::Device,
            target: EndCause::Device,
            reads_the_web: false,
            in_kernel: false,
            did_something: true,
        }
    }

    fn check(evidence: &Evidence, limit: &str, stage: &str, why: &str) {
        let (got, detail) = verdict(evidence);
        let got = (got.words(), detail.stage.as_str(), detail.why.words());
        assert_eq!(got, (limit, stage, why), "{evidence:?}");
        assert!(detail.waited_ns <= detail.of_ns);
    }

    /// Between two hosts the process may compute for other sessions.
    #[test]
    fn a_lane_computes_for_as_long_as_its_thread_did() {
        let cpu = Cpu { user_ns: 5000, system_ns: 0 };
        for (lanes_cpu_ns, sealing_ns, limit, stage, why) in [
            (50, 30, "balanced", "", "no stage stands out"),
            (900, 500, "cpu", "compute", "encryption"),
            (600, 100, "cpu", "compute", "posting requests"),
        ] {
            let waits = Waits { hashing: lanes_cpu_ns / 4, ..waits(100, 50) };
            let evidence = Evidence { lanes_cpu_ns, sealing_ns, cpu, is_alone: false, ..evidence(waits) };
            check(&evidence, limit, stage, why);
        }
    }

    /// Held back for 860 of 1000 ms wherever it stood, as under a quota of 5 % of a CPU.
    #[test]
    fn a_quota_comes_before_what_seems_to_be_waited_for() {
        for (held_fraction, limit, stage, why) in [
            (0.86, "cpu", "compute", "cpu quota"),
            (1.7, "cpu", "compute", "cpu quota"),
            (0.2, "sync", "sync", "stable storage"),
        ] {
            let waits = Waits { sync: 600, ..waits(100, 100) };
            check(&Evidence { held_fraction, ..evidence(waits) }, limit, stage, why);
        }
    }

    /// On one disk, with reads that wait about as long as writes, the limit was named in three runs of ten.
    #[test]
    fn at_a_limit_for_memory_both_ends_wait_for_what_was_written() {
        for (waits, memory_held_fraction, limit, stage, why) in [
            (waits(300, 620), 0.46, "sink", "write", "memory limit"),
            (waits(480, 440), 0.46, "sink", "write", "memory limit"),
            (waits(480, 440), 0.23, "sink", "write", "memory limit"),
            (waits(480, 440), 0.22, "source", "read", "shared device"),
            (waits(480, 440), 0.0, "source", "read", "shared device"),
            // Nothing was written, or elsewhere.
            (waits(900, 0), 0.9, "source", "read", "shared device"),
            (Waits { metadata: 800, ..waits(50, 50) }, 0.9, "metadata", "metadata", "names and attributes"),
        ] {
            let shared = Evidence { memory_held_fraction, shared_device: true, ..evidence(waits) };
            check(&shared, limit, stage, why);
        }
        for changed in [
            Evidence { source: EndCause::Pipe, ..evidence(waits(600, 300)) },
            Evidence { is_alone: false, ..evidence(waits(600, 300)) },
        ] {
            let why = if changed.is_alone { "pipe" } else { "device" };
            check(&Evidence { memory_held_fraction: 0.5, ..changed }, "source", "read", why);
        }
        let to_pipe =
            Evidence { target: EndCause::Pipe, memory_held_fraction: 0.9, ..evidence(waits(100, 800)) };
        check(&to_pipe, "sink", "write", "pipe");
    }

    /// Four lanes on two CPUs, for 250 ns.
    #[test]
    fn lanes_that_wait_for_each_other_compute() {
        for (own_cpu_ns, why) in [
            (480, "posting requests"),
            (300, "posting requests"),
            (260, "waiting for a cpu"),
            (250, "waiting for a cpu"),
            (50, "waiting for a cpu"),
        ] {
            check(&on_cpus(4, own_cpu_ns), "cpu", "compute", why);
        }
    }

    /// Lanes that can always run, on two CPUs, for 1000 ns of all lanes.
    fn on_cpus(lanes: u64, own_cpu_ns: u64) -> Evidence {
        let waits = Waits { not_scheduled: 1000 - own_cpu_ns, ..Waits::default() };
        let cpu = Cpu { user_ns: own_cpu_ns, system_ns: 0 };
        Evidence { cpu, lanes_cpu_ns: own_cpu_ns, cpus_ns: 2 * 1000 / lanes, ..evidence(waits) }
    }

    /// One lane that shares its CPU with one other program, while the other CPU is idle.
    #[test]
    fn a_fair_share_of_a_cpu_is_named_the_same_each_time() {
        for own_cpu_ns in [460, 490, 500, 510, 540] {
            let evidence = on_cpus(1, own_cpu_ns);
            check(&evidence, "cpu", "compute", "waiting for a cpu");
            assert_eq!(verdict(&evidence).1.waited_ns, 1000 - own_cpu_ns);
        }
        check(&on_cpus(1, 700), "cpu", "compute", "posting requests");
    }

    /// Time without a CPU, the time of all CPUs, what the copy computed, and the part for other programs.
    #[test]
    fn a_wait_for_a_cpu_is_for_others_as_far_as_they_can_have_had_it() {
        for (what, not_scheduled_ns, cpus_ns, own_cpu_ns, others_ns) in [
            ("one lane on one of two CPUs", 400, 2000, 600, 400),
            ("one lane and one program on one CPU", 500, 1000, 500, 500),
            ("as many lanes as CPUs", 600, 2000, 1400, 600),
            ("two lanes and one program on one CPU", 1333, 1000, 667, 666),
            ("two lanes and four programs on one CPU", 1667, 1000, 333, 1334),
            ("four lanes alone on two CPUs", 2000, 2000, 2000, 0),
            ("CPU time of more threads than the lanes'", 100, 1000, 1100, 0),
            ("no CPU at all", 1000, 500, 0, 1000),
            ("a number of CPUs that is not known", 900, u64::MAX, 100, 900),
            ("eight lanes in bursts, on two CPUs that are idle for half of the time", 3000, 1000, 1000, 0),
            ("the same, and a little of others", 3000, 1030, 1000, 116),
        ] {
            assert_eq!(waited_for_others_ns(not_scheduled_ns, cpus_ns, own_cpu_ns), others_ns, "{what}");
        }
    }

    #[test]
    fn cpus_that_are_idle_are_nobodys() {
        for (what, cpus, busy_ns, held_ns, expected) in [
            ("an idle machine", Some(8), Some(1900), 0, 1900),
            ("other programs on CPUs that this one may not use", Some(1), Some(2000), 0, 1000),
            ("a quota", Some(2), Some(70), 900, 1870),
            ("nothing is known of the machine", Some(2), None, 0, 2000),
            ("nothing is known at all", None, None, 0, u64::MAX),
        ] {
            assert_eq!(contended_ns(cpus, 1000, busy_ns, held_ns), expected, "{what}");
        }
    }

    /// Three lanes on one CPU: a nanosecond more of its own changes the part of others by three and the rounding.
    #[test]
    fn the_part_of_others_has_no_step() {
        let others = |own_cpu_ns| waited_for_others_ns(3000 - own_cpu_ns, 1000, own_cpu_ns);
        for own_cpu_ns in 1..=1000 {
            let (before, after) = (others(own_cpu_ns - 1), others(own_cpu_ns));
            assert!(before >= after && before - after <= 4, "{own_cpu_ns}: {before}, {after}");
        }
    }

    /// Threads that perform requests for a lane compute while it waits for them.
    #[test]
    fn computing_all_the_time_is_the_limit_whatever_is_waited_for() {
        let cpu = Cpu { user_ns: 100, system_ns: 800 };
        let evidence = Evidence { cpu, ..evidence(waits(0, 900)) };
        check(&evidence, "cpu", "compute", "copying");
    }

    #[test]
    fn what_is_behind_an_end_is_the_reason() {
        for (waits, source, target, limit, stage, why) in [
            (waits(50, 900), EndCause::Device, EndCause::Pipe, "sink", "write", "pipe"),
            (waits(900, 50), EndCause::Pipe, EndCause::Device, "source", "read", "pipe"),
        ] {
            check(&Evidence { source, target, ..evidence(waits) }, limit, stage, why);
        }
    }

    #[test]
    fn a_server_on_the_web_is_no_device() {
        let evidence = Evidence { reads_the_web: true, ..evidence(waits(900, 50)) };
        check(&evidence, "network", "network", "server or path");
    }

    #[test]
    fn the_verdict_follows_the_waits() {
        let none = Waits::default();
        for (waits, shared_device, limit, stage, why) in [
            (waits(900, 50), false, "source", "read", "device"),
            (waits(50, 900), false, "sink", "write", "device"),
            (Waits { reserving: 500, ..waits(50, 400) }, false, "sink", "write", "device"),
            (waits(480, 470), false, "balanced", "read", "two stages take equal time"),
            (waits(480, 470), true, "source", "read", "shared device"),
            (none, false, "cpu", "compute", "posting requests"),
            (Waits { hashing: 800, ..waits(100, 0) }, false, "cpu", "compute", "hashing"),
            (Waits { sync: 700, ..waits(100, 100) }, false, "sync", "sync", "stable storage"),
            (Waits { rate_limit: 900, ..waits(10, 10) }, false, "source", "read", "rate limit"),
            (Waits { outage: 700, rate_limit: 200, ..none }, false, "network", "network", "outage"),
            (Waits { not_scheduled: 600, ..waits(200, 0) }, false, "cpu", "compute", "waiting for a cpu"),
            (Waits { deleting: 600, sync: 200, ..none }, false, "metadata", "deleting", "deleting"),
            (Waits { listing: 400, metadata: 300, ..none }, false, "metadata", "listing", "listing"),
            (
                Waits { metadata: 600, ..waits(100, 100) },
                false,
                "metadata",
                "metadata",
                "names and attributes",
            ),
        ] {
            check(&Evidence { shared_device, ..evidence(waits) }, limit, stage, why);
        }
    }
}
