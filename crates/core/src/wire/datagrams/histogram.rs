//! A histogram of times in buckets whose width grows with the time: four for each doubling.
//!
//! Must not know: what is timed.

use minicbor::{Decode, Encode};

/// Buckets: the last takes all from 7.5 s on.
pub const HISTOGRAM_BUCKETS: usize = 128;

/// How many times lay in which bucket.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TimeHistogram {
    /// By bucket, see [`TimeHistogram::from_ns`].
    #[n(0)]
    pub counts: [u64; HISTOGRAM_BUCKETS],
}

impl Default for TimeHistogram {
    fn default() -> TimeHistogram {
        TimeHistogram { counts: [0; HISTOGRAM_BUCKETS] }
    }
}

impl TimeHistogram {
    /// One more time.
    pub fn add(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
    }

    /// The shortest time of a bucket.
    pub fn from_ns(bucket: usize) -> u64 {
        match bucket {
            0..4 => bucket as u64,
            _ => (4 + bucket as u64 % 4) << (bucket / 4 - 1),
        }
    }

    /// Buckets with times in them: the shortest time, and how many.
    pub fn filled(&self) -> impl Iterator<Item = (u64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| (TimeHistogram::from_ns(bucket), *count))
    }
}

fn bucket(ns: u64) -> usize {
    match ns {
        0..4 => ns as usize,
        _ => {
            let octave = ns.ilog2() as usize - 2;
            ((octave + 1) * 4 + (ns >> octave) as usize - 4).min(HISTOGRAM_BUCKETS - 1)
        }
    }
}
