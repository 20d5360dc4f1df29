//! Statements S59 to S64 of the science reference.

use super::*;
use crate::losses::{LossRule, Losses};

/// 1 Gbit/s in bytes, and a Mbit/s.
const GBIT: f64 = 125e6;
const MBIT: f64 = 125e3;

fn response(stack: Stack, loss: f64) -> ResponseOutcome {
    let case = ResponseCase { stack, loss, rtt_s: 0.12, segment_bytes: 1500.0 };
    simulate_response(&case).expect("a loss rate")
}

fn recovery(stack: Stack, rate_bytes_per_s: f64, rtt_s: f64) -> RecoveryOutcome {
    let case = RecoveryCase { stack, rate_bytes_per_s, rtt_s, segment_bytes: 1500.0, is_delayed: false };
    simulate_recovery(&case).expect("a path")
}

fn near(got: f64, expected: f64, tolerance: f64, what: &str) {
    let off = (got / expected - 1.0).abs();
    assert!(off <= tolerance, "{what}: {got} for {expected}, off by {off:.2e} of {tolerance:.0e}");
}

#[test]
fn s60_the_mean_window_of_a_cycle_is_that_of_the_response_function() {
    for exponent in 3..=7 {
        let loss = 10_f64.powi(-exponent);
        for (stack, tolerance) in [(Stack::Reno, 0.03), (Stack::HighSpeed, 0.06), (Stack::Scalable, 0.01)] {
            let it = response(stack, loss);
            near(
                it.mean_window_segments,
                it.formula_window_segments,
                tolerance,
                &format!("{stack:?} {loss}"),
            );
        }
        near(response(Stack::Scalable, loss).peak_window_segments, 0.08 / loss, 0.01, "Scalable's peak");
    }
    // Where it is faster than Reno.
    let it = response(Stack::Cubic, 1e-6);
    near(it.mean_window_segments, it.formula_window_segments, 0.05, "CUBIC");
}

#[test]
fn s61_recovery_takes_the_time_of_the_formulas_within_a_round_trip() {
    for (stack, rate, rtt_s, expected_s) in [
        (Stack::Reno, GBIT, 0.0062, 1.6017),
        (Stack::Reno, GBIT, 0.128, 682.667),
        (Stack::HighSpeed, 100.0 * MBIT, 0.2, 10.8),
        (Stack::HighSpeed, GBIT, 0.02, 1.08),
        (Stack::Scalable, GBIT, 0.0062, 0.0868),
        (Stack::Scalable, GBIT, 0.2, 2.8),
    ] {
        let got = recovery(stack, rate, rtt_s).recovery_s;
        assert!((got - expected_s).abs() <= rtt_s, "{stack:?} {rate} {rtt_s}: {got} for {expected_s}");
    }
    let [reno, highspeed, scalable] =
        [Stack::Reno, Stack::HighSpeed, Stack::Scalable].map(|stack| recovery(stack, GBIT, 0.128).recovery_s);
    near(reno / highspeed, 68.0, 0.03, "HighSpeed");
    near(reno / scalable, 380.0, 0.06, "Scalable");
    // By the table, and by the formulas.
    near(recovery(Stack::HighSpeedTable, 50.0 * MBIT, 0.06).recovery_s, 1.8, 0.04, "the kernel's table");
    near(recovery(Stack::HighSpeed, 50.0 * MBIT, 0.06).recovery_s, 2.2, 0.04, "the formulas");
}

#[test]
fn s61_a_receiver_that_acknowledges_every_second_segment_doubles_renos_time() {
    let case = RecoveryCase {
        stack: Stack::Reno,
        rate_bytes_per_s: GBIT,
        rtt_s: 0.0062,
        segment_bytes: 1500.0,
        is_delayed: true,
    };
    near(simulate_recovery(&case).expect("a path").recovery_s, 3.2033, 0.01, "delayed");
}

fn path(stack: Stack, rate_bytes_per_s: f64, rtt_s: f64, duration_s: f64, ends: PathEnds) -> PathOutcome {
    let case = PathCase { stack, rate_bytes_per_s, rtt_s, duration_s, loss: LossRule::None, seed: 1, ends };
    simulate_path(&case, 100).expect("a path")
}

#[test]
fn s62_a_buffer_below_what_the_path_holds_limits_the_rate() {
    let rtt_s = 0.02;
    let needed = buffer_needed_bytes(GBIT, rtt_s);
    for part in [0.1, 0.5, 0.9, 1.0, 2.0] {
        let ends = PathEnds { buffer_bytes: Some(needed * part), ..PathEnds::default() };
        let series = path(Stack::Reno, GBIT, rtt_s, 4.0, ends).series;
        let expected = limited_by_buffer_bytes_per_s(GBIT, rtt_s, needed * part);
        near(series[99].bandwidth_bytes_per_s, expected, 0.02, &format!("{part} of what is needed"));
    }
}

