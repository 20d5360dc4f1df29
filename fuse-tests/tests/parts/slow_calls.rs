//! Calls of a file system that take long: the first of each kind, or each of some kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use super::mounted::lock;

/// How long they take, and which were made.
#[derive(Default)]
pub struct SlowCalls {
    first: Mutex<(Duration, BTreeSet<&'static str>)>,
    each: Mutex<BTreeMap<&'static str, Duration>>,
}

impl SlowCalls {
    /// From now on the first call of each kind takes so long.
    pub fn begin(&self, time: Duration) {
        *lock(&self.first) = (time, BTreeSet::new());
    }

    /// From now on each call of these kinds takes so long.
    pub fn slow_down(&self, calls: &[&'static str], time: Duration) {
        lock(&self.each).extend(calls.iter().map(|call| (*call, time)));
    }

    /// The kinds of calls that were made since [`SlowCalls::begin`].
    pub fn made(&self) -> Vec<&'static str> {
        lock(&self.first).1.iter().copied().collect()
    }

    /// A call of this kind is made.
    pub fn make(&self, call: &'static str) {
        let each = lock(&self.each).get(call).copied();
        let (first, is_first) = {
            let mut slow = lock(&self.first);
            (slow.0, slow.1.insert(call))
        };
        let time = if is_first { first } else { Duration::ZERO } + each.unwrap_or_default();
        if !time.is_zero() {
            std::thread::sleep(time);
        }
    }
}
