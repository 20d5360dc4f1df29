//! Copies beside what the parts of the same rounds predict, and beside the next copy of their kind: rows of the study
//! `parts-and-whole`.
//!
//! A prediction is as good as it can be where it misses a copy by no more than the copy before does. Must not know: how
//! components are put together, how anything is shown.

use std::path::Path;

use anyhow::bail;
use datapump::BillHost;
use schemars::JsonSchema;
use serde::Serialize;

use super::chain::NETWORK;
use super::components::{RowsBySize, STUDY, bytes_per_second, is_of, largest_runs, side_ns_per_byte};
use super::{ChainForecast, Profile, of_rows};
use crate::judge::cost::{CpuBy, InputError, relative_error_percent};
use crate::judge::stats::{Estimate, Interval, median};
use crate::row::{Row, SessionRound};

/// Limit of the median error, in multiples of that of the copy before.
const MEDIAN_TIMES_MAX: f64 = 1.25;
/// Limit of the largest error, in multiples of the largest of the copy before.
const WORST_TIMES_MAX: f64 = 1.5;
/// Limit of the mean error, in percent.
const BIAS_PERCENT_MAX: f64 = 5.0;
/// A bias that is judged lies outside by more than chance (two-sided).
const ALPHA: f64 = 0.05;

/// A figure of a copy that the study runs, and the components that predict it.
struct CopyPrediction {
    command: &'static str,
    figure: CopyFigure,
    chain: &'static [&'static str],
}

const LOCAL: &[&str] = &["disk_source", "pump", "disk_sink"];
const REMOTE: &[&str] = &["disk_source", NETWORK, "disk_sink"];
/// The commands that are copies.
const COPY: &str = "copy";
const NETWORK_COPY: &str = "network-copy";

const JUDGED: [CopyPrediction; 6] = [
    CopyPrediction { command: COPY, figure: CopyFigure::Bandwidth, chain: LOCAL },
    CopyPrediction { command: COPY, figure: CopyFigure::Cpu, chain: LOCAL },
    CopyPrediction { command: NETWORK_COPY, figure: CopyFigure::Bandwidth, chain: REMOTE },
    CopyPrediction { command: NETWORK_COPY, figure: CopyFigure::Cpu, chain: REMOTE },
    CopyPrediction { command: NETWORK_COPY, figure: CopyFigure::SenderCpu, chain: &["sender"] },
    CopyPrediction { command: NETWORK_COPY, figure: CopyFigure::ReceiverCpu, chain: &["receiver"] },
];

/// A figure of a copy that is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyFigure {
    /// Bytes a second.
    Bandwidth,
    /// CPU time for a byte.
    Cpu,
    /// CPU time of the sender for a byte.
    SenderCpu,
    /// CPU time of the receiver for a byte.
    ReceiverCpu,
}

/// All copies of a file of rows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JudgedCopies {
    /// The measure of CPU time, of parts and copies alike.
    pub cpu_by: CpuBy,
    /// For each copy and figure one entry per request size, smallest first, then one for all sizes together.
    pub figures: Vec<JudgedFigure>,
    /// Whether the entries for all sizes together hold. Of entries for one size (ten copies) one in eight fails by
    /// chance.
    pub holds: bool,
}

/// A figure of copies beside its predictions. Errors are in percent of the lesser value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JudgedFigure {
    /// The copy: a command of the study.
    pub copy: String,
    /// Its predicted figure.
    pub figure: CopyFigure,
    /// Bytes of a request; null for all sizes together.
    pub request_size_bytes: Option<u64>,
    /// Number of copies.
    pub n: usize,
    /// Median of the copies, in bytes per second or nanoseconds per byte; null for all sizes together.
    pub observed: Option<f64>,
    /// The prediction.
    pub predicted: Option<f64>,
    /// Lower end of the interval that should contain nine of ten copies.
    pub predicted_low: Option<f64>,
    /// Its upper end.
    pub predicted_high: Option<f64>,
    /// Copies inside; null where there is no interval.
    pub inside: Option<usize>,
    /// Median size of the predictions' errors.
    pub error_median_percent: f64,
    /// The largest.
    pub error_worst_percent: f64,
    /// Median size of the errors if each copy is predicted by the one of the round before.
    pub next_error_median_percent: f64,
    /// The largest.
    pub next_error_worst_percent: f64,
    /// By how much copies are above their predictions in the mean.
    pub bias_percent: f64,
    /// Lower end of its 95 % interval; null below three copies.
    pub bias_percent_low: Option<f64>,
    /// Its upper end.
    pub bias_percent_high: Option<f64>,
    /// Whether the median error is at most 1.25 times that of the copy before, the largest at most 1.5 times its largest,
    /// and the bias is within 5 %. For one size the bias fails only if its whole interval is outside.
    pub holds: bool,
}

