//! Detects times that drift from the first round of a study to its last: a disk that fills, a clock that falls.
//!
//! Each round visits every cell, so that a drift hits all alike and ratios within a round are free of it; medians are
//! not. The time of a run is taken as its logarithm over the mean of its cell, the mean of a round is one point, and a
//! line is fitted through the points. Must not know: what was measured.

use std::collections::BTreeMap;

use crate::judge::cost::FittedLine;
use crate::judge::stats::{Interval, mean};
use crate::row::Row;
use crate::study::Level;

const ALPHA: f64 = 0.05;
/// Fewer rounds give a slope that nobody can use: three have one degree of freedom.
const ROUNDS_MIN: usize = 4;

/// By what factor times grew from the first round to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Rounds.
    pub rounds: usize,
    /// The factor: above 1 the last rounds were slower.
    pub factor: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

impl Drift {
    /// The drift of the completed runs of one study. `None` below four rounds.
    pub fn from_rows<'rows>(rows: impl IntoIterator<Item = &'rows Row>) -> Option<Drift> {
        let mut cells: BTreeMap<&BTreeMap<String, Level>, Vec<(u32, f64)>> = BTreeMap::new();
        for row in rows.into_iter().filter(|row| row.is_completed() && row.elapsed_ns > 0) {
            cells.entry(&row.asked).or_default().push((row.repeat, (row.elapsed_ns as f64).ln()));
        }
        let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for runs in cells.values() {
            let center = mean(&runs.iter().map(|(_, time)| *time).collect::<Vec<_>>())?;
            runs.iter().for_each(|(round, time)| rounds.entry(*round).or_default().push(time - center));
        }
        let points = rounds.iter().filter_map(|(round, times)| Some((f64::from(*round), mean(times)?)));
        let (x, y) = points.unzip();
        Drift::through(x, y)
    }

    fn through(x: Vec<f64>, y: Vec<f64>) -> Option<Drift> {
        let (first, last) = (*x.first()?, *x.last()?);
        let rounds = x.len();
        if rounds < ROUNDS_MIN {
            return None;
        }
        let slope = FittedLine::through(x, y).slope_estimate();
        let interval = slope.interval(ALPHA);
        let factor = |slope: f64| (slope * (last - first)).exp();
        let interval = Interval { low: factor(interval.low), high: factor(interval.high) };
        Some(Drift { rounds, factor: factor(slope.center), interval })
    }

    /// Where it is shown, a sentence that says so.
    pub fn words(&self) -> Option<String> {
        let percent = |factor: f64| (factor - 1.0) * 100.0;
        let [by, low, high] = [self.factor, self.interval.low, self.interval.high].map(percent);
        (!self.interval.contains(1.0)).then(|| {
            format!(
                "times drift: {by:+.1} % [{low:+.1} .. {high:+.1}] from the first round to the last of {}; ratios \
                 within a round are free of it",
                self.rounds
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use datapump_engine::sim::Random;

    use super::*;
    use crate::row::COMPLETED;

    /// Two cells, the other three times as slow; each round so many per cent slower than the one before, with noise.
    fn rows(rounds: u32, percent: f64, seed: u64) -> Vec<Row> {
        let mut random = Random::seeded(seed, "drift");
        let mut noise = || 1.0 + 0.02 * (random.next_u64() as f64 / u64::MAX as f64 - 0.5);
        let mut run = |cell: u32, repeat: u32| Row {
            asked: [("size".to_string(), Level::from(cell.to_string().as_str()))].into(),
            outcome: COMPLETED.into(),
            repeat,
            elapsed_ns: (1e9 * f64::from(cell) * (1.0 + percent / 100.0).powf(f64::from(repeat)) * noise())
                as u64,
            ..Row::default()
        };
        (0..rounds).flat_map(|repeat| [1, 3].map(|cell| run(cell, repeat))).collect()
    }

    #[test]
    fn a_drift_is_found_and_its_size() {
        for percent in [-2.0, 1.0, 3.0_f64] {
            let drift = Drift::from_rows(&rows(10, percent, 7)).expect("ten rounds");
            let known = (1.0 + percent / 100.0).powi(9);
            assert!((drift.factor / known - 1.0).abs() < 0.03, "{drift:?}, {known}");
            let words = drift.words().expect("it is shown");
            assert!(words.contains("of 10;"), "{words}");
        }
    }

    #[test]
    fn without_one_it_is_seldom_told() {
        let told = (0..200)
            .filter(|&seed| Drift::from_rows(&rows(6, 0.0, seed)).and_then(|it| it.words()).is_some());
        assert!(told.count() <= 20, "one in twenty is meant");
    }

    #[test]
    fn few_rounds_and_failed_runs_say_nothing() {
        assert_eq!(Drift::from_rows(&rows(3, 5.0, 1)), None);
        let failed = rows(10, 5.0, 1).into_iter().map(|row| Row { outcome: "failed".into(), ..row });
        assert_eq!(Drift::from_rows(&failed.collect::<Vec<_>>()), None);
    }
}
