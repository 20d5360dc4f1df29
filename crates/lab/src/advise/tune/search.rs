//! The search for a better point: from what the program would choose, one thing at a time, as long as it gains.
//!
//! It ends: each of the ways is walked once, in one direction, and a step is taken only if it is faster by more than
//! runs of the same point differ. So it cannot swing between two points. Must not know: how a point is
//! measured, files, clocks.

use schemars::JsonSchema;
use serde::Serialize;

use super::point::{Bounds, Point, TuneWay, WAYS};
use crate::judge::stats::median;

/// A gain below this is none: less than the spread of short runs on a quiet machine.
pub const GAIN_MIN: f64 = 1.05;
/// Beyond this one pair of runs tells enough to go on or not.
const CLEAR: f64 = 1.25;
/// How often all slots are filled in a run, at least.
const ROUNDS: u64 = 4;
/// Pairs of a comparison that is not clear.
const PAIRS: usize = 3;

/// A point that was compared with the best one until then.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tried {
    /// The point.
    pub point: Point,
    /// How many times as fast, median of the pairs.
    pub times: f64,
    /// It became the best.
    pub is_taken: bool,
}

/// Bandwidth of a point, taken over at least so many bytes; none when there is no time for more, or it could not be
/// measured.
pub type Measure<'measure> = &'measure mut dyn FnMut(&Point, u64) -> Option<f64>;

/// Walks from a point; gives all that was tried. The last that was taken is the best.
pub fn search(start: Point, depth_hint: Option<u32>, bounds: Bounds, measure: Measure<'_>) -> Vec<Tried> {
    let mut walk = Walk { best: start, tried: Vec::new(), bounds, measure };
    if let Some(depth) = depth_hint.filter(|&depth| depth > start.source_depth) {
        let hinted = Point { source_depth: depth, sink_depth: start.sink_depth.max(depth), ..start };
        if hinted.fits(bounds) {
            walk.step(hinted);
        }
    }
    for way in WAYS {
        if !walk.along(way, true) {
            walk.along(way, false);
        }
    }
    walk.tried
}

struct Walk<'measure> {
    best: Point,
    tried: Vec<Tried>,
    bounds: Bounds,
    measure: Measure<'measure>,
}

impl Walk<'_> {
    /// Goes on in one direction as long as it gains; whether it gained at all.
    fn along(&mut self, way: TuneWay, up: bool) -> bool {
        let mut gained = false;
        while let Some(next) = self.best.neighbour(way, up, self.bounds) {
            if self.tried.iter().any(|tried| tried.point == next) || !self.step(next) {
                break;
            }
            gained = true;
        }
        gained
    }

    /// Compares a point with the best until now, and takes it if it is faster.
    fn step(&mut self, point: Point) -> bool {
        let Some(times) = compare(&self.best, &point, self.measure) else { return false };
        let is_taken = times > GAIN_MIN;
        self.tried.push(Tried { point, times, is_taken });
        if is_taken {
            self.best = point;
        }
        is_taken
    }
}

/// How many times as fast as the first point the second one is: the median of some pairs.
pub fn compare(best: &Point, point: &Point, measure: Measure<'_>) -> Option<f64> {
    // As many for both: what it takes to begin and to end weighs alike. A few rounds of all slots, or only the
    // filling of them is measured.
    let bytes = ROUNDS * best.memory_bytes().max(point.memory_bytes());
    let mut ratios = Vec::new();
    for pair in 0..PAIRS {
        // A B, B A, A B: a drift is not a gain.
        let order = if pair % 2 == 0 { [best, point] } else { [point, best] };
        let [first, second] = [measure(order[0], bytes)?, measure(order[1], bytes)?];
        ratios.push(if pair % 2 == 0 { second / first } else { first / second });
        // One pair may have been disturbed, two hardly. A step that is left out for that costs little.
        let is_slower = ratios.iter().all(|&ratio| ratio < 1.0 / CLEAR);
        let is_faster = pair > 0 && ratios.iter().all(|&ratio| ratio > CLEAR);
        if is_slower || is_faster {
            break;
        }
    }
    median(&ratios)
}

