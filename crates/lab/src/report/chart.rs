//! Charts of a study: a figure against a factor that is numeric, one line for each other cell.
//!
//! Must not know: how a chart is drawn, what a page says besides.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judge::stats::Interval;
use crate::report::summary::{CellSummary, StudySummary};
use crate::study::{Level, SOAKER};

/// More lines cannot be told apart.
const LINES_MAX: usize = 40;
const GIB: f64 = (1_u64 << 30) as f64;

/// What a chart shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// Above it.
    pub title: String,
    /// What goes to the right.
    pub x_label: String,
    /// `bytes`, `number` or `seconds`.
    pub x_kind: &'static str,
    /// Whether each step to the right is a factor.
    pub is_log: bool,
    /// What goes up.
    pub y_label: String,
    /// Places on the first axis, ascending.
    pub xs: Vec<f64>,
    /// One line for each cell, as long as `xs`.
    pub lines: Vec<ChartLine>,
    /// Lines that were left out.
    pub left_out: usize,
}

/// A line of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChartLine {
    /// Which cell.
    pub label: String,
    /// Its figures; null where there is none.
    pub values: Vec<Option<f64>>,
    /// The lower ends of their intervals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lows: Vec<Option<f64>>,
    /// The upper ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub highs: Vec<Option<f64>>,
}

/// A figure at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartPoint {
    /// The place.
    pub x: f64,
    /// The figure.
    pub y: f64,
    /// Its interval, if it has one.
    pub interval: Option<Interval>,
}

