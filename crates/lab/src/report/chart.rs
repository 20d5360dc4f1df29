//! A chart: what is drawn, as data. One definition for the drawing that a page has by a script and for that of a file.
//!
//! Must not know: how a chart is drawn, where its values come from, what a page says besides.

mod figure;
pub(super) mod series;
pub(super) mod thin;
mod usual;

use serde::Serialize;

use crate::judge::cost::{CostPart, predict};
use crate::judge::stats::Interval;
pub use crate::study::ChartKind;
pub use figure::{ChartFit, TakenRows};
pub(super) use figure::{FigureOfStudy, mixture};
use usual::is_by_soaker;
pub(super) use usual::{is_soaked, of_study};

/// More lines are one blur.
const LINES_MAX: usize = 40;

/// Where the values of a line come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineOrigin {
    /// Rows.
    #[default]
    Measured,
    /// A published table: hollow marks, dashed lines.
    Published,
    /// A formula: a thin line without marks.
    Formula,
    /// A forecast that was written down before the run: a dotted line.
    Forecast,
}

/// What a chart shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Chart {
    /// Its name, where a file is made of it.
    pub name: String,
    /// How it is drawn.
    pub kind: ChartKind,
    /// Above it.
    pub title: String,
    /// What goes to the right.
    pub x_label: String,
    /// `bytes`, `number` or `seconds`.
    pub x_kind: &'static str,
    /// Whether each step to the right is a factor.
    pub is_log: bool,
    /// The upright axis; of a heat map, its colours.
    pub y_label: String,
    /// Whether each step up is a factor.
    pub y_is_log: bool,
    /// Places on the first axis, ascending; empty where there are names.
    pub xs: Vec<f64>,
    /// The names on the first axis of bars, parts and heat maps.
    pub x_names: Vec<String>,
    /// One line for each cell, as long as `xs` or `x_names`.
    pub lines: Vec<ChartLine>,
    /// Lines that were left out.
    pub left_out: usize,
    /// Models that were fitted to its lines.
    pub fits: Vec<ChartFit>,
    /// Sentences below it, for the reader.
    pub notes: Vec<String>,
}

/// A line of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChartLine {
    /// Which cell.
    pub label: String,
    /// Where its values come from.
    pub origin: LineOrigin,
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

/// Values for a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointLine {
    /// Which cell.
    pub label: String,
    /// Where they come from.
    pub origin: LineOrigin,
    /// The values.
    pub points: Vec<ChartPoint>,
}

impl Chart {
    /// Puts lines over one axis, which has steps that are factors where it is long.
    pub fn over_places(mut lines: Vec<PointLine>) -> Chart {
        let is_finite = |point: &ChartPoint| point.x.is_finite() && point.y.is_finite();
        lines.iter_mut().for_each(|line| line.points.retain(is_finite));
        lines.retain(|line| !line.points.is_empty());
        let left_out = lines.len().saturating_sub(LINES_MAX);
        lines.truncate(LINES_MAX);
        let mut xs: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let ends = xs.first().zip(xs.last());
        Chart {
            x_kind: "number",
            is_log: ends.is_some_and(|(first, last)| *first > 0.0 && last / first >= 8.0),
            lines: lines.iter().map(|line| line.over(&xs)).collect(),
            xs,
            left_out,
            ..Chart::default()
        }
    }

    /// Adds what a cost model forecast for each place, before the runs were made; with the name of the one measured line.
    pub fn add_forecast(&mut self, part: &CostPart) {
        let values = self.xs.iter().map(|size| Some(predict(part, *size))).collect();
        let measured = self.lines.iter().find(|line| line.origin == LineOrigin::Measured);
        let label = measured.map_or_else(|| "forecast".into(), |line| line.label.clone());
        self.lines.push(ChartLine { label, origin: LineOrigin::Forecast, values, ..ChartLine::default() });
    }

    /// The chart of measured lines; none where they are of one place.
    pub fn from_lines(
        title: &str,
        x_label: &str,
        y_label: &str,
        lines: Vec<(String, Vec<ChartPoint>)>,
    ) -> Option<Chart> {
        let line = |(label, points)| PointLine { label, points, ..PointLine::default() };
        let chart = Chart::over_places(lines.into_iter().map(line).collect());
        (chart.xs.len() > 1).then(|| Chart {
            title: datapump::shown(title.as_bytes()),
            x_label: datapump::shown(x_label.as_bytes()),
            y_label: y_label.into(),
            ..chart
        })
    }
}

/// The unit of an axis, and its part of a result's own.
#[derive(Clone, Copy, Debug)]
struct AxisUnit<'unit> {
    name: &'unit str,
    scale: f64,
}

/// The words of an axis.
fn with_unit(label: &str, unit: &str) -> String {
    match (label, unit) {
        (label, "" | "1") => label.into(),
        ("", unit) => unit.into(),
        (label, unit) => format!("{label}, {unit}"),
    }
}

impl AxisUnit<'_> {
    /// Times are shown in the unit of the largest one.
    fn from_largest(unit: &str, largest: f64) -> AxisUnit<'_> {
        match unit {
            "ns" if largest >= 1e9 => AxisUnit { name: "s", scale: 1e-9 },
            "ns" if largest >= 1e6 => AxisUnit { name: "ms", scale: 1e-6 },
            "ns" if largest >= 1e3 => AxisUnit { name: "µs", scale: 1e-3 },
            "bytes/s" => AxisUnit { name: "MB/s", scale: 1e-6 },
            "bit/s" => AxisUnit { name: "Mbit/s", scale: 1e-6 },
            unit => AxisUnit { name: unit, scale: 1.0 },
        }
    }
}

impl PointLine {
    fn over(&self, xs: &[f64]) -> ChartLine {
        let mut points = self.points.clone();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        let at = |x: &f64| {
            let place = points.partition_point(|point| point.x < *x);
            points.get(place).filter(|point| point.x == *x)
        };
        let ends = |end: fn(&Interval) -> f64| -> Vec<Option<f64>> {
            if points.iter().any(|point| point.interval.is_some()) {
                xs.iter().map(|x| at(x)?.interval.as_ref().map(end)).collect()
            } else {
                Vec::new()
            }
        };
        ChartLine {
            label: datapump::shown(self.label.as_bytes()),
            origin: self.origin,
            values: xs.iter().map(|x| at(x).map(|point| point.y)).collect(),
            lows: ends(|interval| interval.low),
            highs: ends(|interval| interval.high),
        }
    }
}

#[cfg(test)]
mod tests;
