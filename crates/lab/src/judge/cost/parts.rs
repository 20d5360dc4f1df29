//! Parts and what they give together: costs add up, bandwidths do not.
//!
//! Must not know: where parts come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Below this a cost is one that was not measured: one CPU would move a petabyte in a second. Bandwidths stay finite.
const NS_PER_BYTE_MIN: f64 = 1e-6;

/// What one component costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostPart {
    /// Its name.
    pub component: String,
    /// CPU time for a byte, in nanoseconds.
    pub cb_ns_per_byte: f64,
    /// CPU time for a request, in microseconds. A fit may give a negative one; it is never clamped.
    pub cr_us_per_request: f64,
}

/// CPU time for a byte at a request size, in nanoseconds.
pub fn predict(part: &CostPart, request_size_bytes: f64) -> f64 {
    part.cb_ns_per_byte + part.cr_us_per_request * 1000.0 / request_size_bytes
}

/// CPU time for a byte at a request size between sizes that were measured, each with its cost, the smallest first: on a
/// straight line in 1 / request size from one to the next, and beyond them on the last such line. `None` of fewer than
/// two sizes.
pub fn predict_between(measured: &[(f64, f64)], request_size_bytes: f64) -> Option<f64> {
    let above = measured.iter().position(|&(size, _)| size >= request_size_bytes).unwrap_or(measured.len());
    let above = above.clamp(1, measured.len().checked_sub(1)?.max(1));
    let (&(small, small_ns), &(large, large_ns)) = (measured.get(above - 1)?, measured.get(above)?);
    let part = (1.0 / request_size_bytes - 1.0 / large) / (1.0 / small - 1.0 / large);
    Some(large_ns + part * (small_ns - large_ns))
}

/// What components cost together: plain sums.
pub fn sum<'parts>(component: &str, parts: impl IntoIterator<Item = &'parts CostPart>) -> CostPart {
    let nothing = CostPart { component: component.into(), ..CostPart::default() };
    parts.into_iter().fold(nothing, |sum, part| CostPart {
        cb_ns_per_byte: sum.cb_ns_per_byte + part.cb_ns_per_byte,
        cr_us_per_request: sum.cr_us_per_request + part.cr_us_per_request,
        component: sum.component,
    })
}

/// An end measured alone contains the pump: its own cost per request is the fitted one less the pump's. The pump
/// touches no byte, so that the cost per byte is the end's own.
pub fn without_pump(component: &str, measured: &CostPart, pump: &CostPart) -> CostPart {
    let cr_us_per_request = measured.cr_us_per_request - pump.cr_us_per_request;
    CostPart { component: component.into(), cb_ns_per_byte: measured.cb_ns_per_byte, cr_us_per_request }
}

/// CPU time for a byte of parts that were each measured with pumps, of which the chain has fewer: their sum without
/// those.
pub fn sum_without_pumps(measured_ns: impl IntoIterator<Item = f64>, pumps: usize, pump_ns: f64) -> f64 {
    measured_ns.into_iter().sum::<f64>() - pumps as f64 * pump_ns
}

/// The bandwidth of the CPU as a component: CPUs over the CPU time for a byte.
pub fn cpu_bytes_per_s(cpus: u32, ns_per_byte: f64) -> f64 {
    f64::from(cpus) * 1e9 / ns_per_byte.max(NS_PER_BYTE_MIN)
}

/// Components by their bandwidths. The first is the bottleneck, whose bandwidth is that of the whole; the second
/// would be the next one.
pub fn bottlenecks<Name>(mut bytes_per_s: Vec<(Name, f64)>) -> Vec<(Name, f64)> {
    bytes_per_s.sort_by(|one, other| one.1.total_cmp(&other.1));
    bytes_per_s
}

/// The bandwidth of reading and writing one serial device in turn, which is no bottleneck of two: each byte occupies the
/// device twice, so the times add up: 1 / (1/R + 1/W).
pub fn serial_bytes_per_s(read_bytes_per_s: f64, write_bytes_per_s: f64) -> f64 {
    1.0 / (1.0 / read_bytes_per_s + 1.0 / write_bytes_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(component: &str, cb_ns_per_byte: f64, cr_us_per_request: f64) -> CostPart {
        CostPart { component: component.into(), cb_ns_per_byte, cr_us_per_request }
    }

    #[test]
    fn costs_of_a_chain_are_sums() {
        let parts = [part("disk_source", 0.5, 66.0), part("pump", 0.0, 20.0), part("disk_sink", 1.6, 53.0)];
        let copy = sum("copy", &parts);
        assert_eq!((copy.cb_ns_per_byte, copy.cr_us_per_request), (2.1, 139.0));
        assert_eq!(sum("nothing", []), part("nothing", 0.0, 0.0));
        let measured = sum("disk_source_with_pump", &parts[..2]);
        assert_eq!(without_pump("disk_source", &measured, &parts[1]), parts[0]);
        // A source of 3 ns and a sink of 5 ns, each with a pump of 1 ns; the copy has one.
        assert_eq!(sum_without_pumps([4.0, 6.0], 1, 1.0), 9.0);
    }

    #[test]
    fn a_request_costs_less_for_a_byte_the_larger_it_is() {
        let sink = part("disk_sink", 1.6, 73.0);
        for (request_bytes, ns_per_byte) in [(32_768.0, 3.828), (65_536.0, 2.714), (262_144.0, 1.878)] {
            assert!((predict(&sink, request_bytes) - ns_per_byte).abs() < 0.001, "{request_bytes}");
        }
    }

    #[test]
    fn between_sizes_the_cost_goes_straight_from_one_to_the_next() {
        let measured = [(1000.0, 101.0), (2000.0, 51.0), (4000.0, 60.0)];
        for (size, expected) in [
            (1000.0, 101.0),
            (1250.0, 81.0),
            (2000.0, 51.0),
            (8000.0 / 3.0, 55.5),
            (4000.0, 60.0),
            (500.0, 201.0),
            (8000.0, 64.5),
        ] {
            let got = predict_between(&measured, size).expect("sizes");
            assert!((got - expected).abs() < 1e-9, "{size}: {got}");
        }
        assert_eq!(predict_between(&measured[..1], 1000.0), None);
        assert_eq!(predict_between(&[], 1000.0), None);
    }

    #[test]
    fn the_slowest_component_is_the_bandwidth() {
        // A receiver of 40 ns for each byte is limited to 25 MB/s by one CPU.
        let cpu = cpu_bytes_per_s(1, 40.0);
        assert!((cpu - 25e6).abs() < 1e-3, "{cpu}");
        for (components, expected) in [
            (&[("source", 24e6), ("sink", 22.5e6), ("cpu", cpu)][..], &["sink", "source", "cpu"][..]),
            (&[("source", 24e6), ("network", 12.5e6), ("sink", 22.5e6)], &["network", "sink", "source"]),
            (&[], &[]),
        ] {
            let names: Vec<&str> = bottlenecks(components.to_vec()).iter().map(|(name, _)| *name).collect();
            assert_eq!(names, expected);
        }
        assert!([0.0, -1.0].iter().all(|&nothing| cpu_bytes_per_s(2, nothing).is_finite()));
    }

    #[test]
    fn ends_on_one_device_share_its_time() {
        for (read, write, both) in
            [(200.0, 200.0, 100.0), (300.0, 150.0, 100.0), (100.0, f64::INFINITY, 100.0)]
        {
            assert!((serial_bytes_per_s(read, write) - both).abs() < 1e-9, "{read} and {write}");
        }
    }
}
