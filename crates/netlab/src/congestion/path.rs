//! One flow over a path, as long as is asked.
//!
//! Must not know: how a flow and a bottleneck work, how figures are shown.

use schemars::JsonSchema;
use serde::Serialize;

use super::bottleneck::QueuedLink;
use super::flow::{Sender, SenderSettings};
use super::network::{Member, SharedPath};
use super::window::CongestionWindow;
use super::{Stack, limits};
use crate::SettingsError;
use crate::losses::{LossRule, Losses};

/// A path and who uses it.
#[derive(Clone, Debug)]
pub struct PathCase {
    /// The stack.
    pub stack: Stack,
    /// The rate of the bottleneck.
    pub rate_bytes_per_s: f64,
    /// The time there and back without a queue.
    pub rtt_s: f64,
    /// How long it goes on.
    pub duration_s: f64,
    /// The losses besides the drops of the queue.
    pub loss: LossRule,
    /// Of the losses by chance.
    pub seed: u64,
    /// The rest of the settings.
    pub ends: PathEnds,
}

/// What the ends of a path are set to, and its queue.
#[derive(Clone, Debug, PartialEq)]
pub struct PathEnds {
    /// What a segment has on the wire.
    pub segment_bytes: f64,
    /// The queue of the bottleneck; none: what the path itself holds.
    pub queue_bytes: Option<f64>,
    /// The smaller of the socket buffers; none: no limit.
    pub buffer_bytes: Option<f64>,
    /// Where a window begins (RFC 6928: 10).
    pub initial_segments: f64,
    /// Whether the receiver acknowledges every second segment, and windows count acknowledgements.
    pub is_delayed: bool,
    /// Whether the receiver tells of all that it has (SACK).
    pub is_selective: bool,
}

impl Default for PathEnds {
    fn default() -> PathEnds {
        PathEnds {
            segment_bytes: 1500.0,
            queue_bytes: None,
            buffer_bytes: None,
            initial_segments: 10.0,
            is_delayed: false,
            is_selective: true,
        }
    }
}

impl PathEnds {
    /// Errors: a number that means no path, or more segments than anyone waits for.
    pub(super) fn check(
        &self,
        rate_bytes_per_s: f64,
        rtt_s: f64,
        duration_s: f64,
    ) -> Result<(), SettingsError> {
        limits::rate(rate_bytes_per_s)?;
        limits::rtt(rtt_s)?;
        limits::segment(self.segment_bytes)?;
        limits::within("an initial window", self.initial_segments, 1.0..=1e6, "segments")?;
        let bytes = |bytes: &Option<f64>| bytes.unwrap_or(self.segment_bytes);
        limits::within("a queue", bytes(&self.queue_bytes), 0.0..=1e12, "bytes")?;
        let holds = rate_bytes_per_s * rtt_s + self.queue_bytes.unwrap_or(rate_bytes_per_s * rtt_s);
        limits::under_way(holds / self.segment_bytes + self.initial_segments)?;
        limits::within("a buffer", bytes(&self.buffer_bytes), self.segment_bytes..=1e12, "bytes")?;
        limits::duration(duration_s, rate_bytes_per_s, self.segment_bytes)
    }

    /// A flow of this stack.
    pub(super) fn flow(&self, stack: Stack) -> Sender {
        let segments = |bytes: f64| (bytes / self.segment_bytes).max(1.0);
        Sender::new(SenderSettings {
            window: CongestionWindow::new(stack, self.initial_segments),
            buffer_segments: self.buffer_bytes.map_or(f64::INFINITY, segments),
            is_delayed: self.is_delayed,
            is_selective: self.is_selective,
        })
    }

    /// The bottleneck of a path of this rate and time.
    pub(super) fn bottleneck(&self, rate_bytes_per_s: f64, rtt_s: f64) -> QueuedLink {
        let queue_bytes = self.queue_bytes.unwrap_or(rate_bytes_per_s * rtt_s);
        QueuedLink::new(rate_bytes_per_s, self.segment_bytes, queue_bytes)
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathOutcome {
    /// The stack.
    pub stack: &'static str,
    /// What has come, each segment once.
    pub delivered_bytes: u64,
    /// Over the whole time.
    pub bandwidth_bytes_per_s: f64,
    /// The part of the bottleneck's rate that this is.
    pub share_of_link: f64,
    /// The window's mean over time.
    pub mean_window_segments: f64,
    /// The longest wait in the queue.
    pub longest_wait_s: f64,
    /// Segments that were lost.
    pub losses: u64,
    /// Windows that were cut.
    pub cuts: u64,
    /// Those that a timer cut.
    pub timeouts: u64,
    /// The same from time to time.
    pub series: Vec<PathSample>,
}

/// What was between one time and the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PathSample {
    /// The end of it.
    pub at_s: f64,
    /// The window then.
    pub window_segments: f64,
    /// What came in it.
    pub bandwidth_bytes_per_s: f64,
    /// How long a segment would have waited then.
    pub wait_s: f64,
}

/// Runs a flow; `samples` are kept, one at least.
///
/// Errors: a number that means no path, or more than anyone waits for.
pub fn simulate_path(case: &PathCase, samples: u32) -> Result<PathOutcome, SettingsError> {
    case.ends.check(case.rate_bytes_per_s, case.rtt_s, case.duration_s)?;
    limits::losses(case.loss)?;
    let member = Member::new(case.ends.flow(case.stack), case.rtt_s, 0.0, f64::INFINITY);
    let link = case.ends.bottleneck(case.rate_bytes_per_s, case.rtt_s);
    let mut network = SharedPath::new(link, vec![member], Losses::new(case.loss, case.seed));
    let length_s = case.duration_s / f64::from(samples.max(1));
    let times = (1..=samples.max(1)).map(|number| length_s * f64::from(number));
    let series: Vec<PathSample> = times.map(|at_s| sample(&mut network, case, at_s, length_s)).collect();
    Ok(outcome(case, &network, series))
}

fn sample(network: &mut SharedPath, case: &PathCase, at_s: f64, length_s: f64) -> PathSample {
    let before = network.members[0].flow.delivered;
    network.run(at_s);
    let flow = &network.members[0].flow;
    PathSample {
        at_s,
        window_segments: flow.window_segments(),
        bandwidth_bytes_per_s: (flow.delivered - before) as f64 * case.ends.segment_bytes / length_s,
        wait_s: network.link.wait_s(at_s),
    }
}

fn outcome(case: &PathCase, network: &SharedPath, series: Vec<PathSample>) -> PathOutcome {
    let member = &network.members[0];
    let flow = &member.flow;
    let delivered = flow.delivered as f64 * case.ends.segment_bytes;
    PathOutcome {
        stack: case.stack.as_str(),
        delivered_bytes: delivered as u64,
        bandwidth_bytes_per_s: delivered / case.duration_s,
        share_of_link: delivered / case.duration_s / case.rate_bytes_per_s,
        mean_window_segments: member.window_s / case.duration_s,
        longest_wait_s: network.link.longest_wait_s,
        losses: flow.losses,
        cuts: flow.cuts + flow.timeouts,
        timeouts: flow.timeouts,
        series,
    }
}
