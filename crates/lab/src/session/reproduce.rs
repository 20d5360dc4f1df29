//! A founding document redone on this machine: its experiments part by part, each with its own file of rows, and a page with
//! its figures, the published values beside.
//!
//! Repeated, it goes on where it stopped: rows that are there are not measured again. Must not know: what a study is made
//! of, how a page is written.

pub(crate) mod document;
pub(crate) mod forecast;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::Serialize;

use self::document::{DOCUMENTS, Document, DocumentPart};
use self::forecast::StoredForecast;
use crate::report::document::{FoundPart, WrittenDocument, WrittenPage, fitted_cost};
use crate::row::{Row, read_rows};
use crate::session::StudySession;
use crate::session::notice::tell;
use crate::study::Study;
use crate::study::builtin::listed::StudyLength;
use crate::{RunArguments, report::figures};

/// The arguments of [`reproduce`].
#[derive(Clone, Debug, Default)]
pub struct ReproduceArguments {
    /// The document.
    pub name: String,
    /// The small form of every study: to see the page, not to measure.
    pub quick: bool,
    /// The name of the only part that is run, or of one of its figures. Others are shown by the rows that they have.
    pub only: Option<String>,
    /// The folder of the page, its figures and its rows.
    pub out: PathBuf,
    /// The folder for the files that are moved; `out` by default.
    pub folder: Option<PathBuf>,
    /// The program of `{pump}` in commands; this program's own file by default.
    pub pump: Option<PathBuf>,
    /// The build of this program, as rows have it.
    pub build: Option<String>,
    /// Disturbed runs count, too.
    pub keep_disturbed: bool,
    /// Once it is true, it ends soon, with an error.
    pub stop: Arc<AtomicBool>,
}

/// A document in a list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ListedDocument {
    /// Its name.
    pub name: String,
    /// The title of its page.
    pub title: String,
    /// Authors, title, year.
    pub source: String,
    /// Runs of all its studies.
    pub runs: usize,
    /// About how many seconds they take, of studies of which that is known.
    pub seconds: f64,
    /// Needs of some of them.
    pub needs: Vec<&'static str>,
}

/// The outcome of a reproduction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reproduced {
    /// The document.
    pub document: String,
    /// The page.
    pub page: String,
    /// Parts that it shows.
    pub parts: usize,
    /// Figures.
    pub figures: usize,
    /// Rows that are in them.
    pub runs: usize,
    /// Failed runs among them.
    pub failed_runs: usize,
    /// Parts whose runs could not be made, and why.
    pub not_run: Vec<String>,
}

/// The documents.
pub fn documents() -> Vec<ListedDocument> {
    let listed = |built_in: &document::BuiltInDocument| {
        let document = Document::parse(built_in.name, built_in.text).ok()?;
        Some(listed(&document, false))
    };
    DOCUMENTS.iter().filter_map(listed).collect()
}

fn listed(document: &Document, quick: bool) -> ListedDocument {
    let studies = document.parts.iter().filter_map(|part| part.study(quick).ok()?);
    let lengths: Vec<StudyLength> = studies.map(|study| StudyLength::from_study(&study)).collect();
    let needs = document.parts.iter().flat_map(|part| &part.needs).map(|need| need.name());
    let mut needs: Vec<&'static str> = needs.collect();
    needs.sort_unstable();
    needs.dedup();
    ListedDocument {
        name: document.name.clone(),
        title: document.title.clone(),
        source: document.source.clone(),
        runs: lengths.iter().map(|length| length.runs).sum(),
        seconds: lengths.iter().filter_map(|length| length.seconds).sum(),
        needs,
    }
}

impl ListedDocument {
    /// How long it lasts and what it needs, in words.
    pub fn length_words(&self) -> String {
        let needs = if self.needs.is_empty() {
            String::new()
        } else {
            format!("; some of it needs {}", self.needs.join(", "))
        };
        format!("{} runs, about {}{needs}", self.runs, figures::seconds(self.seconds))
    }
}

/// Redoes a document and writes its page. Lines about the progress go to standard error.
///
/// Errors: no document or part of this name, a file that cannot be written, an interrupt. A part whose study cannot run
/// (no root, no room) is shown with the reason.
pub fn reproduce(arguments: &ReproduceArguments) -> anyhow::Result<Reproduced> {
    let document = document::find(&arguments.name)?;
    let chosen = chosen(&document, arguments.only.as_deref())?;
    let rows = arguments.out.join("rows");
    std::fs::create_dir_all(&rows).with_context(|| format!("make the folder {}", rows.display()))?;
    let runs = Document {
        parts: document.parts.iter().filter(|part| chosen.contains(&part.name)).cloned().collect(),
        ..document.clone()
    };
    tell(&format!("{}: {}", document.name, listed(&runs, arguments.quick).length_words()));
    let unmet = runs.parts.iter().filter(|part| !part.unmet().is_empty()).map(|part| part.name.as_str());
    let unmet: Vec<&str> = unmet.collect();
    if !unmet.is_empty() {
        tell(&format!("{}: without root these parts are not run: {}", document.name, unmet.join(", ")));
    }
    let mut found: Vec<FoundPart> = Vec::new();
    for part in &document.parts {
        let origin = document.origin(part);
        let file = rows.join(format!("{}.jsonl", origin.name));
        let before = found.iter().find(|found| found.rows_of == origin.name);
        let is_chosen = chosen.contains(&origin.name);
        let forecasts = if is_chosen { forecasts_of(part, &found, &file, arguments)? } else { Vec::new() };
        let (part, rows_of) = (part.clone(), origin.name.clone());
        let next = match before {
            Some(before) => FoundPart { part, forecasts, ..before.clone() },
            None => {
                let RanPart { study, rows, not_run } = ran(origin, &file, is_chosen, arguments)?;
                FoundPart { part, rows_of, study, rows, not_run, forecasts }
            }
        };
        found.push(next);
    }
    let written =
        WrittenDocument { document: &document, parts: &found, keep_disturbed: arguments.keep_disturbed };
    let WrittenPage { page, figures } = written.write(&arguments.out)?;
    Ok(reproduced(&document, &found, &page, figures))
}

