//! Median, mean, intervals and ratios of samples: functions of numbers and a seed.
//!
//! Must not know: rows, studies, what the numbers measure.

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use datapump_engine::sim::Random;

mod cells;
mod estimate;
mod knee;

pub use cells::UnitSample;
pub(crate) use estimate::{DEVIATE_95, next_half_width, student_quantile, trimmed_mean};
pub use estimate::{ESTIMATE_VALUES_MIN, Estimate, MeanInterval, next_factors};
pub use knee::{KNEE_SHARE, KneePlace, knee_place};

/// Resamples of a bootstrap. The interval's ends lie near the 0.4 % quantile for 7 values, so that 2000 resamples
/// leave 8 beyond each end.
const RESAMPLES: usize = 2000;

/// More values have the interval of their ranks: resamples of a million take minutes.
const RESAMPLED_MAX: usize = 10_000;
/// 95 % of a normal distribution lie within so many deviations.
const DEVIATE_TWO_SIDED: f64 = 1.96;

/// Fewer values have no 95 % interval of the median: even the whole range of 4 covers it in 87.5 % of samples only
/// (1 - 2 / 2^4); the range of 5 covers it in 93.75 %.
pub const VALUES_MIN: usize = 5;

/// The range in which the true value lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// Whether the value lies inside.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// How one thing lies beside another, by intervals that do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalVerdict {
    /// Below.
    Below,
    /// Above.
    Above,
    /// The intervals overlap.
    NotSeparable,
    /// One of them has too few runs for an interval.
    TooFewRuns,
}

impl IntervalVerdict {
    /// Where the first lies beside the other.
    pub fn from_intervals(one: Option<Interval>, other: Option<Interval>) -> IntervalVerdict {
        match one.zip(other) {
            Some((one, other)) if one.high < other.low => IntervalVerdict::Below,
            Some((one, other)) if one.low > other.high => IntervalVerdict::Above,
            Some(_) => IntervalVerdict::NotSeparable,
            None => IntervalVerdict::TooFewRuns,
        }
    }

    /// What stands before the other's name.
    pub fn words(self) -> &'static str {
        match self {
            IntervalVerdict::Below => "below",
            IntervalVerdict::Above => "above",
            IntervalVerdict::NotSeparable => "not separable from",
            IntervalVerdict::TooFewRuns => "of too few runs to be judged beside",
        }
    }
}

/// The middle value, or the mean of the two middle ones. `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    middle(&sorted)
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let upper = *sorted.get(sorted.len() / 2)?;
    match sorted.len() % 2 {
        1 => Some(upper),
        _ => Some((sorted[sorted.len() / 2 - 1] + upper) / 2.0),
    }
}

/// The arithmetic mean. `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of the population the sample is from (n - 1). `None` below two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The standard error of the mean. `None` below two values.
pub fn standard_error(values: &[f64]) -> Option<f64> {
    Some(standard_deviation(values)? / (values.len() as f64).sqrt())
}

/// The 95 % interval of the median, by bootstrap. `None` below [`VALUES_MIN`] values.
///
/// Plain percentiles of the resamples are too narrow for few values (7 of them cover in 87 % of samples), so their
/// places are moved outward as Hesterberg gives it ("What Teachers Should Know about the Bootstrap", 2014: expanded
/// percentile interval).
pub fn median_interval(values: &[f64], seed: u64) -> Option<Interval> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() > RESAMPLED_MAX {
        return Some(by_ranks(&sorted));
    }
    let mut random = Random::seeded(seed, "bootstrap");
    let mut medians: Vec<f64> = (0..RESAMPLES).map(|_| resampled_median(&sorted, &mut random)).collect();
    medians.sort_by(f64::total_cmp);
    let beyond = (expanded_tail(values.len()) * RESAMPLES as f64).floor() as usize;
    Some(Interval { low: medians[beyond], high: medians[RESAMPLES - 1 - beyond] })
}

/// The interval between two of many values, by their ranks: so many lie below the median with 95 % (Conover, "Practical
/// Nonparametric Statistics", 3.2; the normal distribution for the binomial one).
fn by_ranks(sorted: &[f64]) -> Interval {
    let (half, reach) = (sorted.len() as f64 / 2.0, DEVIATE_TWO_SIDED * (sorted.len() as f64).sqrt() / 2.0);
    let (low, high) = ((half - reach).floor() as usize, (half + reach).ceil() as usize);
    Interval { low: sorted[low], high: sorted[high.min(sorted.len() - 1)] }
}

