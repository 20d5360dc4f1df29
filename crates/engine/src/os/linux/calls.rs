//! System calls that a sandbox may refuse, each with a probe and with the way that is used instead.
//!
//! Filters of containers answer calls with `EPERM`, `EACCES`, `ENOSYS`, `EINVAL` or `EOPNOTSUPP`, which may as well be
//! the answer for one file. So a call counts as refused only if a probe of it is refused, too: a call with a null
//! pointer or a descriptor that is never open, which the kernel answers with `EFAULT` or `EBADF` whatever permissions
//! are. A call is probed once in a process, when it has failed, or before its first use where another way must be chosen
//! early.
//!
//! Must not know: names of files, why a call is made.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::Errno;

mod filter;
mod xattr;
pub use filter::{answer_calls_with, help_libraries};
pub use xattr::{XattrName, list_xattrs_at, set_mode_of_held};

/// Errors by which filters refuse calls.
const REFUSALS: [Errno; 5] = [Errno::EPERM, Errno::EACCES, Errno::ENOSYS, Errno::EINVAL, Errno::EOPNOTSUPP];

const NULL: libc::c_long = 0;
const HERE: libc::c_long = libc::AT_FDCWD as libc::c_long;
/// No descriptor. Some calls take -1 for something else (io_uring_register(2)).
const CLOSED: libc::c_long = -2;
/// Numbers that are the same on all architectures and that `libc` does not have on each.
const FACCESSAT2: libc::c_long = 439;
const FCHMODAT2: libc::c_long = 452;
const CACHESTAT: libc::c_long = 451;
const SETXATTRAT: libc::c_long = 463;
const GETXATTRAT: libc::c_long = 464;
const LISTXATTRAT: libc::c_long = 465;
const REMOVEXATTRAT: libc::c_long = 466;

/// Newer architectures have renameat2(2) alone.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const RENAMEAT: libc::c_long = libc::SYS_renameat;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const RENAMEAT: libc::c_long = libc::SYS_renameat2;

/// Not probed yet, and offered; anything above is the error of the probe.
const UNKNOWN: i32 = -1;
const OFFERED: i32 = 0;

/// Defines the calls: number, arguments of the probe, and the way that is used where the call is refused.
macro_rules! calls {
    ($($call:ident $name:literal $number:expr, [$($argument:expr),*], $other_way:expr;)*) => {
        /// A system call that a sandbox may refuse.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum KernelCall {
            $(
                #[doc = concat!($name, "(2).")]
                $call,
            )*
        }

        impl KernelCall {
            /// All of them.
            pub const ALL: &'static [KernelCall] = &[$(KernelCall::$call),*];

            /// Its name in section 2 of the manual.
            pub fn name(self) -> &'static str {
                match self { $(KernelCall::$call => $name),* }
            }

            /// Its number on this architecture.
            pub fn number(self) -> i64 {
                match self { $(KernelCall::$call => $number),* }
            }

            /// The way that is used where it is refused; `None`: there is none, and what needs the call fails.
            pub fn other_way(self) -> Option<&'static str> {
                match self { $(KernelCall::$call => $other_way),* }
            }

            fn probe(self) -> libc::c_long {
                match self {
                    $(KernelCall::$call => {
                        // SAFETY: pointers are null and descriptors are not open, so that the kernel neither reads nor
                        // writes memory, and finds no file. It gives an error, or a number that nothing depends on.
                        unsafe { libc::syscall($number, $($argument as libc::c_long),*) }
                    })*
                }
            }
        }
    };
}

