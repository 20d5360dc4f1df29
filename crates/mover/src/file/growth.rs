//! A source that became longer while it was copied: the copy counts if the source still begins with it.
//!
//! Must not know: what tells that a source became longer (`identity`), which step comes next.

use std::path::Path;

use datapump_core::verdict::Phase;

use crate::file::completing::closing;
use crate::file::task::Task;
use crate::open::held::{Held, Original};
use crate::problem::{Class, Operation, Problem};
use crate::run::MoverRun;
use crate::run::owner::FileOwner;
use datapump_engine::Errno;
use datapump_files::commit::StagedFile;
use datapump_files::disk::FileCalls;
use datapump_files::identity::{changed, cut_short};

const REWRITTEN: &str = "was rewritten, and became longer,";

/// Accepts what was copied of a source that only grew, and reports it; anything else is a change. A file of another host
/// is read by that host, which answers with digests. One that is too old for that leaves a file of a tree unverified:
/// what was copied is put in place, since a log is never quiet, and is reported as possibly mixed, for which nothing is
/// removed and the list stays; by itself it is a change.
pub fn accept(
    owner: &dyn FileOwner<'_>,
    task: &Task,
    original: &Original,
    staged: &StagedFile,
    words: &str,
) -> Result<(), Problem> {
    let change = |words: &str| Err(changed(&original.path, words, task.target_is_kept()));
    // A rehearsal writes a part, which gets no name.
    if owner.settings.options.measuring.rehearsal_bytes.is_none() {
        match begins_with_copy(owner, task, original)? {
            Some(false) => return change(REWRITTEN),
            Some(true) => cut_off(staged, task.length())
                .map_err(|errno| Problem::system(Operation::SetLength, &task.target_name, errno.0))?,
            None if !task.is_named() => {
                owner.handle_mixed(task, may_be_mixed(&original.path, task.length()));
                return Ok(());
            }
            None => return change(words),
        }
    }
    owner.ledger.report_grown(cut_short(&original.path, words, task.length()));
    Ok(())
}

/// The problem of a file of another host that became longer: nobody looked whether it still begins with its copy.
fn may_be_mixed(path: &Path, bytes: u64) -> Problem {
    let words = format!(
        "the source became longer while it was copied, and may have been rewritten: what is copied, {bytes} bytes, may \
         be of both states; copy again when the source is quiet"
    );
    Problem::new(Class::Changed, Operation::Copy, path, words)
}

/// `None` where the source cannot be read a second time.
fn begins_with_copy(run: &MoverRun<'_>, task: &Task, original: &Original) -> Result<Option<bool>, Problem> {
    if !run.settings.has_trees && run.settings.files_wanted == 1 {
        run.ledger.watch.enter(Phase::Verifying);
    }
    let Some(copy) = closing::open_copied_content(run, task)? else { return Ok(None) };
    match &original.held {
        Held::Here(source) => copy
            .is_same_as(source, &run.stop)
            .map(Some)
            .map_err(|errno| Problem::system(Operation::Read, &task.source_name, errno.0)),
        Held::There(file) => file.begins_with(original, &copy, &run.stop),
    }
}

/// A clone has also what was appended between the look at the source and the clone.
fn cut_off(staged: &StagedFile, length_bytes: u64) -> Result<(), Errno> {
    if staged.handle.meta()?.size_bytes > length_bytes { staged.handle.set_len(length_bytes) } else { Ok(()) }
}
