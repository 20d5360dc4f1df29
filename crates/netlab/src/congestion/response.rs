//! The response function: the mean window where one segment in so many is lost.
//!
//! Must not know: paths; the window alone is stepped, one acknowledgement after the other.

use schemars::JsonSchema;
use serde::Serialize;

use super::forms::response_segments;
use super::window::{AckClock, CongestionWindow};
use super::{Stack, limits};
use crate::SettingsError;

/// Two cycles whose peaks are this near are one limit cycle.
const SAME: f64 = 1e-6;
/// A cycle halves what is left of a wrong start, so that these are many.
const CYCLES_MAX: usize = 200;
/// So many cycles are looked at where none repeats.
const TURNS: usize = 20;

/// The case to simulate.
#[derive(Clone, Copy, Debug)]
pub struct ResponseCase {
    /// The stack.
    pub stack: Stack,
    /// One segment in 1 / `loss` is lost.
    pub loss: f64,
    /// The time of a round trip: only CUBIC's window depends on it.
    pub rtt_s: f64,
    /// What a segment has on the wire, for the bandwidth.
    pub segment_bytes: f64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ResponseOutcome {
    /// The stack.
    pub stack: &'static str,
    /// The part of the segments that is lost.
    pub loss: f64,
    /// The time of a round trip.
    pub rtt_s: f64,
    /// The window's mean over time.
    pub mean_window_segments: f64,
    /// The window at a loss.
    pub peak_window_segments: f64,
    /// The window behind a loss.
    pub least_window_segments: f64,
    /// What the closed form says of the mean.
    pub formula_window_segments: f64,
    /// The mean window once in each round trip.
    pub bandwidth_bytes_per_s: f64,
    /// Round trips between two losses.
    pub cycle_round_trips: f64,
}

/// A stretch between two losses.
struct Cycle {
    least: f64,
    peak: f64,
    round_trips: f64,
}

/// Steps the window from loss to loss until it repeats.
///
/// Errors: a number that means no path.
pub fn simulate_response(case: &ResponseCase) -> Result<ResponseOutcome, SettingsError> {
    let ResponseCase { stack, loss, rtt_s, segment_bytes } = *case;
    limits::loss(loss)?;
    limits::rtt(rtt_s)?;
    limits::segment(segment_bytes)?;
    let segments = (1.0 / loss).round().max(1.0) as u64;
    let formula_window_segments = response_segments(stack, loss, rtt_s);
    let mut window = CongestionWindow::in_avoidance(stack, formula_window_segments.max(2.0));
    let (mut now_s, mut cycles) = (0.0, Vec::new());
    while !is_settled(&cycles) && cycles.len() < CYCLES_MAX {
        window.lose();
        cycles.push(run(&mut window, segments, &mut now_s, rtt_s));
    }
    let last = last_of(&cycles).ok_or_else(|| {
        let words = format!("at a loss rate of {loss} the window of {} does not settle", stack.as_str());
        SettingsError::new(words)
    })?;
    let round_trips = last.iter().map(|cycle| cycle.round_trips).sum::<f64>() / last.len() as f64;
    let mean_window_segments = segments as f64 / round_trips;
    Ok(ResponseOutcome {
        stack: stack.as_str(),
        loss,
        rtt_s,
        mean_window_segments,
        peak_window_segments: last.iter().map(|cycle| cycle.peak).fold(0.0, f64::max),
        least_window_segments: last.iter().map(|cycle| cycle.least).fold(f64::INFINITY, f64::min),
        formula_window_segments,
        bandwidth_bytes_per_s: mean_window_segments * segment_bytes / rtt_s,
        cycle_round_trips: round_trips,
    })
}

/// Whether the last two cycles are one.
fn is_settled(cycles: &[Cycle]) -> bool {
    matches!(cycles, [.., one, other] if (one.peak - other.peak).abs() <= SAME * other.peak)
}

/// The limit cycle; or the last cycles of a window that takes turns (CUBIC's fast convergence).
fn last_of(cycles: &[Cycle]) -> Option<&[Cycle]> {
    let last = &cycles[cycles.len() - if is_settled(cycles) { 1 } else { TURNS }..];
    let peaks = last.iter().map(|cycle| cycle.peak);
    (peaks.clone().fold(0.0, f64::max) <= 2.0 * peaks.fold(f64::INFINITY, f64::min)).then_some(last)
}

/// Acknowledges so many segments; each takes its part of a round trip.
fn run(window: &mut CongestionWindow, segments: u64, now_s: &mut f64, rtt_s: f64) -> Cycle {
    let (least, begin_s, mut left) = (window.segments(), *now_s, segments as f64);
    while left > 0.0 {
        let counted = window.stride().min(left);
        left -= counted;
        *now_s += counted * rtt_s / window.segments();
        window.acknowledge(counted, AckClock { now_s: *now_s, rtt_s });
    }
    Cycle { least, peak: window.segments(), round_trips: (*now_s - begin_s) / rtt_s }
}
