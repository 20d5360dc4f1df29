//! Performs requests on io_uring(7): many requests a system call, and completions without one.
//!
//! One ring belongs to one lane, made, submitted to and reaped by the same thread. `CopyRange` has no opcode there: it
//! is performed when it is pushed.
//!
//! Must not know: slots (only where a request's bytes lie), what the requests are for.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{Builder, IoUring, Probe, cqueue, opcode, squeue};
use rustix::event::{PollFd, PollFlags, poll};

use crate::engine::inline::perform;
use crate::engine::wait::{Waiter, spin};
use crate::os::{linux::KernelCall, rw_flags};
use crate::{Completion, Errno, Op, Refused, TransferPlace, Wait};

/// The opcodes that this engine uses; a kernel (or a sandbox) must offer them all.
const OPCODES: [u8; 4] =
    [opcode::Nop::CODE, opcode::Read::CODE, opcode::Write::CODE, opcode::AsyncCancel2::CODE];

/// Marks the completion of a cancellation, which no caller waits for. As a request it would be token and length
/// `u32::MAX` of a nop.
const CANCELLATION: u64 = u64::MAX;

/// An offset of -1 uses, and moves, the file's own position (`IORING_FEAT_RW_CUR_POS`).
const CURRENT_POSITION: u64 = u64::MAX;

/// The engine on io_uring(7).
pub struct Uring {
    ring: IoUring,
    /// Complete, but not in the ring (any more): copies performed at push, entries reaped to make room, requests that
    /// the kernel did not take.
    done: VecDeque<Completion>,
    /// Bounds the wait in the same call as the submission (`IORING_FEAT_EXT_ARG`, Linux 5.11).
    has_timeout: bool,
    waiter: Waiter,
}

