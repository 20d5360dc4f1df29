//! What rows say: per cell the median time with its interval, rates and CPU costs, and ratios to the baselines.
//!
//! Everything is computed from rows, and the same rows give the same figures. Must not know: how runs are made, how
//! figures are printed.

pub(super) mod results;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::compare::{ALPHA, ComparedPairs, Judged, MeasuredRun};
use crate::judge::drift::Drift;
use crate::judge::stages::{StagePair, stage_pairs};
use crate::judge::stats::{self, ComparisonVerdict, Interval};
use crate::row::{DisturbedRows, Row, SessionRound, explained_words, name_sessions};
use crate::study::{Better, COMMAND, CONTROL, Level, StudyResult};
use results::{CellRun, results_of, runs_of};

/// Intervals are resampled with this seed, so that the same rows always give the same figures.
pub(super) const SEED: u64 = 1;
/// Runs that start above this load for each processor are marked.
const LOAD_PER_CPU_MAX: f64 = 0.5;

pub(crate) type Levels = BTreeMap<String, Level>;

/// What files of rows say.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Version of this form.
    pub v: u32,
    /// The studies, by name.
    pub studies: Vec<StudySummary>,
}

/// What the rows of one study say.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StudySummary {
    /// Its name.
    pub study: String,
    /// Number of rows.
    pub runs: usize,
    /// Rows of runs that did not do what was asked. They are in no figure.
    pub failed: usize,
    /// Programs that the study requires and that were not there.
    pub absent: Vec<String>,
    /// False if a required program was absent: then the report counts for nothing.
    pub counts: bool,
    /// What it is about.
    pub results: Vec<StudyResult>,
    /// The name of the result that ratios are of: the first one that can be better. Null without one.
    pub compared: Option<String>,
    /// The cells: by their levels, commands by their median of that.
    pub cells: Vec<CellSummary>,
    /// Intervals of ratios that hold at once with 95 % confidence: those that `view` prints. One between two baselines
    /// holds by itself.
    pub ratios_at_once: usize,
    /// What the levels of the factor `stage` show of each other, where there is that factor.
    pub stages: Vec<StagePair>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// Disturbed runs. They are in the figures of cells, and in ratios and what is said of stages if they are kept.
    pub disturbed: DisturbedRows,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sample {
    /// Number of values.
    pub n: usize,
    /// The median.
    pub median: f64,
    /// The median's 95 % interval; null below five values.
    pub interval: Option<Interval>,
    /// The mean.
    pub mean: f64,
    /// The standard deviation; null below two values.
    pub standard_deviation: Option<f64>,
    /// The standard error of the mean; null below two values.
    pub standard_error: Option<f64>,
}

/// What the rows of one cell say.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CellSummary {
    /// The level of every factor.
    pub asked: Levels,
    /// Runs that did what was asked.
    pub completed: usize,
    /// The others, by outcome.
    pub failed: BTreeMap<String, usize>,
    /// What went wrong first, if something did.
    pub message: Option<String>,
    /// Bytes that one run moves.
    pub bytes: u64,
    /// The results of completed runs, by their names; absent where no run has one.
    pub results: BTreeMap<String, Sample>,
    /// Largest memory of any run.
    pub max_rss_bytes: Option<u64>,
    /// How it compares with the study's baselines.
    pub ratios: Vec<BaselineRatio>,
}

/// How many times as good a cell is as a baseline, by the study's first result that can be better: of a time, how many
/// times as fast.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BaselineRatio {
    /// Levels of the baseline that differ from the cell's.
    pub baseline: Levels,
    /// Runs of both in one session and round.
    pub pairs: usize,
    /// The baseline's value over the cell's, or the other way round where more is better, judged as `pump lab compare` does.
    /// Where there is a band, the verdict is a difference only if the interval lies outside of it.
    #[serde(flatten)]
    pub judged: Judged,
    /// The interval of the same ratio for the baseline run once more (the factor `control`): the band of equal runs.
    pub band: Option<Interval>,
    /// Whether people are shown it. One between two levels that others are held against (cp and rsync) is left to the
    /// JSON form: it would hide those that were asked for.
    #[serde(skip)]
    pub is_shown: bool,
}

type FoundCells<'rows> = BTreeMap<&'rows Levels, Vec<&'rows CellRun<'rows>>>;

/// The result that ratios are of.
#[derive(Clone, Copy)]
struct ComparedResult<'study> {
    /// Its place in the list.
    at: usize,
    result: &'study StudyResult,
}

