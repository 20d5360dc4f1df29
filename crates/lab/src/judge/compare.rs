//! Decides whether B differs from A, cell by cell and overall: two files of rows of one study, run by two versions.
//!
//! The units that are counted ([`units`]) are pairs of runs of one session where A and B were run in turns, else whole
//! sessions, of which each side needs three. The logarithms of A's value over B's have a trimmed mean and an
//! interval of Student's t ([`stats::Estimate`]). All intervals hold together with 95 % confidence:
//! Bonferroni's correction, because with it, unlike with Holm's, the interval that is printed is the one that decides.
//! Machine, kernel, build and load are compared first ([`facts`]). Must not know: how runs are made, how figures are
//! printed.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::CpuBy;
use crate::judge::stats;
use crate::row::{DisturbedRows, Row, name_sessions, read_rows, undisturbed};
use crate::study::Level;

mod binaries;
mod facts;
mod judged;
mod metric;
mod normalise;
mod pairs;
mod text;
mod turns;
mod units;
mod warnings;

pub use binaries::{compare_binaries, compare_sides};
pub use facts::ComparedFact;
pub use judged::{Judged, Unjudged};
pub use metric::Metric;
pub use normalise::{NoProportion, Normalise};
pub(crate) use pairs::ComparedPairs;
pub(crate) use text::judged_words;
pub use units::ComparedBy;
pub(crate) use units::MeasuredRun;
use units::{CellUnits, CellValues};
pub use warnings::NothingInCommon;

/// All verdicts of a comparison together are wrong this often, if nothing differs.
pub const ALPHA: f64 = 0.05;

/// What two files of rows say of each other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The compared metric.
    pub metric: Metric,
    /// The measure of CPU time, where that is compared.
    pub cpu_by: Option<CpuBy>,
    /// What times are in proportion to.
    pub normalise: Option<Normalise>,
    /// The unit of the medians.
    pub unit: &'static str,
    /// What a ratio is and what above 1 means.
    pub ratio_is: String,
    /// Machine, kernel, build, load and sessions of A and B.
    pub facts: Vec<ComparedFact>,
    /// The units that are compared.
    pub compared_by: ComparedBy,
    /// Intervals that hold at once with 95 % confidence: those of the cells and, of several cells, that of all.
    pub at_once: usize,
    /// The cells that both files have.
    pub cells: Vec<CellComparison>,
    /// All cells with the same weight.
    pub overall: Judged,
    /// What makes the comparison doubtful.
    pub warnings: Vec<String>,
    /// What was left out.
    pub notes: Vec<String>,
    /// Disturbed runs of A and of B.
    pub disturbed: [DisturbedRows; 2],
    /// The names of A and B.
    pub files: [String; 2],
}

/// A cell of two files.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CellComparison {
    /// The study.
    pub study: String,
    /// The level of every factor.
    pub asked: BTreeMap<String, Level>,
    /// Runs of A that count.
    pub a_runs: usize,
    /// Runs of B that count.
    pub b_runs: usize,
    /// Sessions of A's runs.
    pub a_sessions: usize,
    /// Sessions of B's runs.
    pub b_sessions: usize,
    /// Rounds of a session that both have; 0 if sessions were compared.
    pub pairs: usize,
    /// The median of A's runs.
    pub a_median: Option<f64>,
    /// The median of B's runs.
    pub b_median: Option<f64>,
    /// What that shows.
    #[serde(flatten)]
    pub judged: Judged,
}

/// A study and the level of every factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ComparedCell<'rows> {
    study: &'rows str,
    asked: &'rows BTreeMap<String, Level>,
}

/// The rows of a file by their cell.
type RowsSide<'rows> = BTreeMap<ComparedCell<'rows>, Vec<&'rows Row>>;

/// A cell before it is judged: that depends on how many there are.
#[derive(Debug)]
struct FoundCell<'rows> {
    cell: ComparedCell<'rows>,
    values: [CellValues<'rows>; 2],
    units: CellUnits<'rows>,
}

/// How rows are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Yardstick {
    /// What of them.
    pub metric: Metric,
    /// In proportion to what, if they are not of one machine.
    pub normalise: Option<Normalise>,
    /// Whether disturbed runs are compared, too.
    pub keep_disturbed: bool,
    /// The measure of CPU time; that which the rows of both sides are judged by if none is given.
    pub cpu: Option<CpuBy>,
}

