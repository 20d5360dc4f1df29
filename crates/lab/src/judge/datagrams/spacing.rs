//! How far apart datagrams were sent, and the rates that follow.
//!
//! Must not know: sockets, how a sender waits.

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::frames::wire_bytes;
use crate::judge::stats::{mean, median, standard_deviation};

/// The spacing that was achieved. Datagrams of a batch leave together: the time from one batch to the next, over the
/// datagrams of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Spacing {
    /// Mean, in microseconds.
    pub mean_us: f64,
    /// Median, in microseconds.
    pub median_us: f64,
    /// Standard deviation, in microseconds.
    pub deviation_us: f64,
}

impl Spacing {
    /// The spacing of batches that were sent at these times. `None` of fewer than three.
    pub fn from_batches(batches_ns: &[u64], batch: u64) -> Option<Spacing> {
        let each = |pair: &[u64]| pair[1].saturating_sub(pair[0]) as f64 / 1e3 / batch as f64;
        let between: Vec<f64> = batches_ns.windows(2).map(each).collect();
        Some(Spacing {
            mean_us: mean(&between)?,
            median_us: median(&between)?,
            deviation_us: standard_deviation(&between)?,
        })
    }
}

/// A rate of datagrams, by what is counted of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DatagramRate {
    /// Payloads, in Mbit/s.
    pub user_mbit_per_s: f64,
    /// All that Ethernet takes for them, in Mbit/s: headers, checksum, preamble and gap.
    pub wire_mbit_per_s: f64,
}

impl DatagramRate {
    /// The rate of so many datagrams of one size in this time. Nothing in no time.
    pub fn from_datagrams(datagrams: u64, payload_bytes: u64, seconds: f64) -> DatagramRate {
        let mbit = |bytes: u64| {
            if seconds > 0.0 { datagrams as f64 * bytes as f64 * 8.0 / seconds / 1e6 } else { 0.0 }
        };
        DatagramRate {
            user_mbit_per_s: mbit(payload_bytes),
            wire_mbit_per_s: mbit(wire_bytes(payload_bytes)),
        }
    }
}
