//! The units of two sides' runs that are independent of each other, so that they can be counted.
//!
//! A session (one call of the program) has a level of its own: memory lies elsewhere, neighbours are others, so that
//! its runs agree with each other better than with those of another session. Sides that share sessions were measured
//! in turns: the units are the pairs of runs of one session, seed and round, from which that level falls out. Sides
//! that share none are compared by their sessions, one value for each: a thousand rounds of one session are one unit.
//! Sessions that lie together in time say less than their number ([`super::turns`]). Must not know: what the values
//! measure, which verdict follows.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::Metric;
use super::turns::TurnFactors;
use crate::judge::cost::CpuBy;
use crate::judge::stats::{ESTIMATE_VALUES_MIN, Estimate, UnitSample, mean, median, trimmed_mean};
use crate::row::{Row, SessionRound};

/// The units that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedBy {
    /// Runs of one session, seed and round: A and B were measured in turns.
    Pairs,
    /// Sessions: A and B were measured apart.
    Sessions,
}

/// A session, and its round where rounds are units.
type Unit<'rows> = (&'rows str, Option<SessionRound<'rows>>);

/// The values of a cell, by session, seed and round.
#[derive(Debug, Default)]
pub struct CellValues<'rows> {
    values: BTreeMap<SessionRound<'rows>, Vec<f64>>,
    /// When the runs of each session began, in seconds.
    times: BTreeMap<&'rows str, Vec<f64>>,
    /// The variances that the logarithms have by rounding.
    roundings: Vec<f64>,
}

/// A cell as independent values: the differences of pairs, or those of A's sessions and those of B's.
#[derive(Debug)]
pub struct CellUnits<'rows> {
    samples: Vec<UnitSample<Unit<'rows>>>,
    /// When the sessions of A and of B were, in seconds; none for pairs.
    times: [BTreeMap<&'rows str, f64>; 2],
}

impl ComparedBy {
    /// By pairs where completed runs of both sides are of one session.
    pub fn from_rows<'rows>(sides: [impl Iterator<Item = &'rows Row>; 2]) -> ComparedBy {
        let [a, b] = sides.map(|rows| {
            let completed = rows.filter(|row| row.is_completed());
            completed.map(|row| row.session.as_str()).collect::<BTreeSet<&str>>()
        });
        if a.is_disjoint(&b) { ComparedBy::Sessions } else { ComparedBy::Pairs }
    }

    /// What a ratio is the mean of.
    pub fn mean_words(self) -> &'static str {
        match self {
            ComparedBy::Pairs => "mean of the pairs of runs",
            ComparedBy::Sessions => "mean of the sessions",
        }
    }
}

/// When a run began, in seconds. A row that this program did not write may not say it: its session then is as near to
/// those of one side as to those of the other.
fn seconds(row: &Row) -> f64 {
    row.time.parse::<jiff::Timestamp>().map_or(0.0, |time| time.as_second() as f64)
}

/// A run and its figure, of which less is better.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuredRun<'rows> {
    pub row: &'rows Row,
    /// Above 0.
    pub value: f64,
    /// The variance that its logarithm has by rounding.
    pub rounding: f64,
}

impl<'rows> CellValues<'rows> {
    /// The values of completed runs, CPU time by this measure.
    pub fn from_rows(rows: &[&'rows Row], metric: Metric, cpu_by: CpuBy) -> CellValues<'rows> {
        let measured = |row: &&'rows Row| {
            let (value, rounding) = (metric.value_in(row, cpu_by)?, metric.rounding_in(row, cpu_by));
            Some(MeasuredRun { row, value, rounding })
        };
        CellValues::from_runs(rows.iter().filter(|row| row.is_completed()).filter_map(measured))
    }

    /// The values of runs.
    pub fn from_runs(runs: impl IntoIterator<Item = MeasuredRun<'rows>>) -> CellValues<'rows> {
        let mut found = CellValues::default();
        for MeasuredRun { row, value, rounding } in runs {
            found.values.entry(SessionRound::of_row(row)).or_default().push(value);
            found.times.entry(&row.session).or_default().push(seconds(row));
            found.roundings.push(rounding);
        }
        found
    }

    /// All of them.
    pub fn all(&self) -> Vec<f64> {
        self.values.values().flatten().copied().collect()
    }

    /// Their median.
    pub fn median(&self) -> Option<f64> {
        median(&self.all())
    }

    /// The trimmed mean of their logarithms.
    pub fn center(&self) -> Option<f64> {
        trimmed_mean(&logarithms(&self.all()))
    }

    /// Their sessions, seeds and rounds.
    pub fn runs(&self) -> impl Iterator<Item = &SessionRound<'rows>> {
        self.values.keys()
    }

    /// The number of its sessions.
    pub fn sessions(&self) -> usize {
        self.times.len()
    }

    fn rounding(&self) -> f64 {
        mean(&self.roundings).unwrap_or_default()
    }

    fn by_session(&self) -> UnitSample<Unit<'rows>> {
        let mut sessions: BTreeMap<Unit<'rows>, Vec<f64>> = BTreeMap::new();
        for (run, values) in &self.values {
            sessions.entry((run.session, None)).or_default().extend(logarithms(values));
        }
        let center = |(unit, values): (_, Vec<f64>)| Some((unit, trimmed_mean(&values)?));
        UnitSample { values: sessions.into_iter().filter_map(center).collect(), rounding: self.rounding() }
    }

