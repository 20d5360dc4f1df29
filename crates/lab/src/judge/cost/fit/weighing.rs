//! How much the values of a request size count: one over the variance of their noise, as far as it is known.
//!
//! Errors of measurement mostly grow with the value, and a weight of 1/mean² makes the relative errors count alike: a
//! fit that weighs all alike is one of the largest values, and shows nothing of the smallest. Where enough repeats say
//! that the noise is the same everywhere, such weights would be as wrong; then all count alike. Must not know: what the
//! values measure.

use schemars::JsonSchema;
use serde::Serialize;

/// From so many repeats on they alone say what the noise is.
pub const REPEATS_MIN: usize = 5;
/// Values near 0 count as if they were this part of the largest.
pub(super) const VALUE_LEAST: f64 = 1e-3;

/// All values for the same terms.
#[derive(Clone, Debug)]
pub struct ValueGroup {
    /// The terms; of a line 1 and x.
    pub terms: Vec<f64>,
    /// The values, at least one.
    pub values: Vec<f64>,
}

impl ValueGroup {
    /// The mean of its values.
    pub fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// Their variance (n - 1); 0 for one value.
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        squares / (self.values.len().max(2) - 1) as f64
    }

    /// How many there are.
    pub fn count(&self) -> f64 {
        self.values.len() as f64
    }
}

/// How values are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Weighing {
    /// By one over their square: relative errors count alike.
    #[serde(rename = "relative error")]
    RelativeError,
    /// Alike: repeats say that the noise does not grow with the value.
    #[serde(rename = "equal noise")]
    EqualNoise,
    /// Alike, as the published tables were fitted.
    #[serde(rename = "unweighted")]
    Unweighted,
}

impl Weighing {
    /// The weighing that repeats show: by relative error, unless noise of one size for all is likelier.
    pub(super) fn of_repeats(groups: &[ValueGroup]) -> Weighing {
        let is_repeated = groups.iter().all(|group| group.values.len() >= REPEATS_MIN);
        let is_equal = is_repeated
            && groups.iter().any(|group| group.variance() > 0.0)
            && likelihood(groups, &vec![1.0; groups.len()]) > likelihood(groups, &mean_squares(groups));
        if is_equal { Weighing::EqualNoise } else { Weighing::RelativeError }
    }

    /// The weight of a value of each group.
    pub(super) fn weights(self, groups: &[ValueGroup]) -> Vec<f64> {
        match self {
            Weighing::RelativeError => mean_squares(groups).iter().map(|square| 1.0 / square).collect(),
            Weighing::EqualNoise | Weighing::Unweighted => vec![1.0; groups.len()],
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Weighing::RelativeError => "weighted by relative error",
            Weighing::EqualNoise => "all weighted alike: repeats differ by as much at every size",
            Weighing::Unweighted => "unweighted, as published",
        }
    }
}

/// The squares of the groups' means, none far below that of the largest.
fn mean_squares(groups: &[ValueGroup]) -> Vec<f64> {
    let square = |group: &ValueGroup| group.mean().powi(2) + group.variance() / group.values.len() as f64;
    let squares: Vec<f64> = groups.iter().map(square).collect();
    let least = squares.iter().copied().fold(0.0, f64::max) * VALUE_LEAST.powi(2);
    squares.into_iter().map(|square| if least > 0.0 { square.max(least) } else { 1.0 }).collect()
}

/// The logarithm of how likely repeats with variances in these proportions differ by what they do, but for what all
/// proportions have in common.
fn likelihood(groups: &[ValueGroup], proportions: &[f64]) -> f64 {
    let freedom = |group: &ValueGroup| group.values.len() as f64 - 1.0;
    let all: f64 = groups.iter().map(freedom).sum();
    let each = || groups.iter().zip(proportions);
    let size: f64 = each().map(|(group, part)| freedom(group) * group.variance() / part).sum::<f64>() / all;
    let logarithms: f64 = each().map(|(group, part)| freedom(group) * part.ln()).sum();
    -(all * size.max(f64::MIN_POSITIVE).ln() + logarithms) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups with means 1, 10 and 100 whose values lie so far around them.
    fn groups(spread: fn(f64) -> f64, repeats: usize) -> Vec<ValueGroup> {
        let group = |mean: f64| {
            let place = |at: usize| mean + spread(mean) * (at as f64 - (repeats - 1) as f64 / 2.0);
            ValueGroup { terms: vec![1.0, mean], values: (0..repeats).map(place).collect() }
        };
        [1.0, 10.0, 100.0].map(group).into()
    }

    #[test]
    fn repeats_say_how_the_noise_grows() {
        for (spread, repeats, expected) in [
            ((|mean| 0.02 * mean) as fn(f64) -> f64, 5, Weighing::RelativeError),
            (|_| 0.02, 5, Weighing::EqualNoise),
            (|_| 0.02, 4, Weighing::RelativeError),
            (|_| 0.0, 5, Weighing::RelativeError),
        ] {
            assert_eq!(Weighing::of_repeats(&groups(spread, repeats)), expected, "{repeats} repeats");
        }
    }

    #[test]
    fn weights_are_one_over_the_square_and_values_near_nothing_have_a_least_one() {
        let weights = Weighing::RelativeError.weights(&groups(|_| 0.0, 5));
        for (weight, expected) in weights.iter().zip([1.0, 1e-2, 1e-4]) {
            assert!((weight / expected - 1.0).abs() < 1e-9, "{weights:?}");
        }
        let zero = |value: f64| ValueGroup { terms: vec![1.0], values: vec![value] };
        assert_eq!(Weighing::RelativeError.weights(&[zero(0.0), zero(1.0)]), [1e6, 1.0]);
        assert_eq!(Weighing::RelativeError.weights(&[zero(0.0)]), [1.0]);
        assert_eq!(Weighing::EqualNoise.weights(&[zero(0.0), zero(1.0)]), [1.0, 1.0]);
    }
}
