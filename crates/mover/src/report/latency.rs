//! How long each request of a lane took, as histograms, where that was asked for: the clock is read before and after
//! each, which costs more than a request of a null end.
//!
//! Requests to another host are not in it: they are not the engine's. Must not know: how requests are posted.

pub mod round_trips;

use datapump_core::Transfer;
use hdrhistogram::Histogram;

use crate::report::{Latencies, Latency};

/// From 1 µs to an hour: what is shorter or longer counts as that.
const LOWEST_NS: u64 = 1_000;
const HIGHEST_NS: u64 = 3_600_000_000_000;
/// One part in a thousand.
const FIGURES: u8 = 3;

/// The histograms of one lane.
#[derive(Debug)]
pub struct LaneLatencies {
    /// When each slot's request was posted.
    posted_ns: Vec<u64>,
    source: Histogram<u64>,
    sink: Histogram<u64>,
}

impl LaneLatencies {
    /// For so many slots.
    pub fn new(slots: u32) -> LaneLatencies {
        LaneLatencies { posted_ns: vec![0; slots as usize], source: empty(), sink: empty() }
    }

    pub fn post(&mut self, slot: u32, now_ns: u64) {
        self.posted_ns[slot as usize] = now_ns;
    }

    /// A copy inside the kernel is the sink's, as its time is.
    pub fn complete(&mut self, slot: u32, transfer: Transfer, now_ns: u64) {
        let side = if transfer == Transfer::Read { &mut self.source } else { &mut self.sink };
        side.saturating_record(now_ns.saturating_sub(self.posted_ns[slot as usize]));
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, FIGURES).expect("the bounds are in order: a constant")
}

/// The figures of source and sink over all lanes, from their histograms added up. `None` if none were kept.
pub fn merge_latencies<'lane>(lanes: impl Iterator<Item = &'lane LaneLatencies>) -> Option<Latencies> {
    let sum = lanes.fold(None, |sum: Option<(Histogram<u64>, Histogram<u64>)>, lane| {
        let (mut source, mut sink) = sum.unwrap_or_else(|| (empty(), empty()));
        source += &lane.source;
        sink += &lane.sink;
        Some((source, sink))
    });
    sum.map(|(source, sink)| Latencies { source: figures(&source), sink: figures(&sink) })
}

/// The figures of a histogram; `None` for an end without requests.
fn figures(of: &Histogram<u64>) -> Option<Latency> {
    (!of.is_empty()).then(|| Latency {
        p50: of.value_at_quantile(0.5),
        p90: of.value_at_quantile(0.9),
        p99: of.value_at_quantile(0.99),
        p999: of.value_at_quantile(0.999),
        max: of.max(),
        count: of.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(reads_us: impl Iterator<Item = u64>) -> LaneLatencies {
        let mut lane = LaneLatencies::new(2);
        for (us, slot) in reads_us.zip([0, 1].into_iter().cycle()) {
            lane.post(slot, 7_000);
            lane.complete(slot, Transfer::Read, 7_000 + us * 1_000);
        }
        lane
    }

    #[test]
    fn histograms_of_lanes_are_merged() {
        let (one, mut other) = (lane(1..=500), lane(501..=1000));
        other.post(1, 0);
        other.complete(1, Transfer::Write, u64::MAX);
        let both = merge_latencies([&one, &other].into_iter()).expect("they were kept");
        let source = both.source.expect("requests");
        let near = |ns: u64, us: u64| (ns as f64 / (us * 1_000) as f64 - 1.0).abs() < 0.003;
        assert_eq!(source.count, 1_000);
        for (ns, us) in
            [(source.p50, 500), (source.p90, 900), (source.p99, 990), (source.p999, 999), (source.max, 1_000)]
        {
            assert!(near(ns, us), "{us}: {source:?}");
        }
        let sink = both.sink.expect("one request");
        assert_eq!(sink.count, 1);
        assert!(near(sink.max, HIGHEST_NS / 1_000), "what is too long counts as the longest: {sink:?}");
    }

    #[test]
    fn without_histograms_there_are_no_figures() {
        assert_eq!(merge_latencies([].into_iter()), None);
        let idle = merge_latencies([&LaneLatencies::new(1)].into_iter());
        assert_eq!(idle, Some(Latencies { source: None, sink: None }));
    }
}
