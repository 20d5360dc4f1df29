//! Which cases can be simulated: numbers that mean a path, and that end.
//!
//! Must not know: simulations, flags.

use std::ops::RangeInclusive;

use crate::SettingsError;
use crate::losses::LossRule;

/// A case with more takes longer than anyone waits: a segment takes about 50 ns.
const SEGMENTS_MAX: f64 = 2e10;

/// A number within its limits, or why not; `unit` follows each number.
pub(super) fn within(
    name: &str,
    value: f64,
    limits: RangeInclusive<f64>,
    unit: &str,
) -> Result<(), SettingsError> {
    if limits.contains(&value) {
        return Ok(());
    }
    let (least, most) = limits.into_inner();
    Err(SettingsError::new(format!("{name} must be from {least} to {most} {unit}, not {value}")))
}

/// Segments under way at once are kept, 24 bytes each.
const UNDER_WAY_MAX: f64 = 3e7;

/// What a path and its queue hold at once.
pub(super) fn under_way(segments: f64) -> Result<(), SettingsError> {
    within("what path and queue hold", segments, 0.0..=UNDER_WAY_MAX, "segments")
}

/// A rate.
pub(super) fn rate(rate_bytes_per_s: f64) -> Result<(), SettingsError> {
    within("a rate", rate_bytes_per_s * 8.0, 1e3..=1e12, "bit/s")
}

/// What a segment has on the wire.
pub(super) fn segment(segment_bytes: f64) -> Result<(), SettingsError> {
    within("a segment", segment_bytes, 64.0..=65_536.0, "bytes")
}

/// A time there and back.
pub(super) fn rtt(rtt_s: f64) -> Result<(), SettingsError> {
    within("a round trip", rtt_s, 1e-6..=60.0, "s")
}

/// What a path loses, if anything.
pub(super) fn losses(rule: LossRule) -> Result<(), SettingsError> {
    if rule == LossRule::None { Ok(()) } else { loss(rule.part()) }
}

/// A loss rate that has a cycle.
pub(super) fn loss(loss: f64) -> Result<(), SettingsError> {
    within("a loss rate", loss, 1e-10..=0.1, "(a part of all segments)")
}

/// A run that ends.
pub(super) fn duration(
    duration_s: f64,
    rate_bytes_per_s: f64,
    segment_bytes: f64,
) -> Result<(), SettingsError> {
    within("a duration", duration_s, 1e-3..=1e6, "s")?;
    let segments = duration_s * rate_bytes_per_s / segment_bytes;
    if segments <= SEGMENTS_MAX {
        return Ok(());
    }
    let words = "give a shorter duration, a lower rate or larger segments";
    Err(SettingsError::new(format!(
        "{segments:.1e} segments would be simulated, at most {SEGMENTS_MAX:.0e}: {words}"
    )))
}
