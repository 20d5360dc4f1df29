//! A lock for what is whole between any two calls, so that nobody need ask whether who held it before has panicked.
//!
//! Must not know: what it guards.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock, with what it guards.
#[derive(Debug, Default)]
pub(crate) struct StateLock<T>(Mutex<T>);

impl<T> StateLock<T> {
    pub(crate) fn new(value: T) -> StateLock<T> {
        StateLock(Mutex::new(value))
    }

    /// Waits for whoever holds it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