fn reproduced(document: &Document, parts: &[FoundPart], page: &Path, figures: usize) -> Reproduced {
    let own = parts
        .iter()
        .enumerate()
        .filter(|(at, found)| !parts[..*at].iter().any(|before| before.rows_of == found.rows_of));
    let rows: Vec<&Row> = own.flat_map(|(_, found)| &found.rows).collect();
    let not_run = |found: &FoundPart| Some(format!("{}: {}", found.part.name, found.not_run.as_ref()?));
    Reproduced {
        document: document.name.clone(),
        page: datapump::shown(page.as_os_str().as_encoded_bytes()),
        parts: parts.len(),
        figures,
        runs: rows.len(),
        failed_runs: rows.iter().filter(|row| !row.is_completed()).count(),
        not_run: parts.iter().filter_map(not_run).collect(),
    }
}

/// The names of the parts whose studies are run: all of them, or the one that is asked for, by its name or that of one of
/// its figures, with the part whose rows it shows.
fn chosen(document: &Document, only: Option<&str>) -> anyhow::Result<BTreeSet<String>> {
    let is_chosen = |part: &&DocumentPart| {
        only.is_none_or(|only| part.name == only || part.figures.iter().any(|figure| figure.name == only))
    };
    let parts = document.parts.iter().filter(is_chosen).map(|part| document.origin(part).name.clone());
    let parts: BTreeSet<String> = parts.collect();
    if let Some(only) = only.filter(|_| parts.is_empty()) {
        let names: Vec<&str> = document.parts.iter().map(|part| part.name.as_str()).collect();
        bail!("'{}' is no part of it; there are {}", datapump::shown(only.as_bytes()), names.join(", "));
    }
    Ok(parts)
}

/// The forecasts of the parts before this one: written down before its runs, or kept from then.
fn forecasts_of(
    part: &DocumentPart,
    before: &[FoundPart],
    rows: &Path,
    arguments: &ReproduceArguments,
) -> anyhow::Result<Vec<StoredForecast>> {
    if part.forecasts.is_empty() {
        return Ok(Vec::new());
    }
    let folder = arguments.out.join("forecasts");
    std::fs::create_dir_all(&folder).with_context(|| format!("make the folder {}", folder.display()))?;
    let fitted = |figure: &str| fitted_cost(before, figure, arguments.keep_disturbed);
    let has_runs = rows.metadata().is_ok_and(|rows| rows.len() > 0);
    let form = if arguments.quick { "-quick" } else { "" };
    let kept = part.forecasts.iter().map(|forecast| {
        let file = folder.join(format!("{}{form}.json", forecast.figure));
        StoredForecast::keep(StoredForecast::new(forecast, fitted), &file, has_runs)
    });
    Ok(kept.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// A part whose study was run, or could not be.
struct RanPart {
    study: Option<Study>,
    rows: Vec<Row>,
    not_run: Option<String>,
}

/// Runs the study of a part that is chosen, as far as it is not run yet, and reads its rows.
fn ran(
    part: &DocumentPart,
    file: &Path,
    is_chosen: bool,
    arguments: &ReproduceArguments,
) -> anyhow::Result<RanPart> {
    let Some(study) = part.study(arguments.quick)? else {
        return Ok(RanPart { study: None, rows: Vec::new(), not_run: None });
    };
    let unmet = part.unmet();
    let outcome = if !is_chosen {
        Ok(())
    } else if unmet.is_empty() {
        run(&study, file, arguments)
    } else {
        Err(anyhow::anyhow!("its runs need {}", unmet.join(", ")))
    };
    let not_run = match outcome {
        Err(error) if arguments.stop.load(Ordering::Relaxed) => return Err(error),
        Err(error) => {
            tell(&format!("{}: {error:#}", part.name));
            Some(format!("{error:#}"))
        }
        Ok(()) => None,
    };
    let rows = if file.exists() { read_rows(file)? } else { Vec::new() };
    // A file may have those of the small form, too.
    let cells = study.cells();
    let is_own = |row: &Row| row.study == study.name && cells.iter().any(|cell| cell.levels == row.asked);
    let rows = rows.into_iter().filter(is_own).collect();
    Ok(RanPart { study: Some(study), rows, not_run })
}

fn run(study: &Study, file: &Path, arguments: &ReproduceArguments) -> anyhow::Result<()> {
    let asked = RunArguments {
        study: study.name.clone(),
        quick: arguments.quick,
        folder: Some(arguments.folder.clone().unwrap_or_else(|| arguments.out.clone())),
        out: Some(file.into()),
        pump: arguments.pump.clone(),
        build: arguments.build.clone(),
        stop: Arc::clone(&arguments.stop),
        ..RunArguments::default()
    };
    StudySession::open(study, file, &asked, asked.this_program()?, &[])?.run()
}