calls! {
    Openat2 "openat2" libc::SYS_openat2, [HERE, NULL, NULL, 24],
        Some("paths are opened name by name with O_NOFOLLOW, links are resolved by pump");
    Renameat2 "renameat2" libc::SYS_renameat2, [HERE, NULL, HERE, NULL, 1],
        Some("linkat and unlinkat; of a directory mkdirat and renameat");
    Renameat "renameat" RENAMEAT, [HERE, NULL, HERE, NULL],
        Some("renameat2");
    Linkat "linkat" libc::SYS_linkat, [HERE, NULL, HERE, NULL, 0],
        Some("temporary names instead of O_TMPFILE; hard links are copied, each as a file");
    CopyFileRange "copy_file_range" libc::SYS_copy_file_range, [CLOSED, NULL, CLOSED, NULL, 1, 0],
        Some("read and write");
    Fallocate "fallocate" libc::SYS_fallocate, [CLOSED, 0, 0, 1],
        Some("nothing is reserved: a full disk shows while data is written");
    Statx "statx" libc::SYS_statx, [HERE, NULL, 0, 0, NULL],
        Some("stat, and mounts from /proc; a resumed copy knows less about its target");
    Syncfs "syncfs" libc::SYS_syncfs, [CLOSED],
        Some("each file and directory is synced by fsync");
    Preadv2 "preadv2" libc::SYS_preadv2, [CLOSED, NULL, 0, 0, 0, 0],
        Some("poll and read, without --uncached");
    Pwritev2 "pwritev2" libc::SYS_pwritev2, [CLOSED, NULL, 0, 0, 0, 0],
        Some("poll and write, without --uncached; fdatasync for --dsync");
    SyncFileRange "sync_file_range" libc::SYS_sync_file_range, [CLOSED, 0, 0, 0],
        Some("changes through a mapping show by dirty pages alone");
    Cachestat "cachestat" CACHESTAT, [CLOSED, NULL, NULL, 0],
        Some("files count as not cached");
    Listxattrat "listxattrat" LISTXATTRAT, [HERE, NULL, 0, NULL, 0],
        Some("the file is opened and listed by flistxattr or listxattr");
    Getxattrat "getxattrat" GETXATTRAT, [HERE, NULL, 0, NULL, NULL, 16],
        Some("getxattr by /proc/self/fd");
    Setxattrat "setxattrat" SETXATTRAT, [HERE, NULL, 0, NULL, NULL, 16],
        Some("setxattr by /proc/self/fd");
    Removexattrat "removexattrat" REMOVEXATTRAT, [HERE, NULL, 0, NULL],
        Some("removexattr by /proc/self/fd");
    NameToHandleAt "name_to_handle_at" libc::SYS_name_to_handle_at, [HERE, NULL, NULL, NULL, 0],
        Some("files with several names are known by device and inode");
    Fchmodat2 "fchmodat2" FCHMODAT2, [HERE, NULL, 0, 0],
        Some("chmod by /proc/self/fd");
    Faccessat2 "faccessat2" FACCESSAT2, [HERE, NULL, 0, 0],
        Some("a directory counts as one that may be written");
    IoUringSetup "io_uring_setup" libc::SYS_io_uring_setup, [1, NULL],
        Some("the threads engine");
    IoUringEnter "io_uring_enter" libc::SYS_io_uring_enter, [CLOSED, 0, 0, 0, NULL, 0],
        Some("the threads engine");
    IoUringRegister "io_uring_register" libc::SYS_io_uring_register, [CLOSED, 8, NULL, 0],
        Some("the threads engine");
    Clone3 "clone3" libc::SYS_clone3, [NULL, 64],
        Some("clone: pump makes the call answer ENOSYS, by a filter of its own");
    Getrandom "getrandom" libc::SYS_getrandom, [NULL, 1, 1],
        Some("/dev/urandom: pump makes the call answer ENOSYS, by a filter of its own");
    Prlimit64 "prlimit64" libc::SYS_prlimit64, [0, 7, NULL, NULL],
        Some("/proc/self/limits");
    Flock "flock" libc::SYS_flock, [CLOSED, 1], None;
    Fsync "fsync" libc::SYS_fsync, [CLOSED], None;
    Fdatasync "fdatasync" libc::SYS_fdatasync, [CLOSED], None;
    Ftruncate "ftruncate" libc::SYS_ftruncate, [CLOSED, 0], None;
    Fchmod "fchmod" libc::SYS_fchmod, [CLOSED, 0], None;
    Fchown "fchown" libc::SYS_fchown, [CLOSED, -1, -1], None;
    Fchmodat "fchmodat" libc::SYS_fchmodat, [HERE, NULL, 0], None;
    Fchownat "fchownat" libc::SYS_fchownat, [HERE, NULL, -1, -1, 0], None;
    Utimensat "utimensat" libc::SYS_utimensat, [CLOSED, NULL, NULL, 0], None;
    Fsetxattr "fsetxattr" libc::SYS_fsetxattr, [CLOSED, NULL, NULL, 0, 0], None;
    Fgetxattr "fgetxattr" libc::SYS_fgetxattr, [CLOSED, NULL, NULL, 0], None;
    Flistxattr "flistxattr" libc::SYS_flistxattr, [CLOSED, NULL, 0], None;
    Listxattr "listxattr" libc::SYS_listxattr, [NULL, NULL, 0], None;
    Getxattr "getxattr" libc::SYS_getxattr, [NULL, NULL, NULL, 0], None;
    Setxattr "setxattr" libc::SYS_setxattr, [NULL, NULL, NULL, 0, 0], None;
    Mkdirat "mkdirat" libc::SYS_mkdirat, [HERE, NULL, 0], None;
    Mknodat "mknodat" libc::SYS_mknodat, [HERE, NULL, 0, 0], None;
    Symlinkat "symlinkat" libc::SYS_symlinkat, [NULL, HERE, NULL], None;
    Readlinkat "readlinkat" libc::SYS_readlinkat, [HERE, NULL, NULL, 1], None;
    Unlinkat "unlinkat" libc::SYS_unlinkat, [HERE, NULL, 0], None;
    Openat "openat" libc::SYS_openat, [HERE, NULL, 0, 0], None;
    Getdents64 "getdents64" libc::SYS_getdents64, [CLOSED, NULL, 0], None;
    Lseek "lseek" libc::SYS_lseek, [CLOSED, 0, 0], None;
    Pread64 "pread64" libc::SYS_pread64, [CLOSED, NULL, 0, 0], None;
    Pwrite64 "pwrite64" libc::SYS_pwrite64, [CLOSED, NULL, 0, 0], None;
}

