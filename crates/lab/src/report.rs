//! A page of HTML that says what rows say: tables, charts, and what stands behind them, in one file.
//!
//! The page can be read without scripts, loads nothing, and shows whatever stands in a row as text. Must not know: how
//! figures are computed, command lines, where the page goes.

pub(crate) mod bill;
pub(crate) mod document;
pub(crate) mod figures;
pub(crate) mod summary;
pub(crate) mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

mod chart;
mod fastest;
mod fits;
mod job;
mod page;
mod svg;

use crate::report::summary::results::study_with_figures;
use crate::report::summary::{StudySummary, Summary};
use crate::rig::files::replace;
use crate::row::{self, Row};
use crate::study::Study;
pub use chart::TakenRows;
use chart::{Chart, FigureOfStudy, mixture, series};
use page::html::{Html, text};
use page::{assets, facts, values};

/// A page, and what it is made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Page {
    /// The file's content.
    #[serde(skip)]
    pub html: String,
    /// Studies in it.
    pub studies: usize,
    /// Runs.
    pub runs: usize,
    /// Failed runs among them.
    pub failed_runs: usize,
    /// Samples of TCP connections.
    pub samples: usize,
    /// Charts.
    pub charts: usize,
    /// Lines that have more than whole rows, and are told of in the page.
    pub torn_lines: usize,
}

impl Page {
    /// Writes it, in the place of an older one if there is one.
    ///
    /// Errors: what stands there is no page, or what the system says.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        replace(path, self.html.as_bytes(), "page of HTML", &|bytes| bytes.starts_with(DOCTYPE.as_bytes()))
    }
}

const DOCTYPE: &str = "<!DOCTYPE html>";

/// Data gathered while the page is written.
#[derive(Debug, Default)]
struct Gathered {
    taken: TakenRows,
    files: Vec<Vec<Row>>,
    series: Vec<(String, series::Series)>,
    jobs: Vec<(String, serde_json::Value)>,
    losses: Vec<String>,
    torn_lines: usize,
}

/// Makes a page of files of rows, and of time series of TCP connections; fits, ratios and figures of the rows that are
/// taken.
///
/// Errors: a file that cannot be read, a line that is neither; neither rows nor samples at all.
pub fn report(paths: &[PathBuf], taken: TakenRows) -> anyhow::Result<Page> {
    let mut gathered = Gathered { taken, ..Gathered::default() };
    for path in paths {
        let bytes = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
        gathered.read(path, &bytes)?;
    }
    if gathered.files.iter().all(Vec::is_empty) && gathered.series.is_empty() && gathered.jobs.is_empty() {
        bail!("there are no rows; `pump lab run STUDY --out FILE` makes some");
    }
    Ok(gathered.page())
}

impl Gathered {
    fn read(&mut self, path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
        let name = path.to_string_lossy().into_owned();
        if series::is_series(bytes) {
            let series = series::read(path, bytes)?;
            self.torn_lines += series.torn_lines;
            self.losses.extend((series.torn_lines > 0).then(|| format!("{name}: a torn last line left out")));
            self.series.push((name, series));
            return Ok(());
        }
        if job::is_report(bytes) {
            self.jobs.extend(job::read(path, bytes)?.into_iter().map(|report| (name.clone(), report)));
            return Ok(());
        }
        let (rows, torn_lines, losses) = row::with_losses(path, bytes)?;
        self.torn_lines += torn_lines;
        self.losses.extend(losses);
        self.files.push(rows);
        Ok(())
    }

    fn page(&self) -> Page {
        let summary = Summary::of_files(&self.files, self.taken.keep_disturbed);
        let names: Vec<&str> = summary.studies.iter().map(|study| study.study.as_str()).collect();
        let title = match (names.is_empty(), self.jobs.is_empty()) {
            (false, _) => names.join(", "),
            (true, false) => "A copy".into(),
            (true, true) => "TCP connections".into(),
        };
        let runs = self.files.iter().map(Vec::len).sum();
        let (mut html, mut charts) = (Html::default(), Vec::new());
        html.heading(1, &title);
        let (failed_runs, torn_lines) = (summary.failed_runs(), self.torn_lines);
        html.paragraph(&format!(
            "{runs} runs, {failed_runs} of them failed; {torn_lines} torn lines. Written by pump {}.",
            env!("CARGO_PKG_VERSION")
        ));
        html.list(&self.losses);
        for study in &summary.studies {
            let rows = self.files.iter().flatten().filter(|row| row.study == study.study);
            add_study(&mut html, &mut charts, study, &rows.collect::<Vec<_>>(), self.taken);
        }
        for (name, report) in &self.jobs {
            job::add(&mut html, &mut charts, name, report);
        }
        for (name, series) in &self.series {
            add_series(&mut html, &mut charts, name, series);
        }
        Page {
            html: whole(&title, &html, &charts),
            studies: summary.studies.len(),
            runs,
            failed_runs,
            samples: self.series.iter().map(|(_, series)| series.samples).sum(),
            charts: charts.len(),
            torn_lines,
        }
    }
}

