//! The closed set of engines behind one face, and the care for slots and open files while requests are in flight.
//!
//! The engine owns the arena: a slot's bytes are reachable through it only while no request uses them, and dropping
//! the engine first waits for every request. It keeps each queued [`Op`] (and so its open files) until the
//! completion was taken.
//!
//! Must not know: what the requests are for, in which order they should be made.

pub(crate) mod inline;
pub(crate) mod peaks;
pub(crate) mod threads;
#[cfg(target_os = "linux")]
pub(crate) mod uring;
pub(crate) mod wait;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[cfg(target_os = "linux")]
use crate::Uring;
use crate::{Arena, Completion, Errno, Inline, Op, Peaks, Refused, Sim, Slot, Threads, Wait};

/// The kinds of engine that a user can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// io_uring(7).
    Uring,
    /// One thread for each request in flight.
    Threads,
    /// One request at a time, in the caller's thread.
    Inline,
    /// The simulation.
    Sim,
}

impl fmt::Display for EngineKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            EngineKind::Uring => "uring",
            EngineKind::Threads => "threads",
            EngineKind::Inline => "inline",
            EngineKind::Sim => "sim",
        })
    }
}

/// The performing half of one engine; each completes what it was given exactly once.
#[derive(Debug)]
pub(crate) enum Queue {
    #[cfg(target_os = "linux")]
    Uring(Uring),
    Threads(Threads),
    Inline,
    Sim(Sim),
}

/// One engine with its arena: everything a lane needs to perform requests.
#[derive(Debug)]
pub struct Engine {
    queue: Queue,
    inline: Inline,
    arena: Arena,
    /// The queued request of each token, kept until its completion was taken.
    flying: Vec<Option<Op>>,
    in_flight: u32,
    is_cancelled: bool,
    /// Where requests in flight are counted, if that was asked for.
    peaks: Option<Peaks>,
}

impl Engine {
    /// The engine on io_uring(7), with room for `requests` in flight. The thread that makes it must be the one that
    /// uses it. `stop` ends the waiting for streams in [`Engine::post_inline`]; queued requests end by
    /// [`Engine::cancel`].
    ///
    /// # Errors
    /// See [`Uring::new`].
    #[cfg(target_os = "linux")]
    pub fn uring(arena: Arena, requests: u32, stop: Arc<AtomicBool>, wait: Wait) -> Result<Engine, Refused> {
        Ok(Engine::over(Queue::Uring(Uring::new(requests, wait)?), arena, stop))
    }

    /// The engine of threads, with room for `requests` in flight. Once `stop` is set, a stream that would have to be
    /// waited for answers `ECANCELED` instead, within 100 ms.
    ///
    /// # Errors
    /// See [`Threads::new`].
    pub fn threads(
        arena: Arena,
        requests: u32,
        stop: Arc<AtomicBool>,
        wait: Wait,
    ) -> Result<Engine, Refused> {
        let threads = Threads::new(requests, Arc::clone(&stop), wait)?;
        Ok(Engine::over(Queue::Threads(threads), arena, stop))
    }

    /// The engine that performs each request where it is posted. `stop` as for [`Engine::threads`]. It
    /// never waits for a completion.
    pub fn inline(arena: Arena, stop: Arc<AtomicBool>) -> Engine {
        Engine::over(Queue::Inline, arena, stop)
    }

    /// The simulation.
    pub fn sim(arena: Arena, sim: Sim) -> Engine {
        Engine::over(Queue::Sim(sim), arena, Arc::default())
    }

    fn over(queue: Queue, arena: Arena, stop: Arc<AtomicBool>) -> Engine {
        Engine {
            queue,
            inline: Inline::new(stop),
            arena,
            flying: Vec::new(),
            in_flight: 0,
            is_cancelled: false,
            peaks: None,
        }
    }

    /// Counts requests in flight in `peaks`.
    #[must_use]
    pub fn watched_by(mut self, peaks: Option<Peaks>) -> Engine {
        self.peaks = peaks;
        self
    }

    /// Which kind this is.
    pub fn kind(&self) -> EngineKind {
        match self.queue {
            #[cfg(target_os = "linux")]
            Queue::Uring(_) => EngineKind::Uring,
            Queue::Threads(_) => EngineKind::Threads,
            Queue::Inline => EngineKind::Inline,
            Queue::Sim(_) => EngineKind::Sim,
        }
    }

    /// The bytes of a slot that no request uses.
    pub fn bytes(&self, slot: Slot) -> &[u8] {
        self.arena.bytes(slot)
    }

    /// The bytes of a slot that no request uses, to change.
    pub fn bytes_mut(&mut self, slot: Slot) -> &mut [u8] {
        self.arena.bytes_mut(slot)
    }

    /// Number of requests whose completion was not taken yet.
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Takes a request. `token` comes back with its completion and must not be in flight already; small numbers
    /// keep the table small. An engine may complete it at once.
    #[inline]
    pub fn post(&mut self, token: u32, op: Op) -> Option<Completion> {
        match self.queue {
            Queue::Inline => Some(self.post_inline(token, op)),
            _ => {
                self.post_queued(token, op);
                None
            }
        }
    }

    /// Performs a request in the caller's thread, whatever the engine, and returns when it is complete. For ends
    /// where that is the faster way: small files, null ends.
    #[inline]
    pub fn post_inline(&mut self, token: u32, op: Op) -> Completion {
        if let Some(peaks) = &self.peaks {
            peaks.posted(&op);
        }
        let result = match &op {
            Op::Nop { len, .. } => Ok(*len),
            op => self.inline.perform(&mut self.arena, op),
        };
        if let Some(peaks) = &self.peaks {
            peaks.completed(&op);
        }
        Completion { token, result }
    }

