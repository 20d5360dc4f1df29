//! Statements about rows that are kept under `bench/`: what was measured is held against what is stated, by the judges
//! that the program has. Nothing is measured here.

mod host;
mod network;
mod paced;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use datapump_lab::judge::cost::application_cells;
use datapump_lab::judge::crossings::crossing_ways;
use datapump_lab::judge::pages::{PageCurve, curves_words, page_curves};
use datapump_lab::judge::stats::{ComparisonVerdict, IntervalVerdict};
use datapump_lab::row::read_rows;
use datapump_lab::study::{Changes, Level, Study};
use datapump_lab::view;

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench").join(name)
}

/// Every cell of the grid is there once, with runs, mean and interval, or with the reason why not.
#[test]
fn s44_every_cell_of_the_grid_is_there_once_with_its_interval_or_a_reason() {
    let study = datapump_lab::show("seqio").expect("it is built in");
    let study = Study::parse("seqio", study, &Changes::default()).expect("in order");
    let planned: Vec<String> = study.cells().iter().map(|cell| format!("{:?}", cell.levels)).collect();
    let summary = view(&[kept("seqio.jsonl")], false).expect("rows");
    let [found] = &summary.studies[..] else { panic!("one study: {}", summary.studies.len()) };
    let cells: Vec<String> = found.cells.iter().map(|cell| format!("{:?}", cell.asked)).collect();
    let once: BTreeSet<&String> = cells.iter().collect();
    assert_eq!(once.len(), cells.len(), "a cell is there twice");
    let planned: BTreeSet<&String> = planned.iter().collect();
    assert!(once == planned, "not the grid of the study: {:?}", once.symmetric_difference(&planned).next());
    for cell in &found.cells {
        let Some(time) = cell.results.get("time") else {
            assert!(cell.message.as_ref().is_some_and(|why| !why.is_empty()), "{:?}", cell.asked);
            continue;
        };
        let has_interval = time.interval.is_some_and(|it| it.low <= time.median && time.median <= it.high);
        assert!(time.n == cell.completed && time.mean > 0.0 && has_interval, "{:?}: {time:?}", cell.asked);
    }
}

/// In the whole grid a combination that the file system refuses has its reason, and no figure.
#[test]
fn s44_a_refused_combination_has_a_reason_and_no_figure() {
    let summary = view(&[kept("seqio-full.jsonl")], false).expect("rows");
    let [study] = &summary.studies[..] else { panic!("one study: {}", summary.studies.len()) };
    let refused: Vec<_> = study.cells.iter().filter(|cell| cell.completed == 0).collect();
    assert!(refused.len() > 20 && study.cells.len() > 1600, "{} of {}", refused.len(), study.cells.len());
    for cell in refused {
        assert!(cell.results.is_empty(), "{:?}", cell.asked);
        let why = cell.message.as_deref().unwrap_or_default();
        assert!(why.contains("direct I/O needs requests that are multiples of"), "{:?}: {why}", cell.asked);
    }
}

fn curves(name: &str, caching: &str, operation: &str) -> Vec<PageCurve> {
    let level = |curve: &PageCurve, factor: &str| curve.asked.get(factor).map(Level::to_string);
    let is_meant = |curve: &PageCurve| {
        level(curve, "caching").as_deref() == Some(caching)
            && level(curve, "operation").as_deref() == Some(operation)
    };
    let (mut curves, _) = page_curves(&kept(name), false).expect("rows");
    curves.retain(is_meant);
    curves
}

/// Behind a source that is slower than memory all three interfaces are equally fast at one word, to 5 %, and touching
/// more is never faster.
#[test]
fn s34_behind_a_slow_source_three_interfaces_agree_at_one_word() {
    let paced = curves("access.jsonl", "paced", "read");
    let interfaces: Vec<&str> = paced.iter().map(|curve| &*curve.interface).collect();
    assert_eq!(interfaces, ["mmap", "ring", "stream"]);
    for curve in &paced {
        let ratio = curve.sparse_ratio_to_stream.unwrap_or(1.0);
        assert!((ratio - 1.0).abs() <= 0.05, "{}: {ratio} times as fast as stream", curve.interface);
        assert_ne!(curve.dense_beside_sparse, IntervalVerdict::Above, "{}", curve.interface);
        assert!(curve.levels.len() >= 3 && curve.levels[0].touched_bytes <= 8.0, "{:?}", curve.levels);
    }
}

/// By calls the kernel's CPU time for a page grows with the bytes that are touched; by mapped pages that are resident
/// it grows by a quarter of that at most. CPU time for a byte is printed.
#[test]
fn s38_the_kernel_works_by_touched_bytes_for_calls_and_hardly_for_mappings() {
    let resident = curves("access-resident.jsonl", "resident", "read");
    let (streams, mapped): (Vec<_>, Vec<_>) = resident.iter().partition(|curve| curve.interface == "stream");
    assert_eq!((streams.len(), mapped.len()), (1, 2), "{resident:?}");
    let [low, high] = streams[0].kernel_ns_per_touched_byte_interval.expect("an interval");
    assert!(0.0 < low && low < high, "{low} to {high}");
    for curve in mapped {
        assert_eq!(
            curve.slope_beside_quarter_of_stream,
            Some(IntervalVerdict::Below),
            "{}: {:?}",
            curve.interface,
            curve.kernel_ns_per_touched_byte_interval
        );
    }
    let words = curves_words(&resident);
    let levels: usize = resident.iter().map(|curve| curve.levels.len()).sum();
    let printed = words.lines().filter(|line| line.contains("CPU ") && line.contains(" ns/byte, ")).count();
    assert_eq!(printed, levels, "{words}");
}

