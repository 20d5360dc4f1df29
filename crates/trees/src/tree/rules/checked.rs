//! A file whose content was compared: equal, it is left with its attributes put right; else it is copied.
//!
//! Must not know: how contents are compared.

use crate::file::settled;
use crate::file::task::Task;
use crate::folder::directory::{Batch, ReadContents};
use crate::listed::Name;

use crate::open::held::Original;
use crate::problem::Problem;
use crate::tree::rules::update_existing;
use crate::tree::state::links::TreeEntry;
use crate::tree::state::tree_file::{Against, TreeFile};
use crate::tree::{Shared, Work};
use datapump_core::name::Content;
use datapump_files::disk::FileKind;

/// Sets the attributes of a file that was found equal in content, or enqueues it again where it is to be copied or linked.
pub(crate) fn finish_equal(shared: &Shared<'_>, task: &Task) -> Result<(), Problem> {
    let Some(tree_file) = task.kept::<TreeFile>() else { return Ok(()) };
    let original = task.original.as_ref();
    if tree_file.against == Against::Older {
        let read = ReadContents { existing: Content::Other, older: Content::Equal };
        enqueue_again(shared, tree_file, original, read);
    } else if let Some(original) = original
        && let Some(existing) = update_existing::keep_if_equal(shared, &tree_file.entry, original)?
    {
        let read = ReadContents { existing, older: Content::Unread };
        enqueue_again(shared, tree_file, Some(original), read);
    }
    Ok(())
}

/// Enqueues a name again in front of all work, with what is known of its content; its folder waits for it.
fn enqueue_again(shared: &Shared<'_>, tree_file: &TreeFile, original: Option<&Original>, read: ReadContents) {
    let TreeEntry { directory, name } = &tree_file.entry;
    directory.hold();
    let unread = || Name::here(name.clone(), Some(FileKind::Regular));
    let name =
        original.map_or_else(unread, |original| update_existing::read_name(&tree_file.entry, original));
    let batch = Batch { read, ..Batch::new(directory, vec![name], false) };
    shared.plan.add_first([Work::Batch(batch)].into_iter());
}

/// Ends a task that found its file to differ in content, and enqueues the name again, to be copied. Nothing happens if
/// the task failed before.
pub(crate) fn copy_after_all(shared: &Shared<'_>, task: &Task) {
    if !task.fail() {
        return;
    }
    if let Some(tree_file) = task.kept::<TreeFile>() {
        let is_older = tree_file.against == Against::Older;
        let older = if is_older { Content::Other } else { Content::Unread };
        let read = ReadContents { existing: Content::Other, older };
        enqueue_again(shared, tree_file, task.original.as_ref(), read);
    }
    settled::settle(shared, task, false);
}
