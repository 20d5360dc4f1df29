//! A file that is complete or was given up: it is counted and told, and what waited for it goes on.
//!
//! Must not know: how it was moved.

use std::path::Path;

use crate::file::task::Task;
use crate::report::event::Event;
use crate::run::owner::FileOwner;

/// Counts and reports a file that is complete and, where that was asked, committed; then settles it.
pub fn report_complete(owner: &dyn FileOwner<'_>, task: &Task) {
    let bytes = task.length();
    let is_told = owner.settings.tells_files || task.is_named();
    let root = task.hash.as_ref().filter(|_| is_told).and_then(|hash| hash.root(bytes));
    let blake3 = root.map(|root| root.to_hex().to_string());
    let mut tally = owner.ledger.tally();
    if task.owned.tree.is_some_and(|tree| tree.is_other_name) {
        tally.done.hard_links += 1;
    } else {
        (tally.done.files, tally.done.bytes) = (tally.done.files + 1, tally.done.bytes + bytes);
    }
    tally.done.blake3.clone_from(&blake3);
    drop(tally);
    owner.ledger.watch.file_done();
    if is_told {
        let nowhere = task.target_name.as_path() == Path::new("null:");
        let path = if nowhere { &task.source_name } else { &task.target_name };
        (owner.ledger.events)(Event::File { path: path.clone(), bytes, blake3 });
    }
    settle(owner, task, true);
}

/// A file needs no more attention: it is complete, or was given up.
pub fn settle(owner: &dyn FileOwner<'_>, task: &Task, complete: bool) {
    owner.live().remove(&task.number);
    owner.handle_settled(task, complete);
    settle_in_plan(owner, task);
}

/// Settles the file in the plan, which waits for it no longer. A further call does nothing.
pub fn settle_in_plan(owner: &dyn FileOwner<'_>, task: &Task) {
    if task.unshare() {
        owner.plan().settled();
    }
    if task.uncount() {
        owner.plan().settled();
    }
}
