//! An estimate of a mean with its uncertainty: what is compared when many comparisons are made at once.
//!
//! The bootstrap of the median ([`super::median_interval`]) needs five values for one interval of 95 %, and more than
//! most studies have for ten that hold together: it cannot reach beyond the range of its values. Here a trimmed mean
//! is taken with Student's t (Tukey and McLaughlin, 1963; two samples: Yuen, 1974), which serves from three values on
//! and for any confidence. A tenth is trimmed at each end, so that one run in ten that was disturbed does not count;
//! to trim more would leave few values with too little freedom. Must not know: rows, what the numbers measure.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Interval;

/// Fewer values have no interval: two leave one degree of freedom and an interval nobody can use.
pub const ESTIMATE_VALUES_MIN: usize = 3;

/// One value of so many is left out at each end.
const TRIMMED_ONE_OF: usize = 10;

/// A mean that is not known exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most likely value.
    pub center: f64,
    /// The square of its standard error.
    pub variance: f64,
    /// Degrees of freedom of that.
    pub freedom: f64,
}

/// Beyond its interval a mean lies in one case of twenty.
const DOUBT: f64 = 0.05;

/// A mean with its 95 % interval: the trimmed mean, from [`ESTIMATE_VALUES_MIN`] values on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// The mean.
    pub value: f64,
    /// Its interval; `None` where there are too few values for one.
    pub interval: Option<Interval>,
}

impl MeanInterval {
    /// The mean of these values. `None` without any.
    pub fn from_values(values: &[f64]) -> Option<MeanInterval> {
        match Estimate::from_values(values) {
            Some(estimate) => Some(MeanInterval::from(estimate)),
            None => Some(MeanInterval { value: super::mean(values)?, interval: None }),
        }
    }

    /// Value and interval, divided.
    pub fn over(self, by: f64) -> MeanInterval {
        let interval = self.interval.map(|it| Interval { low: it.low / by, high: it.high / by });
        MeanInterval { value: self.value / by, interval }
    }

    /// The ends of the interval.
    pub fn ends(self) -> Option<[f64; 2]> {
        self.interval.map(|interval| [interval.low, interval.high])
    }
}

impl From<Estimate> for MeanInterval {
    fn from(estimate: Estimate) -> MeanInterval {
        MeanInterval { value: estimate.center, interval: Some(estimate.interval(DOUBT)) }
    }
}

