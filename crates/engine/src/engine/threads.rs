//! Performs requests in worker threads: one blocked thread for each request in flight, up to a limit.
//!
//! Portable: needs nothing of the system but threads and blocking calls.
//!
//! Must not know: slots (only where a request's bytes lie), what the requests are for.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::engine::inline::perform;
use crate::engine::wait::{Waiter, spin};
use crate::{Completion, Errno, Op, Refused, Wait, os};

/// Requests beyond this many wait for a free worker. 64: more blocked threads than any one device gained from
/// (bench/seqio.jsonl), at 64 stacks of which only the touched pages count.
const WORKERS_MAX: u32 = 64;

/// The engine of threads. Workers are started as requests need them and end with the engine.
pub struct Threads {
    jobs: Option<Sender<WorkerJob>>,
    /// Kept for the workers to come.
    job_end: Receiver<WorkerJob>,
    completion_end: Sender<Completion>,
    completions: Receiver<Completion>,
    /// Received by `wait`, not yet popped.
    ready: VecDeque<Completion>,
    workers: Vec<JoinHandle<()>>,
    workers_max: u32,
    in_flight: u32,
    interrupt: Interrupt,
    waiter: Waiter,
}

/// Ends the waiting for streams: the user's flag for all requests, and a count of cancellations for those that were
/// posted before the last one.
#[derive(Clone, Debug)]
struct Interrupt {
    stop: Arc<AtomicBool>,
    cancellations: Arc<AtomicU64>,
}

/// A request on its way to a worker.
struct WorkerJob {
    token: u32,
    op: Op,
    bytes: Bytes,
    /// Cancellations when it was posted.
    posted_at: u64,
}

/// Where the bytes of a request lie.
struct Bytes {
    start: *mut u8,
    len: usize,
}

// SAFETY: whoever holds the value has the bytes for himself: `Engine::post_queued` lent them to this request, and the
// arena lets nobody else see them until its completion is taken, which a worker sends only when it has dropped them.
unsafe impl Send for Bytes {}

impl Threads {
    /// Workers for up to `requests` in flight; more wait their turn. `stop` as for [`crate::Inline::new`]; `wait` says
    /// how their owner waits for them.
    ///
    /// # Errors
    /// [`Refused`] when the system gives no thread at all (`EAGAIN`: limit on processes), or no eventfd to wait at.
    /// Later workers that it refuses are done without.
    pub fn new(requests: u32, stop: Arc<AtomicBool>, wait: Wait) -> Result<Threads, Refused> {
        let (jobs, job_end) = unbounded();
        let (completion_end, completions) = unbounded();
        let interrupt = Interrupt { stop, cancellations: Arc::default() };
        let workers_max = requests.clamp(1, WORKERS_MAX);
        let (ready, workers) = (VecDeque::new(), Vec::new());
        let jobs = Some(jobs);
        let mut threads = Threads {
            jobs,
            job_end,
            completion_end,
            completions,
            ready,
            workers,
            workers_max,
            in_flight: 0,
            interrupt,
            waiter: Waiter::new(wait)?,
        };
        threads.start_worker().map_err(|errno| Refused { call: "pthread_create", errno })?;
        Ok(threads)
    }

    fn start_worker(&mut self) -> Result<(), Errno> {
        let (jobs, completions) = (self.job_end.clone(), self.completion_end.clone());
        let (interrupt, waiter) = (self.interrupt.clone(), self.waiter.clone());
        let name = format!("request-{}", self.workers.len());
        let work = move || work(&jobs, &completions, &interrupt, &waiter);
        let worker = std::thread::Builder::new()
            .name(name)
            .spawn(work)
            .map_err(|error| Errno::from_io_error(&error))?;
        self.workers.push(worker);
        Ok(())
    }

    pub(crate) fn push(&mut self, token: u32, op: &Op, memory: Option<*mut u8>) {
        assert_real(op);
        let bytes = match (op, memory) {
            (Op::Read { span, .. } | Op::Write { span, .. }, Some(start)) => {
                Bytes { start, len: span.len as usize }
            }
            _ => Bytes { start: std::ptr::NonNull::dangling().as_ptr(), len: 0 },
        };
        let posted_at = self.interrupt.cancellations.load(Ordering::Relaxed);
        self.in_flight += 1;
        let started = self.workers.len() as u32;
        if self.in_flight > started && started < self.workers_max {
            // At least one worker exists, so a refusal costs concurrency, not the request.
            let _ = self.start_worker();
        }
        let jobs = self.jobs.as_ref().expect("there until the engine drops");
        let sent = jobs.send(WorkerJob { token, op: op.clone(), bytes, posted_at });
        sent.expect("`job_end` keeps the channel open");
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Completion> {
        let completion = self.ready.pop_front().or_else(|| self.completions.try_recv().ok())?;
        self.in_flight -= 1;
        Some(completion)
    }

    pub(crate) fn wait(&mut self, limit: Duration) -> Result<(), Errno> {
        if !self.ready.is_empty() || self.in_flight == 0 {
            return Ok(());
        }
        match &self.waiter {
            Waiter::Kernel => self.ready.extend(self.completions.recv_timeout(limit)),
            Waiter::Spin => spin(limit, || !self.completions.is_empty()),
            Waiter::Eventfd(bell) if self.completions.is_empty() => return bell.wait(limit),
            Waiter::Eventfd(_) => {}
        }
        Ok(())
    }

    pub(crate) fn cancel(&mut self) {
        self.interrupt.cancellations.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Threads {
    /// Lets the workers end. [`crate::Engine`] has waited for every request before, so none of them is blocked.
    fn drop(&mut self) {
        self.jobs = None;
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = self.workers.len();
        out.debug_struct("Threads").field("workers", &workers).field("in_flight", &self.in_flight).finish()
    }
}

impl Interrupt {
    fn cancelled(&self, posted_at: u64) -> bool {
        self.cancellations.load(Ordering::Relaxed) != posted_at
    }

    fn stopped(&self, posted_at: u64) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancelled(posted_at)
    }
}

/// A worker's life: one job after the other until the engine drops.
fn work(
    jobs: &Receiver<WorkerJob>,
    completions: &Sender<Completion>,
    interrupt: &Interrupt,
    waiter: &Waiter,
) {
    for WorkerJob { token, op, bytes, posted_at } in jobs {
        let result = if interrupt.cancelled(posted_at) {
            Err(os::ECANCELED)
        } else {
            // SAFETY: `bytes` covers memory of the arena, initialised and lent to this job alone (see `Bytes`), or
            // is empty and dangling. The slice ends before the completion is sent.
            let bytes = unsafe { std::slice::from_raw_parts_mut(bytes.start, bytes.len) };
            perform(&op, bytes, &|| interrupt.stopped(posted_at))
        };
        // Before the completion, so that its taker finds the files referred to by nobody else.
        drop(op);
        if completions.send(Completion { token, result }).is_err() {
            return;
        }
        waiter.ring();
    }
}

/// Panics in the caller's thread rather than in a worker, where the completion would be lost.
fn assert_real(op: &Op) {
    match op {
        Op::Nop { .. } => {}
        Op::Read { file, .. } | Op::Write { file, .. } => drop(file.os()),
        Op::CopyRange { from, to, .. } => drop((from.os(), to.os())),
    }
}
