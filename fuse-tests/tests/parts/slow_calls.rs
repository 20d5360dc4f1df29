//! Calls of a file system that take long: the first of each kind.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use super::mounted::lock;

/// How long they take, and which were made.
#[derive(Default)]
pub struct SlowCalls(Mutex<(Duration, BTreeSet<&'static str>)>);

impl SlowCalls {
    /// From now on the first call of each kind takes so long.
    pub fn begin(&self, time: Duration) {
        *lock(&self.0) = (time, BTreeSet::new());
    }

    /// The kinds of calls that were made since then.
    pub fn made(&self) -> Vec<&'static str> {
        lock(&self.0).1.iter().copied().collect()
    }

    /// A call of this kind is made.
    pub fn make(&self, call: &'static str) {
        let (time, is_first) = {
            let mut slow = lock(&self.0);
            (slow.0, slow.1.insert(call))
        };
        if is_first {
            std::thread::sleep(time);
        }
    }
}