impl Estimate {
    /// The trimmed mean of the values. `None` below [`ESTIMATE_VALUES_MIN`].
    pub fn from_values(values: &[f64]) -> Option<Estimate> {
        if values.len() < ESTIMATE_VALUES_MIN {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let cut = sorted.len() / TRIMMED_ONE_OF;
        let kept = &sorted[cut..sorted.len() - cut];
        let count = kept.len() as f64;
        let center = kept.iter().sum::<f64>() / count;
        Some(Estimate {
            center,
            variance: squares(kept, cut) / (count * (count - 1.0)),
            freedom: count - 1.0,
        })
    }

    /// Its difference to another one, which is independent of it (Welch).
    pub fn minus(self, other: Estimate) -> Estimate {
        let sum = Estimate::sum(&[self, other]);
        Estimate { center: self.center - other.center, ..sum }
    }

    /// The mean of independent ones, each with the same weight. `None` without any.
    pub fn mean(some: &[Estimate]) -> Option<Estimate> {
        let count = some.len() as f64;
        let sum = Estimate::sum(some);
        let mean = Estimate { center: sum.center / count, variance: sum.variance / (count * count), ..sum };
        (!some.is_empty()).then_some(mean)
    }

    /// The degrees of freedom are Satterthwaite's.
    fn sum(some: &[Estimate]) -> Estimate {
        let center = some.iter().map(|one| one.center).sum();
        let variance: f64 = some.iter().map(|one| one.variance).sum();
        let parts: f64 = some.iter().map(|one| one.variance.powi(2) / one.freedom).sum();
        let all = || some.iter().map(|one| one.freedom).sum();
        let freedom = if parts > 0.0 { variance.powi(2) / parts } else { all() };
        Estimate { center, variance, freedom }
    }

    /// Where the true value lies, but for the doubt: 0.05 gives the interval of 95 %.
    pub fn interval(self, doubt: f64) -> Interval {
        let half = self.half_width(doubt);
        Interval { low: self.center - half, high: self.center + half }
    }

    /// Half the width of that interval.
    pub fn half_width(self, doubt: f64) -> f64 {
        student_quantile(self.freedom, 1.0 - doubt / 2.0) * self.variance.sqrt()
    }
}

/// The sum of squares about their mean, with the values that were cut at each end replaced by the last that was kept
/// (winsorized).
fn squares(kept: &[f64], cut: usize) -> f64 {
    let weight = |at: usize| 1.0 + if at == 0 || at == kept.len() - 1 { cut as f64 } else { 0.0 };
    let weighted = || kept.iter().enumerate().map(|(at, value)| (weight(at), *value));
    let mean = weighted().map(|(weight, value)| weight * value).sum::<f64>() / (kept.len() + 2 * cut) as f64;
    weighted().map(|(weight, value)| weight * (value - mean).powi(2)).sum()
}

/// Beyond this freedom Student's t is the normal deviate, but for half a percent on the careful side.
const FREEDOM_MAX: f64 = 200.0;

/// The upper quantile of Student's t, `probability` in 0.5..1; infinite for a freedom that it is not defined for.
/// By halves, in a bounded number of steps: the library's own search (AS 64) may not end.
pub fn student_quantile(freedom: f64, probability: f64) -> f64 {
    let Ok(student) = StudentsT::new(0.0, 1.0, freedom.min(FREEDOM_MAX)) else { return f64::INFINITY };
    let is_below = |value: f64| student.sf(value) > 1.0 - probability;
    let Some(above) = (0..64).map(|power| 2_f64.powi(power)).find(|&value| !is_below(value)) else {
        return f64::INFINITY;
    };
    let halved = |(low, high): (f64, f64), _| {
        let middle = (low + high) / 2.0;
        if is_below(middle) { (middle, high) } else { (low, middle) }
    };
    (0..52).fold((0.0, above), halved).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::stats::tests::deviate;
    use datapump_engine::sim::Random;

    #[test]
    fn quantiles_agree_with_the_tables() {
        for (freedom, probability, expected) in [
            (1.0, 0.975, 12.706),
            (2.0, 0.975, 4.303),
            (2.0, 0.9995, 31.599),
            (4.0, 0.975, 2.776),
            (9.0, 0.975, 2.262),
            (9.0, 0.9995, 4.781),
            (29.0, 0.975, 2.045),
            (1e9, 0.975, 1.9719),
        ] {
            let got = student_quantile(freedom, probability);
            assert!((got / expected - 1.0).abs() < 0.001, "{freedom}, {probability}: {got}, not {expected}");
        }
        assert_eq!(student_quantile(0.0, 0.975), f64::INFINITY);
    }

    #[test]
    fn means_are_trimmed_from_ten_values_on() {
        let ten = |last: f64| vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, last];
        for (values, center, freedom) in [
            (vec![1.0, 2.0, 6.0], 3.0, 2.0),
            (vec![1.0; 5], 1.0, 4.0),
            (ten(10.0), 5.5, 7.0),
            (ten(1e9), 5.5, 7.0),
        ] {
            let got = Estimate::from_values(&values).expect("enough values");
            assert_eq!((got.center, got.freedom), (center, freedom), "{values:?}");
        }
        // 2 2 3 4 5 6 7 8 9 9 about 5.5: twice 12.25 twice, and 6.25 + 2.25 + 0.25 twice.
        let variance = Estimate::from_values(&ten(1e9)).expect("enough values").variance;
        assert!((variance - 66.5 / 56.0).abs() < 1e-12, "{variance}");
        assert_eq!(Estimate::from_values(&[1.0, 2.0]), None);
        assert_eq!(Estimate::mean(&[]), None);
    }

    #[test]
    fn sums_have_the_variance_of_all_and_welchs_freedom() {
        let one = Estimate { center: 5.0, variance: 2.0, freedom: 4.0 };
        let other = Estimate { center: 3.0, variance: 2.0, freedom: 4.0 };
        assert_eq!(one.minus(other), Estimate { center: 2.0, variance: 4.0, freedom: 8.0 });
        assert_eq!(
            Estimate::mean(&[one, other]),
            Some(Estimate { center: 4.0, variance: 1.0, freedom: 8.0 })
        );
        let exact = Estimate { variance: 0.0, ..one };
        assert_eq!(exact.minus(exact).interval(0.05), Interval { low: 0.0, high: 0.0 });
    }

    /// How many of 2000 seeded samples, one value in ten of them disturbed, have an interval without the true mean.
    fn missed(count: usize, doubt: f64) -> usize {
        let misses = |seed| {
            let mut random = Random::seeded(seed, "estimates");
            let mut noise = |_| deviate(&mut random) * if random.index(10) == 0 { 5.0 } else { 1.0 };
            let values: Vec<f64> = (0..count).map(&mut noise).collect();
            !Estimate::from_values(&values).expect("enough values").interval(doubt).contains(0.0)
        };
        (0..2000).filter(|&seed| misses(seed)).count()
    }

    #[test]
    fn the_true_mean_lies_outside_no_more_often_than_the_doubt() {
        for (count, doubt, most) in [
            (3, 0.05, 115),
            (5, 0.05, 115),
            (10, 0.05, 120),
            (20, 0.05, 120),
            (5, 0.005, 16),
            (10, 0.005, 18),
        ] {
            let missed = missed(count, doubt);
            assert!(missed <= most, "{count} values, {doubt}: {missed} of 2000");
        }
    }
}
