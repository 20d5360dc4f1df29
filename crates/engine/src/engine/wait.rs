//! Ways to wait for a completion: asleep in the engine's own call, awake, or asleep at an eventfd(2).
//!
//! Must not know: requests, completions, why somebody waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Refused;

/// How long whoever sleeps or waits may overlook a stop, at most: signals are answered within 1 s.
pub const WAIT_MAX: Duration = Duration::from_millis(200);

/// How a lane waits when no completion is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Asleep in the engine's own call: io_uring_enter(2), or futex(2) for the engine of threads.
    #[default]
    Kernel,
    /// Awake: looks again and again, which uses up a CPU and saves the time of being woken.
    Spin,
    /// Asleep in poll(2) at an eventfd(2) that each completion signals. Linux alone has it.
    Eventfd,
}

/// What an engine needs to wait.
#[derive(Clone, Debug)]
pub(crate) enum Waiter {
    Kernel,
    Spin,
    Eventfd(Arc<EventFd>),
}

impl Waiter {
    /// Errors: no eventfd can be had, because of the system or of its limit on open files.
    pub(crate) fn new(wait: Wait) -> Result<Waiter, Refused> {
        Ok(match wait {
            Wait::Kernel => Waiter::Kernel,
            Wait::Spin => Waiter::Spin,
            Wait::Eventfd => {
                let bell = EventFd::new().map_err(|errno| Refused { call: "eventfd", errno })?;
                Waiter::Eventfd(Arc::new(bell))
            }
        })
    }

    /// A completion can be taken: wakes who sleeps at the bell.
    #[inline]
    pub(crate) fn ring(&self) {
        if let Waiter::Eventfd(bell) = self {
            bell.ring();
        }
    }
}

/// Looks until `ready`, or until `limit` has passed.
pub(crate) fn spin(limit: Duration, mut ready: impl FnMut() -> bool) {
    /// So seldom is the clock read, which costs as much as some looks.
    const LOOKS: u32 = 64;
    let end = Instant::now().checked_add(limit); // beyond the clock's range: for ever
    while !(0..LOOKS).any(|_| {
        std::hint::spin_loop();
        ready()
    }) {
        if end.is_some_and(|end| Instant::now() >= end) {
            return;
        }
    }
}

#[cfg(target_os = "linux")]
mod bell {
    use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
    use std::time::Duration;

    use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
    use rustix::io;

    use crate::Errno;

    /// An eventfd(2): a count that whoever completes something adds to, and that wakes who polls it.
    #[derive(Debug)]
    pub(crate) struct EventFd(OwnedFd);

    impl EventFd {
        pub(crate) fn new() -> Result<EventFd, Errno> {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            eventfd(0, flags).map(EventFd).map_err(|error| Errno(error.raw_os_error()))
        }

        pub(crate) fn descriptor(&self) -> RawFd {
            self.0.as_raw_fd()
        }

        /// Can fail only when the count is full, and then it wakes all the same.
        pub(crate) fn ring(&self) {
            let _ = io::write(&self.0, &1u64.to_ne_bytes());
        }

        /// Sleeps until it rings or `limit` has passed. Returns early for a ring that was not waited for before, and
        /// for a signal.
        pub(crate) fn wait(&self, limit: Duration) -> Result<(), Errno> {
            let limit = limit.try_into().ok(); // beyond the system's range: for ever
            match poll(&mut [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)], limit.as_ref()) {
                // Back to silence. What completes from here on rings anew, and is looked for before the next sleep.
                Ok(1..) => drop(io::read(&self.0, &mut [0; 8])),
                Ok(0) | Err(io::Errno::INTR) => {}
                Err(error) => return Err(Errno(error.raw_os_error())),
            }
            Ok(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod bell {
    use std::time::Duration;

    use crate::Errno;

    /// There is none.
    #[derive(Debug)]
    pub(crate) enum EventFd {}

    impl EventFd {
        pub(crate) fn new() -> Result<EventFd, Errno> {
            Err(crate::os::ENOSYS)
        }

        pub(crate) fn ring(&self) {
            match *self {}
        }

        pub(crate) fn wait(&self, _limit: Duration) -> Result<(), Errno> {
            match *self {}
        }
    }
}

pub(crate) use bell::EventFd;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_ends_when_ready_or_at_its_limit() {
        let mut looks = 0;
        spin(Duration::MAX, || {
            looks += 1;
            looks == 1000
        });
        assert_eq!(looks, 1000);
        spin(Duration::ZERO, || false);
    }

    /// A ring that comes before the sleep is not lost, and is heard once.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_bell_is_heard_by_who_comes_later() {
        let bell = EventFd::new().expect("an eventfd");
        bell.ring();
        bell.ring();
        bell.wait(Duration::MAX).expect("it rang");
        bell.wait(Duration::ZERO).expect("silence until the limit");
    }
}
