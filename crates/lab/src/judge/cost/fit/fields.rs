//! A fit of the cost model as the fields of an event: names with units, no figure within a figure.
//!
//! Must not know: how a fit is made, who shows it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::{CostFit, Predictions, SizeResult, Weighing};

/// The fields of a [`CostFit`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct CostFields {
    /// Number of points.
    points: usize,
    /// CPU time for a byte.
    cb_ns_per_byte: f64,
    /// Lower end of its 95 % interval.
    cb_ns_per_byte_low: f64,
    /// Upper end.
    cb_ns_per_byte_high: f64,
    /// Its standard error.
    cb_ns_per_byte_standard_error: f64,
    /// CPU time for a request. Below 0 it is shown as it is.
    cr_us_per_request: f64,
    /// Lower end of its 95 % interval.
    cr_us_per_request_low: f64,
    /// Upper end.
    cr_us_per_request_high: f64,
    /// Its standard error.
    cr_us_per_request_standard_error: f64,
    /// CPU time of a run besides; null unless the runs move at least two different amounts.
    f_us_per_run: Option<f64>,
    /// Lower end of its 95 % interval.
    f_us_per_run_low: Option<f64>,
    /// Upper end.
    f_us_per_run_high: Option<f64>,
    /// Its standard error.
    f_us_per_run_standard_error: Option<f64>,
    /// How points are weighed.
    weighing: Weighing,
    /// The cost of a byte by the published method: unweighted, without F.
    published_cb_ns_per_byte: f64,
    /// The cost of a request by it.
    published_cr_us_per_request: f64,
    /// Where predictions between measured sizes come from.
    predictions: Predictions,
    /// The largest relative error of a request size's mean; null if no value is above 0.
    worst_relative_error_percent: Option<f64>,
    /// What was observed at each request size, the smallest first.
    residuals: Vec<SizeResult>,
    /// Where the line does not fit, in words.
    warning: Option<String>,
}

impl From<CostFit> for CostFields {
    fn from(fit: CostFit) -> CostFields {
        let (cb, cr, f) = (fit.cb_ns_per_byte, fit.cr_us_per_request, fit.f_us_per_run);
        CostFields {
            points: fit.points,
            cb_ns_per_byte: cb.value,
            cb_ns_per_byte_low: cb.low,
            cb_ns_per_byte_high: cb.high,
            cb_ns_per_byte_standard_error: cb.standard_error,
            cr_us_per_request: cr.value,
            cr_us_per_request_low: cr.low,
            cr_us_per_request_high: cr.high,
            cr_us_per_request_standard_error: cr.standard_error,
            f_us_per_run: f.map(|f| f.value),
            f_us_per_run_low: f.map(|f| f.low),
            f_us_per_run_high: f.map(|f| f.high),
            f_us_per_run_standard_error: f.map(|f| f.standard_error),
            weighing: fit.weighing,
            published_cb_ns_per_byte: fit.published_cb_ns_per_byte,
            published_cr_us_per_request: fit.published_cr_us_per_request,
            predictions: fit.predictions,
            worst_relative_error_percent: fit.worst_relative_error_percent,
            residuals: fit.sizes,
            warning: fit.warning,
        }
    }
}

impl JsonSchema for CostFit {
    fn schema_name() -> Cow<'static, str> {
        "CostFit".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        CostFields::json_schema(generator)
    }
}
