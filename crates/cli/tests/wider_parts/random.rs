//! Seeded choices of the wider tests, and the seeds of their rounds.
//!
//! `DATAPUMP_KILLS=200` makes that many rounds, `DATAPUMP_TREES=1000` that many of trees beside rsync;
//! `DATAPUMP_SEED=7041` repeats the choices of one round.

use std::time::{SystemTime, UNIX_EPOCH};

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % bound
    }

    /// True in so many of a thousand.
    pub fn in_thousand(&mut self, times: u64) -> bool {
        self.below(1000) < times
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The seeds of the rounds: a different first one each time the suite runs, printed.
pub fn seeds(what: &str, rounds: u64) -> std::ops::Range<u64> {
    seeds_of("DATAPUMP_KILLS", what, rounds)
}

/// The same, as many as this variable says.
pub fn seeds_of(variable: &str, what: &str, rounds: u64) -> std::ops::Range<u64> {
    let seeds = match number("DATAPUMP_SEED") {
        Some(seed) => seed..seed + 1,
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
            let first = u64::from(now.subsec_nanos()) << 16;
            first..first + number(variable).unwrap_or(rounds)
        }
    };
    eprintln!("{what}: seeds {seeds:?}");
    seeds
}
