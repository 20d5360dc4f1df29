//! A chart in words, for readers who do not see it.
//!
//! Must not know: how it is drawn.

use super::data::{DrawnChart, DrawnLine};
use super::labels::{self, cut, figures};
use crate::report::chart::{Chart, ChartKind};

/// The axes, the number of lines, the first, last, least and largest value of each, and the notes.
pub fn describe(chart: &Chart, drawn: &DrawnChart) -> String {
    let mut sentences = vec![axes(chart, drawn), format!("{} {}.", drawn.lines.len(), noun(drawn))];
    sentences.extend(drawn.lines.iter().enumerate().map(|(at, line)| of_line(drawn, line, at)));
    sentences.extend(drawn.notes.iter().map(|note| cut(note, 1000)));
    sentences.join(" ")
}

fn noun(drawn: &DrawnChart) -> &'static str {
    match (drawn.kind, drawn.lines.len()) {
        (ChartKind::Bars | ChartKind::Parts, 1) => "bar for each name",
        (ChartKind::Bars, _) => "bars for each name",
        (ChartKind::Parts, _) => "parts of each bar",
        (ChartKind::Heat, 1) => "row",
        (ChartKind::Heat, _) => "rows",
        (_, 1) => "line",
        _ => "lines",
    }
}

fn axes(chart: &Chart, drawn: &DrawnChart) -> String {
    let kind = match drawn.kind {
        ChartKind::Lines => "Lines",
        ChartKind::Bars => "Bars",
        ChartKind::Parts => "Bars in parts",
        ChartKind::Heat => "Heat map",
        ChartKind::Histogram => "Histogram",
        ChartKind::Distribution => "Distribution",
    };
    let named = |label: &str| match label {
        "" => "values".into(),
        label => cut(label, labels::LABEL_LETTERS_MAX),
    };
    let log = |is_log: bool| if is_log { ", logarithmic" } else { "" };
    let last = drawn.xs.len().saturating_sub(1);
    let across = match drawn.names.len() {
        0 => format!("from {} to {}", drawn.x_words(0), drawn.x_words(last)),
        1 => format!("1 name, {}", drawn.x_words(0)),
        count => format!("{count} names, {} to {}", drawn.x_words(0), drawn.x_words(last)),
    };
    let (low, high) = (drawn.upright.value(drawn.upright.low), drawn.upright.value(drawn.upright.high));
    let upright = if drawn.kind == ChartKind::Heat { "Colours" } else { "Upwards" };
    format!(
        "{kind}. To the right: {}, {across}{}. {upright}: {}, from {} to {}{}.",
        named(&chart.x_label),
        log(drawn.across.is_log()),
        named(&chart.y_label),
        drawn.upright.tick_label(low),
        drawn.upright.tick_label(high),
        log(drawn.upright.is_log())
    )
}

fn of_line(drawn: &DrawnChart, line: &DrawnLine, at: usize) -> String {
    let mut label = cut(&line.label, labels::LABEL_LETTERS_MAX);
    if label.is_empty() {
        label = format!("line {}", at + 1);
    }
    let origin = match labels::origin(line.origin) {
        "" => "measured",
        origin => origin,
    };
    let values: Vec<(usize, f64)> =
        line.values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    let value = |(at, value): (usize, f64)| format!("{} at {}", figures(value), drawn.x_words(at));
    let by_value = |one: &&(usize, f64), other: &&(usize, f64)| one.1.total_cmp(&other.1);
    let least = values.iter().rev().min_by(by_value);
    let largest = values.iter().rev().max_by(by_value);
    let named = [("first", values.first()), ("last", values.last()), ("least", least), ("largest", largest)];
    let named: Vec<String> = named
        .iter()
        .filter_map(|(name, point)| Some(format!("{name} {}", value(**point.as_ref()?))))
        .collect();
    format!("{label}, {origin}: {}.", named.join(", "))
}
