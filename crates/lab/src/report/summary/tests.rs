//! Summaries of rows whose figures are known.

use super::*;
use crate::judge::stats::ComparisonVerdict;
use crate::row::COMPLETED;

fn row(command: &str, repeat: u32, elapsed_ns: u64) -> Row {
    Row {
        v: 1,
        study: "peers".into(),
        asked: BTreeMap::from([(COMMAND.into(), command.into()), ("size".into(), "1GiB".into())]),
        repeat,
        outcome: COMPLETED.into(),
        bytes: 1 << 30,
        elapsed_ns,
        user_ns: Some(500_000_000),
        system_ns: Some(250_000_000),
        machine_cpu_ns: Some(1_000_000_000),
        cpus: 2,
        baselines: vec![BTreeMap::from([(COMMAND.into(), "cp".into())])],
        ..Row::default()
    }
}

fn rounds(count: u32) -> Vec<Row> {
    (0..count)
        .flat_map(|round| {
            let drift = 1_000_000_000 + u64::from(round) * 100_000_000;
            [row("cp", round, drift * 3), row("pump", round, drift * 2), row("same", round, drift * 3)]
        })
        .collect()
}

fn study(files: &[Vec<Row>]) -> StudySummary {
    Summary::from_rows(files).studies.remove(0)
}

#[test]
fn ratios_are_of_pairs_so_drift_does_not_matter() {
    let study = study(&[rounds(7)]);
    let commands: Vec<String> = study.cells.iter().map(|cell| cell.asked[COMMAND].to_string()).collect();
    assert_eq!(commands, ["pump", "cp", "same"], "the fastest first");
    assert!(study.notes.iter().any(|note| note.starts_with("times drift: +")), "{:?}", study.notes);
    for (cell, ratio) in study.cells.iter().zip([
        Some((1.5, ComparisonVerdict::Faster)),
        None,
        Some((1.0, ComparisonVerdict::NoDifferenceShown)),
    ]) {
        let judged = cell.ratios.first().map(|it| it.judged);
        let got = judged.and_then(|it| Some(((it.ratio? * 1e6).round() / 1e6, it.verdict)));
        assert_eq!(got, ratio, "{:?}", cell.asked);
    }
    let pump = &study.cells[0];
    assert_eq!(pump.ratios[0].pairs, 7);
    let gib = (1_u64 << 30) as f64;
    assert_eq!(pump.median("time").map(f64::round), Some(2.6e9));
    assert_eq!(pump.median("cpu"), Some(750_000_000.0 / gib));
    assert_eq!(pump.median("machine_cpu"), Some(1e9 / gib));
    assert_eq!(pump.median("request_time"), None);
    assert_eq!(study.compared.as_deref(), Some("time"));
}

#[test]
fn rows_of_different_files_are_no_pairs() {
    let cp: Vec<Row> = rounds(5).into_iter().filter(|row| row.asked[COMMAND] == "cp".into()).collect();
    let pump: Vec<Row> = rounds(5).into_iter().filter(|row| row.asked[COMMAND] == "pump".into()).collect();
    let study = study(&[cp, pump]);
    assert!(study.cells.iter().all(|cell| cell.ratios.is_empty()));
}

/// A file that another command was appended to hours later has equal seeds and rounds in both.
#[test]
fn rows_of_different_sessions_are_no_pairs_and_are_counted() {
    let of = |session: &str, command: &str| -> Vec<Row> {
        let own = rounds(5).into_iter().filter(|row| row.asked[COMMAND] == command.into());
        own.map(|row| Row { session: session.into(), ..row }).collect()
    };
    let study = study(&[[of("x", "cp"), of("y", "pump"), of("y", "same")].concat()]);
    assert!(study.cells.iter().all(|cell| cell.ratios.is_empty()), "{:?}", study.cells);
    assert!(study.notes.iter().any(|note| note.ends_with("left out of that ratio: 15")), "{:?}", study.notes);
    let later = |row: Row| Row { kernel: "later".into(), ..row };
    let of_before = [of("", "cp"), of("", "pump").into_iter().map(later).collect()].concat();
    let study = self::study(&[of_before]);
    assert!(study.cells.iter().all(|cell| cell.ratios.is_empty()), "another kernel: {:?}", study.cells);
}

