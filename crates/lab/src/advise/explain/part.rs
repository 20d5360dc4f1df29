//! A part of a copy: its name, and what it did alone.
//!
//! Must not know: how it is run, what parts allow together.

use datapump::{LimitedBy, Report, Why};
use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::stats::median;

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
    Local,
    /// Not a part: the rate that was asked for.
    RateLimit,
    /// Source and sink as one chain, where they share the CPUs and caches of one machine: two hosts that are one, or a
    /// disk's data that are written into memory.
    Chain,
}

impl PartName {
    /// The limit of a copy that this part limits; `by_copy` is the one that the copy itself reports.
    pub(super) fn limit(self, by_copy: LimitedBy) -> LimitedBy {
        match self {
            PartName::Pump => LimitedBy::Cpu,
            PartName::Source | PartName::RateLimit => LimitedBy::Source,
            PartName::Network => LimitedBy::Network,
            PartName::Sink => LimitedBy::Sink,
            PartName::Together if by_copy == LimitedBy::Source => by_copy,
            PartName::Together => LimitedBy::Sink,
            PartName::Local if by_copy == LimitedBy::Network => by_copy,
            PartName::Local => LimitedBy::Cpu,
            // No part alone is as slow; the copy knows what it waited for.
            PartName::Chain => by_copy,
        }
    }

    /// Whether this part is what was found to limit, or contains it.
    pub(super) fn is_found(self, limit: LimitedBy, why: Why) -> bool {
        match self {
            // A device that both ends share is neither of them.
            PartName::Source => {
                limit == LimitedBy::Source && !why.is_rate_limit() && why != Why::SharedDevice
            }
            PartName::Sink => matches!(limit, LimitedBy::Sink | LimitedBy::Sync) && why != Why::SharedDevice,
            PartName::RateLimit => why == Why::RateLimit,
            PartName::Network => limit == LimitedBy::Network,
            PartName::Pump => limit == LimitedBy::Cpu,
            PartName::Local => matches!(limit, LimitedBy::Cpu | LimitedBy::Network),
            PartName::Together | PartName::Chain => true,
        }
    }

    /// Source and sink at once, which the law does not compose of what each does alone.
    pub(super) fn is_joint(self) -> bool {
        matches!(self, PartName::Together | PartName::Chain)
    }

    /// Its name in JSON, and in a stored prediction.
    pub(super) fn key(self) -> &'static str {
        match self {
            PartName::Pump => "pump",
            PartName::Source => "source",
            PartName::Network => "network",
            PartName::Sink => "sink",
            PartName::Together => "together",
            PartName::Local => "local",
            PartName::RateLimit => "rate_limit",
            PartName::Chain => "chain",
        }
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
            PartName::Local => "this host's end with the network",
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
    /// The source was read from the page cache.
    pub cached: bool,
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
        let (cached, on_one_machine) = (false, false);
        Part {
            name,
            bytes,
            elapsed_ns,
            bytes_per_second,
            fixed_ns,
            cpu_ns_per_byte,
            cached,
            ns_per_request,
            on_one_machine,
        }
    }

    /// Means over parts of one name: of the time and of the CPU time for each byte, as these add up.
    pub(super) fn mean(parts: &[&Part]) -> Option<Part> {
        let last = *parts.last()?;
        let count = parts.len() as f64;
        let mean = |value: &dyn Fn(&Part) -> f64| parts.iter().map(|part| value(part)).sum::<f64>() / count;
        Some(Part {
            bytes: parts.iter().map(|part| part.bytes).sum(),
            elapsed_ns: parts.iter().map(|part| part.elapsed_ns).sum(),
            bytes_per_second: 1.0 / mean(&|part| 1.0 / part.bytes_per_second.max(f64::MIN_POSITIVE)),
            fixed_ns: mean(&|part| part.fixed_ns),
            cpu_ns_per_byte: mean(&|part| part.cpu_ns_per_byte),
            ns_per_request: mean(&|part| part.ns_per_request),
            ..last.clone()
        })
    }
}

/// Measurements of all parts.
#[derive(Clone, Debug, Default)]
pub(super) struct MeasuredRounds {
    /// Each part: means over the rounds.
    pub(super) parts: Vec<Part>,
    /// All parts, round by round.
    pub(super) rounds: Vec<Vec<Part>>,
    /// Parts that could not be measured, and why.
    pub(super) wrong: Vec<String>,
}

/// One short move of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slice {
    pub(super) bytes: u64,
    pub(super) elapsed_ns: u64,
    pub(super) cpu_ns: u64,
    pub(super) ns_per_request: f64,
    pub(super) on_one_machine: bool,
    /// The path's round trip; 0 on one host.
    pub(super) round_trip_ns: u64,
}

