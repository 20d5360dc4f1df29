//! Finishes trees: what is too much is removed, one sync for each file system, then the list goes and the root gets its
//! attributes.
//!
//! Must not know: how names are dealt with, how blocks are moved.

mod unsettled;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_core::units::counted;
use datapump_core::verdict::{Phase, Waits};
use datapump_engine::{CpuStage, Errno, meter::within};

use crate::folder::directory::Directory;
use crate::folder::root::Root;
use crate::list::journal::TreeJournal;
use crate::problem::{Class, Operation, Problem, shown_path, system_words};
use crate::setup::options::Sync;
use crate::tree::batch::folder_done::{finish_folder, sweep_folder};
use crate::tree::state::in_the_way::FoldersInTheWay;
use crate::tree::{Shared, backup, delete, moved};
use datapump_files::attributes;
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::disk::{AttributeHolder, Meta, Outcome, is_closed, names};
use datapump_files::opened_folders::OPEN;

/// Why a list stays behind a run of fewer names.
const OTHER_NAMES: &str =
    "of other names than these; what it left of those is put right by a copy without --exclude and the like";

/// What becomes of a list behind a run.
enum ListEnd {
    /// All is done.
    Goes,
    /// Something failed, and what stands there is on stable storage all the same.
    Settles,
    /// What stands there may not be on the disk; if that is not of this run alone, in words.
    Stays(Option<String>),
}

/// Finishes the trees when all lanes have ended: removes what is too much, syncs each file system, removes the lists and sets
/// the attributes of the roots. A tree in which something failed keeps its list: the same command resumes. Where the syncs went
/// well the list says that nothing in the target is unverified.
pub(crate) fn finish_trees(shared: &Shared<'_>, waits: &mut Waits, is_complete: bool) {
    let mut trees_done = std::mem::take(&mut *shared.trees.trees_done.lock());
    trees_done.sort_by_key(|directory| directory.root.number);
    delete::report_missed(shared);
    if !is_complete {
        return;
    }
    debug_assert!(!shared.trees.links.has_waiting(), "each first name has ended");
    // A folder that nobody finished would be a mistake of this program's: better told than hidden.
    let lost = shared.trees.trees_started() - trees_done.len();
    if lost > 0 {
        let words = format!("{lost} of the trees could not be finished; copy again");
        shared.ledger.report(Problem::of(Class::Io, Operation::Finish, words));
    }
    // A list that trees share is that of the first, which is finished behind the others.
    let (sharing, first): (Vec<_>, Vec<_>) =
        trees_done.iter().partition(|directory| directory.root.shares_list);
    first.iter().for_each(|directory| close_list(shared, directory));
    if shared.settings.options.deletion.delete && !shared.settings.compares {
        delete_rest(shared, waits, &trees_done, None);
        if !shared.plan.is_exhausted() {
            return;
        }
    }
    let start_ns = shared.settings.platform.clock.charged_ns();
    backup::finish_folders(shared);
    if shared.settings.writes && syncs_devices(shared, &trees_done) {
        sync_devices(shared, &trees_done);
    }
    shared.ledger.watch.enter(Phase::Attributes);
    for directory in sharing.into_iter().chain(first) {
        if let Err(problem) = finish_root(shared, directory) {
            shared.ledger.report(problem);
        }
    }
    if shared.settings.options.deletion.remove_sources && shared.settings.writes {
        moved::remove_sources(shared, &trees_done);
    }
    // The roots' own attributes are few, and their folders are synced with them.
    waits.sync += shared.settings.platform.clock.charged_ns() - start_ns;
}

/// Whether file systems are synced as a whole: files that exist already may be of a copy that nobody synced. That counts before
/// the sources are removed, and where there was the list of an interrupted copy, whose files count as copied.
fn syncs_devices(shared: &Shared<'_>, trees_done: &[Arc<Directory>]) -> bool {
    let options = shared.settings.options;
    let goes_on = || {
        let mut journals = trees_done.iter().filter_map(|directory| directory.root.journal());
        journals.any(TreeJournal::stood)
    };
    options.deletion.remove_sources
        || options.durability.sync == Sync::End
        || (options.durability.sync == Sync::Each && goes_on())
}

