//! Statements about paths: spacing of datagrams, rounds of answers.

use std::collections::BTreeMap;

use datapump_lab::judge::frames::spacing_min_s;
use datapump_lab::judge::stats::median;
use datapump_lab::row::{Row, read_rows};

use super::kept;

fn asked(row: &Row, factor: &str) -> String {
    row.asked.get(factor).map(ToString::to_string).unwrap_or_default()
}

/// A number in what was achieved, by its names.
fn achieved(row: &Row, names: &[&str]) -> f64 {
    let mut value = &row.achieved[names[0]];
    names[1..].iter().for_each(|name| value = &value[*name]);
    value.as_f64().unwrap_or_else(|| panic!("{names:?}: {value}"))
}

const SIDES: [&str; 2] = ["sender", "receiver"];

/// One path and one spacing.
type Cell<'rows> = BTreeMap<(String, u32), Vec<&'rows Row>>;

fn median_of(rows: &[&Row], names: &[&str]) -> f64 {
    median(&rows.iter().map(|row| achieved(row, names)).collect::<Vec<_>>()).expect("runs")
}

/// From 20 us on the mean spacing is what was requested, to 2 %; no receiver has a higher rate than its sender; the rate that
/// arrives is in proportion to 1 / spacing above the path's minimum spacing, and level below it.
#[test]
fn s54_spacing_is_what_was_requested_and_sets_the_rate() {
    let all = read_rows(&kept("udp-spacing.jsonl")).expect("rows");
    let mut cells = Cell::new();
    for row in all.iter().filter(|row| row.is_completed()) {
        let spacing_us = asked(row, "spacing").trim_end_matches("us").parse().expect("microseconds");
        cells.entry((asked(row, "path"), spacing_us)).or_default().push(row);
    }
    assert_eq!(cells.len(), 18, "two paths, nine spacings");
    let minimum_us = spacing_min_s(1472, 1e9 / 8.0) * 1e6;
    let mut level = Vec::new();
    for ((path, spacing_us), rows) in &cells {
        let what = format!("{path}, {spacing_us} us");
        assert!(rows.len() >= 5, "{what}: {} runs", rows.len());
        let requested_us = f64::from(*spacing_us);
        for row in rows {
            assert!(achieved(row, &["unique"]) <= achieved(row, &["sent"]), "{what}");
            let [sent, received] = SIDES.map(|side| achieved(row, &[side, "wire_mbit_per_s"]));
            assert!(received <= sent, "{what}: {received} of {sent} Mbit/s");
            // A sender that was kept from its CPU for a millisecond says so, and its mean has that in it.
            if *spacing_us >= 20 && achieved(row, &["late_us"]) == 0.0 {
                let mean_us = achieved(row, &["spacing", "mean_us"]);
                assert!((mean_us / requested_us - 1.0).abs() <= 0.02, "{what}: {mean_us} us");
            }
        }
        let received = median_of(rows, &["receiver", "wire_mbit_per_s"]);
        if *spacing_us >= 20 {
            let mean_us = median_of(rows, &["spacing", "mean_us"]);
            assert!((mean_us / requested_us - 1.0).abs() <= 0.02, "{what}: {mean_us} us");
        }
        if requested_us > 1.2 * minimum_us {
            // Wire bytes of a frame of 1472: 1538. The queue of the path in a box loses up to 8 % at 20 us.
            let proportional = 1538.0 * 8.0 / requested_us;
            let tolerance = if path == "box" { 0.1 } else { 0.02 };
            assert!(
                (received / proportional - 1.0).abs() <= tolerance,
                "{what}: {received} of {proportional} Mbit/s"
            );
        } else if path == "box" && requested_us < minimum_us {
            level.push(received);
        }
    }
    // The line's 1000 Mbit/s, and what its bucket holds: 2 % of so short a run.
    let (least, most) =
        (level.iter().copied().fold(f64::MAX, f64::min), level.iter().copied().fold(0.0, f64::max));
    assert!(
        level.len() == 5 && most <= 1050.0 && most / least <= 1.3,
        "level below {minimum_us} us: {level:?}"
    );
}

/// Over a path of 20 ms Reno's first answers take the rounds of the closed form, give or take one; behind a pause with
/// reset as many as fresh, without reset two at most.
#[test]
fn s63_rounds_of_reno_are_those_of_the_table_give_or_take_one() {
    let all = read_rows(&kept("request-response-reno.jsonl")).expect("rows");
    let (mut fresh, mut reset, mut open) = (0, 0, 0);
    for row in all.iter().filter(|row| row.is_completed() && asked(row, "stack") == "reno") {
        let of = |name: &str| achieved(row, &[name]);
        let what = format!(
            "{:?}: {} rounds, {} stated, later {}",
            row.asked,
            of("first_rounds"),
            of("fresh_rounds"),
            of("later_rounds")
        );
        assert!((of("first_rounds") - of("fresh_rounds")).abs() <= 1.0, "{what}");
        fresh += 1;
        match (&*asked(row, "idle"), &*asked(row, "idle_reset")) {
            ("0s", _) => assert!(of("later_rounds") <= 2.0, "{what}"),
            (_, "1") => {
                reset += 1;
                assert!((of("later_rounds") - of("fresh_rounds")).abs() <= 1.0, "{what}");
            }
            _ => {
                open += 1;
                assert!(of("later_rounds") <= 2.0, "{what}");
            }
        }
    }
    assert!(fresh >= 40 && reset >= 3 && open >= 3, "{fresh} fresh, {reset} with reset, {open} without");
}
