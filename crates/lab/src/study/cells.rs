//! The cells of a study (all combinations of levels) and the order in which they are run.
//!
//! Must not know: what a run does.

use std::collections::BTreeMap;
use std::fmt;

use super::{BINARY, Check, Exception, Level, Order, Study};
use datapump_engine::sim::Random;

/// A combination of levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The level of every factor.
    pub levels: BTreeMap<String, Level>,
    /// How often it is run.
    pub repeats: u32,
    /// What must hold after a run.
    pub check: Vec<Check>,
}

/// One run of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of the cell.
    pub cell: usize,
    /// The round, from 0; `None` for a warm-up, which leaves no row.
    pub repeat: Option<u32>,
    /// The place in the order of the rounds, from 0; warm-ups have none.
    pub order: Option<u64>,
}

impl fmt::Display for Cell {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.levels.iter().map(|(name, level)| format!("{name}={level}")).collect();
        out.write_str(&words.join(" "))
    }
}

impl Study {
    /// All combinations of levels that are run, the last factor changing fastest.
    pub fn cells(&self) -> Vec<Cell> {
        let mut combinations = vec![BTreeMap::new()];
        for factor in &self.factors {
            combinations = combinations.iter().flat_map(|levels| extended(levels, factor)).collect();
        }
        combinations.into_iter().filter_map(|levels| self.cell(levels)).collect()
    }

    fn cell(&self, levels: BTreeMap<String, Level>) -> Option<Cell> {
        if !self.chosen.is_empty() && !self.chosen.iter().any(|some| has_one_of(&levels, some)) {
            return None;
        }
        let mut cell = Cell { levels, repeats: self.repeats, check: self.check.clone() };
        for exception in self.exceptions.iter().filter(|exception| exception.is_about(&cell.levels)) {
            if exception.skip {
                return None;
            }
            cell.repeats = exception.repeats.unwrap_or(cell.repeats);
            cell.check = exception.check.clone().unwrap_or(cell.check);
        }
        Some(cell)
    }

    /// All runs in order: the warm-up rounds, then the rounds that count.
    pub fn runs(&self, cells: &[Cell]) -> Vec<Run> {
        let most = cells.iter().map(|cell| cell.repeats).max().unwrap_or(0);
        let warmups = (0..self.warmup).flat_map(|round| {
            let order = self.round("warm-up", round, cells, |_| true);
            order.into_iter().map(|cell| Run { cell, repeat: None, order: None })
        });
        let counted = (0..most).flat_map(|round| {
            let order = self.round("round", round, cells, |cell| round < cell.repeats);
            order.into_iter().map(move |cell| Run { cell, repeat: Some(round), order: None })
        });
        let counted = counted.zip(0..).map(|(run, place)| Run { order: Some(place), ..run });
        warmups.chain(counted).collect()
    }

    /// The order of one round depends on the seed and the round alone, so a run that is continued keeps it.
    fn round(
        &self,
        kind: &str,
        round: u32,
        cells: &[Cell],
        takes_part: impl Fn(&Cell) -> bool,
    ) -> Vec<usize> {
        let mut order: Vec<Vec<usize>> = self.side_by_side(cells.len());
        match self.order {
            Order::Interleaved => Random::seeded(self.seed, &format!("{kind} {round}")).shuffle(&mut order),
        }
        if round % 2 == 1 {
            order.iter_mut().for_each(|cells| cells.reverse());
        }
        order.into_iter().flatten().filter(|&cell| takes_part(&cells[cell])).collect()
    }

    /// Cells that are run one right behind the other: alone, or with that of the other program. In the next round it
    /// is the other way round: A B B A, so that neither is always first.
    fn side_by_side(&self, cells: usize) -> Vec<Vec<usize>> {
        let programs = self.factors.iter().find(|factor| factor.name == BINARY);
        let width = programs.map_or(1, |factor| factor.levels.len());
        (0..cells).collect::<Vec<usize>>().chunks(width).map(<[usize]>::to_vec).collect()
    }
}

fn extended(levels: &BTreeMap<String, Level>, factor: &super::Factor) -> Vec<BTreeMap<String, Level>> {
    let with = |level: &Level| {
        let mut levels = levels.clone();
        levels.insert(factor.name.clone(), level.clone());
        levels
    };
    factor.levels.iter().map(with).collect()
}

impl Exception {
    fn is_about(&self, levels: &BTreeMap<String, Level>) -> bool {
        has_one_of(levels, &self.cells)
    }
}

/// Whether each named factor has one of its levels.
fn has_one_of(levels: &BTreeMap<String, Level>, some: &BTreeMap<String, Vec<Level>>) -> bool {
    some.iter().all(|(name, some)| levels.get(name).is_some_and(|level| some.contains(level)))
}