/// A cell beside the cell that has a baseline's levels and otherwise its own.
struct FoundRatio<'rows> {
    baseline: &'rows Levels,
    /// The baseline's cell and the cell.
    cells: [&'rows Levels; 2],
    pairs: ComparedPairs<'rows>,
    /// The baseline's cell and that which differs from it in its `control` alone: how far equal runs lie apart.
    equals: Option<ComparedPairs<'rows>>,
    is_shown: bool,
}

impl Summary {
    /// Sums up files of rows, with ratios of undisturbed runs.
    pub fn from_rows(files: &[Vec<Row>]) -> Summary {
        Summary::of_files(files, false)
    }

    /// Sums up files of rows; `keep_disturbed`: with ratios of disturbed runs, too.
    pub fn of_files(files: &[Vec<Row>], keep_disturbed: bool) -> Summary {
        let named = |(at, rows): (usize, &Vec<Row>)| -> Vec<Row> {
            let mut named = rows.clone();
            name_sessions(&mut named, &at.to_string());
            named
        };
        let files: Vec<Vec<Row>> = files.iter().enumerate().map(named).collect();
        let mut studies: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        files.iter().flatten().for_each(|row| studies.entry(&row.study).or_default().push(row));
        let studies = studies.into_iter();
        let studies =
            studies.map(|(name, rows)| StudySummary::from_rows(name, &rows, keep_disturbed)).collect();
        Summary { v: 1, studies }
    }

    /// Runs that did not do what was asked, over all studies.
    pub fn failed_runs(&self) -> usize {
        self.studies.iter().map(|study| study.failed).sum()
    }
}

impl StudySummary {
    fn from_rows(name: &str, rows: &[&Row], keep_disturbed: bool) -> StudySummary {
        let results = results_of(name, rows);
        let compared = ComparedResult::first(&results);
        let runs = runs_of(rows, &results);
        let mut cells: FoundCells<'_> = BTreeMap::new();
        runs.iter().for_each(|run| cells.entry(&run.row.asked).or_default().push(run));
        let is_judged = |row: &Row| keep_disturbed || row.disturbance().is_none();
        let mut judged = cells.clone();
        judged.values_mut().for_each(|runs| runs.retain(|run| is_judged(run.row)));
        let disturbed = DisturbedRows::count(rows.iter().copied(), keep_disturbed);
        let baselines: BTreeSet<&Levels> = rows.iter().flat_map(|row| &row.baselines).collect();
        let absent: BTreeSet<&String> = rows.iter().flat_map(|row| &row.absent).collect();
        let found: Vec<Vec<FoundRatio<'_>>> = cells
            .keys()
            .map(|asked| compared.map_or(Vec::new(), |by| found_ratios(asked, &baselines, &judged, by)))
            .collect();
        let at_once = found.iter().flatten().filter(|it| it.is_shown && it.pairs.has_estimate()).count();
        let alpha = ALPHA / at_once.max(1) as f64;
        let mut summaries: Vec<CellSummary> = cells
            .iter()
            .zip(&found)
            .map(|((asked, runs), found)| CellSummary {
                ratios: found.iter().filter_map(|it| it.judge(alpha)).collect(),
                ..CellSummary::from_runs(asked, runs, &results)
            })
            .collect();
        summaries.sort_by(|one, other| one.by_levels(other, compared));
        let single: BTreeSet<_> = found.iter().flatten().flat_map(FoundRatio::single).collect();
        StudySummary {
            study: name.into(),
            runs: rows.len(),
            failed: rows.iter().filter(|row| !row.is_completed()).count(),
            counts: absent.is_empty(),
            absent: absent.into_iter().cloned().collect(),
            compared: compared.map(|compared| compared.result.name.clone()),
            cells: summaries,
            ratios_at_once: at_once,
            stages: stage_pairs(rows.iter().copied().filter(|row| is_judged(row))),
            notes: disturbed
                .words()
                .into_iter()
                .chain(single_note(single.len()))
                .chain(notes(rows))
                .collect(),
            disturbed,
            results,
        }
    }

    /// The result that ratios are of.
    pub(crate) fn compared_result(&self) -> Option<&StudyResult> {
        self.results.iter().find(|result| Some(&result.name) == self.compared.as_ref())
    }
}

impl<'study> ComparedResult<'study> {
    fn first(results: &'study [StudyResult]) -> Option<ComparedResult<'study>> {
        let mut places = results.iter().enumerate();
        places.find(|(_, result)| result.better.is_some()).map(|(at, result)| ComparedResult { at, result })
    }

    fn of_runs<'rows>(self, runs: &[&CellRun<'rows>]) -> Vec<MeasuredRun<'rows>> {
        runs.iter().filter_map(|run| run.measured(self.at, self.result)).collect()
    }

    /// The best cell has the least.
    fn place_of(self, cell: &CellSummary) -> f64 {
        let sign = if self.result.better == Some(Better::More) { -1.0 } else { 1.0 };
        cell.median(&self.result.name).map_or(f64::MAX, |median| sign * median)
    }
}

