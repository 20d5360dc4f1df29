//! When the last thing in a folder is done it gets its attributes, and its parent waits for one thing less.
//!
//! Must not know: how names are dealt with, how blocks are moved.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::folder::directory::{Batch, Directory};
use crate::folder::side::FolderSide;

use crate::list::journal::TreeJournal;
use crate::list::sweep;
use crate::listed::Name;
use crate::origin::Origin;
use crate::problem::{AttributeKind, Operation, Problem};
use crate::setup::options::Sync;
use crate::tree::{Shared, Work};
use datapump_engine::{CpuStage, meter::within};
use datapump_files::attributes;
use datapump_files::attributes::keep::New;
use datapump_files::attributes::loss::{Loss, Lost};
use datapump_files::disk::{AttributeHolder, Meta, file_meta, names, origin};

/// The mode with which folders are made, and that they have until all in them is done.
const AS_MADE: u32 = 0o700;

/// Counts one thing in a folder as done. The last one finishes the folder, which counts as one thing in its parent.
pub(crate) fn release(shared: &Shared<'_>, directory: &Arc<Directory>) {
    let mut done = Arc::clone(directory);
    while done.release() {
        if let Some(name) = done.next_put_off() {
            return deal_with_put_off(shared, &done, name);
        }
        if done.root.is_named() {
            shared.trees.names_begun.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let Some(parent) = done.parent.clone() else {
            return shared.trees.trees_done.lock().push(done);
        };
        if removed_for_lack_of_room(shared, &done) {
            shared.ledger.tally().done.folders_made -= 1;
            shared.ledger.leave_missing(0);
            done.root.fail();
            done = parent;
            continue;
        }
        if let Err(problem) = sweep_folder(shared, &done).and_then(|()| finish_folder(shared, &done)) {
            done.report_own(&shared.ledger, problem);
        }
        done = parent;
    }
}

/// Removes a new folder that is empty because there was no room for its names; false if it stays.
fn removed_for_lack_of_room(shared: &Shared<'_>, directory: &Directory) -> bool {
    if !(shared.ledger.full.is_full() && directory.traits.fresh && directory.target.is_some()) {
        return false;
    }
    let above = directory.parent.as_ref().and_then(|parent| parent.target.as_ref()?.file().ok());
    let Some(above) = above else { return false };
    let names = directory.source.origin().and_then(|folder| folder.list(0, false, &directory.source.path()));
    names.is_ok_and(|(names, _)| !names.is_empty())
        && names::remove(&above, &directory.source.name, true).is_ok()
}

fn deal_with_put_off(shared: &Shared<'_>, directory: &Arc<Directory>, name: Name) {
    shared.plan.add_first([deferred_batch(shared, directory, name)].into_iter());
    if holds_plan(shared) {
        shared.plan.settled();
    }
}

/// The work for a name that was deferred, and is dealt with now; its folder waits for it.
pub(crate) fn deferred_batch(shared: &Shared<'_>, directory: &Arc<Directory>, name: Name) -> Work {
    directory.hold();
    let walks = shared.settings.has_trees;
    if walks {
        shared.trees.walk(1);
    }
    Work::Batch(Batch::new(directory, vec![name], walks))
}

/// Puts a name off until all else in its folder is done; false if its turn has come.
pub(crate) fn put_off(shared: &Shared<'_>, directory: &Directory, name: &Name) -> bool {
    let is_put_off = directory.put_off(name);
    if is_put_off && holds_plan(shared) {
        shared.plan.hold();
    }
    is_put_off
}

/// Whether lanes must be told that a name which was put off will bring work. With --delete each file says so until it
/// is done, and the names that wait for folders in their place must not wait for those that are put off.
fn holds_plan(shared: &Shared<'_>) -> bool {
    !shared.settings.options.deletion.delete
}

/// A folder gets its attributes when nothing in it changes any more: each new name would change its times.
pub(crate) fn finish_folder(shared: &Shared<'_>, directory: &Directory) -> Result<(), Problem> {
    let differed = finish_attributes(shared, directory)?;
    shared.ledger.tally().done.adjusted += u64::from(differed);
    Ok(())
}

/// Sets the attributes of a folder that is done, and syncs it where that is requested. True if it had others before and all
/// could be kept.
fn finish_attributes(shared: &Shared<'_>, directory: &Directory) -> Result<bool, Problem> {
    let Some(target) = directory.target.as_ref().filter(|_| shared.settings.writes) else { return Ok(false) };
    let (from, to) = (directory.source.origin()?, target.file()?);
    // One that was opened up has not its own mode.
    let was_right = !target.was_opened_up() && has_right_attributes(shared, directory, &from, &to);
    // Looked at before they are set.
    let differed = was_different(shared, directory, &from, &to, was_right);
    let mut is_whole = true;
    if !was_right || directory.traits.keeps_own {
        let lost = set_attributes(shared, directory, target, &from, &to)?;
        target.note_mode_set()?;
        is_whole = shared.ledger.report_lost(lost, || target.path()).is_empty();
    }
    // Names were made in a folder that has its attributes already, too. A root is synced when its list is gone.
    let synced = match shared.settings.options.durability.sync {
        Sync::Each => !was_right,
        Sync::End => directory.is_synced_by_parts(),
        Sync::None => false,
    };
    if synced && directory.parent.is_some() && shared.settings.syncs_names() {
        let _stage = within(CpuStage::Sync);
        shared.aside(|waits| &mut waits.sync, || to.sync_all()).map_err(|error| {
            Problem::system(Operation::SyncFolder, &target.path(), error.raw_os_error().unwrap_or(5))
        })?;
    }
    // What was not kept whole is told as that.
    Ok(differed && is_whole)
}

/// Removes what killed runs left in a folder that this run did not make.
pub(crate) fn sweep_folder(shared: &Shared<'_>, directory: &Directory) -> Result<(), Problem> {
    let Some(target) = directory.target.as_ref().filter(|_| shared.settings.writes) else { return Ok(()) };
    let journal = directory.root.journal().filter(|journal| journal.continues && !directory.traits.fresh);
    // A file that was cut right now is gone on with.
    if let Some(journal) = journal.filter(|_| !shared.is_stopping() && !directory.root.shares_target) {
        let given = shared.settings.options.attributes.keep.given;
        let source = directory.source.origin()?;
        sweep::sweep(&target.file()?, &source, journal.begun_ns, given);
    }
    Ok(())
}

/// Sets the attributes of a folder, and gives what could not be kept.
fn set_attributes(
    shared: &Shared<'_>,
    directory: &Directory,
    target: &FolderSide,
    from: &Origin,
    to: &File,
) -> Result<Lost, Problem> {
    if directory.traits.keeps_own {
        return Ok(restore_mode(target, to).into_iter().collect());
    }
    let keep = shared.settings.options.attributes.keep;
    let (made, handed_down) = (was_made(shared, directory, to), directory.traits.handed_down);
    let bare = directory.traits.fresh && handed_down.is_none();
    let new = New { made, bare, handed_down, shows_taken: false, replaced: None };
    let kept = attributes::copy(from.bearer(), &directory.source.meta, AttributeHolder::Open(to), keep, new);
    let lost = kept.map_err(|errno| Problem::system(Operation::SetAttributes, &target.path(), errno.0))?;
    let restored = if keep.mode { None } else { restore_mode(target, to) };
    Ok(lost.into_iter().chain(restored).collect())
}

/// Whether this run made the folder, or an earlier one did, whose list this one goes on with: where no mode is kept of
/// the source, it has to get that of a new folder.
fn was_made(shared: &Shared<'_>, directory: &Directory, to: &File) -> bool {
    let is_left = || {
        let journal = directory.root.journal().filter(|journal| journal.continues);
        let found = directory.target.as_ref().map(|target| target.meta);
        journal.zip(found).is_some_and(|(journal, found)| was_left(directory, &found, journal, to))
    };
    let keep = shared.settings.options.attributes.keep;
    // Without times it cannot be told from a folder that was finished, and that its user closed since.
    directory.traits.fresh || (!keep.mode && keep.times && is_left())
}

/// Whether a run that was cut made the folder and did not finish it: before this one wrote in it, it had the mode with
/// which it was made, and not the time of its source.
fn was_left(directory: &Directory, found: &Meta, journal: &TreeJournal, to: &File) -> bool {
    let is_as_made = found.mode & 0o777 == AS_MADE && found.uid == rustix::process::geteuid().as_raw();
    let is_unfinished = found.mtime_ns != directory.source.meta.mtime_ns;
    let is_young = || journal.begun_ns > 0 && origin(to).0 >= journal.begun_ns;
    // The list is made in a new root, and so is younger.
    let is_of_cut_run = if directory.parent.is_none() { journal.is_of_new_folder } else { is_young() };
    is_as_made && is_unfinished && is_of_cut_run
}

/// Gives a folder that was opened up its own mode back. Gives the loss if that fails.
fn restore_mode(target: &FolderSide, to: &File) -> Option<Loss> {
    if !target.was_opened_up() {
        return None;
    }
    let errno = AttributeHolder::Open(to).set_mode(target.meta.mode).err()?;
    let what = format!("permissions {:04o}, which it had", target.meta.mode);
    Some(Loss::system(AttributeKind::Mode, errno, &what))
}

/// Whether the existing folder has the right attributes, where what is right is left alone: a run with nothing to do
/// writes nothing.
fn has_right_attributes(shared: &Shared<'_>, directory: &Directory, from: &Origin, to: &File) -> bool {
    let meta = &directory.source.meta;
    let Ok(there) = file_meta(to) else { return false };
    shared.trees.flags.leaves_some()
        && !was_made(shared, directory, to)
        && is_as(shared, meta, &there)
        && matches!(
            attributes::hidden_differ(
                from.bearer(),
                AttributeHolder::Open(to),
                shared.settings.options.attributes.keep
            ),
            Ok(false)
        )
}

/// Whether time, owner and mode are right.
fn is_as(shared: &Shared<'_>, meta: &Meta, there: &Meta) -> bool {
    let (flags, source) = (&shared.trees.flags, shared.settings.options.attributes.keep.given.of(meta));
    flags.is_time_right(&source, there) && flags.is_owner_right(&source, there)
}

/// Whether a folder that stood there was not right when it was found: each name that this run made in it has changed
/// its times since. Counted where what is right is left alone.
fn was_different(
    shared: &Shared<'_>,
    directory: &Directory,
    from: &Origin,
    to: &File,
    is_right: bool,
) -> bool {
    let Some(found) = directory.target.as_ref().map(|target| target.meta) else { return false };
    let is_counted = shared.trees.flags.leaves_some() && !directory.traits.keeps_own;
    let keep = shared.settings.options.attributes.keep;
    let hidden_differ = || {
        let differ = attributes::hidden_differ(from.bearer(), AttributeHolder::Open(to), keep);
        !is_right && matches!(differ, Ok(true))
    };
    // A mode that lets fewer in is set when the folder is entered.
    is_counted
        && !was_made(shared, directory, to)
        && (!is_as(shared, &directory.source.meta, &found) || hidden_differ())
}
