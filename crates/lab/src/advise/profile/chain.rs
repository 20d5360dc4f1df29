//! Predicts cost and speed of a chain of a profile's components.
//!
//! Must not know: how components were measured.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Component, Profile, Size};
use crate::judge::cost::{
    CostPart, CpuBy, InputError, Predictions, bottlenecks, cpu_bytes_per_s, predict, predict_between,
    serial_bytes_per_s, sum_without_pumps,
};

/// The forecast at a request size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChainForecast {
    /// The components.
    pub chain: Vec<String>,
    /// Bytes of a request.
    pub request_size_bytes: u64,
    /// CPU time for a byte.
    pub ns_per_byte: f64,
    /// Bandwidth.
    pub bytes_per_second: f64,
    /// What limits it: a component, `disk` where one serves both ends, or `cpu`.
    pub bottleneck: String,
    /// One device serves both ends, which is no chain of two parts.
    pub shared_device: bool,
    /// By which measure CPU time was counted.
    pub cpu_by: CpuBy,
    /// `sizes` if this size was measured for all; `between sizes` if it lies between measured ones of a component whose
    /// line bends, whose cost is taken straight from one to the next; else `line`.
    pub by: &'static str,
}

/// The component that is in all others.
const PUMP: &str = "pump";
const NETWORK: &str = "network";
/// What one disk does for two ends at once; without it they are taken to take turns.
const BOTH: &str = "disk_both";

impl Profile {
    /// The forecast of a chain such as disk_source,pump,disk_sink.
    pub fn forecast(&self, chain: &[String], request_size_bytes: u64) -> Result<ChainForecast, InputError> {
        let parts = chain.iter().map(|name| self.known(name)).collect::<Result<Vec<_>, _>>()?;
        let is_in = |name: &str| chain.iter().any(|part| part == name);
        let shared_device = is_in("disk_source") && is_in("disk_sink");
        let spent = self.spent(&parts, shared_device && is_in(NETWORK));
        let is_measured = |part: &&&Component| part.at(request_size_bytes).is_some();
        let bends = |part: &&Component| part.predictions == Predictions::BetweenSizes;
        let by = match spent.iter().filter(|part| !is_measured(part)).collect::<Vec<_>>()[..] {
            [] => "sizes",
            ref others if others.iter().any(|part| bends(part)) => "between sizes",
            _ => "line",
        };
        let pump_ns = self.component(PUMP).map_or(0.0, |pump| pump.cost(request_size_bytes));
        let pumps = spent.iter().map(|part| part.pumps_within()).sum();
        let measured_ns = spent.iter().map(|part| part.cost(request_size_bytes));
        let ns_per_byte = sum_without_pumps(measured_ns, pumps, pump_ns);
        let (bottleneck, bytes_per_second) =
            self.slowest(&parts, request_size_bytes, shared_device, ns_per_byte);
        Ok(ChainForecast {
            chain: chain.to_vec(),
            request_size_bytes,
            ns_per_byte,
            bytes_per_second,
            bottleneck,
            shared_device,
            cpu_by: self.cpu_by,
            by,
        })
    }

    /// The components whose CPU times add up. Where each end of one disk has its program, that is what two programs
    /// took which were at it at once: with requests of both under way, fewer of them are told one by one.
    fn spent<'profile>(
        &'profile self,
        parts: &[&'profile Component],
        by_two: bool,
    ) -> Vec<&'profile Component> {
        match self.component(BOTH).filter(|_| by_two) {
            Some(both) => parts.iter().copied().filter(|part| !part.is_end()).chain([both]).collect(),
            None => parts.to_vec(),
        }
    }

    fn known(&self, name: &str) -> Result<&Component, InputError> {
        self.component(name).ok_or_else(|| {
            let known: Vec<&str> = self.components.iter().map(|it| it.component.as_str()).collect();
            InputError::asked(format!("the profile has no component '{name}'; it has {}", known.join(", ")))
        })
    }

    fn slowest(&self, parts: &[&Component], size: u64, shared: bool, ns_per_byte: f64) -> (String, f64) {
        let of = |name: &str| parts.iter().find(|part| part.component == name).map(|part| part.speed(size));
        let mut speeds: Vec<(&str, f64)> = parts
            .iter()
            .filter(|part| part.component != PUMP && !(shared && part.is_end()))
            .map(|part| (part.component.as_str(), part.speed(size)))
            .collect();
        if let (true, Some(read), Some(written)) = (shared, of("disk_source"), of("disk_sink")) {
            let both = self.component(BOTH).map(|both| both.speed(size));
            speeds.push(("disk", both.unwrap_or_else(|| serial_bytes_per_s(read, written))));
        }
        // One thread moves the bytes; two where they cross the network.
        let threads = if parts.iter().any(|part| part.component == NETWORK) { 2 } else { 1 };
        speeds.push(("cpu", cpu_bytes_per_s(self.machine.cpus.min(threads), ns_per_byte)));
        let (name, bytes_per_s) = bottlenecks(speeds)[0];
        (name.into(), bytes_per_s)
    }
}

impl Component {
    fn at(&self, size: u64) -> Option<Size> {
        self.sizes.iter().find(|it| it.request_size_bytes == size).copied()
    }

    fn is_end(&self) -> bool {
        self.component.starts_with("disk_")
    }

    /// As measured, pumps contained; else by the line, or where that bends from one measured size straight to the next.
    fn cost(&self, size: u64) -> f64 {
        let line = || predict(&self.line(), size as f64);
        let between = || match self.predictions {
            Predictions::Line => line(),
            Predictions::BetweenSizes => {
                let measured = |it: &Size| (it.request_size_bytes as f64, it.ns_per_byte);
                let sizes: Vec<(f64, f64)> = self.sizes.iter().map(measured).collect();
                predict_between(&sizes, size as f64).unwrap_or_else(line)
            }
        };
        self.at(size).map_or_else(between, |size| size.ns_per_byte)
    }

    /// As fitted.
    fn line(&self) -> CostPart {
        let (cb_ns_per_byte, cr_us_per_request) = (self.cb_ns_per_byte, self.cr_us_per_request);
        CostPart { component: self.component.clone(), cb_ns_per_byte, cr_us_per_request }
    }

    /// The pumps that were measured with it.
    fn pumps_within(&self) -> usize {
        match self.component.as_str() {
            PUMP => 0,
            NETWORK | BOTH => 2,
            _ => 1,
        }
    }

    /// The bandwidth at a size; between two that were measured by their logarithms, beyond them that of the nearest.
    fn speed(&self, size: u64) -> f64 {
        let place = |it: &Size| ((it.request_size_bytes as f64).ln(), it.bytes_per_second);
        let at = (size as f64).ln();
        let below = self.sizes.iter().rev().find(|it| it.request_size_bytes <= size).map(place);
        let above = self.sizes.iter().find(|it| it.request_size_bytes >= size).map(place);
        match (below, above) {
            (Some((x0, y0)), Some((x1, y1))) if x1 > x0 => y0 + (y1 - y0) * (at - x0) / (x1 - x0),
            (Some((_, speed)), _) | (_, Some((_, speed))) => speed,
            (None, None) => 0.0,
        }
    }
}
