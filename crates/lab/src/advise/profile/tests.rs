//! Profiles of made-up rows: what is forecast, what is refused.

use super::*;
use crate::judge::stats::tests::deviate;
use crate::row::COMPLETED;
use crate::study::COMMAND;
use datapump::{Bill, BillHost, Billed, Report};
use datapump_engine::sim::Random;

const MIB: u64 = 1 << 20;

/// A run of a command, of a gigabyte, that costs a byte and a request so much, at so many bytes per second.
fn row(command: &str, size: &str, cb: f64, cr_us: f64, bytes_per_second: f64, time: &str) -> Row {
    let request = datapump::units::parse_bytes(size).expect("a size") as f64;
    let bytes = 1_000_000_000;
    Row {
        study: components::STUDY.into(),
        asked: [(COMMAND, command), ("request_size", size)]
            .map(|(name, level)| (name.into(), level.into()))
            .into(),
        outcome: COMPLETED.into(),
        bytes,
        elapsed_ns: (bytes as f64 * 1e9 / bytes_per_second) as u64,
        user_ns: Some(((cb + cr_us * 1000.0 / request) * bytes as f64) as u64),
        system_ns: Some(0),
        time: time.into(),
        ..Row::default()
    }
}

const SIZES_HERE: [&str; 4] = ["64KiB", "256KiB", "1MiB", "4MiB"];

fn rows() -> Vec<Row> {
    let parts = [
        ("pump", 0.0, 0.02, 1e12),
        ("network", 0.3, 5.0, 4e9),
        ("source", 0.02, 8.0, 3e9),
        ("sink", 0.04, 10.0, 1.5e9),
        ("both", 0.05, 15.0, 1e9),
    ];
    parts
        .iter()
        .flat_map(|&(command, cb, cr, speed)| SIZES_HERE.map(|size| row(command, size, cb, cr, speed, "")))
        .collect()
}

fn profile() -> Profile {
    Profile {
        time: "2026-01-01T00:00:00Z".into(),
        ..of_rows(&rows(), Path::new("."), None).expect("in order")
    }
}

/// Copies, runs of less and rows of other studies are in no component.
#[test]
fn a_profile_is_of_the_largest_runs_of_the_parts() {
    let small = Row { bytes: 1000, ..row("network", "1MiB", 9.0, 9.0, 1e9, "") };
    let other = Row { study: "cpu".into(), ..row("source", "1MiB", 9.0, 9.0, 1e9, "") };
    let all: Vec<Row> =
        rows().into_iter().chain([small, other, row("copy", "1MiB", 9.0, 9.0, 1e9, "")]).collect();
    assert_eq!(of_rows(&all, Path::new("."), None).expect("in order").components, profile().components);
}

fn chain(words: &str) -> Vec<String> {
    words.split(',').map(String::from).collect()
}

#[test]
fn a_chain_costs_the_sum_of_its_parts_and_is_as_fast_as_the_slowest() {
    let profile = profile();
    let request = MIB as f64;
    // One disk serves both ends: 1 GB/s, as if they took turns. An end contains a pump, the network two.
    for (words, size, bottleneck, bytes_per_second, ns_per_byte) in [
        ("disk_source,pump,disk_sink", MIB, "disk", 1e9, 0.06 + (18.0 - 0.02) * 1000.0 / request),
        ("disk_source,pump", MIB, "disk_source", 3e9, 0.02 + 8000.0 / request),
        (
            "disk_source,pump,network,pump,disk_sink",
            MIB,
            "disk",
            // No sender was measured: disk and network in turn.
            1.0 / (1e-9 + 0.25e-9),
            0.36 + (23.0 - 0.04) * 1000.0 / request,
        ),
        ("pump,disk_sink", 2 * MIB, "disk_sink", 1.5e9, 0.04 + 10.0 * 1000.0 / (2.0 * request)),
    ] {
        let got = profile.forecast(&chain(words), size).expect("known");
        assert_eq!(got.bottleneck, bottleneck, "{words}: {got:?}");
        assert!((got.bytes_per_second / bytes_per_second - 1.0).abs() < 1e-3, "{words}: {got:?}");
        assert!((got.ns_per_byte / ns_per_byte - 1.0).abs() < 1e-3, "{words}: {got:?} for {ns_per_byte}");
        assert_eq!(got.by, if size == MIB { "sizes" } else { "line" });
    }
    let speed = |profile: &Profile| {
        profile.forecast(&chain("disk_source,disk_sink"), MIB).expect("known").bytes_per_second
    };
    let mut better = profile.clone();
    better.components[4].sizes.iter_mut().for_each(|size| size.bytes_per_second = 1.2e9);
    assert!((speed(&better) / 1.2e9 - 1.0).abs() < 1e-3, "what was measured for both at once");
    better.components.truncate(4);
    assert!((speed(&better) / 1e9 - 1.0).abs() < 1e-3, "in turns, by an older profile");
    let error = profile.forecast(&chain("disk_source,tape"), MIB).expect_err("unknown").to_string();
    assert!(error.contains("no component 'tape'") && error.contains("disk_sink"), "{error}");
}

