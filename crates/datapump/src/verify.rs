//! Reads a written file back from its device, and writes again what came back damaged.
//!
//! The written file goes into the plan once more as a source to be hashed: the same loop reads it. What differs from
//! what was written is taken from the source again, group by group (256 KiB), written over the damaged part and read
//! back, a few times at most. A source that gives something else than before is not believed.
//!
//! Must not know: how blocks are moved, what is done before a file gets its name.

use std::sync::Arc;

use datapump_core::Way;

use crate::completing::{complete, publish};
use crate::direct::direct;
use crate::end::{FileEnd, Sink, Source};
use crate::hash::FileHash;
use crate::net::far::FarFile;
use crate::options::Choice;
use crate::problem::{Class, Problem, shown_path};
use crate::report::Waits;
use crate::run::Shared;
use crate::settled;
use crate::task::{Finish, Parts, Task, Trial};
use crate::units::bytes_words;
use datapump_files::disk::FileCalls;

/// A device that damages the same part so often is not worth more trust.
const REPAIRS_MAX: u32 = 3;

type Ranges = Vec<(u64, u64)>;

/// Reads back these ranges of a file that is complete but for its name. Gives the task that does it, if that has no
/// blocks.
pub(crate) fn read_back(
    shared: &Shared<'_>,
    written: &Arc<Task>,
    ranges: Ranges,
    repairs: u32,
) -> Result<Option<Arc<Task>>, Problem> {
    let Finish::Commit(staged) = &written.finish else { unreachable!("only what is committed is read back") };
    let handle = Arc::new(staged.reopen_to_read()?);
    let wanted = shared.settings.options.direct != Choice::Never;
    let direct = wanted && direct(shared, Some(&handle), &written.target_name).unwrap_or(false);
    if !direct {
        // Best effort: where the cache cannot be passed by, its clean pages are dropped, and the sync made them clean.
        let _ = handle.forget_cached();
    }
    let align_bytes = if direct { handle.direct_alignment_bytes() } else { 1 };
    let source = Source::File(FileEnd { handle, align_bytes, buffered: None });
    let finish = Finish::Verified(Trial { written: Arc::clone(written), repairs });
    Ok(put_up(shared, (written, source, Sink::Null), finish, ranges))
}

/// A file was read back: it is committed, or repaired.
pub(crate) fn verified(
    shared: &Shared<'_>,
    waits: &mut Waits,
    again: &Task,
    trial: &Trial,
) -> Result<Option<Arc<Task>>, Problem> {
    let written = &trial.written;
    let damaged = damaged(written, again);
    let mut next = None;
    if !damaged.is_empty() && trial.repairs < REPAIRS_MAX && gives_again(&written.source) {
        next = repair(shared, trial, damaged);
    } else if damaged.is_empty() && (trial.repairs > 0 || hash(written).agrees_with(hash(again))) {
        if let Finish::Commit(staged) = &written.finish {
            publish(shared, waits, written, staged)?;
        }
        settled::done(shared, written);
    } else {
        return Err(mismatch(written, "what the device gives back differs from what was written"));
    }
    settled::settle(shared, again, true);
    Ok(next)
}

/// What was damaged is written again: it is completed and read back once more.
pub(crate) fn repaired(
    shared: &Shared<'_>,
    waits: &mut Waits,
    again: &Task,
    Trial { written, repairs }: &Trial,
) -> Result<Option<Arc<Task>>, Problem> {
    if !damaged(written, again).is_empty() {
        return Err(mismatch(written, "it was damaged, and the source gives other bytes now than before"));
    }
    if let Finish::Commit(staged) = &written.finish {
        complete(shared, waits, written, staged)?;
    }
    let next = read_back(shared, written, again.ranges_to_read_back(), repairs + 1)?;
    settled::settle(shared, again, true);
    Ok(next)
}

fn repair(shared: &Shared<'_>, trial: &Trial, damaged: Ranges) -> Option<Arc<Task>> {
    let Trial { written, repairs } = trial;
    let ranges = match &written.source {
        // It is given whole or not at all.
        Source::Far(file) if matches!(**file, FarFile::Small(_)) => written.ranges_to_read_back(),
        _ => damaged,
    };
    let bytes = ranges.iter().map(|(start, end)| end - start).sum();
    shared.ledger.tally().doubt_bytes += bytes;
    let (path, much) = (shown_path(&written.target_name), bytes_words(bytes));
    let at = ranges.first().map_or(0, |range| range.0);
    shared.ledger.warn(format!(
        "'{path}': {much} from byte {at} on came back damaged from the device and are written again; check the \
         device and its cables (dmesg)"
    ));
    let finish = Finish::Repaired(Trial { written: Arc::clone(written), repairs: *repairs });
    put_up(shared, (written, written.source.clone(), written.sink.clone()), finish, ranges)
}

/// A task for the plan: blocks of a file that was written. Gives it back if it has none.
fn put_up(
    shared: &Shared<'_>,
    (written, source, sink): (&Task, Source, Sink),
    finish: Finish,
    ranges: Ranges,
) -> Option<Arc<Task>> {
    let task = Arc::new(Task::new(Parts {
        number: shared.next_number(),
        names: (written.source_name.clone(), written.target_name.clone()),
        source,
        sink,
        original: None,
        finish,
        hash: Some(FileHash::marked()),
        verify: false,
        ranges: Some(ranges.clone()),
        leaf: None,
    }));
    shared.begin(&task);
    // Where nothing was written nothing is there to be read.
    if !ranges.iter().any(|(start, end)| end > start) {
        return Some(task);
    }
    shared.put_up(task, Some(ranges), Way::Slots);
    None
}

/// The parts of what was moved again in which other bytes came than the first time.
fn damaged(written: &Task, again: &Task) -> Ranges {
    hash(written).differs_from(hash(again), &again.ranges_to_read_back())
}

fn hash(task: &Task) -> &FileHash {
    task.hash.as_ref().expect("what is verified was hashed")
}

/// Whether a source can be read a second time.
fn gives_again(source: &Source) -> bool {
    match source {
        Source::File(_) => true,
        Source::Far(file) => !matches!(**file, FarFile::Stream(_)),
        _ => false,
    }
}

fn mismatch(written: &Task, words: &str) -> Problem {
    let kept = if written.target_is_kept() { "the target was not changed" } else { "do not use the target" };
    let message = format!("{words}; {kept}; check the device and its cables (dmesg), then copy again");
    Problem::new(Class::Mismatch, "verify", &written.target_name, message)
}
