//! The values of a chart as a table: for readers without a script, and to compute with.
//!
//! Must not know: how a chart is drawn.

use super::html::Html;
use crate::report::chart::Chart;
use crate::report::svg::labels::{bytes, figures};

/// More of them are in the rows.
const PLACES_MAX: usize = 2000;

/// The values of a chart.
pub fn of_chart(chart: &Chart) -> Html {
    let places: Vec<String> = if chart.x_names.is_empty() {
        chart.xs.iter().map(|x| place_words(chart, *x)).collect()
    } else {
        chart.x_names.clone()
    };
    let head: Vec<String> = [chart.x_label.clone()]
        .into_iter()
        .chain(chart.lines.iter().map(|line| line.label.clone()))
        .collect();
    let value = |value: Option<f64>| value.map_or(String::new(), figures);
    let row = |(at, place): (usize, &String)| {
        let values = chart.lines.iter().map(|line| value(line.values.get(at).copied().flatten()));
        [place.clone()].into_iter().chain(values).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> = places.iter().enumerate().take(PLACES_MAX).map(row).collect();
    let mut html = Html::default();
    html.table(&head, &rows);
    if places.len() > PLACES_MAX {
        html.paragraph(&format!("{} more places are in the rows.", places.len() - PLACES_MAX));
    }
    html
}

fn place_words(chart: &Chart, x: f64) -> String {
    if chart.x_kind == "bytes" { bytes(x, x.abs() / 1e3) } else { figures(x) }
}
