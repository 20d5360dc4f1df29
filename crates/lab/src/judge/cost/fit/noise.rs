//! How far a fitted line may be off: 95 % intervals that stay honest when the noise grows with the values, and the
//! test whether the line fits at all.
//!
//! With at least [`REPEATS_MIN`] values for each x the noise is what repeats differ by, for each x its own, and
//! Student's t has the degrees of freedom of the x with the fewest values. For normal noise that covers at least 95 %
//! however the noise differs from x to x: the coverage is a concave function of the parts that the x have in the
//! variance, so that it is least where a single x has all of it, and there Student's t is exact.
//!
//! With fewer, noise and misfit cannot be told apart, and three estimates are made from the residuals: for equal noise,
//! for noise in proportion to the values, and one that assumes neither (HC2 with the degrees of freedom of EventFd and
//! McCaffrey, 2002); the widest interval counts.
//!
//! Must not know: what x and y measure.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::judge::cost::fit::line::FittedLine;
use crate::judge::stats::student_quantile;

/// From so many repeats on they alone say what the noise is.
pub const REPEATS_MIN: usize = 5;
/// A line that fits is held for one that does not in so many cases.
const FALSE_ALARMS: f64 = 0.01;
/// Values near 0 have at least this part of the largest one's proportional noise.
const NOISE_LEAST: f64 = 1e-3;

/// All values for one x.
#[derive(Clone, Debug)]
pub struct ValueGroup {
    /// The x.
    pub x: f64,
    /// Its values, at least one.
    pub values: Vec<f64>,
}

/// How far the line may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Standard errors of intercept and slope.
    pub standard_errors: [f64; 2],
    /// Half the width of their 95 % intervals.
    pub halves: [f64; 2],
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

    fn count(&self) -> f64 {
        self.values.len() as f64
    }
}

/// The line through all values of all groups, of which there are at least two.
pub fn line_through(groups: &[ValueGroup]) -> FittedLine {
    let points = || groups.iter().flat_map(|group| group.values.iter().map(|&y| (group.x, y)));
    FittedLine::through(points().map(|(x, _)| x).collect(), points().map(|(_, y)| y).collect())
}

/// How far the line through the groups may be off. There are at least three values.
pub fn spread(line: &FittedLine, groups: &[ValueGroup]) -> Spread {
    let repeated = groups.iter().all(|group| group.values.len() >= REPEATS_MIN);
    let all = if repeated { of_repeats(line, groups) } else { of_residuals(line, &each_x(groups)) };
    let bent = bends(line, groups) == Some(true);
    let spread = if bent { all.or_wider(of_means(groups)) } else { all };
    let rounding = line.rounding();
    Spread { halves: [0, 1].map(|which| spread.halves[which] + rounding[which]), ..spread }
}

/// Whether the groups' means lie further from the line than the groups' own spread explains: the F test for lack of
/// fit, with degrees of freedom for variances that differ (Box, 1954). `None` where it cannot be told: without repeats,
/// or with two groups, through whose means a line always goes.
pub fn bends(line: &FittedLine, groups: &[ValueGroup]) -> Option<bool> {
    if groups.len() < 3 || groups.iter().any(|group| group.values.len() < 2) {
        return None;
    }
    let misses: f64 =
        groups.iter().map(|group| group.count() * (group.mean() - line.at(group.x)).powi(2)).sum();
    let shares: Vec<f64> = groups
        .iter()
        .map(|group| group.variance() * (1.0 - group.count() * line.pull(group.x, group.x)))
        .collect();
    let expected: f64 = shares.iter().sum();
    let rounding: f64 = groups.iter().map(|group| group.count() * (group.mean() * 1e-9).powi(2)).sum();
    if misses <= rounding || expected <= rounding {
        return Some(misses > rounding);
    }
    let above = expected.powi(2) / pair_squares(line, groups);
    let below: f64 =
        groups.iter().zip(&shares).map(|(group, share)| share.powi(2) / (group.count() - 1.0)).sum();
    let distribution = FisherSnedecor::new(above, expected.powi(2) / below).ok()?;
    Some(distribution.sf(misses / expected) < FALSE_ALARMS)
}

/// The sum over pairs of groups of the squared parts that their variances have in the misses.
fn pair_squares(line: &FittedLine, groups: &[ValueGroup]) -> f64 {
    let part = |one: usize, other: usize| {
        let (left, right) = (&groups[one], &groups[other]);
        let own = if one == other { 1.0 / left.count() } else { 0.0 };
        let kept = own - line.pull(left.x, right.x);
        left.variance() * right.variance() * left.count() * right.count() * kept * kept
    };
    (0..groups.len()).map(|one| (0..groups.len()).map(|other| part(one, other)).sum::<f64>()).sum()
}

impl Spread {
    fn from_variances(variances: [f64; 2], freedoms: [f64; 2]) -> Spread {
        let standard_errors = variances.map(f64::sqrt);
        let half = |which: usize| {
            if standard_errors[which] > 0.0 {
                student_quantile(freedoms[which], 0.975) * standard_errors[which]
            } else {
                0.0
            }
        };
        let halves = [half(0), half(1)];
        Spread { standard_errors, halves }
    }

