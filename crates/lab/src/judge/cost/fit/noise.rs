//! How far fitted coefficients may be off: 95 % intervals that stay honest whatever the noise is, and the test whether
//! the model fits at all.
//!
//! With at least [`REPEATS_MIN`] values in each group the noise is what repeats differ by, for each group its own, and
//! Student's t has Satterthwaite's degrees of freedom: those of a sum of variances that are each known from so many
//! repeats. Where one group has all of the variance they are that group's, and Student's t is exact.
//!
//! With fewer, noise and misfit cannot be told apart, and three estimates are made from the residuals: for equal noise,
//! for noise in proportion to the values, and one that assumes neither (HC2 with the degrees of freedom of Bell and
//! McCaffrey, 2002); the widest interval counts.
//!
//! Must not know: what terms and values measure.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::least_squares::{LeastSquares, WeightedPoint};
use super::weighing::{REPEATS_MIN, VALUE_LEAST, ValueGroup, Weighing};
use crate::judge::stats::student_quantile;

/// A model that fits is held for one that does not in so many cases.
const FALSE_ALARMS: f64 = 0.01;

/// How far the coefficients may be off, one of each for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Their standard errors.
    pub standard_errors: Vec<f64>,
    /// Half the width of their 95 % intervals.
    pub halves: Vec<f64>,
}

/// A fit through groups of values.
#[derive(Debug)]
pub struct GroupedFit<'groups> {
    groups: &'groups [ValueGroup],
    /// The weight of a value of each group.
    weights: Vec<f64>,
    /// Through the groups' means, each with the weight of all its values: what all values give.
    means: LeastSquares,
}