/// Ends the syncs beside the copy, and reports what failed in them, before anything is removed that the copy was to replace.
fn close_list(shared: &Shared<'_>, directory: &Directory) {
    let failed = directory.root.journal().and_then(TreeJournal::close);
    failed.into_iter().for_each(|problem| directory.root.report(&shared.ledger, problem));
    if let Some(errno) = directory.root.journal().and_then(TreeJournal::lacks) {
        let (list, why) = (directory.target_path().join(LIST_NAME), system_words(errno.0));
        shared.ledger.warn(format!(
            "'{}' could not be written: {why}; a copy that goes on does more again",
            shown_path(&list)
        ));
    }
}

/// Removes what is too much, if all was copied; of a file that only grew that is what it held when it was opened. With
/// `ways` folders in the way alone, with what is in them.
pub(crate) fn delete_rest(
    shared: &Shared<'_>,
    waits: &mut Waits,
    trees_done: &[Arc<Directory>],
    ways: Option<&FoldersInTheWay>,
) {
    if shared.stop.load(Ordering::Relaxed) {
        // What would be removed may not be known yet.
        return shared.plan.cut();
    }
    if delete::has_none(shared) {
        return;
    }
    let clock = &shared.settings.platform.clock;
    let start_ns = clock.charged_ns();
    // A file that moved in the source has its old name here as the one copy that is surely on the disk: if this sync
    // fails nothing is removed. Nor is it if the file was given up under its new name, as one that was rewritten is.
    if shared.settings.options.durability.sync == Sync::End && shared.settings.writes {
        sync_devices(shared, trees_done);
    }
    if shared.ledger.tally().keeps_all() {
        // Of a copy that was refused as a whole nothing else is expected.
        if !shared.ledger.failed_whole.load(Ordering::Relaxed) {
            let flag = if shared.settings.options.deletion.mirror { "" } else { " (--delete)" };
            let what = if shared.trees.pruning.lock().removed > 0 { "nothing else" } else { "nothing" };
            let words = format!("{what} was removed{flag}, because not everything was copied");
            shared.ledger.warn_once(words);
        }
        return;
    }
    let synced_ns = clock.charged_ns();
    waits.sync += synced_ns - start_ns;
    if !delete::has_some(shared) {
        return;
    }
    shared.ledger.watch.enter(Phase::Deleting);
    let deleted = delete::delete(shared, trees_done, ways);
    waits.deleting += clock.charged_ns() - synced_ns;
    if shared.stop.load(Ordering::Relaxed) {
        shared.plan.cut();
    }
    let _ = deleted.map_err(|problem| delete::refuse(shared, problem));
}

/// Gives folders that were opened up their modes, and syncs them as requested, also behind a run that was cut. A dry
/// run warns of those that it could not open.
pub(crate) fn close_folders(shared: &Shared<'_>) {
    if let Some((path, others)) = shared.trees.opened_folders.unseen() {
        let (path, others) = (shown_path(&path), others as u64);
        let more =
            if others > 0 { format!(" and {}", counted(others, "other folder")) } else { String::new() };
        shared.ledger.warn(format!(
            "a dry run does not open up folders that their mode closes to this user, their owner, as the run will: what \
             is in '{path}'{more} counts as missing"
        ));
    }
    let mut devices = BTreeMap::new();
    let done = |folder: &File, meta: &Meta| match shared.settings.options.durability.sync {
        Sync::None => Ok(()),
        Sync::Each => folder.sync_all().map_err(|error| Errno::from_io_error(&error)),
        Sync::End => {
            let own = || folder.try_clone().map_err(|error| Errno::from_io_error(&error));
            devices.entry(meta.device).or_insert(own()?);
            Ok(())
        }
    };
    for (path, errno) in shared.trees.opened_folders.close(done) {
        shared.ledger.report(Problem::system(Operation::SetAttributes, &path, errno.0));
    }
    for folder in devices.values() {
        if let Err(errno) = names::sync_all(folder) {
            shared.ledger.report(Problem::of(Class::Io, Operation::SyncFileSystem, system_words(errno.0)));
        }
    }
}