/// `compare` and `view` judge the same pairs alike: one estimator, and one correction for all lines of a table.
#[test]
fn ratios_are_those_of_compare_and_hold_at_once() {
    let mut random = datapump_engine::sim::Random::seeded(1, "ratios");
    let mut noisy = |row: Row| Row {
        elapsed_ns: (row.elapsed_ns as f64 * (1.0 + 0.1 * stats::tests::deviate(&mut random))) as u64,
        session: "one".into(),
        ..row
    };
    let rows: Vec<Row> = rounds(9).into_iter().map(&mut noisy).collect();
    let summary = study(std::slice::from_ref(&rows));
    assert_eq!(summary.ratios_at_once, 2, "pump and same");
    for name in ["pump", "same"] {
        let cell = summary.cells.iter().find(|cell| cell.asked[COMMAND] == name.into()).expect("a cell");
        let side = |command: &str| -> Vec<Row> {
            let own = rows.iter().filter(|row| row.asked[COMMAND] == command.into()).cloned();
            own.map(|row| Row { asked: BTreeMap::new(), ..row }).collect()
        };
        let pairs = [side("cp"), side(name)];
        let run = |row| MeasuredRun {
            row,
            value: row.elapsed_ns as f64,
            rounding: (row.elapsed_ns as f64).powi(-2) / 12.0,
        };
        let pairs = ComparedPairs::from_runs([0, 1].map(|side| pairs[side].iter().map(run).collect()));
        let alone = pairs.expect("pairs").judge(ALPHA).expect("a verdict");
        let judged = cell.ratios[0].judged;
        assert_eq!(judged.ratio, alone.ratio, "{name}");
        assert!(judged.ratio_low < alone.ratio_low && judged.ratio_high > alone.ratio_high, "{name}");
        let sides = [side("cp"), side(name)];
        let compared = crate::judge::compare::Comparison::from_files(
            ["cp".into(), name.into()],
            [&sides[0], &sides[1]],
            Default::default(),
        );
        assert_eq!(compared.expect("a cell").overall, alone, "{name}");
    }
}

#[test]
fn failed_runs_are_counted_and_in_no_figure() {
    let mut rows = rounds(5);
    rows[1].outcome = "io".into();
    rows[1].message = Some("exit status: 1".into());
    let study = study(&[rows]);
    let pump = study.cells.iter().find(|cell| cell.asked[COMMAND] == "pump".into()).expect("a cell");
    assert_eq!((study.runs, study.failed, pump.completed), (15, 1, 4));
    assert_eq!(pump.failed, BTreeMap::from([("io".to_string(), 1)]));
    assert_eq!(pump.message.as_deref(), Some("exit status: 1"));
    assert_eq!(pump.ratios[0].pairs, 4);
    let single = "runs without a partner in the same session and round, left out of that ratio: 1";
    assert!(study.notes.iter().any(|note| note == single), "cp's of that round: {:?}", study.notes);
}

#[test]
fn an_absent_program_makes_the_report_count_for_nothing() {
    let mut rows = rounds(1);
    rows[0].absent = vec!["mbuffer".into()];
    let study = study(&[rows]);
    assert_eq!((study.counts, study.absent), (false, vec!["mbuffer".to_string()]));
}

