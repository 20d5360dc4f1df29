//! A file that is complete or was given up: it is counted and told, and what waited for it goes on.
//!
//! Must not know: how it was moved.

use std::path::Path;

use crate::file::task::Task;
use crate::run::Shared;
use crate::run::event::Event;
use crate::target::other_names;
use crate::tree;

/// A file is complete and, where that was asked, committed.
pub(crate) fn done(shared: &Shared<'_>, task: &Task) {
    let bytes = task.length();
    let is_told = shared.settings.tells_files || task.is_named();
    let root = task.hash.as_ref().filter(|_| is_told).and_then(|hash| hash.root(bytes));
    let blake3 = root.map(|root| root.to_hex().to_string());
    let mut tally = shared.ledger.tally();
    if task.tree_file.as_ref().is_some_and(|tree_file| tree_file.is_other_name) {
        tally.hard_links += 1;
    } else {
        (tally.files, tally.bytes) = (tally.files + 1, tally.bytes + bytes);
    }
    tally.blake3.clone_from(&blake3);
    drop(tally);
    shared.ledger.watch.file_done();
    if is_told {
        let nowhere = task.target_name.as_path() == Path::new("null:");
        let path = if nowhere { &task.source_name } else { &task.target_name };
        (shared.ledger.events)(Event::File { path: path.clone(), bytes, blake3 });
    }
    shared.ledger.tell(task.change.clone());
    settle(shared, task, true);
}

/// A file needs no more attention: it is complete, or was given up.
pub(crate) fn settle(shared: &Shared<'_>, task: &Task, complete: bool) {
    shared.live().remove(&task.number);
    if let Some(tree_file) = &task.tree_file {
        tree::tree_file::leaf_done(shared, task, tree_file, complete);
    }
    if let Some(item) = &task.first_name {
        other_names::ended(shared, task, item, complete);
    }
    let_plan_go(shared, task);
}

/// The plan waits no longer for what it brings.
pub(crate) fn let_plan_go(shared: &Shared<'_>, task: &Task) {
    if task.unshare() {
        shared.plan.settled();
    }
    if task.uncount() {
        shared.plan.settled();
    }
}
