//! Bytes of messages that wait to be sent: whoever has more waits until some are taken.
//!
//! Must not know: messages, who takes them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The bytes that wait, of at most so many.
#[derive(Debug)]
pub(super) struct WaitingBytes {
    most: usize,
    state: Mutex<WaitingState>,
    taken: Condvar,
}

#[derive(Debug, Default)]
struct WaitingState {
    bytes: usize,
    /// Nobody takes any more.
    is_closed: bool,
}

impl WaitingState {
    /// One that is longer than all may be waits alone.
    fn add(&mut self, bytes: usize, most: usize) -> bool {
        let fits = self.is_closed || self.bytes == 0 || self.bytes + bytes <= most;
        self.bytes += if fits { bytes } else { 0 };
        fits
    }
}

impl WaitingBytes {
    pub(super) fn new(most: usize) -> WaitingBytes {
        WaitingBytes { most, state: Mutex::default(), taken: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, WaitingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds so many, if there is room.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.state().add(bytes, self.most)
    }

    /// Adds so many once there is room, or nobody takes any more.
    pub(super) fn wait_for_room(&self, bytes: usize) {
        let mut state = self.state();
        while !state.add(bytes, self.most) {
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn taken(&self, bytes: usize) {
        self.state().bytes -= bytes;
        self.taken.notify_all();
    }

    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.taken.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_more_waits_until_some_are_taken() {
        let waiting = WaitingBytes::new(100);
        assert!(waiting.has_room(500), "one alone may be longer");
        assert!(!waiting.has_room(1));
        waiting.taken(500);
        assert!(waiting.has_room(60) && waiting.has_room(40) && !waiting.has_room(1));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| waiting.wait_for_room(50));
            waiting.taken(60);
            waits.join().expect("no panic");
            let waits = scope.spawn(|| waiting.wait_for_room(50));
            waiting.close();
            waits.join().expect("no panic");
        });
    }
}
