//! The first of several levels that is enough: 98 % of the best one's rate.
//!
//! Must not know: rows, what the levels are.

use datapump_engine::sim::Random;

use super::{RESAMPLES, VALUES_MIN, expanded_tail, median};

/// From this part of the best rate on a level is enough: what is above gains less than the noise of a machine.
pub const KNEE_SHARE: f64 = 0.98;

/// Places in the list of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KneePlace {
    /// The first level that is enough, by the medians.
    pub at: usize,
    /// Its 95 % interval; `None` below [`VALUES_MIN`] rounds.
    pub interval: Option<[usize; 2]>,
}

/// The knee of rates, one list for each level, lowest level first, with a rate of each round. `None` without rates, or
/// where a level has other rounds than the first.
///
/// Rounds are resampled, not single rates: what drifts meets all levels of a round alike.
pub fn knee_place(levels: &[Vec<f64>], seed: u64) -> Option<KneePlace> {
    let rounds = levels.first()?.len();
    if rounds == 0 || levels.iter().any(|rates| rates.len() != rounds) {
        return None;
    }
    let all: Vec<usize> = (0..rounds).collect();
    let at = first_enough(levels, &all);
    if rounds < VALUES_MIN {
        return Some(KneePlace { at, interval: None });
    }
    let mut random = Random::seeded(seed, "knee");
    let mut resampled = || {
        let drawn: Vec<usize> = (0..rounds).map(|_| random.index(rounds)).collect();
        first_enough(levels, &drawn)
    };
    let mut places: Vec<usize> = (0..RESAMPLES).map(|_| resampled()).collect();
    places.sort_unstable();
    let beyond = (expanded_tail(rounds) * RESAMPLES as f64).floor() as usize;
    Some(KneePlace { at, interval: Some([places[beyond], places[RESAMPLES - 1 - beyond]]) })
}

/// The first level whose median over these rounds is enough.
fn first_enough(levels: &[Vec<f64>], rounds: &[usize]) -> usize {
    let middle = |rates: &Vec<f64>| {
        let drawn: Vec<f64> = rounds.iter().map(|&round| rates[round]).collect();
        median(&drawn).unwrap_or(0.0)
    };
    let middles: Vec<f64> = levels.iter().map(middle).collect();
    let best = middles.iter().copied().fold(0.0, f64::max);
    middles.iter().position(|rate| *rate >= KNEE_SHARE * best).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::deviate;
    use super::*;

    /// Rates of 8 rounds around these, with so much noise.
    fn rates(known: &[f64], noise: f64, seed: u64) -> Vec<Vec<f64>> {
        let mut random = Random::seeded(seed, "rates");
        known
            .iter()
            .map(|rate| (0..8).map(|_| rate * (1.0 + noise * deviate(&mut random))).collect())
            .collect()
    }

    #[test]
    fn the_first_level_of_98_percent_is_the_knee() {
        for (known, at) in [
            (&[50.0, 97.0, 98.5, 100.0][..], 2),
            (&[100.0, 99.0, 98.0], 0),
            (&[25.0, 50.0, 75.0, 100.0], 3),
            // Rates fall behind the best one: the first that is enough counts.
            (&[60.0, 99.0, 100.0, 80.0], 1),
        ] {
            let place = knee_place(&rates(known, 0.0, 1), 1).expect("rates");
            assert_eq!(place, KneePlace { at, interval: Some([at, at]) }, "{known:?}");
        }
        assert_eq!(knee_place(&[], 1), None);
        assert_eq!(knee_place(&[vec![1.0], vec![1.0, 2.0]], 1), None);
        let few = knee_place(&[vec![1.0, 1.0], vec![2.0, 2.0]], 1);
        assert_eq!(few, Some(KneePlace { at: 1, interval: None }));
    }

    /// A known knee lies in its interval nearly always, and the interval is narrow where noise is small beside the
    /// steps.
    #[test]
    fn the_interval_holds_a_known_knee() {
        let (mut inside, mut wide) = (0, 0);
        for seed in 0..200 {
            let place = knee_place(&rates(&[60.0, 90.0, 99.5, 100.0], 0.01, seed), seed).expect("rates");
            let [low, high] = place.interval.expect("8 rounds");
            inside += u32::from((low..=high).contains(&2));
            wide += u32::from(high - low > 1);
        }
        assert!(inside >= 186 && wide <= 10, "{inside} of 200 inside, {wide} wider than two levels");
    }
}
