//! The calling thread gives way to every other one, and stays on one processor: for a probe that counts what is left.
//!
//! Must not know: what the thread does, what is counted.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// How low the calling thread's priority could be made.
#[derive(Debug)]
pub enum Lowest {
    /// `SCHED_IDLE`: it runs when nothing else of its group wants to (weight 3 against 1024, sched(7)).
    Idle,
    /// That was refused: nice 19 (weight 15 against 1024).
    Nice(io::Error),
    /// Both were refused; the error is that of nice.
    Unchanged(io::Error),
}

/// The largest niceness: setpriority(2).
const NICE_MAX: i32 = 19;

/// Gives the calling thread the lowest priority that is allowed. No right is needed for it, but a sandbox may refuse
/// the call.
pub fn lowest_priority() -> Lowest {
    // On Linux, priorities are those of threads: "no process" is the calling thread (setpriority(2), C library/kernel
    // differences).
    lowest_of(set_idle, || Ok(rustix::process::setpriority_process(None, NICE_MAX)?))
}

fn lowest_of(idle: impl FnOnce() -> io::Result<()>, nice: impl FnOnce() -> io::Result<()>) -> Lowest {
    let Err(refused) = idle() else { return Lowest::Idle };
    match nice() {
        Ok(()) => Lowest::Nice(refused),
        Err(refused) => Lowest::Unchanged(refused),
    }
}

fn set_idle() -> io::Result<()> {
    // SAFETY: all its fields are numbers; musl has more of them than glibc.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live structure of the type that sched_setscheduler(2) names; the kernel copies it.
    // Thread 0 is the caller.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The processors that the calling thread may run on, by number: sched_getaffinity(2).
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Keeps the calling thread on one processor: sched_setaffinity(2).
pub fn pin_to(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(number: i32) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(number))
    }

    #[test]
    fn what_is_refused_is_replaced_by_the_next_lowest() {
        let (permission, access) = (libc::EPERM, libc::EACCES);
        assert!(matches!(lowest_of(|| Ok(()), || panic!("nothing was refused")), Lowest::Idle));
        let nice = lowest_of(|| refused(permission), || Ok(()));
        assert!(matches!(nice, Lowest::Nice(why) if why.raw_os_error() == Some(permission)));
        let unchanged = lowest_of(|| refused(permission), || refused(access));
        assert!(matches!(unchanged, Lowest::Unchanged(why) if why.raw_os_error() == Some(access)));
    }

    #[test]
    fn a_thread_gives_way_and_stays_on_its_processor_and_others_do_not() {
        let before = allowed_cpus().expect("always allowed");
        let last = *before.last().expect("one at least");
        let thread = std::thread::spawn(move || {
            let lowest = lowest_priority();
            assert!(matches!(lowest, Lowest::Idle | Lowest::Nice(_)), "{lowest:?}");
            pin_to(last).expect("it was allowed");
            allowed_cpus().expect("always allowed")
        });
        assert_eq!(thread.join().expect("no panic"), [last]);
        assert_eq!(allowed_cpus().expect("always allowed"), before);
        assert!(pin_to(CpuSet::MAX_CPU).is_err());
    }
}
