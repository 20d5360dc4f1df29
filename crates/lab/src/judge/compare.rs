//! Decides whether B differs from A, cell by cell and overall: two files of rows of one study, run by two versions.
//!
//! The logarithms of A's value over B's, round by round, have a trimmed mean and an interval of Student's t
//! ([`Estimate`]). All intervals hold together with 95 % confidence: Bonferroni's correction, because with it, unlike
//! with Holm's, the interval that is printed is the one that decides. A verdict needs an interval without 1 and a
//! ratio outside the A/A band: what each file says when its rounds are compared with the rounds before them. Must not
//! know: how runs are made, how figures are printed.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::stats::{self, ComparisonVerdict, Estimate, Interval};
use crate::row::{Row, read_rows};
use crate::study::Level;

mod binaries;
mod metric;
mod normalise;
mod text;
mod warnings;

pub use binaries::{compare_binaries, compare_sides};
pub use metric::Metric;
pub use normalise::{NoProportion, Normalise};
pub use warnings::NothingInCommon;

/// All verdicts of a comparison together are wrong this often, if nothing differs.
pub const DOUBT: f64 = 0.05;

/// Why a cell has no verdict: an interval needs three runs on each side.
pub const TOO_FEW: &str = "too few runs";
/// Why a cell has no verdict: the rows do not have what is compared.
pub const NOT_MEASURED: &str = "not measured";
/// Why a cell has no verdict: a device or a clock of its own is a difference of its own (statement S49).
pub const OTHER_MACHINE: &str = "not the same machine; see --normalise";
/// Why a ratio whose interval leaves out 1 is no difference.
pub const IN_THE_BAND: &str = "inside the A/A band";

/// What two files of rows say of each other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The compared metric.
    pub metric: Metric,
    /// What times are in proportion to.
    pub normalise: Option<Normalise>,
    /// The unit of the medians.
    pub unit: &'static str,
    /// What a ratio is and what above 1 means.
    pub ratio_is: String,
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
    /// Rounds that both have; 0 if the runs were compared without pairs.
    pub pairs: usize,
    /// The median of A's runs.
    pub a_median: Option<f64>,
    /// The median of B's runs.
    pub b_median: Option<f64>,
    /// What that shows.
    #[serde(flatten)]
    pub judged: Judged,
}

/// A ratio and what it shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    /// The verdict on B.
    pub verdict: ComparisonVerdict,
    /// A's value over B's: above 1 B is faster. Null if either has no run.
    pub ratio: Option<f64>,
    /// The lower end of its interval; null with fewer than three runs.
    pub ratio_low: Option<f64>,
    /// The upper end.
    pub ratio_high: Option<f64>,
    /// The lower end of what A against A gives (95 %).
    pub band_low: Option<f64>,
    /// The upper end.
    pub band_high: Option<f64>,
    /// Why there is no verdict where one might be expected.
    pub why: Option<&'static str>,
}

/// A study and the level of every factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ComparedCell<'rows> {
    study: &'rows str,
    asked: &'rows BTreeMap<String, Level>,
}

/// The rows of a file by their cell.
type RowsSide<'rows> = BTreeMap<ComparedCell<'rows>, Vec<&'rows Row>>;

/// The values of a cell, by seed and round.
#[derive(Debug, Default)]
struct Values(BTreeMap<(u64, u32), Vec<f64>>);

/// A cell before it is judged: that depends on how many there are.
#[derive(Debug)]
struct FoundCell<'rows> {
    cell: ComparedCell<'rows>,
    values: [Values; 2],
    pairs: Vec<f64>,
    estimate: Option<Estimate>,
    noise: Option<Estimate>,
}

/// How rows are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Yardstick {
    /// What of them.
    pub metric: Metric,
    /// In proportion to what, if they are not of one machine.
    pub normalise: Option<Normalise>,
}

/// Compares two files of rows.
///
/// Errors: a file that cannot be read; [`NothingInCommon`] if there is no cell that both have; [`NoProportion`].
pub fn compare(a: &Path, b: &Path, by: Yardstick) -> anyhow::Result<Comparison> {
    let name = |path: &Path| datapump::shown(path.as_os_str().as_encoded_bytes());
    let rows = [read_rows(a)?, read_rows(b)?];
    let mut comparison = Comparison::by([name(a), name(b)], [&rows[0], &rows[1]], by)?;
    if is_one_file(a, b) {
        comparison.notes.push("A and B are the same file, so that nothing can differ".into());
    }
    Ok(comparison)
}

