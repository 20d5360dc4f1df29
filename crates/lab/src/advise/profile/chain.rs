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
    /// Lower end of the interval that contains nine of ten copies, from the spread of rounds; null below three rounds.
    pub ns_per_byte_low: Option<f64>,
    /// Its upper end.
    pub ns_per_byte_high: Option<f64>,
    /// Bandwidth.
    pub bytes_per_second: f64,
    /// Lower end of the interval that contains nine of ten copies.
    pub bytes_per_second_low: Option<f64>,
    /// Its upper end.
    pub bytes_per_second_high: Option<f64>,
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
/// The component that makes a chain one between two hosts.
pub(super) const NETWORK: &str = "network";
const SOURCE: &str = "disk_source";
const SINK: &str = "disk_sink";
/// What one disk does for two ends at once; without it they are taken to take turns.
const BOTH: &str = "disk_both";
/// The sides of a copy between two hosts, each with its disk and a null end on the other host.
const SIDES: [&str; 2] = ["sender", "receiver"];
/// A value, and between which factors of it nine of ten copies are.
#[derive(Clone, Copy, Debug)]
struct Forecast {
    value: f64,
    next: Option<[f64; 2]>,
}

impl Forecast {
    fn low(self) -> Option<f64> {
        Some(self.value * self.next?[0])
    }

    fn high(self) -> Option<f64> {
        Some(self.value * self.next?[1])
    }
}

impl Profile {
    /// The forecast of a chain such as disk_source,pump,disk_sink.
    pub fn forecast(&self, chain: &[String], request_size_bytes: u64) -> Result<ChainForecast, InputError> {
        let parts = chain.iter().map(|name| self.known(name)).collect::<Result<Vec<_>, _>>()?;
        let chained = Chain { profile: self, parts, size: request_size_bytes };
        let spent = chained.spent();
        let is_measured = |part: &&&Component| part.at(request_size_bytes).is_some();
        let bends = |part: &&Component| part.predictions == Predictions::BetweenSizes;
        let by = match spent.iter().filter(|part| !is_measured(part)).collect::<Vec<_>>()[..] {
            [] => "sizes",
            ref others if others.iter().any(|part| bends(part)) => "between sizes",
            _ => "line",
        };
        let cpu = chained.cpu(&spent);
        let (bottleneck, speed) = chained.slowest(cpu);
        Ok(ChainForecast {
            chain: chain.to_vec(),
            request_size_bytes,
            ns_per_byte: cpu.value,
            ns_per_byte_low: cpu.low(),
            ns_per_byte_high: cpu.high(),
            bytes_per_second: speed.value,
            bytes_per_second_low: speed.low(),
            bytes_per_second_high: speed.high(),
            bottleneck,
            shared_device: chained.has_both_ends(),
            cpu_by: self.cpu_by,
            by,
        })
    }

    fn known(&self, name: &str) -> Result<&Component, InputError> {
        self.component(name).ok_or_else(|| {
            let known: Vec<&str> = self.components.iter().map(|it| it.component.as_str()).collect();
            InputError::asked(format!("the profile has no component '{name}'; it has {}", known.join(", ")))
        })
    }
}

/// Components in a row, at a request size.
struct Chain<'profile> {
    profile: &'profile Profile,
    parts: Vec<&'profile Component>,
    size: u64,
}

