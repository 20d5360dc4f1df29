//! Statements about this machine: waits, request sizes and depths, writes, the soaker, ends alone.

use std::collections::BTreeMap;

use datapump_lab::judge::cost::{CpuBy, Fit, GroupFit, Model, fit_file};
use datapump_lab::judge::depths::knees::{Knee, knees};
use datapump_lab::judge::stats::{ComparisonVerdict, median};
use datapump_lab::row::{read_rows, undisturbed_rows};
use datapump_lab::study::Level;
use datapump_lab::{BaselineRatio, CellSummary, StudySummary, view};

use super::kept;

/// The cells of a study, and its ratios.
fn summary(name: &str) -> StudySummary {
    let mut summary = view(&[kept(name)], false).expect("rows");
    assert_eq!(summary.studies.len(), 1, "{name}");
    summary.studies.remove(0)
}

fn level(cell: &CellSummary, factor: &str) -> String {
    cell.asked.get(factor).map(ToString::to_string).unwrap_or_default()
}

/// The ratio of a cell to a baseline that is given by its levels.
fn ratio<'cell>(cell: &'cell CellSummary, baseline: &[(&str, &str)]) -> Option<&'cell BaselineRatio> {
    let is_meant = |ratio: &&BaselineRatio| {
        baseline.iter().all(|(factor, level)| {
            ratio.baseline.get(*factor).is_some_and(|found| found.to_string() == *level)
        })
    };
    cell.ratios.iter().find(is_meant)
}

/// The knee in request size and in each depth, at the source, at the sink and of a copy, each with its interval.
#[test]
fn s9_the_knee_in_request_size_and_both_depths_has_an_interval() {
    let (knees, _) = knees(&kept("depth.jsonl"), false).expect("rows");
    let of = |command: &str, factor: &str| {
        let is_meant = |knee: &&Knee| knee.factor == factor && knee.asked["command"].to_string() == command;
        knees.iter().filter(is_meant).count()
    };
    // A line for each depth and request size, so that no knee is that of one other level alone.
    assert!(of("source", "request_size") == 3 && of("source", "source_depth") == 5, "{knees:?}");
    assert!(of("sink", "request_size") == 3 && of("sink", "sink_depth") == 5, "{knees:?}");
    assert!(of("both", "source_depth") == 6 && of("both", "sink_depth") == 6, "{knees:?}");
    for knee in &knees {
        let [low, high] = knee.knee_interval.as_ref().expect("five rounds");
        let place =
            |level: &Level| knee.levels.iter().position(|it| it.level == *level).expect("one of them");
        assert!(place(low) <= place(&knee.knee) && place(&knee.knee) <= place(high), "{knee:?}");
        let best = knee.levels.iter().map(|it| it.bytes_per_second).fold(0.0, f64::max);
        for (at, it) in knee.levels.iter().enumerate() {
            let is_enough = it.bytes_per_second >= 0.98 * best;
            assert!(
                if at < place(&knee.knee) { !is_enough } else { at > place(&knee.knee) || is_enough },
                "{knee:?}"
            );
        }
    }
}

