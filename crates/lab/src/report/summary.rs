//! What rows say: per cell the median time with its interval, rates and CPU costs, and ratios to the baselines.
//!
//! Everything is computed from rows, and the same rows give the same figures. Must not know: how runs are made, how
//! figures are printed.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::{CpuBy, cpu_ns};
use crate::judge::drift::Drift;
use crate::judge::stages::{StagePair, stage_pairs};
use crate::judge::stats::{self, ComparisonVerdict, Interval, Ratio};
use crate::row::{DisturbedRows, Row, explained_words};
use crate::study::{COMMAND, CONTROL, Level};

const GIB: f64 = (1_u64 << 30) as f64;
/// Intervals are resampled with this seed, so that the same rows always give the same figures.
const SEED: u64 = 1;
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
    /// The cells: by their levels, commands by their median.
    pub cells: Vec<CellSummary>,
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
    /// Wall time of a run; null if none completed.
    pub elapsed_ns: Option<Sample>,
    /// Bytes over the median time; of readers that were started together, over their mean latency.
    pub bytes_per_second: Option<f64>,
    /// Latency of a reader, where several are started together.
    pub reader_ns: Option<Sample>,
    /// Bytes of a reader over that mean latency.
    pub reader_bytes_per_second: Option<f64>,
    /// Wall time for a request; null where requests are not known.
    pub ns_per_request: Option<Sample>,
    /// The median of how long requests at the source took, in nanoseconds; null where that was not kept.
    pub source_p50_ns: Option<Sample>,
    /// How long 99 of a hundred of them took at most.
    pub source_p99_ns: Option<Sample>,
    /// Mean size of what a receive from the network returned; null without a network.
    pub mean_part_bytes: Option<Sample>,
    /// CPU time of the process or the command, user and system, in seconds per GiB.
    pub cpu_seconds_per_gib: Option<Sample>,
    /// CPU time of the whole machine, in seconds per GiB.
    pub machine_cpu_seconds_per_gib: Option<Sample>,
    /// CPU time of the whole run by the soaker, for each byte; null where it was off or did not have all CPUs.
    pub soaker_cpu_ns_per_byte: Option<Sample>,
    /// CPU time by the soaker for each request.
    pub soaker_cpu_us_per_request: Option<Sample>,
    /// Largest memory of any run.
    pub max_rss_bytes: Option<u64>,
    /// How it compares with the study's baselines.
    pub ratios: Vec<BaselineRatio>,
}

/// How many times as fast a cell is as a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BaselineRatio {
    /// Levels of the baseline that differ from the cell's.
    pub baseline: Levels,
    /// The ratio of their times, in pairs of one round. Where there is a band, the verdict is a difference only if the
    /// interval lies outside of it.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// The interval of the same ratio for the baseline run once more (the factor `control`): the band of equal runs.
    pub band: Option<Interval>,
}

/// A row, and the file it is from: only rows of one file, seed and round are pairs.
type FoundRow<'rows> = (usize, &'rows Row);
type FoundCells<'rows> = BTreeMap<&'rows Levels, Vec<FoundRow<'rows>>>;

impl Summary {
    /// Sums up files of rows, with ratios of undisturbed runs.
    pub fn from_rows(files: &[Vec<Row>]) -> Summary {
        Summary::of_files(files, false)
    }

