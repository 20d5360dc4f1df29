//! What exists at the target and is of another kind than the source: a folder in the place of a file, or the reverse.
//!
//! An entry that is no folder is replaced, as a file is by another file, and so is a folder in which nothing is. Any
//! other is removed with `--delete` alone, when the rest of the copy is done without an error, and by itself: all else
//! that is too much stays until the names that waited for it are copied, too. In the place of what was named itself,
//! beside trees, it stays. A file is whole before that, but for its name: its task waits open. Links were tried. Of more
//! files than may be open the rest is copied in further rounds: each empties the folders of what is staged, and the next
//! begins when all that is copied. After a failure all others stay.
//!
//! Must not know: how folders are removed with what is in them, from which all may be removed (`delete`).

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_core::name::FolderInPlace;
use datapump_core::verdict::{Phase, Waits};
use datapump_engine::Errno;

use crate::file::settled::{settle, settle_in_plan};
use crate::file::task::{Finish, Task};
use crate::folder::directory::{Batch, Directory};
use crate::folder::root::InTheWay;
use crate::listed::Name;
use crate::problem::{Class, Operation, Problem};
use crate::tree::backup::removal;
use crate::tree::batch::cursor::{BatchCursor, BatchName};
use crate::tree::batch::folder_done;
use crate::tree::delete::ways;
use crate::tree::finish::delete_rest;
use crate::tree::state::in_the_way::{FoldersInTheWay, NameWaiting, Staged};
use crate::tree::state::links::TreeEntry;
use crate::tree::{Shared, Work, delete};
use datapump_files::disk::{FileKind, Folder, Outcome, PathAt, names};

const MOVE_IT_AWAY: &str = "is a folder that is not empty, and the source is none; move the folder away, or remove it, \
                            and copy again";

/// Files that wait open, for each so many that the process may have open.
const COPY_OF_OPEN_FILES: u64 = 32;
const COPIES_MAX: u64 = 64;

/// Whether a file is copied before the folder in its place is removed. A copy of what the source had before is given up.
pub(crate) fn is_copied_first(at: BatchName<'_>) -> bool {
    let (options, root) = (at.shared.settings.options, &at.directory().root);
    let waits_no_more = root
        .in_the_way
        .lock()
        .get(&at.directory().key_of(&at.name.name))
        .is_some_and(|it| *it != InTheWay::Waits);
    if !options.deletion.delete
        || options.dry_run
        || root.is_named()
        || waits_no_more
        || at.shared.settings.in_order.is_some()
        || at.directory().traits.append_only()
    {
        return false;
    }
    let earlier = take_waiting(at);
    earlier.into_iter().for_each(|earlier| drop_waiting(at.shared, earlier));
    let limit = datapump_engine::os::linux::open_files_limit().unwrap_or(u64::MAX);
    let is_copied = |waiting: &&NameWaiting| matches!(waiting.staged, Staged::Copied(_));
    let copies = at.shared.trees.waiting.lock().iter().filter(is_copied).count();
    (copies as u64) < (limit / COPY_OF_OPEN_FILES).clamp(1, COPIES_MAX)
}

/// Whether a file that is whole can have its name; if not, it waits for the folder in its place, and no lane for it.
pub(crate) fn may_take_name(
    shared: &Shared<'_>,
    task: &Arc<Task>,
    entry: &TreeEntry,
) -> Result<bool, Problem> {
    let cursor = BatchCursor::open(Batch::new(&entry.directory, Vec::new(), false))
        .map_err(|(_, _, problem)| *problem)?;
    let name = Name::here(entry.name.clone(), Some(FileKind::Regular));
    let at = BatchName { shared, cursor: &cursor, name: &name };
    let wait_end = end_of_wait(at);
    if removal::remove(at, FileKind::Folder)? {
        return Ok(true);
    }
    if full_folder(at, wait_end) == FolderInPlace::Stays {
        return Err(refusal(at, wait_end));
    }
    wait_for_removal(at, Staged::Copied(task.number));
    settle_in_plan(shared, task);
    Ok(false)
}