/// The median of as many draws from the sorted values. Indices are counted instead of sorting the draws.
fn resampled_median(sorted: &[f64], random: &mut Random) -> f64 {
    let mut counts = vec![0_usize; sorted.len()];
    (0..sorted.len()).for_each(|_| counts[random.index(sorted.len())] += 1);
    let at = |place: usize| {
        let mut passed = 0;
        let index = counts.iter().position(|count| {
            passed += count;
            passed > place
        });
        sorted[index.unwrap_or(sorted.len() - 1)]
    };
    let upper = at(sorted.len() / 2);
    if sorted.len() % 2 == 1 { upper } else { (at(sorted.len() / 2 - 1) + upper) / 2.0 }
}

/// The part of the resamples beyond each end of a 95 % interval of `count` values.
fn expanded_tail(count: usize) -> f64 {
    let count = count as f64;
    Normal::standard().sf((count / (count - 1.0)).sqrt() * student_quantile(count - 1.0, 0.975))
}

/// What a comparison shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ComparisonVerdict {
    /// Faster than what it is compared with.
    #[serde(rename = "faster")]
    Faster,
    /// Slower than what it is compared with.
    #[serde(rename = "slower")]
    Slower,
    /// The interval of the ratio contains 1.
    #[serde(rename = "no difference shown")]
    NoDifferenceShown,
    /// Nothing was measured that could show one.
    #[serde(rename = "cannot be judged")]
    CannotBeJudged,
}

impl ComparisonVerdict {
    /// The words of `pump lab compare`.
    pub fn words(self) -> &'static str {
        match self {
            ComparisonVerdict::Faster => "faster",
            ComparisonVerdict::Slower => "slower",
            ComparisonVerdict::NoDifferenceShown => "no difference shown",
            ComparisonVerdict::CannotBeJudged => "cannot be judged",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A normal deviate around 0 (Box and Muller).
    pub(crate) fn deviate(random: &mut Random) -> f64 {
        let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let (one, other) = (1.0 - unit(), unit());
        (-2.0 * one.ln()).sqrt() * (2.0 * std::f64::consts::PI * other).cos()
    }

    #[test]
    fn middles_and_means() {
        for (values, middle, average) in [
            (&[][..], None, None),
            (&[3.0], Some(3.0), Some(3.0)),
            (&[4.0, 1.0], Some(2.5), Some(2.5)),
            (&[9.0, 1.0, 2.0], Some(2.0), Some(4.0)),
            (&[1.0, 2.0, 3.0, 10.0], Some(2.5), Some(4.0)),
        ] {
            assert_eq!((median(values), mean(values)), (middle, average), "{values:?}");
        }
        assert_eq!(
            standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]),
            Some((32.0_f64 / 7.0).sqrt())
        );
        assert_eq!(standard_error(&[1.0]), None);
    }

    /// How many of 1000 seeded samples have an interval that covers the true median. Normal samples stand for all:
    /// an interval made of order statistics moves along with every monotonic change of the values.
    fn covered(count: usize) -> usize {
        let covers = |seed| {
            let mut random = Random::seeded(seed, "coverage");
            let values: Vec<f64> = (0..count).map(|_| deviate(&mut random)).collect();
            median_interval(&values, seed).expect("enough values").contains(0.0)
        };
        (0..1000).filter(|&seed| covers(seed)).count()
    }

    #[test]
    fn the_interval_of_many_values_is_as_wide_as_that_of_resamples() {
        let values = |count: usize| -> Vec<f64> { (0..count).map(|at| at as f64 / count as f64).collect() };
        let width = |count: usize| {
            let interval = median_interval(&values(count), 1).expect("enough values");
            assert!(interval.contains(0.5), "{interval:?}");
            interval.high - interval.low
        };
        let ratio = width(RESAMPLED_MAX) / width(RESAMPLED_MAX + 1);
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
        assert!(width(1_000_000) < 0.003);
    }

    #[test]
    fn the_interval_contains_the_true_median_about_95_percent_of_the_time() {
        for (count, low, high) in [(5, 920, 960), (7, 930, 990), (10, 930, 980), (20, 930, 980)] {
            let covered = covered(count);
            assert!((low..=high).contains(&covered), "{count} values: {covered} of 1000");
        }
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_median_and_lies_in_the_range(
            values in prop::collection::vec(1e-3..1e9_f64, VALUES_MIN..40),
            seed: u64,
        ) {
            let interval = median_interval(&values, seed).expect("enough values");
            let low = values.iter().copied().fold(f64::MAX, f64::min);
            let high = values.iter().copied().fold(f64::MIN, f64::max);
            prop_assert!(interval.low >= low && interval.high <= high);
            prop_assert!(interval.contains(median(&values).expect("values")));
            prop_assert_eq!(Some(interval), median_interval(&values, seed));
        }

        #[test]
        fn the_order_of_values_does_not_matter(mut values in prop::collection::vec(0.0..1e9_f64, 5..20), seed: u64) {
            let before = median_interval(&values, 1);
            Random::new(seed).shuffle(&mut values);
            prop_assert_eq!(before, median_interval(&values, 1));
        }
    }
}
