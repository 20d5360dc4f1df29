//! A file of a tree that is complete or was given up: its mark on the list, its other names, its folder.
//!
//! Must not know: how it was moved.

use crate::end::Sink;
use crate::file::goal::syncs_data;
use crate::file::task::{Finish, Leaf, Task};
use crate::run::Shared;
use crate::tree::folder::folder_done::release;
use crate::tree::links::linking;
use crate::tree::list::checkpoint::Written;
use crate::tree::list::journal::{self};
use datapump_files::commit::{Staged, taken};
use datapump_files::disk::FileCalls;
use datapump_files::identity::{FileId, id};

/// A file of this size is put on the list of its tree at once: losing its mark would cost more than the call.
const LISTED_AT_ONCE_MIN_BYTES: u64 = 1 << 20;

/// A file of a tree is complete, or was given up: its other names go on, and its folder waits for one thing less.
pub(crate) fn leaf_done(shared: &Shared<'_>, task: &Task, leaf: &Leaf, complete: bool) {
    if task.has_failed() && !matches!(task.finish, Finish::Checked(_)) {
        leaf.spot.branch.root.fail();
    }
    if complete {
        list(shared, task, leaf);
        shared.ledger.tell(leaf.change.clone());
    }
    match complete {
        true => linking::stands(shared, &leaf.spot, leaf.links, leaf.links.and_then(|_| file_of(task))),
        false => linking::failed(shared, leaf.links),
    }
    release(shared, &leaf.spot.branch);
}

/// What was committed.
fn file_of(task: &Task) -> Option<FileId> {
    let Finish::Commit(staged) = &task.finish else { return None };
    staged.handle.meta().ok().map(|meta| id(&meta))
}

/// Puts a committed file on the list of its tree.
fn list(shared: &Shared<'_>, task: &Task, leaf: &Leaf) {
    let (Finish::Commit(staged), Some(original)) = (&task.finish, &task.original) else { return };
    // A file whose attributes cannot be read is copied again.
    let Ok(target) = staged.handle.meta() else { return };
    let (branch, name) = (&leaf.spot.branch, &leaf.spot.name);
    let root = &branch.root;
    if !branch.claim(&target, name) {
        return root.report(&shared.ledger, taken(&branch.target_path().join(name)));
    }
    if let Some(journal) = root.journal() {
        let soon = original.meta.size_bytes >= LISTED_AT_ONCE_MIN_BYTES;
        // One of an earlier run that was gone on with was born in that.
        if soon {
            journal.know(&target);
        }
        let mark = journal::mark(&branch.path_sum, name, &original.meta, &target);
        let problem = journal.add(mark, &target, (written(shared, task, staged), soon));
        problem.into_iter().for_each(|problem| root.report(&shared.ledger, problem));
    }
}

/// How a complete file came to the disk.
fn written(shared: &Shared<'_>, task: &Task, staged: &Staged) -> Written {
    match &task.sink {
        _ if syncs_data(shared, task.leaf.as_ref(), staged) || task.verify => Written::Synced,
        // In the kernel and by reflink nothing is written directly, whatever the file's ways are.
        Sink::File(file) if file.align_bytes > 1 => Written::Directly,
        _ => Written::Cached,
    }
}
