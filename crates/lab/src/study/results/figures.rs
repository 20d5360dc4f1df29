//! Figures that a study declares: which of its values are drawn, over what, and which published ones beside them.
//!
//! Must not know: rows, how a figure is drawn.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{FieldPath, StudyResult, published};
use crate::study::{FACTORS, Level, Study, StudyError};

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
    /// Steps: the count in each bin. The places are the bins' lower ends.
    Histogram,
    /// The part of all values that lie at or below a place, from 0 to 1, as steps.
    Distribution,
}

/// Axes on which each step is a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogAxes {
    /// Neither.
    None,
    /// That to the right.
    X,
    /// The upright one.
    Y,
    /// Both.
    Both,
}

/// The values of an axis: a factor or a result by its name, or a field of a row that is no result of the study. With
/// `[*]` the field is a list, and each item a point: of both axes then.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum FigureValue {
    /// A factor (on the first axis) or a result.
    Name(String),
    /// A field.
    Field(StudyResult),
}

/// Values of a published table: of the documents of which tables and text survive, never read off a curve.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedLine {
    /// The table, a file of the folder `golden`.
    pub table: String,
    /// The column of the first axis, and what makes a value of the figure's unit of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub x: String,
    /// Places at which each value holds, where the table has no column of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<f64>,
    /// See `x`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x_times: Option<f64>,
    /// The column that is drawn, and what makes a value of the result's unit of it.
    pub y: String,
    /// See `y`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_times: Option<f64>,
    /// The column whose words make a line each; absent for one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    /// The rows that have these words in these columns; all where there are none.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub rows: BTreeMap<String, String>,
    /// Columns of the least and the greatest value, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<String>,
    /// See `low`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<String>,
    /// Our names of words in the columns of `x` and `series`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// In the legend, before the word of `series`.
    pub label: String,
    /// Its values are those of a formula, not of a measurement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_formula: bool,
}

/// A model that is fitted to the measured lines of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureFit {
    /// CPU time for a byte over the request size: Cb + Cr / size.
    Cost,
    /// Latency over the number of readers: max(R1, n D).
    LevelOff,
}

/// A figure as it is written in a study.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFigure {
    /// The name, of which files are made.
    pub name: String,
    /// Above it.
    pub title: String,
    /// How it is drawn.
    #[serde(default)]
    pub kind: ChartKind,
    /// Logarithmic axes; by a rule where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogAxes>,
    /// Sentences below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The first axis; absent in a histogram and a distribution, whose places are the values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<FigureValue>,
    /// The values that are drawn over it.
    pub y: Vec<FigureValue>,
    /// Results that were forecast before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forecast: Vec<FigureValue>,
    /// Factors whose levels make a line each; every other one that varies where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Vec<String>>,
    /// The runs that have these levels; all where there are none.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub cells: BTreeMap<String, Vec<Level>>,
    /// The model that is fitted to each measured line, and drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<FigureFit>,
    /// Published values beside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedLine>,
}

impl PublishedLine {
    /// Our name of a word of the table.
    pub fn our_name<'name>(&'name self, word: &'name str) -> &'name str {
        self.names.get(word).map_or(word, String::as_str)
    }
}

impl StudyFigure {
    /// Whether its first axis has names rather than places.
    pub fn has_names(&self) -> bool {
        matches!(self.kind, ChartKind::Bars | ChartKind::Parts | ChartKind::Heat)
    }

    /// Whether its places are the values themselves.
    pub fn has_own_places(&self) -> bool {
        matches!(self.kind, ChartKind::Histogram | ChartKind::Distribution)
    }
}

/// Checks the figures of a study.
pub(in crate::study) fn check(study: &Study) -> Result<(), StudyError> {
    check_all(study, &study.figures)
}

/// Checks figures that show runs of a study.
pub(crate) fn check_all(study: &Study, figures: &[StudyFigure]) -> Result<(), StudyError> {
    for (at, figure) in figures.iter().enumerate() {
        let key = format!("figure.{}", figure.name);
        let is_letter =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        let wrong = if figure.name.is_empty() || !figure.name.chars().all(is_letter) {
            Some("a name has small letters, digits and '-', as in cpu-by-size".into())
        } else if figures[..at].iter().any(|other| other.name == figure.name) {
            Some("it is there twice; write each name once".into())
        } else {
            wrong_values(study, figure).or_else(|| wrong_factors(figure)).or_else(|| wrong_published(figure))
        };
        if let Some(wrong) = wrong {
            return Err(study.error(key, wrong));
        }
    }
    Ok(())
}

