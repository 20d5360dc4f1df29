//! What stands at the target and is of another kind than the source: a folder in the place of a file, or the reverse.
//!
//! An entry that is no folder gives way, as a file does to another file, and so does a folder in which nothing is. Any
//! other goes with `--delete` alone, and as all that goes: when the rest of the copy is done without an error. Until
//! then the name waits. In the place of what was named itself, beside trees, it stays.
//!
//! Must not know: how folders are removed with what is in them (`delete`).

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::sync::{Arc, PoisonError};

use datapump_core::verdict::{Phase, Waits};
use datapump_engine::Errno;

use crate::problem::{Class, Operation, Problem};
use crate::run::{Shared, Work};
use crate::target::listed::Name;
use crate::tree::folder::directory::{Batch, Directory, Looked};
use crate::tree::folder::folder_done;
use crate::tree::names::backup::{self, TakenName};
use crate::tree::names::batch_cursor::BatchCursor;
use crate::tree::{delete, finish};
use datapump_files::disk::{FileKind, Folder, Outcome, PathAt, names};

const MOVE_IT_AWAY: &str = "is a folder that is not empty, and the source is none; move the folder away, or remove it, \
                            and copy again";

/// Whether nothing stands any more where a folder stood; if not, the name waits.
pub(crate) fn is_free(shared: &Shared<'_>, cursor: &BatchCursor, name: &Name) -> Result<bool, Problem> {
    let is_free = match shared.settings.options.dry_run {
        // What would be removed is still there.
        true => (cursor.looked != Looked::NotYet && !is_in_the_way(cursor, name)) || is_empty(cursor, name)?,
        false => remove(cursor, name, FileKind::Folder)?,
    };
    // What was named itself lies in no tree from which something is removed.
    let is_named = cursor.directory.root.named.is_some();
    if is_free || (shared.settings.options.delete && !is_named && wait(shared, cursor, name)) {
        return Ok(is_free);
    }
    let words = why_it_stays(shared, is_named);
    Err(Problem::new(Class::Refused, Operation::Replace, &cursor.target_path(&name.name), words))
}