/// With resident data a touch of whole pages by calls, which copy, is at most as fast as by an interface that does not, or
/// they are not separable.
#[test]
fn s35_what_copies_is_not_faster_than_what_does_not() {
    let resident = curves("access-resident.jsonl", "resident", "read");
    let verdicts: Vec<_> = resident.iter().filter_map(|curve| curve.dense_beside_stream).collect();
    assert_eq!(verdicts.len(), 2, "{resident:?}");
    let allowed = [IntervalVerdict::Above, IntervalVerdict::NotSeparable];
    assert!(verdicts.iter().all(|verdict| allowed.contains(verdict)), "{resident:?}");
}

/// Every cell has three runs or more and a deviation, and stages whose means are less than two deviations apart are printed
/// as not separable.
#[test]
fn s43_every_cell_has_its_deviation_and_close_stages_are_not_separable() {
    let summary = view(&[kept("readers.jsonl")], false).expect("rows");
    let [study] = &summary.studies[..] else { panic!("one study: {}", summary.studies.len()) };
    for cell in &study.cells {
        let latency = cell.results["time"];
        assert!(cell.completed >= 3 && latency.standard_deviation.is_some(), "{:?}: {latency:?}", cell.asked);
    }
    let text = summary.to_string();
    let close = study.stages.iter().filter(|pair| pair.deviations_apart.is_some_and(|apart| apart < 2.0));
    let close: Vec<_> = close.collect();
    assert!(
        !close.is_empty() && close.len() < study.stages.len(),
        "{} of {}",
        close.len(),
        study.stages.len()
    );
    for pair in close {
        assert!(text.contains(&pair.words().expect("not separable")), "{pair:?}");
    }
}

/// No rate is above the memory's bandwidth over the crossings of its bytes, and a crossing less never costs more CPU
/// time for a byte beyond the noise.
#[test]
fn s58_no_way_is_above_its_ceiling_and_a_crossing_less_does_not_cost_more() {
    let (ways, _) = crossing_ways(&kept("crossings.jsonl"), false).expect("rows");
    assert!(ways.len() > 5, "{ways:?}");
    for way in &ways {
        assert_ne!(way.beside_ceiling, IntervalVerdict::Above, "{way:?}");
        for (other, verdict) in &way.cpu_beside_more {
            assert_ne!(
                *verdict,
                IntervalVerdict::Above,
                "{} beside {other}, which crosses more often",
                way.way
            );
        }
    }
}

/// Every cell has rates from least to most with their number, or a reason, and no application is faster than the probe
/// of its cell.
#[test]
fn s66_the_probe_bounds_every_application() {
    let (cells, _) = application_cells(&kept("applications.jsonl"), false).expect("rows");
    let beside: Vec<_> = cells.iter().filter(|cell| cell.beside_probe.is_some()).collect();
    assert!(cells.len() > 30 && 2 * beside.len() > cells.len(), "{} of {}", beside.len(), cells.len());
    for cell in &cells {
        assert!(!cell.sizes.is_empty() || !cell.reasons.is_empty(), "{}: {:?}", cell.command, cell.asked);
        for rates in &cell.sizes {
            assert!(rates.n > 0 && rates.min_bytes_per_s <= rates.max_bytes_per_s, "{rates:?}");
        }
    }
    for cell in beside {
        let share = cell.share_of_probe.expect("beside a probe");
        assert!(share <= 1.0, "{}: {:?}: {share} of the probe", cell.command, cell.asked);
        assert_ne!(cell.beside_probe, Some(IntervalVerdict::Above), "{}: {:?}", cell.command, cell.asked);
    }
}

/// Packets of both sizes were sent at the rate that was asked for: their drops are compared at equal rates.
#[test]
fn s69_packets_of_both_sizes_have_equal_rates() {
    let rows = read_rows(&kept("disk-net.jsonl")).expect("rows");
    let rates = |packets: &str| -> Vec<f64> {
        let of = rows.iter().filter(|row| row.is_completed() && row.asked["mtu"].to_string() == packets);
        of.filter(|row| row.soaked_ns.is_none())
            .map(|row| row.achieved["traffic_bytes_per_s"].as_f64().expect("a rate"))
            .collect()
    };
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    let [standard, jumbo] = ["1500", "9000"].map(|packets| {
        let rates = rates(packets);
        assert!(rates.len() >= 10, "{packets}: {rates:?}");
        mean(&rates)
    });
    assert!((jumbo / standard - 1.0).abs() <= 0.05, "1500: {standard} bytes/s, 9000: {jumbo}");
}

/// Each drop is there with its interval and the band of equal runs, and is claimed only outside of it.
#[test]
fn s69_drops_have_the_band_of_equal_runs_beside_them() {
    let summary = view(&[kept("disk-net.jsonl")], false).expect("rows");
    let [study] = &summary.studies[..] else { panic!("one study: {}", summary.studies.len()) };
    let ratios: Vec<_> = study.cells.iter().flat_map(|cell| &cell.ratios).collect();
    assert!(ratios.len() >= 3, "{ratios:?}");
    for found in ratios {
        let (interval, band) = (found.judged.interval().expect("rounds"), found.band.expect("a control"));
        let is_outside = interval.high < band.low || band.high < interval.low;
        let claims = found.judged.verdict != ComparisonVerdict::NoDifferenceShown;
        assert_eq!(claims, is_outside && !interval.contains(1.0), "{found:?}");
    }
}