impl Uring {
    /// A ring with room for `requests` in flight; more cost additional system calls. `wait` says how its owner waits.
    ///
    /// # Errors
    /// [`Refused`]: io_uring_setup(2) `EPERM` in containers and where `kernel.io_uring_disabled` is set, `ENOMEM` at
    /// the limit of locked memory (before 5.12), `ENOSYS` in old kernels; `io_uring_probe` with `EOPNOTSUPP` when an
    /// opcode is missing; eventfd(2) and io_uring_register(2) when there is no eventfd to wait at.
    pub fn new(requests: u32, wait: Wait) -> Result<Uring, Refused> {
        // A ring that nothing can be handed to is none.
        if let Some(errno) = KernelCall::IoUringEnter.refusal() {
            return Err(Refused { call: KernelCall::IoUringEnter.name(), errno });
        }
        let ring = set_up(requests.max(1), wait).map_err(refused("io_uring_setup"))?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe).map_err(refused("io_uring_probe"))?;
        if !OPCODES.iter().all(|&code| probe.is_supported(code)) {
            return Err(Refused { call: "io_uring_probe", errno: Errno(libc::EOPNOTSUPP) });
        }
        let has_timeout = ring.params().is_feature_ext_arg();
        let waiter = Waiter::new(wait)?;
        if let Waiter::Eventfd(bell) = &waiter {
            let registered = ring.submitter().register_eventfd(bell.descriptor());
            registered.map_err(refused("io_uring_register"))?;
        }
        Ok(Uring { ring, done: VecDeque::new(), has_timeout, waiter })
    }

    #[inline]
    pub(crate) fn push(&mut self, token: u32, op: &Op, memory: Option<*mut u8>) {
        let bytes = || memory.expect("a transfer has a slot");
        let user_data = u64::from(token);
        let result = match op {
            Op::Nop { len, .. } => {
                self.queue(&opcode::Nop::new().build().user_data(u64::from(*len) << 32 | user_data))
            }
            Op::Read { file, place, span, flags } => {
                let entry = opcode::Read::new(Fd(file.os().as_raw_fd()), bytes(), span.len);
                let entry = entry.offset(offset(*place)).rw_flags(rw_flags(*flags));
                self.queue(&entry.build().user_data(user_data))
            }
            Op::Write { file, place, span, flags } => {
                let entry = opcode::Write::new(Fd(file.os().as_raw_fd()), bytes(), span.len);
                let entry = entry.offset(offset(*place)).rw_flags(rw_flags(*flags));
                self.queue(&entry.build().user_data(user_data))
            }
            Op::CopyRange { .. } => {
                let result = perform(op, &mut [], &|| false);
                self.done.push_back(Completion { token, result });
                Ok(())
            }
        };
        if let Err(errno) = result {
            self.done.push_back(Completion { token, result: Err(errno) });
        }
    }

    /// Puts an entry into the submission queue. After an error the kernel has never seen it.
    #[inline]
    fn queue(&mut self, entry: &squeue::Entry) -> Result<(), Errno> {
        // SAFETY: the entry's file and bytes stay valid until its completion is taken: `Engine::post_queued` keeps the
        // request in `flying` and its slot lent, and dropping the engine waits for every completion, whatever a
        // submission answers (the kernel may own an entry even after a failed one).
        match unsafe { self.ring.submission().push(entry) } {
            Ok(()) => Ok(()),
            Err(_) => self.queue_after_submit(entry),
        }
    }

    /// The submission queue is full: empties it first.
    #[cold]
    fn queue_after_submit(&mut self, entry: &squeue::Entry) -> Result<(), Errno> {
        loop {
            let submitted = self.submit();
            // SAFETY: as in `queue`.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            submitted?;
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Completion> {
        if !self.done.is_empty() {
            return self.done.pop_front();
        }
        let mut completions = self.ring.completion();
        loop {
            let entry = completions.next()?;
            if entry.user_data() != CANCELLATION {
                return Some(completion(&entry));
            }
        }
    }

    /// Hands the queued entries to the kernel; retries what it has no room for now.
    pub(crate) fn submit(&mut self) -> Result<(), Errno> {
        // The library enters the kernel even with nothing. Completions that the ring had no room for come with it.
        let submission = self.ring.submission();
        if submission.is_empty() && !submission.cq_overflow() {
            return Ok(());
        }
        drop(submission);
        loop {
            match self.ring.submit().map_err(|error| Errno::from_io_error(&error)) {
                Ok(_) => return Ok(()),
                Err(Errno(libc::EINTR)) => {}
                Err(Errno(libc::EAGAIN | libc::EBUSY)) => self.make_room(),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Hands over what is queued and waits for a completion.
    pub(crate) fn wait(&mut self, limit: Duration) -> Result<(), Errno> {
        if !self.done.is_empty() {
            return self.submit();
        }
        if let Waiter::Kernel = self.waiter {
            return self.wait_inside(limit);
        }
        self.submit()?;
        if !self.done.is_empty() || !self.ring.completion().is_empty() {
            return Ok(());
        }
        match &self.waiter {
            Waiter::Kernel => Ok(()),
            Waiter::Spin => {
                let mut completions = self.ring.completion();
                spin(limit, || {
                    completions.sync();
                    !completions.is_empty()
                });
                Ok(())
            }
            Waiter::Eventfd(bell) => bell.wait(limit),
        }
    }

    /// One system call.
    fn wait_inside(&mut self, limit: Duration) -> Result<(), Errno> {
        let entered = if self.has_timeout { self.enter(limit) } else { self.enter_and_poll(limit) };
        match entered.map_err(|error| Errno::from_io_error(&error)) {
            Ok(()) | Err(Errno(libc::ETIME | libc::EINTR)) => Ok(()),
            Err(Errno(libc::EAGAIN | libc::EBUSY)) => {
                self.make_room();
                Ok(()) // early: the rest is handed over by the next wait
            }
            Err(errno) => Err(errno),
        }
    }

    #[inline]
    fn enter(&mut self, limit: Duration) -> io::Result<()> {
        let limit = Timespec::new().sec(limit.as_secs().min(i64::MAX as u64)).nsec(limit.subsec_nanos());
        let arguments = SubmitArgs::new().timespec(&limit);
        self.ring.submitter().submit_with_args(1, &arguments).map(drop)
    }

    /// Before Linux 5.11: two system calls, the second one waits.
    fn enter_and_poll(&mut self, limit: Duration) -> io::Result<()> {
        self.ring.submit()?;
        if !self.ring.completion().is_empty() {
            return Ok(());
        }
        // SAFETY: `self.ring` keeps the descriptor open while `asked` is in use.
        let ring = unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) };
        let limit = limit.try_into().ok(); // beyond the system's range: for ever
        poll(&mut [PollFd::from_borrowed_fd(ring.as_fd(), PollFlags::IN)], limit.as_ref())?;
        Ok(())
    }

    /// The kernel is out of memory for requests (`EAGAIN`) or for completions (`EBUSY`): takes the completions over.
    #[cold]
    fn make_room(&mut self) {
        let mut completions = self.ring.completion();
        let before = self.done.len();
        let entries = completions.by_ref().filter(|entry| entry.user_data() != CANCELLATION);
        self.done.extend(entries.map(|entry| completion(&entry)));
        if self.done.len() == before {
            std::thread::yield_now();
        }
    }

    /// Cancels all that the kernel has. Linux 5.19; older ones answer `EINVAL`, which is swallowed too.
    pub(crate) fn cancel(&mut self) {
        let all = CancelBuilder::any().all();
        let entry = opcode::AsyncCancel2::new(all).build().user_data(CANCELLATION);
        // An error comes again at the next wait, where it is told.
        let _ = self.queue(&entry).and_then(|()| self.submit());
    }
}

impl fmt::Debug for Uring {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Uring").field("fd", &self.ring.as_raw_fd()).field("done", &self.done).finish()
    }
}

/// The best ring that this kernel has: completions delivered only when this thread waits (6.1), when it next enters
/// the kernel (5.19), or by interrupting it. A thread that sleeps elsewhere than in the ring can have the last two; a
/// thread that does not enter the kernel, only the last.
fn set_up(requests: u32, wait: Wait) -> io::Result<IoUring> {
    let settings: [fn(&mut Builder) -> &mut Builder; 3] = [
        |ring| ring.setup_submit_all().setup_single_issuer().setup_defer_taskrun(),
        |ring| ring.setup_coop_taskrun(),
        |ring| ring,
    ];
    let mut refusal = io::Error::from_raw_os_error(libc::EINVAL);
    let first = match wait {
        Wait::Kernel => 0,
        Wait::Eventfd => 1,
        Wait::Spin => 2,
    };
    for set in &settings[first..] {
        let mut ring = IoUring::builder();
        match set(ring.setup_clamp().dontfork()).build(requests) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refusal = error,
            result => return result,
        }
    }
    Err(refusal)
}

