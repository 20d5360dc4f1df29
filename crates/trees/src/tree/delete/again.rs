//! Walks folders again that changed since they were walked: what is new in them is dealt with as in the first walk.
//!
//! The folders above them are opened once more, and finished once more when what lies in them is done.
//!
//! Must not know: which folders changed, what is removed.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::sync::Arc;

use crate::folder::directory::{Directory, NotCopied};
use crate::folder::visited::{FolderKey, ROOT};
use crate::problem::Problem;
use crate::tree::batch::folder_done;
use crate::tree::{Shared, Work, walk};

/// For each folder those in it that lead to one that is walked again.
type Ways = HashMap<FolderKey, BTreeSet<(FolderKey, OsString)>>;

/// Enqueues the listings of these folders of a tree.
pub(super) fn walk_again(shared: &Shared<'_>, root: &Arc<Directory>, folders: &BTreeSet<FolderKey>) {
    if folders.is_empty() {
        return;
    }
    // A root that is done is on its way again.
    shared.trees.trees_done.lock().retain(|done| !Arc::ptr_eq(done, root));
    root.hold();
    let ways = steps_to_folders(root, folders);
    let mut open = vec![Arc::clone(root)];
    while let Some(directory) = open.pop() {
        for (_, name) in ways.get(&directory.key()).into_iter().flatten() {
            match walk::open_again(shared, &directory, name) {
                Ok(below) => open.push(below),
                // What vanished shows by the folder above it when all are looked at again.
                Err(problem) => {
                    tell(shared, &directory, directory.judge_by_source(NotCopied::folder(name), problem));
                }
            }
        }
        if folders.contains(&directory.key()) {
            list_folder(shared, directory);
        } else {
            folder_done::release(shared, &directory);
        }
    }
}

/// The folders on the way from the root to these folders, each below the one above it.
fn steps_to_folders(root: &Directory, folders: &BTreeSet<FolderKey>) -> Ways {
    let mut ways = Ways::new();
    for folder in folders {
        let mut above = ROOT;
        for (key, name) in root.root.visited.steps_from_root(*folder) {
            ways.entry(above).or_default().insert((key, name));
            above = key;
        }
    }
    ways
}

fn tell(shared: &Shared<'_>, directory: &Directory, problem: Problem) {
    if !problem.is_vanished() {
        directory.root.report(&shared.ledger, problem);
    }
}

/// Enqueues the listing of a folder that is walked again, and notes what it is before that. One that cannot be looked
/// at is reported.
fn list_folder(shared: &Shared<'_>, directory: Arc<Directory>) {
    match directory.source.rewind().and_then(|()| directory.source.look_again()) {
        Ok((now, is_young)) => directory.note_walk(&now, is_young),
        Err(problem) => {
            tell(shared, &directory, directory.judged_above(problem));
            return folder_done::release(shared, &directory);
        }
    }
    shared.trees.walk(1);
    shared.plan.add_first([Work::List(directory)].into_iter());
}
