//! Files become groups, groups become fits.

use super::*;
use crate::judge::cost::tests::golden;
use crate::row::ReaderRow;
use crate::row::{COMPLETED, RowFile, VERSION};
use serde_json::json;

/// A run that costs 2 ns for a byte and 50 us for a request.
fn row(study: &str, depth: i64, request_size: &str, repeat: u32) -> Row {
    let request_bytes = datapump::units::parse_bytes(request_size).expect("a size");
    let bytes: u64 = 1 << 30;
    let cpu_ns = 2 * bytes + bytes / request_bytes * 50_000;
    let asked =
        BTreeMap::from([("request_size".into(), Level::from(request_size)), ("depth".into(), depth.into())]);
    Row {
        v: VERSION,
        study: study.into(),
        asked,
        repeat,
        outcome: COMPLETED.into(),
        bytes,
        elapsed_ns: 10_000_000_000,
        cpus: 2,
        user_ns: Some(cpu_ns / 4),
        system_ns: Some(cpu_ns / 4),
        machine_cpu_ns: Some(cpu_ns),
        ..Row::default()
    }
}

fn rows(change: impl Fn(Row) -> Row) -> Vec<Row> {
    let sizes = ["32KiB", "64KiB", "128KiB", "256KiB"];
    let cell =
        |depth| sizes.iter().flat_map(move |size| (0..3).map(move |round| row("tiny", depth, size, round)));
    [1, 4].into_iter().flat_map(cell).map(change).collect()
}

fn cost(group: &GroupFit) -> (f64, f64) {
    match &group.fit {
        Fit::Cost(fit) => (fit.cb_ns_per_byte.value, fit.cr_us_per_request.value),
        Fit::LevelOff(_) => panic!("a cost fit"),
    }
}

fn is_near(got: (f64, f64), expected: (f64, f64)) -> bool {
    (got.0 - expected.0).abs() < 1e-6 && (got.1 - expected.1).abs() < 1e-3
}

#[test]
fn rows_that_differ_in_the_request_size_alone_are_one_fit() {
    let fits = fit_rows(&rows(|row| row), Model::Cost, false, None);
    let names: Vec<String> = fits.fits.iter().map(GroupFit::name).collect();
    assert_eq!(names, ["tiny, depth 1", "tiny, depth 4"]);
    assert!(fits.fits.iter().all(|group| is_near(cost(group), (1.0, 25.0))), "{fits:?}");
    assert_eq!((fits.refused, fits.notes), (vec![], vec![]));
}

#[test]
fn one_measure_of_cpu_time_is_taken_for_all_rows_and_none_is_mixed() {
    let soaked = |row: Row| {
        let soaked_ns = 2 * row.elapsed_ns - row.machine_cpu_ns.unwrap_or(0);
        Row { soaked_ns: Some(soaked_ns), machine_cpu_ns: Some(2 * row.elapsed_ns), ..row }
    };
    let soaked_once = |row: Row| if row.repeat == 0 { soaked(row) } else { row };
    let soaked_small = |row: Row| if row.asked["request_size"] == "32KiB".into() { soaked(row) } else { row };
    let machine = |row: Row| Row { user_ns: None, ..row };
    for (case, rows, asked, by, points, expected) in [
        ("process", rows(|row| row), None, CpuBy::Process, 12, (1.0, 25.0)),
        ("soaker", rows(soaked), None, CpuBy::Soaker, 12, (2.0, 50.0)),
        ("soaker in one round", rows(soaked_once), None, CpuBy::Soaker, 4, (2.0, 50.0)),
        ("soaker at one size", rows(soaked_small), None, CpuBy::Process, 12, (1.0, 25.0)),
        ("machine alone", rows(machine), None, CpuBy::Machine, 12, (2.0, 50.0)),
        ("machine, asked for", rows(|row| row), Some(CpuBy::Machine), CpuBy::Machine, 12, (2.0, 50.0)),
        ("process, asked for", rows(soaked), Some(CpuBy::Process), CpuBy::Process, 12, (1.0, 25.0)),
    ] {
        let fits = fit_rows(&rows, Model::Cost, false, asked);
        let group = &fits.fits[0];
        assert_eq!(group.cpu_by, Some(by), "{case}");
        assert_eq!(json!(group)["points"], points, "{case}");
        assert!(is_near(cost(group), expected), "{case}: {:?}", cost(group));
    }
    let none = fit_rows(&rows(soaked_small), Model::Cost, false, Some(CpuBy::Soaker));
    assert!(none.fits.is_empty(), "{none:?}");
    assert!(
        none.refused[0].why.contains("CPU time by the soaker is not there for every request size"),
        "{none:?}"
    );
}