    /// Sums up files of rows; `keep_disturbed`: with ratios of disturbed runs, too.
    pub fn of_files(files: &[Vec<Row>], keep_disturbed: bool) -> Summary {
        let mut studies: BTreeMap<&str, Vec<FoundRow<'_>>> = BTreeMap::new();
        for (file, row) in
            files.iter().enumerate().flat_map(|(file, rows)| rows.iter().map(move |row| (file, row)))
        {
            studies.entry(&row.study).or_default().push((file, row));
        }
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
    fn from_rows(name: &str, rows: &[FoundRow<'_>], keep_disturbed: bool) -> StudySummary {
        let mut cells: FoundCells<'_> = BTreeMap::new();
        rows.iter().for_each(|&(file, row)| cells.entry(&row.asked).or_default().push((file, row)));
        let is_judged = |row: &Row| keep_disturbed || row.disturbance().is_none();
        let mut judged = cells.clone();
        judged.values_mut().for_each(|rows| rows.retain(|(_, row)| is_judged(row)));
        let disturbed = DisturbedRows::count(rows.iter().map(|(_, row)| *row), keep_disturbed);
        let baselines: BTreeSet<&Levels> = rows.iter().flat_map(|(_, row)| &row.baselines).collect();
        let absent: BTreeSet<&String> = rows.iter().flat_map(|(_, row)| &row.absent).collect();
        let ratios = |asked: &Levels| -> Vec<BaselineRatio> {
            baselines.iter().filter_map(|baseline| ratio_to(asked, baseline, &judged)).collect()
        };
        let mut summaries: Vec<CellSummary> = cells
            .iter()
            .map(|(asked, rows)| CellSummary { ratios: ratios(asked), ..CellSummary::from_rows(asked, rows) })
            .collect();
        summaries.sort_by(CellSummary::by_levels);
        StudySummary {
            study: name.into(),
            runs: rows.len(),
            failed: rows.iter().filter(|(_, row)| !row.is_completed()).count(),
            counts: absent.is_empty(),
            absent: absent.into_iter().cloned().collect(),
            cells: summaries,
            stages: stage_pairs(rows.iter().map(|(_, row)| *row).filter(|row| is_judged(row))),
            notes: disturbed.words().into_iter().chain(notes(rows)).collect(),
            disturbed,
        }
    }
}

impl CellSummary {
    fn from_rows(asked: &Levels, rows: &[FoundRow<'_>]) -> CellSummary {
        let completed: Vec<&Row> =
            rows.iter().map(|(_, row)| *row).filter(|row| row.is_completed()).collect();
        let mut failed = BTreeMap::new();
        let failures = rows.iter().map(|(_, row)| row).filter(|row| !row.is_completed());
        failures.clone().for_each(|row| *failed.entry(row.outcome.clone()).or_default() += 1);
        let elapsed_ns = sample(&completed, |row| Some(row.elapsed_ns as f64));
        let bytes = completed.first().map_or(0, |row| row.bytes);
        let whole_rate = || elapsed_ns.filter(|_| bytes > 0).map(|time| bytes as f64 * 1e9 / time.median);
        let readers = OfReaders::new(&completed);
        let per_gib = |row: &Row, ns: f64| (row.bytes > 0).then(|| ns / 1e9 / (row.bytes as f64 / GIB));
        CellSummary {
            asked: asked.clone(),
            completed: completed.len(),
            failed,
            message: failures.into_iter().find_map(|row| row.message.clone()),
            bytes,
            elapsed_ns,
            bytes_per_second: readers.map_or_else(whole_rate, |readers| readers.all_bytes_per_second),
            reader_ns: readers.map(|readers| readers.latency_ns),
            reader_bytes_per_second: readers.and_then(|readers| readers.bytes_per_second),
            ns_per_request: sample(&completed, |row| {
                row.requests.filter(|&count| count > 0).map(|count| row.elapsed_ns as f64 / count as f64)
            }),
            source_p50_ns: sample(&completed, |row| source_latency_ns(row, "p50")),
            source_p99_ns: sample(&completed, |row| source_latency_ns(row, "p99")),
            mean_part_bytes: sample(&completed, |row| row.mean_part_bytes.map(|bytes| bytes as f64)),
            cpu_seconds_per_gib: sample(&completed, |row| per_gib(row, cpu_ns(row, CpuBy::Process)?)),
            machine_cpu_seconds_per_gib: sample(&completed, |row| per_gib(row, row.machine_cpu_ns? as f64)),
            soaker_cpu_ns_per_byte: sample(&completed, |row| soaker_ns_per(row, Some(row.bytes))),
            soaker_cpu_us_per_request: sample(&completed, |row| {
                soaker_ns_per(row, row.requests).map(|ns| ns / 1e3)
            }),
            max_rss_bytes: completed.iter().filter_map(|row| row.max_rss_bytes).max(),
            ratios: Vec::new(),
        }
    }

    /// By the levels of all factors but the command, then the fastest command first.
    fn by_levels(&self, other: &CellSummary) -> Ordering {
        let levels = |cell: &CellSummary| {
            let others = cell.asked.iter().filter(|(name, _)| *name != COMMAND);
            others.map(|(_, level)| level.clone()).collect::<Vec<_>>()
        };
        let time = |cell: &CellSummary| cell.elapsed_ns.map_or(f64::MAX, |time| time.median);
        let (ours, theirs) = (levels(self), levels(other));
        let by_value = ours.iter().zip(&theirs).map(|(one, other)| one.by_value(other));
        let by_value = by_value.fold(Ordering::Equal, Ordering::then);
        by_value.then(time(self).total_cmp(&time(other))).then_with(|| self.asked.cmp(&other.asked))
    }
}

/// The readers of a cell.
#[derive(Clone, Copy)]
struct OfReaders {
    latency_ns: Sample,
    bytes_per_second: Option<f64>,
    all_bytes_per_second: Option<f64>,
}

impl OfReaders {
    /// `None` where runs started none together.
    fn new(rows: &[&Row]) -> Option<OfReaders> {
        let rows = || rows.iter().filter(|row| row.readers.is_some());
        let latencies_ns: Vec<f64> = rows().flat_map(|row| row.latencies_s()).map(|s| s * 1e9).collect();
        let latency_ns = sample_of(&latencies_ns)?;
        let (runs, readers) = (rows().count() as f64, latencies_ns.len() as f64);
        let bytes: u64 = rows().map(|row| row.bytes).sum();
        let rate = |bytes: f64| (bytes > 0.0).then(|| bytes * 1e9 / latency_ns.mean);
        Some(OfReaders {
            latency_ns,
            bytes_per_second: rate(bytes as f64 / readers),
            all_bytes_per_second: rate(bytes as f64 / runs),
        })
    }
}

fn source_latency_ns(row: &Row, percentile: &str) -> Option<f64> {
    row.latency_ns.as_ref()?.get("source")?.get(percentile)?.as_f64()
}

fn soaker_ns_per(row: &Row, count: Option<u64>) -> Option<f64> {
    let cpu_ns = row.soaker.as_ref()?.cpu_ns? as f64;
    count.filter(|&count| count > 0).map(|count| cpu_ns / count as f64)
}

fn sample(rows: &[&Row], value: impl Fn(&Row) -> Option<f64>) -> Option<Sample> {
    sample_of(&rows.iter().filter_map(|row| value(row)).collect::<Vec<f64>>())
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

/// Compares a cell with the cell that has the baseline's levels and otherwise its own; not with itself.
fn ratio_to(asked: &Levels, baseline: &Levels, cells: &FoundCells<'_>) -> Option<BaselineRatio> {
    let mut other = asked.clone();
    other.extend(baseline.clone());
    if other == *asked {
        return None;
    }
    let mut ratio = stats::paired_ratio(&pairs(cells.get(asked)?, cells.get(&other)?), SEED)?;
    let band = band_of(&other, cells);
    if let Some((interval, band)) = ratio.interval.zip(band)
        && interval.low <= band.high
        && band.low <= interval.high
    {
        ratio.verdict = ComparisonVerdict::NoDifferenceShown;
    }
    Some(BaselineRatio { baseline: baseline.clone(), ratio, band })
}

/// How far equal runs lie apart: the cell that differs from this one in its `control` alone, beside it.
fn band_of(asked: &Levels, cells: &FoundCells<'_>) -> Option<Interval> {
    let own = asked.get(CONTROL)?;
    let is_again = |other: &&Levels| {
        other.get(CONTROL).is_some_and(|control| control != own)
            && asked.iter().all(|(factor, level)| factor == CONTROL || other.get(factor) == Some(level))
    };
    let again = cells.keys().copied().find(is_again)?;
    stats::paired_ratio(&pairs(&cells[again], cells.get(asked)?), SEED)?.interval
}

/// The times of two cells in the rounds that both completed: of readers, their mean latency.
fn pairs(its: &[FoundRow<'_>], others: &[FoundRow<'_>]) -> Vec<(f64, f64)> {
    let round = |&(file, row): &FoundRow<'_>| (file, row.seed, row.repeat);
    let time = |&(_, row): &FoundRow<'_>| row.is_completed().then(|| stats::mean(&row.latencies_s()))?;
    let timed = |found| Some((round(found), time(found).filter(|&seconds| seconds > 0.0)?));
    let times: BTreeMap<_, f64> = others.iter().filter_map(timed).collect();
    its.iter().filter_map(timed).filter_map(|(round, time)| Some((time, *times.get(&round)?))).collect()
}

fn notes(rows: &[FoundRow<'_>]) -> Vec<String> {
    let count = |marked: fn(&Row) -> bool| rows.iter().filter(|(_, row)| marked(row)).count();
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
        explained_words(rows.iter().filter_map(|(_, row)| Some((ends_of(row), row.explained.as_ref()?))));
    let notes = marked.map(|(_, words)| words).chain(mixed).chain(drift_notes(rows));
    notes.chain(soaker_notes(rows)).chain(explained).collect()
}

/// The kind of ends of a run: its command's name.
fn ends_of(row: &Row) -> String {
    row.asked.get(COMMAND).map_or_else(|| "copies".into(), Level::to_string)
}

/// Notes of drift, for each file by itself: rows of another day are no rounds of it.
fn drift_notes(rows: &[FoundRow<'_>]) -> Vec<String> {
    let files: BTreeSet<(usize, u64)> = rows.iter().map(|(file, row)| (*file, row.seed)).collect();
    let of = |(at, seed): (usize, u64)| {
        let these = rows.iter().filter(|(file, row)| (*file, row.seed) == (at, seed));
        Drift::from_rows(these.map(|(_, row)| *row))?.words()
    };
    files.into_iter().filter_map(of).collect()
}

/// Doubts about the CPU time by the soaker, and what it fell back to.
fn soaker_notes(rows: &[FoundRow<'_>]) -> Vec<String> {
    let soaked: Vec<_> = rows.iter().filter_map(|(_, row)| row.soaker.as_ref()).collect();
    let noisy: Vec<_> = soaked.iter().filter(|soaker| soaker.noisy).collect();
    let noise = noisy.first().map(|first| {
        let (some, all) = (noisy.len(), soaked.len());
        format!("{some} of {all} runs with the soaker are noisy; the first: {}", first.why.join("; "))
    });
    let fallback: BTreeSet<&String> = soaked.iter().flat_map(|soaker| &soaker.fallback).collect();
    noise.into_iter().chain(fallback.into_iter().map(|words| format!("the soaker: {words}"))).collect()
}

fn distinct<'rows>(rows: &[FoundRow<'rows>], field: fn(&Row) -> &String) -> BTreeSet<&'rows str> {
    rows.iter().map(|(_, row)| field(row).as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::stats::ComparisonVerdict;
    use crate::row::COMPLETED;

    fn row(command: &str, repeat: u32, elapsed_ns: u64) -> Row {
        Row {
            v: 1,
            study: "peers".into(),
            asked: BTreeMap::from([(COMMAND.into(), command.into()), ("size".into(), "1GiB".into())]),
            repeat,
            outcome: COMPLETED.into(),
            bytes: 1 << 30,
            elapsed_ns,
            user_ns: Some(500_000_000),
            system_ns: Some(250_000_000),
            machine_cpu_ns: Some(1_000_000_000),
            cpus: 2,
            baselines: vec![BTreeMap::from([(COMMAND.into(), "cp".into())])],
            ..Row::default()
        }
    }

    fn rounds(count: u32) -> Vec<Row> {
        (0..count)
            .flat_map(|round| {
                let drift = 1_000_000_000 + u64::from(round) * 100_000_000;
                [row("cp", round, drift * 3), row("pump", round, drift * 2), row("same", round, drift * 3)]
            })
            .collect()
    }

    fn study(files: &[Vec<Row>]) -> StudySummary {
        Summary::from_rows(files).studies.remove(0)
    }

    #[test]
    fn ratios_are_of_pairs_so_drift_does_not_matter() {
        let study = study(&[rounds(7)]);
        let commands: Vec<String> = study.cells.iter().map(|cell| cell.asked[COMMAND].to_string()).collect();
        assert_eq!(commands, ["pump", "cp", "same"], "the fastest first");
        assert!(study.notes.iter().any(|note| note.starts_with("times drift: +")), "{:?}", study.notes);
        for (cell, ratio) in study.cells.iter().zip([
            Some((1.5, ComparisonVerdict::Faster)),
            None,
            Some((1.0, ComparisonVerdict::NoDifferenceShown)),
        ]) {
            let got = cell.ratios.first().map(|it| (it.ratio.ratio, it.ratio.verdict));
            assert_eq!(got, ratio, "{:?}", cell.asked);
        }
        let pump = &study.cells[0];
        assert_eq!(pump.ratios[0].ratio.pairs, 7);
        assert_eq!(pump.elapsed_ns.map(|time| time.median), Some(2.6e9));
        assert_eq!(pump.cpu_seconds_per_gib.map(|cpu| cpu.median), Some(0.75));
        assert_eq!(pump.machine_cpu_seconds_per_gib.map(|cpu| cpu.median), Some(1.0));
        assert_eq!(pump.ns_per_request, None);
    }

    #[test]
    fn rows_of_different_files_are_no_pairs() {
        let cp: Vec<Row> = rounds(5).into_iter().filter(|row| row.asked[COMMAND] == "cp".into()).collect();
        let pump: Vec<Row> =
            rounds(5).into_iter().filter(|row| row.asked[COMMAND] == "pump".into()).collect();
        let study = study(&[cp, pump]);
        assert!(study.cells.iter().all(|cell| cell.ratios.is_empty()));
    }

    #[test]
    fn failed_runs_are_counted_and_in_no_figure() {
        let mut rows = rounds(5);
        rows[1].outcome = "io".into();
        rows[1].message = Some("exit status: 1".into());
        let study = study(&[rows]);
        let pump = study.cells.iter().find(|cell| cell.asked[COMMAND] == "pump".into()).expect("a cell");
        assert_eq!((study.runs, study.failed, pump.completed), (15, 1, 4));
        assert_eq!(pump.failed, BTreeMap::from([("io".to_string(), 1)]));
        assert_eq!(pump.message.as_deref(), Some("exit status: 1"));
        assert_eq!(pump.ratios[0].ratio.pairs, 4);
        assert_eq!(
            pump.ratios[0].ratio.verdict,
            ComparisonVerdict::CannotBeJudged,
            "four pairs show nothing"
        );
    }

    #[test]
    fn an_absent_program_makes_the_report_count_for_nothing() {
        let mut rows = rounds(1);
        rows[0].absent = vec!["mbuffer".into()];
        let study = study(&[rows]);
        assert_eq!((study.counts, study.absent), (false, vec!["mbuffer".to_string()]));
    }

    #[test]
    fn the_cpu_time_of_the_soaker_stands_beside_that_of_the_process() {
        let soaker = |cpu_ns: Option<i64>| {
            let (noisy, why) = (cpu_ns.is_none(), vec!["not quiet".into()]);
            Some(crate::row::Soaked {
                cpu_ns,
                noisy,
                why,
                fallback: vec!["nice 19".into()],
                ..Default::default()
            })
        };
        let mut rows = rounds(3);
        rows.retain(|row| row.asked[COMMAND] == "cp".into());
        for (row, cpu_ns) in rows.iter_mut().zip([Some(2 << 30), Some(-(1 << 30)), None]) {
            (row.soaker, row.requests) = (soaker(cpu_ns), Some(1 << 10));
        }
        let study = study(&[rows]);
        let cell = &study.cells[0];
        let means = |sample: Option<Sample>| sample.map(|it| (it.n, it.mean));
        assert_eq!(means(cell.soaker_cpu_ns_per_byte), Some((2, 0.5)));
        assert_eq!(means(cell.soaker_cpu_us_per_request), Some((2, 524.288)));
        let notes = ["1 of 3 runs with the soaker are noisy; the first: not quiet", "the soaker: nice 19"];
        assert_eq!(study.notes[1..], notes);
        assert!(study.notes[0].starts_with("disturbed runs: 1 (the soaker was noisy: 1), in no verdict"));
    }

    #[test]
    fn disturbed_runs_stand_in_tables_and_in_no_ratio_unless_they_are_kept() {
        let mut rows = rounds(5);
        for row in rows.iter_mut().filter(|row| row.repeat < 2) {
            (row.pace_before_ns, row.pace_after_ns) = (Some(5_000_000), Some(6_000_000));
        }
        for (keep, pairs) in [(false, 3), (true, 5)] {
            let study = Summary::of_files(&[rows.clone()], keep).studies.remove(0);
            assert_eq!((study.disturbed.pace, study.disturbed.kept), (6, keep));
            assert!(
                study.notes[0].starts_with("disturbed runs: 6 (the processor's pace"),
                "{:?}",
                study.notes
            );
            assert!(study.cells.iter().all(|cell| cell.completed == 5));
            let mut ratios = study.cells.iter().flat_map(|cell| &cell.ratios).peekable();
            assert!(ratios.peek().is_some() && ratios.all(|it| it.ratio.pairs == pairs), "{keep}");
        }
    }

    #[test]
    fn marks_and_mixtures_are_noted() {
        let mut rows = rounds(1);
        rows[0].load = 1.5;
        rows[1].quiet = Some(false);
        rows[2].host = "other".into();
        let notes = study(&[rows]).notes.join("\n");
        for hint in ["1 of 3 runs began at a load", "1 of 3 runs started while", "rows of several hosts"] {
            assert!(notes.contains(hint), "{notes}");
        }
    }
}
