//! What a time series of real connections came to: mean windows, losses, how long until a window was back, who got how
//! much. In the terms of the simulator, so that the two stand beside each other.
//!
//! Must not know: how a series is sampled, files.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::stats::median;
use datapump_netlab::congestion::jain_index;

/// A connection that sent less than this part of what the largest did has no windows to speak of.
const PART_MIN: f64 = 0.01;

/// A line of a series, as far as it is judged. TCP.md says what the fields are.
#[derive(Clone, Debug, Deserialize)]
pub struct TracedSample {
    /// Since the series began.
    pub time_ns: u64,
    /// Both ends.
    pub connection: String,
    /// Tells two connections with the same ends apart.
    pub socket: u64,
    /// The algorithm that decides its window, if the series names it.
    #[serde(default)]
    pub congestion: Option<String>,
    /// The congestion window.
    pub cwnd_segments: u32,
    /// Payload of a segment.
    pub mss_bytes: u32,
    /// Shortest round trip.
    pub min_rtt_us: u32,
    /// Counter: sent again.
    pub retransmitted_segments: u64,
    /// Counter: acknowledged.
    pub bytes_acked: u64,
}

/// What a connection's life came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TracedFlow {
    /// Both ends, this one first.
    pub connection: String,
    /// The kernel's name of its congestion control at the end, if the series says so.
    pub congestion: Option<String>,
    /// From the first sample that counts to the last.
    pub elapsed_s: f64,
    /// What was acknowledged meanwhile, for each second.
    pub bytes_per_s: f64,
    /// The congestion window, by time.
    pub mean_window_segments: f64,
    /// The largest window.
    pub most_window_segments: u32,
    /// What its bandwidth takes in segments under way: bandwidth x shortest round trip / segment.
    pub delivered_window_segments: f64,
    /// Segments that were sent again.
    pub retransmitted_segments: u64,
    /// Times that the window fell because of that.
    pub losses: u32,
    /// From a loss until the window was what it had been: the median of those that came so far.
    pub recovery_s: Option<f64>,
    /// From one loss to the next: the median.
    pub cycle_s: Option<f64>,
}

/// What several connections got in a part of the series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TracedPeriod {
    /// From here.
    pub from_s: f64,
    /// To here.
    pub until_s: f64,
    /// The rate of each connection, in the order of the series.
    pub bytes_per_s: Vec<f64>,
    /// Jain's index of those that got something.
    pub jain: Option<f64>,
}

/// What a series came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TracedLife {
    /// Those that sent something to speak of.
    pub flows: Vec<TracedFlow>,
    /// Equal parts of the series.
    pub periods: Vec<TracedPeriod>,
}

/// Judges a series from `after_s` on, in so many equal periods.
pub fn judge_series(samples: Vec<TracedSample>, after_s: f64, periods: u32) -> TracedLife {
    let after_ns = (after_s * 1e9) as u64;
    let mut flows = BTreeMap::<(String, u64), Vec<TracedSample>>::new();
    for sample in samples.into_iter().filter(|sample| sample.time_ns >= after_ns) {
        flows.entry((sample.connection.clone(), sample.socket)).or_default().push(sample);
    }
    let mut flows: Vec<_> = flows.into_values().filter(|flow| flow.len() > 1).collect();
    // A file that was put together may have lines out of their order.
    flows.iter_mut().for_each(|flow| flow.sort_by_key(|sample| sample.time_ns));
    let most = flows.iter().map(|flow| acked(flow)).max().unwrap_or(0) as f64;
    flows.retain(|flow| acked(flow) as f64 >= most * PART_MIN && acked(flow) > 0);
    flows.sort_by_key(|flow| flow[0].time_ns);
    TracedLife { flows: flows.iter().map(|flow| life(flow)).collect(), periods: parts(&flows, periods) }
}

fn acked(flow: &[TracedSample]) -> u64 {
    flow[flow.len() - 1].bytes_acked.saturating_sub(flow[0].bytes_acked)
}

