//! The models' fits of a study's rows: Cb and Cr with intervals, observed and predicted by request size; the level-off.
//!
//! Must not know: how a fit is made.

use super::chart::{Chart, ChartPoint};
use super::page::html::Html;
use crate::judge::cost::{self, CostFit, Figure, Fit, GroupFit};
use crate::report::figures::figures;
use crate::row::Row;

const COSTS: [&str; 9] = [
    "group",
    "points",
    "Cb ns/byte",
    "95 % interval",
    "Cr µs/request",
    "95 % interval",
    "worst error",
    "CPU time",
    "warning",
];
const SIZES: [&str; 6] =
    ["group", "request size", "n", "observed ns/byte", "predicted ns/byte", "relative error"];

/// Adds the fits if there are any, and gives their chart.
pub fn add(html: &mut Html, rows: &[Row]) -> Option<Chart> {
    let fits = cost::fit_rows(rows, cost::Model::Cost, false, None);
    let groups: Vec<(&GroupFit, &CostFit)> = fits.fits.iter().filter_map(of_cost).collect();
    if groups.is_empty() && fits.refused.is_empty() {
        return None;
    }
    html.heading(3, "What a byte and a request cost");
    html.paragraph("CPU time for a byte = Cb + Cr / request size, by least squares (crates/lab/MODEL.md).");
    if !groups.is_empty() {
        html.table(&COSTS, &groups.iter().map(|(group, fit)| cost_row(group, fit)).collect::<Vec<_>>());
        html.table(&SIZES, &groups.iter().flat_map(|(group, fit)| size_rows(group, fit)).collect::<Vec<_>>());
    }
    html.list(fits.refused.iter().map(|refused| format!("no fit of {}: {}", refused.group, refused.why)));
    let lines = groups.iter().flat_map(|(group, fit)| lines(group, fit)).collect();
    let chart = Chart::from_lines("CPU time for a byte and its fit", "request_size", "ns/byte", lines)?;
    Some(Chart { x_kind: "bytes", ..chart })
}

/// Adds the latency of many readers of one server, fitted.
pub fn add_level_off(html: &mut Html, rows: &[Row]) {
    let fits = cost::fit_rows(rows, cost::Model::LevelOff, false, None);
    html.heading(3, "Where the latency of many readers levels off");
    fits.fits.iter().for_each(|fit| html.lines(&fit.to_string()));
    html.list(fits.refused.iter().map(|refused| format!("no fit of {}: {}", refused.group, refused.why)));
}

fn of_cost(group: &GroupFit) -> Option<(&GroupFit, &CostFit)> {
    match &group.fit {
        Fit::Cost(fit) => Some((group, fit)),
        Fit::LevelOff(_) => None,
    }
}

fn cost_row(group: &GroupFit, fit: &CostFit) -> Vec<String> {
    let interval = |figure: &Figure| format!("{} .. {}", figures(figure.low), figures(figure.high));
    let (cb, cr) = (&fit.cb_ns_per_byte, &fit.cr_us_per_request);
    vec![
        group.name(),
        fit.points.to_string(),
        figures(cb.value),
        interval(cb),
        figures(cr.value),
        interval(cr),
        fit.worst_relative_error_percent.map_or(String::new(), |worst| format!("{worst:.1} %")),
        group.cpu_by.map_or(String::new(), |by| by.words().to_string()),
        fit.warning.clone().unwrap_or_default(),
    ]
}

fn size_rows(group: &GroupFit, fit: &CostFit) -> Vec<Vec<String>> {
    let row = |size: &cost::SizeResult| {
        vec![
            group.name(),
            datapump::units::bytes_words(size.request_size_bytes as u64),
            size.n.to_string(),
            figures(size.observed_ns_per_byte),
            figures(size.predicted_ns_per_byte),
            size.relative_error_percent.map_or("-".into(), |error| format!("{error:+.1} %")),
        ]
    };
    fit.sizes.iter().map(row).collect()
}

fn lines(group: &GroupFit, fit: &CostFit) -> [(String, Vec<ChartPoint>); 2] {
    let point = |x, y| ChartPoint { x, y, interval: None };
    let observed = fit.sizes.iter().map(|it| point(it.request_size_bytes, it.observed_ns_per_byte));
    let predicted = fit.sizes.iter().map(|it| point(it.request_size_bytes, it.predicted_ns_per_byte));
    let name = group.name();
    [(format!("{name}: observed"), observed.collect()), (format!("{name}: predicted"), predicted.collect())]
}