#[test]
fn s64_equal_flows_share_equally_and_a_shorter_path_has_more() {
    let sharing = |flows: &[(Stack, f64)], is_common| {
        simulate_sharing(&SharingCase {
            flows: flows.to_vec(),
            rate_bytes_per_s: 100.0 * MBIT,
            duration_s: 60.0,
            loss: LossRule::None,
            seed: 1,
            is_common,
            is_staged: false,
            ends: PathEnds::default(),
        })
        .expect("flows")
    };
    let equal = sharing(&[(Stack::Reno, 0.02), (Stack::Reno, 0.02)], true);
    assert!(equal.jain.is_some_and(|jain| jain >= 0.95), "{equal:?}");
    let unequal = sharing(&[(Stack::Reno, 0.01), (Stack::Reno, 0.08)], true);
    assert!(unequal.rates[0] > unequal.rates[1], "{unequal:?}");
}

/// Flows that begin together are equal by symmetry.
#[test]
fn s64_a_flow_that_comes_late_gets_its_share() {
    let ends = PathEnds::default();
    let member = |from_s| network::Member::new(ends.flow(Stack::Reno), 0.02, from_s, f64::INFINITY);
    let link = ends.bottleneck(100.0 * MBIT, 0.02);
    let mut network =
        network::SharedPath::new(link, vec![member(0.0), member(15.0)], Losses::new(LossRule::None, 1));
    network.is_common = true;
    network.run(60.0);
    let before: Vec<u64> = network.members.iter().map(|it| it.flow.delivered).collect();
    assert!(2 * before[0] > 3 * before[1], "{before:?}");
    network.run(90.0);
    let rates =
        std::iter::zip(&network.members, before).map(|(it, before)| (it.flow.delivered - before) as f64);
    let rates: Vec<f64> = rates.collect();
    assert!(jain_index(&rates).is_some_and(|jain| jain >= 0.95), "{rates:?}");
}

#[test]
fn a_window_beyond_the_table_still_loses_and_settles() {
    let it = recovery(Stack::HighSpeed, 100.0 * GBIT, 0.1);
    assert!(it.window_after_loss_segments < 0.95 * it.full_window_segments && it.recovery_s > 0.1, "{it:?}");
    let it = response(Stack::HighSpeed, 1e-8);
    assert!(it.least_window_segments < it.peak_window_segments, "{it:?}");
}

#[test]
fn a_staged_run_has_seven_regions_for_four_flows() {
    let it = simulate_sharing(&SharingCase {
        flows: vec![(Stack::Cubic, 0.02); 4],
        rate_bytes_per_s: 100.0 * MBIT,
        duration_s: 70.0,
        loss: LossRule::None,
        seed: 1,
        is_common: false,
        is_staged: true,
        ends: PathEnds::default(),
    })
    .expect("flows");
    let there: Vec<u32> = it.regions.iter().map(|region| region.flows).collect();
    assert_eq!(there, [1, 2, 3, 4, 3, 2, 1]);
    let busy = it.regions.iter().all(|region| region.share_of_link > 0.8 && region.share_of_link <= 1.01);
    assert!(busy, "{:?}", it.regions);
}

#[test]
fn a_path_without_losses_is_filled_by_every_stack() {
    for stack in Stack::ALL {
        let it = path(stack, 100.0 * MBIT, 0.05, 60.0, PathEnds::default());
        assert!((0.85..=1.001).contains(&it.share_of_link), "{stack:?}: {}", it.share_of_link);
        let ends = PathEnds { is_selective: false, ..PathEnds::default() };
        let without = path(stack, 100.0 * MBIT, 0.05, 60.0, ends);
        assert!(without.share_of_link <= it.share_of_link + 0.01, "{stack:?}: {}", without.share_of_link);
    }
}

#[test]
fn on_a_path_with_losses_a_window_is_what_the_response_function_says() {
    for stack in [Stack::Reno, Stack::HighSpeed, Stack::Scalable] {
        let case = PathCase {
            stack,
            // More than the window fills.
            rate_bytes_per_s: 10.0 * GBIT,
            rtt_s: 0.05,
            duration_s: 400.0,
            loss: LossRule::Every(10_000),
            seed: 1,
            ends: PathEnds::default(),
        };
        let it = simulate_path(&case, 1000).expect("a path");
        let window = it.bandwidth_bytes_per_s * case.rtt_s / 1500.0;
        // The round trip in which the loss is repaired does not grow.
        near(window, response(stack, 1e-4).mean_window_segments, 0.08, stack.as_str());
    }
}

