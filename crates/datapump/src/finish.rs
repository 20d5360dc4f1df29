//! Finishes a file whose blocks have all landed: checks that the source stood still, sets attributes, syncs, reads
//! back if asked, and commits. Or gives it up and removes what was written.
//!
//! Must not know: how blocks are moved, which lane it runs in.

use std::sync::Arc;

use datapump_engine::{Errno, Handle, Stage, meter::within};

use crate::completing::{close_first, complete, publish, source_stood_still};
use crate::end::Sink;
use crate::options::Sync;
use crate::problem::{Class, Problem, shown_path};
use crate::report::Waits;
use crate::run::Shared;
use crate::settled;
use crate::task::{Finish, Task};
use crate::{tree, verify};
use datapump_files::disk::FileCalls;

/// What became of a file.
enum Ended {
    Done,
    /// It goes on: what is to be finished next, if there are no blocks to wait for.
    GoesOn(Option<Arc<Task>>),
}

/// Finishes a file; problems are reported, and what was not committed is removed.
pub(crate) fn finish(shared: &Shared<'_>, waits: &mut Waits, task: Arc<Task>) {
    let mut next = Some(task);
    while let Some(task) = next.take().filter(|task| !task.has_failed()) {
        let _stage = within(Stage::Metadata);
        match ended(shared, waits, &task) {
            Ok(Ended::Done) => settled::done(shared, &task),
            Ok(Ended::GoesOn(follows)) => next = follows,
            Err(problem) => fail(shared, &task, problem),
        }
    }
}

fn ended(shared: &Shared<'_>, waits: &mut Waits, task: &Arc<Task>) -> Result<Ended, Problem> {
    match &task.finish {
        Finish::Checked(_) => tree::checked::checked(shared, task).map(|()| Ended::GoesOn(None)),
        Finish::Nothing => {
            source_stood_still(shared, task)?;
            nothing_is_behind(task)?;
            stream_took_all(task).map(|()| Ended::Done)
        }
        Finish::Commit(staged) => {
            complete(shared, waits, task, staged)?;
            match task.verify {
                true => {
                    let ranges = task.ranges_to_read_back();
                    verify::read_back(shared, task, ranges, 0).map(Ended::GoesOn)
                }
                false => publish(shared, waits, task, staged).map(|()| Ended::Done),
            }
        }
        Finish::Device(handle) => sync_device(shared, waits, task, handle).map(|()| Ended::Done),
        Finish::Verified(trial) => verify::verified(shared, waits, task, trial).map(Ended::GoesOn),
        Finish::Repaired(trial) => verify::repaired(shared, waits, task, trial).map(Ended::GoesOn),
    }
}

/// Gives a file up: reports why and removes what was written of it. Requests in flight on it may go on to no effect.
pub(crate) fn fail(shared: &Shared<'_>, task: &Arc<Task>, problem: Problem) {
    if task.fail() {
        abandon(task, goes_on_later(shared, &problem));
        if problem.class == Class::NoSpace {
            shared.ledger.full.add_bytes(task.length());
        }
        shared.ledger.report(problem);
        if let Finish::Verified(trial) | Finish::Repaired(trial) = &task.finish {
            settled::settle(shared, &trial.written, false);
        }
        settled::settle(shared, task, false);
    }
}

/// Whether a later run may go on with a file that this one gives up: it was cut, and nothing is wrong with it. What
/// was written of a source that changed is of no use. A full disk gets its room back: where room can be reserved that
/// is known before anything is written, so that little is lost, and who needs the room need not look for it.
fn goes_on_later(shared: &Shared<'_>, problem: &Problem) -> bool {
    let is_cut = matches!(problem.class, Class::Lost | Class::Io);
    shared.is_stopping() && is_cut
}

/// Leaves what was written of a file for a later run, or removes it.
pub(crate) fn abandon(task: &Task, goes_on_later: bool) {
    match &task.finish {
        Finish::Commit(staged) if goes_on_later => staged.leave(),
        Finish::Commit(staged) => staged.discard(),
        Finish::Verified(trial) | Finish::Repaired(trial) => abandon(&trial.written, goes_on_later),
        Finish::Nothing | Finish::Checked(_) | Finish::Device(_) => {}
    }
}

/// A file that is compared with a source of unknown length may go on behind the source's end.
fn nothing_is_behind(task: &Task) -> Result<(), Problem> {
    let Sink::Compare(file) = &task.sink else { return Ok(()) };
    if task.leaf.is_some() {
        return Ok(()); // the lengths of files of trees are compared first
    }
    let system = |errno: Errno| Problem::system("stat", &task.target_name, errno.0);
    let length = task.length();
    let goes_on = match datapump_files::disk::is_made_up(&file.handle) {
        true => file.handle.peek(length, &mut [0]).map_err(system)? > 0,
        false => file.handle.meta().map_err(system)?.size_bytes > length,
    };
    if !goes_on {
        return Ok(());
    }
    let source = shown_path(&task.source_name);
    let words = format!("goes on where '{source}' ends");
    Err(Problem::new(Class::Mismatch, "compare", &task.target_name, words).at(length))
}

/// Standard output may be a file of such a file system.
fn stream_took_all(task: &Task) -> Result<(), Problem> {
    match &task.sink {
        Sink::Stream(handle) => close_first(task, handle),
        _ => Ok(()),
    }
}

fn sync_device(shared: &Shared<'_>, waits: &mut Waits, task: &Task, handle: &Handle) -> Result<(), Problem> {
    source_stood_still(shared, task)?;
    if shared.settings.options.sync == Sync::None {
        return Ok(());
    }
    let _stage = within(Stage::Sync);
    let start_ns = shared.settings.world.clock.now_ns();
    let synced = handle.sync().map_err(|errno| Problem::system("sync", &task.target_name, errno.0));
    waits.sync += shared.settings.world.clock.now_ns() - start_ns;
    synced
}