    /// For each figure the wider of the two.
    fn or_wider(self, other: Spread) -> Spread {
        let wider = |which: usize| if other.halves[which] > self.halves[which] { other } else { self };
        let [intercept, slope] = [wider(0), wider(1)];
        Spread {
            standard_errors: [intercept.standard_errors[0], slope.standard_errors[1]],
            halves: [intercept.halves[0], slope.halves[1]],
        }
    }
}

fn of_repeats(line: &FittedLine, groups: &[ValueGroup]) -> Spread {
    let share = |group: &ValueGroup, which: usize| {
        group.count() * line.weights(group.x)[which].powi(2) * group.variance()
    };
    let variances = [0, 1].map(|which| groups.iter().map(|group| share(group, which)).sum());
    let fewest = groups.iter().map(|group| group.values.len()).min().unwrap_or(2);
    Spread::from_variances(variances, [(fewest - 1) as f64; 2])
}

/// The means alone: a misfit is the same in all repeats, so that they add no knowledge of it.
fn of_means(groups: &[ValueGroup]) -> Spread {
    let means: Vec<ValueGroup> =
        groups.iter().map(|group| ValueGroup { x: group.x, values: vec![group.mean()] }).collect();
    of_residuals(&line_through(&means), &each_x(&means))
}

/// The x of each value.
fn each_x(groups: &[ValueGroup]) -> Vec<f64> {
    groups.iter().flat_map(|group| group.values.iter().map(|_| group.x)).collect()
}

fn of_residuals(line: &FittedLine, x: &[f64]) -> Spread {
    let fitted = line.fitted();
    let largest = fitted.iter().map(|value| value.abs()).fold(0.0, f64::max);
    let equal = of_noise(line, x, &vec![1.0; x.len()]).or_wider(of_neither(line, x));
    if largest == 0.0 {
        return equal;
    }
    let proportional: Vec<f64> =
        fitted.iter().map(|value| (value.abs() / largest).max(NOISE_LEAST).powi(2)).collect();
    equal.or_wider(of_noise(line, x, &proportional))
}

/// For noise whose variances are in these proportions.
fn of_noise(line: &FittedLine, x: &[f64], variances: &[f64]) -> Spread {
    let factors: Vec<f64> = variances.iter().map(|variance| 1.0 / variance).collect();
    let squares: f64 =
        line.residuals().iter().zip(&factors).map(|(residual, factor)| factor * residual.powi(2)).sum();
    let moments = line.moments(&factors, variances);
    let size = squares / moments.expected;
    let variance = |which: usize| -> f64 {
        let parts = x.iter().zip(variances).map(|(&x, own)| line.weights(x)[which].powi(2) * own);
        size * parts.sum::<f64>()
    };
    Spread::from_variances([variance(0), variance(1)], [moments.freedom; 2])
}

/// For noise of any kind: each point's own residual stands for its noise.
fn of_neither(line: &FittedLine, x: &[f64]) -> Spread {
    let ones = vec![1.0; x.len()];
    let residuals = line.residuals();
    let [intercept, slope] = [0, 1].map(|which| {
        let factors: Vec<f64> = x.iter().map(|&x| factor(line, x, which)).collect();
        let variance: f64 =
            residuals.iter().zip(&factors).map(|(residual, factor)| factor * residual.powi(2)).sum();
        (variance, line.moments(&factors, &ones).freedom)
    });
    Spread::from_variances([intercept.0, slope.0], [intercept.1, slope.1])
}

/// What a squared residual adds to the variance. The line goes through a point that alone decides where it lies there:
/// that point has no residual to judge by.
fn factor(line: &FittedLine, x: f64, which: usize) -> f64 {
    let kept = 1.0 - line.pull(x, x);
    if kept < 1e-9 { 0.0 } else { line.weights(x)[which].powi(2) / kept }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::stats::tests::deviate;
    use datapump_engine::sim::Random;

    /// In how many of 1000 seeded draws the test finds that values bend by this much in the middle, with 5 % noise.
    fn found_to_bend(bend: f64, proportional: bool) -> usize {
        let finds = |seed| {
            let mut random = Random::seeded(seed, "bends");
            let group = |x: f64| {
                let true_value = 2.0 + x + bend * (1.0 - (x - 1.0).powi(2));
                let noise = if proportional { 0.05 * true_value } else { 0.15 };
                let values = (0..5).map(|_| true_value + noise * deviate(&mut random)).collect();
                ValueGroup { x, values }
            };
            let groups: Vec<ValueGroup> = [2.0, 1.0, 0.5, 0.25, 0.125].map(group).into();
            bends(&line_through(&groups), &groups).expect("repeats")
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
        let group = |x: f64, count| ValueGroup { x, values: vec![x * x; count] };
        for (groups, expected) in [
            (vec![group(1.0, 1), group(2.0, 1), group(3.0, 1)], None),
            (vec![group(1.0, 5), group(2.0, 5)], None),
            (vec![group(1.0, 2), group(2.0, 2), group(3.0, 2)], Some(true)),
        ] {
            assert_eq!(bends(&line_through(&groups), &groups), expected);
        }
    }
}