static STATES: [AtomicI32; KernelCall::ALL.len()] =
    [const { AtomicI32::new(UNKNOWN) }; KernelCall::ALL.len()];

impl KernelCall {
    /// Why the call is not available here, whatever it is for; found out once in a process.
    pub fn refusal(self) -> Option<Errno> {
        let state = &STATES[self as usize];
        let mut known = state.load(Ordering::Relaxed);
        if known == UNKNOWN {
            known = self.look();
            state.store(known, Ordering::Relaxed);
        }
        (known != OFFERED).then_some(Errno(known))
    }

    fn look(self) -> i32 {
        if self.probe() >= 0 {
            return OFFERED;
        }
        match std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) {
            libc::EFAULT | libc::EBADF | libc::EAGAIN => OFFERED,
            errno => errno,
        }
    }

    /// Whether the call is available here.
    pub fn is_offered(self) -> bool {
        self.refusal().is_none()
    }

    /// Whether an error of the call is that of a sandbox which refuses it, rather than of what it was made for.
    pub fn is_refused_by(self, errno: Errno) -> bool {
        REFUSALS.contains(&errno) && !self.is_offered()
    }

    /// The calls that are refused here with such an error: a few dozen system calls the first time.
    pub fn all_refused_by(errno: Errno) -> Vec<KernelCall> {
        if REFUSALS.contains(&errno) {
            KernelCall::ALL.iter().copied().filter(|call| call.refusal() == Some(errno)).collect()
        } else {
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own, which a filter holds for until it ends.
    fn under(call: KernelCall, errno: i32, look: impl FnOnce() -> i32 + Send) -> Option<i32> {
        std::thread::scope(|scope| {
            let filtered = scope.spawn(move || {
                answer_calls_with(&[call.number()], Errno(errno)).ok()?;
                Some(look())
            });
            filtered.join().expect("no panic")
        })
    }

    #[test]
    fn a_probe_finds_a_filter_whatever_it_answers() {
        for &call in KernelCall::ALL {
            for errno in [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EINVAL] {
                let Some(found) = under(call, errno, || call.look()) else {
                    return eprintln!("SKIPPED: no filter can be installed here");
                };
                assert_eq!(found, errno, "{}", call.name());
            }
        }
    }

    /// This machine's kernel may lack the newest ones, and a container around it may refuse some.
    #[test]
    fn an_ordinary_refusal_is_not_that_of_a_sandbox() {
        for &call in KernelCall::ALL {
            match call.refusal() {
                None => assert!(!call.is_refused_by(Errno::EPERM), "{}", call.name()),
                Some(errno) => eprintln!("{} is refused here: {errno:?}", call.name()),
            }
            assert!(!call.is_refused_by(Errno::EIO) && !call.is_refused_by(Errno::ENOENT));
        }
        assert!(KernelCall::Mkdirat.is_offered() && KernelCall::Openat.is_offered());
    }
}