    #[inline]
    fn post_queued(&mut self, token: u32, op: Op) {
        let index = token as usize;
        if self.flying.len() <= index {
            self.grow(index);
        }
        assert!(self.flying[index].is_none(), "token {token} is in flight");
        // The slot is lent before the request can start, and from here to its completion the request is kept alive,
        // in `flying`: files stay open and memory stays put for as long as the kernel may use them.
        let memory = span_of(&op).map(|span| self.arena.lend(span));
        match &mut self.queue {
            #[cfg(target_os = "linux")]
            Queue::Uring(uring) => uring.push(token, &op, memory),
            Queue::Threads(threads) => threads.push(token, &op, memory),
            Queue::Sim(sim) => sim.push(token, &op, memory),
            Queue::Inline => unreachable!("inline requests are never queued"),
        }
        if let Some(peaks) = &self.peaks {
            peaks.posted(&op);
        }
        // After the push, which would otherwise read the request back while it is still being moved here: one of
        // two changes that took a nop in batches of 32 from 100 to 90 ns, where a bare ring takes 77.
        self.flying[index] = Some(op);
        self.in_flight += 1;
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        self.flying.resize_with(index + 1, || None);
    }

    /// Takes a completion that is already there, without waiting and, on io_uring, without a system call.
    #[inline]
    pub fn take(&mut self) -> Option<Completion> {
        let completion = match &mut self.queue {
            #[cfg(target_os = "linux")]
            Queue::Uring(uring) => uring.pop(),
            Queue::Threads(threads) => threads.pop(),
            Queue::Inline => None,
            Queue::Sim(sim) => sim.pop(),
        }?;
        let flying = &mut self.flying[completion.token as usize];
        let op = flying.as_ref().expect("each request completes once");
        if let Some(span) = span_of(op) {
            self.arena.give_back(span.slot);
        }
        if let Some(peaks) = &self.peaks {
            peaks.completed(op);
        }
        self.in_flight -= 1;
        if let Err(Errno::ECANCELED | Errno::EINTR) = completion.result {
            let op = flying.take();
            return Some(self.unperformed(completion, op));
        }
        *flying = None; // closes the files that nobody else has
        Some(completion)
    }

    /// The kernel cancels requests that nobody cancelled where a ring needs a worker thread and a limit of processes
    /// lets it make none (io_uring(7) does not say so), and hands on the `EINTR` of FUSE and NFS. Such a request is
    /// performed here, as often as any call.
    #[cold]
    fn unperformed(&mut self, completion: Completion, op: Option<Op>) -> Completion {
        match op.filter(|_| self.kind() == EngineKind::Uring) {
            Some(_) if self.is_cancelled => Completion { result: Err(Errno::ECANCELED), ..completion },
            Some(op) => self.post_inline(completion.token, op),
            None => completion,
        }
    }

    /// Hands posted requests to the kernel now instead of at the next [`Engine::wait`]: before the caller
    /// computes for a while.
    pub fn submit(&mut self) -> Result<(), Errno> {
        match &mut self.queue {
            #[cfg(target_os = "linux")]
            Queue::Uring(uring) => uring.submit(),
            Queue::Threads(_) | Queue::Inline | Queue::Sim(_) => Ok(()),
        }
    }

    /// Waits until a completion can be taken or `limit` has passed, whichever is first. May return early,
    /// and does so when nothing is in flight.
    /// An error means that the engine itself failed: requests in flight are then in an unknown state.
    #[inline]
    pub fn wait(&mut self, limit: Duration) -> Result<(), Errno> {
        if self.in_flight == 0 {
            return Ok(());
        }
        match &mut self.queue {
            #[cfg(target_os = "linux")]
            Queue::Uring(uring) => uring.wait(limit),
            Queue::Threads(threads) => threads.wait(limit),
            Queue::Inline => Ok(()),
            Queue::Sim(sim) => sim.wait(),
        }
    }

    /// Asks requests in flight to end early: for streams whose other side may never answer. They complete all the
    /// same, with `ECANCELED` or with what they had moved.
    pub fn cancel(&mut self) {
        self.is_cancelled = true;
        match &mut self.queue {
            #[cfg(target_os = "linux")]
            Queue::Uring(uring) => uring.cancel(),
            Queue::Threads(threads) => threads.cancel(),
            Queue::Inline | Queue::Sim(_) => {}
        }
    }
}

impl Drop for Engine {
    /// Waits for every request in flight: until then the kernel or a worker thread may write to the slots.
    fn drop(&mut self) {
        while self.in_flight > 0 {
            if self.take().is_some() {
                continue;
            }
            // Again before each wait: a cancelled request may have started anew just when it was looked for.
            self.cancel();
            if self.wait(Duration::from_secs(1)).is_err() {
                // The kernel refuses to tell. Leaving the memory mapped is the only safe way out.
                std::mem::forget(std::mem::replace(&mut self.arena, Arena::new(0, 1)));
                return;
            }
        }
    }
}

#[inline]
fn span_of(op: &Op) -> Option<crate::Span> {
    match op {
        Op::Read { span, .. } | Op::Write { span, .. } => Some(*span),
        Op::Nop { .. } | Op::CopyRange { .. } => None,
    }
}
