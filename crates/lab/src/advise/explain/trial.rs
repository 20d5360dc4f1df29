//! Tries one change on the limiting part, with and without it, in turns.
//!
//! Must not know: why it limits, how the gain is told.

use std::sync::atomic::Ordering;
use std::time::Duration;

use datapump::{Options, Report};

use super::cause::Cause;
use super::ends::CopyEnds;
use super::isolate::{Bench, SliceRange};
use super::part::{Part, PartName, Slice};

/// Two turns of two such runs for each of two things to try: 5 s.
const TIME: Duration = Duration::from_millis(600);
const TURNS: usize = 2;
/// A run that was over before this part of the time is no evidence.
const TIME_FRACTION: f64 = 0.25;
/// A run gets this part of what may still be written: two things to try, two turns, two runs each.
const WRITES: u64 = 8;

/// What something gained.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gain {
    /// The flag with its value.
    pub(super) flag: String,
    /// How many times as fast.
    pub(super) times: f64,
}

/// Something to try.
struct Idea {
    flag: &'static str,
    part: PartName,
    options: Options,
}

/// Measures what might help against a cause.
pub(super) fn gains(
    bench: &Bench<'_>,
    parts: &[Part],
    cause: Cause,
    report: &Report,
    tell: &dyn Fn(&str),
) -> Vec<Gain> {
    let ideas = ideas(cause, &bench.tuning(), report, bench.ends);
    let mut gains = Vec::new();
    for idea in ideas {
        if !bench.has_time() {
            break;
        }
        if bench.written.get() > 0 {
            bench.ends.wait_quiet(&bench.case.stop);
        }
        if let Some(times) = bench.gain(&idea, parts) {
            tell(&format!("with {}: {times:.2} times as fast", idea.flag));
            gains.push(Gain { flag: idea.flag.into(), times });
        }
    }
    gains
}

fn ideas(cause: Cause, options: &Options, report: &Report, ends: &CopyEnds) -> Vec<Idea> {
    let idea = |flag, part, options| Idea { flag, part, options };
    let lanes = |count| options.clone().with(|it| it.tuning.lanes = Some(count));
    let buffered = |bytes| {
        let mut options = options.clone();
        options.network.sockets.buffer_bytes = Some(bytes);
        options
    };
    let may_widen = report.lanes == 1 && ends.cpus > 1;
    let mut ideas = match cause {
        Cause::SourceDevice => vec![
            idea(
                "--source-depth 8",
                PartName::Source,
                options.clone().with(|it| it.tuning.source_depth = Some(8)),
            ),
            idea("--lanes 2", PartName::Source, lanes(2)),
        ],
        Cause::SinkDevice if !ends.is_remote() => vec![
            idea("--sink-depth 8", PartName::Sink, options.clone().with(|it| it.tuning.sink_depth = Some(8))),
            idea("--lanes 2", PartName::Sink, lanes(2)),
        ],
        Cause::ReceiveWindow | Cause::SendBuffer => vec![
            idea("--socket-buffer 16MiB", PartName::Network, buffered(16 << 20)),
            idea("--connections 4", PartName::Network, lanes(4)),
        ],
        Cause::Path | Cause::Loss => vec![idea("--connections 4", PartName::Network, lanes(4))],
        Cause::RoundTrips => vec![
            idea(
                "--source-depth 32",
                PartName::Network,
                options.clone().with(|it| it.tuning.source_depth = Some(32)),
            ),
            idea("--connections 4", PartName::Network, lanes(4)),
        ],
        Cause::Encryption if may_widen => vec![idea("--connections 2", PartName::Network, lanes(2))],
        Cause::Hashing | Cause::Copying | Cause::PageCache if may_widen && !ends.is_remote() => {
            vec![idea("--lanes 2", PartName::Source, lanes(2))]
        }
        Cause::PostingRequests if !ends.is_remote() => vec![idea(
            "--request-size 4MiB",
            PartName::Source,
            options.clone().with(|it| it.tuning.request_bytes = Some(4 << 20)),
        )],
        _ => Vec::new(),
    };
    // Connections that were asked for stay as they are.
    let is_fixed = |idea: &Idea| options.tuning.lanes.is_some() && idea.flag.starts_with("--connections");
    ideas.retain(|idea| is_more(&idea.options, options) && !is_fixed(idea));
    ideas
}

