//! A part of a copy: its name, and what it did alone.
//!
//! Must not know: how it is run, what parts allow together.

use datapump::{LimitedBy, Report};
use schemars::JsonSchema;
use serde::Serialize;

use super::moved_bytes_per_s;

/// A part of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartName {
    /// Nothing to nothing: the loop itself.
    Pump,
    /// The source to nothing.
    Source,
    /// Nothing over the network to nothing.
    Network,
    /// Nothing to the sink, or to the sink on another host.
    Sink,
    /// Source and sink at once, where one device serves both.
    Together,
    /// The end on this host and the network, with null on the other: what comes from a disk is in no cache when it is
    /// hashed and sealed, as what a null source gives is.
    Near,
    /// Not a part: the rate that was asked for.
    RateLimit,
    /// Source and sink as one chain, where they share the CPUs and caches of one machine: two hosts that are one, or a
    /// disk's data that are written into memory.
    Chain,
}

impl PartName {
    /// The limit of a copy that this part limits; `told` is what the copy says itself.
    pub(super) fn limit(self, told: LimitedBy) -> LimitedBy {
        match self {
            PartName::Pump => LimitedBy::Cpu,
            PartName::Source | PartName::RateLimit => LimitedBy::Source,
            PartName::Network => LimitedBy::Network,
            PartName::Sink => LimitedBy::Sink,
            PartName::Together if told == LimitedBy::Source => told,
            PartName::Together => LimitedBy::Sink,
            PartName::Near if told == LimitedBy::Network => told,
            PartName::Near => LimitedBy::Cpu,
            // No part alone is as slow; the copy knows what it waited for.
            PartName::Chain => told,
        }
    }

    /// Source and sink at once, which the law does not compose of what each does alone.
    pub(super) fn is_joint(self) -> bool {
        matches!(self, PartName::Together | PartName::Chain)
    }

    /// How it is measured, in words behind its name.
    pub(super) fn alone_words(self) -> &'static str {
        if self.is_joint() { "" } else { " alone" }
    }

    /// In words, of what limits a copy: not the empty loop, which is measured as a part, but all that is computed.
    pub(super) fn limit_words(self) -> &'static str {
        match self {
            PartName::Pump => "the CPU time of one thread",
            part => part.words(),
        }
    }

    /// In words.
    pub(super) fn words(self) -> &'static str {
        match self {
            PartName::Pump => "the pump itself",
            PartName::Source => "the source",
            PartName::Network => "the network",
            PartName::Sink => "the sink",
            PartName::Together => "the device that serves both ends",
            PartName::Near => "this host's end with the network",
            PartName::RateLimit => "the rate limit",
            PartName::Chain => "all of it at once on one machine",
        }
    }
}

/// What a part did alone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    /// Which.
    pub name: PartName,
    /// Bytes moved.
    pub bytes: u64,
    /// Time for them.
    pub elapsed_ns: u64,
    /// Bandwidth, less what it takes to begin and to end.
    pub bytes_per_second: f64,
    /// What it takes to begin and to end.
    pub fixed_ns: f64,
    /// CPU time of both hosts for each byte, the pump's own contained.
    pub cpu_ns_per_byte: f64,
    /// Time for each request.
    #[serde(skip)]
    pub(super) ns_per_request: f64,
    /// It was measured between two hosts that are one machine.
    #[serde(skip)]
    pub(super) on_one_machine: bool,
}

impl Part {
    pub(super) fn new(name: PartName) -> Part {
        let (bytes, elapsed_ns) = (0, 0);
        let (bytes_per_second, fixed_ns, cpu_ns_per_byte, ns_per_request) = (0.0, 0.0, 0.0, 0.0);
        let on_one_machine = false;
        Part {
            name,
            bytes,
            elapsed_ns,
            bytes_per_second,
            fixed_ns,
            cpu_ns_per_byte,
            ns_per_request,
            on_one_machine,
        }
    }

    pub(super) fn from_report(name: PartName, report: &Report) -> Part {
        let (bytes, elapsed_ns) = (report.bytes_moved, report.elapsed_ns);
        Part {
            bytes,
            elapsed_ns,
            bytes_per_second: moved_bytes_per_s(report),
            cpu_ns_per_byte: cpu_ns(report) as f64 / bytes.max(1) as f64,
            ns_per_request: report.ns_per_request(),
            on_one_machine: report.network.is_some_and(|network| network.same_host),
            ..Part::new(name)
        }
    }

    /// From a short run and a long one.
    pub(super) fn between(name: PartName, short: &Report, long: &Report) -> Part {
        let whole = Part::from_report(name, long);
        let bytes = long.bytes_moved.saturating_sub(short.bytes_moved) as f64;
        let ns = long.elapsed_ns.saturating_sub(short.elapsed_ns) as f64;
        let speed = bytes * 1e9 / ns.max(1.0);
        // A short run that was disturbed says nothing of how runs begin. At 2 GB/s a flush of 80 ms is a quarter of a
        // run of 600 MB.
        if speed > 2.0 * whole.bytes_per_second || speed < whole.bytes_per_second {
            return whole;
        }
        let cpu = cpu_ns(long).saturating_sub(cpu_ns(short)) as f64 / bytes.max(1.0);
        let fixed_ns = long.elapsed_ns as f64 - long.bytes_moved as f64 * 1e9 / speed;
        Part { bytes_per_second: speed, fixed_ns, cpu_ns_per_byte: cpu, ..whole }
    }
}

/// CPU time of both hosts.
pub(super) fn cpu_ns(report: &Report) -> u64 {
    let far = report.cpu_far.unwrap_or_default();
    report.cpu.user_ns + report.cpu.system_ns + far.user_ns + far.system_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(bytes_moved: u64, elapsed_ns: u64) -> Report {
        Report { bytes_moved, elapsed_ns, ..Report::default() }
    }

    #[test]
    fn what_it_takes_to_begin_is_told_from_bandwidth() {
        for (what, short, long, mb_per_s, fixed_ms) in [
            ("10 ms to begin, 1 GB/s", (10_000_000, 20), (1_000_000_000, 1010), 1000.0, 10.0),
            ("a short run that was disturbed", (10_000_000, 900), (1_000_000_000, 1010), 990.1, 0.0),
            ("a long one that was", (10_000_000, 1), (1_000_000_000, 1010), 990.1, 0.0),
        ] {
            let ms = 1_000_000;
            let (short, long) = (report(short.0, short.1 * ms), report(long.0, long.1 * ms));
            let part = Part::between(PartName::Sink, &short, &long);
            assert!((part.bytes_per_second / 1e6 - mb_per_s).abs() < 0.1, "{what}: {part:?}");
            assert!((part.fixed_ns / 1e6 - fixed_ms).abs() < 0.1, "{what}: {part:?}");
        }
    }
}
