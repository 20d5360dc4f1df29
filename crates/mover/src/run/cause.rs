//! Names what a problem follows from where its error number alone does not: system calls that a sandbox refuses, /proc
//! that is not mounted, limits of open files (EMFILE, ENFILE), users that a mount has no number for (EOVERFLOW), mounts
//! that are read-only (EROFS).
//!
//! Must not know: which calls have other ways, what was being done.

use datapump_engine::Errno;
use datapump_engine::os::linux::{KernelCall, open_files_limit};
use datapump_files::disk;
use rustix::process::{getegid, geteuid};

use crate::problem::{Operation, Problem};

const WRITABLE: &str = "mount it writable (mount -o remount,rw), or choose another target";

/// Adds to the message what may have caused its error number. A problem of another host stays as it is.
pub fn with_cause(mut problem: Problem) -> Problem {
    let words = match problem.cause.filter(|_| problem.host.is_none()) {
        Some(errno) => match disk::proc_words(Errno(errno)) {
            Some(words) => Some(words.to_owned()),
            None => cause_words(problem.operation, Errno(errno)),
        },
        None => None,
    };
    // A lost attribute has it in its words.
    if let Some(words) = words.filter(|words| !problem.message.contains(words)) {
        problem.message = format!("{}; {words}", problem.message);
    }
    problem
}

/// What an operation may have failed with an error for, in words; `None` where the error says it.
pub fn cause_words(operation: Operation, errno: Errno) -> Option<String> {
    match errno {
        Errno::EMFILE => open_files_limit().map(|files| {
            format!("this process may have {files} files open (ulimit -n); raise that, for example by ulimit -n 65536")
        }),
        // Some file systems take content and refuse attributes so.
        Errno::EROFS if operation != Operation::SetAttributes => Some(WRITABLE.into()),
        Errno::ENFILE => Some("the system has as many files open as it may (sysctl fs.file-max)".into()),
        Errno::EOVERFLOW if makes_new(operation) => Some(format!(
            "this mount (idmapped, or of another user namespace) has no number for user {} or group {}; run as a user \
             that it maps, or map this one",
            geteuid().as_raw(),
            getegid().as_raw()
        )),
        _ => refused_calls(operation, errno),
    }
}

/// Whether what an operation makes belongs to this user.
fn makes_new(operation: Operation) -> bool {
    use Operation::{Create, Make, MakeDevice, MakeLink, MakePipe, MakeTemporaryFolder};
    matches!(operation, Create | Make | MakeDevice | MakeLink | MakePipe | MakeTemporaryFolder)
}

/// The calls of a sandbox by which an operation may have failed.
fn refused_calls(operation: Operation, errno: Errno) -> Option<String> {
    let mut calls = KernelCall::all_refused_by(errno);
    calls.retain(|call| may_cause(*call, operation));
    let names: Vec<String> = calls.iter().map(|call| format!("{}(2)", call.name())).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("a sandbox refuses {names}: allow it there (\"pump doctor\" lists what is refused)")
    })
}

/// Whether a call that the sandbox refuses may be why the operation failed. Most calls that have another way cannot,
/// and containers refuse some of them to all programs.
fn may_cause(call: KernelCall, operation: Operation) -> bool {
    match call {
        KernelCall::Linkat => {
            matches!(operation, Operation::Link | Operation::Rename | Operation::Make | Operation::BackUp)
        }
        KernelCall::Renameat | KernelCall::Renameat2 => {
            matches!(operation, Operation::Rename | Operation::Make | Operation::MakeLink | Operation::BackUp)
        }
        KernelCall::Preadv2 => operation == Operation::Read,
        KernelCall::Pwritev2 => operation == Operation::Write,
        KernelCall::IoUringEnter => operation == Operation::Wait,
        call => call.other_way().is_none(),
    }
}
