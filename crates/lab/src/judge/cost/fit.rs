//! The fit of the cost model: unweighted least squares of ns per byte on 1 / request size.
//!
//! Must not know: where points come from, how the result is shown.

mod fields;
pub(crate) mod level_off;
pub(crate) mod line;
pub(crate) mod noise;

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::fit::line::FittedLine;
use crate::judge::cost::fit::noise::{Spread, ValueGroup};
use crate::judge::cost::parts::CostPart;
use crate::judge::cost::{relative_error_percent, worst_percent};
use crate::judge::stats::{Estimate, Interval};

/// Fewer points have no interval: two lie on a line whatever the noise is.
const POINTS_MIN: usize = 3;
/// A bend that misses by less is not told, however sure it is: predictions are meant to be within 3 %.
const BEND_PERCENT_MIN: f64 = 1.0;
/// Without repeats a line that misses by more is told.
const MISS_PERCENT_MAX: f64 = 10.0;

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitPoint {
    /// Bytes of a request.
    pub request_size_bytes: f64,
    /// CPU time for a byte.
    pub ns_per_byte: f64,
}

/// A fitted figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// A fit of the cost model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "fields::CostFields")]
pub struct CostFit {
    /// CPU time for a byte, in nanoseconds.
    pub cb_ns_per_byte: Figure,
    /// CPU time for a request, in microseconds. Below 0 it is shown as it is.
    pub cr_us_per_request: Figure,
    /// Number of points.
    pub points: usize,
    /// What was observed at each request size, the smallest first.
    pub sizes: Vec<SizeResult>,
    /// The largest relative error of a request size's mean; `None` if no value is above 0.
    pub worst_relative_error_percent: Option<f64>,
    /// Where the line does not fit, in words.
    pub warning: Option<String>,
}

/// Observed and predicted at one request size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SizeResult {
    /// Bytes of a request.
    pub request_size_bytes: f64,
    /// Number of points.
    pub n: usize,
    /// Their mean.
    pub observed_ns_per_byte: f64,
    /// The line's value.
    pub predicted_ns_per_byte: f64,
    /// Observed less predicted.
    pub residual_ns_per_byte: f64,
    /// The error relative to the smaller of the two; null if that is not above 0.
    pub relative_error_percent: Option<f64>,
    /// How the mean differs from that of the next smaller request size; null for the smallest.
    pub change_ns_per_byte: Option<f64>,
    /// Lower end of the change's 95 % interval; null without repeats.
    pub change_ns_per_byte_low: Option<f64>,
    /// Its upper end.
    pub change_ns_per_byte_high: Option<f64>,
    /// Whether it `falls`, `rises` or stays `level` (the interval contains 0); null without repeats.
    pub change: Option<&'static str>,
}

/// Points that have no fit with an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// How many there are.
    pub points: usize,
    /// How many request sizes they have.
    pub sizes: usize,
}

impl fmt::Display for TooFew {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (points, sizes) = (self.points, self.sizes);
        if points < POINTS_MIN {
            write!(
                out,
                "{points} points are too few for an interval: measure at least {POINTS_MIN}, better 4 request sizes \
                 with {} repeats each",
                noise::REPEATS_MIN
            )
        } else {
            write!(
                out,
                "{sizes} request size does not tell the cost of a byte from that of a request: measure at least 2, \
                 better 4"
            )
        }
    }
}

impl std::error::Error for TooFew {}

impl CostFit {
    /// The fitted costs as a part.
    pub fn part(&self, component: &str) -> CostPart {
        let (cb_ns_per_byte, cr_us_per_request) = (self.cb_ns_per_byte.value, self.cr_us_per_request.value);
        CostPart { component: component.into(), cb_ns_per_byte, cr_us_per_request }
    }
}

/// Fits Cb and Cr to points, whose request sizes are above 0.
///
/// Errors: fewer than three points, or a single request size.
pub fn fit_cost(points: &[FitPoint]) -> Result<CostFit, TooFew> {
    let (sizes_bytes, groups): (Vec<f64>, Vec<ValueGroup>) = by_size(points).into_iter().unzip();
    if points.len() < POINTS_MIN || groups.len() < 2 {
        return Err(TooFew { points: points.len(), sizes: groups.len() });
    }
    let line = noise::line_through(&groups);
    let spread = noise::spread(&line, &groups);
    let sizes = size_results(&line, &sizes_bytes, &groups);
    let mut fit = CostFit {
        cb_ns_per_byte: figure(line.intercept, spread, 0, 1.0),
        cr_us_per_request: figure(line.slope, spread, 1, 1e-3),
        points: points.len(),
        worst_relative_error_percent: worst_percent(sizes.iter().map(|size| size.relative_error_percent)),
        sizes,
        warning: None,
    };
    fit.warning = warning(&fit, noise::bends(&line, &groups));
    Ok(fit)
}