/// Syncs each file system of the targets, and tells the lists how that went. Where one fails all trees count as failed.
pub(in crate::tree) fn sync_devices(shared: &Shared<'_>, trees_done: &[Arc<Directory>]) {
    shared.ledger.watch.enter(Phase::Syncing);
    let (devices, mut said) = (shared.trees.devices.lock(), Ok(()));
    for (path, folder) in devices.values() {
        let _stage = within(CpuStage::Sync);
        if let Err(errno) = names::sync_all(folder) {
            trees_done.iter().for_each(|directory| directory.root.fail());
            shared.ledger.report(Problem::system(Operation::SyncFileSystem, path, errno.0));
            said = Err((path.as_path(), errno));
        }
    }
    trees_done
        .iter()
        .filter(|directory| !directory.root.shares_list)
        .filter_map(|directory| directory.root.journal())
        .for_each(|journal| journal.synced(&said));
}

/// Sweeps the root, sets its attributes, ends its list and syncs it. Everything below is on the disk before the list is
/// removed, and its removal is on the disk before status 0 is given. The root's own attributes are set right before: a user who
/// may write to it could have made a list in it. Killed before the list is removed the same command resumes, and nothing is
/// left to do behind.
fn finish_root(shared: &Shared<'_>, directory: &Directory) -> Result<(), Problem> {
    let Some(target) = directory.target.as_ref().filter(|_| shared.settings.writes) else { return Ok(()) };
    let wrong = |errno: Errno| Problem::system(Operation::Finish, &target.path(), errno.0);
    let folder = target.file()?;
    sweep_folder(shared, directory)?;
    // Looked for before: in a root that is open to others, or of another user, a list is not believed, and a run that
    // was killed there would be followed by one that copies below it.
    shared.trees.memory.look_for_notes(&folder);
    let own = directory.root.journal().filter(|_| !directory.root.shares_list);
    let end = own.map(|journal| decide_list_end(shared, directory, journal, &folder));
    // A root that does not take its attributes is no reason to leave a list in it.
    let finished = finish_folder(shared, directory).inspect_err(|_| directory.root.fail());
    let listed = finish_list(shared, directory, &folder, end).map_err(wrong);
    let done = finished.and(listed);
    if !shared.settings.syncs_names() {
        return done;
    }
    let _stage = within(CpuStage::Sync);
    let synced = [Some(&folder), directory.root.made_in.as_ref()].into_iter().flatten();
    let sync = |synced: &Arc<File>| synced.sync_all().map_err(|error| wrong(Errno::from_io_error(&error)));
    done.and(synced.into_iter().try_for_each(sync))
}

/// Decides whether the list of a tree is removed, stays, or stays with all files known to be on the disk.
fn decide_list_end(
    shared: &Shared<'_>,
    directory: &Directory,
    journal: &TreeJournal,
    folder: &Arc<File>,
) -> ListEnd {
    let is_whole = directory.root.list.is_whole();
    let why_not = || why_not_over(shared, &directory.root, journal, folder, &directory.target_path());
    if journal.is_over(is_whole) {
        why_not().map_or(ListEnd::Goes, |why| ListEnd::Stays(Some(why)))
    } else if is_whole {
        ListEnd::Stays(Some(OTHER_NAMES.into()))
    } else if !may_settle(shared, journal) || why_not().is_some() {
        // The problems were reported already.
        ListEnd::Stays(None)
    } else {
        ListEnd::Settles
    }
}

