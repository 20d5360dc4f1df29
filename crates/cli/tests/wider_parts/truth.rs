//! What the truth tests share: cases in an order of their own for each round, and the table of what was throttled and
//! what was named for it.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use super::random::Random;

/// A table with fewer rounds is judged by what one bad round is among ten.
const ROUNDS_OF_A_FULL_RUN: u64 = 20;

/// A variable of the environment that is a number.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
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
/// that is left out is told.
pub fn is_run(at: usize, name: &str) -> bool {
    let is_run = number("DATAPUMP_ONE_CASE_IN").is_none_or(|of| (at as u64).is_multiple_of(of));
    if !is_run {
        eprintln!("left to the full run: {name}");
    }
    is_run
}

/// Numbers of cases, each round in an order of its own. The seed is printed; `DATAPUMP_SEED` gives the same orders.
pub fn order(cases: usize) -> Vec<usize> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let seed = number("DATAPUMP_SEED").unwrap_or(u64::from(now.subsec_nanos()));
    eprintln!("{} rounds; DATAPUMP_SEED={seed}", rounds());
    let mut random = Random(seed);
    let mut all = Vec::new();
    for _ in 0..rounds() {
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

    /// At least 95 of 100 are right in a full run; in a shorter one all but one of ten.
    pub fn judge(&self) {
        let all: u64 = self.named.values().map(|(times, _)| times).sum();
        let wrong: u64 = self.named.values().filter(|(_, is_right)| !is_right).map(|(times, _)| times).sum();
        let most = if rounds() >= ROUNDS_OF_A_FULL_RUN { all / 20 } else { all.div_ceil(10) };
        assert!(wrong <= most, "{wrong} of {all} are wrong");
    }
}
