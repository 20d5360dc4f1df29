//! Applications whose overhead is known.

use super::*;
use crate::row::COMPLETED;
use datapump_netlab::congestion::with_overhead_bytes_per_s;

const MBIT: f64 = 125e3;

fn row(command: &str, size: u64, bytes_per_s: f64) -> Row {
    let asked =
        [("command", Level::from(command)), ("size", Level::Number(size as i64)), ("stack", "reno".into())];
    Row {
        asked: asked.map(|(name, level)| (name.to_string(), level)).into(),
        achieved: [(RATE.to_string(), Value::from(bytes_per_s))].into(),
        outcome: COMPLETED.into(),
        ..Row::default()
    }
}

/// Rows of an application that needs so long besides, at this rate; each size three times, a little apart.
fn rows(command: &str, overhead_s: f64, rate: f64) -> Vec<Row> {
    let sizes = [500_000_000_u64, 2_000_000_000];
    let errors_s = [-0.01, 0.0, 0.01];
    let each = |size: u64, error: f64| {
        row(command, size, with_overhead_bytes_per_s(size as f64, rate * MBIT, overhead_s + error))
    };
    sizes.iter().flat_map(|size| errors_s.map(|error| each(*size, error))).collect()
}

fn one<'cells>(cells: &'cells [ApplicationCell], command: &str) -> &'cells ApplicationCell {
    cells.iter().find(|cell| cell.command == command).expect(command)
}

/// The slides' 4.5 s, from two sizes: what is fitted turns 825 into 669.6 Mbit/s.
#[test]
fn s66_the_fixed_time_is_fitted_from_two_sizes() {
    for (rate, with) in [(825.0, 669.6), (875.0, 702.2)] {
        let cells = cells_of(&rows("bbcp", 4.5, rate));
        let [cell] = &cells[..] else { panic!("one cell: {cells:?}") };
        let (overhead_s, fitted) = cell.overhead_s.zip(cell.rate_bytes_per_s).expect("two sizes");
        assert!((overhead_s - 4.5).abs() < 1e-6, "{overhead_s}");
        assert!((with_overhead_bytes_per_s(2e9, fitted, overhead_s) / MBIT - with).abs() < 0.1, "{fitted}");
        let [low, high] = cell.overhead_s_interval.expect("six runs");
        assert!(low < 4.5 && 4.5 < high && high - low < 0.1, "{low} to {high}");
        let [_, large] = &cell.sizes[..] else { panic!("two sizes") };
        assert!(large.n == 3 && large.min_bytes_per_s < large.max_bytes_per_s, "{large:?}");
    }
}

#[test]
fn s66_an_application_stands_beside_the_fastest_probe_of_its_path() {
    let all =
        [rows("iperf3", 0.0, 900.0), rows("iperf3-streams", 0.0, 940.0), rows("scp", 1.0, 400.0)].concat();
    let cells = cells_of(&all);
    let scp = one(&cells, "scp");
    let share = scp.share_of_probe.expect("there is a probe");
    assert!((share - 2e9 / (2e9 / (400.0 * MBIT) + 1.0) / (940.0 * MBIT)).abs() < 1e-3, "{share}");
    assert_eq!((scp.beside_probe, one(&cells, "iperf3").beside_probe), (Some(IntervalVerdict::Below), None));
    let faster = cells_of(&[rows("iperf3", 0.0, 900.0), rows("rclone", 0.0, 1200.0)].concat());
    assert_eq!(one(&faster, "rclone").beside_probe, Some(IntervalVerdict::Above));
    assert!(applications_words(&faster).contains("above the probe"));
}

#[test]
fn a_run_without_a_rate_has_a_reason() {
    let mut missing = row("rclone", 500_000_000, 1.0);
    (missing.outcome, missing.message) = ("missing".into(), Some("rclone is not installed".into()));
    let cells = cells_of(&[rows("scp", 1.0, 400.0), vec![missing]].concat());
    let rclone = one(&cells, "rclone");
    assert!(rclone.sizes.is_empty() && rclone.overhead_s.is_none(), "{rclone:?}");
    assert!(applications_words(&cells).contains("rclone: no rate\n    missing: rclone is not installed"));
}

#[test]
fn one_size_or_rates_that_grow_like_sizes_have_no_line() {
    let small: Vec<Row> = rows("scp", 1.0, 400.0).into_iter().take(3).collect();
    assert_eq!(cells_of(&small)[0].overhead_s, None);
    let same_time = [row("scp", 1000, 1000.0), row("scp", 2000, 2000.0)];
    assert_eq!(cells_of(&same_time)[0].overhead_s, None);
    // Without a rate of its own, the time of the whole command counts.
    let whole = Row { achieved: BTreeMap::new(), elapsed_ns: 2_000_000_000, ..row("scp", 1000, 0.0) };
    assert_eq!(cells_of(&[whole])[0].sizes[0].max_bytes_per_s, 500.0);
}
