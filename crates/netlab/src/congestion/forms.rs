//! Closed forms of what windows, buffers and rounds allow.
//!
//! Must not know: simulations.

use super::Stack;
use super::window::highspeed;

/// Segments are counted by what they carry (a frame of 1500 bytes with time stamps).
const PAYLOAD_BYTES: u64 = 1448;

/// The time in which Reno gains the half of a full window that a loss took; twice as long if every second segment
/// is acknowledged.
pub fn reno_recovery_s(rate_bytes_per_s: f64, rtt_s: f64, segment_bytes: f64, is_delayed: bool) -> f64 {
    let recovery_s = rtt_s * rtt_s * rate_bytes_per_s / (2.0 * segment_bytes);
    if is_delayed { 2.0 * recovery_s } else { recovery_s }
}

/// The window behind a loss, and the round trips until the full one is back, stepped by the round trip. None for
/// CUBIC, whose time is not counted in them.
pub fn recovery_rounds(stack: Stack, full_window_segments: f64) -> Option<(f64, u32)> {
    let (left, gain): (f64, fn(f64) -> f64) = match stack {
        Stack::Reno => (0.5, |_| 1.0),
        Stack::HighSpeed => (1.0 - highspeed::decrease(full_window_segments), highspeed::increase),
        Stack::HighSpeedTable => {
            let step = highspeed::step(full_window_segments);
            (1.0 - step.decrease_256 as f64 / 256.0, |window| highspeed::step(window).increase as f64)
        }
        Stack::Scalable => (0.875, |window| 0.01 * window),
        Stack::Cubic => return None,
    };
    let after = left * full_window_segments;
    let (mut window, mut rounds) = (after, 0);
    while window < full_window_segments * (1.0 - 1e-12) {
        (window, rounds) = (window + gain(window), rounds + 1);
    }
    Some((after, rounds))
}

/// The buffer with which a path is full.
pub fn buffer_needed_bytes(rate_bytes_per_s: f64, rtt_s: f64) -> f64 {
    rate_bytes_per_s * rtt_s
}

/// The rate that a buffer allows.
pub fn limited_by_buffer_bytes_per_s(rate_bytes_per_s: f64, rtt_s: f64, buffer_bytes: f64) -> f64 {
    rate_bytes_per_s.min(buffer_bytes / rtt_s)
}

/// Round trips until an answer of so many bytes has come, in slow start from a window. With delayed
/// acknowledgements a round of k segments is followed by one of k + k/2, rounded up.
pub fn slow_start_rounds(bytes: u64, initial_window: u64, is_delayed: bool) -> u64 {
    answer_rounds(bytes.div_ceil(PAYLOAD_BYTES), initial_window, u64::MAX, is_delayed)
}

/// Round trips of an answer in segments, where no round has more of them than the largest window.
pub fn answer_rounds(segments: u64, window: u64, window_max: u64, is_delayed: bool) -> u64 {
    let most = window_max.max(1);
    let (mut sent, mut burst, mut rounds) = (0_u64, window.clamp(1, most), 0);
    while sent < segments.max(1) {
        if burst == most {
            return rounds + (segments.max(1) - sent).div_ceil(burst);
        }
        (sent, rounds) = (sent.saturating_add(burst), rounds + 1);
        burst = burst.saturating_add(if is_delayed { burst.div_ceil(2) } else { burst }).min(most);
    }
    rounds
}

/// Jain's index of fairness: 1 for equal shares, 1/n where one of n has all. None without any rate.
pub fn jain_index(rates: &[f64]) -> Option<f64> {
    let (sum, squares) =
        rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// The rate of an application that needs so long besides, for its start and its end.
pub fn with_overhead_bytes_per_s(bytes: f64, rate_bytes_per_s: f64, overhead_s: f64) -> f64 {
    bytes / (bytes / rate_bytes_per_s + overhead_s)
}

/// The mean window at a loss rate, in segments: Reno's and Scalable's are those of their cycle, HighSpeed's is the
/// response function of RFC 3649, CUBIC's that of RFC 9438, section 5.1, for this round trip time.
pub fn response_segments(stack: Stack, loss: f64, rtt_s: f64) -> f64 {
    match stack {
        Stack::Reno => (1.5 / loss).sqrt(),
        Stack::HighSpeed | Stack::HighSpeedTable if loss <= 1.0001e-3 => 0.12 / loss.powf(0.835),
        Stack::HighSpeed | Stack::HighSpeedTable => 1.2 / loss.sqrt(),
        Stack::Scalable => 0.01 / (8.0_f64 / 7.0).ln() / loss,
        // Never less than Reno's.
        Stack::Cubic => (1.0537 * (rtt_s / loss).powf(0.75)).max((1.5 / loss).sqrt()),
    }
}