/// Without the kernel's help a receive returns the whole of a small block and less of a large one; both
/// ways' CPU time for a byte is there side by side, with intervals.
#[test]
fn s12_a_receive_returns_less_of_a_larger_block() {
    let study = summary("network-parts.jsonl");
    let timed = |assemble: &str| -> Vec<(f64, f64)> {
        let is_meant =
            |cell: &&CellSummary| level(cell, "assemble") == assemble && level(cell, "soaker") == "off";
        let share = |cell: &CellSummary| {
            let size = datapump::units::parse_bytes(&level(cell, "request_size")).expect("a size") as f64;
            (size, cell.results["receive_bytes"].mean / size)
        };
        let mut shares: Vec<(f64, f64)> = study.cells.iter().filter(is_meant).map(share).collect();
        shares.sort_by(|one, other| one.0.total_cmp(&other.0));
        shares
    };
    let (kernel, pump) = (timed("kernel"), timed("pump"));
    assert!(kernel.len() == 6 && kernel.iter().all(|(_, share)| *share > 0.99), "{kernel:?}");
    // It falls beyond what the socket delivers at once, and never rises.
    assert!(pump.len() == 6 && pump[0].1 > 0.99 && pump[5].1 < 0.6, "{pump:?}");
    assert!(pump.windows(2).all(|pair| pair[1].1 <= pair[0].1 + 0.01), "{pump:?}");
    let soaked: Vec<&CellSummary> = study.cells.iter().filter(|cell| level(cell, "soaker") == "on").collect();
    assert_eq!(soaked.len(), 12);
    for cell in soaked {
        let cpu = cell.results["soaker_cpu"];
        assert!(
            cpu.interval.is_some_and(|it| it.low <= cpu.median && cpu.median <= it.high),
            "{:?}",
            cell.asked
        );
    }
}

/// Each way to wait has its cost for a request to 10 %. On a source that gives 64 KiB every 2 ms, spinning takes 90 % of a CPU
/// at least, each way to sleep 30 % at most.
#[test]
fn s16_each_way_to_wait_has_its_cost_and_sleeping_takes_no_cpu() {
    let study = summary("cpu-waits.jsonl");
    assert_eq!(study.cells.len(), 21);
    for cell in &study.cells {
        let cost = cell.results["request_time"];
        let error = cost.standard_error.expect("runs") / cost.mean;
        assert!(cost.n >= 10 && error <= 0.1, "{:?}: {error}", cell.asked);
    }
    // All rows: what share of a CPU a run takes does not depend on its pace.
    let rows = read_rows(&kept("waits-paced.jsonl")).expect("rows");
    let mut ways = BTreeMap::<(String, String), Vec<f64>>::new();
    for row in rows.iter().filter(|row| row.is_completed()) {
        let cpu_ns = row.user_ns.zip(row.system_ns).map(|(user, system)| (user + system) as f64);
        let way = (row.asked["engine"].to_string(), row.asked["wait"].to_string());
        ways.entry(way).or_default().push(cpu_ns.expect("of the process") / row.elapsed_ns as f64);
    }
    assert_eq!(ways.len(), 7);
    for ((engine, wait), shares) in ways {
        let what = format!("{engine}, {wait}: {shares:?}");
        assert!(shares.len() >= 5, "{what}");
        let is_right = |share: &f64| if wait == "spin" { *share >= 0.9 } else { *share <= 0.3 };
        assert!(shares.iter().all(is_right), "{what}");
    }
}

