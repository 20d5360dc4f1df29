//! A comparison as text: how it was made, a table of cells, warnings.
//!
//! Must not know: how the figures were computed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{CellComparison, ComparedBy, Comparison, Judged, Metric, Unjudged};
use crate::judge::stats::Interval;
use crate::report::table::Table;
use crate::study::Level;

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.files;
        writeln!(out, "B {b} against A {a}")?;
        self.facts.iter().try_for_each(|fact| writeln!(out, "{fact}"))?;
        self.warnings.iter().try_for_each(|words| writeln!(out, "warning: {words}"))?;
        writeln!(out, "ratio: {}", self.ratio_is)?;
        writeln!(out, "{}\n", self.method())?;
        write!(out, "{}", Table(self.rows()))?;
        let gap = if self.notes.is_empty() { "" } else { "\n" };
        write!(out, "{gap}")?;
        self.notes.iter().try_for_each(|words| writeln!(out, "note: {words}"))
    }
}

impl Comparison {
    fn method(&self) -> String {
        let by = match self.compared_by {
            ComparedBy::Pairs => "pairs of runs of one session and round",
            ComparedBy::Sessions => "sessions, each by the mean of its runs",
        };
        let lacks_runs = self.overall.why.is_some_and(Unjudged::is_of_runs);
        match self.at_once {
            0 if !lacks_runs => format!("compared: {by}; no intervals"),
            0 => format!("compared: {by}; no intervals: three on each side are the least"),
            1 => format!("compared: {by}; interval: 95 %"),
            all => format!(
                "compared: {by}; intervals: 95 % for all {all} at once (Bonferroni, so that each agrees with its verdict)"
            ),
        }
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let factors = varied(&self.cells);
        // The ratio is of means: it is not that of the medians beside it.
        let figures = ["runs", "median A", "median B", "mean ratio", "interval", "verdict"];
        let head = factors.iter().cloned().chain(figures.map(String::from)).collect();
        let cells = self.cells.iter().map(|cell| {
            let levels = factors.iter().map(|name| level(cell, name));
            levels.chain(figures_of(cell, self.metric)).collect()
        });
        let mut rows: Vec<Vec<String>> = std::iter::once(head).chain(cells).collect();
        if self.cells.len() > 1 {
            // Cells may differ by no word that is shown: by a factor without a level, and one that is not there.
            let mut levels = vec![String::new(); factors.len()];
            levels.iter_mut().take(1).for_each(|first| *first = "overall".into());
            let empty = ["", "", ""].map(String::from);
            rows.push(levels.into_iter().chain(empty).chain(judged_words(&self.overall)).collect());
        }
        rows
    }
}

const STUDY: &str = "study";

/// The factors by whose levels the cells differ, the study too.
fn varied(cells: &[CellComparison]) -> Vec<String> {
    let mut levels: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let names: BTreeSet<&str> = cells.iter().flat_map(|cell| cell.asked.keys().map(String::as_str)).collect();
    for name in names.into_iter().chain([STUDY]) {
        levels.insert(name, cells.iter().map(|cell| level(cell, name)).collect());
    }
    levels.into_iter().filter(|(_, levels)| levels.len() > 1).map(|(name, _)| name.to_string()).collect()
}

fn level(cell: &CellComparison, name: &str) -> String {
    match name {
        STUDY => cell.study.clone(),
        _ => cell.asked.get(name).map_or(String::new(), Level::to_string),
    }
}

fn figures_of(cell: &CellComparison, metric: Metric) -> Vec<String> {
    let runs = match (cell.pairs, cell.a_sessions, cell.b_sessions) {
        (0, a, b) if a.max(b) > 1 => {
            format!("{} of {a} and {} of {b} sessions", cell.a_runs, cell.b_runs)
        }
        (0, ..) => format!("{} and {}", cell.a_runs, cell.b_runs),
        (pairs, ..) => format!("{pairs} pairs"),
    };
    let median = |median: Option<f64>| median.map_or(String::new(), |value| metric.words(value));
    let figures = vec![runs, median(cell.a_median), median(cell.b_median)];
    figures.into_iter().chain(judged_words(&cell.judged)).collect()
}

/// Ratio, interval and verdict.
pub(crate) fn judged_words(judged: &Judged) -> Vec<String> {
    let both = judged.interval();
    vec![
        judged.ratio.map_or(String::new(), |ratio| format!("{ratio:.3}")),
        both.map_or(String::new(), |Interval { low, high }| format!("{low:.3} .. {high:.3}")),
        judged.words(),
    ]
}