/// The errors of some copies.
#[derive(Clone, Debug, Default)]
struct Errors {
    /// Logarithms of observed over predicted.
    logarithms: Vec<f64>,
    /// Errors of the predictions, in percent.
    percent: Vec<f64>,
    /// Errors of the copy before as a prediction, in percent.
    next_percent: Vec<f64>,
    inside: Option<usize>,
}

impl JudgedCopies {
    /// Predicts the copies of rows from the parts in them.
    ///
    /// Errors: rows without parts or copies; runs that failed; parts without a fit.
    pub fn from_rows(rows: &[Row], cpu: Option<CpuBy>) -> anyhow::Result<JudgedCopies> {
        let parts = of_rows(rows, Path::new("."), cpu)?;
        let mut figures = Vec::new();
        for judged in &JUDGED {
            let copies = largest_runs(rows, judged.command)?;
            // Older rows have no `sender` and `receiver`.
            let is_optional = matches!(judged.figure, CopyFigure::SenderCpu | CopyFigure::ReceiverCpu);
            let has_parts = judged.chain.iter().all(|name| parts.component(name).is_some());
            if has_parts || !is_optional && !copies.is_empty() {
                figures.extend(judged.figures(&parts, &copies)?);
            }
        }
        if figures.is_empty() {
            bail!(InputError::asked("the rows have no copies; `pump lab run parts-and-whole` makes them"));
        }
        let holds =
            figures.iter().filter(|figure| figure.request_size_bytes.is_none()).all(|figure| figure.holds);
        Ok(JudgedCopies { cpu_by: parts.cpu_by, figures, holds })
    }
}

/// Copies of a chain: the largest runs of its command in rows of `parts-and-whole`, all rows of other studies.
pub(super) fn copies_of<'rows>(chain: &[String], rows: &'rows [Row]) -> Vec<&'rows Row> {
    let command = if chain.iter().any(|name| name == NETWORK) { NETWORK_COPY } else { COPY };
    let is_copy = |row: &&Row| row.study != STUDY || is_of(row, command);
    let copies: Vec<&Row> = rows.iter().filter(is_copy).collect();
    let most = copies.iter().filter(|row| row.study == STUDY).map(|row| row.bytes).max();
    copies.into_iter().filter(|row| row.study != STUDY || Some(row.bytes) == most).collect()
}

impl CopyPrediction {
    /// One entry per request size, and one for all.
    fn figures(&self, parts: &Profile, copies: &RowsBySize<'_>) -> anyhow::Result<Vec<JudgedFigure>> {
        let chain: Vec<String> = self.chain.iter().map(|name| name.to_string()).collect();
        let (mut all, mut lines) = (Errors::default(), Vec::new());
        for (&size, rows) in copies {
            let predicted = Predicted::from_forecast(&parts.forecast(&chain, size)?, self.figure);
            let values = values_by_round(rows, self.figure, parts.cpu_by);
            let errors = Errors::from_values(&values, &predicted);
            let of_values: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
            lines.push(JudgedFigure {
                request_size_bytes: Some(size),
                observed: median(&of_values),
                predicted: Some(predicted.value),
                predicted_low: predicted.interval.map(|it| it.low),
                predicted_high: predicted.interval.map(|it| it.high),
                ..errors.judged(self, false)
            });
            all.add(errors);
        }
        if !lines.is_empty() {
            lines.push(all.judged(self, true));
        }
        Ok(lines)
    }
}

/// A forecast of one figure.
struct Predicted {
    value: f64,
    interval: Option<Interval>,
}

impl Predicted {
    fn from_forecast(forecast: &ChainForecast, figure: CopyFigure) -> Predicted {
        let both = |low: Option<f64>, high: Option<f64>| Some(Interval { low: low?, high: high? });
        match figure {
            CopyFigure::Bandwidth => Predicted {
                value: forecast.bytes_per_second,
                interval: both(forecast.bytes_per_second_low, forecast.bytes_per_second_high),
            },
            CopyFigure::Cpu | CopyFigure::SenderCpu | CopyFigure::ReceiverCpu => Predicted {
                value: forecast.ns_per_byte,
                interval: both(forecast.ns_per_byte_low, forecast.ns_per_byte_high),
            },
        }
    }
}

