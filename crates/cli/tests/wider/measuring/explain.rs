//! The verdict's bench: one limit of a copy at a time, and real. `pump copy` and `pump explain` must name that limit and
//! its host, the advice must be the right one, and the same copy with what is advised shows whether it helps. Prints
//! what was named, and what helped.
//!
//! `DATAPUMP_ROUNDS=3` makes that many rounds, each in an order of its own; `DATAPUMP_CASE=path` makes only those cases
//! that have the word, `DATAPUMP_ONE_CASE_IN=3` every third one. A full run is made in parts by one `DATAPUMP_SEED`, with
//! `DATAPUMP_MINUTES` and, for the next part, with the number of runs made as `DATAPUMP_SKIP`.

mod cases;
mod disks;
mod hosts;
mod paths;
mod programs;
mod scene;

use std::time::Instant;

use crate::wider_parts::truth::{
    HelpTable, NamedLimit, Table, deadline, is_meant, is_run, number, order, rounds,
};
use cases::LimitCase;
use scene::{Bench, LimitState};
use serde_json::Value;

/// A full run makes so many of each command, in whole rounds.
const RUNS_OF_A_FULL_RUN: usize = 300;

/// Reports of both commands on one limit, and the gain of the copy without it.
struct LimitRun {
    explain: Value,
    copy: Value,
    /// How many times as fast the copy was with what is advised.
    gain: f64,
}

/// One run of a case; `None` where its limit cannot be set here, an error where a copy failed.
fn run(bench: &Bench, case: &LimitCase) -> Result<Option<LimitRun>, String> {
    let Some(limited) = (case.limit)(bench, case.way, LimitState::On) else { return Ok(None) };
    let explain = bench.run(&limited, case, "explain", &[])?;
    let copy = bench.run(&limited, case, "copy", &[])?;
    // A flag is to help while the limit stays; all else that is advised is to take the limit away.
    let cured = match explain["advice_flag"].as_str() {
        Some(flag) => {
            let flag: Vec<&str> = flag.split(' ').collect();
            bench.run(&limited, case, "copy", &flag)?
        }
        None => {
            drop(limited);
            let Some(free) = (case.limit)(bench, case.way, LimitState::Off) else { return Ok(None) };
            bench.run(&free, case, "copy", &[])?
        }
    };
    let seconds = |report: &Value| report["elapsed_ns"].as_f64().expect("a time") / 1e9;
    Ok(Some(LimitRun { gain: seconds(&copy) / seconds(&cured), explain, copy }))
}

fn ms(ns: &Value) -> u64 {
    ns.as_u64().unwrap_or(0) / 1_000_000
}

/// Figures of the sending kernel on the path.
fn path_words(network: &Value) -> String {
    let of = |name: &str| network[name].as_u64().unwrap_or(0);
    if of("busy_ns") == 0 {
        return String::new();
    }
    format!(
        "; {} connections, round trip {} us, {} at least, {} of {} segments again, busy {} ms, window {}, buffer {}",
        of("connections"),
        of("rtt_us"),
        of("min_rtt_us"),
        of("retransmitted_segments"),
        of("sent_segments"),
        ms(&network["busy_ns"]),
        ms(&network["receive_window_limited_ns"]),
        ms(&network["send_buffer_limited_ns"])
    )
}

/// Figures that one run is judged by, in lines.
fn in_lines(run: &LimitRun) -> String {
    let of = |report: &Value| {
        let detail = &report["limited_detail"];
        let setting = detail["setting"].as_str().map_or(String::new(), |setting| format!(", {setting}"));
        let words = NamedLimit::from_report(report).words();
        format!(
            "{words}: {} of {} ms in {} ms{setting}{}",
            ms(&detail["waited_ns"]),
            ms(&detail["of_ns"]),
            ms(&report["elapsed_ns"]),
            path_words(&report["network"])
        )
    };
    let mb = |value: &Value| value.as_f64().map_or("-".into(), |speed| format!("{:.2}", speed / 1e6));
    let parts = run.explain["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let part =
        |part: &Value| format!("{} {}", part["name"].as_str().unwrap_or(""), mb(&part["bytes_per_second"]));
    let parts: Vec<String> = parts.iter().map(part).collect();
    format!(
        "  copy: {}\n  explain: {}\n  {} MB/s observed; {}\n  {}\n  {:.2} times as fast with that",
        of(&run.copy),
        of(&run.explain),
        mb(&run.explain["observed_bytes_per_second"]),
        parts.join(", "),
        run.explain["advice"].as_str().unwrap_or(""),
        run.gain,
    )
}

/// Limits and advice named so far.
#[derive(Default)]
struct LimitTables {
    explained: Table,
    copied: Table,
    advised: Table,
    helped: HelpTable,
}

impl LimitTables {
    /// Runs a case once, and enters it.
    fn add_run(&mut self, bench: &Bench, case: &LimitCase) {
        eprintln!("{}", case.name);
        let run = match run(bench, case) {
            Ok(Some(run)) => run,
            Ok(None) => return,
            Err(failure) => {
                eprintln!("  {failure}");
                return self.copied.add(&case.name, "it failed".into(), false);
            }
        };
        eprintln!("{}", in_lines(&run));
        let mark = |is_right| if is_right { "right" } else { "wrong" };
        for (table, report) in [(&mut self.explained, &run.explain), (&mut self.copied, &run.copy)] {
            let named = NamedLimit::from_report(report);
            let is_right = named.is_one_of(&case.right);
            eprintln!("  {}: {}", mark(is_right), named.words());
            table.add(&case.name, named.words(), is_right);
        }
        let advice = run.explain["advice"].as_str().unwrap_or_default();
        let is_right = case.advice.iter().any(|words| advice.contains(words));
        eprintln!("  {}: advice", mark(is_right));
        let cause = run.explain["advice_cause"].as_str().unwrap_or_default().to_owned();
        self.advised.add(&case.name, cause, is_right);
        self.helped.add(case.what, advice, run.gain, is_right);
    }

    fn is_wrong_at_first(&self, case: &LimitCase) -> bool {
        let tables = [&self.explained, &self.copied, &self.advised];
        tables.iter().any(|table| table.is_wrong_at_first(&case.name))
    }
}

#[test]
fn the_limit_that_is_set_is_the_limit_that_is_named() {
    let (bench, cases, mut tables) = (Bench::new(), cases::all(), LimitTables::default());
    let rounds = rounds().min(RUNS_OF_A_FULL_RUN.div_ceil(cases.len()) as u64);
    let (deadline, skipped) = (deadline(), number("DATAPUMP_SKIP").unwrap_or(0) as usize);
    for (done, at) in order(cases.len(), rounds).into_iter().enumerate().skip(skipped) {
        let case = &cases[at];
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            eprintln!("{done} runs are made");
            break;
        }
        if !is_meant(&case.name) || !is_run(at, &case.name) {
            continue;
        }
        tables.add_run(&bench, case);
        if rounds == 1 && tables.is_wrong_at_first(case) {
            (0..2).for_each(|_| tables.add_run(&bench, case));
        }
    }
    let LimitTables { explained, copied, advised, helped } = tables;
    for (name, table) in [("pump explain", &explained), ("pump copy", &copied), ("advice", &advised)] {
        eprintln!("{name}:");
        table.print();
    }
    helped.print();
    [copied, explained, advised].iter().for_each(Table::judge);
}
