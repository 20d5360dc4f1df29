//! The values of a figure as they are found, gathered by their places, and put into a chart.
//!
//! Must not know: where they were found.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::FieldRow;
use crate::judge::stats::{self, Interval};
use crate::report::chart::{
    AxisUnit, Chart, ChartKind, ChartLine, ChartPoint, LineOrigin, PointLine, with_unit,
};
use crate::report::summary::SEED;
use crate::study::{Level, LogAxes, StudyFigure};

/// The levels of factors, in the order of their study.
pub(super) type FactorOrders = BTreeMap<String, Vec<Level>>;

/// A place on the first axis.
#[derive(Clone, Debug)]
pub(super) struct AxisPlace {
    /// As it is written.
    level: Level,
    x: f64,
    unit: &'static str,
}

/// Values at a place.
#[derive(Clone, Debug)]
pub(super) struct FoundPoint {
    place: AxisPlace,
    y: f64,
    interval: Option<Interval>,
    /// The values whose median it is.
    pub values: Vec<f64>,
}

/// A line as it is found.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundLine {
    /// The name of its result, or of what was published.
    pub name: String,
    /// The levels that make it a line, and their factors.
    pub levels: Vec<Level>,
    /// See `levels`.
    pub factors: Vec<String>,
    /// Where its values come from.
    pub origin: LineOrigin,
    /// Its values.
    pub points: Vec<FoundPoint>,
}

/// The names and units of a figure's axes.
#[derive(Clone, Debug)]
pub(super) struct AxisWords {
    pub x_label: String,
    pub x_unit: String,
    pub y_label: String,
    pub y_unit: String,
    /// Lines are named by their results.
    pub names_results: bool,
    /// The levels of the first axis in the order of the study.
    pub order: Vec<Level>,
}

/// Rows with the same levels of some factors.
pub(super) struct RowsOfLevels<'rows, 'row> {
    pub levels: Vec<Level>,
    pub rows: Vec<&'rows FieldRow<'row>>,
}

/// Values by their places.
#[derive(Default)]
pub(super) struct GatheredValues {
    groups: BTreeMap<String, GatheredPoint>,
}

#[derive(Default)]
struct GatheredPoint {
    places: Vec<AxisPlace>,
    values: Vec<f64>,
}

impl AxisPlace {
    pub fn at(x: f64) -> AxisPlace {
        AxisPlace { level: Level::from(x.to_string().as_str()), x, unit: "" }
    }

    pub fn of_level(level: &Level) -> AxisPlace {
        let quantity = level.quantity();
        AxisPlace {
            level: level.clone(),
            x: quantity.map_or(f64::NAN, |quantity| quantity.value),
            unit: quantity.map_or("", |quantity| quantity.unit),
        }
    }
}

impl FoundPoint {
    pub fn of_one(place: AxisPlace, y: f64) -> FoundPoint {
        FoundPoint { place, y, interval: None, values: vec![y] }
    }

    /// A published value, with the ends that were published, too.
    pub fn published(place: AxisPlace, y: f64, interval: Option<Interval>) -> FoundPoint {
        FoundPoint { interval, ..FoundPoint::of_one(place, y) }
    }

    /// Its place as a number.
    pub fn x(&self) -> f64 {
        self.place.x
    }
}

impl GatheredValues {
    /// Adds a value to those of a group.
    pub fn add(&mut self, group: String, place: AxisPlace, value: f64) {
        let group = self.groups.entry(group).or_default();
        group.places.push(place);
        group.values.push(value);
    }

    /// A point of each group: its medians.
    pub fn points(self) -> Vec<FoundPoint> {
        let point = |group: GatheredPoint| {
            let xs: Vec<f64> = group.places.iter().map(|place| place.x).collect();
            let first = group.places.first()?;
            let x = stats::median(&xs).unwrap_or(first.x);
            Some(FoundPoint {
                place: AxisPlace { x, ..first.clone() },
                y: stats::median(&group.values)?,
                interval: stats::median_interval(&group.values, SEED),
                values: group.values,
            })
        };
        self.groups.into_values().filter_map(point).collect()
    }
}

