//! Calls that come back with `EINTR` are made again, a few times: FUSE and NFS hand on what their servers say, for no
//! signal of this process. Once a signal asked this process to end, none is: it would wait for the same server again.
//!
//! Must not know: what the calls are for, who sets the flag.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use crate::Errno;

/// A server that interrupts a call so often will do it again.
const TRIES: u32 = 8;

static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// To be set by the signals that end this process.
pub fn stop_flag() -> Arc<AtomicBool> {
    Arc::clone(&STOP)
}

/// An error that may be `EINTR`.
pub trait Interrupted {
    /// Whether it is.
    fn is_interrupted(&self) -> bool;
}

impl Interrupted for Errno {
    fn is_interrupted(&self) -> bool {
        *self == Errno::EINTR
    }
}

impl Interrupted for rustix::io::Errno {
    fn is_interrupted(&self) -> bool {
        *self == rustix::io::Errno::INTR
    }
}

/// Makes a call that has one effect however often it is made, until it is not interrupted. What an earlier write did is
/// told once, by the first close or sync: neither is such a call.
pub fn again<T, E: Interrupted>(call: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    again_unless(&STOP, call)
}

/// Makes a call that adds, moves or removes a name. `is_done` says which error of a repeated one may mean that the
/// interrupted one was performed: then nothing is known but that it was interrupted.
pub fn again_named<T, E: Interrupted + Clone>(
    is_done: fn(&E) -> bool,
    mut call: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let mut interrupted = None;
    let made = again(|| {
        call().inspect_err(|error| _ = error.is_interrupted().then(|| interrupted = Some(error.clone())))
    });
    match (made, interrupted) {
        (Err(error), Some(interrupted)) if is_done(&error) => Err(interrupted),
        (made, _) => made,
    }
}

fn again_unless<T, E: Interrupted>(
    stop: &AtomicBool,
    mut call: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    for _ in 1..TRIES {
        match call() {
            Err(error) if error.is_interrupted() && !stop.load(Ordering::Relaxed) => {}
            answer => return answer,
        }
    }
    call()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(answers: &[Result<u32, Errno>]) -> impl FnMut() -> Result<u32, Errno> + use<'_> {
        let mut answers = answers.iter().copied();
        move || answers.next().expect("no further call")
    }

    const INTERRUPTED: Result<u32, Errno> = Err(Errno::EINTR);

    #[test]
    fn an_interrupted_call_is_made_again_a_few_times() {
        let running = AtomicBool::new(false);
        assert_eq!(again_unless(&running, of(&[Ok(1)])), Ok(1));
        assert_eq!(again_unless(&running, of(&[INTERRUPTED, INTERRUPTED, Ok(1)])), Ok(1));
        assert_eq!(again_unless(&running, of(&[INTERRUPTED, Err(Errno::EIO)])), Err(Errno::EIO));
        assert_eq!(again_unless(&running, of(&[INTERRUPTED; TRIES as usize])), INTERRUPTED);
    }

    #[test]
    fn a_process_that_is_to_end_makes_none_again() {
        assert_eq!(again_unless(&AtomicBool::new(true), of(&[INTERRUPTED])), INTERRUPTED);
    }

    #[test]
    fn what_an_interrupted_call_may_have_done_itself_is_not_blamed_on_others() {
        let taken = |error: &Errno| *error == Errno::EEXIST;
        assert_eq!(again_named(taken, of(&[Err(Errno::EEXIST)])), Err(Errno::EEXIST));
        assert_eq!(again_named(taken, of(&[INTERRUPTED, Err(Errno::EEXIST)])), INTERRUPTED);
        assert_eq!(again_named(taken, of(&[INTERRUPTED, Err(Errno::EIO)])), Err(Errno::EIO));
        assert_eq!(again_named(taken, of(&[INTERRUPTED, Ok(1)])), Ok(1));
    }
}
