//! The page of a founding document: what was found in one paragraph, then part by part its figures, each with its values,
//! and the published tables beside.
//!
//! Must not know: how the runs were made.

mod spreadsheet;

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::chart::{Chart, ChartFit, FigureOfStudy, TakenRows};
use super::fastest::fastest_lines;
use super::page::facts;
use super::page::html::Html;
use super::svg::svg;
use super::{add_figure, add_table, add_words, whole};
use crate::judge::cost::CostPart;
use crate::report::summary::Summary;
use crate::rig::files::replace;
use crate::row::Row;
use crate::session::reproduce::document::{Document, DocumentPart};
use crate::session::reproduce::forecast::StoredForecast;
use crate::study::Study;
use crate::study::results::published;

/// A part with its rows.
#[derive(Clone, Debug)]
pub(crate) struct FoundPart {
    pub part: DocumentPart,
    /// The part whose rows they are.
    pub rows_of: String,
    pub study: Option<Study>,
    pub rows: Vec<Row>,
    /// Why its runs were not made, or not all.
    pub not_run: Option<String>,
    /// The forecasts of the parts before it.
    pub forecasts: Vec<StoredForecast>,
}

impl FoundPart {
    /// Its rows as a table, beside them.
    fn write_csv(&self, folder: &Path) -> anyhow::Result<()> {
        let Some(study) = self.study.as_ref().filter(|_| !self.rows.is_empty()) else { return Ok(()) };
        let file = folder.join("rows").join(format!("{}.csv", self.rows_of));
        let table = spreadsheet::spreadsheet(study, &self.rows.iter().collect::<Vec<_>>())?;
        replace(&file, &table, "table of rows", &|bytes| bytes.starts_with(b"time,round,outcome,"))
    }
}

/// The cost that was fitted to the one line of a figure.
pub(crate) fn fitted_cost(parts: &[FoundPart], figure: &str, keep_disturbed: bool) -> Option<CostPart> {
    let found = |found: &FoundPart| {
        let figure = found.part.figures.iter().find(|own| own.name == figure)?;
        let rows: Vec<&Row> = found.rows.iter().collect();
        let chart = FigureOfStudy::new(figure, found.study.as_ref())
            .chart(&rows, TakenRows { keep_disturbed, mixed: false });
        let [fit] = <[ChartFit; 1]>::try_from(chart.fits).ok()?;
        fit.cost
    };
    parts.iter().find_map(found)
}

/// A document with its parts.
pub(crate) struct WrittenDocument<'all> {
    pub document: &'all Document,
    pub parts: &'all [FoundPart],
    pub keep_disturbed: bool,
}

/// The page as it was written.
pub(crate) struct WrittenPage {
    /// The page.
    pub page: PathBuf,
    /// Its figures.
    pub figures: usize,
}

const NO_FORECAST: &str =
    "no forecast: the runs were there before it could be made, or a part of it has no fit";

/// More sentences are in the parts.
const ANSWERS_MAX: usize = 3;

