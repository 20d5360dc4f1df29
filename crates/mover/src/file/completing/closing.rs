//! The close of a file that is copied, which some file systems answer alone for what they were given (FUSE, NFS, CIFS):
//! they keep it only then, or fail to.
//!
//! The first close of any handle has that answer, and the next ones may not: so it comes before another handle of the
//! file is opened, which reads what was copied.
//!
//! Must not know: which step comes when, what follows when one fails.

use crate::end::Sink;
use crate::file::copied::CopiedContent;
use crate::file::task::{Finish, Task};
use crate::problem::{Operation, Problem};
use crate::run::MoverRun;
use datapump_files::commit::StagedFile;
use datapump_files::disk::{FileCalls, kind};

/// Flushes the file where its file system may report failed writes with `close(2)` only, before it gets its name, also with
/// `--sync=none`. The file stays open.
pub fn flush_before_name(run: &MoverRun<'_>, task: &Task) -> Result<(), Problem> {
    let handle = match (&task.finish, &task.sink) {
        (Finish::Stripe(stripe), _) => return stripe.close(),
        (Finish::Commit(staged), _) if !is_rehearsal(run) && !has_plain_disk(run, task, staged) => {
            &staged.handle
        }
        (Finish::Nothing, Sink::Stream(handle)) => handle,
        _ => return Ok(()),
    };
    handle.flush().map_err(|errno| Problem::system(Operation::Close, &task.target_name, errno.0))
}

/// Gives the content that was copied, to be compared with ([`Task::copied_content`]). A target that does not take bytes
/// in order is flushed before, as [`flush_before_name`] says.
pub fn open_copied_content<'task>(
    run: &MoverRun<'_>,
    task: &'task Task,
) -> Result<Option<CopiedContent<'task>>, Problem> {
    if let Finish::Commit(staged) = &task.finish
        && !staged.is_in_order()
    {
        flush_before_name(run, task)?;
    }
    task.copied_content(run.settings.hook.is_some())
}

pub(in crate::file) fn is_rehearsal(run: &MoverRun<'_>) -> bool {
    run.settings.options.measuring.rehearsal_bytes.is_some()
}

/// Whether the file system is one of which close(2) has nothing to tell, and that shows what it takes. Of a tree that is
/// found out once.
pub(super) fn has_plain_disk(run: &MoverRun<'_>, task: &Task, staged: &StagedFile) -> bool {
    match &task.owned.tree {
        Some(tree) => tree.syncs_whole,
        None => kind::syncs_whole(run.settings.target_magic.unwrap_or_else(|| staged.folder.room().magic)),
    }
}
