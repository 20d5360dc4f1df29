//! Whether something helps: the part that limits, with and without it, in turns.
//!
//! Must not know: why it limits, how the gain is told.

use std::sync::atomic::Ordering;
use std::time::Duration;

use datapump::{Options, Report};

use super::advice::Cause;
use super::ends::Ends;
use super::isolate::{Bench, Part, PartName, tuning};
use super::{Case, Mover};

/// Two turns of two such runs for each of two things to try: 5 s.
const TIME: Duration = Duration::from_millis(600);
const TURNS: usize = 2;
/// The shares of what may be written that are left for this, for each run.
const WRITES: u64 = 32;

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
    case: &Case,
    ends: &Ends,
    mover: Mover<'_>,
    cause: Cause,
    report: &Report,
    tell: &dyn Fn(&str),
) -> Vec<Gain> {
    let bench = Bench { case, ends, mover };
    let ideas = ideas(cause, &tuning(&case.options), report, ends);
    let mut gains = Vec::new();
    for idea in ideas {
        ends.wait_quiet(&case.stop);
        if let Some(times) = bench.gain(&idea) {
            tell(&format!("with {}: {times:.2} times as fast", idea.flag));
            gains.push(Gain { flag: idea.flag.into(), times });
        }
    }
    gains
}

fn ideas(cause: Cause, options: &Options, report: &Report, ends: &Ends) -> Vec<Idea> {
    let idea = |flag, part, options| Idea { flag, part, options };
    let lanes = |count| Options { lanes: Some(count), ..options.clone() };
    let buffered = |bytes| {
        let mut options = options.clone();
        options.sockets.buffer_bytes = Some(bytes);
        options
    };
    let may_widen = report.lanes == 1 && ends.cpus > 1;
    let mut ideas = match cause {
        Cause::SourceDevice => vec![
            idea("--source-depth 8", PartName::Source, Options { source_depth: Some(8), ..options.clone() }),
            idea("--lanes 2", PartName::Source, lanes(2)),
        ],
        Cause::SinkDevice if !ends.is_far() => vec![
            idea("--sink-depth 8", PartName::Sink, Options { sink_depth: Some(8), ..options.clone() }),
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
                Options { source_depth: Some(32), ..options.clone() },
            ),
            idea("--connections 4", PartName::Network, lanes(4)),
        ],
        Cause::Encryption if may_widen => vec![idea("--connections 2", PartName::Network, lanes(2))],
        Cause::Hashing | Cause::Copying if may_widen && !ends.is_far() => {
            vec![idea("--lanes 2", PartName::Source, lanes(2))]
        }
        Cause::PostingRequests if !ends.is_far() => vec![idea(
            "--request-size 4MiB",
            PartName::Source,
            Options { request_bytes: Some(4 << 20), ..options.clone() },
        )],
        _ => Vec::new(),
    };
    ideas.retain(|idea| idea.options != *options);
    ideas
}

impl Bench<'_> {
    /// The median of the turns' ratios.
    fn gain(&self, idea: &Idea) -> Option<f64> {
        let plain = tuning(&self.case.options);
        let mut ratios = Vec::new();
        for _ in 0..TURNS {
            let without = self.part(idea.part, &plain)?;
            let with = self.part(idea.part, &idea.options)?;
            ratios.push(with.bytes_per_second / without.bytes_per_second);
        }
        ratios.sort_by(f64::total_cmp);
        Some((ratios[0] * ratios[TURNS - 1]).sqrt())
    }

    fn part(&self, name: PartName, options: &Options) -> Option<Part> {
        if self.case.stop.load(Ordering::Relaxed) {
            return None;
        }
        match name {
            PartName::Source => self.source(options, TIME).ok()?,
            PartName::Network => self.network(options, TIME).ok()?,
            PartName::Sink => self.sink_up_to(options, TIME, self.may_write() / WRITES).ok(),
            PartName::Pump | PartName::Together | PartName::RateLimit => None,
        }
    }
}
