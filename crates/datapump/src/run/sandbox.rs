//! Names the system calls that a sandbox refuses, or /proc where it is not mounted, in problems that follow from it.
//!
//! Must not know: which calls have other ways, what was being done.

use datapump_engine::Errno;
use datapump_engine::os::linux::KernelCall;
use datapump_files::disk;

use crate::problem::{Operation, Problem};

/// A problem with the calls that are refused to this process by the error which it follows from. Of another host
/// nothing is known here.
pub(crate) fn with_refused_calls(mut problem: Problem) -> Problem {
    let words = match problem.cause.filter(|_| problem.host.is_none()) {
        Some(errno) => match disk::proc_words(Errno(errno)) {
            // A lost attribute has it in its words.
            Some(words) => Some(words.to_owned()).filter(|words| !problem.message.contains(words)),
            None => refused_calls(problem.operation, Errno(errno)),
        },
        None => None,
    };
    if let Some(words) = words {
        problem.message = format!("{}; {words}", problem.message);
    }
    problem
}

/// The calls by which an operation may have failed with an error, in words; `None` where it is an ordinary one.
pub(crate) fn refused_calls(operation: Operation, errno: Errno) -> Option<String> {
    let mut calls = KernelCall::all_refused_by(errno);
    calls.retain(|call| may_cause(*call, operation));
    let names: Vec<String> = calls.iter().map(|call| format!("{}(2)", call.name())).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("a sandbox refuses {names}: allow it there (\"pump doctor\" lists what is refused)")
    })
}

/// Most calls with another way cannot be the reason, and containers refuse some of them to all programs.
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