/// The folder in the place of a name. A run finds out by removing it whether it is empty; a dry run looks, and believes
/// what deletion would have removed.
pub(crate) fn folder_in_place(
    at: BatchName<'_>,
    wait_end: Option<InTheWay>,
) -> Result<FolderInPlace, Problem> {
    let may_be_empty =
        !at.shared.settings.options.dry_run || wait_end == Some(InTheWay::Clear) || is_empty(at)?;
    Ok(if may_be_empty { FolderInPlace::Empty } else { full_folder(at, wait_end) })
}

/// The folder in the place of a name, where something is in it: to be waited for, or to stay. An entry that was named
/// lies in no tree from which something is removed, and an append-only folder loses no name.
pub(crate) fn full_folder(at: BatchName<'_>, wait_end: Option<InTheWay>) -> FolderInPlace {
    let directory = at.directory();
    let stays = wait_end.is_some() || directory.root.is_named() || directory.traits.append_only();
    if stays { FolderInPlace::Stays } else { FolderInPlace::Full }
}

/// A folder in the place of a name was removed: each later look at the name finds nothing there.
pub(crate) fn note_cleared(at: BatchName<'_>) {
    at.directory().root.in_the_way.lock().insert(at.directory().key_of(&at.name.name), InTheWay::Clear);
}

/// Whether a folder in the place of a name was removed, or would be.
pub(crate) fn was_cleared(at: BatchName<'_>) -> bool {
    let key = at.directory().key_of(&at.name.name);
    at.directory().root.in_the_way.lock().get(&key) == Some(&InTheWay::Clear)
}

/// Refuses the name: the folder stays.
pub(crate) fn refusal(at: BatchName<'_>, wait_end: Option<InTheWay>) -> Problem {
    let (class, words) = why_it_stays(at.shared, at.directory().root.is_named(), wait_end);
    Problem::new(class, Operation::Replace, &at.target_path(), words)
}

/// What became of the folder that a name waited for; `None` if it has not waited, or waits still.
pub(crate) fn end_of_wait(at: BatchName<'_>) -> Option<InTheWay> {
    let (mut in_the_way, key) = (at.directory().root.in_the_way.lock(), at.directory().key_of(&at.name.name));
    in_the_way.get(&key).is_some_and(|state| *state != InTheWay::Waits).then(|| in_the_way.remove(&key))?
}

/// Why the folder stays, and what helps: --delete only where it is not refused.
fn why_it_stays(shared: &Shared<'_>, is_named: bool, wait_end: Option<InTheWay>) -> (Class, &'static str) {
    let options = shared.settings.options;
    let is_delete_refused =
        shared.trees.targets_overlap || shared.trees.select.is_list() || options.deletion.remove_sources;
    let words = match wait_end {
        Some(InTheWay::Restless) => {
            let words = "is a folder, and the source is none: it stays because the source changed meanwhile; run the \
                         same command again when it is quiet";
            return (Class::Changed, words);
        }
        Some(InTheWay::NotAllCopied) => {
            "is a folder, and the source is none: it stays because not everything else was copied"
        }
        _ if is_named || is_delete_refused => MOVE_IT_AWAY,
        _ if options.deletion.delete => {
            "is a folder from which not all could be removed, and the source is none"
        }
        _ => "is a folder that is not empty, and the source is none; --delete removes it",
    };
    (Class::Refused, words)
}

fn is_empty(at: BatchName<'_>) -> Result<bool, Problem> {
    let wrong = |errno: Errno| Problem::system(Operation::List, &at.target_path(), errno.0);
    holds_nothing(at.target()?, &at.name.name).map_err(wrong)
}

fn holds_nothing(above: &File, name: &OsStr) -> Outcome<bool> {
    let names = names::open_folder(above, name).and_then(|folder| names::list(&folder, 0));
    names.map(|(names, _)| names.is_empty())
}