impl<'groups> GroupedFit<'groups> {
    /// The fit through all values. `None` if they do not determine all coefficients.
    pub fn through(groups: &'groups [ValueGroup], weighing: Weighing) -> Option<GroupedFit<'groups>> {
        let weights = weighing.weights(groups);
        let point = |(group, weight): (&'groups ValueGroup, &f64)| WeightedPoint {
            terms: &group.terms,
            value: group.mean(),
            weight: weight * group.count(),
        };
        let means = LeastSquares::through(&groups.iter().zip(&weights).map(point).collect::<Vec<_>>())?;
        Some(GroupedFit { groups, weights, means })
    }

    /// The coefficients.
    pub fn coefficients(&self) -> &[f64] {
        &self.means.coefficients
    }

    /// The fitted value of a group.
    pub fn at(&self, group: &ValueGroup) -> f64 {
        self.means.at(&group.terms)
    }

    /// The groups' variances in scaled coordinates.
    fn scaled_variances(&self) -> Vec<f64> {
        self.groups.iter().zip(&self.weights).map(|(group, weight)| group.variance() * weight).collect()
    }

    /// How far the coefficients may be off. There is at least one value more than coefficients.
    pub fn spread(&self) -> Spread {
        let repeated = self.groups.iter().all(|group| group.values.len() >= REPEATS_MIN);
        let all = if repeated { self.of_repeats() } else { self.of_residuals() };
        let bent = self.bends() == Some(true);
        let spread = if bent { all.or_wider(self.of_misfit()) } else { all };
        let rounded = |(which, half): (usize, &f64)| half + self.means.rounding(which);
        Spread { halves: spread.halves.iter().enumerate().map(rounded).collect(), ..spread }
    }

    /// Whether the groups' means lie further from the fit than the groups' own spread explains: the F test for lack of
    /// fit, with degrees of freedom for variances that differ (Box, 1954). `None` where that is unknown: without
    /// repeats, or with as many groups as coefficients, through whose means a fit always goes.
    pub fn bends(&self) -> Option<bool> {
        let few = self.groups.iter().any(|group| group.values.len() < 2);
        if self.groups.len() <= self.coefficients().len() || few {
            return None;
        }
        let misses: f64 = self.means.residuals().iter().map(|residual| residual.powi(2)).sum();
        let variances = self.scaled_variances();
        let above = self.means.moments(&vec![1.0; variances.len()], &variances);
        let each = || self.groups.iter().zip(&self.weights);
        let rounding: f64 =
            each().map(|(group, weight)| weight * group.count() * (group.mean() * 1e-9).powi(2)).sum();
        if misses <= rounding || above.expected <= rounding {
            return Some(misses > rounding);
        }
        let share = |at: usize| variances[at] * (1.0 - self.means.pull(at, at));
        let below: f64 =
            (0..variances.len()).map(|at| share(at).powi(2) / (self.groups[at].count() - 1.0)).sum();
        let distribution = FisherSnedecor::new(above.freedom, above.expected.powi(2) / below).ok()?;
        Some(distribution.sf(misses / above.expected) < FALSE_ALARMS)
    }

    /// Each group's variance by its own repeats; but no interval narrower than theirs who know the noise, as far as
    /// weights and all repeats together show it. By chance the variance of a group that decides is now and then far too
    /// small: without that bound the truth lies inside in 94 of 100 draws.
    fn of_repeats(&self) -> Spread {
        let variances = self.scaled_variances();
        let freedoms: Vec<f64> = self.groups.iter().map(|group| group.count() - 1.0).collect();
        let weighted = |of: &[f64]| of.iter().zip(&freedoms).map(|(one, freedom)| one * freedom).sum::<f64>();
        let pooled = vec![weighted(&variances) / freedoms.iter().sum::<f64>(); variances.len()];
        let coefficients = self.coefficients().len();
        let known = Spread::from_variances(coefficients, |which| {
            (self.means.variance(which, pooled.iter().copied()), f64::INFINITY)
        });
        let each = Spread::from_variances(coefficients, |which| {
            let shares: Vec<f64> = (0..variances.len())
                .map(|at| self.means.gradient(at, which).powi(2) * variances[at])
                .collect();
            let sum: f64 = shares.iter().sum();
            let below: f64 =
                shares.iter().zip(&freedoms).map(|(share, freedom)| share.powi(2) / freedom).sum();
            (sum, sum.powi(2) / below)
        });
        each.or_wider(known)
    }

    /// By how far the means lie from the fit, as if that were noise of the size that weights expect. A misfit is the same
    /// in all repeats, so that they add no knowledge of it.
    fn of_misfit(&self) -> Spread {
        let points = self.groups.iter().zip(&self.weights).map(|(group, &weight)| WeightedPoint {
            terms: &group.terms,
            value: group.mean(),
            weight,
        });
        // It determines the coefficients as all values do.
        let Some(fit) = LeastSquares::through(&points.collect::<Vec<_>>()) else { return self.of_repeats() };
        Spread::of_noise(&fit, &vec![1.0; self.groups.len()])
    }

    /// By how far values lie from the fit.
    fn of_residuals(&self) -> Spread {
        let mut points = Vec::new();
        for (group, &weight) in self.groups.iter().zip(&self.weights) {
            let of_value = |&value: &f64| WeightedPoint { terms: &group.terms, value, weight };
            points.extend(group.values.iter().map(of_value));
        }
        // It determines the coefficients as the means do.
        let Some(fit) = LeastSquares::through(&points) else { return self.of_repeats() };
        let fitted: Vec<f64> = points.iter().map(|point| fit.at(point.terms).abs()).collect();
        let largest = fitted.iter().copied().fold(0.0, f64::max);
        let scaled = |noise: &dyn Fn(f64) -> f64| -> Vec<f64> {
            points.iter().zip(&fitted).map(|(point, fitted)| point.weight * noise(*fitted)).collect()
        };
        let equal = Spread::of_noise(&fit, &scaled(&|_| 1.0)).or_wider(Spread::of_neither(&fit));
        if largest == 0.0 {
            return equal;
        }
        let proportional = scaled(&|fitted| (fitted / largest).max(VALUE_LEAST).powi(2));
        equal.or_wider(Spread::of_noise(&fit, &proportional))
    }
}

impl Spread {
    /// The spread for the variance and the degrees of freedom of each coefficient.
    fn from_variances(coefficients: usize, variance: impl Fn(usize) -> (f64, f64)) -> Spread {
        let (mut standard_errors, mut halves) = (Vec::new(), Vec::new());
        for (variance, freedom) in (0..coefficients).map(variance) {
            let error = variance.sqrt();
            standard_errors.push(error);
            halves.push(if error > 0.0 { student_quantile(freedom, 0.975) * error } else { 0.0 });
        }
        Spread { standard_errors, halves }
    }