fn refused(call: &'static str) -> impl Fn(io::Error) -> Refused {
    move |error| Refused { call, errno: Errno::from_io_error(&error) }
}

#[inline]
fn offset(place: TransferPlace) -> u64 {
    match place {
        TransferPlace::At(at) => at,
        TransferPlace::Stream => CURRENT_POSITION,
    }
}

/// The upper half of the user data is what a nop pretends to have moved; it is 0 for transfers.
#[inline]
fn completion(entry: &cqueue::Entry) -> Completion {
    let (result, user_data) = (entry.result(), entry.user_data());
    let pretended_bytes = (user_data >> 32) as u32;
    let result = if result < 0 { Err(Errno(-result)) } else { Ok(result as u32 + pretended_bytes) };
    Completion { token: user_data as u32, result }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring, or the reason why there is none, printed.
    fn ring() -> Option<Uring> {
        ring_waiting(Wait::Kernel)
    }

    fn ring_waiting(wait: Wait) -> Option<Uring> {
        Uring::new(2, wait).inspect_err(|refused| eprintln!("SKIPPED: {refused:?}")).ok()
    }

    fn nop(len: u32) -> Op {
        Op::Nop { len, write: false }
    }

    #[test]
    fn a_ring_without_timeouts_completes_too() {
        let Some(mut uring) = ring() else { return };
        uring.has_timeout = false;
        uring.push(5, &nop(6), None);
        while uring.pop().is_none_or(|completion| completion != Completion { token: 5, result: Ok(6) }) {
            uring.wait(Duration::MAX).expect("the ring works");
        }
    }

    #[test]
    fn a_cancellation_is_not_a_completion() {
        let Some(mut uring) = ring() else { return };
        for round in 0..5 {
            uring.cancel();
            uring.push(round, &nop(1), None);
            let mut seen = Vec::new();
            while seen.is_empty() {
                uring.wait(Duration::MAX).expect("the ring works");
                seen.extend(std::iter::from_fn(|| uring.pop()));
            }
            assert_eq!(seen, [Completion { token: round, result: Ok(1) }], "round {round}");
        }
    }

    #[test]
    fn completions_taken_over_to_make_room_are_not_lost() {
        let Some(mut uring) = ring() else { return };
        for token in 0..50 {
            uring.push(token, &nop(token), None);
            uring.submit().expect("the ring works");
            uring.make_room();
        }
        let tokens: Vec<u32> =
            std::iter::from_fn(|| uring.pop()).map(|completion| completion.token).collect();
        assert!(tokens.iter().copied().eq(0..50), "{tokens:?}");
    }

    /// More completions than the ring has room for, and nothing to hand over: whoever waits gets the rest.
    #[test]
    fn completions_that_overflow_the_ring_are_waited_for_too() {
        for wait in [Wait::Kernel, Wait::Spin, Wait::Eventfd] {
            let Some(mut uring) = ring_waiting(wait) else { return };
            (0..50).for_each(|token| uring.push(token, &nop(token), None));
            let mut tokens = Vec::new();
            while tokens.len() < 50 {
                uring.wait(Duration::MAX).expect("the ring works");
                tokens.extend(std::iter::from_fn(|| uring.pop()).map(|completion| completion.token));
            }
            assert!(tokens.iter().copied().eq(0..50), "{wait:?}: {tokens:?}");
        }
    }
}