/// The smallest depth that reaches full bandwidth, from the times of a request alone and of the next one behind it:
/// 1 + B L / RS, where `one_ns` = L + RS/B and `rate_ns` = RS/B.
pub fn depth_needed(one_ns: f64, rate_ns: f64) -> u32 {
    let latency_ns = (one_ns - rate_ns).max(0.0);
    (1.0 + latency_ns / rate_ns.max(1.0)).ceil().clamp(1.0, 64.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::sim::Random;

    const START: Point = Point { request_bytes: 1 << 20, source_depth: 2, sink_depth: 2, lanes: 1 };
    const BOUNDS: Bounds = Bounds { memory_bytes: 256 << 20, lanes: 4 };

    /// A device: latency, bandwidth, cost of a request, and so many lanes that help.
    fn speed(point: &Point, latency_us: f64, gb_per_s: f64, lanes: u32) -> f64 {
        let service_us = f64::from(point.request_bytes) / (gb_per_s * 1e3) + 5.0;
        let depth = f64::from(point.source_depth * point.lanes.min(lanes));
        f64::from(point.request_bytes) / service_us.max((latency_us + service_us) / depth)
    }

    fn found(latency_us: f64, gb_per_s: f64, lanes: u32, noise: f64, seed: u64) -> (Point, f64, usize) {
        let mut random = Random::seeded(seed, "search");
        let mut noisy = |point: &Point, _: u64| {
            let swing = 1.0 + noise * ((random.index(1_000_001) as f64 / 1e6) * 2.0 - 1.0);
            Some(speed(point, latency_us, gb_per_s, lanes) * swing)
        };
        let tried = search(START, None, BOUNDS, &mut noisy);
        let best = tried.iter().rev().find(|tried| tried.is_taken).map_or(START, |tried| tried.point);
        let grid = (0..9)
            .flat_map(|size| (0..7).flat_map(move |depth| (0..3).map(move |lanes| (size, depth, lanes))));
        let all = grid.map(|(size, depth, lanes)| Point {
            request_bytes: 65_536 << size,
            source_depth: 1 << depth,
            sink_depth: 1 << depth,
            lanes: 1 << lanes,
        });
        let most = all
            .filter(|point| point.fits(BOUNDS))
            .map(|point| speed(&point, latency_us, gb_per_s, lanes))
            .fold(0.0, f64::max);
        (best, speed(&best, latency_us, gb_per_s, lanes) / most, tried.len())
    }

    #[test]
    fn what_is_found_is_nearly_the_best_of_the_grid() {
        for (what, latency_us, gb_per_s, lanes) in [
            ("a disk", 100.0, 2.0, 1),
            ("a slow disk", 5000.0, 0.1, 1),
            ("a long path", 50_000.0, 1.0, 1),
            ("an array", 100.0, 6.0, 4),
        ] {
            for seed in 0..50 {
                let (best, fraction, tried) = found(latency_us, gb_per_s, lanes, 0.03, seed);
                assert!(fraction >= 0.85, "{what}, seed {seed}: {best:?} has {fraction} of the best");
                assert!(tried <= 16, "{what}, seed {seed}: {tried} tried");
            }
        }
    }

    #[test]
    fn where_nothing_helps_nothing_is_changed() {
        for seed in 0..200 {
            let mut random = Random::seeded(seed, "flat");
            let mut unit = || random.index(1_000_001) as f64 / 1e6;
            let mut flat = |_: &Point, _: u64| Some(1e9 * (1.0 + 0.03 * (unit() * 2.0 - 1.0)));
            let tried = search(START, None, BOUNDS, &mut flat);
            assert!(tried.iter().all(|tried| !tried.is_taken), "seed {seed}: {tried:?}");
        }
    }

    /// The first pair was disturbed: 1.3 times as fast, then 0.7 and 0.9 times.
    #[test]
    fn a_gain_that_the_other_pairs_deny_is_none() {
        let mut runs = [1.0, 1.3, 0.7, 1.0, 1.0, 0.9].into_iter().cycle();
        let tried = search(START, None, BOUNDS, &mut |_, _| runs.next());
        assert!(!tried.is_empty() && tried.iter().all(|tried| !tried.is_taken), "{tried:?}");
    }

    #[test]
    fn it_ends_when_there_is_no_time_for_more() {
        let mut left = 5;
        let mut measure = |point: &Point, _: u64| {
            left -= 1;
            (left >= 0).then_some(speed(point, 1e4, 1.0, 4))
        };
        let tried = search(START, None, BOUNDS, &mut measure);
        assert!(tried.len() <= 2, "{tried:?}");
    }

    #[test]
    fn the_closed_form_gives_the_depth() {
        // One request alone takes 1.1 ms, each further one 0.1 ms: eleven cover the latency.
        for (one_ns, rate_ns, depth) in [(1.1e6, 1e5, 11), (1e5, 1e5, 1), (5e4, 1e5, 1), (1e9, 1e5, 64)] {
            assert_eq!(depth_needed(one_ns, rate_ns), depth, "{one_ns} {rate_ns}");
        }
    }
}
