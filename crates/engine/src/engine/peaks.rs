//! Counts requests in flight at each end, for tests.
//!
//! Must not know: how requests are performed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Op;

/// The most requests that were in flight at a time, for a test to look at from outside. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Peaks(Arc<[AtomicU32; 4]>);

impl Peaks {
    /// The most reads in flight.
    pub fn reads(&self) -> u32 {
        self.0[2].load(Ordering::Relaxed)
    }

    /// The most writes in flight.
    pub fn writes(&self) -> u32 {
        self.0[3].load(Ordering::Relaxed)
    }

    /// Requests in flight now.
    pub fn in_flight(&self) -> u32 {
        self.0[0].load(Ordering::Relaxed) + self.0[1].load(Ordering::Relaxed)
    }

    pub(super) fn posted(&self, op: &Op) {
        for side in op.sides() {
            let now = self.0[side].fetch_add(1, Ordering::Relaxed) + 1;
            self.0[2 + side].fetch_max(now, Ordering::Relaxed);
        }
    }

    pub(super) fn completed(&self, op: &Op) {
        op.sides().for_each(|side| _ = self.0[side].fetch_sub(1, Ordering::Relaxed));
    }
}