/// Runs of two amounts are one group, with a cost of the run; of one amount they keep its level.
#[test]
fn runs_of_two_amounts_are_fitted_with_a_cost_of_the_run() {
    let of_size = |size: &'static str, bytes: u64| {
        move |mut row: Row| {
            row.asked.insert("size".into(), size.into());
            let cpu_ns = bytes + bytes / row.request_bytes().expect("a size") * 25_000 + 3_000_000;
            Row { bytes, user_ns: Some(cpu_ns), system_ns: Some(0), ..row }
        }
    };
    let both = || [rows(of_size("64MiB", 64 << 20)), rows(of_size("1GiB", 1 << 30))].concat();
    let fits = fit_rows(&both(), Model::Cost, false, None);
    assert_eq!(fits.fits.iter().map(GroupFit::name).collect::<Vec<_>>(), ["tiny, depth 1", "tiny, depth 4"]);
    assert!(is_near(cost(&fits.fits[0]), (1.0, 25.0)), "{fits:?}");
    let told = json!(fits.fits[0]);
    assert!((told["f_us_per_run"].as_f64().expect("F") - 3000.0).abs() < 0.1, "{told}");
    assert_eq!(told["residuals"][0]["run_bytes"], f64::from(64 << 20), "{told}");
    let text = fits.to_string();
    assert!(text.contains("F  3000 µs/run") && text.contains("32 KiB of 64 MiB"), "{text}");
    let near =
        |size: &'static str, bytes| [rows(of_size("1GiB", 1 << 30)), rows(of_size(size, bytes))].concat();
    let told = json!(fit_rows(&near("1200MiB", 1200 << 20), Model::Cost, false, None).fits[0]);
    assert!(told["f_us_per_run"].is_null(), "amounts that are close: {told}");
    let one = fit_rows(&rows(of_size("1GiB", 1 << 30)), Model::Cost, false, None);
    assert_eq!(one.fits[0].name(), "tiny, depth 1, size 1GiB");
}

#[test]
fn each_side_of_copies_between_two_hosts_is_fitted_by_its_bill() {
    use datapump::{Bill, BillHost, Billed, CpuStage, Report};
    let billed = |row: Row| {
        let request = row.request_bytes().expect("a size") as f64;
        let bytes = row.bytes as f64;
        let line = |host, cb: f64, cr_us: f64| Billed {
            host,
            cpu_seconds: bytes * (cb + cr_us * 1000.0 / request) / 1e9,
            ..Billed::default()
        };
        let kernel = Billed { stage: CpuStage::KernelThreads, ..line(BillHost::Sender, 7.0, 7.0) };
        let stages = vec![line(BillHost::Sender, 1.0, 20.0), kernel, line(BillHost::Receiver, 3.0, 40.0)];
        let bill = Some(Bill { stages, ..Bill::default() });
        Row {
            report: Some(Box::new(Report {
                bill,
                cpu_remote: Some(datapump::Cpu::default()),
                ..Report::default()
            })),
            ..row
        }
    };
    let fits = fit_rows(&rows(billed), Model::Cost, false, None);
    let sides: Vec<(Option<BillHost>, (f64, f64))> =
        fits.fits[..3].iter().map(|group| (group.side, cost(group))).collect();
    for (got, expected) in sides.iter().zip([
        (None, (1.0, 25.0)),
        (Some(BillHost::Sender), (1.0, 20.0)),
        (Some(BillHost::Receiver), (3.0, 40.0)),
    ]) {
        assert!(got.0 == expected.0 && is_near(got.1, expected.1), "{got:?} for {expected:?}");
    }
    let text = fits.to_string();
    assert!(text.contains("CPU time of the receiver by its bill, of the process"), "{text}");
    let machine = fit_rows(&rows(billed), Model::Cost, false, Some(CpuBy::Machine));
    let sender = machine.fits.iter().find(|group| group.side == Some(BillHost::Sender)).expect("a fit");
    assert_eq!(sender.cpu_by, Some(CpuBy::Machine));
    assert!(is_near(cost(sender), (8.0, 27.0)), "kernel threads are in it: {:?}", cost(sender));
    let without = |row: Row| {
        let mut row = billed(row);
        row.report.as_mut().expect("a report").bill = None;
        row
    };
    let fits = fit_rows(&rows(without), Model::Cost, false, None);
    assert!(fits.fits.iter().all(|group| group.side.is_none()), "{fits:?}");
    assert!(fits.notes[0].starts_with("24 copies between two hosts have no bill of both"), "{fits:?}");
}

