//! An estimate of a mean with its uncertainty: what is compared when many comparisons are made at once.
//!
//! The bootstrap of the median ([`super::median_interval`]) needs five values for one interval of 95 %, and more than
//! most studies have for ten that hold together: it cannot reach beyond the range of its values. Here a trimmed mean
//! is taken with Student's t (Tukey and McLaughlin, 1963; two samples: Yuen, 1974), which serves from three values on
//! and for any confidence. A tenth is trimmed at each end, so that one run in ten that was disturbed does not count;
//! to trim more would leave few values with too little freedom. From twenty values on it is a fifth: kept rows of two
//! builds have tails, and 40 of their pairs show 5 % in 97 of 100 cases of a tree in memory instead of 82. Must not
//! know: rows, what the numbers measure.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Interval;

/// Fewer values have no interval: two leave one degree of freedom and an interval nobody can use.
pub const ESTIMATE_VALUES_MIN: usize = 3;

/// One value of so many is left out at each end, of few values and of many.
const TRIMMED_ONE_OF: usize = 10;
const TRIMMED_ONE_OF_MANY: usize = 5;
/// So many values are many.
const MANY: usize = 20;
/// The normal deviate that 95 % lie below: a 90 % interval is this wide to each side.
pub const DEVIATE_95: f64 = 1.6449;

/// More values than anybody measures.
const COUNT_MAX: f64 = 1e5;
/// Steps that find a number of values.
const COUNT_STEPS: usize = 5;

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
const ALPHA: f64 = 0.05;

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
        MeanInterval { value: estimate.center, interval: Some(estimate.interval(ALPHA)) }
    }
}

impl Estimate {
    /// The trimmed mean of the values. `None` below [`ESTIMATE_VALUES_MIN`]. Half a degree of freedom goes for each value
    /// that was cut at an end: without that normal values lie outside of an interval of 99.8 % 1.3 times (of 10 values)
    /// to 1.6 times (of 20) as often as they should, with it 0.9 to 1.1 times.
    pub fn from_values(values: &[f64]) -> Option<Estimate> {
        if values.len() < ESTIMATE_VALUES_MIN {
            return None;
        }
        let Trimmed { center, residuals } = Trimmed::from_values(values);
        let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
        let cut = trimmed_count(values.len()) as f64;
        let kept = values.len() as f64 - 2.0 * cut;
        Some(Estimate { center, variance: squares / (kept * (kept - 1.0)), freedom: kept - 1.0 - cut / 2.0 })
    }

    /// Its difference to another one, which is independent of it. The degrees of freedom are Welch's.
    pub fn minus(self, other: Estimate) -> Estimate {
        let variance = self.variance + other.variance;
        let parts = self.variance.powi(2) / self.freedom + other.variance.powi(2) / other.freedom;
        let freedom = if parts > 0.0 { variance.powi(2) / parts } else { self.freedom + other.freedom };
        Estimate { center: self.center - other.center, variance, freedom }
    }

    /// Where the true value lies, but for a part alpha of all cases: 0.05 gives the interval of 95 %.
    pub fn interval(self, alpha: f64) -> Interval {
        let half = student_quantile(self.freedom, 1.0 - alpha / 2.0) * self.variance.sqrt();
        Interval { low: self.center - half, high: self.center + half }
    }

    /// The smallest distance from 0 that another such sample shows in nine of ten cases. `None` where the values are too
    /// few to say.
    pub fn could_have_shown(self, alpha: f64) -> Option<f64> {
        self.shown_by_times(1.0, alpha)
    }

    /// The distance that a sample `times` as large could have shown.
    ///
    /// The interval of the other sample must not reach 0: t standard errors, and q more, as its center varies. The
    /// standard errors of both samples are estimates as well, and vary by 1 in √(2 × freedom): with the deviate z
    /// q² = z² × (1 + (t + q)² / (2 × freedom) + t² / (2 × freedom of the other)).
    fn shown_by_times(self, times: f64, alpha: f64) -> Option<f64> {
        let t = student_quantile(self.freedom * times, 1.0 - alpha / 2.0);
        // What shows normal values in 95 of 100 cases shows those with tails in 90.
        let z = DEVIATE_95.powi(2);
        let k = z / (2.0 * self.freedom);
        let root = (k * k * t * t + (1.0 - k) * (z + (k + k / times) * t * t)).sqrt();
        let q = (k * t + root) / (1.0 - k);
        let shown = (t + q) * (self.variance / times).sqrt();
        (k < 1.0 && shown.is_finite()).then_some(shown)
    }

