//! The fit of the cost model: least squares of ns per byte on 1 / request size, and where runs move different amounts
//! on 1 / bytes of the run, too.
//!
//! Must not know: where points come from, how the result is shown.

mod fields;
pub(crate) mod least_squares;
pub(crate) mod level_off;
pub(crate) mod line;
pub(crate) mod noise;
mod weighing;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::weighing::Weighing;
use crate::judge::cost::fit::noise::{GroupedFit, Spread};
use crate::judge::cost::fit::weighing::{REPEATS_MIN, ValueGroup};
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
    /// Bytes of the whole run, where runs may differ in them.
    pub run_bytes: Option<f64>,
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
    /// CPU time of a run besides, in microseconds: of runs that move at least two different amounts.
    pub f_us_per_run: Option<Figure>,
    /// How points are weighed.
    pub weighing: Weighing,
    /// The cost of a byte by the published method, unweighted and without F.
    pub published_cb_ns_per_byte: f64,
    /// The cost of a request by the published method.
    pub published_cr_us_per_request: f64,
    /// Number of points.
    pub points: usize,
    /// What was observed at each request size, the smallest first.
    pub sizes: Vec<SizeResult>,
    /// The largest relative error of a request size's mean; `None` if no value is above 0.
    pub worst_relative_error_percent: Option<f64>,
    /// Where predictions between measured sizes come from.
    pub predictions: Predictions,
    /// Where the line does not fit, in words.
    pub warning: Option<String>,
}

/// Where predictions between measured sizes come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Predictions {
    /// The fitted line.
    #[default]
    #[serde(rename = "line")]
    Line,
    /// Straight lines in 1 / request size from each measured size to the next: the fitted one bends.
    #[serde(rename = "between sizes")]
    BetweenSizes,
}

/// Observed and predicted at one request size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SizeResult {
    /// Bytes of a request.
    pub request_size_bytes: f64,
    /// Bytes of the run; null unless the cost of a run is fitted, too.
    pub run_bytes: Option<f64>,
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
    /// How the mean differs from that of the next smaller request size (of as many bytes); null for the smallest.
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

impl TooFew {
    fn from_points(points: &[FitPoint]) -> TooFew {
        let sizes: BTreeSet<u64> = points.iter().map(|point| point.request_size_bytes.to_bits()).collect();
        TooFew { points: points.len(), sizes: sizes.len() }
    }
}

