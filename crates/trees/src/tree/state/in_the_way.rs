//! Folders at the target in whose place names of the source wait to be copied, as a walk over the target meets them.
//!
//! Must not know: when names wait, what may be removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use datapump_core::walked::FolderOfTree;

use crate::folder::directory::Directory;
use crate::listed::Name;

/// A name that waits, and the folder that it lies in.
#[derive(Clone, Debug)]
pub(crate) struct NameWaiting {
    pub(crate) directory: Arc<Directory>,
    pub(crate) name: Name,
    pub(crate) staged: Staged,
}

/// How much of a name that waits is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Staged {
    /// Its file, of this number, is copied, but for its name.
    Copied(u32),
    /// It was tried whether it can be made, or linked to a file that is whole.
    Tried,
    /// Nothing: too many files wait open, or none can.
    Nothing,
}

/// Folders in the way, and those that lead to them.
#[derive(Debug, Default)]
pub(crate) struct FoldersInTheWay(pub(super) BTreeSet<FolderOfTree>);

impl FoldersInTheWay {
    /// The folders in the place of waiting names, with all folders above them.
    pub(crate) fn from_names(roots: &[Arc<Directory>], waiting: &[NameWaiting]) -> FoldersInTheWay {
        let mut ways = FoldersInTheWay::default();
        for NameWaiting { directory, name, .. } in waiting {
            let Some(tree) = tree_of(roots, directory) else { continue };
            ways.0.insert(FolderOfTree { tree, key: directory.key_of(&name.name) });
            let mut next = Some(directory);
            while let Some(here) = next.filter(|here| ways.0.insert(FolderOfTree { tree, key: here.key() })) {
                next = here.parent.as_ref();
            }
        }
        ways
    }

    /// Whether a folder is in the way, or leads to one that is.
    pub(crate) fn lead_to(&self, folder: FolderOfTree) -> bool {
        self.0.contains(&folder)
    }
}

/// The number of the tree that a folder lies in.
pub(crate) fn tree_of(roots: &[Arc<Directory>], directory: &Directory) -> Option<usize> {
    roots.iter().position(|root| Arc::ptr_eq(&root.root, &directory.root))
}