    /// How many values, as noisy as the `count` that this is of and no fewer, show such a distance from 0 in nine of ten
    /// cases. `None` above 100,000.
    pub fn count_to_show(self, distance: f64, count: usize, alpha: f64) -> Option<usize> {
        let shown = |some: f64| self.shown_by_times(some / count as f64, alpha);
        let least = count as f64;
        let mut some = least;
        // The smallest distance shown falls with the root of the number, and a little faster: five steps are enough.
        for _ in 0..COUNT_STEPS {
            some = (some * (shown(some)? / distance).powi(2)).max(least);
        }
        (some < COUNT_MAX).then_some(some.ceil() as usize)
    }
}

/// How many of so many values are left out at each end.
pub(super) fn trimmed_count(count: usize) -> usize {
    count / if count < MANY { TRIMMED_ONE_OF } else { TRIMMED_ONE_OF_MANY }
}

/// The mean of the values but for the smallest and the largest.
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| Trimmed::from_values(values).center)
}

/// A trimmed mean and how far each value lies from the others, in the order of the values: those that were cut count as
/// the last that was kept (winsorized).
pub(super) struct Trimmed {
    pub center: f64,
    pub residuals: Vec<f64>,
}

impl Trimmed {
    pub fn from_values(values: &[f64]) -> Trimmed {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let cut = trimmed_count(sorted.len());
        let kept = &sorted[cut..sorted.len() - cut];
        let mean = |some: &[f64]| super::mean(some).unwrap_or(f64::NAN);
        let (least, most) = (kept[0], kept[kept.len() - 1]);
        let clamped: Vec<f64> = values.iter().map(|value| value.clamp(least, most)).collect();
        let middle = mean(&clamped);
        let residuals = clamped.iter().map(|value| value - middle).collect();
        Trimmed { center: mean(kept), residuals }
    }
}

/// Factors of the geometric mean between which the next value lies with the probability `inside`; the values are above 0,
/// and their logarithms are normal. `None` below three values.
pub fn next_factors(values: &[f64], inside: f64) -> Option<[f64; 2]> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    if logarithms.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let half = next_half_width(&logarithms, logarithms.len() as f64, inside)?;
    Some([(-half).exp(), half.exp()])
}

