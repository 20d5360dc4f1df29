//! A file whose content was compared: equal, it is left with its attributes put right; else it is copied.
//!
//! Must not know: how contents are compared.

use std::sync::Arc;

use crate::file::settled;
use crate::file::task::{Against, Finish, Task, TreeFile};
use crate::open::existing;
use crate::open::held::Original;
use crate::problem::Problem;
use crate::run::{Shared, Work};
use crate::target::Item;
use crate::target::listed::Name;
use crate::tree::folder::directory::{Batch, Looked};
use crate::tree::rules::update_existing;
use datapump_files::disk::FileKind;

/// A file was found equal in content to what stands at the target: only its attributes may be wrong.
pub(crate) fn is_equal(shared: &Shared<'_>, task: &Task) -> Result<(), Problem> {
    match (&task.finish, &task.tree_file, &task.original) {
        (Finish::Checked(Against::Target(Some(item))), ..) => existing::right_content(shared, item)?,
        (Finish::Checked(Against::Older), Some(tree_file), original) => {
            come_back(shared, (tree_file, original.as_ref()), Looked::EqualsOlder);
        }
        (_, Some(tree_file), Some(original)) => {
            let is_settled = update_existing::has_right_content(shared, &tree_file.entry, original)?;
            let again = (!is_settled).then_some((tree_file, Some(original)));
            again.into_iter().for_each(|file| come_back(shared, file, Looked::Replaces));
        }
        _ => {}
    }
    Ok(())
}

/// A name is dealt with once more, with what is known about it.
fn come_back(shared: &Shared<'_>, (tree_file, original): (&TreeFile, Option<&Original>), looked: Looked) {
    let directory = Arc::clone(&tree_file.entry.directory);
    directory.hold();
    let unread = || Name::here(tree_file.entry.name.clone(), Some(FileKind::Regular));
    let name =
        original.map_or_else(unread, |original| update_existing::read_name(&tree_file.entry, original));
    shared
        .plan
        .add_first([Work::Batch(Batch { directory, names: vec![name], looked, walks: false })].into_iter());
}

/// A file was found to differ in content from what stands at the target: it is copied.
pub(crate) fn copy_after_all(shared: &Shared<'_>, task: &Task) {
    if !task.fail() {
        return;
    }
    let original = task.original.as_ref();
    match (&task.finish, &task.tree_file) {
        (Finish::Checked(Against::Target(Some(item))), _) => {
            let item = Item { differs: true, ..(**item).clone() };
            shared.plan.add_first([Work::Item(Box::new(item))].into_iter());
        }
        (Finish::Checked(Against::Older), Some(tree_file)) => {
            come_back(shared, (tree_file, original), Looked::DiffersFromOlder);
        }
        (_, Some(tree_file)) => come_back(shared, (tree_file, original), Looked::Replaces),
        _ => {}
    }
    settled::settle(shared, task, false);
}
