//! Every study of the file lab, and of TCP, runs in its small form: each cell has a row in each round, and what failed
//! says why.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Home, expect};
use crate::wider_parts::sshd::Sshd;
use serde_json::Value;

/// The studies that have no test of their own below. What a machine cannot do is a row with a reason, and status 23.
const STUDIES: [&str; 19] = [
    "seqio",
    "seqio-fio",
    "seqio-sync",
    "access",
    "access-network",
    "readers",
    "readers-paced",
    "growth-size",
    "growth-files",
    "crossings",
    "stripe",
    "disks",
    "disk-net",
    "tcp-response",
    "tcp-recovery",
    "tcp-buffers",
    "tcp-sharing",
    "udp-latency",
    "udp-throughput",
];

/// A row for each cell and round, and a reason for each that has no result.
fn check(study: &str, rows: &[Value]) {
    assert!(!rows.is_empty(), "{study}");
    let runs: BTreeSet<String> =
        rows.iter().map(|row| format!("{} {}", row["asked"], row["repeat"])).collect();
    assert_eq!(runs.len(), rows.len(), "{study}: a cell is twice in a round");
    let completed = rows.iter().filter(|row| row["outcome"] == "completed");
    let unavailable = rows.iter().filter(|row| row["outcome"] == "unavailable").count();
    assert!(completed.clone().count() * 2 > rows.len() - unavailable, "{study}: {rows:?}");
    completed.for_each(|row| assert!(row["elapsed_ns"].as_u64() > Some(0), "{row}"));
    for row in rows.iter().filter(|row| row["outcome"] != "completed") {
        let why = row["message"].as_str().unwrap_or_default();
        println!("{study}: {}: {why}", row["asked"]);
        assert!(!why.is_empty(), "no reason: {row}");
    }
}

#[test]
fn every_study_runs_in_its_small_form() {
    for study in STUDIES {
        let home = Home::new();
        let run = home.pump(&["lab", "run", study, "--quick", "--out", "rows.jsonl"]);
        let row = format!("{study}: {}", run.err);
        assert!([0, 23].contains(&run.status), "{row}");
        expect(&run, run.status, &["runs"], &row);
        check(study, &home.rows("rows.jsonl"));
        println!("{study}: {} runs", home.rows("rows.jsonl").len());
    }
}

/// Rows of a study in its small form.
fn small_form(home: &Home, study: &str, repeats: &str) -> Vec<Value> {
    let run = home.pump(&["lab", "run", study, "--quick", "--repeats", repeats, "--out", "rows.jsonl"]);
    assert!([0, 23].contains(&run.status), "{study}: {}", run.err);
    let rows = home.rows("rows.jsonl");
    check(study, &rows);
    rows
}

/// On a path of 20 ms no fresh connection takes fewer rounds than the table says, and none behind a pause in which the
/// kernel resets its window. A busy machine adds rounds and takes none away: that they are no more is for rows.
#[test]
fn s63_rounds_are_those_of_the_table_and_a_pause_costs_them_again() {
    let home = Home::new();
    let mut least: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for row in small_form(&home, "request-response", "2") {
        let of = |name: &str| row["achieved"][name].as_f64().expect(name);
        let (idle, is_reset) = (&row["asked"]["idle"], row["asked"]["idle_reset"] == 1);
        let later = if *idle != "0s" && is_reset { of("fresh_rounds") } else { 1.0 };
        let beyond = [of("first_rounds") - of("fresh_rounds"), of("later_rounds") - later];
        let found = least.entry(format!("idle {idle}, reset {is_reset}")).or_insert(beyond);
        *found = [found[0].min(beyond[0]), found[1].min(beyond[1])];
        let events = row["achieved"]["events"].as_array().expect("events");
        assert!(events.iter().all(|event| event["event"].is_u64() && event["rounds"].is_u64()), "{row}");
    }
    assert!(least.len() == 4 && least.values().flatten().all(|beyond| *beyond >= -1.0), "{least:?}");
}