/// Compares two files of rows.
///
/// Errors: a file that cannot be read; [`NothingInCommon`] if there is no cell that both have; [`NoProportion`].
pub fn compare(a: &Path, b: &Path, by: Yardstick) -> anyhow::Result<Comparison> {
    let name = |path: &Path| datapump::shown(path.as_os_str().as_encoded_bytes());
    let rows = [read_side(a)?, read_side(b)?];
    let mut comparison = Comparison::by([name(a), name(b)], [&rows[0], &rows[1]], by)?;
    if is_one_file(a, b) {
        comparison.notes.push("A and B are the same file, so that nothing can differ".into());
    }
    Ok(comparison)
}

/// Device and inode number of a file.
fn inode(path: &Path) -> Option<(u64, u64)> {
    path.metadata().map(|meta| (meta.dev(), meta.ino())).ok()
}

fn is_one_file(a: &Path, b: &Path) -> bool {
    inode(a).is_some_and(|its| inode(b) == Some(its))
}

/// The rows of a file, all with a session.
pub(crate) fn read_side(path: &Path) -> anyhow::Result<Vec<Row>> {
    let mut rows = read_rows(path)?;
    name_sessions(&mut rows, &format!("{:?}", inode(path).unwrap_or_default()));
    Ok(rows)
}

impl Comparison {
    /// Compares rows that say their sessions; those of different machines have no verdict unless they are normalised.
    ///
    /// Errors: as [`compare`], but for reading.
    pub(crate) fn by(files: [String; 2], rows: [&[Row]; 2], by: Yardstick) -> anyhow::Result<Comparison> {
        let [(a, of_a), (b, of_b)] = rows.map(|rows| undisturbed(rows, by.keep_disturbed));
        let words = [("A", of_a), ("B", of_b)].map(|(side, of)| Some(format!("{side}: {}", of.words()?)));
        let words: Vec<String> = words.into_iter().flatten().collect();
        let mut comparison = Comparison::from_undisturbed(files, [&a, &b], by)
            .map_err(|error| if words.is_empty() { error } else { error.context(words.join("; ")) })?;
        comparison.notes.extend(words);
        comparison.disturbed = [of_a, of_b];
        Ok(comparison)
    }

    fn from_undisturbed(files: [String; 2], rows: [&[Row]; 2], by: Yardstick) -> anyhow::Result<Comparison> {
        let Some(normalise) = by.normalise else {
            return Ok(Comparison::from_files(files, rows, by)?.unless(facts::obstacle(rows, false)));
        };
        normalise.check(by.metric)?;
        let ([a, b], note) = normalise.rows(rows)?;
        let mut comparison = Comparison::from_files(files, [&a, &b], by)?.unless(facts::obstacle(rows, true));
        comparison.normalise = Some(normalise);
        comparison.notes.push(note);
        Ok(comparison)
    }

    /// This, without verdicts if there is an obstacle.
    fn unless(mut self, obstacle: Option<Unjudged>) -> Comparison {
        if let Some(why) = obstacle {
            self.cells.iter_mut().for_each(|cell| cell.judged = Judged::none(cell.judged.ratio, why));
            self.overall = Judged::none(self.overall.ratio, why);
            self.at_once = 0;
        }
        self
    }

    /// Compares rows; the names stand for the files.
    pub(crate) fn from_files<'rows>(
        files: [String; 2],
        rows: [&'rows [Row]; 2],
        by: Yardstick,
    ) -> Result<Comparison, NothingInCommon> {
        let metric = by.metric;
        // Without any measure no row has a value.
        let cpu_by = by.cpu.or_else(|| CpuBy::of_sides(rows)).unwrap_or_default();
        let sides = rows.map(by_cell);
        let both: Vec<(ComparedCell<'_>, [&Vec<&Row>; 2])> =
            sides[0].iter().filter_map(|(cell, ours)| Some((*cell, [ours, sides[1].get(cell)?]))).collect();
        let side = |at: usize| both.iter().flat_map(move |(_, rows)| rows[at].iter().copied());
        let compared_by = ComparedBy::from_rows([side(0), side(1)]);
        let cell = |(cell, rows): &(ComparedCell<'rows>, [&Vec<&'rows Row>; 2])| {
            let values = rows.map(|rows| CellValues::from_rows(rows, metric, cpu_by));
            FoundCell::from_values(*cell, values, compared_by)
        };
        let mut found: Vec<FoundCell<'_>> = both.iter().map(cell).collect();
        found.sort_by(|one, other| by_levels(one.cell, other.cell));
        if found.is_empty() {
            return Err(NothingInCommon::from_files(&files, &sides));
        }
        let judged = found.iter().filter(|found| found.units.has_estimate()).count();
        let at_once = if judged > 1 { judged + 1 } else { judged };
        let alpha = ALPHA / at_once.max(1) as f64;
        let turns = warnings::turn_warning(&found.iter().map(|found| &found.units).collect::<Vec<_>>());
        Ok(Comparison {
            metric,
            cpu_by: metric.is_cpu_time().then_some(cpu_by),
            normalise: None,
            unit: metric.unit(),
            ratio_is: ratio_is(metric, compared_by, cpu_by),
            facts: facts::facts(rows),
            compared_by,
            at_once,
            cells: found.iter().map(|found| found.judge(compared_by, alpha)).collect(),
            overall: overall(&found, compared_by, alpha),
            warnings: warnings::warnings(rows, &sides, metric).into_iter().chain(turns).collect(),
            notes: warnings::notes(&sides, compared_by),
            disturbed: [DisturbedRows::default(); 2],
            files,
        })
    }