/// Something else than was asked for, and nowhere less.
fn is_more(options: &Options, than: &Options) -> bool {
    let figures = |it: &Options| {
        [it.tuning.lanes, it.tuning.source_depth, it.tuning.sink_depth, it.tuning.request_bytes]
    };
    let is_less = |(one, other): (Option<u32>, Option<u32>)| one < other;
    options != than && !figures(options).into_iter().zip(figures(than)).any(is_less)
}

/// How many times as fast it was with something than without, or than at length before, whichever was more. A short run
/// of a slow part ends with much of it on its way, and seems slower than it is.
fn ratio(with: f64, without: f64, alone: f64) -> f64 {
    with / without.max(alone)
}

/// A limit on a device lets some bytes through before it bites: 344 kB in 15 ms tell nothing of 8 MB/s. Where there is
/// room for little, nothing is tried.
fn is_long_enough(slice: &Slice) -> bool {
    slice.elapsed_ns as f64 >= TIME.as_nanos() as f64 * TIME_FRACTION
}

impl Bench<'_> {
    /// The geometric mean of the turns' ratios: twice as fast and half as fast are no gain.
    fn gain(&self, idea: &Idea, parts: &[Part]) -> Option<f64> {
        let alone =
            parts.iter().find(|part| part.name == idea.part).map_or(0.0, |part| part.bytes_per_second);
        let plain = self.tuning();
        let mut product = 1.0;
        for _ in 0..TURNS {
            let without = self.tried(idea.part, &plain, alone)?;
            let with = self.tried(idea.part, &idea.options, alone)?;
            product *= ratio(with.bytes_per_second(), without.bytes_per_second(), alone);
        }
        Some(product.powf(1.0 / TURNS as f64))
    }

    /// One run of what a part moves in that time.
    fn tried(&self, name: PartName, options: &Options, alone: f64) -> Option<Slice> {
        let is_tried = matches!(name, PartName::Source | PartName::Network | PartName::Sink);
        if !is_tried || self.case.stop.load(Ordering::Relaxed) {
            return None;
        }
        let most =
            if self.writes(name) { (self.may_write() / WRITES).min(self.slice_max()) } else { u64::MAX };
        let bytes = ((alone * TIME.as_secs_f64()) as u64).min(most).max(1);
        self.slice(name, options, SliceRange { bytes, begin: 0 }).ok().flatten().filter(is_long_enough)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk of 8 MiB/s, with two requests in flight and with eight: no gain, though 2.9 MB/s were seen with two.
    #[test]
    fn a_gain_is_one_over_what_was_measured_at_length() {
        for (with, without, alone, times) in
            [(8.4, 2.95, 8.41, 1.0), (16.0, 8.0, 7.0, 2.0), (4.0, 2.0, 0.0, 2.0)]
        {
            assert!((ratio(with, without, alone) - times).abs() < 0.01, "{with} {without} {alone}");
        }
    }

    #[test]
    fn nothing_is_tried_that_was_asked_for() {
        let plain = Options::default;
        let report = Report { lanes: 1, ..Report::default() };
        for (what, cause, options, flags) in [
            ("a disk", Cause::SourceDevice, plain(), &["--source-depth 8", "--lanes 2"][..]),
            (
                "more lanes",
                Cause::SourceDevice,
                plain().with(|it| it.tuning.lanes = Some(4)),
                &["--source-depth 8"],
            ),
            ("as deep", Cause::SinkDevice, plain().with(|it| it.tuning.sink_depth = Some(8)), &["--lanes 2"]),
            (
                "less",
                Cause::SinkDevice,
                plain().with(|it| it.tuning.lanes = Some(1)),
                &["--sink-depth 8", "--lanes 2"],
            ),
            ("the page cache", Cause::PageCache, plain(), &["--lanes 2"]),
            ("a path", Cause::Path, plain(), &["--connections 4"]),
            ("one connection", Cause::Path, plain().with(|it| it.tuning.lanes = Some(1)), &[]),
        ] {
            let ideas = ideas(cause, &options, &report, &CopyEnds::for_tests());
            assert_eq!(ideas.iter().map(|idea| idea.flag).collect::<Vec<_>>(), flags, "{what}");
        }
    }

    #[test]
    fn what_was_over_at_once_is_no_evidence() {
        for (ms, is_evidence) in [(15, false), (149, false), (151, true), (2400, true)] {
            let slice = Slice { elapsed_ns: ms * 1_000_000, ..Slice::default() };
            assert_eq!(is_long_enough(&slice), is_evidence, "{ms} ms");
        }
    }
}
