//! Events of a host that writes, on their way to whoever hears them here. The thread that keeps the session never waits
//! for that one, who may wait for a pager or a stopped terminal: another thread tells them, and when too many wait, the
//! other host is asked to hold the next.
//!
//! Must not know: what is told, how a session is held.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use datapump_engine::WAIT_MAX;
use datapump_transport::CancelToken;

use super::session_problems::words_bytes;
use crate::net::client::remote_copy::Events;
use crate::problem::words_about;
use crate::report::event::Event;

/// Bytes of events that wait, before the other host is asked to hold the next, and when it goes on.
const HOLD_BYTES: usize = 1 << 20;
const GO_ON_BYTES: usize = HOLD_BYTES / 4;
/// A host that holds nothing, because it is older or means harm, is read no further than this.
const WAITING_BYTES_MAX: usize = 32 << 20;
/// What an event takes besides its words and names.
const EVENT_BYTES: usize = 256;

/// The events that wait.
#[derive(Default)]
pub(crate) struct Teller {
    state: Mutex<WaitingEvents>,
    changed: Condvar,
}

#[derive(Default)]
struct WaitingEvents {
    events: VecDeque<(Event, usize)>,
    bytes: usize,
    is_held: bool,
    is_over: bool,
}

/// Nothing more comes once it is dropped: [`Teller::run`] ends when all was told.
pub(crate) struct Closing<'teller>(pub(crate) &'teller Teller);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.locked().is_over = true;
        self.0.changed.notify_all();
    }
}

impl Teller {
    fn locked(&self) -> MutexGuard<'_, WaitingEvents> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueues an event to be passed on by the thread; waits while too much is enqueued.
    pub(crate) fn enqueue_event(&self, event: Event) {
        let mut waiting = self.locked();
        while waiting.bytes >= WAITING_BYTES_MAX {
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        let bytes = bytes_of(&event);
        waiting.bytes += bytes;
        waiting.events.push_back((event, bytes));
        self.changed.notify_all();
    }

    /// Whether the other host is to hold its events from now on, or not any more; nothing if that is as before.
    pub(crate) fn poll_hold(&self) -> Option<bool> {
        let mut waiting = self.locked();
        let most = if waiting.is_held { GO_ON_BYTES } else { HOLD_BYTES };
        let is_held = waiting.bytes >= most;
        (std::mem::replace(&mut waiting.is_held, is_held) != is_held).then_some(is_held)
    }

    /// Passes events on as they are enqueued, until nothing more follows.
    pub(crate) fn pass_on(&self, events: Events<'_>) {
        let mut waiting = self.locked();
        loop {
            match waiting.events.pop_front() {
                Some((event, bytes)) => {
                    drop(waiting);
                    events(event);
                    waiting = self.locked();
                    waiting.bytes -= bytes;
                    self.changed.notify_all();
                }
                None if waiting.is_over => return,
                None => waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// Tells aside why connections of a session are made otherwise than the first, until it is over.
pub(crate) fn report_notices<'scope>(
    scope: &'scope Scope<'scope, '_>,
    notices: Option<Receiver<String>>,
    cancel: CancelToken,
    events: Events<'scope>,
    place: String,
) {
    let Some(notices) = notices else { return };
    let tell = move |words: String| events(Event::Notice(words_about(&place, &words)));
    scope.spawn(move || {
        while !cancel.is_cut() {
            match notices.recv_timeout(WAIT_MAX) {
                Ok(words) => tell(words),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        notices.try_iter().for_each(tell);
    });
}

/// About what it takes in memory.
fn bytes_of(event: &Event) -> usize {
    EVENT_BYTES
        + match event {
            Event::File { path, .. } => path.as_os_str().len(),
            Event::Change(change) => {
                let paths = [&change.source, &change.target, &change.relative];
                let leads_to = change.leads_to.as_ref().map_or(0, |path| path.as_os_str().len());
                paths.into_iter().map(|path| path.as_os_str().len()).sum::<usize>() + leads_to
            }
            Event::Problem(problem) => words_bytes(problem),
            Event::Warning(words) | Event::Notice(words) | Event::Note(words) => words.len(),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn whoever_keeps_the_session_does_not_wait_for_whoever_hears_and_all_is_told_in_order() {
        let (heard, hears) = mpsc::channel();
        let (starts, start) = mpsc::channel::<()>();
        let start = Mutex::new(start);
        let words = |number: usize| Event::Note(format!("{number:0400}"));
        let events = |event| {
            // Nobody reads, until the other side is gone.
            let _ = start.lock().expect("no panic").recv();
            heard.send(event).expect("the test waits");
        };
        let teller = Teller::default();
        let mut told = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| teller.pass_on(&events));
            let _closing = Closing(&teller);
            while teller.poll_hold() != Some(true) {
                assert!(told < HOLD_BYTES, "it is never full");
                teller.enqueue_event(words(told));
                told += 1;
            }
            assert_eq!(teller.poll_hold(), None, "it is said once");
            // What was on its way is taken, too.
            (told..told + 100).for_each(|number| teller.enqueue_event(words(number)));
            drop(starts);
            while teller.poll_hold() != Some(false) {
                std::thread::yield_now();
            }
        });
        let came: Vec<Event> = hears.try_iter().collect();
        assert!(came == (0..told + 100).map(words).collect::<Vec<_>>(), "{} of {}", came.len(), told + 100);
    }
}