/// Parts rows by the levels of factors, as people order them.
pub(super) fn by_levels<'rows, 'row>(
    rows: &'rows [FieldRow<'row>],
    factors: &[String],
    orders: &FactorOrders,
) -> Vec<RowsOfLevels<'rows, 'row>> {
    let mut groups: BTreeMap<Vec<Level>, Vec<&FieldRow<'row>>> = BTreeMap::new();
    for row in rows {
        let level = |name: &String| row.row.asked.get(name).cloned().unwrap_or_default();
        groups.entry(factors.iter().map(level).collect()).or_default().push(row);
    }
    let groups = groups.into_iter().map(|(levels, rows)| RowsOfLevels { levels, rows });
    let mut groups: Vec<RowsOfLevels<'_, '_>> = groups.collect();
    let order = |factor: &String| orders.get(factor).map_or(&[][..], Vec::as_slice);
    groups.sort_by(|one, other| {
        let levels = factors.iter().zip(one.levels.iter().zip(&other.levels));
        let each = levels.map(|(factor, (one, other))| by_order(order(factor), one, other));
        each.fold(Ordering::Equal, Ordering::then)
    });
    groups
}

/// Numbers by their values, words in the study's order, others behind.
fn by_order(order: &[Level], one: &Level, other: &Level) -> Ordering {
    let place = |level: &Level| order.iter().position(|known| known == level).unwrap_or(order.len());
    match (one.value(), other.value()) {
        (None, None) => place(one).cmp(&place(other)).then_with(|| one.cmp(other)),
        _ => one.by_value(other),
    }
}

/// Puts lines into a chart.
pub(super) fn chart(figure: &StudyFigure, mut lines: Vec<FoundLine>, words: &AxisWords) -> Chart {
    if figure.has_names() {
        lines.iter_mut().for_each(|line| line.points.retain(|point| point.y.is_finite()));
    } else {
        let is_finite = |point: &FoundPoint| point.place.x.is_finite() && point.y.is_finite();
        lines.iter_mut().for_each(|line| line.points.retain(is_finite));
    }
    lines.retain(|line| !line.points.is_empty());
    let points = || lines.iter().flat_map(|line| &line.points);
    let y_unit =
        AxisUnit::from_largest(&words.y_unit, points().map(|point| point.y.abs()).fold(0.0, f64::max));
    let own_unit = points().map(|point| point.place.unit).find(|unit| !unit.is_empty());
    let x_unit = if words.x_unit.is_empty() { own_unit.unwrap_or("") } else { &words.x_unit };
    let is_size = x_unit == "bytes";
    let x_unit =
        AxisUnit::from_largest(x_unit, points().map(|point| point.place.x.abs()).fold(0.0, f64::max));
    for point in lines.iter_mut().flat_map(|line| &mut line.points) {
        point.y *= y_unit.scale;
        point.place.x *= x_unit.scale;
        if let Some(interval) = &mut point.interval {
            *interval = Interval { low: interval.low * y_unit.scale, high: interval.high * y_unit.scale };
        }
    }
    let chart = match figure.kind {
        ChartKind::Parts => of_parts(lines, &words.order),
        ChartKind::Bars | ChartKind::Heat => of_names(lines, figure, words),
        _ => of_places(lines, words),
    };
    let is_log = match figure.log {
        None => chart.is_log,
        Some(axes) => matches!(axes, LogAxes::X | LogAxes::Both),
    };
    let (first, last) = (chart.xs.first().copied(), chart.xs.last().copied());
    Chart {
        name: figure.name.clone(),
        kind: figure.kind,
        title: datapump::shown(figure.title.as_bytes()),
        x_label: with_unit(&words.x_label, if is_size { "" } else { x_unit.name }),
        x_kind: if is_size { "bytes" } else { "number" },
        is_log: is_log && first.is_some_and(|first| first > 0.0) && last > first,
        y_label: with_unit(&words.y_label, y_unit.name),
        y_is_log: matches!(figure.log, Some(LogAxes::Y | LogAxes::Both)),
        ..chart
    }
}

impl FoundLine {
    /// In a legend.
    pub fn label(&self, names_results: bool) -> String {
        let levels = self.factors.iter().zip(&self.levels).map(|(factor, level)| format!("{factor} {level}"));
        let name = (names_results || self.levels.is_empty() || self.origin != LineOrigin::Measured)
            .then(|| self.name.clone());
        let words: Vec<String> = name.into_iter().chain(levels).collect();
        words.join(", ")
    }
}