impl fmt::Display for TooFew {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (points, sizes) = (self.points, self.sizes);
        if points < POINTS_MIN {
            write!(
                out,
                "{points} points are too few for an interval: measure at least {POINTS_MIN}, better 4 request sizes \
                 with {} repeats each",
                REPEATS_MIN
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
    /// Whether it misses by more than repeats explain, and by enough to be reported.
    fn is_bent(&self, bends: Option<bool>) -> bool {
        bends == Some(true) && self.worst_relative_error_percent.is_none_or(|worst| worst >= BEND_PERCENT_MIN)
    }

    /// The fitted costs as a part.
    pub fn part(&self, component: &str) -> CostPart {
        let (cb_ns_per_byte, cr_us_per_request) = (self.cb_ns_per_byte.value, self.cr_us_per_request.value);
        CostPart { component: component.into(), cb_ns_per_byte, cr_us_per_request }
    }
}

/// Fits Cb and Cr to points, whose request sizes are above 0, by relative error (or as repeats say); and F if the points
/// are of runs that move at least two different amounts.
///
/// Errors: fewer than three points, or a single request size.
pub fn fit_cost(points: &[FitPoint]) -> Result<CostFit, TooFew> {
    let amounts: BTreeSet<Option<u64>> =
        points.iter().map(|point| point.run_bytes.map(f64::to_bits)).collect();
    let by_run = amounts.len() > 1 && !amounts.contains(&None);
    let fitted = |by_run: bool| {
        let cells = Cells::from_points(points, by_run);
        fit_cells(&cells, Weighing::of_repeats(&cells.groups))
    };
    // Where each amount has a request size of its own, F and Cr cannot be separated.
    let fit = by_run.then(|| fitted(true)).flatten().or_else(|| fitted(false));
    let fit = fit.ok_or_else(|| TooFew::from_points(points))?;
    let published = fit_published(points)?;
    Ok(CostFit {
        published_cb_ns_per_byte: published.published_cb_ns_per_byte,
        published_cr_us_per_request: published.published_cr_us_per_request,
        ..fit
    })
}

/// Fits Cb and Cr by the published method, unweighted.
///
/// Errors: fewer than three points, or a single request size.
pub fn fit_published(points: &[FitPoint]) -> Result<CostFit, TooFew> {
    let cells = Cells::from_points(points, false);
    fit_cells(&cells, Weighing::Unweighted).ok_or_else(|| TooFew::from_points(points))
}

/// Points by request size and, if asked, bytes of the run: of each run size the smallest request first.
struct Cells {
    /// Bytes of a request, and of the run.
    sizes: Vec<(f64, Option<f64>)>,
    groups: Vec<ValueGroup>,
}

impl Cells {
    fn from_points(points: &[FitPoint], by_run: bool) -> Cells {
        // Sizes are above 0, and such numbers are ordered as their bits are.
        let mut cells: BTreeMap<(Option<u64>, u64), Vec<f64>> = BTreeMap::new();
        for point in points {
            let run = point.run_bytes.filter(|_| by_run).map(f64::to_bits);
            cells.entry((run, point.request_size_bytes.to_bits())).or_default().push(point.ns_per_byte);
        }
        let cells = cells.into_iter().map(|((run, size), values)| {
            let (size, run) = (f64::from_bits(size), run.map(f64::from_bits));
            let terms = [1.0, 1.0 / size].into_iter().chain(run.map(|run| 1.0 / run)).collect();
            ((size, run), ValueGroup { terms, values })
        });
        let (sizes, groups) = cells.unzip();
        Cells { sizes, groups }
    }

    fn points(&self) -> usize {
        self.groups.iter().map(|group| group.values.len()).sum()
    }
}

/// `None` if there are too few points, or they do not determine the costs.
fn fit_cells(cells: &Cells, weighing: Weighing) -> Option<CostFit> {
    let fitted = GroupedFit::through(&cells.groups, weighing)?;
    let coefficients = fitted.coefficients();
    if cells.points() <= coefficients.len() || cells.points() < POINTS_MIN {
        return None;
    }
    let spread = fitted.spread();
    let figure = |which: usize, unit: f64| figure(coefficients[which], &spread, which, unit);
    let sizes = size_results(&fitted, cells);
    let mut fit = CostFit {
        cb_ns_per_byte: figure(0, 1.0),
        cr_us_per_request: figure(1, 1e-3),
        f_us_per_run: (coefficients.len() > 2).then(|| figure(2, 1e-3)),
        weighing,
        published_cb_ns_per_byte: coefficients[0],
        published_cr_us_per_request: coefficients[1] * 1e-3,
        points: cells.points(),
        worst_relative_error_percent: worst_percent(sizes.iter().map(|size| size.relative_error_percent)),
        sizes,
        predictions: Predictions::Line,
        warning: None,
    };
    let bends = fitted.bends();
    fit.predictions = if fit.is_bent(bends) { Predictions::BetweenSizes } else { Predictions::Line };
    fit.warning = warning(&fit, bends);
    Some(fit)
}

fn figure(value: f64, spread: &Spread, which: usize, unit: f64) -> Figure {
    let half = spread.halves[which];
    Figure {
        value: value * unit,
        low: (value - half) * unit,
        high: (value + half) * unit,
        standard_error: spread.standard_errors[which] * unit,
    }
}

fn size_results(fitted: &GroupedFit<'_>, cells: &Cells) -> Vec<SizeResult> {
    let result = |(index, group): (usize, &ValueGroup)| {
        let (observed, predicted) = (group.mean(), fitted.at(group));
        let (request_size_bytes, run_bytes) = cells.sizes[index];
        let before = index.checked_sub(1).filter(|&before| cells.sizes[before].1 == run_bytes);
        let before = before.map(|before| &cells.groups[before]);
        let interval = before.and_then(|before| change_interval(before, group));
        SizeResult {
            request_size_bytes,
            run_bytes,
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
    cells.groups.iter().enumerate().map(result).collect()
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
        fit.f_us_per_run.and_then(|figure| below_zero("F", &figure, "a run")),
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
        _ if fit.predictions == Predictions::BetweenSizes => Some(format!(
            "the line does not fit: it misses {missed}, more than repeats differ; predictions go straight from one \
             measured size to the next, and beyond them nothing is known"
        )),
        None if worst > MISS_PERCENT_MAX => Some(format!(
            "the line misses {missed}; without repeats nothing says whether that is noise or the line does not fit"
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