fn life(flow: &[TracedSample]) -> TracedFlow {
    let (first, last) = (&flow[0], &flow[flow.len() - 1]);
    let elapsed_s = seconds(last.time_ns - first.time_ns).max(1e-9);
    let bytes_per_s = acked(flow) as f64 / elapsed_s;
    let window =
        |pair: &[TracedSample]| f64::from(pair[0].cwnd_segments) * seconds(pair[1].time_ns - pair[0].time_ns);
    let falls = falls(flow);
    let began: Vec<f64> = falls.iter().map(|fall| seconds(flow[fall.peak].time_ns)).collect();
    let back: Vec<f64> = falls.iter().filter_map(|fall| fall.back_after_s(flow)).collect();
    TracedFlow {
        connection: first.connection.clone(),
        congestion: last.congestion.clone(),
        elapsed_s,
        bytes_per_s,
        mean_window_segments: flow.windows(2).map(window).sum::<f64>() / elapsed_s,
        most_window_segments: flow.iter().map(|it| it.cwnd_segments).max().unwrap_or(0),
        delivered_window_segments: bytes_per_s * f64::from(last.min_rtt_us)
            / 1e6
            / f64::from(last.mss_bytes.max(1)),
        retransmitted_segments: last.retransmitted_segments.saturating_sub(first.retransmitted_segments),
        losses: falls.len() as u32,
        recovery_s: median(&back),
        cycle_s: median(&began.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()),
    }
}

/// A window that fell behind a loss.
struct WindowFall {
    /// The last sample at the window from which it fell.
    peak: usize,
    /// The sample at which it was smallest.
    bottom: usize,
    /// The sample after which the next one falls, or the end.
    until: usize,
}

impl WindowFall {
    /// None if it was not back before the next loss.
    fn back_after_s(&self, flow: &[TracedSample]) -> Option<f64> {
        let was = flow[self.peak].cwnd_segments;
        let back = (self.bottom..=self.until).find(|&at| flow[at].cwnd_segments >= was)?;
        Some(seconds(flow[back].time_ns - flow[self.peak].time_ns))
    }
}

/// A window falls in several samples, as segments leave the path: from the last peak to the smallest window before it
/// rises again.
fn falls(flow: &[TracedSample]) -> Vec<WindowFall> {
    let mut falls = Vec::<WindowFall>::new();
    let (mut at, mut peak) = (1, 0);
    while at < flow.len() {
        let (before, now) = (&flow[at - 1], &flow[at]);
        if now.cwnd_segments > before.cwnd_segments {
            peak = at;
        }
        let is_loss = now.retransmitted_segments > before.retransmitted_segments
            && lowest(flow, at).1 < flow[peak].cwnd_segments;
        if is_loss {
            let bottom = lowest(flow, at).0;
            falls.push(WindowFall { peak, bottom, until: flow.len() - 1 });
            (peak, at) = (bottom, bottom);
        }
        at += 1;
    }
    let peaks: Vec<usize> = falls.iter().map(|fall| fall.peak).collect();
    falls.iter_mut().zip(peaks.iter().skip(1)).for_each(|(fall, next)| fall.until = *next);
    falls
}

/// Where a window that falls from here is smallest: it does not rise before.
fn lowest(flow: &[TracedSample], from: usize) -> (usize, u32) {
    let falls = flow[from..].windows(2).take_while(|pair| pair[1].cwnd_segments <= pair[0].cwnd_segments);
    let at = from + falls.count();
    // The first of equal ones.
    let least = flow[at].cwnd_segments;
    let first = (from..=at).find(|&at| flow[at].cwnd_segments == least).unwrap_or(at);
    (first, least)
}

fn parts(flows: &[Vec<TracedSample>], periods: u32) -> Vec<TracedPeriod> {
    let times = || flows.iter().flat_map(|flow| [flow[0].time_ns, flow[flow.len() - 1].time_ns]);
    let (Some(start), Some(end)) = (times().min(), times().max()) else { return Vec::new() };
    let each = (end - start) / u64::from(periods.max(1));
    let part = |index: u64| {
        let (from, until) = (start + index * each, start + (index + 1) * each);
        let bytes_per_s: Vec<f64> = flows
            .iter()
            .map(|flow| (acked_at(flow, until) - acked_at(flow, from)) / seconds(each).max(1e-9))
            .collect();
        // What one that has ended still had under way is no share of its.
        let shares =
            flows.iter().zip(&bytes_per_s).filter(|(flow, _)| lived_ns(flow, from, until) * 2 >= each);
        let some: Vec<f64> = shares.map(|(_, rate)| *rate).filter(|rate| *rate > 0.0).collect();
        TracedPeriod { from_s: seconds(from), until_s: seconds(until), jain: jain_index(&some), bytes_per_s }
    };
    (0..u64::from(periods)).map(part).collect()
}

/// For how long of a period a flow was there.
fn lived_ns(flow: &[TracedSample], from: u64, until: u64) -> u64 {
    flow[flow.len() - 1].time_ns.min(until).saturating_sub(flow[0].time_ns.max(from))
}

