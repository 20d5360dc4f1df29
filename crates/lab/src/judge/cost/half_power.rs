//! The half-power point of a request size: the smallest request that reaches half of the full speed.
//!
//! Must not know: where runs come from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::stats::median;

/// Where half of the full speed is reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HalfPower {
    /// The smallest request from which on every measured one reaches half.
    pub request_size_bytes: f64,
    /// Its median bandwidth.
    pub bytes_per_s: f64,
    /// The largest median bandwidth of all request sizes.
    pub full_bytes_per_s: f64,
    /// Whether it is the smallest that was measured: then the point lies there or below.
    pub is_smallest: bool,
}

/// The point of runs `(request size in bytes, bandwidth in bytes per second)`. `None` with fewer than two sizes.
pub fn half_power(runs: &[(f64, f64)]) -> Option<HalfPower> {
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    // Positive floating-point numbers are in the order of their bits.
    runs.iter().for_each(|(size, speed)| sizes.entry(size.to_bits()).or_default().push(*speed));
    let speeds: Vec<(f64, f64)> = sizes
        .into_iter()
        .filter_map(|(size, speeds)| Some((f64::from_bits(size), median(&speeds)?)))
        .collect();
    let full_bytes_per_s = speeds.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
    if speeds.len() < 2 || full_bytes_per_s <= 0.0 {
        return None;
    }
    let below = speeds.iter().rposition(|(_, speed)| *speed < full_bytes_per_s / 2.0);
    let at = below.map_or(0, |at| at + 1);
    // A larger request that is slow again leaves no point above it.
    let (request_size_bytes, bytes_per_s) = *speeds.get(at)?;
    Some(HalfPower { request_size_bytes, bytes_per_s, full_bytes_per_s, is_smallest: at == 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request costs 10 us and a byte 1 ns: half of 1 GB/s is reached where both cost the same, at 10,000 bytes.
    fn speed(size: f64) -> f64 {
        size / (10_000.0 + size) * 1e9
    }

    #[test]
    fn it_is_the_smallest_request_that_reaches_half_of_the_largest_median() {
        let sizes = [2048.0, 4096.0, 8192.0, 16_384.0, 1_048_576.0];
        let runs: Vec<(f64, f64)> =
            sizes.iter().flat_map(|&size| [0.9, 1.0, 1.3].map(|noise| (size, speed(size) * noise))).collect();
        let point = half_power(&runs).expect("a point");
        assert_eq!((point.request_size_bytes, point.is_smallest), (16_384.0, false));
        assert!((point.full_bytes_per_s - speed(1_048_576.0)).abs() < 1.0, "{point:?}");
        // Among large ones alone it lies at the smallest or below.
        let large = half_power(&[(65_536.0, 0.8e9), (1_048_576.0, 1e9)]).expect("a point");
        assert_eq!((large.request_size_bytes, large.is_smallest), (65_536.0, true));
        assert_eq!(half_power(&[(4096.0, 1e9), (4096.0, 1e9)]), None);
        assert_eq!(half_power(&[]), None);
    }

    #[test]
    fn a_large_request_that_is_slow_again_is_not_passed_over() {
        let point = half_power(&[(4096.0, 1e9), (65_536.0, 0.3e9), (1_048_576.0, 0.9e9)]).expect("a point");
        assert_eq!(point.request_size_bytes, 1_048_576.0);
        assert_eq!(half_power(&[(4096.0, 1e9), (65_536.0, 0.3e9)]), None);
    }
}