#[test]
fn beside_the_soaker_stands_the_process_and_the_half_power_point_is_of_runs_without() {
    let soaker = |level: &'static str| {
        move |mut row: Row| {
            row.asked.insert("soaker".into(), level.into());
            let bytes = row.request_bytes().expect("a size");
            // 10 us a request, and 10 s for all bytes: half of full speed where a request costs what its bytes do.
            row.elapsed_ns = 10_000_000_000 + row.bytes / bytes * 1_000_000;
            if level == "on" {
                row.soaked_ns = Some(2 * row.elapsed_ns - row.machine_cpu_ns.unwrap_or(0));
                row.machine_cpu_ns = Some(2 * row.elapsed_ns);
            }
            row
        }
    };
    let mut both = rows(soaker("off"));
    both.extend(rows(soaker("on")));
    both.push(soaker("on")(row("tiny", 8, "1MiB", 0)));
    let fits = fit_rows(&both, Model::Cost, false, None);
    let told: Vec<(String, Option<CpuBy>, bool)> =
        fits.fits.iter().map(|group| (group.name(), group.cpu_by, group.half_power.is_some())).collect();
    let (soaked, process) = (Some(CpuBy::Soaker), Some(CpuBy::Process));
    let expected = [1, 4].map(|depth| {
        let name = |level: &str| format!("tiny, depth {depth}, soaker {level}");
        [(name("off"), process, true), (name("on"), soaked, false), (name("on"), process, false)]
    });
    assert_eq!(told, expected.concat());
    let point = fits.fits[0].half_power.expect("a point");
    assert!(point.bytes_per_s >= point.full_bytes_per_s / 2.0, "{point:?}");
    assert_eq!(fits.notes, ["1 groups have one request size and no fit"]);
    assert_eq!(fits.refused, vec![]);
    let text = fits.to_string();
    assert!(text.contains("half of ") && text.contains("CPU time of the process"), "{text}");
}

#[test]
fn rows_without_a_fit_are_named() {
    let unsized_row = |mut row: Row| {
        row.asked.remove("request_size");
        row
    };
    let no_cpu = |row: Row| Row { user_ns: None, machine_cpu_ns: None, ..row };
    let one_size = |row: Row| Row { asked: BTreeMap::from([("request_size".into(), "1KiB".into())]), ..row };
    for (rows, why) in [
        (rows(unsized_row), "no factor request_size"),
        (rows(no_cpu), "no measure of CPU time"),
        (rows(one_size), "1 request size does not tell"),
        (rows(|row| Row { bytes: 0, ..row }), "moved no bytes"),
        (rows(|row| row)[..2].to_vec(), "2 points are too few for an interval"),
    ] {
        let fits = fit_rows(&rows, Model::Cost, false, None);
        assert!(fits.fits.is_empty() && fits.refused[0].why.contains(why), "{why}: {fits:?}");
    }
}