/// Refuses a folder in the place of an entry that was named, as the run does: for a plan, which makes nothing.
pub(crate) fn check_no_folder(at: &PathAt) -> Result<(), Problem> {
    let (Ok(Folder::Os(above)), Some(name)) = (at.folder(), at.name()) else { return Ok(()) };
    if !at.metadata_of_name().is_ok_and(|there| there.kind == FileKind::Folder) {
        return Ok(());
    }
    match holds_nothing(above, name) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Problem::new(Class::Refused, Operation::Replace, &at.path, MOVE_IT_AWAY)),
        Err(errno) => Err(Problem::system(Operation::List, &at.path, errno.0)),
    }
}

/// Discards the staged file of a name that waits: it is copied once more.
fn give_up_copy(shared: &Shared<'_>, task: &Task) {
    if !task.fail() {
        return;
    }
    if let Finish::Commit(staged) = &task.finish
        && let Err(problem) = staged.discard()
    {
        shared.ledger.report(problem);
    }
    settle(shared, task, false);
}

/// Has a name wait for the folder in its place to be removed.
pub(crate) fn wait_for_removal(at: BatchName<'_>, staged: Staged) {
    let directory = Arc::clone(at.directory());
    // A file on its way has done so.
    if !matches!(staged, Staged::Copied(_)) {
        directory.hold();
        at.shared.trees.walk(1);
    }
    let key = directory.key_of(&at.name.name);
    let is_first = directory.root.in_the_way.lock().insert(key, InTheWay::Waits).is_none();
    // Its folder was walked again, and what it is now counts.
    let earlier = if is_first { None } else { take_waiting(at) };
    at.shared.trees.waiting.lock().push(NameWaiting { directory, name: at.name.clone(), staged });
    earlier.into_iter().for_each(|earlier| drop_waiting(at.shared, earlier));
}

/// Has a name wait until all else of all trees is done.
pub(crate) fn wait_for_trees(at: BatchName<'_>) {
    at.directory().hold();
    at.shared.trees.walk(1);
    let batch = Batch::new(at.directory(), vec![at.name.without_listing()], true);
    at.shared.trees.awaiting_trees.lock().push(Batch { read: at.cursor.read, ..batch });
    at.shared.plan.put_behind(Work::MakeWay);
}

/// Enqueues the names that wait for the end of all trees; false if none does.
fn enqueue_last_names(shared: &Shared<'_>) -> bool {
    let batches = std::mem::take(&mut *shared.trees.awaiting_trees.lock());
    let has_some = !batches.is_empty();
    if has_some {
        shared.trees.guard.followed.end_trees();
        shared.ledger.watch.compares_again(batches.len());
        shared.plan.add_first(batches.into_iter().map(Work::Batch));
    }
    has_some
}

/// Takes a name from those that wait; `None` if it is not among them.
fn take_waiting(at: BatchName<'_>) -> Option<NameWaiting> {
    let (root, key) = (&at.directory().root, at.directory().key_of(&at.name.name));
    let mut waiting = at.shared.trees.waiting.lock();
    let is_same = |NameWaiting { directory, name, .. }: &NameWaiting| {
        Arc::ptr_eq(&directory.root, root) && directory.key_of(&name.name) == key
    };
    let position = waiting.iter().position(is_same)?;
    Some(waiting.swap_remove(position))
}

/// Ends a name that waited: a copy that was staged for it is given up, any other name counts as done in its folder.
fn drop_waiting(shared: &Shared<'_>, NameWaiting { directory, staged, .. }: NameWaiting) {
    if let Staged::Copied(number) = staged {
        let task = shared.live().get(&number).cloned();
        return task.iter().for_each(|task| give_up_copy(shared, task));
    }
    shared.trees.walked(&shared.ledger.watch);
    folder_done::release(shared, &directory);
}

