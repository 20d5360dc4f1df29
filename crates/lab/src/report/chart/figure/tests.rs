//! Figures of rows that are made here: which lines, places and values they have, and what is said of what is left out.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::row::COMPLETED;
use crate::study::{Changes, Level};

const STUDY: &str = r#"
name = "s"
title = "t"
[factors]
request_size = ["64KiB", "1MiB"]
engine = ["uring", "inline"]
[[results]]
name = "time"
[[results]]
name = "bandwidth"
[[results]]
name = "cpu"
[job]
source = "null:1MiB"
target = "null:"
request_size = "{request_size}"
engine = "{engine}"
"#;

fn study(figure: &str) -> Study {
    let text = format!("{STUDY}\n[[figure]]\nname = \"f\"\ntitle = \"F\"\n{figure}\n");
    Study::parse("s.toml", &text, &Changes::default()).unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn row(levels: &[(&str, &str)], elapsed_ns: u64) -> Row {
    let level = |(name, level): &(&str, &str)| (name.to_string(), Level::from(*level));
    Row {
        study: "s".into(),
        asked: levels.iter().map(level).collect(),
        outcome: COMPLETED.into(),
        bytes: 1_000_000,
        requests: Some(100),
        elapsed_ns,
        user_ns: Some(elapsed_ns / 4),
        system_ns: Some(elapsed_ns / 4),
        build: "b".into(),
        ..Row::default()
    }
}

fn chart(figure: &str, rows: &[Row]) -> Chart {
    let study = study(figure);
    let rows: Vec<&Row> = rows.iter().collect();
    FigureOfStudy::new(&study.figures[0], Some(&study)).chart(&rows, TakenRows::default())
}

/// Two sizes and two engines, three runs of each.
fn rows() -> Vec<Row> {
    let cells = [("64KiB", "uring", 4), ("64KiB", "inline", 8), ("1MiB", "uring", 1), ("1MiB", "inline", 2)];
    let row = |(size, engine, ms): (&str, &str, u64), round: u64| {
        row(&[("request_size", size), ("engine", engine)], ms * 1_000_000 + round * 1000)
    };
    cells.iter().flat_map(|cell| (0..3).map(move |round| row(*cell, round))).collect()
}

fn values(chart: &Chart) -> Vec<(String, Vec<Option<f64>>)> {
    let rounded = |value: &Option<f64>| value.map(|value| (value * 100.0).round() / 100.0);
    chart.lines.iter().map(|line| (line.label.clone(), line.values.iter().map(rounded).collect())).collect()
}

#[test]
fn lines_are_medians_over_a_factor_one_for_each_other_level_in_the_studys_order() {
    let found = chart("x = \"request_size\"\ny = [\"time\"]", &rows());
    assert_eq!(found.xs, [65536.0, 1_048_576.0]);
    assert_eq!(
        (found.x_kind, found.x_label.as_str(), found.y_label.as_str()),
        ("bytes", "request size", "time, ms")
    );
    assert_eq!(
        values(&found),
        [
            ("engine uring".into(), vec![Some(4.0), Some(1.0)]),
            ("engine inline".into(), vec![Some(8.0), Some(2.0)])
        ]
    );
    assert!(found.is_log && !found.y_is_log);
}

#[test]
fn a_figure_takes_the_runs_that_it_names_and_no_failed_one() {
    let mut all = rows();
    all.push(Row { outcome: "io".into(), ..row(&[("request_size", "1MiB"), ("engine", "uring")], 1) });
    let found =
        chart("x = \"request_size\"\ny = [\"time\"]\nwhere = { engine = [\"uring\"] }\nlog = \"both\"", &all);
    assert_eq!(values(&found), [("time".into(), vec![Some(4.0), Some(1.0)])]);
    assert!(found.is_log && found.y_is_log);
}

#[test]
fn bars_have_names_and_parts_lie_upon_each_other() {
    let found = chart(
        "kind = \"bars\"\nx = \"engine\"\ny = [\"time\"]\nwhere = { request_size = [\"1MiB\"] }",
        &rows(),
    );
    assert_eq!(found.x_names, ["uring", "inline"], "in the study's order");
    assert_eq!(values(&found), [("time".into(), vec![Some(1.0), Some(2.0)])]);
    let parts = "kind = \"parts\"\nx = \"request_size\"\ny = [\n\
                 { name = \"u\", label = \"user\", unit = \"ns\", from = \"user_ns\", per = \"requests\" },\n\
                 { name = \"k\", label = \"kernel\", unit = \"ns\", from = \"system_ns\", per = \"requests\" },\n]";
    let found = chart(parts, &rows());
    assert_eq!(found.x_names, ["64KiB, uring", "64KiB, inline", "1MiB, uring", "1MiB, inline"]);
    let labels: Vec<&str> = found.lines.iter().map(|line| line.label.as_str()).collect();
    assert_eq!(labels, ["user", "kernel"]);
    assert_eq!(found.y_label, "µs");
    assert_eq!(values(&found)[0].1, [Some(10.0), Some(20.0), Some(2.5), Some(5.0)]);
}

#[test]
fn a_heat_map_has_a_row_for_each_level_of_its_series() {
    let found =
        chart("kind = \"heat\"\nx = \"request_size\"\ny = [\"time\"]\nseries = [\"engine\"]", &rows());
    assert_eq!(found.x_names, ["64KiB", "1MiB"]);
    let labels: Vec<&str> = found.lines.iter().map(|line| line.label.as_str()).collect();
    assert_eq!(labels, ["uring", "inline"]);
}

fn with_frames(elapsed_ns: u64) -> Row {
    let frames = json!([
        {"size": 64, "us": 10.0, "histogram": {"from_us": 1.0, "bin_us": 0.5, "counts": [1, 0, 2]}},
        {"size": 1024, "us": 20.0},
        {"size": 8972},
    ]);
    Row {
        achieved: BTreeMap::from([("frames".into(), frames)]),
        ..row(&[("request_size", "1MiB")], elapsed_ns)
    }
}

#[test]
fn lists_of_a_row_are_points_and_a_histogram_has_its_bins() {
    let field = |name: &str| {
        format!(
            "{{ name = \"{name}\", label = \"{name}\", unit = \"µs\", from = \"achieved.frames[*].{name}\" }}"
        )
    };
    let found =
        chart(&format!("x = {}\ny = [{}]", field("size"), field("us")), &[with_frames(1), with_frames(2)]);
    assert_eq!(found.xs, [64.0, 1024.0], "the last one has no value");
    assert_eq!(values(&found), [("us".into(), vec![Some(10.0), Some(20.0)])]);
    let bins = r#"kind = "histogram"
y = [{ name = "h", label = "h", unit = "µs", from = "achieved.frames[0].histogram" }]"#;
    let found = chart(bins, &[with_frames(1)]);
    assert_eq!(
        (&found.xs[..], &values(&found)[0].1[..]),
        (&[1.0, 1.5, 2.0][..], &[Some(1.0), Some(0.0), Some(2.0)][..])
    );
}

#[test]
fn a_distribution_rises_to_one() {
    let rows: Vec<Row> = (1..=4).map(|ms| row(&[("request_size", "1MiB")], ms * 1_000_000)).collect();
    let found = chart("kind = \"distribution\"\ny = [\"time\"]", &rows);
    assert_eq!(found.xs, [1.0, 2.0, 3.0, 4.0], "{found:?}");
    assert_eq!(values(&found)[0].1, [Some(0.25), Some(0.5), Some(0.75), Some(1.0)]);
    let many: Vec<Row> = (1..=5000).map(|us| row(&[("request_size", "1MiB")], us * 1000)).collect();
    let found = chart("kind = \"distribution\"\ny = [\"time\"]", &many);
    assert!(found.xs.len() <= 512 && found.xs.last() == Some(&5.0), "{}", found.xs.len());
}

#[test]
fn published_values_lie_beside_in_the_unit_of_the_axis() {
    let published = "x = \"request_size\"\ny = [\"cpu\"]\nwhere = { engine = [\"uring\"] }\nfit = \"cost\"\npublished = [\
                     { table = \"datapump_table1_disk_source.csv\", x = \"request_size_bytes\", \
                     y = \"observed_ns_per_byte\", label = \"p\" },\
                     { table = \"datapump_scalars.csv\", at = [65536], y = \"value\", label = \"s\", \
                     where = { quantity = \"null_pump_cost\" }, is_formula = true },\
                     ]";
    let found = chart(published, &rows());
    let origins: Vec<(LineOrigin, usize)> =
        found.lines.iter().map(|line| (line.origin, line.values.iter().flatten().count())).collect();
    let expected = [
        (LineOrigin::Measured, 2),
        (LineOrigin::Formula, 2),
        (LineOrigin::Published, 4),
        (LineOrigin::Formula, 1),
    ];
    assert_eq!(origins, expected, "measured, its fit, the table, the one value");
    assert_eq!(found.fits.len(), 1, "{:?}", found.notes);
    assert!(found.fits[0].words.contains("Cb "), "{:?}", found.fits);
    let at = found.xs.iter().position(|x| *x == 65536.0).expect("a place");
    assert_eq!(found.lines[2].values[at], Some(1.9));
    assert_eq!(found.lines[3].values[at], Some(20.0));
}

#[test]
fn rows_of_two_builds_are_in_no_figure_together_and_it_says_so() {
    let mut all = rows();
    all[0].build = "other".into();
    let found = chart("x = \"request_size\"\ny = [\"time\"]", &all);
    assert!(found.lines.is_empty(), "{found:?}");
    assert!(found.notes[0].contains("2 builds"), "{:?}", found.notes);
}

#[test]
fn a_study_says_what_is_wrong_with_a_figure() {
    for (figure, words) in [
        ("y = [\"time\"]", "x is not said"),
        ("x = \"engine\"\ny = []", "y is empty"),
        ("x = \"engine\"\ny = [\"speed\"]", "no result 'speed'"),
        ("x = \"time\"\ny = [\"time\"]\nkind = \"bars\"", "a factor as x"),
        ("x = \"engine\"\ny = [\"time\", \"bandwidth\"]", "in ns and in bytes/s"),
        ("x = \"request_size\"\ny = [\"time\"]\nfit = \"cost\"", "the fit is of values in ns/byte"),
        ("x = { name = \"f\", from = \"achieved.frames[*].size\" }\ny = [\"time\"]", "x is a list"),
        ("x = \"engine\"\ny = [{ name = \"f\", from = \"bytes\", per = \"[\" }]", "'[' is no field"),
        ("x = \"engine\"\ny = [\"time\"]\nkind = \"heat\"", "one factor in series"),
        ("y = [\"time\"]\nx = \"engine\"\nkind = \"histogram\"", "have no x"),
        ("x = \"engine\"\ny = [\"time\"]\nseries = [\"colour\"]", "no factor 'colour'"),
        (
            "x = \"engine\"\ny = [\"time\"]\npublished = [{ table = \"none.csv\", x = \"a\", y = \"b\", label = \"l\" }]",
            "none.csv",
        ),
        (
            "x = \"engine\"\ny = [\"time\"]\n\
             published = [{ table = \"ref_bdp.csv\", x = \"case\", y = \"speed\", label = \"l\" }]",
            "no column 'speed'",
        ),
        (
            "x = \"engine\"\ny = [\"time\"]\npublished = [{ table = \"ref_bdp.csv\", y = \"rtt_ms\", label = \"l\" }]",
            "either x or at",
        ),
    ] {
        let text = format!("{STUDY}\n[[figure]]\nname = \"f\"\ntitle = \"F\"\n{figure}\n");
        let wrong = Study::parse("s.toml", &text, &Changes::default()).expect_err(figure).to_string();
        assert!(wrong.contains(words), "{figure}: {wrong}");
    }
}