fn add_study(
    html: &mut Html,
    charts: &mut Vec<Chart>,
    study: &StudySummary,
    rows: &[&Row],
    taken: TakenRows,
) {
    html.heading(2, &study.study);
    add_words(html, study);
    match (study_with_figures(&study.study, rows), mixture(rows).filter(|_| !taken.mixed)) {
        (Some(declared), _) => add_figures(html, charts, &declared, rows, taken),
        (None, Some(words)) => html.paragraph(&format!("Figures: {words}.")),
        (None, None) => chart::of_study(study).into_iter().for_each(|chart| add_chart(html, charts, chart)),
    }
    add_table(html, study);
    add_fits(html, charts, study, rows);
    facts::add(html, rows);
}

/// The figures of a study.
fn add_figures(html: &mut Html, charts: &mut Vec<Chart>, study: &Study, rows: &[&Row], taken: TakenRows) {
    for figure in &study.figures {
        add_figure(html, charts, FigureOfStudy::new(figure, Some(study)).chart(rows, taken));
    }
}

/// A figure with its values below it.
fn add_figure(html: &mut Html, charts: &mut Vec<Chart>, chart: Chart) {
    let values = values::of_chart(&chart);
    add_chart(html, charts, chart);
    html.folded("Its values", values);
}

/// The findings of a study, in sentences.
fn add_words(html: &mut Html, study: &StudySummary) {
    let fixed: Vec<String> = study.fixed().iter().map(|(name, level)| format!(", {name} {level}")).collect();
    html.paragraph(&format!("{} runs, {} failed{}.", study.runs, study.failed, fixed.concat()));
    let absent = study.absent.iter();
    html.list(absent.map(|name| format!("{name} was not installed: a report without it counts for nothing")));
    html.list(fastest::fastest_lines(study));
    html.list(study.remarks());
}

/// All cells, folded, and how they compare with the baselines.
fn add_table(html: &mut Html, study: &StudySummary) {
    let mut table = study.rows();
    if !table.is_empty() {
        let head = table.remove(0);
        let mut inside = Html::default();
        inside.table(&head, &table);
        html.folded(&format!("All {} cells", table.len()), inside);
    }
    add_ratios(html, study);
}

fn add_fits(html: &mut Html, charts: &mut Vec<Chart>, study: &StudySummary, rows: &[&Row]) {
    let has = |factor: &str| study.cells.iter().any(|cell| cell.asked.contains_key(factor));
    let taken = rows.iter().filter(|row| study.disturbed.kept || row.disturbance().is_none());
    let rows: Vec<Row> = taken.map(|row| (*row).clone()).collect();
    if has("request_size") {
        fits::add(html, &rows).into_iter().for_each(|chart| add_chart(html, charts, chart));
    }
    if has("readers") {
        fits::add_level_off(html, &rows);
    }
}

fn add_ratios(html: &mut Html, study: &StudySummary) {
    let interval = study.ratio_interval_words();
    let head = ["cell", "against", &study.ratio_head(), &interval, "rounds", "verdict"];
    let rows = study.cells.iter().flat_map(|cell| {
        let own: Vec<String> =
            study.varied().iter().filter_map(|name| Some(cell.asked.get(*name)?.to_string())).collect();
        cell.shown_ratios().map(move |against| {
            let other: Vec<String> = against.baseline.values().map(ToString::to_string).collect();
            let judged = &against.judged;
            let interval = judged.interval();
            let interval =
                interval.map_or("too few rounds".into(), |it| format!("{:.2} .. {:.2}", it.low, it.high));
            let ratio = judged.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
            let figures = [ratio, interval, against.pairs.to_string(), judged.words()];
            [own.join(" "), other.join(" ")].into_iter().chain(figures).collect()
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        html.heading(3, "Against the baselines");
        html.table(&head, &rows);
    }
}

fn add_series(html: &mut Html, charts: &mut Vec<Chart>, name: &str, series: &series::Series) {
    const HEAD: [&str; 5] =
        ["connection", "samples", "bytes acknowledged", "bytes received", "segments sent again"];
    html.heading(2, &format!("TCP connections: {name}"));
    html.paragraph(
        "What the kernel says of each connection, as the side that was watched sees it (crates/lab/TCP.md).",
    );
    html.table(&HEAD, &series.connections);
    series.charts.iter().for_each(|chart| add_chart(html, charts, chart.clone()));
}

fn add_chart(html: &mut Html, charts: &mut Vec<Chart>, chart: Chart) {
    let (at, title) = (charts.len(), text(&chart.title));
    html.0 += &format!(
        "<figure><figcaption>{title}</figcaption><div class=\"chart\" id=\"chart-{at}\">{}</div></figure>\n",
        svg::svg_in_page(&chart)
    );
    if chart.left_out > 0 {
        html.paragraph(&format!("{} more lines are left out: they could not be told apart.", chart.left_out));
    }
    html.list(chart.fits.iter().map(|fit| &fit.words).chain(&chart.notes));
    charts.push(chart);
}

/// The file. The data stand in an element that no browser runs, and cannot end it.
fn whole(title: &str, body: &Html, charts: &[Chart]) -> String {
    use assets::{LIBRARY, LIBRARY_STYLE, SCRIPT, STYLE};
    let data = serde_json::to_string(charts).unwrap_or_else(|_| "[]".into()).replace('<', "\\u003c");
    let (title, policy, body) = (text(title), assets::policy(), &body.0);
    format!(
        "{DOCTYPE}\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>{LIBRARY_STYLE}</style>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\
         <script type=\"application/json\" id=\"charts\">{data}</script>\n\
         <script>{LIBRARY}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests;