impl Slice {
    pub(super) fn from_report(report: &Report) -> Slice {
        Slice {
            bytes: report.bytes_moved,
            elapsed_ns: report.elapsed_ns,
            cpu_ns: cpu_ns(report),
            ns_per_request: report.ns_per_request(),
            on_one_machine: report.network.is_some_and(|network| network.same_host),
            round_trip_ns: report.network.map_or(0, |network| network.round_trip_us().saturating_mul(1000)),
        }
    }

    pub(super) fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }
}

/// A slice of each size that a part was measured with in one round: one of the whole copy, or a short and a long one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SlicePair {
    pub(super) short: Option<Slice>,
    pub(super) long: Slice,
}

/// A beginning and an end take no more than this part of any slice.
const FIXED_FRACTION_MAX: f64 = 0.95;

/// The part in each of the rounds. What a move takes besides its bytes is one figure for all rounds: the median of what
/// each short and long slice say, as a single pair that was disturbed says nothing of it.
pub(super) fn by_round(name: PartName, pairs: &[SlicePair], copy_bytes: Option<u64>) -> Vec<Part> {
    let fixed_ns = fixed(pairs, |slice| slice.elapsed_ns);
    let fixed_cpu_ns = fixed(pairs, |slice| slice.cpu_ns);
    let part = |pair: &SlicePair| {
        let Slice { bytes, elapsed_ns, cpu_ns, ns_per_request, on_one_machine, .. } = pair.long;
        let moved = bytes.max(1) as f64;
        let of_copy = copy_bytes.map_or(0.0, |bytes| fixed_cpu_ns / bytes.max(1) as f64);
        Part {
            bytes,
            elapsed_ns,
            bytes_per_second: moved * 1e9 / (elapsed_ns as f64 - fixed_ns).max(1.0),
            fixed_ns,
            cpu_ns_per_byte: (cpu_ns as f64 - fixed_cpu_ns).max(0.0) / moved + of_copy,
            ns_per_request,
            on_one_machine,
            ..Part::new(name)
        }
    };
    pairs.iter().map(part).collect()
}

/// The part of a figure that does not grow with the bytes of a slice.
fn fixed(pairs: &[SlicePair], figure: impl Fn(&Slice) -> u64) -> f64 {
    let of_pair = |pair: &SlicePair| {
        let short = pair.short.filter(|short| short.bytes < pair.long.bytes)?;
        let (little, much) = (figure(&short) as f64, figure(&pair.long) as f64);
        let per_byte = (much - little) / (pair.long.bytes - short.bytes) as f64;
        Some((little - short.bytes as f64 * per_byte).max(0.0))
    };
    let found: Vec<f64> = pairs.iter().filter_map(of_pair).collect();
    let least = pairs.iter().map(|pair| figure(&pair.long)).min().unwrap_or(0);
    median(&found).unwrap_or(0.0).min(least as f64 * FIXED_FRACTION_MAX)
}

/// CPU time of both hosts.
pub(super) fn cpu_ns(report: &Report) -> u64 {
    report.cpu.total_ns() + report.cpu_remote.unwrap_or_default().total_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(bytes: u64, ms: u64) -> Slice {
        Slice { bytes, elapsed_ns: ms * 1_000_000, cpu_ns: ms * 500_000, ..Slice::default() }
    }

    /// A host reports up to 2^58.
    #[test]
    fn a_round_trip_of_centuries_is_no_mistake_here() {
        let network = Some(datapump::Network { min_rtt_us: 1 << 58, ..datapump::Network::default() });
        let slice = Slice::from_report(&Report { network, ..Report::default() });
        assert_eq!(slice.round_trip_ns, u64::MAX);
    }

    #[test]
    fn what_it_takes_to_begin_is_told_from_bandwidth() {
        let pair = |short, long| SlicePair {
            short: Some(slice(10_000_000, short)),
            long: slice(1_000_000_000, long),
        };
        let alone = |long| SlicePair { short: None, long: slice(1_000_000_000, long) };
        for (what, pairs, mb_per_s, fixed_ms) in [
            ("10 ms to begin, 1 GB/s", vec![pair(20, 1010); 3], 1000.0, 10.0),
            (
                "one short slice of three was disturbed",
                vec![pair(20, 1010), pair(900, 1010), pair(20, 1010)],
                1000.0,
                10.0,
            ),
            ("the whole copy at once", vec![alone(1010); 3], 990.1, 0.0),
        ] {
            let parts = by_round(PartName::Sink, &pairs, Some(1_000_000_000));
            let part = Part::mean(&parts.iter().collect::<Vec<_>>()).expect("rounds");
            assert!((part.bytes_per_second / 1e6 - mb_per_s).abs() < 0.1, "{what}: {part:?}");
            assert!((part.fixed_ns / 1e6 - fixed_ms).abs() < 0.1, "{what}: {part:?}");
            assert!((part.cpu_ns_per_byte - 0.505).abs() < 1e-3, "{what}: {part:?}");
        }
    }
}
