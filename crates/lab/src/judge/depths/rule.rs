//! A rule that changes depths while two devices work, in whole microseconds.
//!
//! Must not know: tables, what is concluded.

use std::collections::VecDeque;

use super::{DepthCase, DepthDevice, TRACE_DEPTHS};

/// What a run did.
#[derive(Debug)]
pub(super) struct DepthRun {
    pub(super) elapsed_us: u64,
    pub(super) decisions: u64,
    pub(super) trace: DepthTrace,
}

/// The source's depth over time.
#[derive(Debug)]
pub(super) struct DepthTrace {
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) changes: u64,
    pub(super) full_swings: u64,
    pub(super) first: Vec<u32>,
    depth: u32,
    /// The end of the range that was reached last.
    extreme: Option<Extreme>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extreme {
    Least,
    Most,
}

/// One end: its device, what it has under way, and how long it was waited for.
#[derive(Debug)]
struct DepthEnd {
    device: DepthDevice,
    depth: u32,
    free_us: u64,
    /// When each request in flight is done. One channel serves them in turn: the first is the earliest.
    done_us: VecDeque<u64>,
    /// Since the last decision.
    waited_us: u64,
}

impl DepthEnd {
    fn new(device: DepthDevice, depth: u32) -> DepthEnd {
        DepthEnd { device, depth, free_us: 0, done_us: VecDeque::new(), waited_us: 0 }
    }

    fn in_flight(&self) -> u32 {
        self.done_us.len() as u32
    }

    fn post(&mut self, now_us: u64) {
        self.free_us = self.free_us.max(now_us + self.device.latency_us) + self.device.transfer_us;
        self.done_us.push_back(self.free_us);
    }

    /// Waits until `done_us`; the time then.
    fn wait(&mut self, now_us: u64, done_us: u64) -> u64 {
        self.waited_us += done_us.saturating_sub(now_us);
        now_us.max(done_us)
    }

    /// Takes what is done by now.
    fn reap(&mut self, now_us: u64) {
        while self.done_us.front().is_some_and(|done_us| *done_us <= now_us) {
            self.done_us.pop_front();
        }
    }

    /// Waits until one more request is within the depth; the time then.
    fn make_room(&mut self, now_us: u64) -> u64 {
        let too_many = self.done_us.len().checked_sub(self.depth as usize);
        too_many.map_or(now_us, |too_many| self.wait(now_us, self.done_us[too_many]))
    }
}

/// The fixed split with the shortest cycle: for each end the time of its channel, or its share of latency and
/// channel. The most even of equal ones.
pub(super) fn best_split(case: &DepthCase) -> [u32; 2] {
    let cycle_us = |device: DepthDevice, depth: u32| {
        let alone_us = (device.latency_us + device.transfer_us) as f64;
        (alone_us / f64::from(depth)).max(device.transfer_us as f64)
    };
    let splits = (1..case.pool_buffers).map(|depth| [depth, case.pool_buffers - depth]);
    let costs = splits.map(|split| {
        let cycle_us = cycle_us(case.source, split[0]).max(cycle_us(case.sink, split[1]));
        (cycle_us, split[0].abs_diff(split[1]), split)
    });
    let best = costs.min_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    best.map_or([1, 1], |(_, _, split)| split)
}

/// Moves all blocks of a case; the depths of source and sink begin like this.
pub(super) fn run(case: &DepthCase, depths: [u32; 2]) -> DepthRun {
    let (mut source, mut sink) = (DepthEnd::new(case.source, depths[0]), DepthEnd::new(case.sink, depths[1]));
    let mut trace = DepthTrace::new(depths[0], case.pool_buffers);
    let (mut now_us, mut posted, mut decisions) = (0, 0, 0);
    for written in 1..=case.requests {
        while posted < case.requests
            && source.in_flight() < source.depth
            && source.in_flight() + sink.in_flight() < case.pool_buffers
        {
            source.post(now_us);
            posted += 1;
        }
        // Writes are within their depth, which leaves the pool a buffer; so a read is always under way.
        let oldest_us = source.done_us.front().copied().unwrap_or(now_us);
        now_us = source.wait(now_us, oldest_us);
        sink.reap(now_us);
        now_us = sink.make_room(now_us);
        sink.reap(now_us);
        source.done_us.pop_front();
        sink.post(now_us);
        if case.decision_period_requests > 0 && written % case.decision_period_requests == 0 {
            decide(&mut source, &mut sink, case);
            decisions += 1;
            trace.note(source.depth, case.pool_buffers);
        }
    }
    let elapsed_us = sink.done_us.back().map_or(now_us, |last_us| now_us.max(*last_us));
    DepthRun { elapsed_us, decisions, trace }
}

/// The end that was waited for longer gains a step, the other gets the rest of the pool; a tie changes nothing.
fn decide(source: &mut DepthEnd, sink: &mut DepthEnd, case: &DepthCase) {
    let (source_us, sink_us) = (source.waited_us, sink.waited_us);
    (source.waited_us, sink.waited_us) = (0, 0);
    let (gains, other) = match source_us.cmp(&sink_us) {
        std::cmp::Ordering::Equal => return,
        std::cmp::Ordering::Greater => (source, sink),
        std::cmp::Ordering::Less => (sink, source),
    };
    gains.depth = (gains.depth + case.step_buffers).min(case.pool_buffers - 1);
    other.depth = case.pool_buffers - gains.depth;
}

impl DepthTrace {
    fn new(depth: u32, pool_buffers: u32) -> DepthTrace {
        let (changes, full_swings, first) = (0, 0, vec![depth]);
        let mut trace =
            DepthTrace { min: depth, max: depth, changes, full_swings, first, depth, extreme: None };
        trace.note(depth, pool_buffers);
        trace
    }

    fn note(&mut self, depth: u32, pool_buffers: u32) {
        if depth != self.depth {
            self.changes += 1;
            self.depth = depth;
            (self.min, self.max) = (self.min.min(depth), self.max.max(depth));
            if self.first.len() < TRACE_DEPTHS {
                self.first.push(depth);
            }
        }
        let extreme = match depth {
            0..=1 => Some(Extreme::Least),
            _ if depth + 1 >= pool_buffers => Some(Extreme::Most),
            _ => self.extreme,
        };
        self.full_swings += u64::from(extreme != self.extreme);
        self.extreme = extreme;
    }
}
