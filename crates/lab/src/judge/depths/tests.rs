//! Fixed and dynamic depth against the reference table (statements S13, S14), and tables that are not in order.

use super::*;

/// The columns of results in the reference, by name.
fn expected(column: &str) -> Vec<f64> {
    let mut lines = REFERENCE.lines();
    let header = lines.next().expect("a header");
    let place = header.split(',').position(|name| name == column).expect(column);
    lines.map(|line| line.split(',').nth(place).and_then(|cell| cell.parse().ok()).expect(line)).collect()
}

fn reference() -> Vec<DepthOutcome> {
    simulate(None).expect("in order")
}

#[test]
fn s13_every_row_of_the_reference_table_is_reproduced() {
    let outcomes = reference();
    assert_eq!(outcomes.len(), 12);
    for (column, value) in [
        ("elapsed_s", (|it| it.elapsed_s) as fn(&DepthOutcome) -> f64),
        ("full_swings", |it| it.full_swings as f64),
        ("source_depth_min", |it| it.source_depth_min.into()),
        ("source_depth_max", |it| it.source_depth_max.into()),
    ] {
        let ours: Vec<f64> = outcomes.iter().map(value).collect();
        assert_eq!(ours, expected(column), "{column}");
    }
    for (row, (ours, table)) in outcomes.iter().zip(expected("elapsed_relative_to_fixed")).enumerate() {
        let error = (ours.elapsed_relative_to_fixed / table - 1.0).abs();
        assert!(error < 1e-8, "row {row}: {} against {table}", ours.elapsed_relative_to_fixed);
    }
}

#[test]
fn s14_who_grabs_all_swings_at_every_decision_and_who_takes_one_buffer_does_not() {
    for it in reference() {
        let ratio = it.elapsed_relative_to_fixed;
        match (it.decision_period_requests, it.step_buffers) {
            (0, _) => {
                assert_eq!((ratio, it.changes), (1.0, 0), "{it:?}");
                assert_eq!(it.source_depth_trace, [it.pool_buffers / 2]);
            }
            (16, step) => {
                assert!(step >= it.pool_buffers && ratio >= 1.5 && it.oscillates, "{it:?}");
                assert_eq!((it.full_swings, it.decisions), (it.requests / 16, it.requests / 16), "{it:?}");
            }
            (_, step) => {
                let unequal = it.source_latency_us == 10 * it.sink_latency_us;
                assert!(step == 1 && it.full_swings <= 1 && !it.oscillates, "{it:?}");
                assert_eq!((0.66..0.73).contains(&ratio), unequal, "{it:?}");
            }
        }
    }
}

/// Depths always share the pool, whatever the rule: no end has less than one buffer.
#[test]
fn depths_stay_within_the_pool() {
    let device = |latency_us, transfer_us| DepthDevice { latency_us, transfer_us };
    for pool_buffers in [2, 3, 5, 64] {
        for (source, sink) in
            [(device(0, 0), device(0, 0)), (device(7, 3), device(900, 1)), (device(9, 9), device(0, 1))]
        {
            for step_buffers in [1, 2, 200] {
                let (requests, decision_period_requests) = (500, 3);
                let case = DepthCase {
                    pool_buffers,
                    source,
                    sink,
                    requests,
                    decision_period_requests,
                    step_buffers,
                };
                let it = outcome(&case);
                assert!(it.source_depth_min >= 1 && it.source_depth_max < pool_buffers, "{it:?}");
                assert!(it.source_depth_trace.len() <= TRACE_DEPTHS && it.changes <= it.decisions, "{it:?}");
                let slowest_us = source.transfer_us.max(sink.transfer_us) * requests;
                assert!(it.elapsed_s * 1e6 >= slowest_us as f64, "{it:?}");
            }
        }
    }
}

#[test]
fn the_conclusions_say_what_speaks_for_each_side() {
    let said = conclusions(&reference()).join("\n");
    for words in [
        "3 dynamic rules swing from one end of the range to the other: 1.81 to 3.50 times",
        "6 dynamic rules do not: 0.66 to 1.33 times",
        "latencies of 10000 and 1000 us, a step of 1 and a decision every 8 writes: 0.66 of the time",
        "6 buffers for the source and 2 for the sink, fixed, need 0.67",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let fixed: Vec<DepthOutcome> =
        reference().into_iter().filter(|it| it.decision_period_requests == 0).collect();
    assert_eq!(conclusions(&fixed), [""; 0]);
}

#[test]
fn a_table_that_is_not_in_order_names_its_line_and_what_to_write() {
    let header = REFERENCE
        .lines()
        .next()
        .expect("a header")
        .replace(",elapsed_s", "")
        .replace(",elapsed_relative_to_fixed,full_swings,source_depth_min,source_depth_max", "");
    for (text, words) in [
        (
            header.replace("sink_latency_us", "sink_latency") + "\n8,1,1,1,1,9,0,0",
            "line 1: no column `sink_latency_us`",
        ),
        (
            format!("{header}\n8,1,1,1,1,9,0,0\n1,1,1,1,1,9,0,0"),
            "line 3: `pool_buffers` must be a whole number from 2",
        ),
        (
            format!("{header}\n8,1,1,1,1,0,0,0"),
            "line 2: `requests` must be a whole number from 1 to 10000000",
        ),
        (format!("{header}\n8,5ms,1,1,1,9,0,0"), "line 2: `source_latency_us` must be a number, not '5ms'"),
        (format!("{header}\n8,1,1,1,1,9,4,0"), "write 1 or more, or a `decision_period_requests` of 0"),
    ] {
        let table = CsvTable::parse(Path::new("t.csv"), text.as_bytes()).expect("a table");
        let error = outcomes(&table).expect_err(words).to_string();
        assert!(error.starts_with("t.csv, line ") && error.contains(words), "{error}");
    }
}
