//! The words for a fault of the loop: which file, which end, what to do.
//!
//! Must not know: how the loop found it.

use std::path::Path;

use datapump_core::wire::bounds::ErrorNumber;
use datapump_core::wire::peer_request;
use datapump_core::{FaultKind, PumpFault, PumpSide};

use crate::end::{Sink, Source, TRIES_MAX, Trouble};
use crate::file::task::Task;
use crate::problem::{Class, Operation, Problem};
use crate::run::MoverRun;
use datapump_files::disk::FileCalls;
use datapump_files::holes::sizes;
use datapump_files::identity;

/// The fault as it is sent to another host that requested the block.
pub fn to_wire(fault: PumpFault) -> peer_request::Fault {
    let (errno, words) = match fault.kind {
        FaultKind::Errno(errno) => (Some(ErrorNumber::of(errno)), None),
        _ => (None, Some("changed while it was read; copy again when the source is quiet".to_string())),
    };
    peer_request::Fault { operation: Operation::Read.words().into(), errno, words, class: None }
}

/// The problem for a fault of the loop: the one that its file keeps, or else one with operation, path and offset.
pub fn problem_of(run: &MoverRun<'_>, task: &Task, fault: PumpFault) -> Problem {
    if let Some(problem) = task.trouble.get() {
        return problem.clone();
    }
    let (operation, name) = match (fault.side, task.reads_back(), &task.sink) {
        (PumpSide::Source, true, _) => (Operation::ReadBack, &task.target_name),
        (PumpSide::Source, false, _) => (Operation::Read, &task.source_name),
        (PumpSide::Sink, _, Sink::Compare(_)) => (Operation::Read, &task.target_name),
        (PumpSide::Sink, _, _) => (Operation::Write, &task.target_name),
    };
    let (name, fault) = fault_of_member(task, name.as_path(), fault);
    match (fault.kind, task.source.fault()) {
        (FaultKind::Errno(_), Some(said)) if fault.side == PumpSide::Source => {
            Problem::new(said.class, operation, name, said.words).at(fault.at)
        }
        _ => problem_of_kind(run, task, operation, name, fault),
    }
}

/// The name and the fault to report: for a stripe, the member that the bytes lie on and the offset in it.
fn fault_of_member<'task>(
    task: &'task Task,
    name: &'task Path,
    fault: PumpFault,
) -> (&'task Path, PumpFault) {
    let stripe = match (fault.side, &task.source, &task.sink) {
        (PumpSide::Source, Source::Stripe(stripe), _) | (PumpSide::Sink, _, Sink::Stripe(stripe)) => stripe,
        _ => return (name, fault),
    };
    let (name, at) = stripe.member_at(fault.at);
    (name, PumpFault { at, ..fault })
}

/// The problem for a fault that neither its file nor its source explains.
fn problem_of_kind(
    run: &MoverRun<'_>,
    task: &Task,
    operation: Operation,
    name: &Path,
    fault: PumpFault,
) -> Problem {
    // What was read back is no source.
    let source_name = if task.reads_back() { task.source_name.as_path() } else { name };
    match fault.kind {
        FaultKind::Errno(errno) => run.system_problem(operation, name, errno, task).at(fault.at),
        FaultKind::SourceEnded => {
            let words = format!("was truncated: it ended at byte {}", fault.at);
            identity::changed(source_name, &words, task.target_is_kept()).at(fault.at)
        }
        FaultKind::SourceGrew => identity::changed(source_name, "grew", task.target_is_kept()).at(fault.at),
        FaultKind::WroteNothing => {
            Problem::new(Class::Io, operation, name, "the system took no bytes and gave no error")
                .at(fault.at)
        }
        FaultKind::Differs => {
            let other = crate::shown(std::os::unix::ffi::OsStrExt::as_bytes(task.source_name.as_os_str()));
            let (words, at) = match end_before(task, fault.at) {
                Some(end) => (format!("ends where '{other}' goes on"), end),
                None => (format!("differs from '{other}'"), fault.at),
            };
            Problem::new(Class::Mismatch, Operation::Compare, name, words).at(at)
        }
    }
}

/// Where the file that is compared ends, if it has nothing at this place: of several blocks behind its end any may be
/// the first to be compared. Where the size may not be that of the content, it is not known which.
fn end_before(task: &Task, at: u64) -> Option<u64> {
    let Sink::Compare(file) = &task.sink else { return None };
    let is_over = sizes::has_byte(&file.handle, at) == Ok(false);
    let size_bytes = file.handle.meta().map_or(at, |meta| meta.size_bytes);
    let has_last = |end: u64| end > 0 && sizes::has_byte(&file.handle, end - 1) == Ok(true);
    is_over.then(|| Some(size_bytes).filter(|end| has_last(*end)).unwrap_or(at))
}

/// The problem for a block that another host could not give.
pub fn problem_of_trouble(task: &Task, trouble: Trouble, at: u64, host: &str) -> Problem {
    let name = &task.source_name;
    match trouble {
        Trouble::Fault(fault) => fault.problem(name).on(host),
        Trouble::Over(over) => over.problem(name),
        Trouble::Damaged => {
            let words = format!(
                "arrived damaged over the network {TRIES_MAX} times; check the memory of both hosts, then copy again"
            );
            Problem::new(Class::Mismatch, Operation::Receive, name, words).at(at)
        }
    }
}
