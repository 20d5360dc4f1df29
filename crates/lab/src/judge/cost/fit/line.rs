//! A straight line through points that all count the same.
//!
//! Must not know: what x and y measure.

use super::least_squares::{LeastSquares, WeightedPoint};
use crate::judge::stats::Estimate;

/// A line through points: y = intercept + slope x.
#[derive(Debug)]
pub struct FittedLine {
    /// Where it meets x = 0.
    pub intercept: f64,
    /// Its slope.
    pub slope: f64,
    fit: Option<LeastSquares>,
}

impl FittedLine {
    /// The line through the points. Where all x are the same it has no slope (NaN).
    pub fn through(x: Vec<f64>, y: Vec<f64>) -> FittedLine {
        let terms: Vec<[f64; 2]> = x.into_iter().map(|x| [1.0, x]).collect();
        let points = terms.iter().zip(y).map(|(terms, value)| WeightedPoint { terms, value, weight: 1.0 });
        let fit = LeastSquares::through(&points.collect::<Vec<_>>());
        let coefficient = |which: usize| fit.as_ref().map_or(f64::NAN, |fit| fit.coefficients[which]);
        FittedLine { intercept: coefficient(0), slope: coefficient(1), fit }
    }

    /// How far the points lie above it.
    pub fn residuals(&self) -> &[f64] {
        self.fit.as_ref().map_or(&[], LeastSquares::residuals)
    }

    /// The slope with its variance, for noise that is the same at all points. Of three points or more.
    pub fn slope_estimate(&self) -> Estimate {
        self.estimate(1, self.slope)
    }

    /// The estimate of the intercept.
    pub fn intercept_estimate(&self) -> Estimate {
        self.estimate(0, self.intercept)
    }

    fn estimate(&self, which: usize, center: f64) -> Estimate {
        let residuals = self.residuals();
        let freedom = residuals.len() as f64 - 2.0;
        let size = residuals.iter().map(|residual| residual.powi(2)).sum::<f64>() / freedom;
        let all = vec![size; residuals.len()];
        let variance = self.fit.as_ref().map_or(f64::NAN, |fit| fit.variance(which, all));
        Estimate { center, variance, freedom }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three points: the line 1/3 + x, and one degree of freedom.
    #[test]
    fn a_line_and_its_variances_are_those_of_the_textbook() {
        let line = FittedLine::through(vec![0.0, 1.0, 2.0], vec![1.0, 0.0, 3.0]);
        let squares: f64 = line.residuals().iter().map(|residual| residual.powi(2)).sum();
        let is_near = |got: f64, expected: f64| (got - expected).abs() < 1e-12;
        assert!(
            is_near(line.slope, 1.0) && is_near(line.intercept, 1.0 / 3.0) && is_near(squares, 8.0 / 3.0)
        );
        let (slope, intercept) = (line.slope_estimate(), line.intercept_estimate());
        assert!(is_near(slope.variance, 8.0 / 3.0 / 2.0) && slope.freedom == 1.0, "{slope:?}");
        assert!(is_near(intercept.variance, 8.0 / 3.0 * (1.0 / 3.0 + 1.0 / 2.0)), "{intercept:?}");
        assert!(FittedLine::through(vec![1.0, 1.0, 1.0], vec![1.0, 2.0, 3.0]).slope.is_nan());
    }
}