/// A network adds as much to a copy on one disk as to a source; nothing where a sender was faster by noise.
#[test]
fn a_network_slows_a_copy_by_as_much_as_its_sender() {
    let words = chain("disk_source,pump,network,pump,disk_sink");
    for (sender, seconds_per_byte) in [(2e9, 1e-9 + 0.5e-9 - 1e-9 / 3.0), (3.5e9, 1e-9)] {
        let sides = SIZES_HERE.map(|size| with_sides(row("sender", size, 0.4, 1.0, sender, ""), 0.5));
        let all: Vec<Row> = rows().into_iter().chain(sides).collect();
        let made = of_rows(&all, Path::new("."), None).expect("in order");
        let got = made.forecast(&words, MIB).expect("known");
        assert_eq!(got.bottleneck, "disk");
        assert!((got.bytes_per_second * seconds_per_byte - 1.0).abs() < 1e-3, "{sender}: {got:?}");
    }
}

/// 100 MB/s, beside a disk of 1 GB/s: the sender waits for it, and its loop copies for 0.4 ns of the 10 for a byte.
#[test]
fn a_slow_network_is_as_fast_as_it_is_alone() {
    let words = chain("disk_source,pump,network,pump,disk_sink");
    let slow = |row: Row| match row.asked.get(COMMAND) {
        Some(command) if *command == crate::study::Level::from("network") => {
            Row { elapsed_ns: 10_000_000_000, ..row }
        }
        _ => row,
    };
    let sides = SIZES_HERE.map(|size| with_sides(row("sender", size, 0.8, 1.0, 1e8, ""), 0.5));
    for (what, sides) in [("with a sender", &sides[..]), ("without one", &[])] {
        let all: Vec<Row> = rows().into_iter().map(slow).chain(sides.iter().cloned()).collect();
        let got =
            of_rows(&all, Path::new("."), None).expect("in order").forecast(&words, MIB).expect("known");
        assert_eq!(got.bottleneck, "network", "{what}: {got:?}");
        assert!((got.bytes_per_second / 1e8 - 1.0).abs() < 1e-3, "{what}: {got:?}");
    }
}

/// Statement S29: Cb and Cr of a forecast are the sums of the stored parts, each pump once. A forecast by the line at
/// two sizes has both.
#[test]
fn s29_a_forecast_costs_the_sums_of_the_stored_parts() {
    let profile = profile();
    let pump = profile.component("pump").expect("it is there");
    for (words, pumps_within) in [
        ("pump", 0.0),
        ("disk_source,pump", 1.0),
        ("disk_source,pump,disk_sink", 2.0),
        ("disk_source,pump,network", 3.0),
        ("network,pump,disk_sink", 3.0),
    ] {
        let parts: Vec<&Component> =
            chain(words).iter().map(|name| profile.component(name).expect("it is there")).collect();
        let sum = |of: fn(&Component) -> f64| {
            parts.iter().map(|part| of(part)).sum::<f64>() - pumps_within * of(pump)
        };
        let (cb, cr) = (sum(|part| part.cb_ns_per_byte), sum(|part| part.cr_us_per_request));
        let [small, large] = [96 << 10, 8 * MIB].map(|size| {
            let got = profile.forecast(&chain(words), size).expect("known");
            assert_eq!(got.by, "line", "{words}");
            (1e3 / size as f64, got.ns_per_byte)
        });
        let forecast_cr = (small.1 - large.1) / (small.0 - large.0);
        let forecast_cb = small.1 - forecast_cr * small.0;
        assert!((forecast_cr - cr).abs() <= 1e-9 * cr, "{words}: Cr {forecast_cr} for {cr}");
        assert!((forecast_cb - cb).abs() <= 1e-9, "{words}: Cb {forecast_cb} for {cb}");
        // Where a size was measured, what the parts took there is added up.
        let at = |part: &Component| part.sizes[2].ns_per_byte;
        let got = profile.forecast(&chain(words), MIB).expect("known").ns_per_byte;
        let measured = parts.iter().map(|part| at(part)).sum::<f64>() - pumps_within * at(pump);
        assert!((got - measured).abs() <= 1e-9 * measured, "{words}: {got} for {measured}");
    }
}

