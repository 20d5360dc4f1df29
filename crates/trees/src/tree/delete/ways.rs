//! Folders in the way: a name of the source is to be copied in their place, and waits until they are removed.
//!
//! A name that is too much is removed only behind the last copy, since it may be the old name of what is not copied yet.
//! A folder in the way cannot wait for that: it is removed by itself, before. So it is judged first whether all that
//! such folders hold may be removed. If something stays for good (a pattern protects it, it is mounted, a pump uses it)
//! no name that waits is copied, and nothing is removed at all. If something stays because the source was not quiet, the
//! names that wait count as names that changed: they are dealt with again in the next pass.
//!
//! Must not know: when names wait, how they are copied.

use std::sync::Arc;

use datapump_core::walked::FolderOfTree;
use datapump_engine::Errno;

use super::pass::DeleteStep;
use super::{has_too_restless, new_pass, refuse};
use crate::folder::directory::Directory;
use crate::folder::root::InTheWay;
use crate::listed::Name;

use crate::tree::Shared;
use crate::tree::state::in_the_way::{FoldersInTheWay, NameWaiting, tree_of};
use datapump_files::disk::{FileKind, names};

/// Whether all folders in the way may be removed. If not, the names need wait no longer: why each folder stays is noted.
pub(crate) fn may_clear(shared: &Shared<'_>, roots: &[Arc<Directory>], waiting: &[NameWaiting]) -> bool {
    let stay = |cause| {
        end_waits(waiting, cause);
        false
    };
    if shared.ledger.tally().keeps_all() {
        return stay(InTheWay::NotAllCopied);
    }
    if has_too_restless(shared) {
        return stay(InTheWay::Restless);
    }
    let mut count = new_pass(shared, DeleteStep::Count, roots);
    let ways = FoldersInTheWay::from_names(roots, waiting);
    count.ways = Some(&ways);
    let counted = roots.iter().enumerate().try_for_each(|(tree, root)| count.delete_in_tree(tree, root));
    if let Err(problem) = counted {
        refuse(shared, problem);
        return stay(InTheWay::NotAllCopied);
    }
    let is_clear = |NameWaiting { directory, name, .. }: &&NameWaiting| {
        let key = directory.key_of(&name.name);
        let tree = tree_of(roots, directory);
        tree.is_some_and(|tree| count.clear.contains(&FolderOfTree { tree, key })) || is_gone(directory, name)
    };
    let clear = waiting.iter().filter(is_clear);
    if clear.clone().count() == waiting.len() {
        return true;
    }
    if count.keeps_for_now && !count.holds {
        return stay(InTheWay::Restless);
    }
    for NameWaiting { directory, name, .. } in clear {
        directory.root.end_wait(directory.key_of(&name.name), InTheWay::NotAllCopied);
    }
    stay(InTheWay::Held)
}

/// Whether no folder is in the place of a name any more.
fn is_gone(directory: &Directory, name: &Name) -> bool {
    let folder = directory.target.as_ref().and_then(|target| target.file().ok());
    let found = folder.map(|folder| names::metadata(&folder, &name.name));
    found.is_some_and(|found| match found {
        Ok(meta) => meta.kind != FileKind::Folder,
        Err(errno) => errno == Errno::ENOENT,
    })
}

/// Ends the wait of each name whose folder in the way stays, with the cause.
pub(crate) fn end_waits(waiting: &[NameWaiting], cause: InTheWay) {
    for NameWaiting { directory, name, .. } in waiting {
        let key = directory.key_of(&name.name);
        if directory.root.is_in_the_way(key) {
            directory.root.end_wait(key, cause);
        }
    }
}