impl CellSummary {
    fn from_runs(asked: &Levels, runs: &[&CellRun<'_>], results: &[StudyResult]) -> CellSummary {
        let completed: Vec<&CellRun<'_>> =
            runs.iter().copied().filter(|run| run.row.is_completed()).collect();
        let mut failed = BTreeMap::new();
        let failures = runs.iter().map(|run| run.row).filter(|row| !row.is_completed());
        failures.clone().for_each(|row| *failed.entry(row.outcome.clone()).or_default() += 1);
        let sample = |(at, result): (usize, &StudyResult)| {
            let values: Vec<f64> = completed.iter().filter_map(|run| run.values[at]).collect();
            Some((result.name.clone(), sample_of(&values)?))
        };
        CellSummary {
            asked: asked.clone(),
            completed: completed.len(),
            failed,
            message: failures.into_iter().find_map(|row| row.message.clone()),
            bytes: completed.first().map_or(0, |run| run.row.bytes),
            results: results.iter().enumerate().filter_map(sample).collect(),
            max_rss_bytes: completed.iter().filter_map(|run| run.row.max_rss_bytes).max(),
            ratios: Vec::new(),
        }
    }

    /// The median of a result.
    pub(crate) fn median(&self, result: &str) -> Option<f64> {
        self.results.get(result).map(|sample| sample.median)
    }

    /// The ratios that people are shown.
    pub(crate) fn shown_ratios(&self) -> impl Iterator<Item = &BaselineRatio> {
        self.ratios.iter().filter(|ratio| ratio.is_shown)
    }

    /// By the levels of all factors but the command, then the best command first.
    fn by_levels(&self, other: &CellSummary, compared: Option<ComparedResult<'_>>) -> Ordering {
        let levels = |cell: &CellSummary| {
            let others = cell.asked.iter().filter(|(name, _)| *name != COMMAND);
            others.map(|(_, level)| level.clone()).collect::<Vec<_>>()
        };
        let place = |cell: &CellSummary| compared.map_or(0.0, |compared| compared.place_of(cell));
        let (ours, theirs) = (levels(self), levels(other));
        let by_value = ours.iter().zip(&theirs).map(|(one, other)| one.by_value(other));
        let by_value = by_value.fold(Ordering::Equal, Ordering::then);
        by_value.then(place(self).total_cmp(&place(other))).then_with(|| self.asked.cmp(&other.asked))
    }
}

fn sample_of(values: &[f64]) -> Option<Sample> {
    Some(Sample {
        n: values.len(),
        median: stats::median(values)?,
        interval: stats::median_interval(values, SEED),
        mean: stats::mean(values)?,
        standard_deviation: stats::standard_deviation(values),
        standard_error: stats::standard_error(values),
    })
}

/// A cell beside the cells of all baselines; not beside itself.
fn found_ratios<'rows>(
    asked: &Levels,
    baselines: &BTreeSet<&'rows Levels>,
    cells: &FoundCells<'rows>,
    compared: ComparedResult<'_>,
) -> Vec<FoundRatio<'rows>> {
    let is_of = |baseline: &Levels| baseline.iter().all(|(name, level)| asked.get(name) == Some(level));
    let own: Vec<&Levels> = baselines.iter().copied().filter(|baseline| is_of(baseline)).collect();
    let found = |baseline: &&'rows Levels| {
        let mut other = asked.clone();
        other.extend((*baseline).clone());
        let [(&its_baseline, others), (&cell, its)] =
            [cells.get_key_value(&other)?, cells.get_key_value(asked)?];
        let pairs_of = |sides: [&Vec<&CellRun<'rows>>; 2]| {
            ComparedPairs::from_runs(sides.map(|runs| compared.of_runs(runs)))
        };
        let pairs = pairs_of([others, its]).filter(|_| its_baseline != cell)?;
        let is_shown = !own.iter().any(|own| own.keys().eq(baseline.keys()));
        let equals = run_again(its_baseline, cells).and_then(|again| pairs_of([others, again]));
        Some(FoundRatio { baseline, cells: [its_baseline, cell], pairs, equals, is_shown })
    };
    baselines.iter().filter_map(found).collect()
}

/// The runs of the cell that differs from this one in its `control` alone.
fn run_again<'cells, 'rows>(
    asked: &Levels,
    cells: &'cells FoundCells<'rows>,
) -> Option<&'cells Vec<&'rows CellRun<'rows>>> {
    let own = asked.get(CONTROL)?;
    let is_again = |other: &Levels| {
        other.get(CONTROL).is_some_and(|control| control != own)
            && asked.iter().all(|(factor, level)| factor == CONTROL || other.get(factor) == Some(level))
    };
    cells.iter().find(|(other, _)| is_again(other)).map(|(_, runs)| runs)
}