/// Whether all that this run committed is on stable storage. In place a file is half written where it was given up, and
/// what reads back otherwise is not what the source holds.
fn may_settle(shared: &Shared<'_>, journal: &TreeJournal) -> bool {
    let options = shared.settings.options;
    let reads_well = !shared.ledger.tally().problems.contains_key(&Class::Mismatch);
    options.durability.sync != Sync::None && !options.durability.inplace && reads_well && journal.may_settle()
}

/// Removes the list, or has it stay for a later run, which is reported where it needs a reason.
fn finish_list(
    shared: &Shared<'_>,
    directory: &Directory,
    folder: &Arc<File>,
    end: Option<ListEnd>,
) -> Outcome<()> {
    let (Some(journal), Some(end)) = (directory.root.journal(), end) else { return Ok(()) };
    match end {
        ListEnd::Goes if journal.is_over(directory.root.list.is_whole()) => {
            return remove_list(shared, directory, journal, folder);
        }
        // The root did not take its attributes.
        ListEnd::Goes if !may_settle(shared, journal) => {}
        // One that cannot be written leaves all in doubt: more is copied again.
        ListEnd::Goes | ListEnd::Settles => drop(journal.settle()),
        ListEnd::Stays(None) => {}
        ListEnd::Stays(Some(why)) => {
            let list = shown_path(&directory.target_path().join(LIST_NAME)).to_string();
            shared
                .ledger
                .warn(format!("'{list}' stays: it is of an earlier copy that did not end well, {why}"));
        }
    }
    // A list that others could have written to would not be believed.
    if journal.is_believed && !is_closed(folder) { close_to_others(folder) } else { Ok(()) }
}

/// Why a list stays although all that this run dealt with is right.
fn why_not_over(
    shared: &Shared<'_>,
    root: &Root,
    journal: &TreeJournal,
    folder: &Arc<File>,
    path: &Path,
) -> Option<String> {
    // What failed otherwise is told, and does not make more of it.
    if !journal.has_unverified() || !shared.settings.writes {
        return None;
    }
    match unsettled::find(shared, root, journal, folder, path) {
        Ok(found) if found.is_empty() => None,
        Ok(found) => Some(format!(
            "and of files that are not of this one: {} changed since it began and may not be on the disk; copy \
             again with them in the source, or compare them and remove them or the list",
            found.words()
        )),
        Err(problem) => Some(format!("and not all of its folder can be looked at: {}", problem.message)),
    }
}

/// Takes from others the right to write to a root whose list stays. A failure is ignored: no later run believes the
/// list then.
fn close_to_others(folder: &File) -> Outcome<()> {
    const OTHERS_WRITE: u32 = 0o022;
    let folder = AttributeHolder::Open(folder);
    let mode = folder.meta()?.mode;
    // Where that is refused no later run believes the list.
    let _ = (mode & OTHERS_WRITE != 0).then(|| folder.set_mode(mode & !OTHERS_WRITE));
    Ok(())
}

/// Removes the list; the root keeps the times that it has, and where it is no copy those that it got by other names.
fn remove_list(
    shared: &Shared<'_>,
    directory: &Directory,
    journal: &TreeJournal,
    folder: &File,
) -> Outcome<()> {
    let folder = AttributeHolder::Open(folder);
    let own = if directory.traits.keeps_own { Some(folder.meta()?) } else { None };
    match journal.remove() {
        // The root's mode lets nobody write.
        Err(Errno::EACCES) => {
            let mode = folder.meta()?.mode;
            folder.set_mode(mode | OPEN)?;
            let removed = journal.remove();
            folder.set_mode(mode).and(removed)?;
        }
        removed => removed?,
    }
    if own.is_some() || shared.settings.options.attributes.keep.times {
        // A refusal was reported when the folder got all its attributes.
        let _ = attributes::copy_times(own.as_ref().unwrap_or(&directory.source.meta), folder);
    }
    Ok(())
}