fn of_places(lines: Vec<FoundLine>, words: &AxisWords) -> Chart {
    let lines = lines.iter().map(|line| {
        let point =
            |point: &FoundPoint| ChartPoint { x: point.place.x, y: point.y, interval: point.interval };
        let points = line.points.iter().map(point).collect();
        PointLine { label: line.label(words.names_results), origin: line.origin, points }
    });
    Chart::over_places(lines.collect())
}

/// The distinct places, in their order, those of rows first where two are the same.
fn names(lines: &[FoundLine], order: &[Level]) -> Vec<Level> {
    let mut found: BTreeMap<String, Level> = BTreeMap::new();
    for level in lines.iter().flat_map(|line| &line.points).map(|point| &point.place.level) {
        found.entry(name_key(level)).or_insert_with(|| level.clone());
    }
    let mut names: Vec<Level> = found.into_values().collect();
    names.sort_by(|one, other| by_order(order, one, other));
    names
}

/// A key of a value, however it is written: 64KiB or 65536.
fn name_key(level: &Level) -> String {
    level.value().map_or_else(|| level.to_string(), |value| value.to_string())
}

impl FoundLine {
    fn by_name(&self) -> BTreeMap<String, &FoundPoint> {
        // Of several the first one counts.
        self.points.iter().rev().map(|point| (name_key(&point.place.level), point)).collect()
    }
}

fn of_names(lines: Vec<FoundLine>, figure: &StudyFigure, words: &AxisWords) -> Chart {
    let names = names(&lines, &words.order);
    let keys: Vec<String> = names.iter().map(name_key).collect();
    let line = |line: &FoundLine| {
        let points = line.by_name();
        let at = |key: &String| points.get(key).copied();
        let label = match (figure.kind, line.levels.first()) {
            (ChartKind::Heat, Some(level)) => level.to_string(),
            _ => line.label(words.names_results),
        };
        ChartLine {
            label: datapump::shown(label.as_bytes()),
            origin: line.origin,
            values: keys.iter().map(|key| at(key).map(|point| point.y)).collect(),
            lows: keys.iter().map(|key| Some(at(key)?.interval?.low)).collect(),
            highs: keys.iter().map(|key| Some(at(key)?.interval?.high)).collect(),
        }
    };
    Chart { lines: lines.iter().map(line).collect(), x_names: shown(&names), ..Chart::default() }
}

fn shown(names: &[Level]) -> Vec<String> {
    names.iter().map(|name| datapump::shown(name.to_string().as_bytes())).collect()
}

/// A bar for each place and each combination of levels, a part for each result. What was published has bars of its own.
fn of_parts(lines: Vec<FoundLine>, order: &[Level]) -> Chart {
    let places = names(&lines, order);
    let by_name: Vec<BTreeMap<String, &FoundPoint>> = lines.iter().map(FoundLine::by_name).collect();
    let mut bars: Vec<String> = Vec::new();
    let mut parts: Vec<ChartLine> = Vec::new();
    for place in &places {
        for (line, points) in lines.iter().zip(&by_name) {
            let Some(found) = points.get(&name_key(place)) else { continue };
            let levels = line.levels.iter().map(Level::to_string);
            let bar: Vec<String> = std::iter::once(place.to_string()).chain(levels).collect();
            let bar = datapump::shown(bar.join(", ").as_bytes());
            let at = bars.iter().position(|known| *known == bar).unwrap_or_else(|| {
                bars.push(bar);
                bars.len() - 1
            });
            let label = datapump::shown(line.name.as_bytes());
            let part = match parts.iter().position(|part| part.label == label && part.origin == line.origin) {
                Some(part) => part,
                None => {
                    parts.push(ChartLine { label, origin: line.origin, ..ChartLine::default() });
                    parts.len() - 1
                }
            };
            parts[part].values.resize(at + 1, None);
            parts[part].values[at] = Some(found.y);
        }
    }
    parts.iter_mut().for_each(|part| part.values.resize(bars.len(), None));
    Chart { lines: parts, x_names: bars, ..Chart::default() }
}
