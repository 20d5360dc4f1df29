//! Time series of TCP connections as charts: window, round trip and rate over time, thinned where they are long.
//!
//! TCP.md beside this crate says what the fields mean. Must not know: how they were sampled, how a chart is drawn.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use super::thin::joined;
use super::{Chart, ChartLine};

/// A chart of more points takes seconds to draw.
const POINTS_MAX: usize = 200_000;
/// The most connections that are drawn: those that moved most.
const CONNECTIONS_MAX: usize = 12;

/// A line of the file, as far as it is drawn.
#[derive(Clone, Debug, Deserialize)]
struct SeriesSample {
    time_ns: u64,
    connection: String,
    socket: u64,
    cwnd_segments: u32,
    rtt_us: u32,
    retransmitted_segments: u64,
    bytes_acked: u64,
    bytes_received: u64,
    delivered_bytes_per_second: u64,
}

/// A file of samples.
#[derive(Debug)]
pub struct Series {
    /// For each connection its ends, samples, bytes acknowledged and received, and segments sent again.
    pub connections: Vec<Vec<String>>,
    /// The charts.
    pub charts: Vec<Chart>,
    /// Samples.
    pub samples: usize,
    /// 1 if the last line is cut off.
    pub torn_lines: usize,
}

/// The name of a curve, its unit, and how its value is found in a sample.
#[derive(Clone, Copy)]
struct SeriesMeasure {
    title: &'static str,
    unit: &'static str,
    value: fn(&SeriesSample) -> f64,
}

const MEASURES: [SeriesMeasure; 3] = [
    SeriesMeasure {
        title: "congestion window",
        unit: "segments",
        value: |sample| f64::from(sample.cwnd_segments),
    },
    SeriesMeasure { title: "round trip", unit: "µs", value: |sample| f64::from(sample.rtt_us) },
    SeriesMeasure {
        title: "delivery rate",
        unit: "MB/s",
        value: |sample| sample.delivered_bytes_per_second as f64 / 1e6,
    },
];

/// Whether a file is a time series, by its first line.
pub fn is_series(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(br#"{"v":1,"event":"tcp","#)
}

/// Reads a file.
///
/// Errors: a line that is no sample. A last line without its end is left out.
pub fn read(path: &Path, bytes: &[u8]) -> anyhow::Result<Series> {
    let mut sockets: BTreeMap<u64, Vec<SeriesSample>> = BTreeMap::new();
    let mut torn_lines = 0;
    for (index, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        match serde_json::from_slice::<SeriesSample>(line) {
            Ok(sample) => sockets.entry(sample.socket).or_default().push(sample),
            Err(_) if !line.ends_with(b"\n") => torn_lines += 1,
            Err(error) => {
                let path = datapump::shown(path.as_os_str().as_encoded_bytes());
                return Err(error)
                    .with_context(|| format!("{path}, line {}: this is no sample of TCP", index + 1));
            }
        }
    }
    let mut found: Vec<Vec<SeriesSample>> = sockets.into_values().collect();
    found.iter_mut().for_each(|samples| samples.sort_by_key(|sample| sample.time_ns));
    found.sort_by_key(|samples| std::cmp::Reverse(moved(samples)));
    let samples = found.iter().map(Vec::len).sum();
    let connections = found.iter().map(|samples| row(samples)).collect();
    let charts = MEASURES.iter().filter_map(|measure| chart(&found, *measure)).collect();
    Ok(Series { connections, charts, samples, torn_lines })
}

fn moved(samples: &[SeriesSample]) -> u64 {
    samples.last().map_or(0, |last| last.bytes_acked.max(last.bytes_received))
}

fn row(samples: &[SeriesSample]) -> Vec<String> {
    let last = &samples[samples.len() - 1];
    let counts = [samples.len() as u64, last.bytes_acked, last.bytes_received, last.retransmitted_segments];
    std::iter::once(last.connection.clone()).chain(counts.map(|it| it.to_string())).collect()
}

fn chart(found: &[Vec<SeriesSample>], measure: SeriesMeasure) -> Option<Chart> {
    let SeriesMeasure { title, unit, value } = measure;
    let drawn = &found[..found.len().min(CONNECTIONS_MAX)];
    let points = |samples: &Vec<SeriesSample>| -> Vec<(u64, f64)> {
        samples.iter().map(|sample| (sample.time_ns, value(sample))).collect()
    };
    let lines: Vec<Vec<(u64, f64)>> = drawn.iter().map(points).collect();
    let (times, values) = joined(&lines, POINTS_MAX);
    let label = |samples: &[SeriesSample]| datapump::shown(samples[0].connection.as_bytes());
    let lines = drawn.iter().zip(values);
    Some(Chart {
        title: format!("{title} over time"),
        x_label: "s".into(),
        x_kind: "seconds",
        is_log: false,
        y_label: unit.into(),
        xs: times.into_iter().map(|ns| ns as f64 / 1e9).collect(),
        lines: lines
            .map(|(of, values)| ChartLine { label: label(of), values, ..ChartLine::default() })
            .collect(),
        left_out: found.len() - drawn.len(),
        ..Chart::default()
    })
    .filter(|chart| chart.xs.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_sample_is_told_with_its_line() {
        let path = Path::new("tcp.jsonl");
        let whole = br#"{"v":1,"event":"tcp","time_ns":1,"connection":"a > b","socket":7,"cwnd_segments":10,
            "rtt_us":20,"retransmitted_segments":0,"bytes_acked":5,"bytes_received":6,"delivered_bytes_per_second":9}"#;
        let whole: Vec<u8> = whole.iter().copied().filter(|&byte| byte != b'\n').collect();
        assert!(is_series(&whole) && !is_series(br#"{"v":1,"study":"cpu""#) && !is_series(b""));
        let torn = [&whole[..], b"\n", &whole[..30]].concat();
        let series = read(path, &torn).expect("samples");
        assert_eq!(
            (series.samples, series.torn_lines, series.charts.len()),
            (1, 1, 0),
            "one point is no line"
        );
        assert_eq!(series.connections, [["a > b", "1", "5", "6", "0"]]);
        let wrong = [&whole[..], b"\n{}\n"].concat();
        let error = format!("{:#}", read(path, &wrong).expect_err("no sample"));
        assert!(error.contains("tcp.jsonl, line 2: this is no sample of TCP"), "{error}");
    }
}
