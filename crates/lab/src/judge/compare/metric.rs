//! The figures of a row that are compared. The less the better, for all of them.
//!
//! Must not know: how two rows are compared.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::{CpuBy, cpu_ns};
use crate::judge::stats::mean;
use crate::report::figures;
use crate::row::Row;

/// What of a row is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Wall time; of a run that started readers, their mean latency: what was set up before is not in it.
    #[default]
    Elapsed,
    /// Wall time for a byte: for runs that moved different amounts.
    ElapsedPerByte,
    /// CPU time, by the measure that the rows of both sides are judged by.
    Cpu,
    /// That for a byte.
    CpuPerByte,
    /// That for a request.
    CpuPerRequest,
    /// CPU time of the whole machine.
    MachineCpu,
    /// Largest memory of any process of the command.
    Memory,
}

/// All of them with their names.
const NAMES: [(Metric, &str); 7] = [
    (Metric::Elapsed, "elapsed"),
    (Metric::ElapsedPerByte, "elapsed-per-byte"),
    (Metric::Cpu, "cpu"),
    (Metric::CpuPerByte, "cpu-per-byte"),
    (Metric::CpuPerRequest, "cpu-per-request"),
    (Metric::MachineCpu, "machine-cpu"),
    (Metric::Memory, "memory"),
];

fn elapsed_ns(row: &Row) -> Option<f64> {
    mean(&row.latencies_s()).map(|seconds| seconds * 1e9)
}

/// The kernel counts resident memory in pages.
const PAGE_BYTES: f64 = 4096.0;

fn machine_cpu_step_ns(row: &Row) -> f64 {
    match row.machine_cpu_by.as_deref() {
        Some("/proc/stat") => 1e7,
        Some("cpu.stat") => 1e3,
        _ => 1.0,
    }
}

impl Metric {
    /// The value of a row, CPU time by this measure; `None` if it was not measured. A value of 0 was too small to be
    /// measured.
    pub fn value_in(self, row: &Row, by: CpuBy) -> Option<f64> {
        let cpu = || cpu_ns(row, by);
        let value = match self {
            Metric::Elapsed => elapsed_ns(row)?,
            Metric::ElapsedPerByte => elapsed_ns(row)? / row.bytes as f64,
            Metric::Cpu => cpu()?,
            Metric::CpuPerByte => cpu()? / row.bytes as f64,
            Metric::CpuPerRequest => cpu()? / row.requests? as f64 / 1e3,
            Metric::MachineCpu => row.machine_cpu_ns? as f64,
            Metric::Memory => row.max_rss_bytes? as f64,
        };
        (value.is_finite() && value > 0.0).then_some(value)
    }

    /// The variance that the logarithm of the value has by its rounding: a value in steps of 1 has that of 1/12. CPU time
    /// of the machine may come in steps of 10 ms (`machine_cpu_by`), so that three runs give the same by chance.
    pub fn rounding_in(self, row: &Row, by: CpuBy) -> f64 {
        let (rounded, step) = match self {
            Metric::Elapsed | Metric::ElapsedPerByte => (Metric::Elapsed, 1.0),
            Metric::Cpu | Metric::CpuPerByte | Metric::CpuPerRequest if by == CpuBy::Machine => {
                (Metric::Cpu, machine_cpu_step_ns(row))
            }
            Metric::Cpu | Metric::CpuPerByte | Metric::CpuPerRequest => (Metric::Cpu, 1e3),
            Metric::MachineCpu => (self, machine_cpu_step_ns(row)),
            Metric::Memory => (self, PAGE_BYTES),
        };
        rounded.value_in(row, by).map_or(0.0, |value| (step / value).powi(2) / 12.0)
    }

    /// Whether it grows with the bytes that are moved.
    pub fn grows_with_bytes(self) -> bool {
        matches!(self, Metric::Elapsed | Metric::Cpu | Metric::MachineCpu)
    }