impl<'rows> FoundRatio<'rows> {
    /// Runs without a partner, each with its cell.
    fn single(&self) -> impl Iterator<Item = (&'rows Levels, SessionRound<'rows>)> {
        let of_side = |side: usize| self.pairs.single[side].iter().map(move |run| (self.cells[side], *run));
        of_side(0).chain(of_side(1))
    }

    fn judge(&self, alpha: f64) -> Option<BaselineRatio> {
        let FoundRatio { baseline, pairs, equals, is_shown, .. } = self;
        let alpha = if *is_shown { alpha } else { ALPHA };
        let mut judged = pairs.judge(alpha)?;
        let band = equals.as_ref().and_then(|equals| equals.judge(alpha)?.interval());
        if let Some((interval, band)) = judged.interval().zip(band)
            && interval.low <= band.high
            && band.low <= interval.high
        {
            judged.verdict = ComparisonVerdict::NoDifferenceShown;
        }
        Some(BaselineRatio {
            baseline: (*baseline).clone(),
            pairs: pairs.count(),
            judged,
            band,
            is_shown: *is_shown,
        })
    }
}

fn single_note(single: usize) -> Option<String> {
    let words = "runs without a partner in the same session and round, left out of that ratio";
    (single > 0).then(|| format!("{words}: {single}"))
}

fn notes(rows: &[&Row]) -> Vec<String> {
    let count = |marked: fn(&Row) -> bool| rows.iter().filter(|row| marked(row)).count();
    let loaded = count(|row| row.load > LOAD_PER_CPU_MAX * f64::from(row.cpus));
    let restless = count(|row| row.quiet == Some(false));
    let all = rows.len();
    let load = format!(
        "{loaded} of {all} runs began at a load above {LOAD_PER_CPU_MAX} for each processor; the study's own runs \
         count towards it"
    );
    let rest = format!("{restless} of {all} runs started while the disk was not idle");
    let mixed = [
        ("hosts", distinct(rows, |row| &row.host)),
        ("kernels", distinct(rows, |row| &row.kernel)),
        ("file systems", distinct(rows, |row| &row.file_system)),
        ("versions of pump", distinct(rows, |row| &row.version)),
    ];
    let mixed = mixed.iter().filter(|(_, some)| some.len() > 1).map(|(what, some)| {
        let some: Vec<&str> = some.iter().copied().collect();
        format!("rows of several {what} are mixed: {}", some.join(", "))
    });
    let marked = [(loaded, load), (restless, rest)].into_iter().filter(|(count, _)| *count > 0);
    let explained =
        explained_words(rows.iter().filter_map(|row| Some((ends_of(row), row.explained.as_ref()?))));
    let notes = marked.map(|(_, words)| words).chain(mixed).chain(drift_notes(rows));
    notes.chain(soaker_notes(rows)).chain(explained).collect()
}

/// The kind of ends of a run: its command's name.
fn ends_of(row: &Row) -> String {
    row.asked.get(COMMAND).map_or_else(|| "copies".into(), Level::to_string)
}

/// Notes of drift, for each session by itself: rounds of another day are no rounds of it.
fn drift_notes(rows: &[&Row]) -> Vec<String> {
    let mut sessions: BTreeMap<(&str, u64), Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|row| sessions.entry((&row.session, row.seed)).or_default().push(row));
    sessions.into_values().filter_map(|rows| Drift::from_rows(rows)?.words()).collect()
}

/// What makes the CPU time by the soaker uncertain, and what it fell back to.
fn soaker_notes(rows: &[&Row]) -> Vec<String> {
    let soaked: Vec<_> = rows.iter().filter_map(|row| row.soaker.as_ref()).collect();
    let noisy: Vec<_> = soaked.iter().filter(|soaker| soaker.noisy).collect();
    let noise = noisy.first().map(|first| {
        let (some, all) = (noisy.len(), soaked.len());
        format!("{some} of {all} runs with the soaker are noisy; the first: {}", first.why.join("; "))
    });
    let fallback: BTreeSet<&String> = soaked.iter().flat_map(|soaker| &soaker.fallback).collect();
    noise.into_iter().chain(fallback.into_iter().map(|words| format!("the soaker: {words}"))).collect()
}

fn distinct<'rows>(rows: &[&'rows Row], field: fn(&Row) -> &String) -> BTreeSet<&'rows str> {
    rows.iter().map(|row| field(row).as_str()).collect()
}

#[cfg(test)]
mod tests;
