//! Why waits of a connection end early: its session is lost or stopped, or something takes too long.
//!
//! Must not know: what is waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use super::fault::NetFault;

/// What all connections of a session share, and the deadline of one of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    bits: Arc<AtomicU8>,
    deadline: Option<Instant>,
}

const CUT: u8 = 1;
const STOPPED: u8 = 2;

impl Line {
    /// The session is lost: nobody need wait for it.
    pub(crate) fn cut(&self) {
        self.bits.fetch_or(CUT, Ordering::Relaxed);
    }

    /// This run ends.
    pub(crate) fn stop(&self) {
        self.bits.fetch_or(STOPPED, Ordering::Relaxed);
    }

    /// Lost, or stopped.
    pub(crate) fn is_cut(&self) -> bool {
        self.bits.load(Ordering::Relaxed) != 0
    }

    /// Until when the owner of this one waits.
    pub(super) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    pub(crate) fn check(&self) -> Result<(), NetFault> {
        match self.bits.load(Ordering::Relaxed) {
            0 if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                Err(NetFault::Lost("the other side does not answer".into()))
            }
            0 => Ok(()),
            bits if bits & STOPPED != 0 => Err(NetFault::Stopped),
            _ => Err(NetFault::Lost("the session was cut".into())),
        }
    }
}
