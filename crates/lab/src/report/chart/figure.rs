//! A figure that a study declares, as a chart of its rows: medians with their intervals, and published values beside.
//!
//! Must not know: how a chart is drawn, what a page says besides.

mod beside;
mod fitted;
mod found;
mod steps;

use std::collections::BTreeSet;

use serde_json::Value;

use self::beside::published_lines;
pub use self::fitted::ChartFit;
use self::found::{AxisPlace, FactorOrders, FoundLine, FoundPoint};
use super::{Chart, ChartKind, LineOrigin, is_by_soaker, is_soaked};
use crate::report::summary::results::ResultReader;
use crate::row::Row;
use crate::study::{BINARY, FigureValue, Level, SOAKER, Study, StudyFigure, StudyResult};

/// Which rows may be in a figure.
#[derive(Clone, Copy, Debug, Default)]
pub struct TakenRows {
    /// Disturbed runs, too.
    pub keep_disturbed: bool,
    /// Runs of several builds, machines and kernels in one figure.
    pub mixed: bool,
}

/// A row with its fields.
struct FieldRow<'rows> {
    row: &'rows Row,
    fields: Value,
}

/// The first axis of a figure.
enum FirstAxis {
    Factor(String),
    Result(StudyResult),
    /// The values themselves.
    Own,
}

/// A figure of a study, its values looked up.
pub struct FigureOfStudy<'study> {
    figure: &'study StudyFigure,
    x: FirstAxis,
    /// The levels of the study's factors, in its order.
    orders: FactorOrders,
    drawn: Vec<DrawnResult>,
}

/// A result that is drawn.
struct DrawnResult {
    result: StudyResult,
    origin: LineOrigin,
}

