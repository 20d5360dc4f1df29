//! The charts of a study that declares no figures: each result against each factor that is numeric, one line for each
//! other cell.
//!
//! Must not know: how a chart is drawn.

use std::collections::BTreeMap;

use super::{AxisUnit, Chart, ChartPoint, with_unit};
use crate::judge::stats::Interval;
use crate::report::summary::{CellSummary, StudySummary};
use crate::study::results::usual;
use crate::study::{Level, SOAKER, StudyResult};

/// Results of a copy that are drawn where a study declares none: its bandwidth, and the CPU time of a byte by the best
/// measure that there is.
const DRAWN: [&str; 3] = ["bandwidth", "soaker_cpu", "cpu"];

/// The charts of a study.
pub(in crate::report) fn of_study(study: &StudySummary) -> Vec<Chart> {
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
    let medians = study.cells.iter().filter_map(|cell| cell.median(&result.name));
    let unit = AxisUnit::from_largest(&result.unit, medians.fold(0.0, f64::max));
    let quantity = |cell: &CellSummary| cell.asked.get(factor).and_then(Level::quantity);
    let largest = study.cells.iter().filter_map(quantity).map(|x| x.value).fold(0.0, f64::max);
    let x_unit =
        AxisUnit::from_largest(study.cells.iter().find_map(quantity).map_or("", |x| x.unit), largest);
    let mut lines: BTreeMap<Vec<&Level>, Vec<ChartPoint>> = BTreeMap::new();
    for cell in study.cells.iter().filter(|cell| is_by_soaker(result) || !is_soaked(&cell.asked)) {
        let sample = cell.results.get(&result.name);
        let Some((sample, x)) = sample.zip(quantity(cell)) else { continue };
        let scaled = |interval: Interval| Interval {
            low: interval.low * unit.scale,
            high: interval.high * unit.scale,
        };
        let key = others.iter().filter_map(|name| cell.asked.get(*name)).collect();
        let (x, y) = (x.value * x_unit.scale, sample.median * unit.scale);
        let point = ChartPoint { x, y, interval: sample.interval.map(scaled) };
        lines.entry(key).or_default().push(point);
    }
    let label = |key: Vec<&Level>| -> String {
        let words = others.iter().zip(key).map(|(name, level)| format!("{name} {level}"));
        Some(words.collect::<Vec<_>>().join(", ")).filter(|it| !it.is_empty()).unwrap_or(study.study.clone())
    };
    let lines = lines.into_iter().map(|(key, points)| (label(key), points)).collect();
    let is_size = x_unit.name == "bytes";
    let x_label = with_unit(factor, if is_size { "" } else { x_unit.name });
    let chart = Chart::from_lines(&format!("{} against {factor}", result.label), &x_label, unit.name, lines)?;
    Some(Chart { x_kind: if is_size { "bytes" } else { "number" }, ..chart })
}

/// Whether a result is found only in runs with the soaker.
pub(in crate::report) fn is_by_soaker(result: &StudyResult) -> bool {
    result.from.starts_with("soaker.") || result.from == "remaining_cpu_ns"
}

fn is_numeric(study: &StudySummary, factor: &str) -> bool {
    let value = |cell: &CellSummary| cell.asked.get(factor).and_then(Level::value);
    study.cells.iter().all(|cell| value(cell).is_some_and(f64::is_finite))
}

/// With the soaker a run is not as fast.
pub(in crate::report) fn is_soaked(asked: &BTreeMap<String, Level>) -> bool {
    asked.get(SOAKER).is_some_and(|level| level.to_string() != "off")
}
