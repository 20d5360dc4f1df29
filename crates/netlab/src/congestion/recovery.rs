//! The time until a rate is back after one loss at a full window.
//!
//! Must not know: queues; the path is full from the loss on only as far as the window fills it.

use schemars::JsonSchema;
use serde::Serialize;

use super::forms::reno_recovery_s;
use super::window::{AckClock, CongestionWindow};
use super::{Stack, limits};
use crate::SettingsError;

/// The case to simulate.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryCase {
    /// The stack.
    pub stack: Stack,
    /// The rate of the path, which the window fills at the loss.
    pub rate_bytes_per_s: f64,
    /// The time of a round trip.
    pub rtt_s: f64,
    /// What a segment has on the wire.
    pub segment_bytes: f64,
    /// Whether the receiver acknowledges every second segment, and the window counts acknowledgements.
    pub is_delayed: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecoveryOutcome {
    /// The stack.
    pub stack: &'static str,
    /// The window that fills the path.
    pub full_window_segments: f64,
    /// The window behind the loss.
    pub window_after_loss_segments: f64,
    /// Round trips until the window fills the path again.
    pub recovery_round_trips: f64,
    /// The time that they take.
    pub recovery_s: f64,
    /// The time that Reno takes, by its formula.
    pub reno_recovery_s: f64,
}

/// A smaller window is as good as nothing: half of it is what a loss leaves at least.
const FULL_MIN_SEGMENTS: f64 = 4.0;
/// Reno gains a segment in each round trip, of which each takes a thousand steps.
const FULL_MAX_SEGMENTS: f64 = 2e6;

/// Loses a segment at a full window, and steps the window until it is full again.
///
/// Errors: a number that means no path, or a path that holds hardly a segment.
pub fn simulate_recovery(case: &RecoveryCase) -> Result<RecoveryOutcome, SettingsError> {
    let RecoveryCase { stack, rate_bytes_per_s, rtt_s, segment_bytes, is_delayed } = *case;
    limits::rate(rate_bytes_per_s)?;
    limits::rtt(rtt_s)?;
    limits::segment(segment_bytes)?;
    let full = rate_bytes_per_s * rtt_s / segment_bytes;
    limits::within(
        "the window that fills the path",
        full,
        FULL_MIN_SEGMENTS..=FULL_MAX_SEGMENTS,
        "segments",
    )?;
    let mut window = CongestionWindow::in_avoidance(stack, full);
    window.lose();
    let window_after_loss_segments = window.segments();
    let (mut now_s, segments) = (0.0, if is_delayed { 2.0 } else { 1.0 });
    while window.segments() < full * (1.0 - 1e-12) {
        let counted = window.stride();
        now_s += counted * segments * rtt_s / window.segments();
        window.acknowledge(counted, AckClock { now_s, rtt_s });
    }
    Ok(RecoveryOutcome {
        stack: stack.as_str(),
        full_window_segments: full,
        window_after_loss_segments,
        recovery_round_trips: now_s / rtt_s,
        recovery_s: now_s,
        reno_recovery_s: reno_recovery_s(rate_bytes_per_s, rtt_s, segment_bytes, is_delayed),
    })
}
