//! The part of a chart that is drawn: values that have a place, long lines made short, and sentences on what is left out.
//!
//! Must not know: colours, marks, where on the paper something lies.

use std::ops::Range;

use super::axis::{AxisOptions, SvgAxis, is_drawable};
use super::labels;
use crate::report::chart::thin::joined;
use crate::report::chart::{Chart, ChartKind, ChartLine, LineOrigin};

/// More places than these are closer together than pixels.
const PLACES_MAX: usize = 2000;
/// More names cannot be read.
const NAMES_MAX: usize = 200;

/// A chart as it is drawn.
#[derive(Clone, Debug)]
pub struct DrawnChart {
    /// How.
    pub kind: ChartKind,
    /// Places on the first axis.
    pub xs: Vec<f64>,
    /// The names of the places, where they have names.
    pub names: Vec<String>,
    /// The lines that have a value.
    pub lines: Vec<DrawnLine>,
    /// To the right.
    pub across: SvgAxis,
    /// Upwards; of a heat map, its colours.
    pub upright: SvgAxis,
    /// Sentences for readers.
    pub notes: Vec<String>,
}

/// A line of it.
#[derive(Clone, Debug, Default)]
pub struct DrawnLine {
    /// Which one.
    pub label: String,
    /// Where its values come from.
    pub origin: LineOrigin,
    /// Which colour and mark it has.
    pub slot: usize,
    /// A value for each place.
    pub values: Vec<Option<f64>>,
    /// The ends of their intervals.
    pub intervals: Vec<Option<[f64; 2]>>,
}

/// Which places of a chart are drawn, and on which axes.
struct ChartReading<'chart> {
    chart: &'chart Chart,
    has_names: bool,
    is_x_log: bool,
    is_y_log: bool,
    places: Vec<usize>,
}

impl DrawnChart {
    /// Takes what can be drawn; none if that is nothing.
    pub fn from_chart(chart: &Chart) -> Option<DrawnChart> {
        let reading = ChartReading::of_chart(chart);
        let names = reading.names();
        let mut xs = reading.xs();
        let mut notes = chart.notes.clone();
        let mut lines: Vec<DrawnLine> = chart.lines.iter().map(|line| reading.line(line)).collect();
        lines.retain(|line| line.values.iter().any(Option::is_some));
        if lines.is_empty() {
            return None;
        }
        notes.extend(reading.notes(chart.lines.len() - lines.len()));
        if !reading.has_names && xs.len() > PLACES_MAX {
            notes.push(format!(
                "{} places are drawn as {PLACES_MAX}: of each part the least and the largest value of each line, \
                 without intervals.",
                xs.len()
            ));
            xs = thin(&xs, &mut lines);
        }
        choose_slots(&mut lines);
        let (across, upright) = axes(&reading, &xs, &lines);
        let mut drawn = DrawnChart { kind: chart.kind, xs, names, lines, across, upright, notes };
        if drawn.kind == ChartKind::Histogram {
            let end = drawn.bins().last().map_or(0.0, |bin| bin.end);
            drawn.across.reach(end);
        }
        Some(drawn)
    }

    /// The places of the bins of a histogram. The last one is as wide as the one before.
    pub fn bins(&self) -> Vec<Range<f64>> {
        let starts: Vec<f64> = self.xs.iter().filter_map(|x| self.across.place(*x)).collect();
        let width = match starts[..] {
            [.., before, last] => last - before,
            _ => self.across.step,
        };
        let ends = starts.iter().skip(1).copied().chain(starts.last().map(|last| last + width));
        starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
    }

    /// A place on the first axis in words.
    pub fn x_words(&self, at: usize) -> String {
        match self.names.get(at) {
            Some(name) => labels::cut(name, labels::LABEL_LETTERS_MAX),
            None => self.xs.get(at).map_or(String::new(), |x| self.across.tick_label(*x)),
        }
    }
}

