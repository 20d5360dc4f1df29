//! Weighted least squares of a value on a few terms, and what its residuals say of the noise.
//!
//! All is done in scaled coordinates, term and value times the square root of the weight, so that the matrix that gives
//! the fitted values stays symmetric. Must not know: what terms and values measure.

/// A term is taken as given by the others if all but this part of it is.
const OWN_PART_MIN: f64 = 1e-10;

/// One value with the terms that it depends on, and how much it counts.
#[derive(Clone, Copy, Debug)]
pub struct WeightedPoint<'terms> {
    /// The terms; of a line 1 and x.
    pub terms: &'terms [f64],
    /// The value.
    pub value: f64,
    /// Its weight: one over its variance, times any factor that all have. Above 0.
    pub weight: f64,
}

/// The coefficients with which the terms come nearest to the values.
#[derive(Debug)]
pub struct LeastSquares {
    /// One for each term.
    pub coefficients: Vec<f64>,
    /// The scaled values.
    scaled: Vec<f64>,
    /// How far they lie above the fitted ones.
    residuals: Vec<f64>,
    /// The place of each point in an orthonormal basis of what the terms can follow.
    basis: Vec<Vec<f64>>,
    /// How much each coefficient moves with the scaled value of each point.
    gradients: Vec<Vec<f64>>,
}

/// The expected value of a sum of weighted squared residuals under a noise, and its degrees of freedom.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// Expected value for a noise of size 1.
    pub expected: f64,
    /// Degrees of freedom of the chi-squared distribution with the same first two moments (Satterthwaite).
    pub freedom: f64,
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// An orthonormal basis of the scaled terms, a column for each, and the triangle that gives them back.
struct Columns {
    basis: Vec<Vec<f64>>,
    triangle: Vec<Vec<f64>>,
}

impl Columns {
    /// Gram and Schmidt's way, each column twice for the rounding. `None` if a term is given by those before it.
    fn from_terms(terms: &[Vec<f64>]) -> Option<Columns> {
        let mut columns = Columns { basis: Vec::new(), triangle: Vec::new() };
        for term in terms {
            let (mut rest, mut parts) = (term.clone(), vec![0.0; columns.basis.len()]);
            for _ in 0..2 {
                for (column, part) in columns.basis.iter().zip(&mut parts) {
                    let along = dot(column, &rest);
                    *part += along;
                    rest.iter_mut().zip(column).for_each(|(rest, column)| *rest -= along * column);
                }
            }
            let (own, whole) = (dot(&rest, &rest).sqrt(), dot(term, term).sqrt());
            if own <= OWN_PART_MIN * whole || !own.is_finite() {
                return None;
            }
            rest.iter_mut().for_each(|value| *value /= own);
            parts.push(own);
            columns.basis.push(rest);
            columns.triangle.push(parts);
        }
        Some(columns)
    }

    /// Solves the triangle for this right-hand side.
    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut solved = right.to_vec();
        for at in (0..solved.len()).rev() {
            let later: f64 = (at + 1..solved.len()).map(|term| self.triangle[term][at] * solved[term]).sum();
            solved[at] = (solved[at] - later) / self.triangle[at][at];
        }
        solved
    }
}