impl WrittenDocument<'_> {
    /// Writes the page and its figures into a folder.
    pub fn write(&self, folder: &Path) -> anyhow::Result<WrittenPage> {
        let (mut html, mut charts) = (Html::default(), Vec::new());
        html.heading(1, &self.document.title);
        html.paragraph(&format!("After {}.", self.document.source));
        html.paragraph(&format!("{} {}", one_line(&self.document.question), self.answers().join(" ")));
        for (at, found) in self.parts.iter().enumerate() {
            let is_first = !self.parts[..at].iter().any(|before| before.rows_of == found.rows_of);
            self.add_part(&mut html, &mut charts, found, is_first);
        }
        let page = folder.join("index.html");
        let title = format!("{}: {}", self.document.name, self.document.title);
        let text = whole(&title, &html, &charts);
        replace(&page, text.as_bytes(), "page of HTML", &|bytes| {
            bytes.starts_with(super::DOCTYPE.as_bytes())
        })?;
        write_figures(folder, &charts)?;
        self.parts.iter().try_for_each(|found| found.write_csv(folder))?;
        Ok(WrittenPage { page, figures: charts.len() })
    }

    /// Conclusions for this machine, of each part that answers the question one sentence: its fastest way, or what was
    /// fitted to its figures.
    fn answers(&self) -> Vec<String> {
        let named = |found: &&FoundPart| {
            self.document.answers.is_empty() || self.document.answers.contains(&found.part.name)
        };
        let words = |found: &FoundPart| {
            let line = self.fastest(found).or_else(|| self.fitted(found))?;
            Some(format!("{}: {line}.", found.part.title))
        };
        self.parts.iter().filter(named).filter_map(words).take(ANSWERS_MAX).collect()
    }

    fn fastest(&self, found: &FoundPart) -> Option<String> {
        let summary = Summary::of_files(std::slice::from_ref(&found.rows), self.keep_disturbed);
        summary.studies.iter().flat_map(fastest_lines).next()
    }

    fn fitted(&self, found: &FoundPart) -> Option<String> {
        let rows: Vec<&Row> = found.rows.iter().collect();
        let taken = TakenRows { keep_disturbed: self.keep_disturbed, mixed: false };
        let mut charts = found.part.figures.iter().filter(|figure| figure.fit.is_some());
        charts.find_map(|figure| {
            let chart = FigureOfStudy::new(figure, found.study.as_ref()).chart(&rows, taken);
            chart.fits.into_iter().next().map(|fit| fit.words)
        })
    }

    fn add_part(&self, html: &mut Html, charts: &mut Vec<Chart>, found: &FoundPart, is_first: bool) {
        let FoundPart { part, study, rows, not_run, .. } = found;
        html.heading(2, &format!("{}: {}", part.place, part.title));
        if !part.text.is_empty() {
            html.paragraph(&one_line(&part.text));
        }
        if let Some(why) = &part.absent {
            html.paragraph(&format!("Not measured: {why}."));
        }
        if let Some(why) = not_run {
            html.paragraph(&format!("Not run here, or not all of it: {why}."));
        }
        let rows: Vec<&Row> = rows.iter().collect();
        let taken = TakenRows { keep_disturbed: self.keep_disturbed, mixed: false };
        for figure in &part.figures {
            let mut chart = FigureOfStudy::new(figure, study.as_ref()).chart(&rows, taken);
            if part.forecasts.iter().any(|forecast| forecast.figure == figure.name) {
                match found.forecasts.iter().find(|stored| stored.cost.component == figure.name) {
                    Some(stored) => {
                        chart.add_forecast(&stored.cost);
                        chart.notes.push(stored.message());
                    }
                    None => chart.notes.push(NO_FORECAST.into()),
                }
            }
            add_figure(html, charts, chart);
        }
        part.tables.iter().for_each(|name| add_published(html, name));
        if is_first && !rows.is_empty() {
            let mut inside = Html::default();
            let summary = Summary::of_files(std::slice::from_ref(&found.rows), self.keep_disturbed);
            for study in &summary.studies {
                add_words(&mut inside, study);
                add_table(&mut inside, study);
            }
            facts::add(&mut inside, &rows);
            inside.links(&["jsonl", "csv"].map(|ending| format!("rows/{}.{ending}", found.rows_of)));
            html.folded(&format!("{} runs: their table, machine and commands", rows.len()), inside);
        }
    }
}

/// Each chart as a picture by itself.
fn write_figures(folder: &Path, charts: &[Chart]) -> anyhow::Result<()> {
    let folder = folder.join("figures");
    std::fs::create_dir_all(&folder).with_context(|| format!("make the folder {}", folder.display()))?;
    for chart in charts {
        let file = folder.join(format!("{}.svg", chart.name));
        replace(&file, svg(chart).as_bytes(), "picture", &|bytes| bytes.starts_with(b"<svg"))?;
    }
    Ok(())
}

/// Words as they are, without the line ends of a file.
fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A table that was published, as it is.
fn add_published(html: &mut Html, name: &str) {
    // A document is checked before it is shown.
    let Ok(table) = published::table(name) else { return };
    let mut inside = Html::default();
    let rows: Vec<Vec<String>> = table.cells().map(<[String]>::to_vec).collect();
    inside.table(table.header(), &rows);
    html.folded(&format!("Published: {name}"), inside);
}

#[cfg(test)]
mod tests;