/// What was acknowledged at a time, between two samples in proportion.
fn acked_at(flow: &[TracedSample], time_ns: u64) -> f64 {
    let after = flow.partition_point(|sample| sample.time_ns < time_ns);
    let bytes = |at: usize| flow[at].bytes_acked as f64;
    match after {
        0 => bytes(0),
        _ if after == flow.len() => bytes(after - 1),
        _ => {
            let (from, to) = (flow[after - 1].time_ns, flow[after].time_ns);
            let part = (time_ns - from) as f64 / (to - from).max(1) as f64;
            bytes(after - 1) + part * (bytes(after) - bytes(after - 1))
        }
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_NS: u64 = 10_000_000;

    /// A window that grows by one a sample from a half, and falls in three samples when it reaches 100.
    fn sawtooth(socket: u64, samples: u64, bytes: u64) -> Vec<TracedSample> {
        let (mut window, mut falling, mut again) = (50, 0, 0);
        (0..samples)
            .map(|at| {
                let sample = TracedSample {
                    time_ns: at * STEP_NS,
                    connection: "a > b".into(),
                    socket,
                    congestion: Some("reno".into()),
                    cwnd_segments: window,
                    mss_bytes: 1000,
                    min_rtt_us: 10_000,
                    retransmitted_segments: again,
                    bytes_acked: at * bytes,
                };
                match (window, falling) {
                    (100, 0) => (window, falling, again) = (80, 2, again + 1),
                    (_, 2) => (window, falling) = (65, 1),
                    (_, 1) => (window, falling) = (50, 0),
                    _ => window += 1,
                }
                sample
            })
            .collect()
    }

    #[test]
    fn a_loss_is_over_once_the_window_is_back() {
        let life = judge_series(sawtooth(1, 1000, 75_000), 0.0, 1);
        let [flow] = &life.flows[..] else { panic!("{life:?}") };
        assert_eq!(flow.congestion.as_deref(), Some("reno"));
        // Three samples down and fifty up.
        assert_eq!((flow.recovery_s, flow.cycle_s), (Some(0.53), Some(0.53)), "{flow:?}");
        assert_eq!((flow.most_window_segments, flow.retransmitted_segments), (100, u64::from(flow.losses)));
        assert!((74.0..76.0).contains(&flow.mean_window_segments), "{flow:?}");
        assert!((flow.delivered_window_segments - 75.0).abs() < 1e-6, "{flow:?}");
    }

    #[test]
    fn a_window_that_is_not_back_has_no_recovery() {
        let life = judge_series(sawtooth(1, 70, 1000), 0.0, 1);
        assert_eq!((life.flows[0].losses, life.flows[0].recovery_s), (1, None));
        // Something sent again without a smaller window is no fall.
        let mut even = sawtooth(1, 40, 1000);
        even[20..].iter_mut().for_each(|sample| sample.retransmitted_segments = 1);
        assert_eq!(judge_series(even, 0.0, 1).flows[0].losses, 0);
    }

    #[test]
    fn shares_are_told_by_period() {
        let mut both = sawtooth(1, 401, 1000);
        both.extend(sawtooth(2, 401, 3000));
        both.extend(sawtooth(3, 401, 1));
        let life = judge_series(both, 0.0, 2);
        assert_eq!(life.flows.len(), 2, "one sent nothing to speak of");
        let [one, other] = &life.periods[..] else { panic!("{life:?}") };
        assert_eq!(one.bytes_per_s, [100_000.0, 300_000.0]);
        assert_eq!((one.jain, other.jain), (Some(0.8), Some(0.8)));
        assert_eq!((one.until_s, other.until_s), (2.0, 4.0));
        let later = judge_series(sawtooth(1, 401, 1000), 3.0, 1);
        assert!((later.flows[0].elapsed_s - 1.0).abs() < 1e-9, "what comes before is left out");
        assert_eq!(judge_series(Vec::new(), 0.0, 3), TracedLife::default());
    }
    #[test]
    fn what_an_ended_flow_still_has_under_way_is_no_share() {
        // Lines of the series are in no order; one flow ends a round trip behind the first of two periods.
        let mut both = sawtooth(1, 401, 1000);
        both.extend(sawtooth(2, 210, 1000).into_iter().rev());
        let life = judge_series(both, 0.0, 2);
        let [one, other] = &life.periods[..] else { panic!("{life:?}") };
        assert_eq!((one.jain, other.jain), (Some(1.0), Some(1.0)), "{life:?}");
        assert!((life.flows[1].elapsed_s - 2.09).abs() < 1e-9 && other.bytes_per_s[1] > 0.0, "{life:?}");
    }
}
