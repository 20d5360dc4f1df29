//! State that the connections of a session share: why their waits end early, and how far each is. The reasons: the session
//! is lost or stopped, or something takes too long.
//!
//! Must not know: what is waited for.

pub(crate) mod traffic;

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::fault::NetFault;
use traffic::CountedConnections;

/// What all connections of a session share, and the deadline of one of them.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    bits: Arc<AtomicU8>,
    deadline: Option<Instant>,
    /// The user's stop, where nothing is under way that it would spoil.
    stop: Option<Arc<AtomicBool>>,
    /// Of the control connection, which outlives the others.
    is_control: bool,
    /// Why it was cut, if that is known.
    why: Arc<OnceLock<String>>,
    /// The session's connections.
    pub(crate) connections: Arc<CountedConnections>,
}

/// A stop that was asked for, and since when it is heeded.
#[derive(Debug, Default)]
pub struct Stopping(Option<Instant>);

/// How long blocks are waited for that were asked for before a stop: signals are answered within a second.
const STOP_MAX: Duration = Duration::from_millis(500);

impl Stopping {
    /// Whether a stop is asked for. Blocks may come late or, of a pipe, never: after a while the line is stopped, too.
    pub fn heeds(&mut self, stop: &AtomicBool, cancel: &CancelToken) -> bool {
        let is_asked = stop.load(Ordering::Relaxed);
        if is_asked && self.0.get_or_insert_with(Instant::now).elapsed() > STOP_MAX {
            cancel.stop();
        }
        is_asked
    }
}

const CUT: u8 = 1;
const STOPPED: u8 = 2;
const HUNG_UP: u8 = 4;

impl CancelToken {
    /// The same line for who waits until a session has begun: a stop ends that at once.
    pub fn heeding(&self, stop: &Arc<AtomicBool>) -> CancelToken {
        CancelToken { stop: Some(Arc::clone(stop)), ..self.clone() }
    }

    /// The same line for who waits while it goes on.
    pub(crate) fn begun(&self) -> CancelToken {
        CancelToken { stop: None, ..self.clone() }
    }

    /// The same line, with so much time for what its owner does next.
    pub(crate) fn within(&self, patience: Duration) -> CancelToken {
        CancelToken { deadline: Some(Instant::now() + patience), ..self.clone() }
    }

    /// This token for the control connection, which goes on when the others are hung up on.
    pub fn of_control(&self) -> CancelToken {
        CancelToken { is_control: true, ..self.clone() }
    }

    fn state(&self) -> u8 {
        let ignored = if self.is_control { HUNG_UP } else { 0 };
        self.bits.load(Ordering::Relaxed) & !ignored
    }

    /// Nothing more goes over any connection but the control connection.
    pub fn hang_up(&self) {
        self.bits.fetch_or(HUNG_UP, Ordering::Relaxed);
    }

    /// The session is lost: nobody need wait for it.
    pub fn cut(&self) {
        self.bits.fetch_or(CUT, Ordering::Relaxed);
    }

    /// The session is lost for this reason.
    pub(crate) fn cut_because(&self, why: &str) {
        let _ = self.why.set(why.to_owned());
        self.cut();
    }

    /// This run ends.
    pub fn stop(&self) {
        self.bits.fetch_or(STOPPED, Ordering::Relaxed);
    }

    /// Lost, or stopped.
    pub fn is_cut(&self) -> bool {
        self.state() != 0
    }

    /// Until when the owner of this one waits.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Whether it goes on.
    ///
    /// Errors: it was stopped, cut, or took too long.
    pub fn check(&self) -> Result<(), NetFault> {
        if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(NetFault::Stopped);
        }
        match self.state() {
            0 if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                Err(NetFault::Lost("the other side does not answer".into()))
            }
            0 => Ok(()),
            bits if bits & STOPPED != 0 => Err(NetFault::Stopped),
            _ => Err(NetFault::Lost(self.why.get().map_or("the session was cut", String::as_str).into())),
        }
    }
}

/// Cuts a line when its thread panics: what others wait for is never going to come.
#[derive(Debug)]
pub struct CutOnPanic(pub CancelToken);

impl Drop for CutOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cut();
        }
    }
}