/// One answer from one file: a fit and a profile of the same rows count the same CPU time.
#[test]
fn a_profile_and_a_fit_of_its_rows_agree() {
    let counted = |row: Row| Row { machine_cpu_ns: Some(7 * row.user_ns.unwrap_or(0)), ..row };
    let rows: Vec<Row> = rows().into_iter().map(counted).collect();
    for cpu in [None, Some(CpuBy::Machine), Some(CpuBy::Process)] {
        let profile = of_rows(&rows, Path::new("."), cpu).expect("in order");
        let fits = crate::judge::cost::fit_rows(&rows, crate::judge::cost::Model::Cost, false, cpu).fits;
        let component = profile.component("disk_source").expect("a part");
        let group =
            fits.iter().find(|group| group.asked.get(COMMAND) == Some(&"source".into())).expect("a fit");
        let fit = serde_json::to_value(group).expect("JSON");
        assert_eq!((group.cpu_by, profile.cpu_by), (Some(profile.cpu_by), cpu.unwrap_or(CpuBy::Process)));
        assert_eq!(fit["cb_ns_per_byte"], component.cb_ns_per_byte);
        assert_eq!(fit["cr_us_per_request"], component.cr_us_per_request);
    }
    let text = profile_text(&of_rows(&rows, Path::new("."), None).expect("in order"));
    assert!(text.contains("CPU time of the process (user and system)"), "{text}");
    let copies = [row("copy", "1MiB", 0.06, 18.0, 1e9, "2026-01-02T00:00:00Z")];
    let by_machine = of_rows(&rows, Path::new("."), Some(CpuBy::Machine)).expect("in order");
    let by_machine = Profile { time: "2026-01-01T00:00:00Z".into(), ..by_machine };
    let error = by_machine.against(&chain("disk_source"), &copies).expect_err("another measure").to_string();
    assert!(error.contains("the profile has CPU time of the whole machine"), "{error}");
}

/// Where the line bends a size between two measured ones costs what lies straight between them.
#[test]
fn where_a_line_bends_forecasts_go_from_size_to_size() {
    let mut profile = profile();
    profile.components[2].predictions = Predictions::BetweenSizes;
    profile.components[2].sizes[2].ns_per_byte = 0.9;
    let source = chain("disk_source,pump");
    let got = profile.forecast(&source, 2 * MIB).expect("known");
    let next = profile.components[2].sizes[3].ns_per_byte;
    // 1/2 lies a third of the way from 1/4 to 1.
    assert!((got.ns_per_byte - (next + (0.9 - next) / 3.0)).abs() < 1e-9, "{got:?}");
    assert_eq!(got.by, "between sizes");
    assert_eq!(profile.forecast(&source, MIB).expect("known").by, "sizes");
}

#[test]
fn forecasts_are_set_against_copies_that_came_later() {
    let profile = profile();
    let copies =
        |time: &str| SIZES_HERE.map(|size| row("copy", size, 0.06, 18.0 - 0.02, 1.02e9, time)).to_vec();
    let words = chain("disk_source,pump,disk_sink");
    let against = profile.against(&words, &copies("2026-01-02T00:00:00Z")).expect("later");
    assert_eq!(against.sizes.len(), 4);
    assert!((against.bandwidth_error_median_percent - 2.0).abs() < 0.1, "{against:?}");
    assert!(against.cpu_error_worst_percent < 0.1, "{against:?}");
    let error = profile.against(&words, &copies("2025-12-31T00:00:00Z")).expect_err("earlier").to_string();
    assert!(error.contains("a forecast comes before"), "{error}");
    // The user can mend the name of a part that is not there, with rows as without.
    let error = profile.against(&chain("tape"), &copies("2026-01-02T00:00:00Z")).expect_err("unknown");
    assert!(error.is::<crate::judge::cost::InputError>(), "{error:#}");
}

