//! What the truth tests share: cases in an order of their own for each round, and the table of what was throttled and
//! what was named for it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::random::Random;

/// A table with fewer runs is judged case by case.
const RUNS_OF_A_FULL_RUN: u64 = 100;
/// An advice that makes a copy this many times as fast helped.
const HELPS_MIN: f64 = 1.1;

/// A variable of the environment that is a number.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// No case starts after this moment: `DATAPUMP_MINUTES` minutes from now, if it is set.
pub fn deadline() -> Option<Instant> {
    number("DATAPUMP_MINUTES").map(|minutes| Instant::now() + Duration::from_secs(60 * minutes))
}

/// `DATAPUMP_ROUNDS`, or one.
pub fn rounds() -> u64 {
    number("DATAPUMP_ROUNDS").unwrap_or(1)
}

/// Whether `DATAPUMP_CASE` leaves the case in.
pub fn is_meant(name: &str) -> bool {
    std::env::var("DATAPUMP_CASE").map_or(true, |part| name.contains(&part))
}

/// Whether a case is run: all, or with `DATAPUMP_ONE_CASE_IN` the first of so many, which are always the same. A case
/// that is skipped is printed.
pub fn is_run(at: usize, name: &str) -> bool {
    let is_run = number("DATAPUMP_ONE_CASE_IN").is_none_or(|of| (at as u64).is_multiple_of(of));
    if !is_run {
        eprintln!("left to the full run: {name}");
    }
    is_run
}

/// Numbers of cases, each round in an order of its own. The seed is printed; `DATAPUMP_SEED` gives the same orders.
pub fn order(cases: usize, rounds: u64) -> Vec<usize> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let seed = number("DATAPUMP_SEED").unwrap_or(u64::from(now.subsec_nanos()));
    eprintln!("{rounds} rounds; DATAPUMP_SEED={seed}");
    let mut random = Random(seed);
    let mut all = Vec::new();
    for _ in 0..rounds {
        let mut round: Vec<usize> = (0..cases).collect();
        (1..cases).rev().for_each(|at| round.swap(at, random.below(at as u64 + 1) as usize));
        all.extend(round);
    }
    all
}

/// What was named, how often, for each part that was throttled.
#[derive(Default)]
pub struct Table {
    named: BTreeMap<(String, String), (u64, bool)>,
}

impl Table {
    pub fn add(&mut self, throttled: &str, named: String, is_right: bool) {
        self.named.entry((throttled.into(), named)).or_insert((0, is_right)).0 += 1;
    }

    pub fn print(&self) {
        eprintln!("{:<40} {:<44} times", "part throttled", "part named");
        for ((throttled, named), (times, is_right)) in &self.named {
            let mark = if *is_right { "" } else { "  wrong" };
            eprintln!("{throttled:<40} {named:<44} {times}{mark}");
        }
    }

    /// Number of runs of a case, and of wrong ones.
    fn of_case(&self, case: &str) -> (u64, u64) {
        let of_case = self.named.iter().filter(|((throttled, _), _)| throttled == case);
        of_case.fold((0, 0), |(all, wrong), (_, (times, is_right))| {
            (all + times, wrong + if *is_right { 0 } else { *times })
        })
    }

    /// Whether the last run of a case was its first, and wrong: a busy machine is given two more.
    pub fn is_wrong_at_first(&self, case: &str) -> bool {
        self.of_case(case) == (1, 1)
    }

    /// At least 95 of 100 are right in a full run; in a shorter one no case is wrong in most of its runs.
    pub fn judge(&self) {
        let all: u64 = self.named.values().map(|(times, _)| times).sum();
        let wrong: u64 = self.named.values().filter(|(_, is_right)| !is_right).map(|(times, _)| times).sum();
        eprintln!("{wrong} of {all} are wrong");
        assert!(all > 0, "no case was run");
        if all >= RUNS_OF_A_FULL_RUN {
            assert!(wrong <= all / 20, "{wrong} of {all} are wrong");
        }
        let cases: BTreeSet<&String> = self.named.keys().map(|(case, _)| case).collect();
        let is_wrong = |case: &&&String| {
            let (all, wrong) = self.of_case(case);
            2 * wrong > all
        };
        let most: Vec<_> = cases.iter().filter(is_wrong).collect();
        assert!(most.is_empty(), "wrong in most of their runs: {most:?}");
    }
}

/// The limit that was named, and its host.
pub struct NamedLimit {
    pub part: String,
    pub why: String,
    pub host: String,
}

impl NamedLimit {
    pub fn from_report(report: &Value) -> NamedLimit {
        let word = |value: &Value| value.as_str().expect("a word").to_owned();
        let detail = &report["limited_detail"];
        NamedLimit {
            part: word(&report["limited_by"]),
            why: word(&detail["why"]),
            host: word(&detail["host"]),
        }
    }

    /// Whether it is what the case has, in which a star is any word.
    pub fn is_one_of(&self, right: &[String]) -> bool {
        let words = [&self.part, &self.why, &self.host];
        let fits =
            |right: &str| right.split('/').zip(words).all(|(right, word)| right == "*" || right == word);
        right.iter().any(|right| fits(right))
    }

    pub fn words(&self) -> String {
        format!("{} ({}, {})", self.part, self.why, self.host)
    }
}

/// Advice against each limit, and how often it helped.
#[derive(Default)]
pub struct HelpTable(BTreeMap<(&'static str, String), Vec<(f64, bool)>>);

impl HelpTable {
    pub fn add(&mut self, limit: &'static str, advice: &str, gain: f64, is_right: bool) {
        // The next limit depends on the machine.
        let advice = advice.split(". The next limit").next().unwrap_or(advice).to_owned();
        self.0.entry((limit, advice)).or_default().push((gain, is_right));
    }

    pub fn print(&self) {
        eprintln!("{:<34} {:>5} {:>7} {:>6} advice", "limit", "times", "median", "helped");
        for ((limit, advice), gains) in &self.0 {
            let mut times: Vec<f64> = gains.iter().map(|(gain, _)| *gain).collect();
            times.sort_by(f64::total_cmp);
            let helped = times.iter().filter(|gain| **gain >= HELPS_MIN).count();
            let mark = if gains.iter().all(|(_, is_right)| *is_right) { "" } else { "  wrong" };
            let median = times[times.len() / 2];
            eprintln!("{limit:<34} {:>5} {median:>7.2} {helped:>6} {advice}{mark}", times.len());
        }
    }
}