    /// For each figure the wider of the two.
    fn or_wider(mut self, other: Spread) -> Spread {
        for which in 0..self.halves.len() {
            if other.halves[which] > self.halves[which] {
                self.halves[which] = other.halves[which];
                self.standard_errors[which] = other.standard_errors[which];
            }
        }
        self
    }

    /// For noise whose scaled variances are in these proportions.
    fn of_noise(fit: &LeastSquares, variances: &[f64]) -> Spread {
        let factors: Vec<f64> = variances.iter().map(|variance| 1.0 / variance).collect();
        let residuals = fit.residuals().iter().zip(&factors);
        let squares: f64 = residuals.map(|(residual, factor)| factor * residual.powi(2)).sum();
        let moments = fit.moments(&factors, variances);
        let size = squares / moments.expected;
        Spread::from_variances(fit.coefficients.len(), |which| {
            (size * fit.variance(which, variances.iter().copied()), moments.freedom)
        })
    }

    /// For noise of any kind: each point's own residual is taken for its noise.
    fn of_neither(fit: &LeastSquares) -> Spread {
        let residuals = fit.residuals();
        let ones = vec![1.0; residuals.len()];
        Spread::from_variances(fit.coefficients.len(), |which| {
            let factors: Vec<f64> = (0..residuals.len()).map(|point| factor(fit, point, which)).collect();
            let squares = residuals.iter().zip(&factors).map(|(residual, factor)| factor * residual.powi(2));
            (squares.sum(), fit.moments(&factors, &ones).freedom)
        })
    }
}

/// The part of a squared residual in the variance. The fit goes through a point that alone decides where it lies there:
/// that point has no residual to judge by.
fn factor(fit: &LeastSquares, point: usize, which: usize) -> f64 {
    let kept = 1.0 - fit.pull(point, point);
    if kept < 1e-9 { 0.0 } else { fit.gradient(point, which).powi(2) / kept }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::stats::tests::deviate;
    use datapump_engine::sim::Random;

    fn bends(groups: &[ValueGroup]) -> Option<bool> {
        GroupedFit::through(groups, Weighing::RelativeError).expect("x apart").bends()
    }

    /// In how many of 1000 seeded draws the test finds that values bend by this much in the middle, with 5 % noise.
    fn found_to_bend(bend: f64, proportional: bool) -> usize {
        let finds = |seed| {
            let mut random = Random::seeded(seed, "bends");
            let group = |x: f64| {
                let true_value = 2.0 + x + bend * (1.0 - (x - 1.0).powi(2));
                let noise = if proportional { 0.05 * true_value } else { 0.15 };
                let values = (0..5).map(|_| true_value + noise * deviate(&mut random)).collect();
                ValueGroup { terms: vec![1.0, x], values }
            };
            let groups: Vec<ValueGroup> = [2.0, 1.0, 0.5, 0.25, 0.125].map(group).into();
            bends(&groups).expect("repeats")
        };
        (0..1000).filter(|&seed| finds(seed)).count()
    }

    #[test]
    fn a_bend_is_found_and_seldom_where_there_is_none() {
        for proportional in [false, true] {
            let (straight, bent) = (found_to_bend(0.0, proportional), found_to_bend(1.0, proportional));
            assert!(straight <= 30, "{straight} of 1000 straight lines are found to bend");
            assert!(bent >= 950, "{bent} of 1000 bent lines are found to bend");
        }
    }

    #[test]
    fn without_repeats_nothing_is_said_of_bends() {
        let group = |x: f64, count| ValueGroup { terms: vec![1.0, x], values: vec![x * x; count] };
        for (groups, expected) in [
            (vec![group(1.0, 1), group(2.0, 1), group(3.0, 1)], None),
            (vec![group(1.0, 5), group(2.0, 5)], None),
            (vec![group(1.0, 2), group(2.0, 2), group(3.0, 2)], Some(true)),
        ] {
            assert_eq!(bends(&groups), expected);
        }
    }
}