/// The request sizes with their points, the smallest first.
fn by_size(points: &[FitPoint]) -> Vec<(f64, ValueGroup)> {
    // Sizes are above 0, and such numbers are ordered as their bits are.
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for point in points {
        sizes.entry(point.request_size_bytes.to_bits()).or_default().push(point.ns_per_byte);
    }
    let sizes = sizes.into_iter().map(|(bits, values)| (f64::from_bits(bits), values));
    sizes.map(|(bytes, values)| (bytes, ValueGroup { x: 1.0 / bytes, values })).collect()
}

fn figure(value: f64, spread: Spread, which: usize, unit: f64) -> Figure {
    let half = spread.halves[which];
    Figure {
        value: value * unit,
        low: (value - half) * unit,
        high: (value + half) * unit,
        standard_error: spread.standard_errors[which] * unit,
    }
}

fn size_results(line: &FittedLine, sizes_bytes: &[f64], groups: &[ValueGroup]) -> Vec<SizeResult> {
    let result = |(index, group): (usize, &ValueGroup)| {
        let (observed, predicted) = (group.mean(), line.at(group.x));
        let before = index.checked_sub(1).map(|before| &groups[before]);
        let interval = before.and_then(|before| change_interval(before, group));
        SizeResult {
            request_size_bytes: sizes_bytes[index],
            n: group.values.len(),
            observed_ns_per_byte: observed,
            predicted_ns_per_byte: predicted,
            residual_ns_per_byte: observed - predicted,
            relative_error_percent: relative_error_percent(observed, predicted),
            change_ns_per_byte: before.map(|before| observed - before.mean()),
            change_ns_per_byte_low: interval.map(|it| it.low),
            change_ns_per_byte_high: interval.map(|it| it.high),
            change: interval.map(direction),
        }
    };
    groups.iter().enumerate().map(result).collect()
}

/// The 95 % interval of the difference of two means (Welch). `None` without repeats.
fn change_interval(before: &ValueGroup, after: &ValueGroup) -> Option<Interval> {
    let mean = |group: &ValueGroup| {
        let count = group.values.len() as f64;
        let (center, variance) = (group.mean(), group.variance() / count);
        (count >= 2.0).then_some(Estimate { center, variance, freedom: count - 1.0 })
    };
    Some(mean(after)?.minus(mean(before)?).interval(0.05))
}

fn direction(change: Interval) -> &'static str {
    match (change.low > 0.0, change.high < 0.0) {
        (true, _) => "rises",
        (_, true) => "falls",
        _ => "level",
    }
}

fn warning(fit: &CostFit, bends: Option<bool>) -> Option<String> {
    let words = [
        below_zero("Cr", &fit.cr_us_per_request, "a request"),
        below_zero("Cb", &fit.cb_ns_per_byte, "a byte"),
        misfit(fit, bends),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn below_zero(name: &str, figure: &Figure, of: &str) -> Option<String> {
    let perhaps = if figure.high < 0.0 {
        "its whole interval is below 0, so that the line describes these request sizes and no others"
    } else {
        "its interval contains 0"
    };
    (figure.value < 0.0)
        .then(|| format!("{name} is negative, and {of} cannot cost less than nothing: {perhaps}"))
}

fn misfit(fit: &CostFit, bends: Option<bool>) -> Option<String> {
    let worst = fit.worst_relative_error_percent.unwrap_or(f64::INFINITY);
    let missed = if worst.is_finite() { format!("by up to {worst:.1} %") } else { "widely".into() };
    match bends {
        _ if fit.sizes.len() < 3 => {
            Some("with two request sizes nothing says whether the line fits between and beyond them".into())
        }
        Some(true) if worst >= BEND_PERCENT_MIN => Some(format!(
            "the line does not fit: it misses {missed}, more than repeats differ; predict only between sizes that \
             were measured"
        )),
        None if worst > MISS_PERCENT_MAX => Some(format!(
            "the line misses {missed}; without repeats nothing says whether that is noise or the line does not fit"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