/// Every cell has a range, and pump's own flows are told.
#[test]
fn s66_applications_have_rates_and_a_fixed_time_beside_the_probe() {
    let home = Home::new();
    let rows = small_form(&home, "applications", "1");
    let is_pump = |row: &&Value| row["asked"]["command"] == "pump";
    assert!(
        rows.iter()
            .filter(is_pump)
            .all(|row| row["achieved"]["flows"][0]["bytes_per_s"].as_f64() > Some(0.0))
    );
    let fit = home.pump(&["lab", "fit", "rows.jsonl", "--keep-disturbed", "--model", "overhead"]);
    expect(&fit, 0, &["iperf3: ", "pump: ", "rsync: ", " Mbit/s (n 1)", " % of the probe"], "fit");
    let left = std::fs::read_dir("/dev/shm").expect("memory").flatten();
    let left: Vec<_> =
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with("pump-lab-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The report of the grid: half-power point and both measures of CPU time.
#[test]
fn the_costs_of_requests_are_fitted_from_the_rows_of_a_grid() {
    let home = Home::new();
    let set =
        ["--set", "request_size=16KiB,64KiB,1MiB", "--set", "soaker=off,on", "--set", "caching=buffered"];
    let set =
        [&set[..], &["--set", "command=pump", "--set", "operation=read", "--set", "engine=inline"]].concat();
    let words =
        [&["lab", "run", "seqio", "--quick", "--repeats=2", "--out", "rows.jsonl"][..], &set].concat();
    expect(&home.pump(&words), 0, &[], "run");
    let fits = home.pump(&["lab", "fit", "rows.jsonl", "--keep-disturbed", "--model", "cost"]);
    // The half-power point is there unless a busy machine makes the largest requests the slow ones: unit tests have it.
    expect(&fits, 0, &["ns/byte", "CPU time by the soaker", "CPU time of the process"], "fit");
}

/// The other host is this one, behind a real sshd: its programs, ticket, settings and files are there and not here, and
/// nothing of a run is left at either.
#[test]
fn the_other_end_may_be_a_real_host() {
    let home = Home::new();
    let _sshd = Sshd::new(&home, None);
    let stack = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").expect("Linux");
    let stack = format!("stack={}", stack.trim());
    let small = "size=1MiB";
    for (number, study, set, outcome) in [
        (1, "udp-throughput", &["spacing=20us"][..], "completed"),
        (2, "tcp-recovery", &["queue=none"], "completed"),
        (3, "applications", &[&stack, small, "command=iperf3,pump,scp,mbuffer"], "completed"),
        (4, "applications", &["stack=vegas", small, "command=pump"], "unavailable"),
        (5, "applications", &[&stack, small, "command=rsync"], "unavailable"),
    ] {
        let rows_of = format!("{number}.jsonl");
        let mut words = vec!["lab", "run", study, "--quick", "--out", &rows_of, "--set", "path=host:loop"];
        ["rate=none", "rtt=none"].iter().for_each(|level| words.extend(["--set", level]));
        set.iter().for_each(|level| words.extend(["--set", level]));
        let ssh = Sshd::ssh(&home, "");
        let run = home.pump_with(("PUMP_LAB_SSH", &ssh), &words);
        let found: BTreeSet<String> = home
            .rows(&rows_of)
            .iter()
            .map(|row| row["outcome"].as_str().expect("an outcome").to_owned())
            .collect();
        assert!(found.iter().eq([outcome]), "{study} {set:?}: {} {:?}", run.err, home.rows(&rows_of));
    }
    for folder in ["/tmp", "/dev/shm"] {
        let left = std::fs::read_dir(folder).expect("a folder").flatten();
        let left: Vec<_> =
            left.filter(|it| it.file_name().to_string_lossy().starts_with("pump-other-")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