/// Each end alone, and each side of a connection, has at each request size what was observed and predicted, their error,
/// and the direction of the change with its interval; Cb and Cr have standard errors.
#[test]
fn s28_an_end_alone_has_its_table_its_costs_and_a_direction_from_size_to_size() {
    let alone = |name: &str, soaker: &str, cpu_by: CpuBy| -> Vec<GroupFit> {
        let mut fits = cost_fits(name);
        fits.retain(|group| group.asked["soaker"].to_string() == soaker && group.cpu_by == Some(cpu_by));
        fits
    };
    // A hypervisor took 2 to 6 % of a CPU: of 50 soaked runs of the sink 5 are quiet, too few for a direction.
    let ends = [
        alone("disk-source.jsonl", "off", CpuBy::Process),
        alone("disk-source.jsonl", "on", CpuBy::Soaker),
        alone("disk-sink.jsonl", "off", CpuBy::Process),
    ];
    let mut sides = cost_fits("network-sides.jsonl");
    sides.retain(|group| group.side.is_some() && group.asked["soaker"].to_string() == "off");
    assert_eq!((ends.each_ref().map(Vec::len), sides.len()), ([1, 1, 1], 2));
    for group in ends.iter().flatten().chain(&sides) {
        let Fit::Cost(fit) = &group.fit else { panic!("{group:?}") };
        let what = format!("{} {:?}: {fit:?}", group.component, group.side);
        let errors = [fit.cb_ns_per_byte, fit.cr_us_per_request].map(|figure| figure.standard_error);
        assert!(errors.iter().all(|error| *error > 0.0 && error.is_finite()), "{what}");
        assert_eq!(fit.sizes.len(), 5, "{what}");
        for (at, size) in fit.sizes.iter().enumerate() {
            let off_ns = size.observed_ns_per_byte - size.predicted_ns_per_byte;
            let least_ns = size.observed_ns_per_byte.min(size.predicted_ns_per_byte);
            let error = size.relative_error_percent.expect("costs are above 0");
            assert!(size.n >= 2 && (100.0 * off_ns / least_ns - error).abs() < 1e-6, "{what}");
            let interval = size.change_ns_per_byte_low.zip(size.change_ns_per_byte_high);
            match (at, size.change, interval) {
                (0, None, None) => {}
                (1.., Some("falls"), Some((_, high))) => assert!(high < 0.0, "{what}"),
                (1.., Some("rises"), Some((low, _))) => assert!(low > 0.0, "{what}"),
                (1.., Some("level"), Some((low, high))) => assert!(low <= 0.0 && 0.0 <= high, "{what}"),
                found => panic!("{found:?}: {what}"),
            }
        }
    }
}

/// From nothing to nothing a request costs the same at every size, to a fifth, a byte next to nothing, and the rate is the
/// size over the cost.
#[test]
fn s23_from_nothing_to_nothing_a_request_costs_the_same_at_every_size() {
    let study = summary("cpu.jsonl");
    for engine in ["inline", "uring"] {
        let cells: Vec<&CellSummary> =
            study.cells.iter().filter(|cell| level(cell, "engine") == engine).collect();
        let costs: Vec<f64> = cells.iter().map(|cell| cell.results["request_time"].median).collect();
        let (least, most) =
            (costs.iter().copied().fold(f64::MAX, f64::min), costs.iter().copied().fold(0.0, f64::max));
        assert!(cells.len() == 5 && most / least <= 1.2, "{engine}: {costs:?}");
        for (cell, cost) in cells.iter().zip(&costs) {
            let size = datapump::units::parse_bytes(&level(cell, "request_size")).expect("a size") as f64;
            let rate = cell.results["bandwidth"].median;
            assert!((rate * cost / 1e9 / size - 1.0).abs() <= 0.01, "{:?}: {rate}, {cost} ns", cell.asked);
        }
    }
    for group in cost_fits("cpu.jsonl") {
        let Fit::Cost(fit) = &group.fit else { panic!("{group:?}") };
        assert!(fit.cb_ns_per_byte.value < 0.01, "{fit:?}");
    }
}

/// One CPU is busy all the time, and a request of 64 KiB is known to 7 %.
#[test]
fn s24_from_nothing_to_nothing_a_cpu_is_busy_and_64_kib_are_known() {
    let (rows, _) = undisturbed_rows(&kept("cpu.jsonl"), false).expect("rows");
    for row in rows.iter().filter(|row| row.is_completed() && row.soaked_ns.is_none()) {
        let cpu_ns = row.user_ns.zip(row.system_ns).map(|(user, system)| (user + system) as f64);
        let share = cpu_ns.expect("of the process") / row.elapsed_ns as f64;
        assert!(share >= 0.95, "{:?}: {share} of a CPU", row.asked);
    }
    let study = summary("cpu.jsonl");
    let small = study.cells.iter().filter(|cell| level(cell, "request_size") == "64KiB");
    let errors: Vec<f64> = small
        .map(|cell| cell.results["request_time"])
        .map(|time| time.standard_error.expect("runs") / time.mean)
        .collect();
    assert!(errors.len() == 2 && errors.iter().all(|error| *error <= 0.07), "{errors:?}");
}

