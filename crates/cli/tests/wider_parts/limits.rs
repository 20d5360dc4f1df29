//! The loop of the verdict's bench: limits are set one at a time, `pump copy` and `pump explain` run on each, and tables
//! say what was named, what was advised, and whether it helped.
//!
//! Must not know: how a limit is set.

use std::time::Instant;

use serde_json::Value;

use super::truth::{HelpTable, NamedLimit, Table, deadline, is_meant, is_run, number, order, rounds};

/// A limit of one copy, and what is right to say of it.
pub struct LimitTruth {
    pub name: String,
    /// The limit alone, whichever copy has it.
    pub what: &'static str,
    /// Part, reason and host: one of these. A star is any.
    pub right: Vec<String>,
    /// Words of the advice: it has one of these.
    pub advice: &'static [&'static str],
}

/// The names that are right, where READER and WRITER are these hosts.
pub fn with_hosts(right: &[&str], reader: &str, writer: &str) -> Vec<String> {
    right.iter().map(|right| right.replace("READER", reader).replace("WRITER", writer)).collect()
}

/// Reports of both commands on one limit, and the gain of what is advised.
pub struct LimitRun {
    explain: Value,
    copy: Value,
    /// How many times as fast the copy was with what is advised.
    gain: f64,
}

impl LimitRun {
    /// `cured` is the report of the copy with what is advised.
    pub fn new(explain: Value, copy: Value, cured: &Value) -> LimitRun {
        let seconds = |report: &Value| report["elapsed_ns"].as_f64().expect("a time") / 1e9;
        LimitRun { gain: seconds(&copy) / seconds(cured), explain, copy }
    }

    /// Figures that it is judged by, in lines.
    fn in_lines(&self) -> String {
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
        let parts = self.explain["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let part = |part: &Value| {
            format!("{} {}", part["name"].as_str().unwrap_or(""), mb(&part["bytes_per_second"]))
        };
        let parts: Vec<String> = parts.iter().map(part).collect();
        format!(
            "  copy: {}\n  explain: {}\n  {} MB/s observed; {}\n  {}\n  {:.2} times as fast with that",
            of(&self.copy),
            of(&self.explain),
            mb(&self.explain["observed_bytes_per_second"]),
            parts.join(", "),
            self.explain["advice"].as_str().unwrap_or(""),
            self.gain,
        )
    }
}

/// The flag that is advised, with its value; `None` where something else is.
pub fn advised_flag(explain: &Value) -> Option<Vec<&str>> {
    explain["advice_flag"].as_str().map(|flag| flag.split(' ').collect())
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

/// Runs the case of a number once: `None` where its limit cannot be set here, an error where a copy failed.
pub type RunLimit<'run> = &'run dyn Fn(usize) -> Result<Option<LimitRun>, String>;

/// Runs all cases in rounds, `runs_max` runs at most and whole rounds, and judges what was named and advised. A case that
/// is wrong in the only round is run twice more: the machine may have been busy.
pub fn judge_limits(cases: &[&LimitTruth], runs_max: usize, run: RunLimit<'_>) {
    let mut tables = LimitTables::default();
    let rounds = rounds().min(runs_max.div_ceil(cases.len()) as u64);
    let (deadline, skipped) = (deadline(), number("DATAPUMP_SKIP").unwrap_or(0) as usize);
    for (done, at) in order(cases.len(), rounds).into_iter().enumerate().skip(skipped) {
        let case = cases[at];
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            eprintln!("{done} runs are made");
            break;
        }
        if !is_meant(&case.name) || !is_run(at, &case.name) {
            continue;
        }
        tables.add_run(case, at, run);
        if rounds == 1 && tables.is_wrong_at_first(case) {
            (0..2).for_each(|_| tables.add_run(case, at, run));
        }
    }
    tables.judge();
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
    fn add_run(&mut self, case: &LimitTruth, at: usize, run: RunLimit<'_>) {
        eprintln!("{}", case.name);
        let run = match run(at) {
            Ok(Some(run)) => run,
            Ok(None) => return,
            Err(failure) => {
                eprintln!("  {failure}");
                return self.copied.add(&case.name, "it failed".into(), false);
            }
        };
        eprintln!("{}", run.in_lines());
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

    fn is_wrong_at_first(&self, case: &LimitTruth) -> bool {
        let tables = [&self.explained, &self.copied, &self.advised];
        tables.iter().any(|table| table.is_wrong_at_first(&case.name))
    }

    /// Prints the tables, and judges them.
    fn judge(&self) {
        let LimitTables { explained, copied, advised, helped } = self;
        for (name, table) in [("pump explain", explained), ("pump copy", copied), ("advice", advised)] {
            eprintln!("{name}:");
            table.print();
        }
        helped.print();
        [copied, explained, advised].into_iter().for_each(Table::judge);
    }
}
