//! HighSpeed TCP (RFC 3649): what a window gains in a round trip, and the part that a loss takes, both by its size.
//!
//! Must not know: acknowledgements, time.

use std::sync::LazyLock;

/// Up to this window it is Reno.
const LOW_WINDOW: f64 = 38.0;
/// The window, and the part that a loss takes of it, at a loss rate of 1e-7.
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;
/// The rows of the table go to the last step at or below this window (RFC 3649, appendix B).
const TABLE_WINDOW: u64 = 100_000;

/// A row of the table: from the window on, so much is gained and lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HighSpeedStep {
    /// The window from which the row holds by the RFC; up to which, in the kernel.
    pub window_segments: u64,
    /// Gained in a round trip, in segments.
    pub increase: u64,
    /// The same before rounding.
    pub increase_exact: f64,
    /// The part that a loss takes.
    pub decrease: f64,
    /// The same in parts of 256, rounded down: what the kernel has.
    pub decrease_256: u64,
}

/// The part of a window that a loss takes. Where the table ends, it stays: by the formula a loss at half a million
/// segments would take nothing.
pub fn decrease(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 0.5;
    }
    let window = window.min(TABLE_WINDOW as f64);
    0.5 - (0.5 - HIGH_DECREASE) * (window / LOW_WINDOW).ln() / (HIGH_WINDOW / LOW_WINDOW).ln()
}

/// What a window gains in a round trip, in segments.
pub fn increase(window: f64) -> f64 {
    if window <= LOW_WINDOW {
        return 1.0;
    }
    exact(window).max(1.0)
}

fn exact(window: f64) -> f64 {
    let b = decrease(window);
    window.powf(0.8) * 2.0 * b / ((2.0 - b) * 12.8)
}

/// The table: a row wherever the gain has risen by more than a segment.
pub fn table() -> Vec<HighSpeedStep> {
    let mut rows = vec![row(LOW_WINDOW as u64, 1.0)];
    let mut last = 1.0;
    for window in LOW_WINDOW as u64..=TABLE_WINDOW {
        let gain = exact(window as f64);
        if gain > last + 1.0 {
            rows.push(row(window, gain));
            last = gain;
        }
    }
    rows
}

fn row(window_segments: u64, increase_exact: f64) -> HighSpeedStep {
    let decrease = decrease(window_segments as f64);
    HighSpeedStep {
        window_segments,
        increase: increase_exact as u64,
        increase_exact,
        decrease,
        decrease_256: (decrease * 256.0) as u64,
    }
}

/// The row that the kernel uses for a window: the first that is not below it (`net/ipv4/tcp_highspeed.c`).
pub fn step(window: f64) -> HighSpeedStep {
    static TABLE: LazyLock<Vec<HighSpeedStep>> = LazyLock::new(table);
    let at = TABLE.partition_point(|row| (row.window_segments as f64) < window);
    TABLE[at.min(TABLE.len() - 1)]
}
