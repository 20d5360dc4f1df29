//! Reads a written file back from its device, and writes again what came back damaged.
//!
//! The written file goes into the plan once more as a source to be hashed: the same loop reads it. What differs from
//! what was written is taken from the source again, group by group (256 KiB), written over the damaged part and read
//! back, a few times at most. A source that gives something else than before is not believed.
//!
//! Must not know: how blocks are moved, what is done before a file gets its name.

pub mod locate;

use std::sync::Arc;

use datapump_core::{BlockRoute, PassesCompared};

use crate::end::hash::FileHash;
use crate::end::{FileEnd, Sink, Source};
use crate::file::task::{Finish, Parts, Task};
use crate::open::direct::switch_to_direct;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::run::owner::FileOwner;
use crate::setup::options::Choice;
use crate::units::bytes_words;
use datapump_engine::TransferFlags;
use datapump_files::disk::FileCalls;

type VerifyRanges = Vec<(u64, u64)>;

/// Enqueues a pass that reads back what a pass has written, past the cache if possible. Gives the pass if it has no blocks.
pub fn enqueue_read_back(
    owner: &dyn FileOwner<'_>,
    written: &Arc<Task>,
    pass: &Task,
) -> Result<Option<Arc<Task>>, Problem> {
    let Finish::Commit(staged) = &written.finish else { unreachable!("only what is committed is read back") };
    let handle = Arc::new(staged.reopen_to_read(written.length())?);
    let wanted = owner.settings.options.tuning.direct != Choice::Never;
    let direct = wanted && switch_to_direct(owner, Some(&handle), &written.target_name).unwrap_or(false);
    if !direct {
        // Best effort: where the cache cannot be passed by, its clean pages are dropped, and the sync made them clean.
        let _ = handle.forget_cached();
    }
    let align_bytes = if direct { handle.direct_alignment_bytes() } else { 1 };
    let source = Source::File(FileEnd {
        handle,
        align_bytes,
        buffered: None,
        flags: TransferFlags::default(),
        skips_zeros: false,
    });
    let finish = Finish::ReadBack(Arc::clone(written));
    Ok(enqueue_pass(owner, written, source, Sink::Null, finish, pass.ranges_to_read_back()))
}

/// Compares what a further pass moved with what was written first.
pub fn compare(written: &Task, pass: &Task) -> PassesCompared {
    let was_repaired = written.life().repairs() > 0;
    if !damaged(written, pass).is_empty() {
        PassesCompared::Damaged
    } else if !pass.reads_back() || was_repaired || hash(written).agrees_with(hash(pass)) {
        // Of a part that was written again alone there is no hash of the whole.
        PassesCompared::Same
    } else {
        PassesCompared::Differs
    }
}

/// Warns of what was damaged when it was read back, and enqueues a pass that writes it again. Gives the pass if it has no
/// blocks.
pub fn enqueue_repair(owner: &dyn FileOwner<'_>, written: &Arc<Task>, pass: &Task) -> Option<Arc<Task>> {
    let ranges = match &written.source {
        source if source.is_read_whole() => written.ranges_to_read_back(),
        _ => damaged(written, pass),
    };
    let bytes = ranges.iter().map(|(start, end)| end - start).sum();
    owner.ledger.tally().doubt_bytes += bytes;
    let (path, much) = (shown_path(&written.target_name), bytes_words(bytes));
    let at = ranges.first().map_or(0, |range| range.0);
    owner.ledger.warn(format!(
        "'{path}': {much} from byte {at} on was damaged when it was read back, and is written again; check the \
         device and its cables (dmesg)"
    ));
    let finish = Finish::Repair(Arc::clone(written));
    enqueue_pass(owner, written, written.source.clone(), written.sink.writing_zeros(), finish, ranges)
}

/// Begins another pass over a file that was written, and enqueues it. Gives the pass back if it has no blocks.
fn enqueue_pass(
    owner: &dyn FileOwner<'_>,
    written: &Task,
    source: Source,
    sink: Sink,
    finish: Finish,
    ranges: VerifyRanges,
) -> Option<Arc<Task>> {
    let names = (written.source_name.clone(), written.target_name.clone());
    let task = Arc::new(Task::new(Parts {
        hash: Some(FileHash::marked()),
        ranges: Some(ranges.clone()),
        ..Parts::bare(owner.next_number(), names, source, sink, finish)
    }));
    owner.begin(&task);
    let bytes = ranges.iter().map(|(start, end)| end - start).sum();
    // Before a lane can land the first block.
    written.life().handle_pass(bytes);
    // Where nothing was written nothing is there to be read.
    if bytes == 0 {
        return Some(task);
    }
    owner.plan().enqueue(task, Some(ranges), BlockRoute::Slots);
    None
}

/// The parts of what was moved again in which other bytes came than the first time.
fn damaged(written: &Task, again: &Task) -> VerifyRanges {
    hash(written).differs_from(hash(again), &again.ranges_to_read_back())
}

fn hash(task: &Task) -> &FileHash {
    task.hash.as_ref().expect("what is verified was hashed")
}

/// Whether a source can be read a second time.
pub fn gives_again(source: &Source) -> bool {
    match source {
        Source::File(_) | Source::Stripe(_) => true,
        Source::RemoteHost(_) => !source.is_remote_stream(),
        Source::Web(file) => file.has_ranges(),
        _ => false,
    }
}

/// The problem of a copy that cannot be believed.
pub fn mismatch(written: &Task, words: &str) -> Problem {
    let kept = if written.target_is_kept() { "the target was not changed" } else { "do not use the target" };
    let message = format!("{words}; {kept}; check the device and its cables (dmesg), then copy again");
    Problem::new(Class::Mismatch, Operation::Verify, &written.target_name, message)
}
