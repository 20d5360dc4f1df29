//! A file of a tree that is complete or was given up: its mark on the list, its other names, its folder.
//!
//! Must not know: how it was moved.

use crate::end::Sink;
use crate::file::task::{Finish, Task, TreeFile};
use crate::run::Shared;
use crate::tree::folder::folder_done::release;
use crate::tree::links::linking;
use crate::tree::list::checkpoint::Written;
use crate::tree::list::journal::{self};
use datapump_files::commit::taken;
use datapump_files::disk::FileCalls;
use datapump_files::identity::{FileId, id};

/// A file of this size is put on the list of its tree at once: losing its mark would cost more than the call.
const LISTED_AT_ONCE_MIN_BYTES: u64 = 1 << 20;

/// A file of a tree is complete, or was given up: its other names go on, and its folder waits for one thing less.
pub(crate) fn leaf_done(shared: &Shared<'_>, task: &Task, tree_file: &TreeFile, complete: bool) {
    if complete {
        list(shared, task, tree_file);
        shared.ledger.tell(tree_file.change.clone());
    }
    if complete {
        linking::stands(
            shared,
            &tree_file.entry,
            tree_file.links,
            tree_file.links.and_then(|_| file_of(task)),
        );
    } else {
        linking::failed(shared, tree_file.links);
    }
    release(shared, &tree_file.entry.directory);
}

/// What was committed.
fn file_of(task: &Task) -> Option<FileId> {
    let Finish::Commit(staged) = &task.finish else { return None };
    staged.handle.meta().ok().map(|meta| id(&meta))
}

/// Puts a committed file on the list of its tree.
fn list(shared: &Shared<'_>, task: &Task, tree_file: &TreeFile) {
    let (Finish::Commit(staged), Some(original)) = (&task.finish, &task.original) else { return };
    // A file whose attributes cannot be read is copied again.
    let Ok(target) = staged.handle.meta() else { return };
    let (directory, name) = (&tree_file.entry.directory, &tree_file.entry.name);
    let root = &directory.root;
    let is_new = !staged.replaces() && !staged.is_in_place();
    if !directory.claim_written(&target, name, is_new) {
        return root.report(&shared.ledger, taken(&directory.target_path().join(name)));
    }
    // A file that lost what only its extended attributes show is copied again by a run that goes on, which tells that.
    if let Some(journal) = root.journal().filter(|_| !task.has_lost_attributes()) {
        let soon = original.meta.size_bytes >= LISTED_AT_ONCE_MIN_BYTES;
        // One of an earlier run that was gone on with was born in that.
        if soon {
            journal.know(&target);
        }
        let mark = journal::mark(&directory.path_sum, name, original.latest().1, &target);
        let problem = journal.add(mark, &target, (written(task), soon));
        problem.into_iter().for_each(|problem| root.report(&shared.ledger, problem));
    }
}

/// How a complete file came to the disk.
fn written(task: &Task) -> Written {
    match &task.sink {
        _ if task.life().goal().syncs_data => Written::Synced,
        // In the kernel and by reflink nothing is written directly, whatever the file's ways are.
        Sink::File(file) if file.align_bytes > 1 => Written::Directly,
        _ => Written::Cached,
    }
}
