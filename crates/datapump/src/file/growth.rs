//! A source that became longer while it was copied: the copy counts if the source still begins with it.
//!
//! Must not know: what tells that a source became longer (`identity`), which step comes next.

use datapump_core::verdict::Phase;

use crate::file::task::Task;
use crate::open::held::{Held, Original};
use crate::problem::{Operation, Problem};
use crate::run::Shared;
use datapump_engine::{Errno, Handle};
use datapump_files::commit::StagedFile;
use datapump_files::disk::FileCalls;
use datapump_files::identity::{changed, cut_short, prefix};

const REWRITTEN: &str = "was rewritten, and became longer,";

/// Accepts what was copied of a source that only grew, and tells it; anything else is a change. Of another host the
/// bytes are not there to be compared: in a tree its file counts by its length, by itself it is a change.
pub(crate) fn accept(
    shared: &Shared<'_>,
    task: &Task,
    (original, staged): (&Original, &StagedFile),
    words: &str,
) -> Result<(), Problem> {
    let change = |words: &str| Err(changed(&original.path, words, task.target_is_kept()));
    match &original.held {
        // A rehearsal writes a part, which gets no name.
        _ if shared.settings.options.rehearsal_bytes.is_some() => {}
        Held::Here(source) if !begins_with_copy(shared, task, (source, staged))? => return change(REWRITTEN),
        Held::There(_) if task.tree_file.is_none() => return change(words),
        Held::Here(_) => cut_off(staged, task.length())
            .map_err(|errno| Problem::system(Operation::SetLength, &task.target_name, errno.0))?,
        Held::There(_) => {}
    }
    shared.ledger.report_grown(cut_short(&original.path, words, task.length()));
    Ok(())
}

fn begins_with_copy(
    shared: &Shared<'_>,
    task: &Task,
    (source, staged): (&Handle, &StagedFile),
) -> Result<bool, Problem> {
    if !shared.settings.has_trees && shared.settings.files_wanted == 1 {
        shared.ledger.watch.enter(Phase::Verifying);
    }
    let copy = staged.reopen_to_read()?;
    prefix::is_shared(source, &copy, task.length(), &shared.stop)
        .map_err(|errno| Problem::system(Operation::Read, &task.source_name, errno.0))
}

/// A clone has also what was appended between the look at the source and the clone.
fn cut_off(staged: &StagedFile, length_bytes: u64) -> Result<(), Errno> {
    if staged.handle.meta()?.size_bytes > length_bytes { staged.handle.set_len(length_bytes) } else { Ok(()) }
}
