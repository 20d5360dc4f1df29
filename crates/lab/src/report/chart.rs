//! Charts of a study: a figure against a factor that is numeric, one line for each other cell.
//!
//! Must not know: how a chart is drawn, what a page says besides.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::judge::stats::Interval;
use crate::report::summary::{CellSummary, StudySummary};
use crate::study::results::usual;
use crate::study::{Level, SOAKER, StudyResult};

/// More lines are one blur.
const LINES_MAX: usize = 40;

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

/// Results of a copy that are drawn where a study declares none: its bandwidth, and the CPU time of a byte by the best
/// measure that there is.
const DRAWN: [&str; 3] = ["bandwidth", "soaker_cpu", "cpu"];

/// The charts of a study.
pub fn of_study(study: &StudySummary) -> Vec<Chart> {
    let results = drawn_results(study);
    let factors = study.varied().into_iter().filter(|factor| is_numeric(study, factor));
    factors
        .flat_map(|factor| results.iter().filter_map(move |result| of_factor(study, factor, result)))
        .collect()
}

/// Those that the study has declared; of the usual ones two.
fn drawn_results(study: &StudySummary) -> Vec<&StudyResult> {
    let has = |result: &&StudyResult| study.cells.iter().any(|cell| cell.results.contains_key(&result.name));
    let with_values = study.results.iter().filter(has);
    if study.results != usual() {
        return with_values.collect();
    }
    let drawn = with_values.filter(|result| DRAWN.contains(&result.name.as_str()));
    let drawn: Vec<&StudyResult> = drawn.collect();
    let by_soaker = drawn.iter().any(|result| result.name == "soaker_cpu");
    drawn.into_iter().filter(|result| !(by_soaker && result.name == "cpu")).collect()
}

fn of_factor(study: &StudySummary, factor: &str, result: &StudyResult) -> Option<Chart> {
    let others: Vec<&String> = study.varied().into_iter().filter(|name| *name != factor).collect();
    let unit = AxisUnit::of_result(study, result);
    let mut lines: BTreeMap<Vec<&Level>, Vec<ChartPoint>> = BTreeMap::new();
    for cell in study.cells.iter().filter(|cell| is_by_soaker(result) || !is_soaked(cell)) {
        let sample = cell.results.get(&result.name);
        let Some((sample, x)) = sample.zip(cell.asked.get(factor).and_then(Level::value)) else { continue };
        let scaled = |interval: Interval| Interval {
            low: interval.low * unit.scale,
            high: interval.high * unit.scale,
        };
        let key = others.iter().filter_map(|name| cell.asked.get(*name)).collect();
        let point = ChartPoint { x, y: sample.median * unit.scale, interval: sample.interval.map(scaled) };
        lines.entry(key).or_default().push(point);
    }
    let label = |key: Vec<&Level>| -> String {
        let words = others.iter().zip(key).map(|(name, level)| format!("{name} {level}"));
        Some(words.collect::<Vec<_>>().join(", ")).filter(|it| !it.is_empty()).unwrap_or(study.study.clone())
    };
    let lines = lines.into_iter().map(|(key, points)| (label(key), points)).collect();
    let chart = Chart::from_lines(&format!("{} against {factor}", result.label), factor, unit.name, lines)?;
    let is_size = study.cells.iter().any(|cell| cell.asked.get(factor).is_some_and(Level::is_size));
    Some(Chart { x_kind: if is_size { "bytes" } else { "number" }, ..chart })
}

/// Whether a result is found only in runs with the soaker.
fn is_by_soaker(result: &StudyResult) -> bool {
    result.from.starts_with("soaker.") || result.from == "remaining_cpu_ns"
}

/// The unit of an axis, and its part of the result's own.
#[derive(Clone, Copy, Debug)]
struct AxisUnit<'study> {
    name: &'study str,
    scale: f64,
}

impl<'study> AxisUnit<'study> {
    /// Times are shown in the unit of the largest one.
    fn of_result(study: &StudySummary, result: &'study StudyResult) -> AxisUnit<'study> {
        let medians = study.cells.iter().filter_map(|cell| cell.median(&result.name));
        let largest = medians.fold(0.0, f64::max);
        match result.unit.as_str() {
            "ns" if largest >= 1e9 => AxisUnit { name: "s", scale: 1e-9 },
            "ns" if largest >= 1e6 => AxisUnit { name: "ms", scale: 1e-6 },
            "ns" if largest >= 1e3 => AxisUnit { name: "µs", scale: 1e-3 },
            "bytes/s" => AxisUnit { name: "MB/s", scale: 1e-6 },
            unit => AxisUnit { name: unit, scale: 1.0 },
        }
    }
}

fn is_numeric(study: &StudySummary, factor: &str) -> bool {
    let value = |cell: &CellSummary| cell.asked.get(factor).and_then(Level::value);
    study.cells.iter().all(|cell| value(cell).is_some_and(f64::is_finite))
}

/// With the soaker a run is not as fast.
pub(super) fn is_soaked(cell: &CellSummary) -> bool {
    cell.asked.get(SOAKER).is_some_and(|level| level.to_string() != "off")
}

#[cfg(test)]
mod tests;
