//! A straight line through points by unweighted least squares, and what its residuals say of the noise.
//!
//! Must not know: what x and y measure.

use crate::judge::stats::Estimate;

/// A line through points: y = intercept + slope x. The points' x must not all be the same.
#[derive(Debug)]
pub struct FittedLine {
    /// Where it meets x = 0.
    pub intercept: f64,
    /// Its slope.
    pub slope: f64,
    x: Vec<f64>,
    y: Vec<f64>,
    mean_x: f64,
    squares_x: f64,
}

/// The expected value of a sum of weighted squared residuals under a noise, and its degrees of freedom.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// Expected value for a noise of size 1.
    pub expected: f64,
    /// Degrees of freedom of the chi-squared distribution with the same first two moments (Satterthwaite).
    pub freedom: f64,
}

impl FittedLine {
    /// The line through the points.
    pub fn through(x: Vec<f64>, y: Vec<f64>) -> FittedLine {
        let count = x.len() as f64;
        let (mean_x, mean_y) = (x.iter().sum::<f64>() / count, y.iter().sum::<f64>() / count);
        let squares_x: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
        let products: f64 = x.iter().zip(&y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = products / squares_x;
        FittedLine { intercept: mean_y - slope * mean_x, slope, x, y, mean_x, squares_x }
    }

    /// The line's y.
    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// The points' y on the line.
    pub fn fitted(&self) -> Vec<f64> {
        self.x.iter().map(|&x| self.at(x)).collect()
    }

    /// How far the points lie above it.
    pub fn residuals(&self) -> Vec<f64> {
        self.x.iter().zip(&self.y).map(|(&x, y)| y - self.at(x)).collect()
    }

    /// How much the intercept and the slope move with the y of a point at this x.
    pub fn weights(&self, x: f64) -> [f64; 2] {
        let slope = (x - self.mean_x) / self.squares_x;
        [1.0 / self.x.len() as f64 - self.mean_x * slope, slope]
    }

    /// How much a point at one x pulls the line at another.
    pub fn pull(&self, one: f64, other: f64) -> f64 {
        1.0 / self.x.len() as f64 + (one - self.mean_x) * (other - self.mean_x) / self.squares_x
    }

    /// The slope with its variance, for noise that is the same at all points. Of three points or more.
    pub fn slope_estimate(&self) -> Estimate {
        let freedom = self.x.len() as f64 - 2.0;
        let squares: f64 = self.residuals().iter().map(|residual| residual.powi(2)).sum();
        Estimate { center: self.slope, variance: squares / freedom / self.squares_x, freedom }
    }

    /// The estimate of the intercept.
    pub fn intercept_estimate(&self) -> Estimate {
        let of_slope = self.slope_estimate();
        let each = self.squares_x / self.x.len() as f64 + self.mean_x * self.mean_x;
        Estimate { center: self.intercept, variance: of_slope.variance * each, freedom: of_slope.freedom }
    }

    /// What rounding of the points' y in their last digit can move intercept and slope by.
    pub fn rounding(&self) -> [f64; 2] {
        [0, 1].map(|which| {
            let moved = self.x.iter().zip(&self.y).map(|(&x, y)| (self.weights(x)[which] * y).abs());
            moved.sum::<f64>() * 1e-12
        })
    }

    /// Moments of the sum of `factors` times squared residuals, for noise with these variances.
    ///
    /// The residuals are (1 - H) times the noise, H being the matrix of [`FittedLine::pull`]. It has rank 2, so that
    /// each element of (1 - H) F (1 - H) takes a few operations.
    pub fn moments(&self, factors: &[f64], variances: &[f64]) -> Moments {
        let bases: Vec<[f64; 2]> = self.x.iter().map(|&x| self.base(x)).collect();
        let mut inner = [[0.0; 2]; 2];
        for (base, factor) in bases.iter().zip(factors) {
            (0..4).for_each(|at| inner[at / 2][at % 2] += factor * base[at / 2] * base[at % 2]);
        }
        let (mut expected, mut squares) = (0.0, 0.0);
        for (one, base) in bases.iter().enumerate() {
            let left = [0, 1].map(|at| base[0] * inner[0][at] + base[1] * inner[1][at]);
            for (other, across) in bases.iter().enumerate() {
                let pull = base[0] * across[0] + base[1] * across[1];
                let both = left[0] * across[0] + left[1] * across[1];
                let own = if one == other { factors[one] } else { 0.0 };
                let element = own - pull * (factors[one] + factors[other]) + both;
                expected += if one == other { variances[one] * element } else { 0.0 };
                squares += variances[one] * variances[other] * element * element;
            }
        }
        Moments { expected, freedom: expected * expected / squares }
    }

    /// Coordinates of a point in an orthonormal basis of what the line can follow.
    fn base(&self, x: f64) -> [f64; 2] {
        [1.0 / (self.x.len() as f64).sqrt(), (x - self.mean_x) / self.squares_x.sqrt()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_noise_leaves_two_degrees_of_freedom_less_than_points() {
        for count in [3, 4, 9] {
            let x: Vec<f64> = (0..count).map(|at| f64::from(at).powi(2)).collect();
            let line = FittedLine::through(x.clone(), x);
            let ones = vec![1.0; count as usize];
            let moments = line.moments(&ones, &ones);
            let freedom = f64::from(count - 2);
            assert!((moments.expected - freedom).abs() < 1e-9, "{moments:?}");
            assert!((moments.freedom - freedom).abs() < 1e-9, "{moments:?}");
        }
    }

    #[test]
    fn weights_give_the_line() {
        let (x, y) = (vec![1.0, 2.0, 4.0, 9.0], vec![3.0, 1.0, 4.0, 1.5]);
        let line = FittedLine::through(x.clone(), y.clone());
        let by_weights =
            |which: usize| x.iter().zip(&y).map(|(&x, y)| line.weights(x)[which] * y).sum::<f64>();
        assert!((by_weights(0) - line.intercept).abs() < 1e-12);
        assert!((by_weights(1) - line.slope).abs() < 1e-12);
    }

    /// Moments and plain matrices give one result.
    #[test]
    fn moments_are_those_of_the_matrices() {
        let x = vec![1.0, 2.0, 4.0, 9.0];
        let line = FittedLine::through(x.clone(), x.clone());
        let (factors, variances) = ([1.0, 0.5, 2.0, 3.0], [4.0, 1.0, 2.0, 0.3]);
        let kept = |one: usize, other: usize| f64::from(u8::from(one == other)) - line.pull(x[one], x[other]);
        let element = |one: usize, other: usize| -> f64 {
            (0..4).map(|at| kept(one, at) * factors[at] * kept(at, other)).sum()
        };
        let expected: f64 = (0..4).map(|at| variances[at] * element(at, at)).sum();
        let squares: f64 =
            (0..16).map(|at| variances[at / 4] * variances[at % 4] * element(at / 4, at % 4).powi(2)).sum();
        let moments = line.moments(&factors, &variances);
        assert!((moments.expected - expected).abs() < 1e-9, "{moments:?}, {expected}");
        assert!((moments.freedom - expected.powi(2) / squares).abs() < 1e-9, "{moments:?}");
    }
}
