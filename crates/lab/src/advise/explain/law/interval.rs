//! The interval that one next copy lies in, from rounds that each predict it.
//!
//! Of n values of a normal distribution with mean m and standard deviation s, the next one lies within
//! m ± t(n - 1) × s × √(1 + 1/n) (Hahn and Meeker, Statistical Intervals, 1991, 4.7). Here the values are logarithms of
//! speeds, as disturbances multiply. Must not know: what is predicted, how a round is measured.

use crate::judge::stats::student_quantile;
use crate::judge::stats::{Interval, mean, standard_deviation};

/// 90 %: one next copy in twenty lies below, one above.
const PROBABILITY: f64 = 0.95;
/// Fewer rounds have no interval.
const ROUNDS_MIN: usize = 3;
/// The pace of the CPUs and the place of a file change from one copy to the next: no interval is narrower than ± this
/// (logarithm), however equal the rounds were.
const HALF_WIDTH_MIN: f64 = 0.015;
/// Noise averages out over no more slices than this: copies that follow each other by some seconds differ by more than the
/// slices of some seconds show. Of 88 rows of `explain-prediction` 67 copies lay inside with any number; with 4 it were
/// 77, with 2 79, in intervals as wide as that with which one copy predicts the next (0.95 times).
const AVERAGED_MAX: f64 = 2.0;

/// The 90 % prediction interval around `center` for one next copy that takes as long as `slices` rounds. None of fewer
/// than three rounds.
///
/// Noise that is independent from slice to slice averages out over a longer copy; what drifts does not. The mean square
/// of successive differences tells the two apart (von Neumann, 1941): for independent noise half of it is the variance,
/// for drift it is less. What is missing is the correlation r of successive rounds, and n rounds are worth
/// n × (1 - r) / (1 + r) independent ones (Bartlett, 1935).
pub(in crate::advise::explain) fn next(rounds: &[f64], center: f64, slices: f64) -> Option<Interval> {
    let logs: Vec<f64> = rounds.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
    let count = logs.len() as f64;
    let deviation = standard_deviation(&logs).filter(|_| logs.len() >= ROUNDS_MIN && center > 0.0)?;
    let variance = deviation * deviation;
    let steps: Vec<f64> = logs.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).collect();
    let independent = (mean(&steps)? / 2.0).min(variance);
    let of_copy = independent / slices.clamp(1.0, AVERAGED_MAX) + (variance - independent);
    let drift =
        if independent > 0.0 { ((2.0 * variance - independent) / independent).min(count) } else { 1.0 };
    let of_mean = variance / count * drift;
    let half = student_quantile(count - 1.0, PROBABILITY) * (of_copy + of_mean).sqrt();
    let half = half.max(HALF_WIDTH_MIN);
    Some(Interval { low: center * (-half).exp(), high: center * half.exp() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::stats::tests::deviate;
    use datapump_engine::sim::Random;

    /// Of 1,000 draws how many next copies lie inside, and the mean width by that of an interval that knows the noise.
    fn coverage(rounds: usize, slices: usize, drift: f64) -> (usize, f64) {
        let (mut inside, mut width) = (0, 0.0);
        for seed in 0..1000 {
            let mut random = Random::seeded(seed, "prediction interval");
            let mut level = 0.0;
            let mut slice = || {
                level = drift * level + (1.0 - drift * drift).sqrt() * deviate(&mut random);
                let noise = if drift > 0.0 { level } else { deviate(&mut random) };
                1e9 * (0.1 * noise).exp()
            };
            let speeds: Vec<f64> = (0..rounds).map(|_| slice()).collect();
            let center = speeds.len() as f64 / speeds.iter().map(|speed| 1.0 / speed).sum::<f64>();
            let copy = slices as f64 / (0..slices).map(|_| 1.0 / slice()).sum::<f64>();
            let interval = next(&speeds, center, slices as f64).expect("enough rounds");
            inside += usize::from(interval.contains(copy));
            width += (interval.high / interval.low).ln();
        }
        (inside, width / 1000.0 / (2.0 * 1.645 * 0.1 / (slices as f64).sqrt()))
    }

    /// Speeds that vary by 10 %.
    #[test]
    fn nine_of_ten_next_copies_lie_inside() {
        for (what, rounds, slices, least, most, width_max) in [
            ("the whole copy in each of 4 rounds", 4, 1, 870, 930, 1.7),
            ("the whole copy in each of 8 rounds", 8, 1, 870, 930, 1.3),
            ("a copy of 4 slices", 8, 4, 900, 980, 2.1),
            ("a copy of 8 slices", 6, 8, 920, 995, 3.4),
        ] {
            let (inside, width) = coverage(rounds, slices, 0.0);
            assert!((least..=most).contains(&inside) && width <= width_max, "{what}: {inside}, {width:.2}");
        }
    }

    /// What goes on for longer than a slice is no less in a longer copy. (What goes on for as long as all rounds they do not
    /// show.)
    #[test]
    fn drift_is_not_averaged_out() {
        for (slices, least) in [(1, 850), (8, 770)] {
            let (inside, width) = coverage(8, slices, 0.6);
            assert!(inside >= least, "{slices}: {inside} inside, {width:.2} wide");
        }
    }

    #[test]
    fn few_rounds_have_none_and_equal_rounds_a_narrow_one() {
        assert_eq!(next(&[1.0, 1.0], 1.0, 1.0), None);
        assert_eq!(next(&[1.0, 1.0, 0.0], 1.0, 1.0), None);
        let interval = next(&[5.0; 4], 5.0, 1.0).expect("enough rounds");
        assert!((interval.high / 5.0 - 1.0151).abs() < 1e-4 && interval.low < 5.0, "{interval:?}");
    }
}