    /// Whether nothing could be judged.
    pub fn is_empty(&self) -> bool {
        !self.cells.iter().map(|cell| &cell.judged).chain([&self.overall]).any(Judged::is_judged)
    }
}

fn ratio_is(metric: Metric, by: ComparedBy, cpu_by: CpuBy) -> String {
    format!("{metric} of A / {metric} of B, {}; above 1 B {}", by.mean_words(), metric.better(cpu_by))
}

fn by_cell(rows: &[Row]) -> RowsSide<'_> {
    let mut side = RowsSide::new();
    for row in rows {
        side.entry(ComparedCell { study: &row.study, asked: &row.asked }).or_default().push(row);
    }
    side
}

fn by_levels(one: ComparedCell<'_>, other: ComparedCell<'_>) -> Ordering {
    let levels = one.asked.values().zip(other.asked.values()).map(|(one, other)| one.by_value(other));
    one.study.cmp(other.study).then(levels.fold(Ordering::Equal, Ordering::then))
}

impl<'rows> FoundCell<'rows> {
    fn from_values(
        cell: ComparedCell<'rows>,
        values: [CellValues<'rows>; 2],
        by: ComparedBy,
    ) -> FoundCell<'rows> {
        let units = CellUnits::from_values([&values[0], &values[1]], by);
        FoundCell { cell, values, units }
    }

    fn judge(&self, by: ComparedBy, alpha: f64) -> CellComparison {
        let ComparedCell { study, asked } = self.cell;
        let [a, b] = &self.values;
        CellComparison {
            study: study.into(),
            asked: asked.clone(),
            a_runs: a.all().len(),
            b_runs: b.all().len(),
            a_sessions: a.sessions(),
            b_sessions: b.sessions(),
            pairs: self.units.pairs(),
            a_median: a.median(),
            b_median: b.median(),
            judged: judged(&[self], by, alpha),
        }
    }

    /// The logarithm of A's value over B's: of the units, and of all runs where there are no pairs.
    fn plain_ratio(&self) -> Option<f64> {
        let [a, b] = &self.values;
        self.units.center().or_else(|| Some(a.center()? - b.center()?))
    }
}

fn overall(found: &[FoundCell<'_>], by: ComparedBy, alpha: f64) -> Judged {
    let with_estimate = |found: &&FoundCell<'_>| found.units.has_estimate();
    let judgeable: Vec<&FoundCell<'_>> = found.iter().filter(with_estimate).collect();
    let all = || found.iter().collect();
    judged(&if judgeable.is_empty() { all() } else { judgeable }, by, alpha)
}

/// The verdict on one cell, or on several with the same weight.
fn judged(cells: &[&FoundCell<'_>], by: ComparedBy, alpha: f64) -> Judged {
    let units: Vec<&CellUnits<'_>> = cells.iter().map(|cell| &cell.units).collect();
    if let Some(estimate) = units::estimate(&units) {
        let pairs = units.iter().map(|units| units.pairs()).max().unwrap_or_default();
        return Judged::from_estimate(estimate, pairs, units::step_percent(&units), alpha);
    }
    let ratios: Vec<f64> = cells.iter().filter_map(|cell| cell.plain_ratio()).collect();
    let ratio = stats::mean(&ratios).map(f64::exp);
    let why = match (ratio, by) {
        (None, _) => Unjudged::NotMeasured,
        (_, ComparedBy::Pairs) => Unjudged::TooFew,
        (_, ComparedBy::Sessions) => Unjudged::NotInterleaved(units::step_percent(&units)),
    };
    Judged::none(ratio, why)
}

#[cfg(test)]
mod tests;
