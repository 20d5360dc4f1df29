//! Waiting for the end: SIGINT, SIGTERM, SIGHUP, or that of the parent.
//!
//! Must not know: what is held meanwhile.

use std::io;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Signals that came are kept from when this is made.
pub struct EndSignal {
    signals: Signals,
    /// The parent went before the kernel knew that this process wants to know of it.
    is_orphan: bool,
}

impl EndSignal {
    /// Errors: a signal that cannot be caught.
    pub fn new(with_parent: bool) -> io::Result<EndSignal> {
        let parent = getppid();
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        if with_parent {
            set_parent_process_death_signal(Some(Signal::TERM))?;
        }
        Ok(EndSignal { signals, is_orphan: with_parent && getppid() != parent })
    }

    /// Returns at the end.
    pub fn wait(mut self) {
        if !self.is_orphan {
            self.signals.forever().next();
        }
    }
}