/// Why the folder stays, and what helps: --delete only where it is not refused.
fn why_it_stays(shared: &Shared<'_>, is_named: bool) -> &'static str {
    let options = shared.settings.options;
    let is_delete_refused =
        shared.trees.targets_overlap || shared.trees.select.is_list() || options.remove_sources;
    match is_named || is_delete_refused {
        true => MOVE_IT_AWAY,
        false if options.delete => "is a folder from which not all could be removed, and the source is none",
        false => "is a folder that is not empty, and the source is none; --delete removes it",
    }
}

/// Removes a file where a folder comes, behind a backup of it.
pub(crate) fn remove_file(shared: &Shared<'_>, cursor: &BatchCursor, name: &Name) -> Result<bool, Problem> {
    let remove = || remove(cursor, name, FileKind::Regular);
    backup::of_entry(shared, &cursor.directory, TakenName::gone(cursor.target()?, &name.name), remove)
}

/// Removes what stands there; false for a folder in which something is.
pub(crate) fn remove(cursor: &BatchCursor, name: &Name, kind: FileKind) -> Result<bool, Problem> {
    let target = cursor.target()?;
    let remove = || names::remove(target, &name.name, kind == FileKind::Folder);
    let removed = match remove() {
        Err(Errno::EACCES) if cursor.directory.open_up() => remove(),
        removed => removed,
    };
    match removed {
        Ok(()) | Err(Errno::ENOENT) => Ok(true),
        Err(Errno::EEXIST | Errno::ENOTEMPTY) => Ok(false),
        Err(errno) => Err(Problem::system(Operation::Remove, &cursor.target_path(&name.name), errno.0)),
    }
}

fn is_in_the_way(cursor: &BatchCursor, name: &Name) -> bool {
    cursor.directory.root.is_in_the_way(cursor.directory.key_of(&name.name))
}

fn is_empty(cursor: &BatchCursor, name: &Name) -> Result<bool, Problem> {
    let wrong = |errno: Errno| Problem::system(Operation::List, &cursor.target_path(&name.name), errno.0);
    holds_nothing(cursor.target()?, &name.name).map_err(wrong)
}

fn holds_nothing(above: &File, name: &OsStr) -> Outcome<bool> {
    let names = names::open_folder(above, name).and_then(|folder| names::list(&folder, 0));
    names.map(|(names, _)| names.is_empty())
}

/// Refuses a folder in the place of an entry that was named, as the run does: for a plan, which makes nothing.
pub(crate) fn refuse_folder(at: &PathAt) -> Result<(), Problem> {
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

/// Puts a name off; false if its turn has come.
fn wait(shared: &Shared<'_>, cursor: &BatchCursor, name: &Name) -> bool {
    let mut waiting = shared.trees.waiting.lock().unwrap_or_else(PoisonError::into_inner);
    if waiting.is_over {
        return false;
    }
    let directory = Arc::clone(&cursor.directory);
    directory.hold();
    shared.trees.walk(1);
    directory
        .root
        .in_the_way
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(directory.key_of(&name.name));
    waiting.names.push((directory, name.clone()));
    true
}

/// All else is done: it is found out what is too much. Folders that are in the way go, with all that is too much, and then
/// it is the turn of the names.
pub(crate) fn make_way(shared: &Shared<'_>, waits: &mut Waits) {
    if has_put_off(shared) || delete::walks_again(shared, waits, &roots(shared)) {
        return shared.plan.put_behind(Work::MakeWay);
    }
    let roots = roots(shared);
    let waiting = {
        let mut waiting = shared.trees.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.is_over = true;
        std::mem::take(&mut waiting.names)
    };
    if waiting.is_empty() {
        return;
    }
    let was_made = finish::delete_rest(shared, waits, &roots);
    shared.ledger.watch.enter(Phase::Copying);
    shared.trees.waiting.lock().unwrap_or_else(PoisonError::into_inner).was_made = true;
    shared.ledger.watch.compares_again(waiting.len());
    let looked = if was_made { Looked::Replaces } else { Looked::NotYet };
    let batch = |(directory, name)| Batch { directory, names: vec![name], looked, walks: true };
    let batches: Vec<Work> = waiting.into_iter().map(batch).map(Work::Batch).collect();
    shared.plan.add_first(batches.into_iter());
}

/// Gives their turn to names that are dealt with last in a folder that a waiting name keeps from being done: what they
/// are is known before anything is removed. One of each folder at a time; false if none is left.
fn has_put_off(shared: &Shared<'_>) -> bool {
    let waiting = shared.trees.waiting.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut seen, mut batches) = (HashSet::new(), Vec::new());
    for (directory, _) in &waiting.names {
        let mut next = Some(directory);
        while let Some(directory) = next.filter(|directory| seen.insert(Arc::as_ptr(directory))) {
            batches.extend(
                directory.next_put_off().map(|name| folder_done::put_off_batch(shared, directory, name)),
            );
            next = directory.parent.as_ref();
        }
    }
    let has_some = !batches.is_empty();
    shared.plan.add_first(batches.into_iter());
    has_some
}

/// The roots of all trees: those that are done, and those that names wait in.
fn roots(shared: &Shared<'_>) -> Vec<Arc<Directory>> {
    let mut roots = shared.trees.trees_done().clone();
    let waiting = shared.trees.waiting.lock().unwrap_or_else(PoisonError::into_inner);
    for (directory, _) in &waiting.names {
        let mut root = directory;
        while let Some(parent) = &root.parent {
            root = parent;
        }
        if !roots.iter().any(|known| Arc::ptr_eq(known, root)) {
            roots.push(Arc::clone(root));
        }
    }
    roots
}