fn is_one_file(a: &Path, b: &Path) -> bool {
    let inode = |path: &Path| path.metadata().map(|meta| (meta.dev(), meta.ino())).ok();
    inode(a).is_some_and(|its| inode(b) == Some(its))
}

impl Comparison {
    /// Compares rows as it is asked; those of different machines have no verdict unless they are normalised.
    ///
    /// Errors: as [`compare`], but for reading.
    pub fn by(files: [String; 2], rows: [&[Row]; 2], by: Yardstick) -> anyhow::Result<Comparison> {
        let Some(normalise) = by.normalise else {
            let mut comparison = Comparison::from_files(files, rows, by.metric)?;
            if warnings::are_of_other_machines(rows) {
                comparison.judge_nothing(OTHER_MACHINE);
            }
            return Ok(comparison);
        };
        normalise.check(by.metric)?;
        let ([a, b], note) = normalise.rows(rows)?;
        let mut comparison = Comparison::from_files(files, [&a, &b], by.metric)?;
        comparison.normalise = Some(normalise);
        comparison.notes.push(note);
        Ok(comparison)
    }

    fn judge_nothing(&mut self, why: &'static str) {
        self.cells.iter_mut().for_each(|cell| cell.judged = Judged::none(cell.judged.ratio, why));
        self.overall = Judged::none(self.overall.ratio, why);
        self.at_once = 0;
    }

    /// Compares rows; the names stand for the files.
    pub fn from_files(
        files: [String; 2],
        rows: [&[Row]; 2],
        metric: Metric,
    ) -> Result<Comparison, NothingInCommon> {
        let sides = rows.map(by_cell);
        let both = sides[0].iter().filter_map(|(cell, ours)| Some((*cell, [ours, sides[1].get(cell)?])));
        let mut found: Vec<FoundCell<'_>> =
            both.map(|(cell, rows)| FoundCell::from_rows(cell, rows, metric)).collect();
        found.sort_by(|one, other| by_levels(one.cell, other.cell));
        if found.is_empty() {
            return Err(NothingInCommon::from_files(&files, &sides));
        }
        let judged = found.iter().filter(|found| found.estimate.is_some()).count();
        let at_once = if judged > 1 { judged + 1 } else { judged };
        let doubt = DOUBT / at_once.max(1) as f64;
        Ok(Comparison {
            metric,
            normalise: None,
            unit: metric.unit(),
            ratio_is: format!("{metric} of A / {metric} of B; above 1 B {}", metric.better()),
            at_once,
            cells: found.iter().map(|found| found.judge(doubt)).collect(),
            overall: overall(&found, doubt),
            warnings: warnings::warnings(&sides, metric),
            notes: warnings::notes(&sides),
            files,
        })
    }

    /// Whether nothing could be judged.
    pub fn is_empty(&self) -> bool {
        self.at_once == 0
    }
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

impl Values {
    fn from_rows(rows: &[&Row], metric: Metric) -> Values {
        let mut values = Values::default();
        for row in rows.iter().filter(|row| row.is_completed()) {
            if let Some(value) = metric.value_in(row) {
                values.0.entry((row.seed, row.repeat)).or_default().push(value);
            }
        }
        values
    }

    fn all(&self) -> Vec<f64> {
        self.0.values().flatten().copied().collect()
    }

    fn logarithms(&self) -> Vec<f64> {
        self.all().into_iter().map(f64::ln).collect()
    }

    fn median(&self) -> Option<f64> {
        stats::median(&self.all())
    }

