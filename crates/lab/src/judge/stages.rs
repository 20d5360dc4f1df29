//! Decides whether two stages of a program differ: not if their means are less than two standard deviations apart
//! (statement S43).
//!
//! Must not know: files, how the verdict is shown.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::stats;
use crate::row::Row;
use crate::study::Level;

/// The factor whose levels are judged.
pub const STAGE: &str = "stage";
/// Fewer runs of a cell are no measurement of its deviation.
pub const RUNS_MIN: usize = 3;
/// Means that are less apart are not separable.
const DEVIATIONS_MIN: f64 = 2.0;

/// The samples of each run of a stage.
type StageRuns = Vec<Vec<f64>>;

/// The samples of a stage, in one cell: what each run or each of its readers took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StageSpread {
    /// How many runs: readers of one run share its luck.
    pub n: usize,
    /// The mean of all samples.
    pub mean: f64,
    /// Their standard deviation (that of one fewer); null below two.
    pub standard_deviation: Option<f64>,
}

/// What two stages show of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum StageVerdict {
    /// The means are two standard deviations or more apart.
    #[serde(rename = "separable")]
    Separable,
    /// They are not.
    #[serde(rename = "not separable")]
    NotSeparable,
    /// One of them has fewer than three runs.
    #[serde(rename = "too few runs")]
    TooFew,
}

/// Two stages with equal levels of all other factors.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StagePair {
    /// The other factors.
    pub asked: BTreeMap<String, Level>,
    /// Both stages.
    pub stages: [Level; 2],
    /// Their samples, in seconds.
    pub spreads: [StageSpread; 2],
    /// How far the means are apart, in standard deviations (of the two, the larger one); null where there is none.
    pub deviations_apart: Option<f64>,
    /// What that shows.
    pub verdict: StageVerdict,
}

impl StageSpread {
    /// The spread of the samples of these runs. `None` without any.
    pub fn from_runs(runs: &[Vec<f64>]) -> Option<StageSpread> {
        let values = runs.concat();
        let standard_deviation = stats::standard_deviation(&values);
        Some(StageSpread { n: runs.len(), mean: stats::mean(&values)?, standard_deviation })
    }
}

/// How far two means are apart, in standard deviations, and what that shows. The larger deviation counts: what scatters
/// hides what does not.
pub fn separate(one: &StageSpread, other: &StageSpread) -> (Option<f64>, StageVerdict) {
    let deviation = match (one.standard_deviation, other.standard_deviation) {
        (Some(one), Some(other)) => one.max(other),
        _ => return (None, StageVerdict::TooFew),
    };
    let difference = (one.mean - other.mean).abs();
    // Equal samples have no deviation: any difference is infinitely many of them, and none is none.
    let apart = if difference == 0.0 { 0.0 } else { difference / deviation };
    let verdict = if one.n.min(other.n) < RUNS_MIN {
        StageVerdict::TooFew
    } else if apart < DEVIATIONS_MIN {
        StageVerdict::NotSeparable
    } else {
        StageVerdict::Separable
    };
    (apart.is_finite().then_some(apart), verdict)
}

/// All pairs of stages that rows have samples of: the latency of each reader, or else the time of each run.
pub fn stage_pairs<'rows>(rows: impl IntoIterator<Item = &'rows Row>) -> Vec<StagePair> {
    let mut cells: BTreeMap<BTreeMap<String, Level>, BTreeMap<Level, StageRuns>> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| row.is_completed()) {
        let mut asked = row.asked.clone();
        let Some(stage) = asked.remove(STAGE) else { continue };
        cells.entry(asked).or_default().entry(stage).or_default().push(row.latencies_s());
    }
    cells.iter().flat_map(|(asked, stages)| pairs_of_cell(asked, stages)).collect()
}

fn pairs_of_cell(asked: &BTreeMap<String, Level>, stages: &BTreeMap<Level, StageRuns>) -> Vec<StagePair> {
    let spreads = stages.iter().filter_map(|(stage, runs)| Some((stage, StageSpread::from_runs(runs)?)));
    let spreads: Vec<(&Level, StageSpread)> = spreads.collect();
    let pair = |one: &(&Level, StageSpread), other: &(&Level, StageSpread)| {
        let (deviations_apart, verdict) = separate(&one.1, &other.1);
        let (stages, spreads) = ([one.0.clone(), other.0.clone()], [one.1, other.1]);
        StagePair { asked: asked.clone(), stages, spreads, deviations_apart, verdict }
    };
    let after = |at: usize| spreads[at + 1..].iter().map(move |other| (at, other));
    (0..spreads.len()).flat_map(after).map(|(at, other)| pair(&spreads[at], other)).collect()
}

impl StageVerdict {
    /// The words of a table.
    pub fn words(self) -> &'static str {
        match self {
            StageVerdict::Separable => "separable",
            StageVerdict::NotSeparable => "not separable",
            StageVerdict::TooFew => "too few runs",
        }
    }
}

impl StagePair {
    /// Where it is not shown that the stages differ, a sentence that says so.
    pub fn words(&self) -> Option<String> {
        let [one, other] = &self.stages;
        let [its, others] = self.spreads.map(|spread| crate::report::figures::ns(spread.mean * 1e9));
        let levels: Vec<String> =
            self.asked.iter().map(|(factor, level)| format!("{factor} {level}, ")).collect();
        let verdict = self.verdict.words();
        let why = match (self.verdict, self.deviations_apart) {
            (StageVerdict::Separable, _) => return None,
            (StageVerdict::NotSeparable, apart) => {
                format!("{:.1} standard deviations apart, two are needed", apart.unwrap_or(0.0))
            }
            (StageVerdict::TooFew, _) => {
                format!("n = {} and {}, {RUNS_MIN} are needed", self.spreads[0].n, self.spreads[1].n)
            }
        };
        Some(format!("{}stages {one} and {other}: {verdict}: {its} and {others}, {why}", levels.concat()))
    }
}

#[cfg(test)]
mod tests;