/// Loads of 0 to 100 % of one CPU are found to 5 points, in runs that are not marked.
#[test]
fn s20_known_loads_are_found_to_five_points_of_one_cpu() {
    let rows = read_rows(&kept("soaker-loads.jsonl")).expect("rows");
    for load in [0, 25, 50, 75, 100] {
        let quiet = rows
            .iter()
            .filter(|row| row.is_completed() && row.asked["levels"].to_string() == load.to_string());
        let soakers = quiet.filter_map(|row| row.soaker.as_ref().filter(|soaker| !soaker.noisy));
        let shares: Vec<f64> = soakers
            .map(|soaker| soaker.cpu_ns.expect("all CPUs") as f64 / soaker.elapsed_ns as f64)
            .collect();
        let share = median(&shares).expect("quiet runs");
        assert!(shares.len() >= 4, "load {load}: {} quiet runs", shares.len());
        assert!((share - f64::from(load) / 100.0).abs() <= 0.05, "load {load}: the soaker says {share}");
    }
}

/// The soaker's effect is given with its interval beside that of equal runs, and claimed only outside of it; time is of
/// runs without the soaker, CPU time of those with it.
#[test]
fn s22_what_the_soaker_changes_stands_beside_equal_runs() {
    let study = summary("soaker-perturbation.jsonl");
    let mut judged = 0;
    for cell in &study.cells {
        let Some(found) = ratio(cell, &[("soaker", "off"), ("control", "a")]) else { continue };
        let interval = found.judged.interval().expect("five rounds");
        let band = found.band.expect("a control");
        assert!(found.pairs >= 10, "{:?}: {} rounds", cell.asked, found.pairs);
        let is_outside = interval.high < band.low || band.high < interval.low;
        let claims = found.judged.verdict != ComparisonVerdict::NoDifferenceShown;
        assert!(is_outside || !claims, "{:?}: {found:?}", cell.asked);
        judged += u32::from(level(cell, "control") == "a");
        assert_eq!(
            cell.results.contains_key("soaker_cpu"),
            level(cell, "soaker") == "on",
            "{:?}",
            cell.asked
        );
    }
    assert_eq!(judged, 4, "network and disk, on and half");
}

/// The write cache never slows a write, more direct writes under way never lose to one, and a ring of one is as a single
/// call, or the intervals do not tell them apart from equal runs.
#[test]
fn s45_write_caches_depths_and_rings_of_one() {
    let study = summary("seqio-sync.jsonl");
    let (mut cached, mut deep, mut single) = (0, 0, 0);
    for cell in &study.cells {
        let is = |factor: &str, wanted: &str| level(cell, factor) == wanted;
        if is("control", "b") {
            continue;
        }
        let verdict = |baseline: &[(&str, &str)]| {
            ratio(cell, baseline).map(|found| found.judged.verdict).expect("a baseline")
        };
        if is("sync", "dsync") {
            cached += 1;
            assert_ne!(verdict(&[("sync", "cache")]), ComparisonVerdict::Faster, "{:?}", cell.asked);
        } else if is("engine", "uring") && is("depth", "1") {
            single += 1;
            let found = ratio(cell, &[("engine", "inline")]).expect("a baseline");
            let is_alike = found.judged.verdict == ComparisonVerdict::NoDifferenceShown;
            assert!(is_alike && found.band.is_some(), "{:?}: {found:?}", cell.asked);
        } else if is("engine", "uring") {
            deep += 1;
            let found =
                cell.ratios.iter().find(|it| it.baseline.len() == 2 && it.baseline.contains_key("depth"));
            let verdict = found.expect("a depth of 1").judged.verdict;
            assert_ne!(verdict, ComparisonVerdict::Slower, "{:?}", cell.asked);
        }
    }
    assert_eq!((cached, deep, single), (12, 12, 6), "each of six request sizes");
}

fn cost_fits(name: &str) -> Vec<GroupFit> {
    fit_file(&kept(name), Model::Cost, false, None).expect("rows").fits
}