/// The values of a figure, each with its round, in the order of rounds.
fn values_by_round<'rows>(
    rows: &[&'rows Row],
    figure: CopyFigure,
    by: CpuBy,
) -> Vec<(SessionRound<'rows>, f64)> {
    let value = |row: &&'rows Row| {
        let value = match figure {
            CopyFigure::Bandwidth => bytes_per_second(row),
            CopyFigure::Cpu => side_ns_per_byte(row, None, by)?,
            CopyFigure::SenderCpu => side_ns_per_byte(row, Some(BillHost::Sender), by)?,
            CopyFigure::ReceiverCpu => side_ns_per_byte(row, Some(BillHost::Receiver), by)?,
        };
        (value.is_finite() && value > 0.0).then_some((SessionRound::of_row(row), value))
    };
    let mut values: Vec<(SessionRound<'rows>, f64)> = rows.iter().filter_map(value).collect();
    values.sort_by_key(|(round, _)| *round);
    values
}

impl Errors {
    fn from_values(values: &[(SessionRound<'_>, f64)], predicted: &Predicted) -> Errors {
        // Beside a prediction that is not positive no error is large enough.
        let error = |observed: f64, predicted: f64| {
            relative_error_percent(observed, predicted).map_or(f64::INFINITY, f64::abs)
        };
        let logarithm =
            |(_, value): &(_, f64)| Some((value / predicted.value).ln()).filter(|it| it.is_finite());
        let next = values.windows(2).filter(|pair| pair[0].0.is_before(pair[1].0));
        let inside = |it: Interval| values.iter().filter(|(_, value)| it.contains(*value)).count();
        Errors {
            logarithms: values.iter().filter_map(logarithm).collect(),
            percent: values.iter().map(|(_, value)| error(*value, predicted.value)).collect(),
            next_percent: next.map(|pair| error(pair[1].1, pair[0].1)).collect(),
            inside: predicted.interval.map(inside),
        }
    }

    fn add(&mut self, other: Errors) {
        self.inside = match (self.percent.is_empty(), self.inside, other.inside) {
            (true, _, inside) => inside,
            (false, Some(inside), Some(more)) => Some(inside + more),
            _ => None,
        };
        self.logarithms.extend(other.logarithms);
        self.percent.extend(other.percent);
        self.next_percent.extend(other.next_percent);
    }

    /// `is_all`: for all request sizes together, whose bias is known well enough to be judged without its interval.
    fn judged(&self, what: &CopyPrediction, is_all: bool) -> JudgedFigure {
        let worst = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
        let middle = |errors: &[f64]| median(errors).unwrap_or(0.0);
        let percent = |logarithm: f64| 100.0 * logarithm.exp_m1();
        let estimate = Estimate::from_values(&self.logarithms);
        let interval = estimate.map(|estimate| estimate.interval(ALPHA));
        let (low, high) = (interval.map(|it| percent(it.low)), interval.map(|it| percent(it.high)));
        let error_median_percent = middle(&self.percent);
        let next_error_median_percent = middle(&self.next_percent);
        let (error_worst_percent, next_error_worst_percent) =
            (worst(&self.percent), worst(&self.next_percent));
        let bias_percent = percent(estimate.map_or(0.0, |estimate| estimate.center));
        let is_off = if is_all {
            bias_percent.abs() > BIAS_PERCENT_MAX
        } else {
            low.is_some_and(|low| low > BIAS_PERCENT_MAX) || high.is_some_and(|high| high < -BIAS_PERCENT_MAX)
        };
        JudgedFigure {
            copy: what.command.into(),
            figure: what.figure,
            request_size_bytes: None,
            n: self.percent.len(),
            observed: None,
            predicted: None,
            predicted_low: None,
            predicted_high: None,
            inside: self.inside,
            error_median_percent,
            error_worst_percent,
            next_error_median_percent,
            next_error_worst_percent,
            bias_percent,
            bias_percent_low: low,
            bias_percent_high: high,
            holds: error_median_percent <= MEDIAN_TIMES_MAX * next_error_median_percent
                && error_worst_percent <= WORST_TIMES_MAX * next_error_worst_percent
                && !is_off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fit of few sizes may cost less than nothing.
    #[test]
    fn a_prediction_that_is_not_positive_does_not_hold() {
        let what = CopyPrediction { command: COPY, figure: CopyFigure::Cpu, chain: LOCAL };
        let rounds = (0..12).map(|round| (SessionRound { session: "a", seed: 1, round }, 1.0));
        let values: Vec<_> = rounds.collect();
        for value in [-1.0, 0.0, f64::NAN] {
            let errors = Errors::from_values(&values, &Predicted { value, interval: None });
            let judged = errors.judged(&what, true);
            assert!(!judged.holds && judged.n == 12, "{value}: {judged:?}");
        }
    }
}
