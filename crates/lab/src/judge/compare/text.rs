//! A comparison as text: how it was made, a table of cells, what to doubt.
//!
//! Must not know: how the figures were computed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{CellComparison, Comparison, Judged, Metric};
use crate::report::table::Table;
use crate::study::Level;

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.files;
        writeln!(out, "B {b} against A {a}")?;
        writeln!(out, "ratio: {}", self.ratio_is)?;
        writeln!(out, "{}\n", self.method())?;
        write!(out, "{}", Table(self.rows()))?;
        let told = self.warnings.iter().map(|words| ("warning", words));
        let told = told.chain(self.notes.iter().map(|words| ("note", words)));
        told.enumerate().try_for_each(|(at, (kind, words))| {
            let gap = if at == 0 { "\n" } else { "" };
            writeln!(out, "{gap}{kind}: {words}")
        })
    }
}

impl Comparison {
    fn method(&self) -> String {
        match self.at_once {
            0 => "no intervals: too few runs; three in each file are the least".into(),
            1 => "interval: 95 %; a verdict only outside the band of A against A".into(),
            all => format!(
                "intervals: 95 % for all {all} at once (Bonferroni, so that each agrees with its verdict); a verdict \
                 only outside the band of A against A"
            ),
        }
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let factors = varied(&self.cells);
        let figures = ["runs", "A", "B", "ratio", "interval", "A/A band", "verdict"];
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
    let runs = match cell.pairs {
        0 => format!("{} and {}", cell.a_runs, cell.b_runs),
        pairs => format!("{pairs} pairs"),
    };
    let median = |median: Option<f64>| median.map_or(String::new(), |value| metric.words(value));
    let figures = vec![runs, median(cell.a_median), median(cell.b_median)];
    figures.into_iter().chain(judged_words(&cell.judged)).collect()
}

fn judged_words(judged: &Judged) -> Vec<String> {
    let range = |low: Option<f64>, high: Option<f64>| {
        let both = low.zip(high);
        both.map_or(String::new(), |(low, high)| format!("{low:.3} .. {high:.3}"))
    };
    let why = judged.why.map_or(String::new(), |why| format!(" ({why})"));
    vec![
        judged.ratio.map_or(String::new(), |ratio| format!("{ratio:.3}")),
        range(judged.ratio_low, judged.ratio_high),
        range(judged.band_low, judged.band_high),
        format!("{}{why}", judged.verdict.words()),
    ]
}