impl<'study> FigureOfStudy<'study> {
    /// Looks up the values of a figure, which a study was checked to have.
    pub fn new(figure: &'study StudyFigure, study: Option<&Study>) -> FigureOfStudy<'study> {
        let result = |value: &FigureValue| match value {
            FigureValue::Name(name) => study.and_then(|study| study.result(name)),
            FigureValue::Field(field) => Some(field.clone()),
        };
        let drawn = |values: &[FigureValue], origin| -> Vec<DrawnResult> {
            values.iter().filter_map(result).map(|result| DrawnResult { result, origin }).collect()
        };
        let x = match &figure.x {
            None => FirstAxis::Own,
            Some(value) => match (value, result(value)) {
                (_, Some(result)) => FirstAxis::Result(result),
                (FigureValue::Name(name), None) => FirstAxis::Factor(name.clone()),
                (FigureValue::Field(field), None) => FirstAxis::Result(field.clone()),
            },
        };
        let mut all = drawn(&figure.y, LineOrigin::Measured);
        all.extend(drawn(&figure.forecast, LineOrigin::Forecast));
        let factors = study.iter().flat_map(|study| &study.factors);
        let orders = factors.map(|factor| (factor.name.clone(), factor.levels.clone())).collect();
        FigureOfStudy { figure, x, orders, drawn: all }
    }

    /// The chart of these rows of the study.
    pub fn chart(&self, rows: &[&Row], taken: TakenRows) -> Chart {
        let mut notes = self.figure.notes.clone();
        let is_drawn = |row: &&Row| self.is_chosen(row) && self.is_drawn(row);
        let chosen: Vec<&Row> = rows.iter().copied().filter(is_drawn).collect();
        let all = chosen.len();
        let mut chosen: Vec<&Row> =
            chosen.into_iter().filter(|row| taken.keep_disturbed || row.disturbance().is_none()).collect();
        if chosen.len() < all {
            notes.push(format!("{} of {all} runs are disturbed and left out", all - chosen.len()));
        }
        if let Some(words) = mixture(&chosen).filter(|_| !taken.mixed) {
            notes.push(words);
            chosen.clear();
        }
        let rows: Vec<FieldRow<'_>> =
            chosen.into_iter().map(|row| FieldRow { row, fields: self.fields(row) }).collect();
        let mut lines = self.measured(&rows);
        let mut fits = Vec::new();
        if let Some(model) = self.figure.fit {
            let found = fitted::fitted(model, &lines, self.names_results());
            lines.extend(found.lines);
            notes.extend(found.notes);
            fits = found.fits;
        }
        lines.extend(self.published(&mut notes));
        Chart { notes, fits, ..found::chart(self.figure, lines, &self.units()) }
    }

    /// The fields of a row that are drawn: all those of many rows would take gigabytes.
    fn fields(&self, row: &Row) -> Value {
        let x = match &self.x {
            FirstAxis::Result(result) => Some(result),
            _ => None,
        };
        let results = self.drawn.iter().map(|drawn| &drawn.result).chain(x);
        let paths = results.flat_map(|result| std::iter::once(&result.from).chain(&result.per));
        let names: BTreeSet<&str> = paths.filter_map(|path| path.split(['.', '[']).next()).collect();
        let mut fields = row.fields();
        if let Some(all) = fields.as_object_mut() {
            all.retain(|name, _| names.contains(name.as_str()));
        }
        fields
    }

    /// Whether one of the results is found in runs with the soaker as in this one, or in those without.
    fn is_drawn(&self, row: &Row) -> bool {
        self.drawn.iter().any(|drawn| self.takes_soaked(drawn) || !is_soaked(&row.asked))
    }

    /// With the soaker a run is not as fast, and without it there is no CPU time by it.
    fn takes_soaked(&self, drawn: &DrawnResult) -> bool {
        is_by_soaker(&drawn.result) || self.figure.cells.contains_key(SOAKER)
    }

    fn is_chosen(&self, row: &Row) -> bool {
        let has = |(factor, levels): (&String, &Vec<Level>)| {
            row.asked.get(factor).is_some_and(|level| levels.contains(level))
        };
        row.is_completed() && self.figure.cells.iter().all(has)
    }

    /// Factors whose levels make lines: those that the figure says, else all that vary but that of the first axis. Programs
    /// that are compared are never in one median.
    fn series(&self, rows: &[FieldRow<'_>]) -> Vec<String> {
        let own = match &self.x {
            FirstAxis::Factor(name) => Some(name),
            _ => None,
        };
        let Some(first) = rows.first() else { return self.figure.series.clone().unwrap_or_default() };
        let varies = |name: &&String| {
            rows.iter().any(|other| other.row.asked.get(*name) != first.row.asked.get(*name))
        };
        // Rows of before may lack a factor that later ones have.
        let factors: BTreeSet<&String> = rows.iter().flat_map(|row| row.row.asked.keys()).collect();
        let factors = factors.into_iter().filter(|name| Some(*name) != own && *name != SOAKER).filter(varies);
        match &self.figure.series {
            None => factors.cloned().collect(),
            Some(series) => {
                let binary = factors.filter(|name| *name == BINARY && !series.contains(name));
                series.iter().chain(binary).cloned().collect()
            }
        }
    }

    fn measured(&self, rows: &[FieldRow<'_>]) -> Vec<FoundLine> {
        let series = self.series(rows);
        let mut lines = Vec::new();
        for drawn in &self.drawn {
            let Some(y) = ResultReader::new(&drawn.result) else { continue };
            let by_soaker = self.takes_soaked(drawn);
            for line in found::by_levels(rows, &series, &self.orders) {
                let rows = line.rows.iter().copied().filter(|row| by_soaker || !is_soaked(&row.row.asked));
                let rows: Vec<&FieldRow<'_>> = rows.collect();
                let points = match self.figure.kind {
                    ChartKind::Histogram => steps::histogram(&rows, &y),
                    ChartKind::Distribution => steps::distribution(&rows, &y),
                    _ => self.points(&rows, &y),
                };
                lines.push(FoundLine {
                    name: drawn.result.label.clone(),
                    levels: line.levels,
                    factors: series.clone(),
                    origin: drawn.origin,
                    points,
                });
            }
        }
        lines
    }

    fn points(&self, rows: &[&FieldRow<'_>], y: &ResultReader<'_>) -> Vec<FoundPoint> {
        let mut gathered = found::GatheredValues::default();
        let x = match &self.x {
            FirstAxis::Result(result) => ResultReader::new(result),
            _ => None,
        };
        for row in rows {
            match (&self.x, &x) {
                (FirstAxis::Factor(name), _) => {
                    let level = row.row.asked.get(name);
                    if let Some((level, y)) = level.zip(y.value(&row.fields)) {
                        gathered.add(level.to_string(), AxisPlace::of_level(level), y);
                    }
                }
                (_, Some(x)) if x.is_list() => {
                    let pairs = x.each(&row.fields).into_iter().zip(y.each(&row.fields));
                    for (x, y) in pairs.filter_map(|(x, y)| Some((x?, y?))) {
                        gathered.add(x.to_string(), AxisPlace::at(x), y);
                    }
                }
                (_, Some(x)) => {
                    if let Some((x, y)) = x.value(&row.fields).zip(y.value(&row.fields)) {
                        gathered.add(format!("{:?}", row.row.asked), AxisPlace::at(x), y);
                    }
                }
                _ => {}
            }
        }
        gathered.points()
    }

    fn published(&self, notes: &mut Vec<String>) -> Vec<FoundLine> {
        let mut lines = Vec::new();
        let factor = match self.figure.series.as_deref() {
            Some([factor]) => Some(factor.as_str()),
            _ => None,
        };
        for line in &self.figure.published {
            match published_lines(line, self.figure.has_names(), factor) {
                Ok(found) => lines.extend(found),
                Err(error) => notes.push(error.to_string()),
            }
        }
        lines
    }

    /// Whether lines are named by their results: there are several.
    fn names_results(&self) -> bool {
        self.drawn.iter().filter(|drawn| drawn.origin == LineOrigin::Measured).count() > 1
    }

    fn units(&self) -> found::AxisWords {
        let y = self.drawn.first().map(|drawn| &drawn.result);
        let several = self.names_results();
        let x = match &self.x {
            FirstAxis::Factor(name) => {
                let level = self.orders.get(name).and_then(|levels| levels.first()?.quantity());
                (name.replace('_', " "), level.map_or(String::new(), |level| level.unit.into()))
            }
            FirstAxis::Result(result) => (result.label.clone(), result.unit.clone()),
            FirstAxis::Own => y.map(|y| (y.label.clone(), y.unit.clone())).unwrap_or_default(),
        };
        let (y_label, y_unit) = match self.figure.kind {
            ChartKind::Histogram => ("count".into(), "1".into()),
            ChartKind::Distribution => ("part of all runs".into(), "1".into()),
            _ => (
                y.filter(|_| !several).map(|y| y.label.clone()).unwrap_or_default(),
                y.map(|y| y.unit.clone()).unwrap_or_default(),
            ),
        };
        let order = match &self.x {
            FirstAxis::Factor(name) => self.orders.get(name).cloned().unwrap_or_default(),
            _ => Vec::new(),
        };
        found::AxisWords { x_label: x.0, x_unit: x.1, y_label, y_unit, names_results: several, order }
    }
}

/// Why rows are not drawn in one figure.
pub fn mixture(rows: &[&Row]) -> Option<String> {
    let distinct = |field: fn(&Row) -> Option<&str>| -> usize {
        rows.iter().filter_map(|row| field(row)).filter(|it| !it.is_empty()).collect::<BTreeSet<_>>().len()
    };
    let is_compared = rows.iter().any(|row| row.asked.contains_key(BINARY));
    let builds = if is_compared { 1 } else { distinct(|row| Some(&row.build)) };
    let found = [
        (builds, "builds"),
        (distinct(|row| row.machine_id.as_deref()), "machines"),
        (distinct(|row| Some(&row.kernel)), "kernels"),
    ];
    let (count, of) = found.into_iter().find(|(count, _)| *count > 1)?;
    Some(format!(
        "not drawn: the rows are of {count} {of}, and one figure of them would show no single one; give a file of each by \
         itself, or --mixed"
    ))
}

#[cfg(test)]
mod tests;