    /// Whether there are several measures of it.
    pub fn is_cpu_time(self) -> bool {
        matches!(self, Metric::Cpu | Metric::CpuPerByte | Metric::CpuPerRequest)
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Elapsed | Metric::Cpu | Metric::MachineCpu => "ns",
            Metric::ElapsedPerByte | Metric::CpuPerByte => "ns/byte",
            Metric::CpuPerRequest => "us/request",
            Metric::Memory => "bytes",
        }
    }

    /// A value for people.
    pub fn words(self, value: f64) -> String {
        match self {
            Metric::Memory => datapump::units::bytes_words(value as u64),
            _ if self.unit() == "ns" => figures::ns(value),
            _ => format!("{} {}", figures::figures(value), self.unit()),
        }
    }

    /// Meaning of a ratio above 1 for B, with CPU time by this measure.
    pub fn better(self, by: CpuBy) -> String {
        match self {
            Metric::Elapsed | Metric::ElapsedPerByte => "is faster".into(),
            Metric::Memory => "takes less memory".into(),
            Metric::MachineCpu => format!("takes less CPU time {}", CpuBy::Machine.words()),
            Metric::Cpu | Metric::CpuPerByte | Metric::CpuPerRequest => {
                format!("takes less CPU time {}", by.words())
            }
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(NAMES.iter().find(|(metric, _)| metric == self).map_or("", |(_, name)| name))
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(word: &str) -> Result<Metric, String> {
        let found = NAMES.iter().find(|(_, name)| *name == word);
        found.map(|(metric, _)| *metric).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(_, name)| *name).collect();
            format!("'{word}' cannot be compared; write {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{COMPLETED, ReaderRow};

    fn completed() -> ReaderRow {
        ReaderRow { outcome: COMPLETED.into(), ..ReaderRow::default() }
    }

    #[test]
    fn every_metric_has_its_name_and_value() {
        let by = CpuBy::Process;
        let row = Row {
            bytes: 1000,
            requests: Some(4),
            elapsed_ns: 8000,
            user_ns: Some(1500),
            system_ns: Some(500),
            machine_cpu_ns: Some(3000),
            max_rss_bytes: Some(4096),
            ..Row::default()
        };
        for (name, value, words) in [
            ("elapsed", 8000.0, "8.00 µs"),
            ("elapsed-per-byte", 8.0, "8.00 ns/byte"),
            ("cpu", 2000.0, "2.00 µs"),
            ("cpu-per-byte", 2.0, "2.00 ns/byte"),
            ("cpu-per-request", 0.5, "0.500 us/request"),
            ("machine-cpu", 3000.0, "3.00 µs"),
            ("memory", 4096.0, "4.0 KiB"),
        ] {
            let metric: Metric = name.parse().expect(name);
            assert_eq!(
                (metric.to_string().as_str(), metric.value_in(&row, by)),
                (name, Some(value)),
                "{name}"
            );
            assert_eq!(metric.words(value), words, "{name}");
            assert_eq!(serde_json::to_value(metric).expect("JSON"), name);
            let none = Row { user_ns: None, elapsed_ns: 0, ..Row::default() };
            assert_eq!(metric.value_in(&none, by), None, "{name}");
        }
        let readers = [3000, 5000].map(|ns| ReaderRow { elapsed_ns: Some(ns), ..completed() });
        let started =
            Row { elapsed_ns: 90_000, bytes: 1000, readers: Some(readers.into()), ..Row::default() };
        assert_eq!(
            Metric::Elapsed.value_in(&started, by).map(f64::round),
            Some(4000.0),
            "what was set up before is not in it"
        );
        assert_eq!(Metric::ElapsedPerByte.value_in(&started, by).map(f64::round), Some(4.0));
        let error = "speed".parse::<Metric>().expect_err("no metric");
        assert!(
            error.starts_with("'speed' cannot be compared; write elapsed, elapsed-per-byte, cpu"),
            "{error}"
        );
    }
}
