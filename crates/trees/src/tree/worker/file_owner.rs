//! What the mover asks about the files that trees and users' names gave it, and reports of them: a complete one gets its
//! mark on the list, its other names go on, its folder waits for one thing less.
//!
//! Must not know: how a file is moved.

use std::sync::Arc;

use crate::end::Sink;
use crate::file::owned::Owned;
use crate::file::task::{Finish, Task};
use crate::folder::directory::NotCopied;
use crate::list::checkpoint::Written;
use crate::list::journal;
use crate::problem::Problem;
use crate::run::MoverRun;
use crate::run::owner::{FileOwner, Worker};
use crate::run::plan::FilePlan;
use crate::tree::Shared;
use crate::tree::backup::{self, TakenName};
use crate::tree::batch::folder_done::release;
use crate::tree::links::linking;
use crate::tree::names::make_way;
use crate::tree::rules::checked;
use crate::tree::state::tree_file::{NamedFile, TreeFile};
use crate::tree::worker::TreeWorker;
use datapump_engine::Handle;
use datapump_files::commit::{StagedFile, taken};
use datapump_files::disk::{FileCalls, Folder};
use datapump_files::identity::{FileId, id};

/// A file of this size is put on the list of its tree at once: losing its mark would cost more than the call.
const LISTED_AT_ONCE_MIN_BYTES: u64 = 1 << 20;

impl<'run> FileOwner<'run> for Shared<'run> {
    fn run(&self) -> &MoverRun<'run> {
        &self.run
    }

    fn plan(&self) -> &dyn FilePlan {
        &self.plan
    }

    fn worker(&self, moves_pieces: bool) -> Box<dyn Worker + '_> {
        Box::new(TreeWorker::new(self, moves_pieces))
    }

    fn lets_in(&self, file: &Arc<Task>) -> Result<bool, Problem> {
        match file.kept::<TreeFile>().filter(|tree_file| tree_file.replaces_folder) {
            Some(tree_file) => make_way::may_take_name(self, file, &tree_file.entry),
            None => Ok(true),
        }
    }

    /// Gives a finished file its name, behind a backup of an existing entry.
    fn put_name(
        &self,
        file: &Task,
        staged: &StagedFile,
        publish: &dyn Fn() -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let (Folder::Os(folder), Handle::Os(made)) = (&staged.folder, &*staged.handle) else {
            return publish();
        };
        // The time that the file got is that of its source when it was looked at last.
        let source = file.original.as_ref().map(|original| original.latest().1);
        let name = TakenName::from_made(self, folder, &staged.name, made, source);
        match file.kept::<TreeFile>() {
            Some(TreeFile { entry, .. }) if staged.replaces() => {
                backup::replace_entry(self, &entry.directory, name, publish)
            }
            Some(TreeFile { entry, .. }) => backup::make_entry(self, &entry.directory, name, publish),
            None if !staged.replaces() => {
                backup::make_named_file(self, name, || taken(&file.target_name), publish)
            }
            None => backup::replace_file(self, name, &file.target_name, publish),
        }
    }

    fn handle_equal(&self, file: &Task) -> Result<(), Problem> {
        checked::finish_equal(self, file)
    }

    fn handle_differs(&self, file: &Task) {
        checked::copy_after_all(self, file);
    }

    fn handle_failed(&self, file: &Task, problem: Problem) {
        let Some(TreeFile { entry, .. }) = file.kept() else { return self.ledger.report(problem) };
        let read = file.passed_file().map_or(file, |written| written).original.as_ref();
        let file_id = read.map(|original| id(&original.meta));
        let missed =
            NotCopied { file: file_id, overwrites: file.overwrites_target(), ..NotCopied::name(&entry.name) };
        entry.directory.report(&self.ledger, missed, problem);
    }

    fn handle_mixed(&self, file: &Task, problem: Problem) {
        match file.kept::<TreeFile>() {
            Some(TreeFile { entry, .. }) => entry.directory.root.report(&self.ledger, problem),
            None => self.ledger.report(problem),
        }
    }

    fn handle_settled(&self, file: &Task, is_complete: bool) {
        if let Some(tree_file) = file.kept() {
            file_done(self, file, tree_file, is_complete);
        }
        if let Some(named) = file.kept::<NamedFile>() {
            self.ledger.tell(named.change.clone().filter(|_| is_complete));
        }
    }

    fn owned_again(&self, file: &Task) -> Owned {
        let Some(TreeFile { entry, .. }) = file.kept() else { return Owned::default() };
        entry.directory.hold();
        TreeFile::new(entry.clone()).into_owned()
    }
}

/// Ends a file of a tree that is complete or was given up: its other names are linked or dealt with, and its folder waits for
/// one thing less.
pub(crate) fn file_done(shared: &Shared<'_>, task: &Task, tree_file: &TreeFile, complete: bool) {
    if complete {
        list_committed(shared, task, tree_file);
        shared.ledger.tell(tree_file.change.clone());
    }
    if complete {
        linking::link_waiting(
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

/// Adds a committed file to the list of its tree.
fn list_committed(shared: &Shared<'_>, task: &Task, tree_file: &TreeFile) {
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
        let mark = journal::file_mark(&directory.path_sum, name, original.latest().1, &target);
        let problem = journal.add(mark, &target, written(task), soon);
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