fn wrong_values(study: &Study, figure: &StudyFigure) -> Option<String> {
    let is_factor = |name: &str| FACTORS.contains(&name);
    match (&figure.x, figure.has_own_places()) {
        (None, false) => return Some("x is not said; write x = \"a factor or a result\"".into()),
        (Some(_), true) => return Some("a histogram and a distribution have no x; leave it out".into()),
        (Some(FigureValue::Name(name)), _) if is_factor(name) => {}
        (Some(_), _) if figure.has_names() => {
            return Some("bars, parts and heat maps have a factor as x".into());
        }
        (x, _) => {
            if let Some(wrong) = x.as_ref().and_then(|x| wrong_value(study, x)) {
                return Some(wrong);
            }
        }
    }
    if figure.y.is_empty() {
        return Some("y is empty; write y = [\"a result\"]".into());
    }
    if figure.kind == ChartKind::Heat
        && (figure.y.len() > 1 || figure.series.as_ref().map(Vec::len) != Some(1))
    {
        return Some("a heat map has one y, and one factor in series".into());
    }
    let drawn = || figure.y.iter().chain(&figure.forecast);
    drawn().find_map(|value| wrong_value(study, value)).or_else(|| {
        let found = |value: &FigureValue| found(study, value);
        wrong_together(
            figure,
            figure.x.as_ref().and_then(found),
            &drawn().filter_map(found).collect::<Vec<_>>(),
        )
    })
}

/// All lines have one axis and the places of the first one, and the words of a fit name its units.
fn wrong_together(figure: &StudyFigure, x: Option<StudyResult>, drawn: &[StudyResult]) -> Option<String> {
    let is_list = |result: &StudyResult| FieldPath::parse(&result.from).is_ok_and(|path| path.is_list());
    let unit = drawn.first()?.unit.as_str();
    let needed = match figure.fit {
        Some(FigureFit::Cost) => "ns/byte",
        Some(FigureFit::LevelOff) => "ns",
        None => unit,
    };
    if let Some(other) = drawn.iter().find(|other| other.unit != unit) {
        Some(format!("its values are in {unit} and in {}; write a figure of each", other.unit))
    } else if x.as_ref().is_some_and(is_list) && !drawn.iter().all(is_list) {
        Some("x is a list, and a value of y is none; each item of x needs one of y".into())
    } else {
        (needed != unit).then(|| format!("the fit is of values in {needed}, and these are in {unit}"))
    }
}

fn found(study: &Study, value: &FigureValue) -> Option<StudyResult> {
    match value {
        FigureValue::Name(name) => study.result(name),
        FigureValue::Field(field) => Some(field.clone()),
    }
}

fn wrong_value(study: &Study, value: &FigureValue) -> Option<String> {
    match value {
        FigureValue::Name(name) if study.result(name).is_some() => None,
        FigureValue::Name(name) => {
            let names: Vec<String> = study.all_results().into_iter().map(|result| result.name).collect();
            Some(format!("there is no result '{name}'; the study has {}", names.join(", ")))
        }
        FigureValue::Field(field) => {
            let paths = [Some(&field.from), field.per.as_ref()];
            paths.into_iter().flatten().find_map(|path| FieldPath::parse(path).err())
        }
    }
}

fn wrong_factors(figure: &StudyFigure) -> Option<String> {
    let named = figure.series.iter().flatten().chain(figure.cells.keys());
    named
        .filter(|name| !FACTORS.contains(&name.as_str()))
        .map(|name| format!("there is no factor '{name}'"))
        .next()
}

fn wrong_published(figure: &StudyFigure) -> Option<String> {
    figure.published.iter().find_map(|line| {
        let table = match published::table(&line.table) {
            Ok(table) => table,
            Err(error) => return Some(error.to_string()),
        };
        if line.x.is_empty() == line.at.is_empty() {
            return Some(format!("published values of {} have either x or at", line.table));
        }
        let optional = [&line.series, &line.low, &line.high].into_iter().flatten();
        let columns = [&line.x, &line.y].into_iter().chain(optional).chain(line.rows.keys());
        let columns = columns.filter(|column| !column.is_empty());
        let mut missing = columns.filter(|column| !table.has(column));
        missing.next().map(|column| format!("{} has no column '{column}'", line.table))
    })
}