/// Statement S31: the error of CPU time is printed for each request size, and flagged above 30 %.
#[test]
fn s31_a_cpu_error_above_30_percent_is_flagged() {
    let profile = profile();
    let words = chain("disk_source,pump,disk_sink");
    let copy = |size, cr| row("copy", size, 0.06, cr, 1.02e9, "2026-01-02T00:00:00Z");
    for (large_cr, flagged) in [(18.0, false), (22.0, false), (60.0, true), (2.0, true)] {
        let rows = [copy("64KiB", 18.0), copy("256KiB", large_cr)];
        let against = profile.against(&words, &rows).expect("later");
        let text = ProfileCheck::lines(&against);
        let flag = "warning: CPU: the forecast is off by more than 30 % at 256.0 KiB\n";
        assert_eq!(text.contains("warning"), flagged, "{large_cr}: {text}");
        assert_eq!(text.ends_with(flag), flagged, "{large_cr}: {text}");
        for size in &against.sizes {
            let error = size.cpu_error_percent.expect("both cost something");
            assert!(text.contains(&format!("{error:+.1}")), "{error}: {text}");
        }
    }
}

#[test]
fn a_profile_of_another_machine_is_refused_unless_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("profile.json");
    let write = |profile: &Profile| {
        std::fs::write(&path, serde_json::to_string(profile).expect("JSON")).expect("room");
    };
    write(&profile());
    let ours = Profile::read(&path, false).expect("ours");
    assert_eq!((ours.machine, ours.components.len()), (profile().machine, 5));
    let mut other = profile();
    other.machine.host = "elsewhere".into();
    write(&other);
    let error = format!("{:#}", Profile::read(&path, false).expect_err("another"));
    assert!(
        error.contains("another machine: its host is elsewhere") && error.contains("--other-machine"),
        "{error}"
    );
    assert_eq!(Profile::read(&path, true).expect("it is meant").machine, other.machine);
    let (mut twice, mut still) = (profile(), profile());
    twice.components.push(twice.components[0].clone());
    still.components[1].sizes[0].bytes_per_second = 0.0;
    for (damaged, words) in [(twice, "'pump' is there twice"), (still, "'network' has a bandwidth of 0")] {
        write(&damaged);
        let error = format!("{:#}", Profile::read(&path, false).expect_err("damaged"));
        assert!(error.contains(words), "{error}");
    }
    write(&Profile { v: VERSION + 1, ..profile() });
    assert!(
        format!("{:#}", Profile::read(&path, true).expect_err("a later one")).contains("another version")
    );
    std::fs::write(&path, "{}").expect("room");
    assert!(format!("{:#}", Profile::read(&path, true).expect_err("no profile")).contains("is no profile"));
}

#[test]
fn a_failed_run_makes_no_profile() {
    let failed = Row {
        outcome: "io".into(),
        message: Some("it broke".into()),
        ..row("pump", "1MiB", 1.0, 1.0, 1e9, "")
    };
    let error = of_rows(&[failed], Path::new("."), None).expect_err("failed").to_string();
    assert!(error.contains("command pump, failed: it broke"), "{error}");
}

/// Cb and Cr of each side of a copy between two hosts.
const SENDER: (f64, f64) = (0.3, 15.0);
const RECEIVER: (f64, f64) = (0.15, 12.0);
/// CPU time of a wake-up, in microseconds.
const WAKEUP_US: f64 = 4.0;

/// With a bill of the receiver that has this share of the CPU time.
fn with_sides(row: Row, receiver: f64) -> Row {
    let cpu_s = row.user_ns.unwrap_or(0) as f64 / 1e9;
    let line = |host, cpu_seconds| Billed { host, cpu_seconds, ..Billed::default() };
    let stages =
        vec![line(BillHost::Sender, cpu_s * (1.0 - receiver)), line(BillHost::Receiver, cpu_s * receiver)];
    let report = Report { bill: Some(Bill { stages, ..Bill::default() }), ..Report::default() };
    Row { report: Some(Box::new(report)), ..row }
}

/// A run that waited so often for each request.
fn waiting(row: Row, waits: f64) -> Row {
    let requests = row.bytes.div_ceil(row.request_bytes().expect("a size"));
    Row { voluntary_switches: Some((requests as f64 * waits) as u64), ..row }
}