/// Runs when all else is done: follows the links that wait for that, then finds out what is too much. Folders in the way of
/// what is staged are removed, if all that every such folder holds may be, and the names that wait are dealt with. Then all is
/// looked at once more, before the next round, or before the rest is removed.
pub(crate) fn make_way(shared: &Shared<'_>, waits: &mut Waits) {
    if enqueue_deferred(shared) || enqueue_last_names(shared) {
        return shared.plan.put_behind(Work::MakeWay);
    }
    if !shared.settings.options.deletion.delete {
        return;
    }
    let roots = tree_roots(shared);
    if !delete::has_none(shared) && delete::start_walk_again(shared, waits, &roots) {
        return shared.plan.put_behind(Work::MakeWay);
    }
    let waiting = std::mem::take(&mut *shared.trees.waiting.lock());
    if waiting.is_empty() {
        return;
    }
    let clock = &shared.settings.platform.clock;
    let start_ns = clock.charged_ns();
    let may_clear = ways::may_clear(shared, &roots, &waiting);
    waits.deleting += clock.charged_ns() - start_ns;
    if may_clear {
        let round = next_round(&waiting);
        delete_rest(shared, waits, &roots, Some(&FoldersInTheWay::from_names(&roots, &round)));
        ways::end_waits(&round, InTheWay::Held);
    }
    if !shared.stop.load(Ordering::Relaxed) {
        shared.plan.put_behind(Work::MakeWay);
    }
    shared.ledger.watch.enter(Phase::Copying);
    let (mut works, mut batches) = (Vec::new(), Vec::new());
    let live = shared.live();
    for NameWaiting { directory, name, staged } in waiting {
        match staged {
            Staged::Copied(number) => works.extend(live.get(&number).cloned().map(Work::Finish)),
            Staged::Tried | Staged::Nothing => {
                batches.push(Work::Batch(Batch::new(&directory, vec![name], true)));
            }
        }
    }
    drop(live);
    shared.ledger.watch.compares_again(batches.len());
    works.append(&mut batches);
    shared.plan.add_first(works.into_iter());
}

/// The names whose folders are removed together: all that are staged. What cannot be staged has a round of its own.
fn next_round(waiting: &[NameWaiting]) -> Vec<NameWaiting> {
    let is_staged = |waiting: &&NameWaiting| waiting.staged != Staged::Nothing;
    let staged: Vec<_> = waiting.iter().filter(is_staged).cloned().collect();
    if staged.is_empty() { waiting[..1].to_vec() } else { staged }
}

/// Enqueues one deferred name of each folder that a waiting name keeps from being done: what they are is known before anything
/// is removed. False if none is left.
fn enqueue_deferred(shared: &Shared<'_>) -> bool {
    let (waiting, awaiting) = (shared.trees.waiting.lock(), shared.trees.awaiting_trees.lock());
    let (mut seen, mut batches) = (HashSet::new(), Vec::new());
    let held = waiting.iter().map(|waiting| &waiting.directory);
    for directory in held.chain(awaiting.iter().map(|batch| &batch.directory)) {
        let mut next = Some(directory);
        while let Some(directory) = next.filter(|directory| seen.insert(Arc::as_ptr(directory))) {
            batches.extend(
                directory.next_put_off().map(|name| folder_done::deferred_batch(shared, directory, name)),
            );
            next = directory.parent.as_ref();
        }
    }
    let has_some = !batches.is_empty();
    shared.plan.add_first(batches.into_iter());
    has_some
}

/// The roots of all trees: those that are done, and those that names wait in. Their order is the same each time.
fn tree_roots(shared: &Shared<'_>) -> Vec<Arc<Directory>> {
    let mut roots = shared.trees.trees_done.lock().clone();
    let waiting = shared.trees.waiting.lock();
    for NameWaiting { directory, .. } in waiting.iter() {
        let mut root = directory;
        while let Some(parent) = &root.parent {
            root = parent;
        }
        if !roots.iter().any(|known| Arc::ptr_eq(known, root)) {
            roots.push(Arc::clone(root));
        }
    }
    drop(waiting);
    roots.sort_by_key(|root| root.root.number);
    roots
}
