//! Finds the place at which two files differ that were compared by digests: the bytes of the block are requested whose
//! digests differ, and compared.
//!
//! Must not know: how blocks are moved and compared.

use std::sync::Arc;

use datapump_core::BlockRoute;

use crate::end::Source;
use crate::file::settled;
use crate::file::task::{Finish, Parts, Task};
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::run::owner::FileOwner;

/// Gives up a file whose digests differ, and enqueues a pass that compares the bytes of the differing block instead. False, and
/// nothing is done, where bytes were compared.
pub fn locate_difference(owner: &dyn FileOwner<'_>, task: &Arc<Task>, at: u64) -> bool {
    let Source::RemoteSums(file) = &task.source else { return false };
    if !task.fail() {
        return true;
    }
    let ranges = vec![block_at(task, at, owner.settings.shape.request_bytes.into())];
    let names = (task.source_name.clone(), task.target_name.clone());
    let source = Source::RemoteHost(Arc::clone(file).once_more());
    let pass = Arc::new(Task::new(Parts {
        ranges: Some(ranges.clone()),
        owned: owner.owned_again(task),
        ..Parts::bare(owner.next_number(), names, source, task.sink.clone(), Finish::Located)
    }));
    owner.begin(&pass);
    owner.plan().enqueue(pass, Some(ranges), BlockRoute::Slots);
    settled::settle(owner, task, false);
    true
}

/// The block of a file's ranges that has this byte, as requests cut them.
fn block_at(task: &Task, at: u64, request_bytes: u64) -> (u64, u64) {
    let ranges = task.ranges().unwrap_or_default();
    let (start, end) = ranges.iter().copied().find(|(_, end)| at < *end).unwrap_or((0, task.length()));
    let start = start + at.saturating_sub(start) / request_bytes * request_bytes;
    (start, end.min(start + request_bytes))
}

/// The bytes are the same, and the digests were not.
pub fn is_same_by_now(task: &Task) -> Problem {
    let other = shown_path(&task.target_name);
    let words = format!("it or '{other}' changed while they were compared; verify again when both are quiet");
    Problem::new(Class::Changed, Operation::Compare, &task.source_name, words)
}
