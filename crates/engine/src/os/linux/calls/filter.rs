//! A filter of this program's own, that answers calls with an error: seccomp(2).
//!
//! Libraries know another way for some calls, and take it for `ENOSYS` alone: glibc starts a thread by clone(2) where
//! clone3(2) answers that, and Rust reads /dev/urandom where getrandom(2) does. Where a sandbox answers them otherwise,
//! a filter makes `ENOSYS` of it: of filters that refuse alike, the newest one's error counts.
//!
//! Must not know: what refuses the calls, what is done with the answers.

use crate::{Errno, Refused};

use super::KernelCall;

/// Those calls.
const OF_LIBRARIES: [KernelCall; 2] = [KernelCall::Clone3, KernelCall::Getrandom];

/// `AUDIT_ARCH_…` of this program: linux/audit.h. Numbers of calls differ between architectures.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// Where a `struct seccomp_data` has the number and the architecture.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// Makes libraries take their other ways. Nothing but one prctl(2) where no filter holds; called before any thread is
/// started, as a filter holds for the thread that makes it and for those that it starts.
///
/// # Errors
/// The call that is refused so that libraries fail, where this program may make no filter.
pub fn help_libraries() -> Result<(), Refused> {
    // SAFETY: takes numbers alone and changes nothing.
    if unsafe { libc::prctl(libc::PR_GET_SECCOMP) } == 0 {
        return Ok(());
    }
    let refused = OF_LIBRARIES.into_iter().filter_map(|call| Some((call, call.refusal()?)));
    let refused: Vec<_> = refused.filter(|(_, errno)| *errno != Errno::ENOSYS).collect();
    let Some(&(first, errno)) = refused.first() else { return Ok(()) };
    let numbers: Vec<i64> = refused.iter().map(|(call, _)| call.number()).collect();
    answer_calls_with(&numbers, Errno::ENOSYS).map_err(|_| Refused { call: first.name(), errno })
}

/// Installs a filter for this thread and those that it starts, by which calls of these numbers fail.
///
/// # Errors
/// That of prctl(2), or `ENOSYS` on another architecture than those that are known here.
pub fn answer_calls_with(numbers: &[i64], errno: Errno) -> Result<(), Errno> {
    if ARCHITECTURE == 0 {
        return Err(Errno::ENOSYS);
    }
    let steps = program(numbers, errno);
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_ptr().cast_mut() };
    let last = || Err(Errno::from_io_error(&std::io::Error::last_os_error()));
    // SAFETY: the program and its steps live through the call, which copies them.
    let install = || unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER as libc::c_ulong, &raw const program)
    };
    // With CAP_SYS_ADMIN nothing else is needed, nor where it was given up already.
    if install() == 0 {
        return Ok(());
    }
    // SAFETY: takes numbers alone. Programs that this one starts get no rights by their files any more.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return last();
    }
    if install() == 0 { Ok(()) } else { last() }
}

fn program(numbers: &[i64], errno: Errno) -> Vec<libc::sock_filter> {
    let step = |code: u32, k: u32, is_so: u8, is_not: u8| libc::sock_filter {
        code: code as u16,
        jt: is_so,
        jf: is_not,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let give = |answer: u32| step(libc::BPF_RET | libc::BPF_K, answer, 0, 0);
    let mut steps = vec![
        step(load, ARCHITECTURE_AT, 0, 0),
        step(equals, ARCHITECTURE, 1, 0),
        give(libc::SECCOMP_RET_ALLOW),
        step(load, NUMBER_AT, 0, 0),
    ];
    for number in numbers {
        steps.push(step(equals, *number as u32, 0, 1));
        steps.push(give(libc::SECCOMP_RET_ERRNO | errno.0 as u32));
    }
    steps.push(give(libc::SECCOMP_RET_ALLOW));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In threads of their own: a filter stays for as long as its thread.
    #[test]
    fn of_two_filters_the_newer_one_gives_the_error() {
        let number = KernelCall::Getrandom.number();
        let found = std::thread::spawn(move || {
            answer_calls_with(&[number], Errno::EPERM).ok()?;
            answer_calls_with(&[number], Errno::ENOSYS).ok()?;
            // SAFETY: fills no byte.
            let result = unsafe { libc::syscall(number, 0_usize, 0_usize, 0) };
            Some((result, Errno::from_io_error(&std::io::Error::last_os_error())))
        });
        match found.join().expect("no panic") {
            None => eprintln!("SKIPPED: no filter can be installed here"),
            Some(found) => assert_eq!(found, (-1, Errno::ENOSYS)),
        }
    }
}
