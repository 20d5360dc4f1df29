//! A file whose content was compared: equal, it is left with its attributes put right; else it is copied.
//!
//! Must not know: how contents are compared.

use std::sync::Arc;

use crate::file::settled;
use crate::file::task::{Against, Finish, Leaf, Task};
use crate::open::existing;
use crate::problem::Problem;
use crate::run::{Shared, Work};
use crate::target::Item;
use crate::target::listed::Name;
use crate::tree::folder::branch::{Batch, Looked};
use crate::tree::rules::right;
use datapump_files::disk::FileKind;

/// A file was found equal in content to what stands at the target: only its attributes may be wrong.
pub(crate) fn is_equal(shared: &Shared<'_>, task: &Task) -> Result<(), Problem> {
    match (&task.finish, &task.leaf, &task.original) {
        (Finish::Checked(Against::Target(Some(item))), ..) => existing::right_content(shared, item)?,
        (Finish::Checked(Against::Older), Some(leaf), _) => come_back(shared, leaf, Looked::EqualsOlder),
        (_, Some(leaf), Some(original)) => right::right_content(shared, &leaf.spot, original)?,
        _ => {}
    }
    Ok(())
}

/// A name is dealt with once more, by one that knows more about it.
fn come_back(shared: &Shared<'_>, leaf: &Leaf, looked: Looked) {
    let branch = Arc::clone(&leaf.spot.branch);
    branch.hold();
    let name = Name::here(leaf.spot.name.clone(), Some(FileKind::Regular));
    shared
        .plan
        .add_first([Work::Batch(Batch { branch, names: vec![name], looked, walks: false })].into_iter());
}

/// A file was found to differ in content from what stands at the target: it is copied.
pub(crate) fn copy_after_all(shared: &Shared<'_>, task: &Task) {
    if !task.fail() {
        return;
    }
    match (&task.finish, &task.leaf) {
        (Finish::Checked(Against::Target(Some(item))), _) => {
            let item = Item { differs: true, ..(**item).clone() };
            shared.plan.add_first([Work::Item(Box::new(item))].into_iter());
        }
        (Finish::Checked(Against::Older), Some(leaf)) => come_back(shared, leaf, Looked::DiffersFromOlder),
        (_, Some(leaf)) => come_back(shared, leaf, Looked::Replaces),
        _ => {}
    }
    settled::settle(shared, task, false);
}