/// The parts and the copies of a round; copies take `more` CPU time than their parts say.
fn round_of_parts_and_copies(size: &str, more: f64) -> Vec<Row> {
    let run = |command, cb, cr, speed| row(command, size, cb, cr, speed, "");
    let request = datapump::units::parse_bytes(size).expect("a size") as f64;
    let cost = |(cb, cr): (f64, f64)| cb + cr * 1000.0 / request;
    let (sender, receiver) = (cost(SENDER), cost(RECEIVER));
    // A null end beside each side takes 0.1 ns a byte. One wake-up serves both ends of the local copy.
    let source = |command, waits| waiting(run(command, 0.02, 6.0 + WAKEUP_US * waits, 3e9), waits);
    let local = 18.0 - 0.02 - 0.5 * WAKEUP_US;
    let remote = run("network-copy", more * (SENDER.0 + RECEIVER.0), more * (SENDER.1 + RECEIVER.1), 8e8);
    vec![
        run("pump", 0.0, 0.02, 1e12),
        run("network", 0.3, 5.0, 2e9),
        source("source", 0.5),
        source("source-1", 1.0),
        source("source-4", 0.25),
        waiting(run("sink", 0.04, 10.0, 1.5e9), 0.5),
        run("both", 0.05, 15.0, 1e9),
        waiting(run("copy", 0.06 * more, local * more, 1e9), 0.5),
        with_sides(run("sender", SENDER.0 + 0.1, SENDER.1, 12e9 / 7.0), 0.1 / (sender + 0.1)),
        with_sides(run("receiver", RECEIVER.0 + 0.1, RECEIVER.1, 1e9), receiver / (receiver + 0.1)),
        with_sides(remote, receiver / (sender + receiver)),
    ]
}

/// Ten rounds with so much noise.
fn rounds_of_parts_and_copies(seed: u64, noise: f64, more: f64) -> Vec<Row> {
    let mut random = Random::seeded(seed, "parts and copies");
    let mut rows = Vec::new();
    for repeat in 0..10 {
        for exact in SIZES_HERE.iter().flat_map(|size| round_of_parts_and_copies(size, more)) {
            let mut factor = || (noise * deviate(&mut random)).exp();
            let (speed, cost) = (factor(), factor());
            let mut report = exact.report.clone();
            let stages =
                report.iter_mut().flat_map(|report| &mut report.bill).flat_map(|bill| &mut bill.stages);
            stages.for_each(|stage| stage.cpu_seconds *= cost);
            rows.push(Row {
                repeat,
                elapsed_ns: (exact.elapsed_ns as f64 * speed) as u64,
                user_ns: exact.user_ns.map(|ns| (ns as f64 * cost) as u64),
                report,
                ..exact
            });
        }
    }
    rows
}

/// Copies that cost what their parts say: nine of ten are inside, none is biased, and nearly all lines hold.
#[test]
fn copies_that_cost_what_their_parts_say_are_predicted() {
    let (mut copies, mut inside, mut figures, mut held, mut whole) = (0, 0, 0, 0, 0);
    for seed in 0..40 {
        let judged =
            JudgedCopies::from_rows(&rounds_of_parts_and_copies(seed, 0.05, 1.0), None).expect("parts");
        assert_eq!(judged.figures.len(), 6 * (SIZES_HERE.len() + 1));
        whole += usize::from(judged.holds);
        for figure in &judged.figures {
            assert!(figure.request_size_bytes.is_some() || figure.bias_percent.abs() < 5.0, "{figure:?}");
            (figures, held) = (figures + 1, held + usize::from(figure.holds));
            let of_size = figure.inside.filter(|_| figure.request_size_bytes.is_some());
            (copies, inside) = (copies + of_size.map_or(0, |_| figure.n), inside + of_size.unwrap_or(0));
        }
    }
    let share = inside as f64 / copies as f64;
    assert!((0.86..=0.94).contains(&share), "{inside} of {copies} inside");
    // Ten copies show so little of one size that one line of eight does not hold by chance.
    assert!(held * 100 >= figures * 85, "{held} of {figures} hold");
    assert!(whole >= 34, "{whole} of 40 hold as a whole");
}

/// Without its wake-ups a copy would be predicted to take what both ends take alone.
#[test]
fn one_wake_up_of_a_local_copy_serves_both_ends() {
    let made = of_rows(&rounds_of_parts_and_copies(1, 0.0, 1.0), Path::new("."), None).expect("parts");
    assert!((made.wakeup_us.expect("known") - WAKEUP_US).abs() < 0.01, "{:?}", made.wakeup_us);
    let got =
        |made: &Profile| made.forecast(&chain("disk_source,pump,disk_sink"), MIB).expect("known").ns_per_byte;
    let alone = got(&Profile { wakeup_us: None, ..made.clone() });
    let saved = (alone - got(&made)) * MIB as f64 / 1000.0;
    assert!((saved - 0.5 * WAKEUP_US).abs() < 0.01, "{saved} us a request");
    assert!(profile_text(&made).contains("a wake-up: 4.00 us"));
}

