//! Statement S16, on paced ends: what each way to wait costs while 64 KiB come every 2 ms. Busy polling uses at least
//! 90 % of a CPU, each way to sleep at most 30 %. Prints the table.

use std::process::{Child, Stdio};

use crate::support::{Home, expect};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::Value;

const REQUESTS: u64 = 1024;

/// What a run spent, as shares of its time.
struct Spent {
    /// CPU time.
    cpu: f64,
    /// Its main thread was ready to run, and another had the CPU.
    kept_waiting: f64,
}

/// A pump that writes 64 KiB to its standard output every 2 ms.
fn feeder(home: &Home) -> Child {
    let words = ["copy", "-q", "--bwlimit=32MiB", "--request-size=64KiB", "--lanes=1", "null:64MiB", "-"];
    home.command(&words).stdout(Stdio::piped()).spawn().expect("pump was built")
}

/// Pumps what is fed away. The kernel's account of the main thread is read when it has ended and before it is gone.
fn spent(engine: &str, wait: &str) -> Spent {
    let home = Home::new();
    let mut feeder = feeder(&home);
    let input = feeder.stdout.take().expect("a pipe");
    let (engine, wait) = (format!("--engine={engine}"), format!("--wait={wait}"));
    let words =
        ["copy", "--json", "--request-size=64KiB", "--depth=2", "--lanes=1", &engine, &wait, "-", "null:"];
    let reader = home.command(&words).stdin(input).stdout(Stdio::piped()).spawn().expect("pump was built");
    let process = Pid::from_child(&reader);
    waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("a child");
    let account =
        std::fs::read_to_string(format!("/proc/{}/schedstat", reader.id())).expect("it is not gone yet");
    let out = reader.wait_with_output().expect("it ended");
    assert!(feeder.wait().expect("it ends with its reader").success() && out.status.success());
    let text = String::from_utf8(out.stdout).expect("JSON");
    let report: Value = serde_json::from_str(text.lines().last().expect("a report")).expect("JSON");
    assert_eq!(report["requests"], REQUESTS, "{engine} {wait}");
    let ns = |of: &Value| of.as_f64().expect("a time");
    let delay_ns: f64 =
        account.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).expect("three numbers");
    let elapsed_ns = ns(&report["elapsed_ns"]);
    let cpu_ns = ns(&report["cpu"]["user_ns"]) + ns(&report["cpu"]["system_ns"]);
    Spent { cpu: cpu_ns / elapsed_ns, kept_waiting: delay_ns / elapsed_ns }
}

/// Time in which the machine had no CPU for it is not counted: it was ready to spin.
#[test]
fn s16_busy_polling_uses_a_cpu_and_sleeping_does_not() {
    let mut wrong = Vec::new();
    for (engine, wait) in [
        ("inline", "kernel"),
        ("uring", "kernel"),
        ("uring", "eventfd"),
        ("uring", "spin"),
        ("threads", "kernel"),
        ("threads", "eventfd"),
        ("threads", "spin"),
    ] {
        let spent = spent(engine, wait);
        let share = spent.cpu / (1.0 - spent.kept_waiting).max(0.01);
        println!(
            "{engine:>8} {wait:<8} {:>5.1} % of a CPU, {:>5.1} % of the time it could have had",
            spent.cpu * 100.0,
            share * 100.0
        );
        let right = if wait == "spin" { share >= 0.9 } else { spent.cpu <= 0.3 };
        if !right {
            wrong.push(format!("{engine} {wait}: {share:.3}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The study that measures the same, and its sister on null ends.
#[test]
fn the_studies_of_waiting_run() {
    let home = Home::new();
    for (study, cells) in [("cpu-waits", 7), ("waits-paced", 7)] {
        let words = ["lab", "run", study, "--quick", "--repeats", "1", "--json"];
        let run = home.pump(&words);
        expect(&run, 0, &[], study);
        let rows = std::fs::read_to_string(home.path(format!("{study}.jsonl"))).expect("rows");
        assert_eq!(rows.lines().count(), cells, "{study}: {rows}");
        assert!(rows.lines().all(|row| row.contains("\"outcome\":\"completed\"")), "{study}: {rows}");
    }
}
