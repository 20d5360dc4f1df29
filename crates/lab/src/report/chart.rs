//! A chart: what is drawn, as data. One definition for the drawing that a page has by a script and for that of a file.
//!
//! Must not know: how a chart is drawn, where its values come from, what a page says besides.

mod usual;

use serde::{Deserialize, Serialize};

use crate::judge::stats::Interval;
pub(super) use usual::{is_soaked, of_study};

/// More lines are one blur.
const LINES_MAX: usize = 40;

/// How values are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// Lines over a numeric axis.
    #[default]
    Lines,
    /// Groups of bars: a group for each name, a bar for each line.
    Bars,
    /// Bars in parts: a bar for each name, a part for each line, the first one lowest.
    Parts,
    /// A heat map: a column for each name, a row for each line, the first one lowest.
    Heat,
    /// Steps: the count in each bin. `xs` are the bins' lower ends.
    Histogram,
    /// The part of all values that lie at or below a place, from 0 to 1, as steps.
    Distribution,
}

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
    /// How.
    pub kind: ChartKind,
    /// Above it.
    pub title: String,
    /// What goes to the right.
    pub x_label: String,
    /// `bytes`, `number` or `seconds`.
    pub x_kind: &'static str,
    /// Whether each step to the right is a factor.
    pub is_log: bool,
    /// What goes up; of a heat map, what its colours are.
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
    /// What a reader should know of it: sentences below it.
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
            ..Chart::default()
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
            ..ChartLine::default()
        }
    }
}

#[cfg(test)]
mod tests;
