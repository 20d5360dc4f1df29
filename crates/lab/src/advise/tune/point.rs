//! The tuned values: request size, depths, lanes (between hosts: connections), and what a neighbour of a point is.
//!
//! Must not know: how a point is measured.

use datapump::units::bytes_words;
use datapump::{Options, Report, TuningOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Size of a request in bytes.
    pub request_bytes: u32,
    /// Requests in flight at the source.
    pub source_depth: u32,
    /// Requests in flight at the sink.
    pub sink_depth: u32,
    /// Parallel loops, and connections.
    pub lanes: u32,
}

/// The values that are changed, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuneWay {
    /// Both depths.
    Depth,
    /// The size of a request.
    Request,
    /// Lanes.
    Lanes,
}

/// In this order: the depth hides latency, the size spares requests, lanes use other CPUs and connections.
pub const WAYS: [TuneWay; 3] = [TuneWay::Depth, TuneWay::Request, TuneWay::Lanes];

/// What may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Memory of all slots.
    pub memory_bytes: u64,
    /// Lanes.
    pub lanes: u32,
}

/// Requests from 64 KiB to 16 MiB: below a request costs more than its bytes, above slots leave every cache.
const REQUEST_BYTES: [u32; 2] = [64 << 10, 16 << 20];
const DEPTH_MAX: u32 = 64;

impl Point {
    /// What a copy used.
    pub fn from_report(report: &Report) -> Point {
        Point {
            request_bytes: report.request_bytes,
            source_depth: report.source_depth,
            sink_depth: report.sink_depth,
            lanes: report.lanes,
        }
    }

    /// The options with these figures.
    pub fn options(&self, options: &Options) -> Options {
        Options {
            tuning: TuningOptions {
                request_bytes: Some(self.request_bytes),
                source_depth: Some(self.source_depth),
                sink_depth: Some(self.sink_depth),
                lanes: Some(self.lanes),
                ..options.tuning.clone()
            },
            ..options.clone()
        }
    }

    /// Memory of its slots.
    pub fn memory_bytes(&self) -> u64 {
        u64::from(self.lanes) * u64::from(self.source_depth + self.sink_depth) * u64::from(self.request_bytes)
    }

    /// Twice or half as much of one thing; none outside of the bounds.
    pub fn neighbour(self, way: TuneWay, up: bool, bounds: Bounds) -> Option<Point> {
        let step = |number: u32| if up { number * 2 } else { number.div_ceil(2) };
        let next = match way {
            TuneWay::Depth => {
                Point { source_depth: step(self.source_depth), sink_depth: step(self.sink_depth), ..self }
            }
            TuneWay::Request => Point { request_bytes: step(self.request_bytes) / 1024 * 1024, ..self },
            TuneWay::Lanes => Point { lanes: step(self.lanes), ..self },
        };
        (next != self && next.fits(bounds)).then_some(next)
    }

    /// Whether it may be chosen.
    pub fn fits(&self, bounds: Bounds) -> bool {
        let [least, most] = REQUEST_BYTES;
        self.memory_bytes() <= bounds.memory_bytes
            && (least..=most).contains(&self.request_bytes)
            && self.source_depth.max(self.sink_depth) <= DEPTH_MAX
            && (1..=bounds.lanes).contains(&self.lanes)
    }

    /// The point made small enough, at the cost of depth first: a slow start is better than none.
    pub fn within(self, bounds: Bounds) -> Point {
        let mut point = Point { lanes: self.lanes.clamp(1, bounds.lanes.max(1)), ..self };
        while point.memory_bytes() > bounds.memory_bytes {
            match point {
                Point { lanes: 2.., .. } => point.lanes /= 2,
                Point { source_depth: 2.., .. } | Point { sink_depth: 2.., .. } => {
                    point.source_depth = point.source_depth.div_ceil(2);
                    point.sink_depth = point.sink_depth.div_ceil(2);
                }
                Point { request_bytes, .. } if request_bytes > REQUEST_BYTES[0] => point.request_bytes /= 2,
                _ => break,
            }
        }
        point
    }

    /// The flags that choose it.
    pub fn flags(&self) -> String {
        format!(
            "--request-size {}B --source-depth {} --sink-depth {} --lanes {}",
            self.request_bytes, self.source_depth, self.sink_depth, self.lanes
        )
    }

    /// For people.
    pub fn words(&self) -> String {
        let size = bytes_words(self.request_bytes.into());
        format!("{size} x {}+{} x {}", self.source_depth, self.sink_depth, self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u32 = 1 << 20;

    fn point(request_bytes: u32, depth: u32, lanes: u32) -> Point {
        Point { request_bytes, source_depth: depth, sink_depth: depth, lanes }
    }

    #[test]
    fn neighbours_stay_within_their_bounds() {
        let bounds = Bounds { memory_bytes: 16 << 20, lanes: 2 };
        for (from, way, up, to) in [
            (point(MIB, 2, 1), TuneWay::Depth, true, Some(point(MIB, 4, 1))),
            (point(MIB, 8, 1), TuneWay::Depth, true, None),
            (point(MIB, 1, 1), TuneWay::Depth, false, None),
            (point(MIB, 2, 1), TuneWay::Request, false, Some(point(MIB / 2, 2, 1))),
            (point(64 << 10, 2, 1), TuneWay::Request, false, None),
            (point(MIB, 2, 1), TuneWay::Lanes, true, Some(point(MIB, 2, 2))),
            (point(MIB, 2, 2), TuneWay::Lanes, true, None),
            (point(MIB, 2, 1), TuneWay::Lanes, false, None),
        ] {
            assert_eq!(from.neighbour(way, up, bounds), to, "{from:?} {way:?} {up}");
        }
    }

    #[test]
    fn a_point_is_made_to_fit_a_small_machine() {
        for (memory_bytes, lanes, fits) in [
            (64 << 20, 4, point(MIB, 2, 2)),
            (16 << 20, 4, point(MIB, 2, 2)),
            (4 << 20, 4, point(MIB, 2, 1)),
            (2 << 20, 4, point(MIB, 1, 1)),
            (256 << 10, 4, point(128 << 10, 1, 1)),
            (64 << 20, 1, point(MIB, 2, 1)),
        ] {
            assert_eq!(point(MIB, 2, 2).within(Bounds { memory_bytes, lanes }), fits, "{memory_bytes}");
        }
    }
}