#[test]
fn what_was_asked_counts_where_nothing_was_achieved() {
    let achieved = |row: Row| {
        let asked = row.asked["request_size"].to_string();
        let bytes = datapump::units::parse_bytes(&asked).expect("a size");
        let mut row = Row { achieved: BTreeMap::from([("request_size".into(), bytes.into())]), ..row };
        row.asked.insert("request_size".into(), format!("about {asked}").as_str().into());
        row
    };
    let fits = fit_rows(&rows(achieved), Model::Cost, false, None);
    assert!(is_near(cost(&fits.fits[0]), (1.0, 25.0)), "{fits:?}");
}

#[test]
fn failed_runs_and_torn_lines_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.jsonl");
    let mut file = RowFile::open(&path).expect("new").0;
    let failed = Row { outcome: "io".into(), ..row("tiny", 1, "1MiB", 0) };
    rows(|row| row).iter().chain([&failed]).for_each(|row| file.append(row).expect("room"));
    let whole = std::fs::read(&path).expect("readable");
    std::fs::write(&path, [&whole[..], b"{\"v\":1,\"stu"].concat()).expect("writable");
    let fits = fit_file(&path, Model::Cost, false, None).expect("fits");
    let notes = fits.notes.join("\n");
    assert!(notes.contains("1 runs failed") && notes.contains("the last line is cut off"), "{notes}");
    assert_eq!(fits.fits.len(), 2);
}

#[test]
fn many_readers_are_fitted_from_rows() {
    let of = |readers: i64| Row {
        asked: BTreeMap::from([("readers".into(), readers.into()), ("stage".into(), "plain".into())]),
        elapsed_ns: 1_000_000_000 * readers.max(3) as u64,
        bytes: 10_000_000 * readers as u64,
        ..row("legion", 1, "1MiB", 0)
    };
    let fits = fit_rows(&[1, 2, 5, 10].map(of), Model::LevelOff, false, None);
    let fit = json!(&fits.fits[0]);
    assert_eq!(fit["stage"], "plain");
    assert_eq!((&fit["r1_s"], &fit["d_s"]), (&3.0.into(), &1.0.into()), "{fit}");
    assert_eq!(fit["plateau_bytes_per_s"], 1e7);
    let refused = fit_rows(&[row("tiny", 1, "1MiB", 0)], Model::LevelOff, false, None).refused;
    assert!(refused[0].why.contains("factor readers"), "{refused:?}");
}

#[test]
fn the_latency_of_each_reader_is_fitted_and_not_the_time_of_the_run() {
    let reader = |ns: u64| ReaderRow {
        outcome: "completed".into(),
        elapsed_ns: Some(ns),
        bytes: 10_000_000,
        ..ReaderRow::default()
    };
    let of = |readers: u64, stage: &str, spread_ns: u64| {
        let second_ns = 1_000_000_000 * readers.max(3);
        let latencies_ns = (0..readers).map(|at| second_ns + spread_ns - 2 * spread_ns * (at % 2));
        let levels = [("readers", Level::Number(readers as i64)), ("stage", stage.into())];
        let asked = levels.map(|(name, level)| (name.to_string(), level)).into();
        Row { asked, elapsed_ns: u64::MAX, ..row("many", 1, "1MiB", 0) }
            .with_readers(latencies_ns.map(reader).collect())
    };
    let rows = [1, 2, 10].map(|readers| of(readers, "plain", 0)).into_iter();
    let rows: Vec<Row> = rows.chain([1, 2, 10].map(|readers| of(readers, "wide", 1_000_000))).collect();
    let rows = [&rows[..]; 3].concat();
    let fits = fit_rows(&rows, Model::LevelOff, false, None);
    let fit = json!(&fits.fits[0]);
    assert_eq!((&fit["r1_s"], &fit["d_s"], &fit["stage"]), (&3.0.into(), &1.0.into(), &"plain".into()));
    assert_eq!(fit["plateau_bytes_per_s"], 1e7, "of ten readers with 10 MB each, in 10 s");
    assert_eq!(fit["readers"][2]["n"], 30, "samples");
    assert!(fits.fits[0].to_string().starts_with("many, stage plain: latency(n)"), "{}", fits.fits[0]);
    let told = |what: &str| fits.notes.iter().filter(|note| note.contains(what)).count();
    assert_eq!((told("too few runs"), told("stages plain and wide: not separable")), (0, 2), "{fits}");
}