    fn session_times(&self) -> BTreeMap<&'rows str, f64> {
        self.times.iter().filter_map(|(session, times)| Some((*session, mean(times)?))).collect()
    }
}

fn logarithms(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

impl<'rows> CellUnits<'rows> {
    /// The units of a cell. A row that a file has twice is one value all the same.
    pub fn from_values(sides: [&CellValues<'rows>; 2], by: ComparedBy) -> CellUnits<'rows> {
        let [a, b] = sides;
        match by {
            ComparedBy::Sessions => CellUnits {
                samples: vec![a.by_session(), b.by_session()],
                times: sides.map(CellValues::session_times),
            },
            ComparedBy::Pairs => {
                let pair = |(run, ours): (&SessionRound<'rows>, &Vec<f64>)| {
                    let difference = mean(&logarithms(ours))? - mean(&logarithms(b.values.get(run)?))?;
                    Some(((run.session, Some(*run)), difference))
                };
                let values = a.values.iter().filter_map(pair).collect();
                let rounding = a.rounding() + b.rounding();
                CellUnits { samples: vec![UnitSample { values, rounding }], times: Default::default() }
            }
        }
    }

    /// The center of an estimate, A's logarithm over B's, however few the units are. `None` without any.
    pub fn center(&self) -> Option<f64> {
        let mean_of = |sample: &UnitSample<Unit<'rows>>| {
            trimmed_mean(&sample.values.values().copied().collect::<Vec<f64>>())
        };
        let means = self.samples.iter().map(mean_of).collect::<Option<Vec<f64>>>()?;
        Some(means[0] - means[1..].iter().sum::<f64>())
    }

    /// The differences of pairs.
    pub fn differences(&self) -> Vec<f64> {
        self.samples[0].values.values().copied().collect()
    }

    /// Whether they are enough for an interval.
    pub fn has_estimate(&self) -> bool {
        self.samples.iter().all(|sample| sample.values.len() >= ESTIMATE_VALUES_MIN)
    }

    /// The number of pairs; 0 of sessions.
    pub fn pairs(&self) -> usize {
        if let [pairs] = &self.samples[..] { pairs.values.len() } else { 0 }
    }
}

/// A's logarithm over B's, of one cell or of several with the same weight. `None` where a side of one has too few units.
pub fn estimate(cells: &[&CellUnits<'_>]) -> Option<Estimate> {
    let samples: Vec<&[UnitSample<Unit<'_>>]> = cells.iter().map(|cell| &cell.samples[..]).collect();
    Some(turn_factors(cells).applied_to(Estimate::over_cells(&samples)?))
}

/// Certainty that an estimate loses because sessions are close in time.
pub fn turn_factors(cells: &[&CellUnits<'_>]) -> TurnFactors {
    let sides = [0, 1].map(|side| {
        let all: BTreeMap<&str, f64> = cells.iter().flat_map(|cell| cell.times[side].clone()).collect();
        all.into_values().collect::<Vec<f64>>()
    });
    TurnFactors::from_times(sides.each_ref().map(Vec::as_slice))
}

/// By how many per cent one unit differs from the next: the root mean square of the sides that have several.
pub fn step_percent(cells: &[&CellUnits<'_>]) -> Option<f64> {
    let sides = cells.iter().flat_map(|cell| &cell.samples).filter(|side| side.values.len() > 1);
    let (mut squares, mut freedom) = (0.0, 0.0);
    for side in sides {
        let values: Vec<f64> = side.values.values().copied().collect();
        let center = mean(&values)?;
        squares += values.iter().map(|value| (value - center).powi(2)).sum::<f64>();
        freedom += (values.len() - 1) as f64;
    }
    (freedom > 0.0).then(|| (2.0 * squares / freedom).sqrt().exp_m1() * 100.0)
}