/// Where runs with one request under way wait about as often as runs with four, what a wake-up takes is not known; nor where
/// more of them took less. However much it is said to take, an end has no more to save than it costs.
#[test]
fn wake_ups_that_are_not_known_save_nothing() {
    let wakeup_us = |one: &[f64], four: &[f64], more_us: f64| {
        let runs = |command: &'static str, waits: &[f64], cr| {
            let run = |waits: &f64| waiting(row(command, "1MiB", 0.02, cr, 3e9, ""), *waits);
            waits.iter().map(run).collect::<Vec<_>>()
        };
        let all = [runs("source-1", one, 6.0 + more_us), runs("source-4", four, 6.0)].concat();
        components::wakeup_us(&all, CpuBy::Process).expect("in order")
    };
    for (what, one, four, more_us, is_known) in [
        ("four times as many", [1.0, 0.9, 1.1], [0.25, 0.3, 0.2], 3.0, true),
        ("as many", [0.31, 0.3, 0.32], [0.3, 0.31, 0.29], 3.0, false),
        ("a few more, and one run that has not", [0.5, 0.3, 0.5], [0.3, 0.31, 0.29], 3.0, false),
        ("more, in less time", [1.0, 0.9, 1.1], [0.25, 0.3, 0.2], -3.0, false),
    ] {
        let got = wakeup_us(&one, &four, more_us);
        assert_eq!(got.is_some_and(|us| us > 0.0), is_known, "{what}: {got:?}");
        assert!(is_known || got.is_none(), "{what}: {got:?}");
    }
    let made = of_rows(&rounds_of_parts_and_copies(1, 0.0, 1.0), Path::new("."), None).expect("parts");
    let much = Profile { wakeup_us: Some(1e6), ..made.clone() };
    let of = |words: &str| much.forecast(&chain(words), MIB).expect("known").ns_per_byte;
    let [source, sink, both] = ["disk_source,pump", "pump,disk_sink", "disk_source,pump,disk_sink"].map(of);
    assert!((both / source.max(sink) - 1.0).abs() < 1e-9, "{both} for {source} and {sink}");
}

#[test]
fn copies_that_cost_more_than_their_parts_say_do_not_hold() {
    let judged = JudgedCopies::from_rows(&rounds_of_parts_and_copies(1, 0.02, 1.15), None).expect("parts");
    let of_all = judged.figures.iter().filter(|figure| figure.request_size_bytes.is_none());
    for figure in of_all {
        let is_cpu = figure.figure != CopyFigure::Bandwidth;
        assert_eq!(figure.holds, !is_cpu, "{figure:?}");
        assert!(!is_cpu || (10.0..20.0).contains(&figure.bias_percent), "{figure:?}");
    }
    assert!(!judged.holds);
    let text = JudgedCopies::lines(&judged);
    for part in ["network-copy: CPU time of the sender, ns/B", "does not hold", "next copy %", "of 30 hold"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let error = JudgedCopies::from_rows(&rows(), None).expect_err("no copies").to_string();
    assert!(error.contains("the rows have no copies"), "{error}");
}

/// A forecast has the interval of its rounds, at a size that was not measured that of the nearest.
#[test]
fn a_forecast_says_between_what_nine_of_ten_copies_are() {
    let words = chain("disk_source,pump,disk_sink");
    let noisy = rounds_of_parts_and_copies(2, 0.05, 1.0);
    let made = of_rows(&noisy, Path::new("."), None).expect("parts");
    for size in [MIB, 2 * MIB] {
        let got = made.forecast(&words, size).expect("known");
        let (low, high) = got.ns_per_byte_low.zip(got.ns_per_byte_high).expect("an interval");
        assert!(low < got.ns_per_byte && got.ns_per_byte < high, "{got:?}");
        // Ten runs with 5 %: 1.92 times 5 % on each side.
        assert!((0.05..0.16).contains(&(high / got.ns_per_byte - 1.0)), "{got:?}");
        assert!(got.bytes_per_second_low.is_some_and(|low| low < got.bytes_per_second), "{got:?}");
        assert!(ChainForecast::lines(&[got]).contains(".."));
    }
    let once = profile().forecast(&words, MIB).expect("known");
    assert_eq!(
        (once.ns_per_byte_low, once.bytes_per_second_high),
        (None, None),
        "of one round nothing is known"
    );
}