impl<'profile> Chain<'profile> {
    fn part(&self, name: &str) -> Option<&'profile Component> {
        self.parts.iter().copied().find(|part| part.component == name)
    }

    /// Source and sink of a profile are on one disk.
    fn has_both_ends(&self) -> bool {
        self.part(SOURCE).is_some() && self.part(SINK).is_some()
    }

    /// The components whose CPU times add up. From disk to disk over a network that are its sides, each as it was with
    /// its disk: a side that waits for a disk costs more for each block than disk and network that never wait.
    fn spent(&self) -> Vec<&'profile Component> {
        let sides: Vec<&Component> = SIDES.iter().filter_map(|name| self.profile.component(name)).collect();
        let is_whole = self.has_both_ends() && self.part(NETWORK).is_some() && sides.len() == SIDES.len();
        if is_whole { sides } else { self.parts.clone() }
    }

    /// CPU time for a byte. Noise of parts adds up as if they had it together: what slows one down slows the other.
    fn cpu(&self, spent: &[&Component]) -> Forecast {
        let pump_ns = self.profile.component(PUMP).map_or(0.0, |pump| pump.cost(self.size));
        let pumps = spent.iter().map(|part| part.pumps_within()).sum();
        let costs: Vec<f64> = spent.iter().map(|part| part.cost(self.size)).collect();
        let sum = sum_without_pumps(costs.iter().copied(), pumps, pump_ns);
        let next = spent.iter().map(|part| part.nearest(self.size).and_then(|size| size.ns_per_byte_next));
        Forecast { value: sum - self.saved_wakeups_ns(pump_ns), next: weighted(&costs, next) }
    }

    /// CPU time of the wake-ups that a copy on one host has not, for a byte: its loop waits for both ends at once, and one
    /// wake-up serves what both have completed, so that the copy waits as often as the end that waits more. They are in
    /// what either end costs, whose pump the copy has.
    fn saved_wakeups_ns(&self, pump_ns: f64) -> f64 {
        let waits = |name: &str| self.part(name)?.nearest(self.size)?.waits_per_request;
        let is_local = self.part(NETWORK).is_none();
        let fewer =
            waits(SOURCE).zip(waits(SINK)).map(|(source, sink)| source.min(sink)).filter(|_| is_local);
        let saved_us = self.profile.wakeup_us.zip(fewer).map_or(0.0, |(wakeup_us, fewer)| wakeup_us * fewer);
        let own_ns = |name: &&str| Some((self.part(name)?.cost(self.size) - pump_ns).max(0.0));
        [SOURCE, SINK].iter().filter_map(own_ns).fold(saved_us * 1000.0 / self.size as f64, f64::min)
    }

    /// Seconds for a byte that the network adds to a disk's: by so much a source is slower that sends than one that is read
    /// alone, as its loop posts nothing to the disk while it copies bytes into its connection. Copying is CPU time: while a
    /// sender waits for a slow network, its disk goes on. A profile without a sender has disk and network in turn.
    fn added_by_network(&self, source: &Component, network: &Component) -> f64 {
        let (seconds, cost) =
            (|part: &Component| 1.0 / part.speed(self.size), |part: &Component| part.cost(self.size));
        let (added_s, copying_ns) = match self.profile.component(SIDES[0]) {
            Some(sender) => (seconds(sender) - seconds(source), cost(sender) - cost(source)),
            None => (seconds(network), cost(network)),
        };
        added_s.min(copying_ns / 1e9).max(0.0)
    }

    fn slowest(&self, cpu: Forecast) -> (String, Forecast) {
        let speed = |part: &Component| {
            let next = part.nearest(self.size).and_then(|size| size.bytes_per_second_next);
            Forecast { value: part.speed(self.size), next }
        };
        let network = self.part(NETWORK);
        let is_shared = self.has_both_ends();
        let alone = |part: &&&Component| part.component != PUMP && !(is_shared && part.is_end());
        let mut speeds: Vec<(&str, Forecast)> =
            self.parts.iter().filter(alone).map(|part| (part.component.as_str(), speed(part))).collect();
        if let (true, Some(read), Some(written)) = (is_shared, self.part(SOURCE), self.part(SINK)) {
            let in_turns = || Forecast {
                value: serial_bytes_per_s(speed(read).value, speed(written).value),
                next: speed(written).next,
            };
            let both = self.profile.component(BOTH).map_or_else(in_turns, speed);
            let behind = |network: &Component| Forecast {
                value: 1.0 / (1.0 / both.value + self.added_by_network(read, network)),
                next: both.next,
            };
            speeds.push(("disk", network.map_or(both, behind)));
        }
        // One thread moves the bytes; two where they cross the network.
        let threads = if network.is_some() { 2 } else { 1 };
        let of_cpu = cpu_bytes_per_s(self.profile.machine.cpus.min(threads), cpu.value);
        let next = cpu.next.map(|[low, high]| [1.0 / high, 1.0 / low]);
        speeds.push(("cpu", Forecast { value: of_cpu, next }));
        let by_value = speeds.iter().enumerate().map(|(at, (_, speed))| (at, speed.value)).collect();
        let (name, speed) = speeds[bottlenecks(by_value)[0].0];
        (name.into(), speed)
    }
}

/// Factors of a sum of these costs; `None` if one of them has none.
fn weighted(costs: &[f64], next: impl Iterator<Item = Option<[f64; 2]>>) -> Option<[f64; 2]> {
    let sum: f64 = costs.iter().sum();
    let next: Vec<[f64; 2]> = next.collect::<Option<_>>()?;
    let of = |end: usize| costs.iter().zip(&next).map(|(cost, next)| cost * next[end]).sum::<f64>() / sum;
    (sum > 0.0).then(|| [of(0), of(1)])
}

impl Component {
    fn at(&self, size: u64) -> Option<&Size> {
        self.sizes.iter().find(|it| it.request_size_bytes == size)
    }

    /// The measurement at the nearest size.
    fn nearest(&self, size: u64) -> Option<&Size> {
        let away = |it: &&Size| ((it.request_size_bytes as f64).ln() - (size as f64).ln()).abs();
        self.sizes.iter().min_by(|one, other| away(one).total_cmp(&away(other)))
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

    /// The pumps that were measured with it and are not in the whole. The sides of a copy between two hosts are whole.
    fn pumps_within(&self) -> usize {
        match self.component.as_str() {
            NETWORK | BOTH => 2,
            SOURCE | SINK => 1,
            _ => 0,
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
