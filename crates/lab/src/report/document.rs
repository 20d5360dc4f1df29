//! The page of a founding document: what was found in one paragraph, then part by part its figures, each with its values,
//! and the published tables beside.
//!
//! Must not know: how the runs were made.

use std::path::Path;

use super::chart::{Chart, TakenRows};
use super::fastest::fastest_lines;
use super::html::Html;
use super::{add_figures, add_table, facts, whole};
use crate::published;
use crate::report::summary::Summary;
use crate::reproduce::Reproduced;
use crate::reproduce::document::{Document, DocumentPart};
use crate::rig::files::replace;
use crate::row::Row;
use crate::study::Study;

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
}

/// A document with its parts.
pub(crate) struct WrittenDocument<'all> {
    pub document: &'all Document,
    pub parts: &'all [FoundPart],
    pub keep_disturbed: bool,
}

/// More sentences are in the parts.
const ANSWERS_MAX: usize = 3;

impl WrittenDocument<'_> {
    /// Writes the page and its figures into a folder.
    pub fn write(&self, folder: &Path) -> anyhow::Result<Reproduced> {
        let (mut html, mut charts) = (Html::default(), Vec::new());
        html.heading(1, &self.document.title);
        html.paragraph(&format!("After {}.", self.document.source));
        html.paragraph(&format!("{} {}", self.document.question, self.answers().join(" ")));
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
        Ok(self.reproduced(page, charts.len()))
    }

    fn reproduced(&self, page: std::path::PathBuf, figures: usize) -> Reproduced {
        let own = self.parts.iter().filter(|found| found.rows_of == found.part.name);
        let rows: Vec<&Row> = own.flat_map(|found| &found.rows).collect();
        let not_run = |found: &FoundPart| Some(format!("{}: {}", found.part.name, found.not_run.as_ref()?));
        Reproduced {
            document: self.document.name.clone(),
            page: datapump::shown(page.as_os_str().as_encoded_bytes()),
            parts: self.parts.len(),
            figures,
            runs: rows.len(),
            failed_runs: rows.iter().filter(|row| !row.is_completed()).count(),
            not_run: self.parts.iter().filter_map(not_run).collect(),
        }
    }

    /// What follows for this machine: the fastest ways of the parts that answer the question.
    fn answers(&self) -> Vec<String> {
        let named = |found: &&FoundPart| {
            self.document.answers.is_empty() || self.document.answers.contains(&found.part.name)
        };
        let lines = self.parts.iter().filter(named).flat_map(|found| {
            let summary = Summary::of_files(std::slice::from_ref(&found.rows), self.keep_disturbed);
            let lines: Vec<String> = summary.studies.iter().flat_map(fastest_lines).collect();
            lines.into_iter().map(|line| format!("{}: {line}.", found.part.title)).collect::<Vec<_>>()
        });
        lines.take(ANSWERS_MAX).collect()
    }

    fn add_part(&self, html: &mut Html, charts: &mut Vec<Chart>, found: &FoundPart, is_first: bool) {
        let FoundPart { part, study, rows, not_run, .. } = found;
        html.heading(2, &format!("{}: {}", part.place, part.title));
        if !part.text.is_empty() {
            html.paragraph(&part.text);
        }
        if let Some(why) = &part.absent {
            html.paragraph(&format!("Not measured: {why}."));
        }
        if let Some(why) = not_run {
            html.paragraph(&format!("Not run here, or not all of it: {why}."));
        }
        let rows: Vec<&Row> = rows.iter().collect();
        let taken = TakenRows { keep_disturbed: self.keep_disturbed };
        add_figures(html, charts, study.as_ref(), &part.figures, &rows, taken);
        part.tables.iter().for_each(|name| add_published(html, name));
        if is_first && !rows.is_empty() {
            let mut inside = Html::default();
            let summary =
                Summary::of_files(&[rows.iter().map(|row| (*row).clone()).collect()], self.keep_disturbed);
            summary.studies.iter().for_each(|study| add_table(&mut inside, study));
            facts::add(&mut inside, &rows);
            html.folded(&format!("{} runs: their table, machine and commands", rows.len()), inside);
        }
    }
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
