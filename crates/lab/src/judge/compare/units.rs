//! What of the runs of two sides is independent of each other, so that it can be counted.
//!
//! A session (one call of the program) has a level of its own: memory lies elsewhere, neighbours are others, so that
//! its runs agree with each other better than with those of another session. Sides that share sessions were measured
//! in turns: the units are the pairs of runs of one session, seed and round, from which that level falls out. Sides
//! that share none are compared by their sessions, one value for each: a thousand rounds of one session are one unit.
//! Must not know: what the values measure, which verdict follows.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::Metric;
use crate::judge::cost::CpuBy;
use crate::judge::stats::{Estimate, mean, median, trimmed_mean};
use crate::row::Row;

/// The units that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedBy {
    /// Runs of one session, seed and round: A and B were measured in turns.
    Pairs,
    /// Sessions: A and B were measured apart.
    Sessions,
}

/// A session, and a seed and round of it where these are units.
type Unit<'rows> = (&'rows str, Option<(u64, u32)>);

/// The values of a cell, by session, seed and round.
#[derive(Debug, Default)]
pub struct CellValues<'rows>(BTreeMap<(&'rows str, u64, u32), Vec<f64>>);

/// A cell as independent values: the differences of pairs, or those of A's sessions and those of B's.
#[derive(Debug)]
pub struct CellUnits<'rows>(Vec<BTreeMap<Unit<'rows>, f64>>);

impl ComparedBy {
    /// By pairs where completed runs of both sides are of one session.
    pub fn from_rows<'rows>(sides: [impl Iterator<Item = &'rows Row>; 2]) -> ComparedBy {
        let [a, b] = sides.map(|rows| {
            let completed = rows.filter(|row| row.is_completed());
            completed.map(|row| row.session.as_str()).collect::<BTreeSet<&str>>()
        });
        if a.is_disjoint(&b) { ComparedBy::Sessions } else { ComparedBy::Pairs }
    }
}

impl<'rows> CellValues<'rows> {
    /// The values of completed runs, CPU time by this measure.
    pub fn from_rows(rows: &[&'rows Row], metric: Metric, cpu_by: CpuBy) -> CellValues<'rows> {
        let mut values = CellValues::default();
        for row in rows.iter().filter(|row| row.is_completed()) {
            if let Some(value) = metric.value_in(row, cpu_by) {
                values.0.entry((&row.session, row.seed, row.repeat)).or_default().push(value);
            }
        }
        values
    }

    /// All of them.
    pub fn all(&self) -> Vec<f64> {
        self.0.values().flatten().copied().collect()
    }

    /// Their median.
    pub fn median(&self) -> Option<f64> {
        median(&self.all())
    }

    /// The number of its sessions.
    pub fn sessions(&self) -> usize {
        self.0.keys().map(|(session, ..)| session).collect::<BTreeSet<_>>().len()
    }

    fn by_session(&self) -> BTreeMap<Unit<'rows>, f64> {
        let mut sessions: BTreeMap<Unit<'rows>, Vec<f64>> = BTreeMap::new();
        for ((session, ..), values) in &self.0 {
            sessions.entry((session, None)).or_default().extend(logarithms(values));
        }
        sessions.into_iter().filter_map(|(unit, values)| Some((unit, trimmed_mean(&values)?))).collect()
    }
}

fn logarithms(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

impl<'rows> CellUnits<'rows> {
    /// The units of a cell. A row that a file has twice is one value all the same.
    pub fn from_values([a, b]: [&CellValues<'rows>; 2], by: ComparedBy) -> CellUnits<'rows> {
        match by {
            ComparedBy::Sessions => CellUnits(vec![a.by_session(), b.by_session()]),
            ComparedBy::Pairs => {
                let pair = |(run, ours): (&(&'rows str, u64, u32), &Vec<f64>)| {
                    let theirs = b.0.get(run)?;
                    Some((
                        (run.0, Some((run.1, run.2))),
                        mean(&logarithms(ours))? - mean(&logarithms(theirs))?,
                    ))
                };
                CellUnits(vec![a.0.iter().filter_map(pair).collect()])
            }
        }
    }

    /// The differences of pairs.
    #[cfg(test)]
    pub fn differences(&self) -> Vec<f64> {
        self.0[0].values().copied().collect()
    }

    /// The number of pairs; 0 of sessions.
    pub fn pairs(&self) -> usize {
        if let [pairs] = &self.0[..] { pairs.len() } else { 0 }
    }
}

/// A's logarithm over B's, of one cell or of several with the same weight. `None` where a side has too few units.
pub fn estimate(cells: &[&CellUnits<'_>]) -> Option<Estimate> {
    let sides = cells.first()?.0.len();
    let of_side = |side: usize| {
        Estimate::over_units(&cells.iter().filter_map(|cell| cell.0.get(side)).collect::<Vec<_>>())
    };
    let first = of_side(0)?;
    if sides == 1 { Some(first) } else { Some(first.minus(of_side(1)?)) }
}

/// By how many per cent one unit differs from the next: the root mean square of the sides that have several.
pub fn step_percent(cells: &[&CellUnits<'_>]) -> Option<f64> {
    let sides = cells.iter().flat_map(|cell| &cell.0).filter(|side| side.len() > 1);
    let (mut squares, mut freedom) = (0.0, 0.0);
    for side in sides {
        let values: Vec<f64> = side.values().copied().collect();
        let center = mean(&values)?;
        squares += values.iter().map(|value| (value - center).powi(2)).sum::<f64>();
        freedom += (values.len() - 1) as f64;
    }
    (freedom > 0.0).then(|| (2.0 * squares / freedom).sqrt().exp_m1() * 100.0)
}