impl<'chart> ChartReading<'chart> {
    fn of_chart(chart: &'chart Chart) -> ChartReading<'chart> {
        let is_by_name = matches!(chart.kind, ChartKind::Bars | ChartKind::Parts | ChartKind::Heat);
        let has_names = is_by_name || (chart.xs.is_empty() && !chart.x_names.is_empty());
        let is_x_log = chart.is_log && !has_names;
        let places = if has_names {
            let count = if chart.x_names.is_empty() { chart.xs.len() } else { chart.x_names.len() };
            (0..count.min(NAMES_MAX)).collect()
        } else {
            (0..chart.xs.len()).filter(|at| is_drawable(chart.xs[*at], is_x_log)).collect()
        };
        // Parts are added up, and logarithms of parts do not add up.
        let is_y_log = chart.y_is_log && chart.kind != ChartKind::Parts;
        ChartReading { chart, has_names, is_x_log, is_y_log, places }
    }

    fn names(&self) -> Vec<String> {
        let name = |at: &usize| match self.chart.x_names.get(*at) {
            Some(name) => name.clone(),
            None => labels::figures(self.chart.xs.get(*at).copied().unwrap_or_default()),
        };
        if self.has_names { self.places.iter().map(name).collect() } else { Vec::new() }
    }

    fn xs(&self) -> Vec<f64> {
        if self.has_names {
            return (1..=self.places.len()).map(|at| at as f64).collect();
        }
        self.places.iter().map(|at| self.chart.xs[*at]).collect()
    }

    fn line(&self, line: &ChartLine) -> DrawnLine {
        let at = |values: &[Option<f64>], at: usize| values.get(at).copied().flatten();
        // Parts are added up: the sum of all lines must have a place, too.
        let lines = if self.chart.kind == ChartKind::Parts { self.chart.lines.len() as f64 } else { 1.0 };
        let has_place =
            |value: &f64| is_drawable(*value, self.is_y_log) && is_drawable(*value * lines, self.is_y_log);
        let value = |place: &usize| at(&line.values, *place).filter(has_place);
        let interval = |place: &usize| {
            let (low, high) = (at(&line.lows, *place)?, at(&line.highs, *place)?);
            // The lower end may lie below the least place of a logarithmic axis: it is drawn to the axis.
            let (low, high) = (low.min(high), low.max(high));
            let is_drawn = is_drawable(low, false) && is_drawable(high, self.is_y_log);
            is_drawn.then_some([low, high])
        };
        DrawnLine {
            label: line.label.clone(),
            origin: line.origin,
            slot: 0,
            values: self.places.iter().map(value).collect(),
            intervals: self.places.iter().map(interval).collect(),
        }
    }

    /// Sentences on what is left out.
    fn notes(&self, empty_lines: usize) -> Vec<String> {
        let chart = self.chart;
        let given = |line: &ChartLine| line.values.iter().flatten().count();
        let taken = |line: &ChartLine| self.line(line).values.iter().flatten().count();
        let values: usize = chart.lines.iter().map(|line| given(line) - taken(line)).sum();
        let names = chart.x_names.len().saturating_sub(self.places.len());
        let mut notes = Vec::new();
        if chart.left_out > 0 {
            notes.push(format!("More lines, left out: {}.", chart.left_out));
        }
        if empty_lines > 0 {
            notes.push(format!("Lines without values: {empty_lines}."));
        }
        if self.has_names && names > 0 {
            notes.push(format!("More names, left out: {names}."));
        } else if values > 0 {
            let log =
                if self.is_x_log || self.is_y_log { ", or not above zero on a logarithmic axis" } else { "" };
            notes.push(format!("Values left out (not finite{log}): {values}."));
        }
        if chart.y_is_log && !self.is_y_log {
            notes.push("Parts are drawn on a linear axis: they add up.".into());
        }
        notes
    }
}

/// Keeps of each part of the places the extremes; returns the places that remain.
fn thin(xs: &[f64], lines: &mut [DrawnLine]) -> Vec<f64> {
    let points = |line: &DrawnLine| -> Vec<(u64, f64)> {
        let values = line.values.iter().enumerate();
        values.filter_map(|(at, value)| Some((at as u64, (*value)?))).collect()
    };
    let long: Vec<Vec<(u64, f64)>> = lines.iter().map(points).collect();
    let (places, values) = joined(&long, PLACES_MAX * lines.len());
    for (line, values) in lines.iter_mut().zip(values) {
        (line.values, line.intervals) = (values, Vec::new());
    }
    places.iter().filter_map(|at| xs.get(*at as usize).or(xs.last()).copied()).collect()
}

/// Lines that are not measured look like the measured line of their label, if there is one.
fn choose_slots(lines: &mut [DrawnLine]) {
    let mut measured: Vec<(String, usize)> = Vec::new();
    let is_measured = |line: &DrawnLine| line.origin == LineOrigin::Measured;
    for (slot, line) in lines.iter_mut().filter(|line| is_measured(line)).enumerate() {
        line.slot = slot;
        measured.push((line.label.clone(), slot));
    }
    let mut others: Vec<(String, usize)> = Vec::new();
    for line in lines.iter_mut().filter(|line| !is_measured(line)) {
        let next = measured.len() + others.len();
        let known = measured.iter().chain(&others).find(|(label, _)| *label == line.label);
        line.slot = known.map_or(next, |(_, slot)| *slot);
        if line.slot == next {
            others.push((line.label.clone(), next));
        }
    }
}

fn axes(reading: &ChartReading<'_>, xs: &[f64], lines: &[DrawnLine]) -> (SvgAxis, SvgAxis) {
    let chart = reading.chart;
    let across = if reading.has_names {
        SvgAxis::of_names(xs.len())
    } else {
        let options =
            AxisOptions { is_log: reading.is_x_log, is_bytes: chart.x_kind == "bytes", has_base: false };
        SvgAxis::across(xs, options)
    };
    let has_base = matches!(chart.kind, ChartKind::Bars | ChartKind::Histogram);
    let options = AxisOptions { is_log: reading.is_y_log, is_bytes: false, has_base };
    let values = lines.iter().flat_map(|line| line.values.iter().flatten().copied());
    if chart.kind == ChartKind::Heat {
        return (across, SvgAxis::of_colours(&values.collect::<Vec<_>>(), options));
    }
    let ends = lines.iter().flat_map(|line| line.intervals.iter().flatten().flatten().copied());
    let ends = ends.filter(|end| is_drawable(*end, reading.is_y_log));
    let mut reached: Vec<f64> = values.chain(ends).collect();
    if chart.kind == ChartKind::Parts {
        reached.extend((0..xs.len()).flat_map(|at| sums(lines, at)));
    }
    (across, SvgAxis::upright(&reached, options))
}

/// The upper ends of the parts of a bar.
fn sums(lines: &[DrawnLine], at: usize) -> Vec<f64> {
    let values = lines.iter().map(|line| line.values.get(at).copied().flatten().unwrap_or_default());
    let summed = values.scan(0.0, |sum, value| {
        *sum += value;
        Some(*sum)
    });
    summed.collect()
}
