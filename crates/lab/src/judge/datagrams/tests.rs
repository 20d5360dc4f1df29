//! S51, S53, S55, S56 and S57 on paths and samples whose truth is known.

use datapump::datagrams::{DatagramCounter, LossGaps};
use datapump_engine::sim::Random;
use proptest::prelude::*;

use super::latency::{LatencyCurve, LatencyHistogram};
use super::losses::LossPattern;
use super::simulated::{ReceiveCard, StreamCase, simulate_stream};
use super::spacing::{DatagramRate, Spacing};
use crate::judge::frames::wire_bytes;
use datapump_netlab::{LossRule, Losses};

/// Between 0 and 1.
fn uniform(random: &mut Random) -> f64 {
    (random.below(1 << 53) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// A normal sample (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let (radius, angle) = (uniform(random), uniform(random));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// Gigabit Ethernet and a stream that fits.
fn case() -> StreamCase {
    StreamCase {
        datagrams: 20_000,
        payload_bytes: 1472,
        spacing_s: 20e-6,
        cost_s: 0.0,
        link_bytes_per_s: 125e6,
        queue_bytes: 100_000.0,
        losses: Losses::new(LossRule::None, 1),
        delay_s: 0.0,
    }
}

/// Statement S51: a path of 0.0232 us for a byte behind 35 us, its times spread by half a microsecond and up to 20 us late.
#[test]
fn the_slope_of_a_synthetic_path_is_recovered() {
    for (seed, (intercept, slope)) in
        [(1, (35.0, 0.0232)), (2, (18.0, 0.0118)), (3, (7.0, 0.0005)), (4, (900.0, 0.5))]
    {
        let mut random = Random::seeded(seed, "latency");
        let mut time = |bytes: u64| {
            let late = if random.chance(50) { uniform(&mut random) * 20.0 } else { 0.0 };
            intercept + slope * bytes as f64 + normal(&mut random) * slope * 20.0 + late
        };
        let mut median = |bytes| {
            let times: Vec<f64> = (0..1000).map(|_| time(bytes)).collect();
            crate::judge::stats::median(&times).expect("there are some")
        };
        let points: Vec<(u64, f64)> = (64..=1400).step_by(64).map(|bytes| (bytes, median(bytes))).collect();
        let curve = LatencyCurve::from_points(&points).expect("there are enough sizes");
        let error = curve.whole.slope_us_per_byte / slope - 1.0;
        assert!(error.abs() < 0.03, "{seed}: {error}");
        assert_eq!(curve.sections.len(), 1, "{:?}", curve.sections);
    }
}

/// Statement S51: 10,000 samples in bins of a fifth of the deviation.
#[test]
fn the_width_of_a_normal_distribution_is_2_355_deviations() {
    for seed in 0..20 {
        let mut random = Random::seeded(seed, "width");
        let (mean, deviation) = (40.0 + seed as f64, 0.3 + 0.2 * seed as f64);
        let times: Vec<f64> = (0..10_000).map(|_| mean + deviation * normal(&mut random)).collect();
        for histogram in [
            LatencyHistogram::in_bins(&times, deviation / 5.0).expect("there are times"),
            LatencyHistogram::from_times(&times).expect("there are times"),
        ] {
            let error = histogram.width_us / (2.355 * deviation) - 1.0;
            assert!(error.abs() < 0.12, "{seed}: {error}");
            assert_eq!(histogram.counts.iter().sum::<u64>(), 10_000);
        }
    }
}

/// By hand: half of the highest is crossed between the middles of bins.
#[test]
fn widths_by_hand() {
    for (times, bin_us, width_us) in [
        (&[5.0][..], 1.0, 1.0),
        (&[1.5, 2.5, 2.5, 3.5], 1.0, 2.0),
        (&[1.5, 2.5, 2.5, 2.5, 2.5, 3.5, 3.5], 1.0, 2.0 / 3.0 + 1.0),
    ] {
        let histogram = LatencyHistogram::in_bins(times, bin_us).expect("there are times");
        let width = histogram.width_us;
        assert!((width - width_us).abs() < 1e-9, "{times:?}: {width}");
    }
    assert_eq!(LatencyHistogram::from_times(&[]), None);
    assert!(LatencyHistogram::from_times(&[3.0; 100]).is_some_and(|histogram| histogram.counts == [100]));
}

/// Statement S51: steps where a frame takes one more buffer, with other slopes before and behind.
#[test]
fn a_stepped_curve_is_reported_in_sections() {
    let stepped = |bytes: u64| match bytes {
        0..500 => 30.0 + 0.02 * bytes as f64,
        500..1000 => 45.0 + 0.02 * bytes as f64,
        _ => 40.0 + 0.05 * bytes as f64,
    };
    for noise in [0.0, 0.05] {
        let mut random = Random::seeded(7, "steps");
        let points: Vec<(u64, f64)> = (60..=1440)
            .step_by(30)
            .map(|bytes| (bytes, stepped(bytes) + noise * normal(&mut random)))
            .collect();
        let sections = LatencyCurve::from_points(&points).expect("there are enough sizes").sections;
        let ends: Vec<(u64, u64)> =
            sections.iter().map(|section| (section.from_bytes, section.to_bytes)).collect();
        assert_eq!(ends, [(60, 480), (510, 990), (1020, 1440)], "{noise}");
        for (section, slope) in sections.iter().zip([0.02, 0.02, 0.05]) {
            let error = section.slope_us_per_byte / slope - 1.0;
            assert!(error.abs() < 0.05, "{noise}: {section:?}");
        }
    }
    assert_eq!(LatencyCurve::from_points(&[(1, 1.0), (2, 2.0)]), None);
}

/// Statement S55: a link that is a little too slow has its queue always full.
#[test]
fn a_queue_and_chance_are_told_apart() {
    let pattern = |case: &StreamCase| {
        let counts = simulate_stream(case).counts;
        (LossPattern::from_gaps(counts.lost, &counts.gaps), counts.lost)
    };
    // Minimum spacing 12.3 us.
    for spacing_us in [12.2, 12.0, 11.5, 11.0, 10.0, 8.0, 4.0] {
        let case = StreamCase { spacing_s: spacing_us * 1e-6, ..case() };
        assert_eq!(
            pattern(&case).0,
            LossPattern::Queue,
            "{spacing_us}: {:?}",
            simulate_stream(&case).counts.gaps
        );
    }
    for (seed, part) in [(1, 0.002), (2, 0.01), (3, 0.02), (4, 0.1), (5, 0.2)] {
        let case = StreamCase { losses: Losses::new(LossRule::Chance(part), seed), ..case() };
        assert_eq!(pattern(&case).0, LossPattern::Independent, "{part}");
    }
    let every = StreamCase { losses: Losses::new(LossRule::Every(50), 1), ..case() };
    assert_eq!(pattern(&every), (LossPattern::Queue, 400));
    assert_eq!(pattern(&case()), (LossPattern::None, 0));
    let few = StreamCase { losses: Losses::new(LossRule::Every(1000), 1), ..case() };
    assert_eq!(pattern(&few), (LossPattern::TooFew, 20));
}

/// Losses in bursts are neither.
#[test]
fn bursts_are_neither() {
    let bursts = (0..50).flat_map(|burst| (0..5).map(move |at| burst * 1000 + at));
    assert_eq!(LossPattern::from_gaps(250, &LossGaps::from_lost(bursts)), LossPattern::Neither);
}

/// S53, of a stream with losses by chance and by a queue.
#[test]
fn sent_datagrams_are_unique_ones_and_lost_ones() {
    let losses = Losses::new(LossRule::Chance(0.05), 3);
    let case = StreamCase { spacing_s: 12e-6, losses, ..case() };
    let counts = simulate_stream(&case).counts;
    assert_eq!(counts.unique + counts.lost, case.datagrams);
    assert!(counts.lost > 1000 && counts.duplicates == 0 && counts.reordered == 0, "{counts:?}");
}

proptest! {
    /// Statement S56: the later the host is woken, the less often, and no later than the delay.
    #[test]
    fn wake_ups_fall_with_the_delay(delay_us in 1.0_f64..200.0, spacing_us in 5.0_f64..100.0) {
        let of = |delay_us: f64| {
            let (delay_s, spacing_s) = (delay_us * 1e-6, spacing_us * 1e-6);
            simulate_stream(&StreamCase { delay_s, spacing_s, datagrams: 2000, queue_bytes: 1e9, ..case() })
        };
        let (without, with, twice) = (of(0.0), of(delay_us), of(2.0 * delay_us));
        prop_assert_eq!(without.wake_ups_per_datagram, 1.0);
        prop_assert_eq!(without.added_latency_s, 0.0);
        prop_assert!(with.wake_ups_per_datagram <= 1.0);
        // Each tick of twice the delay is one of the delay.
        prop_assert!(twice.wake_ups_per_datagram <= with.wake_ups_per_datagram);
        prop_assert!((0.0..=delay_us * 1e-6).contains(&with.added_latency_s));
        let per_tick = delay_us / spacing_us.max(12.304);
        prop_assert!(with.wake_ups_per_datagram <= 1.0 / per_tick + 2e-3, "{:?}", with.wake_ups_per_datagram);
    }
}

#[test]
fn a_card_wakes_its_host_at_ticks() {
    let mut card = ReceiveCard::new(10.0);
    let woken: Vec<f64> = [1.0, 9.0, 10.0, 10.5, 31.0].into_iter().map(|at| card.wakes_at(at)).collect();
    assert_eq!(woken, [10.0, 10.0, 10.0, 20.0, 40.0]);
    assert_eq!((card.wake_ups, card.waited_s), (3, 9.0 + 1.0 + 0.0 + 9.5 + 9.0));
}

/// Statement S57: the CPU takes the same time for a frame of either size, and the link is never full.
#[test]
fn a_rate_that_the_cpu_limits_grows_with_the_frame() {
    let rate = |payload_bytes: u64, cost_us: f64| {
        let cost_s = cost_us * 1e-6;
        let case = StreamCase { payload_bytes, cost_s, spacing_s: 0.0, link_bytes_per_s: 12.5e9, ..case() };
        let outcome = simulate_stream(&case);
        assert_eq!(outcome.counts.lost, 0);
        outcome.rate.user_mbit_per_s
    };
    for cost_us in [10.0, 20.0, 100.0] {
        let gain = rate(8972, cost_us) / rate(1472, cost_us);
        assert!((gain / (8972.0 / 1472.0) - 1.0).abs() < 0.05, "{gain}");
    }
    // On a full link it gains what the headers took.
    let link_limits = |payload_bytes: u64| {
        let spacing_s = wire_bytes(payload_bytes) as f64 / 125e6;
        simulate_stream(&StreamCase { payload_bytes, spacing_s, queue_bytes: 1e9, ..case() })
            .rate
            .user_mbit_per_s
    };
    let gain = link_limits(8972) / link_limits(1472);
    assert!((1.0..1.05).contains(&gain), "{gain}");
}

/// The published one: 720 Mbit/s on the wire are a frame of 1472 bytes every 17.09 us.
#[test]
fn spacing_and_rates_follow_from_times() {
    let times: Vec<u64> = (0..1001).map(|at| at * 17_090).collect();
    let spacing = Spacing::from_batches(&times, 1).expect("there are enough");
    assert!((spacing.mean_us - 17.09).abs() < 1e-9 && (spacing.median_us - 17.09).abs() < 1e-9);
    assert!(spacing.deviation_us < 1e-9);
    let rate = DatagramRate::from_datagrams(1000, 1472, 0.01709);
    assert!((rate.wire_mbit_per_s - 720.0).abs() < 0.1, "{rate:?}");
    assert!((rate.user_mbit_per_s / rate.wire_mbit_per_s - 1472.0 / 1538.0).abs() < 1e-9);
    // Batches.
    let spacing = Spacing::from_batches(&[0, 40_000, 80_000, 160_000], 4).expect("there are enough");
    assert_eq!((spacing.mean_us, spacing.median_us), (40.0 / 3.0, 10.0));
    assert_eq!(Spacing::from_batches(&[0, 1], 1), None);
    assert_eq!(DatagramRate::from_datagrams(0, 1472, 0.0).user_mbit_per_s, 0.0);
}

/// What a queue does to the counts is what the same script does.
#[test]
fn a_simulated_stream_is_counted_as_its_script() {
    let case = StreamCase { losses: Losses::new(LossRule::Every(7), 1), datagrams: 700, ..case() };
    let mut counter = DatagramCounter::new(700);
    (0..700).filter(|sequence| sequence % 7 != 6).for_each(|sequence| {
        counter.handle(sequence, 1472, sequence, sequence);
    });
    let (simulated, scripted) = (simulate_stream(&case).counts, counter.counts(700));
    assert_eq!((simulated.lost, simulated.gaps, simulated.bytes), (100, scripted.gaps, scripted.bytes));
}
