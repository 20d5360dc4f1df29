//! The runs of two cells in pairs of one session and round, and what they show: the rule of `compare` for other commands.
//!
//! Must not know: why the cells are set against each other, how many others are.

use std::collections::BTreeSet;

use super::judged::{Judged, Unjudged};
use super::units::{self, CellUnits, CellValues, ComparedBy, MeasuredRun};
use crate::judge::stats::mean;
use crate::row::SessionRound;

/// Pairs of runs of two cells.
#[derive(Debug)]
pub(crate) struct ComparedPairs<'rows> {
    units: CellUnits<'rows>,
    /// Runs of A and of B without a partner.
    pub single: [Vec<SessionRound<'rows>>; 2],
}

impl<'rows> ComparedPairs<'rows> {
    /// Runs of A and of B in pairs. `None` if either side has none.
    pub fn from_runs(sides: [Vec<MeasuredRun<'rows>>; 2]) -> Option<ComparedPairs<'rows>> {
        let values = sides.map(CellValues::from_runs);
        let units = CellUnits::from_values([&values[0], &values[1]], ComparedBy::Pairs);
        let [a, b] = values.each_ref().map(|side| side.runs().copied().collect::<BTreeSet<_>>());
        let single = [a.difference(&b).copied().collect(), b.difference(&a).copied().collect()];
        (!a.is_empty() && !b.is_empty()).then_some(ComparedPairs { units, single })
    }

    /// The number of pairs.
    pub fn count(&self) -> usize {
        self.units.pairs()
    }

    /// Whether they are enough for an interval.
    pub fn has_estimate(&self) -> bool {
        self.units.has_estimate()
    }

    /// A's figure over B's, with an interval that holds but for a part alpha of all cases. `None` without pairs.
    pub fn judge(&self, alpha: f64) -> Option<Judged> {
        let ratio = mean(&self.units.differences())?.exp();
        Some(match units::estimate(&[&self.units]) {
            Some(estimate) => {
                Judged::from_estimate(estimate, self.count(), units::step_percent(&[&self.units]), alpha)
            }
            None => Judged::none(Some(ratio), Unjudged::TooFew),
        })
    }
}