    /// Each run against the one in the round before: A against A.
    fn steps(&self) -> Vec<f64> {
        self.logarithms().windows(2).map(|two| two[1] - two[0]).collect()
    }
}

impl<'rows> FoundCell<'rows> {
    fn from_rows(cell: ComparedCell<'rows>, rows: [&Vec<&'rows Row>; 2], metric: Metric) -> FoundCell<'rows> {
        let values = rows.map(|rows| Values::from_rows(rows, metric));
        let pairs = pairs(&values);
        let [a, b] = values.each_ref().map(Values::logarithms);
        let estimate = if pairs.is_empty() {
            Estimate::from_values(&a).zip(Estimate::from_values(&b)).map(|(a, b)| a.minus(b))
        } else {
            Estimate::from_values(&pairs)
        };
        let runs = match pairs.len() {
            0 => 2.0 / (1.0 / a.len() as f64 + 1.0 / b.len() as f64),
            pairs => pairs as f64,
        };
        let noise = noise(&values, runs);
        FoundCell { cell, values, pairs, estimate, noise }
    }

    fn judge(&self, doubt: f64) -> CellComparison {
        let ComparedCell { study, asked } = self.cell;
        let [a, b] = &self.values;
        let medians = [a.median(), b.median()];
        let judged = match (self.estimate, medians) {
            (Some(estimate), _) => Judged::from_estimate(estimate, self.noise, doubt),
            (None, [Some(a), Some(b)]) => Judged::none(Some(a / b), TOO_FEW),
            (None, _) => Judged::none(None, NOT_MEASURED),
        };
        CellComparison {
            study: study.into(),
            asked: asked.clone(),
            a_runs: a.all().len(),
            b_runs: b.all().len(),
            pairs: self.pairs.len(),
            a_median: medians[0],
            b_median: medians[1],
            judged,
        }
    }
}

/// The differences of the rounds that both have: none if there are fewer than three, or if more than half of the runs
/// of either would be left out.
fn pairs([a, b]: &[Values; 2]) -> Vec<f64> {
    let common = a.0.iter().filter_map(|(round, ours)| Some((ours, b.0.get(round)?)));
    let pairs: Vec<f64> =
        common.flat_map(|(ours, theirs)| ours.iter().zip(theirs).map(|(a, b)| (a / b).ln())).collect();
    let most = a.all().len().max(b.all().len());
    if pairs.len() < stats::ESTIMATE_VALUES_MIN || pairs.len() * 2 < most { Vec::new() } else { pairs }
}

/// The uncertainty of a file compared with itself by so many pairs of runs.
fn noise(values: &[Values; 2], runs: f64) -> Option<Estimate> {
    let steps: Vec<f64> = values.iter().flat_map(Values::steps).collect();
    let of_all = Estimate::from_values(&steps)?;
    Some(Estimate { center: 0.0, variance: of_all.variance * steps.len() as f64 / runs, ..of_all })
}

fn overall(found: &[FoundCell<'_>], doubt: f64) -> Judged {
    let estimates: Vec<Estimate> = found.iter().filter_map(|found| found.estimate).collect();
    let noises: Vec<Estimate> = found.iter().filter_map(|found| found.noise).collect();
    if let Some(estimate) = Estimate::mean(&estimates) {
        return Judged::from_estimate(estimate, Estimate::mean(&noises), doubt);
    }
    let plain = |[a, b]: &[Values; 2]| Some((a.median()? / b.median()?).ln());
    let ratios: Vec<f64> = found.iter().filter_map(|found| plain(&found.values)).collect();
    let ratio = stats::mean(&ratios).map(f64::exp);
    Judged::none(ratio, if ratio.is_some() { TOO_FEW } else { NOT_MEASURED })
}

impl Judged {
    fn from_estimate(estimate: Estimate, noise: Option<Estimate>, doubt: f64) -> Judged {
        let ratio = estimate.center.exp();
        let Interval { low, high } = estimate.interval(doubt);
        let band = noise.map(|noise| noise.half_width(DOUBT));
        let is_noise = band.is_some_and(|band| estimate.center.abs() <= band);
        let (verdict, why) = if low <= 0.0 && high >= 0.0 {
            (ComparisonVerdict::NoDifferenceShown, None)
        } else if is_noise {
            (ComparisonVerdict::NoDifferenceShown, Some(IN_THE_BAND))
        } else if low > 0.0 {
            (ComparisonVerdict::Faster, None)
        } else {
            (ComparisonVerdict::Slower, None)
        };
        Judged {
            verdict,
            ratio: Some(ratio),
            ratio_low: Some(low.exp()),
            ratio_high: Some(high.exp()),
            band_low: band.map(|band| (-band).exp()),
            band_high: band.map(f64::exp),
            why,
        }
    }

    fn none(ratio: Option<f64>, why: &'static str) -> Judged {
        Judged {
            verdict: ComparisonVerdict::CannotBeJudged,
            ratio,
            ratio_low: None,
            ratio_high: None,
            band_low: None,
            band_high: None,
            why: Some(why),
        }
    }
}

#[cfg(test)]
mod tests;
