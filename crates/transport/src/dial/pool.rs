//! Connections of a session that are free: who needs one takes it, and gives it back if it is of further use.
//!
//! The side that called makes a new one when none is free; the side that was called waits for one to come.
//!
//! Must not know: what is said over them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use datapump_core::wire::hello::Purpose;

use crate::cancel::CancelToken;
use crate::channel::Channel;
use crate::fault::NetFault;
use datapump_engine::WAIT_MAX;

/// Makes a connection.
pub type Dial = Box<dyn Fn(Purpose) -> Result<Channel, NetFault> + Send + Sync>;

/// A wait for a spare connection ends within this time once it is not needed.
const SPARE_LOOK_EACH: Duration = Duration::from_millis(10);

/// Connections of one kind.
pub struct Pool {
    free: Mutex<VecDeque<Channel>>,
    came: Condvar,
    cancel: CancelToken,
    dial: Option<Dial>,
    /// Connections that are on their way.
    coming: AtomicU32,
    /// Nobody will need one any more.
    is_closed: AtomicBool,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Pool")
    }
}

impl Pool {
    /// Of the side that calls.
    pub fn dialled(cancel: CancelToken, dial: Dial) -> Pool {
        Pool {
            free: Mutex::default(),
            came: Condvar::new(),
            cancel,
            dial: Some(dial),
            coming: AtomicU32::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Of the side that is called.
    pub fn joined(cancel: CancelToken) -> Pool {
        Pool {
            free: Mutex::default(),
            came: Condvar::new(),
            cancel,
            dial: None,
            coming: AtomicU32::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    /// A connection: a free one, a new one, or the next that comes.
    pub fn take(&self, purpose: Purpose) -> Result<Channel, NetFault> {
        self.take_until(purpose, None)
    }

    /// The same of one that may never come.
    ///
    /// Errors: none came for so long.
    pub fn take_within(&self, purpose: Purpose, patience: Duration) -> Result<Channel, NetFault> {
        self.take_until(purpose, Some(Instant::now() + patience))
    }

    fn take_until(&self, purpose: Purpose, end: Option<Instant>) -> Result<Channel, NetFault> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(channel) = free.pop_front() {
                return Ok(channel);
            }
            // Of a session that is lost each call would take as long as calls may.
            self.cancel.check()?;
            if let Some(dial) = self.dial.as_ref().filter(|_| self.coming.load(Ordering::Relaxed) == 0) {
                drop(free);
                return dial(purpose);
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return Err(NetFault::Lost("a connection that was announced did not come".into()));
            }
            free = self.came.wait_timeout(free, WAIT_MAX).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// At the side that calls, makes so many that can be done without, aside, for [`Pool::take_spare`].
    pub fn dial_spares(self: &Arc<Self>, purpose: Purpose, spares: u32) {
        if self.dial.is_some() {
            (0..spares).for_each(|_| self.dial_one_aside(purpose));
        }
    }

    /// One that can be done without: a free one, or the next that comes. None if no more are on their way, or it is not
    /// needed any more.
    pub fn take_spare(&self, is_over: &dyn Fn() -> bool) -> Option<Channel> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(channel) = free.pop_front() {
                return Some(channel);
            }
            let may_come = self.dial.is_none() || self.coming.load(Ordering::Relaxed) > 0;
            if !may_come || is_over() || self.cancel.check().is_err() {
                return None;
            }
            free = self.came.wait_timeout(free, SPARE_LOOK_EACH).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn dial_one_aside(self: &Arc<Self>, purpose: Purpose) {
        let pool = Arc::clone(self);
        self.dial_aside(move || pool.dial.as_ref().map_or(Err(NetFault::Stopped), |dial| dial(purpose)));
    }

    /// Makes one in a thread that nobody waits for.
    pub fn dial_aside(self: &Arc<Self>, dial: impl FnOnce() -> Result<Channel, NetFault> + Send + 'static) {
        let pool = Arc::clone(self);
        // On its way: whoever needs one waits for it.
        self.coming.fetch_add(1, Ordering::Relaxed);
        if std::thread::Builder::new().spawn(move || pool.arrived(dial().ok())).is_err() {
            self.arrived(None);
        }
    }

    /// One that was on its way came, or will not.
    fn arrived(&self, channel: Option<Channel>) {
        channel.into_iter().for_each(|channel| self.give(channel));
        // Under the lock: nobody looks at the number and then waits.
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        self.coming.fetch_sub(1, Ordering::Relaxed);
        drop(free);
        self.came.notify_all();
    }

    /// Nobody will need one any more: those that are free are closed, and those that come later.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A connection came, or is free again.
    pub fn give(&self, channel: Channel) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // Looked at under the lock: what is put there before is cleared.
        if self.is_closed.load(Ordering::Relaxed) {
            return;
        }
        free.push_back(channel);
        drop(free);
        self.came.notify_one();
    }
}
