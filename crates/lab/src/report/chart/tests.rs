//! Which charts a study has, and that their series are in order.

use std::collections::BTreeMap;

use super::*;
use crate::report::summary::Summary;
use crate::row::{COMPLETED, Row};
use crate::study::results::usual;
use crate::study::{Level, StudyResult};

/// Rows of cells with these levels, five rounds of each.
fn charts(cells: &[&[(&str, &str)]]) -> Vec<Chart> {
    let row = |levels: &[(&str, &str)], repeat: u32| Row {
        v: 1,
        study: "copies".into(),
        asked: levels
            .iter()
            .map(|(name, level)| (name.to_string(), Level::from(*level)))
            .collect::<BTreeMap<_, _>>(),
        repeat,
        outcome: COMPLETED.into(),
        bytes: 1 << 30,
        elapsed_ns: 1_000_000_000 + u64::from(repeat) * 1_000_000,
        user_ns: Some(1 << 29),
        system_ns: Some(1 << 29),
        ..Row::default()
    };
    let rows = cells.iter().flat_map(|levels| (0..5).map(|repeat| row(levels, repeat))).collect();
    of_study(&Summary::from_rows(&[rows]).studies[0])
}

#[test]
fn a_factor_of_numbers_has_a_line_for_each_other_cell() {
    let found = charts(&[
        &[("request_size", "1MiB"), ("engine", "uring")],
        &[("request_size", "64KiB"), ("engine", "uring")],
        &[("request_size", "64KiB"), ("engine", "inline")],
    ]);
    let titles: Vec<&str> = found.iter().map(|chart| chart.title.as_str()).collect();
    assert_eq!(titles, ["bandwidth against request_size", "CPU time for a byte against request_size"]);
    let chart = &found[0];
    assert_eq!((chart.x_kind, chart.is_log, &chart.xs), ("bytes", true, &vec![65_536.0, 1_048_576.0]));
    let labels: Vec<&str> = chart.lines.iter().map(|line| line.label.as_str()).collect();
    assert_eq!(labels, ["engine inline", "engine uring"]);
    assert_eq!(chart.lines[0].values[1], None, "it was not run");
    assert_eq!(found[1].lines[1].values, [Some(1.0), Some(1.0)], "1 GiB of nanoseconds for 1 GiB");
    for line in found.iter().flat_map(|chart| &chart.lines) {
        assert_eq!((line.values.len(), line.lows.len(), line.highs.len()), (2, 2, 2), "equal lengths");
        let ordered = line.lows.iter().zip(&line.values).zip(&line.highs);
        assert!(ordered.flat_map(|((low, it), high)| [low <= it, it <= high]).all(|it| it));
    }
}

#[test]
fn what_is_not_numeric_or_not_varied_has_no_chart() {
    for cells in [
        &[&[("command", "cp")][..], &[("command", "pump")]][..],
        &[&[("depth", "1")]],
        &[&[("depth", "1")], &[("depth", "auto")]],
        &[&[("rate", "nan")], &[("rate", "inf")]],
    ] {
        assert_eq!(charts(cells), [], "{cells:?}");
    }
}

#[test]
fn soaked_runs_are_not_in_the_bandwidth() {
    let found = charts(&[
        &[("depth", "1"), ("soaker", "off")],
        &[("depth", "2"), ("soaker", "off")],
        &[("depth", "2"), ("soaker", "on")],
    ]);
    assert_eq!((found[0].lines.len(), found[0].is_log), (1, false));
    assert_eq!(found[0].lines[0].label, "soaker off");
}

#[test]
fn results_by_the_soaker_are_of_soaked_runs() {
    let usual = usual();
    let by_soaker = usual.iter().filter(|result| is_by_soaker(result)).map(|result| result.name.as_str());
    assert_eq!(by_soaker.collect::<Vec<_>>(), ["soaker_cpu", "soaker_request_cpu"]);
    let remaining = StudyResult { from: "remaining_cpu_ns".into(), ..usual[0].clone() };
    assert!(is_by_soaker(&remaining) && !is_by_soaker(&usual[0]));
}

#[test]
fn lines_that_are_too_many_are_left_out_and_told() {
    let points = |x: f64| ChartPoint { x, y: 1.0, interval: None };
    let lines = (0..LINES_MAX + 3).map(|at| (at.to_string(), vec![points(0.0), points(1.0)])).collect();
    let chart = Chart::from_lines("t", "x", "y", lines).expect("a chart");
    assert_eq!((chart.lines.len(), chart.left_out), (LINES_MAX, 3));
    assert_eq!(
        Chart::from_lines(
            "t",
            "x",
            "y",
            vec![("nan".into(), vec![ChartPoint { y: f64::NAN, ..points(1.0) }])]
        ),
        None
    );
}
