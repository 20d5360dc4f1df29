//! A file on its way, as the trees keep it: its name, what waits for it, what it is compared with.
//!
//! Must not know: how a file is moved, what becomes of it.

use crate::file::owned::{Owned, PlaceInTree};
use crate::folder::directory::Directory;
use crate::open::held::Held;
use crate::report::change::Change;
use crate::tree::state::links::{FileState, TreeEntry};
use datapump_files::disk::Meta;
use datapump_files::identity::tick::TimeLook;

/// What a file of a tree is compared with, and what becomes of that if it is equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Against {
    /// The target, which is left as it stands.
    Target,
    /// The file of the same name in `--link-dest`, which is linked.
    Older,
}

/// A file's place in a tree.
#[derive(Debug)]
pub(crate) struct TreeFile {
    pub(crate) entry: TreeEntry,
    /// It has several names, and the others wait for this one.
    pub(crate) links: Option<FileState>,
    /// The change to report when it is done.
    pub(crate) change: Option<Box<Change>>,
    /// Another name of the same file was compared before: this one counts as a hard link.
    pub(crate) is_other_name: bool,
    /// Nothing had its name when that was looked at.
    pub(crate) is_new: bool,
    /// A folder is in its place, which is removed when all else of the file is done.
    pub(crate) replaces_folder: bool,
    /// Of one that is compared.
    pub(crate) against: Against,
}

impl TreeFile {
    /// A file of which nothing is known but its name.
    pub(crate) fn new(entry: TreeEntry) -> TreeFile {
        TreeFile {
            entry,
            links: None,
            change: None,
            is_other_name: false,
            is_new: false,
            replaces_folder: false,
            against: Against::Target,
        }
    }

    /// What the mover has of it.
    pub(crate) fn into_owned(self) -> Owned {
        let Directory { traits, root, .. } = &*self.entry.directory;
        let tree = PlaceInTree {
            is_named: root.is_named(),
            has_waiting_names: self.links.is_some(),
            is_other_name: self.is_other_name,
            handed_down: traits.handed_down,
            syncs_whole: traits.syncs_whole,
            syncs_data: root.is_named() || self.entry.directory.is_synced_by_parts(),
            is_new: self.is_new,
            syncs_name: root.named.is_some_and(|named| named.is_alone),
        };
        Owned { tree: Some(tree), kept: Some(Box::new(self)) }
    }
}

/// A file that the user named, and that lies in no tree.
#[derive(Debug, Default)]
pub(crate) struct NamedFile {
    /// The change to report when it is done.
    pub(crate) change: Option<Box<Change>>,
}

/// A source file that is open, and what its times could tell.
pub(crate) struct OpenedFile {
    pub(crate) held: Held,
    pub(crate) meta: Meta,
    pub(crate) look: TimeLook,
}
