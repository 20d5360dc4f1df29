//! The fit of a model to the measured lines of a figure: drawn beside them, and said in words.
//!
//! Must not know: how a fit is made, how a chart is drawn.

use serde::Serialize;

use super::LineOrigin;
use super::found::{AxisPlace, FoundLine, FoundPoint};
use crate::judge::cost::{CostFit, CostPart, FitPoint, MeasuredLatency, fit_cost, fit_level_off, predict};
use crate::report::figures::figures;
use crate::study::FigureFit;

/// A model with its parameters, fitted to a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChartFit {
    /// The line and its parameters, in words.
    pub words: String,
    /// The cost of a byte and of a request, by a fit of costs.
    #[serde(skip)]
    pub cost: Option<CostPart>,
}

/// The fits of measured lines, and a line of each.
pub(super) struct FittedLines {
    pub fits: Vec<ChartFit>,
    pub lines: Vec<FoundLine>,
    /// Why there is none of a line.
    pub notes: Vec<String>,
}

/// Fits each measured line; the fitted one has its name. Values are in the units of results: ns for a byte, ns.
pub(super) fn fitted(model: FigureFit, lines: &[FoundLine], names_results: bool) -> FittedLines {
    let mut found = FittedLines { fits: Vec::new(), lines: Vec::new(), notes: Vec::new() };
    for line in lines.iter().filter(|line| line.origin == LineOrigin::Measured && !line.points.is_empty()) {
        let label = line.label(names_results);
        let outcome = match model {
            FigureFit::Cost => by_cost(&label, line),
            FigureFit::LevelOff => by_readers(&label, line),
        };
        match outcome {
            Ok(FitOfLine { fit, points }) => {
                found.fits.push(fit);
                found.lines.push(FoundLine {
                    name: label,
                    origin: LineOrigin::Formula,
                    points,
                    ..FoundLine::default()
                });
            }
            Err(why) => found.notes.push(format!("no fit of {label}: {why}")),
        }
    }
    found
}

struct FitOfLine {
    fit: ChartFit,
    points: Vec<FoundPoint>,
}

fn by_cost(label: &str, line: &FoundLine) -> Result<FitOfLine, String> {
    let values = line.points.iter().flat_map(|point| point.values.iter().map(|value| (point.x(), *value)));
    let points: Vec<FitPoint> = values
        .filter(|(size, _)| *size > 0.0)
        .map(|(request_size_bytes, ns_per_byte)| FitPoint {
            request_size_bytes,
            ns_per_byte,
            run_bytes: None,
        })
        .collect();
    let fit = fit_cost(&points).map_err(|few| few.to_string())?;
    let part = fit.part(label);
    let at = |point: &FoundPoint| FoundPoint::of_one(AxisPlace::at(point.x()), predict(&part, point.x()));
    let drawn = line.points.iter().map(at).collect();
    Ok(FitOfLine { fit: ChartFit { words: cost_words(label, &fit), cost: Some(part) }, points: drawn })
}

fn cost_words(label: &str, fit: &CostFit) -> String {
    let interval = |low: f64, high: f64| format!("{} to {}", figures(low), figures(high));
    let (cb, cr) = (&fit.cb_ns_per_byte, &fit.cr_us_per_request);
    let worst =
        fit.worst_relative_error_percent.map_or(String::new(), |it| format!("; worst error {it:.0} %"));
    let warning = fit.warning.as_ref().map_or(String::new(), |words| format!("; {words}"));
    format!(
        "{label}: Cb {} ns a byte ({}), Cr {} µs a request ({}){worst}{warning}",
        figures(cb.value),
        interval(cb.low, cb.high),
        figures(cr.value),
        interval(cr.low, cr.high),
    )
}

fn by_readers(label: &str, line: &FoundLine) -> Result<FitOfLine, String> {
    let measured: Vec<MeasuredLatency> = line
        .points
        .iter()
        .flat_map(|point| point.values.iter().map(|ns| (point.x(), ns / 1e9)))
        .filter(|(readers, latency_s)| *readers >= 1.0 && *latency_s > 0.0)
        .map(|(readers, latency_s)| MeasuredLatency {
            readers: readers as u32,
            latency_s,
            aggregate_bytes_per_s: None,
        })
        .collect();
    let fit = fit_level_off(label, &measured).map_err(|wrong| wrong.to_string())?;
    let at = |point: &FoundPoint| {
        FoundPoint::of_one(AxisPlace::at(point.x()), fit.r1_s.max(point.x() * fit.d_s) * 1e9)
    };
    let words = format!(
        "{label}: R1 {} s, D {} s a reader, full from {} readers; worst error {:.0} %",
        figures(fit.r1_s),
        figures(fit.d_s),
        figures(fit.knee_readers),
        fit.worst_error_percent
    );
    Ok(FitOfLine { fit: ChartFit { words, cost: None }, points: line.points.iter().map(at).collect() })
}
