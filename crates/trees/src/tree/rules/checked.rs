//! A file whose content was compared: equal, it is left with its attributes put right; else it is copied.
//!
//! Must not know: how contents are compared.

use std::sync::Arc;

use crate::file::settled;
use crate::file::task::Task;
use crate::folder::directory::{Batch, Looked};
use crate::listed::Name;
use crate::open::held::Original;
use crate::problem::Problem;
use crate::tree::rules::update_existing;
use crate::tree::state::tree_file::{Against, TreeFile};
use crate::tree::{Shared, Work};
use datapump_files::disk::FileKind;

/// A file was found equal in content to what stands at the target: only its attributes may be wrong.
pub(crate) fn is_equal(shared: &Shared<'_>, task: &Task) -> Result<(), Problem> {
    let Some(tree_file) = task.kept::<TreeFile>() else { return Ok(()) };
    let original = task.original.as_ref();
    if tree_file.against == Against::Older {
        come_back(shared, tree_file, original, Looked::EqualsOlder);
    } else if let Some(original) = original
        && !update_existing::has_right_content(shared, &tree_file.entry, original)?
    {
        come_back(shared, tree_file, Some(original), Looked::Replaces);
    }
    Ok(())
}

/// A name is dealt with once more, with what is known about it.
fn come_back(shared: &Shared<'_>, tree_file: &TreeFile, original: Option<&Original>, looked: Looked) {
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
    if let Some(tree_file) = task.kept::<TreeFile>() {
        let looked = match tree_file.against {
            Against::Older => Looked::DiffersFromOlder,
            Against::Target => Looked::Replaces,
        };
        come_back(shared, tree_file, task.original.as_ref(), looked);
    }
    settled::settle(shared, task, false);
}
