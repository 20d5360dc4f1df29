//! Calls of a file system that take long: the first of each kind, or all of some kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use super::mounted::lock;

/// How long they take, and which were made.
#[derive(Default)]
pub struct SlowCalls {
    first: Mutex<(Duration, BTreeSet<&'static str>)>,
    all: Mutex<BTreeMap<&'static str, Duration>>,
}

impl SlowCalls {
    /// From now on the first call of each kind takes so long.
    pub fn begin(&self, time: Duration) {
        *lock(&self.first) = (time, BTreeSet::new());
    }

    /// From now on each call of this kind takes so long, one after the other.
    pub fn pace(&self, call: &'static str, time: Duration) {
        lock(&self.all).insert(call, time);
    }

    /// The kinds of calls that were made since [`SlowCalls::begin`].
    pub fn made(&self) -> Vec<&'static str> {
        lock(&self.first).1.iter().copied().collect()
    }

    /// A call of this kind is made.
    pub fn make(&self, call: &'static str) {
        let paced = lock(&self.all).get(call).copied();
        let (time, is_first) = {
            let mut slow = lock(&self.first);
            (slow.0, slow.1.insert(call))
        };
        if is_first && time > Duration::ZERO {
            std::thread::sleep(time);
        }
        paced.into_iter().for_each(std::thread::sleep);
    }
}
