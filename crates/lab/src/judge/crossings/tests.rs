//! Ways whose rates and CPU times are known.

use super::*;
use crate::row::COMPLETED;

const BYTES: u64 = 1 << 30;

/// Three runs of a way, one hundredth apart.
fn runs(way: &str, (moves, crossings): (&str, u64), bytes_per_second: f64, cpu_ns_per_byte: f64) -> Vec<Row> {
    let run = |factor: f64| Row {
        asked: [
            (COMMAND.to_string(), Level::from(way)),
            (USE.to_string(), Level::from(moves)),
            (CROSSINGS.to_string(), Level::from(crossings.to_string().as_str())),
        ]
        .into(),
        outcome: COMPLETED.into(),
        bytes: BYTES,
        elapsed_ns: (BYTES as f64 * 1e9 / (bytes_per_second * factor)) as u64,
        user_ns: Some(0),
        system_ns: Some((BYTES as f64 * cpu_ns_per_byte * factor) as u64),
        ..Row::default()
    };
    [0.99, 1.0, 1.01].map(run).into()
}

fn ways(rows: &[Vec<Row>]) -> Vec<CrossingWay> {
    ways_of(&rows.concat()).expect("memory was copied")
}

#[test]
fn s58_a_ceiling_is_the_memorys_bandwidth_over_the_crossings() {
    let ways = ways(&[
        runs("memory", ("memory", 2), 8e9, 0.2),
        runs("buffered", ("copy", 4), 3e9, 0.8),
        runs("direct", ("copy", 2), 3.5e9, 0.1),
    ]);
    let ceilings: Vec<(String, f64)> =
        ways.iter().map(|way| (way.way.clone(), (way.ceiling_bytes_per_second / 1e9).round())).collect();
    let named = |name: &str, ceiling: f64| (name.to_string(), ceiling);
    assert_eq!(ceilings, [named("buffered", 4.0), named("direct", 8.0), named("memory", 8.0)]);
    assert!(ways.iter().all(|way| way.beside_ceiling != IntervalVerdict::Above), "{ways:?}");
    assert_eq!(ways[1].cpu_beside_more, [("buffered".to_string(), IntervalVerdict::Below)].into());
    assert!(ways[0].cpu_beside_more.is_empty() && ways[2].cpu_beside_more.is_empty());
}

#[test]
fn what_must_not_be_is_told() {
    let ways = ways(&[
        runs("memory", ("memory", 2), 8e9, 0.2),
        runs("buffered", ("copy", 4), 5e9, 0.8),
        runs("direct", ("copy", 2), 3.5e9, 0.9),
        runs("read", ("read", 1), 3.5e9, 2.0),
    ]);
    assert_eq!(ways[0].beside_ceiling, IntervalVerdict::Above);
    assert_eq!(ways[1].cpu_beside_more["buffered"], IntervalVerdict::Above);
    assert!(ways[3].cpu_beside_more.is_empty(), "another use is not compared: {ways:?}");
    let text = crossings_words(&ways);
    assert!(text.contains("above the ceiling") && text.contains("above that of buffered"), "{text}");
}

#[test]
fn a_copy_whose_blocks_are_shared_crosses_nothing() {
    let shared = runs("in-kernel", ("copy", 2), 1e12, 0.001).into_iter();
    let shared = shared.map(|row| Row { achieved: [("reflink".into(), "always".into())].into(), ..row });
    let ways = ways(&[runs("memory", ("memory", 2), 8e9, 0.2), shared.collect()]);
    assert_eq!(ways.len(), 1, "{ways:?}");
}

#[test]
fn one_run_is_no_verdict() {
    let once = |way, crossings| runs(way, ("copy", crossings), 9e9, 0.2)[..1].to_vec();
    let ways = ways(&[runs("memory", ("memory", 2), 8e9, 0.2), once("buffered", 4), once("direct", 2)]);
    assert_eq!(ways[0].beside_ceiling, IntervalVerdict::TooFewRuns);
    let text = crossings_words(&ways);
    assert!(text.contains("n = 1: of too few runs to be judged beside the ceiling"), "{text}");
}

#[test]
fn without_a_copy_of_memory_there_is_no_ceiling() {
    let rows = runs("direct", ("copy", 2), 3.5e9, 0.1);
    assert!(ways_of(&rows).is_err_and(|words| words.contains("crossings")));
}

#[test]
fn the_cpu_time_of_all_ways_is_of_one_measure() {
    let both = |way: &str, of: (&str, u64)| {
        let soaked =
            runs(way, of, 4e9, 0.2).into_iter().map(|row| Row { soaked_ns: Some(0), cpus: 1, ..row });
        [runs(way, of, 4e9, 0.2), soaked.collect()].concat()
    };
    for (direct, by) in [
        (both("direct", ("copy", 2)), CpuBy::Soaker),
        (runs("direct", ("copy", 2), 4e9, 0.2), CpuBy::Process),
    ] {
        let ways = ways(&[both("memory", ("memory", 2)), direct]);
        assert_eq!(ways.iter().map(|way| way.cpu_by).collect::<Vec<_>>(), [by, by]);
        assert!(crossings_words(&ways).contains(by.words()));
    }
}