#[test]
fn tables_are_fitted_with_the_columns_they_have() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.csv");
    for (header, first, second, third) in [
        ("request_size_bytes,observed_ns_per_byte", "50000,3", "100000,2.5", "25000,4"),
        ("request_size,cpu_ns_per_byte", "50kB,3", "100kB,2.5", "25000B,4"),
        ("request_size_bytes,cost_us_per_request", "50000,150", "100000,250", "25000,100"),
    ] {
        std::fs::write(&path, format!("{header}\n{first}\n{second}\n{third}\n")).expect("writable");
        let fits = fit_file(&path, Model::Cost, false, None).expect(header);
        assert_eq!(fits.fits[0].name(), "t");
        assert!(is_near(cost(&fits.fits[0]), (2.0, 50.0)), "{header}: {fits:?}");
    }
}

#[test]
fn a_table_may_hold_several_components() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.csv");
    let lines = ["a,50000,3", "b,50000,1", "a,100000,2.5", "a,25000,4", "b,100000,1"].join("\n");
    std::fs::write(&path, format!("component,request_size_bytes,ns_per_byte\n{lines}\n")).expect("writable");
    let fits = fit_file(&path, Model::Cost, false, None).expect("a fit");
    assert_eq!((fits.fits.len(), fits.fits[0].name()), (1, "a".to_string()));
    assert_eq!(fits.refused[0].group, "b");
    assert!(fits.refused[0].why.contains("2 points are too few"), "{fits:?}");
}

#[test]
fn the_receiver_of_the_paper_is_warned_of() {
    for (table, words) in [
        ("datapump_table1_disk_source.csv", None),
        ("datapump_table2_disk_sink.csv", Some("the line misses by up to 13.5 %")),
        ("datapump_table3_network_sender.csv", None),
        ("datapump_table4_network_receiver.csv", Some("Cr is negative")),
        ("datapump_table5_local_copy.csv", None),
    ] {
        let fits = fit_file(&golden(table), Model::Cost, false, None).expect(table);
        let warning = json!(&fits.fits[0])["warning"].as_str().map(str::to_owned);
        assert_eq!(warning.is_some(), words.is_some(), "{table}: {warning:?}");
        assert!(warning.unwrap_or_default().contains(words.unwrap_or_default()), "{table}");
    }
    let legion = fit_file(&golden("legion_1file_latency.csv"), Model::LevelOff, false, None).expect("fits");
    assert_eq!(legion.fits.len(), 5);
}

#[test]
fn tables_that_are_not_in_order_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.csv");
    for (model, text, complaint) in [
        (Model::Cost, "size,ns\n1,2\n", "line 1: no column `request_size_bytes` or `request_size`"),
        (Model::Cost, "request_size_bytes,ns_per_byte\n1,x\n", "line 2: `ns_per_byte` must be a number"),
        (Model::Cost, "request_size,ns_per_byte\n64K,1\n", "line 2: '64K' has no clear unit"),
        (Model::Cost, "request_size,ns_per_byte\n0B,1\n", "must be above 0"),
        (Model::Cost, "request_size_bytes,ns_per_byte\n-4,1\n", "must be above 0"),
        (Model::Cost, "request_size_bytes,ns_per_byte\n4,1\n8,1\n", "2 points are too few for an interval"),
        (Model::LevelOff, "request_size_bytes,ns_per_byte\n4,1\n", "no column `readers`"),
        (Model::LevelOff, "readers,latency_s\n1.5,1\n", "`readers` must be a whole number"),
        (Model::LevelOff, "readers,latency_s\n2,1\n", "no row with 1 reader"),
        (Model::LevelOff, "", "there are no rows"),
    ] {
        std::fs::write(&path, text).expect("writable");
        let error = fit_file(&path, model, false, None).expect_err(complaint);
        assert!(error.is::<InputError>(), "{error:#}");
        assert!(format!("{error:#}").contains(complaint), "{complaint}: {error:#}");
    }
}
