//! Statements about this machine: what a request costs.

use datapump_lab::judge::cost::{CpuBy, Fit, GroupFit, Model, fit_file};
use datapump_lab::row::undisturbed_rows;
use datapump_lab::{CellSummary, StudySummary, view};

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

fn cost_fits(name: &str, by: Option<CpuBy>) -> Vec<GroupFit> {
    fit_file(&kept(name), Model::Cost, false, by).expect("rows").fits
}

/// From nothing to nothing a request costs the same at every size, to a fifth, a byte next to nothing, and the rate is the
/// size over the cost.
#[test]
fn s23_from_nothing_to_nothing_a_request_costs_the_same_at_every_size() {
    let study = summary("cpu.jsonl");
    for engine in ["inline", "uring"] {
        let cells: Vec<&CellSummary> =
            study.cells.iter().filter(|cell| level(cell, "engine") == engine).collect();
        let costs: Vec<f64> =
            cells.iter().map(|cell| cell.ns_per_request.expect("requests").median).collect();
        let (least, most) =
            (costs.iter().copied().fold(f64::MAX, f64::min), costs.iter().copied().fold(0.0, f64::max));
        assert!(cells.len() == 5 && most / least <= 1.2, "{engine}: {costs:?}");
        for (cell, cost) in cells.iter().zip(&costs) {
            let size = datapump::units::parse_bytes(&level(cell, "request_size")).expect("a size") as f64;
            let rate = cell.bytes_per_second.expect("bytes");
            assert!((rate * cost / 1e9 / size - 1.0).abs() <= 0.01, "{:?}: {rate}, {cost} ns", cell.asked);
        }
    }
    for group in cost_fits("cpu.jsonl", None) {
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
        .map(|cell| cell.ns_per_request.expect("requests"))
        .map(|time| time.standard_error.expect("runs") / time.mean)
        .collect();
    assert!(errors.len() == 2 && errors.iter().all(|error| *error <= 0.07), "{errors:?}");
}