/// Four readers of a run share its luck: two runs are no interval, however many readers they have.
#[test]
fn readers_of_one_run_are_one_value() {
    let reader = |ms: u64| crate::row::ReaderRow {
        outcome: COMPLETED.into(),
        elapsed_ns: Some(ms * 1_000_000),
        bytes: 1 << 28,
        ..Default::default()
    };
    let run = |repeat, ms: [u64; 4]| row("pump", repeat, 1).with_readers(ms.map(reader).into());
    let study = study(&[vec![run(0, [10, 12, 14, 16]), run(1, [20, 22, 24, 26])]]);
    let readers = study.cells[0].results["time"];
    assert_eq!((readers.n, readers.mean.round(), readers.interval), (2, 18e6, None));
    assert_eq!(readers.standard_error.map(f64::round), Some(5e6), "of means of 13 and 23 ms");
    let two_gib = f64::from(1 << 30) * (1.0 / 0.013 + 1.0 / 0.023) / 2.0;
    let rates = ["bandwidth", "reader_bandwidth"].map(|name| study.cells[0].median(name));
    let is = |rate: Option<f64>, other: f64| rate.is_some_and(|rate| (rate / other - 1.0).abs() < 1e-9);
    assert!(is(rates[0], two_gib) && is(rates[1], two_gib / 4.0), "{rates:?}");
}

#[test]
fn the_cpu_time_of_the_soaker_stands_beside_that_of_the_process() {
    let soaker = |cpu_ns: Option<i64>| {
        let (noisy, why) = (cpu_ns.is_none(), vec!["not quiet".into()]);
        Some(crate::row::Soaked {
            cpu_ns,
            noisy,
            why,
            fallback: vec!["nice 19".into()],
            ..Default::default()
        })
    };
    let mut rows = rounds(3);
    rows.retain(|row| row.asked[COMMAND] == "cp".into());
    for (row, cpu_ns) in rows.iter_mut().zip([Some(2 << 30), Some(-(1 << 30)), None]) {
        (row.soaker, row.requests) = (soaker(cpu_ns), Some(1 << 10));
    }
    let study = study(&[rows]);
    let cell = &study.cells[0];
    let means = |name: &str| cell.results.get(name).map(|it| (it.n, it.mean));
    assert_eq!(means("soaker_cpu"), Some((2, 0.5)));
    assert_eq!(means("soaker_request_cpu"), Some((2, 524_288.0)));
    let notes = ["1 of 3 runs with the soaker are noisy; the first: not quiet", "the soaker: nice 19"];
    assert_eq!(study.notes[1..], notes);
    assert!(study.notes[0].starts_with("disturbed runs: 1 (the soaker was noisy: 1), in no verdict"));
}

#[test]
fn disturbed_runs_stand_in_tables_and_in_no_ratio_unless_they_are_kept() {
    let mut rows = rounds(5);
    for row in rows.iter_mut().filter(|row| row.repeat < 2) {
        (row.pace_before_ns, row.pace_after_ns) = (Some(5_000_000), Some(6_000_000));
    }
    for (keep, pairs) in [(false, 3), (true, 5)] {
        let study = Summary::of_files(&[rows.clone()], keep).studies.remove(0);
        assert_eq!((study.disturbed.pace, study.disturbed.kept), (6, keep));
        assert!(study.notes[0].starts_with("disturbed runs: 6 (the processor's pace"), "{:?}", study.notes);
        assert!(study.cells.iter().all(|cell| cell.completed == 5));
        let mut ratios = study.cells.iter().flat_map(|cell| &cell.ratios).peekable();
        assert!(ratios.peek().is_some() && ratios.all(|it| it.pairs == pairs), "{keep}");
    }
}

#[test]
fn marks_and_mixtures_are_noted() {
    let mut rows = rounds(1);
    rows[0].load = 1.5;
    rows[1].quiet = Some(false);
    rows[2].host = "other".into();
    let notes = study(&[rows]).notes.join("\n");
    for hint in ["1 of 3 runs began at a load", "1 of 3 runs started while", "rows of several hosts"] {
        assert!(notes.contains(hint), "{notes}");
    }
}