#[test]
fn equal_seeds_give_equal_runs_and_nothing_is_lost_on_the_way() {
    let run = |seed| {
        let case = PathCase {
            stack: Stack::Cubic,
            // More than the window fills: the queue drops nothing.
            rate_bytes_per_s: GBIT,
            rtt_s: 0.03,
            duration_s: 30.0,
            loss: LossRule::Chance(1e-3),
            seed,
            ends: PathEnds::default(),
        };
        simulate_path(&case, 30).expect("a path")
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).losses, run(8).losses);
    near(run(7).losses as f64 / (run(7).delivered_bytes as f64 / 1500.0), 1e-3, 0.25, "losses");
}

#[test]
fn forms_give_what_the_slides_and_tables_say() {
    assert_eq!(slow_start_rounds(1_000_000, 10, false), 7);
    assert_eq!(slow_start_rounds(1_000_000, 2, true), 13);
    assert_eq!(slow_start_rounds(1, 10, false), 1);
    assert_eq!(jain_index(&[100.0; 4]), Some(1.0));
    assert_eq!(jain_index(&[400.0, 0.0, 0.0, 0.0]), Some(0.25));
    assert_eq!(jain_index(&[0.0, 0.0]), None);
    // 120 Mbit/s at 20 ms need 300 KB; 22 MB at 177 ms are 994 Mbit/s.
    near(buffer_needed_bytes(120.0 * MBIT, 0.02), 300e3, 1e-12, "buffer");
    near(limited_by_buffer_bytes_per_s(10.0 * GBIT, 0.177, 22e6) / MBIT, 994.35, 1e-4, "rate");
    near(with_overhead_bytes_per_s(2e9, 825.0 * MBIT, 4.5) / MBIT, 669.6, 1e-4, "825 Mbit/s");
    near(with_overhead_bytes_per_s(2e9, 875.0 * MBIT, 4.5) / MBIT, 702.2, 1e-4, "875 Mbit/s");
}

/// Answers of the table over a path that carries them at once: Reno's rounds are those of the closed form, give or
/// take one. Not from a window of 1: there a delayed acknowledgement waits for its timer, which the simulator has not.
#[test]
fn s63_the_rounds_of_an_answer_over_a_simulated_path_are_those_of_the_table() {
    let table =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/golden/ref_slow_start.csv"))
            .expect("the table");
    let rows: Vec<Vec<u64>> = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').map_while(|cell| cell.parse().ok()).collect())
        .collect();
    assert_eq!(rows.len(), 11);
    for row in rows {
        let (segments, rounds) = (row[2], &row[3..6]);
        for ((initial_segments, is_delayed), expected) in
            [(10.0, false), (10.0, true), (2.0, true)].into_iter().zip(rounds)
        {
            let ends = PathEnds { initial_segments, is_delayed, ..PathEnds::default() };
            let got = rounds_of(segments, &ends);
            assert!(got.abs_diff(*expected) <= 1, "{segments} segments, {ends:?}: {got} for {expected}");
        }
    }
}

/// Round trips until so many segments have come to the receiver of a connection that has sent nothing yet.
fn rounds_of(segments: u64, ends: &PathEnds) -> u64 {
    let rtt_s = 0.02;
    let member = network::Member::new(ends.flow(Stack::Reno), rtt_s, 0.0, f64::INFINITY);
    let link = ends.bottleneck(1e4 * GBIT, rtt_s);
    let mut network = network::SharedPath::new(link, vec![member], Losses::new(LossRule::None, 1));
    let delivered = |round: &u64| {
        network.run((*round as f64 + 0.5) * rtt_s);
        network.members[0].flow.delivered >= segments
    };
    (1..100).find(delivered).expect("every answer comes")
}

#[test]
fn numbers_that_mean_no_path_are_refused_with_their_limits() {
    let case = |rate_bytes_per_s, rtt_s, duration_s| PathCase {
        stack: Stack::Reno,
        rate_bytes_per_s,
        rtt_s,
        duration_s,
        loss: LossRule::None,
        seed: 1,
        ends: PathEnds::default(),
    };
    for (case, words) in [
        (case(1.0, 0.1, 1.0), "a rate must be from 1000"),
        (case(GBIT, 0.0, 1.0), "a round trip must be from"),
        (case(GBIT, 0.1, f64::NAN), "a duration must be from"),
        (case(100.0 * GBIT, 0.1, 1e5), "segments would be simulated"),
        (PathCase { loss: LossRule::Every(1), ..case(GBIT, 0.1, 1.0) }, "a loss rate must be from"),
        (PathCase { loss: LossRule::Chance(0.0), ..case(GBIT, 0.1, 1.0) }, "a loss rate must be from"),
    ] {
        let error = simulate_path(&case, 1).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
    let case = RecoveryCase {
        stack: Stack::Reno,
        rate_bytes_per_s: MBIT,
        rtt_s: 0.001,
        segment_bytes: 1500.0,
        is_delayed: false,
    };
    let error = simulate_recovery(&case).expect_err("hardly a segment").to_string();
    assert!(error.contains("the window that fills the path must be from 4"), "{error}");
}