/// How far from the mean of these values, which are normal, the next one lies at most with the probability `inside`. The
/// mean is uncertain, too: it is that of `worth` independent values. `None` below three values.
///
/// With n independent values and the standard deviation s: t(n - 1) × s × √(1 + 1/n) (Hahn and Meeker, Statistical
/// Intervals, 1991, 4.7).
pub fn next_half_width(values: &[f64], worth: f64, inside: f64) -> Option<f64> {
    let deviation = super::standard_deviation(values).filter(|_| values.len() >= ESTIMATE_VALUES_MIN)?;
    let quantile = student_quantile(values.len() as f64 - 1.0, (1.0 + inside) / 2.0);
    Some(quantile * deviation * (1.0 + 1.0 / worth).sqrt())
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
    fn the_next_value_is_inside_as_often_as_was_said() {
        for (count, inside) in [(3, 0.9), (5, 0.9), (10, 0.9), (10, 0.95), (40, 0.9)] {
            let is_inside = |seed| {
                let mut random = Random::seeded(seed, "next");
                let mut value = || (0.1 * deviate(&mut random)).exp();
                let values: Vec<f64> = (0..count).map(|_| value()).collect();
                let [low, high] = next_factors(&values, inside).expect("enough values");
                let mean = (values.iter().map(|value| value.ln()).sum::<f64>() / f64::from(count)).exp();
                (mean * low..=mean * high).contains(&value())
            };
            let held = (0..2000).filter(|&seed| is_inside(seed)).count() as f64 / 2000.0;
            assert!((held - inside).abs() < 0.02, "{count} values, {inside}: {held}");
        }
        assert_eq!(next_factors(&[1.0, 2.0], 0.9), None);
        assert_eq!(next_factors(&[1.0, 2.0, 0.0], 0.9), None);
    }

    #[test]
    fn means_are_trimmed_from_ten_values_on() {
        let ten = |last: f64| vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, last];
        for (values, center, freedom) in [
            (vec![1.0, 2.0, 6.0], 3.0, 2.0),
            (vec![1.0; 5], 1.0, 4.0),
            (ten(10.0), 5.5, 6.5),
            (ten(1e9), 5.5, 6.5),
        ] {
            let got = Estimate::from_values(&values).expect("enough values");
            assert_eq!((got.center, got.freedom), (center, freedom), "{values:?}");
        }
        // 2 2 3 4 5 6 7 8 9 9 about 5.5: twice 12.25 twice, and 6.25 + 2.25 + 0.25 twice.
        let variance = Estimate::from_values(&ten(1e9)).expect("enough values").variance;
        assert!((variance - 66.5 / 56.0).abs() < 1e-12, "{variance}");
        assert_eq!(Estimate::from_values(&[1.0, 2.0]), None);
        let many: Vec<f64> = (0..20).map(|value| if value < 4 { -1e9 } else { f64::from(value) }).collect();
        let got = Estimate::from_values(&many).expect("enough values");
        assert_eq!((got.center, got.freedom), (9.5, 9.0), "a fifth of twenty");
    }

    #[test]
    fn differences_have_the_variance_of_both_and_welchs_freedom() {
        let one = Estimate { center: 5.0, variance: 2.0, freedom: 4.0 };
        let other = Estimate { center: 3.0, variance: 2.0, freedom: 4.0 };
        assert_eq!(one.minus(other), Estimate { center: 2.0, variance: 4.0, freedom: 8.0 });
        let exact = Estimate { variance: 0.0, ..one };
        assert_eq!(exact.minus(exact).interval(0.05), Interval { low: 0.0, high: 0.0 });
    }

    /// The distance that so many values could have shown is found by as many others.
    #[test]
    fn what_could_have_been_shown_is_shown_in_more_than_nine_of_ten() {
        for (count, alpha) in [(4, 0.05), (6, 0.01), (10, 0.05), (10, 0.005), (40, 0.005)] {
            let shows = |seed| {
                let mut random = Random::seeded(seed, "could show");
                let mut sample = || -> Vec<f64> { (0..count).map(|_| deviate(&mut random)).collect() };
                let estimate = |values: &[f64]| Estimate::from_values(values).expect("enough values");
                let by = estimate(&sample()).could_have_shown(alpha).expect("enough values");
                let shifted: Vec<f64> = sample().into_iter().map(|value| value + by).collect();
                estimate(&shifted).interval(alpha).low > 0.0
            };
            let shown = (0..1000).filter(|&seed| shows(seed)).count();
            assert!((900..=985).contains(&shown), "{count} values, {alpha}: {shown} of 1000");
        }
        assert_eq!(Estimate { center: 0.0, variance: 1.0, freedom: 0.5 }.could_have_shown(0.05), None);
    }

    /// How many of 2000 seeded samples, one value in ten of them disturbed, have an interval without the true mean.
    fn missed(count: usize, alpha: f64) -> usize {
        let misses = |seed| {
            let mut random = Random::seeded(seed, "estimates");
            let mut noise = |_| deviate(&mut random) * if random.index(10) == 0 { 5.0 } else { 1.0 };
            let values: Vec<f64> = (0..count).map(&mut noise).collect();
            !Estimate::from_values(&values).expect("enough values").interval(alpha).contains(0.0)
        };
        (0..2000).filter(|&seed| misses(seed)).count()
    }

    #[test]
    fn the_true_mean_lies_outside_no_more_often_than_the_doubt() {
        for (count, alpha, most) in [
            (3, 0.05, 115),
            (5, 0.05, 115),
            (10, 0.05, 120),
            (20, 0.05, 120),
            (5, 0.005, 16),
            (10, 0.005, 18),
        ] {
            let missed = missed(count, alpha);
            assert!(missed <= most, "{count} values, {alpha}: {missed} of 2000");
        }
    }
}