impl LeastSquares {
    /// The fit through the points, of which each has as many terms. `None` if they do not determine all coefficients.
    pub fn through(points: &[WeightedPoint<'_>]) -> Option<LeastSquares> {
        let roots: Vec<f64> = points.iter().map(|point| point.weight.sqrt()).collect();
        let count = points.first().map_or(0, |point| point.terms.len());
        let scaled = |value: &dyn Fn(&WeightedPoint<'_>) -> f64| -> Vec<f64> {
            points.iter().zip(&roots).map(|(point, root)| value(point) * root).collect()
        };
        let terms: Vec<Vec<f64>> = (0..count).map(|at| scaled(&|point| point.terms[at])).collect();
        let values = scaled(&|point| point.value);
        let columns = Columns::from_terms(&terms)?;
        let along: Vec<f64> = columns.basis.iter().map(|column| dot(column, &values)).collect();
        let place = |at: usize| columns.basis.iter().map(|column| column[at]).collect::<Vec<f64>>();
        let basis: Vec<Vec<f64>> = (0..points.len()).map(place).collect();
        Some(LeastSquares {
            coefficients: columns.solve(&along),
            residuals: basis.iter().zip(&values).map(|(place, value)| value - dot(place, &along)).collect(),
            gradients: basis.iter().map(|place| columns.solve(place)).collect(),
            scaled: values,
            basis,
        })
    }

    /// The fitted value for these terms.
    pub fn at(&self, terms: &[f64]) -> f64 {
        dot(&self.coefficients, terms)
    }

    /// How far the scaled values lie above the fitted ones.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// How much a coefficient moves with the scaled value of a point.
    pub fn gradient(&self, point: usize, which: usize) -> f64 {
        self.gradients[point][which]
    }

    /// How much a point pulls the fitted value of another.
    pub fn pull(&self, one: usize, other: usize) -> f64 {
        dot(&self.basis[one], &self.basis[other])
    }

    /// A coefficient's variance, for a noise whose scaled values have these.
    pub fn variance(&self, which: usize, variances: impl IntoIterator<Item = f64>) -> f64 {
        self.gradients
            .iter()
            .zip(variances)
            .map(|(gradient, variance)| gradient[which].powi(2) * variance)
            .sum()
    }

    /// How much a coefficient can move by rounding of the points' values in their last digit.
    pub fn rounding(&self, which: usize) -> f64 {
        let moved =
            self.gradients.iter().zip(&self.scaled).map(|(gradient, value)| (gradient[which] * value).abs());
        moved.sum::<f64>() * 1e-12
    }

    /// Moments of the sum of `factors` times squared residuals, for a scaled noise with these variances.
    ///
    /// The residuals are (1 - H) times the noise, H being the matrix of [`LeastSquares::pull`]. Its rank is the number
    /// of terms, so that each element of (1 - H) F (1 - H) takes a few operations.
    pub fn moments(&self, factors: &[f64], variances: &[f64]) -> Moments {
        let inner = self.inner(factors);
        let (mut expected, mut squares) = (0.0, 0.0);
        for (one, base) in self.basis.iter().enumerate() {
            let left: Vec<f64> = inner.iter().map(|row| dot(row, base)).collect();
            for (other, across) in self.basis.iter().enumerate() {
                let own = if one == other { factors[one] } else { 0.0 };
                let element = own - dot(base, across) * (factors[one] + factors[other]) + dot(&left, across);
                expected += if one == other { variances[one] * element } else { 0.0 };
                squares += variances[one] * variances[other] * element * element;
            }
        }
        Moments { expected, freedom: expected * expected / squares }
    }

    /// The factors between the columns of the basis.
    fn inner(&self, factors: &[f64]) -> Vec<Vec<f64>> {
        let terms = self.coefficients.len();
        let element = |row: usize, column: usize| -> f64 {
            self.basis.iter().zip(factors).map(|(place, factor)| factor * place[row] * place[column]).sum()
        };
        (0..terms).map(|row| (0..terms).map(|column| element(row, column)).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three terms, values that they do not give, and weights that differ.
    fn some() -> (Vec<[f64; 3]>, Vec<f64>, Vec<f64>) {
        let terms = [1.0, 2.0, 4.0, 9.0, 5.0].map(|x: f64| [1.0, x, (x - 3.0).powi(2)]);
        (terms.into(), vec![3.0, 1.0, 4.0, 1.5, 9.0], vec![1.0, 4.0, 0.5, 2.0, 1.0])
    }

    fn through(terms: &[[f64; 3]], values: &[f64], weights: &[f64]) -> LeastSquares {
        let points: Vec<WeightedPoint<'_>> = (0..values.len())
            .map(|at| WeightedPoint { terms: &terms[at], value: values[at], weight: weights[at] })
            .collect();
        LeastSquares::through(&points).expect("terms apart")
    }

    #[test]
    fn no_other_coefficients_come_nearer() {
        let (terms, values, weights) = some();
        let fit = through(&terms, &values, &weights);
        let squares = |moved: usize, by: f64| -> f64 {
            let mut coefficients = fit.coefficients.clone();
            coefficients[moved] += by;
            let miss = |at: usize| weights[at] * (values[at] - dot(&coefficients, &terms[at])).powi(2);
            (0..values.len()).map(miss).sum()
        };
        for (moved, by) in (0..3).flat_map(|moved| [(moved, 1e-3), (moved, -1e-3)]) {
            assert!(squares(moved, by) > squares(0, 0.0), "coefficient {moved} by {by}");
        }
        let own: f64 = fit.residuals().iter().map(|residual| residual.powi(2)).sum();
        assert!((own - squares(0, 0.0)).abs() < 1e-9);
    }

    #[test]
    fn gradients_give_the_coefficients_and_pulls_the_fitted_values() {
        let (terms, values, weights) = some();
        let fit = through(&terms, &values, &weights);
        let scaled: Vec<f64> =
            values.iter().zip(&weights).map(|(value, weight)| value * weight.sqrt()).collect();
        for which in 0..3 {
            let by_gradients: f64 = (0..5).map(|at| fit.gradient(at, which) * scaled[at]).sum();
            assert!((by_gradients - fit.coefficients[which]).abs() < 1e-9, "{which}");
        }
        for at in 0..5 {
            let pulled: f64 = (0..5).map(|other| fit.pull(at, other) * scaled[other]).sum();
            assert!((pulled - fit.at(&terms[at]) * weights[at].sqrt()).abs() < 1e-9, "{at}");
        }
    }

    #[test]
    fn terms_that_cannot_be_told_apart_have_no_fit() {
        let terms = [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]];
        let points: Vec<WeightedPoint<'_>> =
            terms.iter().map(|terms| WeightedPoint { terms, value: 1.0, weight: 1.0 }).collect();
        assert!(LeastSquares::through(&points).is_none());
    }

    #[test]
    fn equal_noise_leaves_as_many_degrees_of_freedom_less_as_there_are_terms() {
        let (terms, values, weights) = some();
        let moments = through(&terms, &values, &weights).moments(&[1.0; 5], &[1.0; 5]);
        assert!((moments.expected - 2.0).abs() < 1e-9 && (moments.freedom - 2.0).abs() < 1e-9, "{moments:?}");
    }

    /// Moments and plain matrices give one result.
    #[test]
    fn moments_are_those_of_the_matrices() {
        let (terms, values, weights) = some();
        let fit = through(&terms, &values, &weights);
        let (factors, variances) = ([1.0, 0.5, 2.0, 3.0, 1.0], [4.0, 1.0, 2.0, 0.3, 1.0]);
        let kept = |one: usize, other: usize| f64::from(u8::from(one == other)) - fit.pull(one, other);
        let element = |one: usize, other: usize| -> f64 {
            (0..5).map(|at| kept(one, at) * factors[at] * kept(at, other)).sum()
        };
        let expected: f64 = (0..5).map(|at| variances[at] * element(at, at)).sum();
        let squares: f64 =
            (0..25).map(|at| variances[at / 5] * variances[at % 5] * element(at / 5, at % 5).powi(2)).sum();
        let moments = fit.moments(&factors, &variances);
        assert!((moments.expected - expected).abs() < 1e-9, "{moments:?}, {expected}");
        assert!((moments.freedom - expected.powi(2) / squares).abs() < 1e-9, "{moments:?}");
    }
}