impl Chart {
    /// Puts lines over one axis; none if there is nothing to draw.
    pub fn from_lines(
        title: &str,
        x_label: &str,
        y_label: &str,
        mut lines: Vec<(String, Vec<ChartPoint>)>,
    ) -> Option<Chart> {
        let is_finite = |point: &ChartPoint| point.x.is_finite() && point.y.is_finite();
        lines.iter_mut().for_each(|(_, points)| points.retain(is_finite));
        lines.retain(|(_, points)| !points.is_empty());
        let left_out = lines.len().saturating_sub(LINES_MAX);
        lines.truncate(LINES_MAX);
        let mut xs: Vec<f64> = lines.iter().flat_map(|(_, points)| points).map(|point| point.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let (first, last) = (*xs.first()?, *xs.last()?);
        if xs.len() < 2 {
            return None;
        }
        let lines = lines.iter().map(|(label, points)| ChartLine::over(&xs, label, points)).collect();
        Some(Chart {
            title: datapump::shown(title.as_bytes()),
            x_label: datapump::shown(x_label.as_bytes()),
            x_kind: "number",
            is_log: first > 0.0 && last / first >= 8.0,
            y_label: y_label.into(),
            xs,
            lines,
            left_out,
        })
    }
}

impl ChartLine {
    fn over(xs: &[f64], label: &str, points: &[ChartPoint]) -> ChartLine {
        let at = |x: &f64| points.iter().find(|point| point.x == *x);
        let ends = |end: fn(&Interval) -> f64| -> Vec<Option<f64>> {
            if points.iter().any(|point| point.interval.is_some()) {
                xs.iter().map(|x| at(x)?.interval.as_ref().map(end)).collect()
            } else {
                Vec::new()
            }
        };
        ChartLine {
            label: datapump::shown(label.as_bytes()),
            values: xs.iter().map(|x| at(x).map(|point| point.y)).collect(),
            lows: ends(|interval| interval.low),
            highs: ends(|interval| interval.high),
        }
    }
}

/// Finds a figure in a cell, with its interval.
type CellMeasure = fn(&CellSummary) -> Option<(f64, Option<Interval>)>;

/// A figure that is drawn, and how it is found in a cell.
#[derive(Clone, Copy)]
struct ChartMeasure {
    title: &'static str,
    unit: &'static str,
    of_cell: CellMeasure,
}

/// The charts of a study.
pub fn of_study(study: &StudySummary) -> Vec<Chart> {
    let by_soaker = study.cells.iter().any(|cell| cell.soaker_cpu_ns_per_byte.is_some());
    let cpu = if by_soaker {
        ChartMeasure { title: "CPU time for a byte, by the soaker", unit: "ns/byte", of_cell: soaker }
    } else {
        ChartMeasure { title: "CPU time for a byte", unit: "ns/byte", of_cell: process }
    };
    let rate = ChartMeasure { title: "bandwidth", unit: "MB/s", of_cell: bandwidth };
    let factors = study.varied().into_iter().filter(|factor| is_numeric(study, factor));
    factors
        .flat_map(|factor| [rate, cpu].map(|measure| of_factor(study, factor, measure)))
        .flatten()
        .collect()
}

fn of_factor(study: &StudySummary, factor: &str, measure: ChartMeasure) -> Option<Chart> {
    let ChartMeasure { title, unit, of_cell } = measure;
    let others: Vec<&String> = study.varied().into_iter().filter(|name| *name != factor).collect();
    let mut lines: BTreeMap<Vec<&Level>, Vec<ChartPoint>> = BTreeMap::new();
    for cell in &study.cells {
        let Some(((y, interval), x)) = of_cell(cell).zip(cell.asked.get(factor).and_then(Level::value))
        else {
            continue;
        };
        let key = others.iter().filter_map(|name| cell.asked.get(*name)).collect();
        lines.entry(key).or_default().push(ChartPoint { x, y, interval });
    }
    let label = |key: Vec<&Level>| -> String {
        let words = others.iter().zip(key).map(|(name, level)| format!("{name} {level}"));
        Some(words.collect::<Vec<_>>().join(", ")).filter(|it| !it.is_empty()).unwrap_or(study.study.clone())
    };
    let lines = lines.into_iter().map(|(key, points)| (label(key), points)).collect();
    let chart = Chart::from_lines(&format!("{title} against {factor}"), factor, unit, lines)?;
    let is_size = study.cells.iter().any(|cell| cell.asked.get(factor).is_some_and(Level::is_size));
    Some(Chart { x_kind: if is_size { "bytes" } else { "number" }, ..chart })
}

fn is_numeric(study: &StudySummary, factor: &str) -> bool {
    let value = |cell: &CellSummary| cell.asked.get(factor).and_then(Level::value);
    study.cells.iter().all(|cell| value(cell).is_some_and(f64::is_finite))
}

/// With the soaker a run is not as fast.
pub(super) fn is_soaked(cell: &CellSummary) -> bool {
    cell.asked.get(SOAKER).is_some_and(|level| level.to_string() != "off")
}

fn bandwidth(cell: &CellSummary) -> Option<(f64, Option<Interval>)> {
    if let Some(reported) = cell.reported_bytes_per_second.filter(|_| cell.bytes == 0) {
        let interval = reported.interval.map(|it| Interval { low: it.low / 1e6, high: it.high / 1e6 });
        return Some((reported.median / 1e6, interval));
    }
    // Readers have the figure of the table: a run holds the start of their server too.
    if cell.reader_ns.is_some() {
        let rate = cell.bytes_per_second.filter(|_| !is_soaked(cell))?;
        return Some((rate / 1e6, None));
    }
    let time = cell.elapsed_ns.filter(|time| time.median > 0.0 && cell.bytes > 0 && !is_soaked(cell))?;
    let rate = |ns: f64| cell.bytes as f64 * 1e3 / ns;
    let interval = time.interval.filter(|it| it.low > 0.0);
    Some((rate(time.median), interval.map(|it| Interval { low: rate(it.high), high: rate(it.low) })))
}

fn process(cell: &CellSummary) -> Option<(f64, Option<Interval>)> {
    let cpu = cell.cpu_seconds_per_gib.filter(|_| !is_soaked(cell))?;
    let ns = |seconds: f64| seconds * 1e9 / GIB;
    Some((ns(cpu.median), cpu.interval.map(|it| Interval { low: ns(it.low), high: ns(it.high) })))
}

fn soaker(cell: &CellSummary) -> Option<(f64, Option<Interval>)> {
    cell.soaker_cpu_ns_per_byte.map(|cpu| (cpu.median, cpu.interval))
}

#[cfg(test)]
mod tests;
