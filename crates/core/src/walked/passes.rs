//! Looks at all folders of a source until what was walked is what the source was at one moment, or until it is known
//! which folders are restless.
//!
//! A file may have moved from a folder that was walked later to one that was walked before: it is in neither record,
//! and its old name at the target is the only copy. So nothing is removed before all folders were looked at, behind the
//! walk. If none changed since it was walked, the record is what the source was when the first look began: what it does
//! not have was not there. What changed is walked again, and its new names are copied; then all are looked at again.
//!
//! After [`PASSES`] passes what the last of them walked is restless, if the looks behind it show no change elsewhere: all
//! other folders stayed as recorded from before that walk until after it, so that a file which none of them has was in
//! a restless one, or gone. Else there is another pass, and after [`PASSES_MAX`] nothing is removed at all. Restless
//! folders keep their own names; of the others those stay that some folder got or lost since it was walked first
//! ([`MovingNames`]): they may be on their way.
//!
//! Must not know: how folders are looked at and walked.

use std::collections::BTreeSet;

use super::FolderNames;

/// So many passes for the source to become quiet.
pub const PASSES: u32 = 3;
/// So many where each finds other folders changed.
pub const PASSES_MAX: u32 = 6;

/// A folder of one of the trees of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FolderOfTree {
    /// Which tree.
    pub tree: usize,
    /// The folder's key.
    pub key: u64,
}

/// The step behind a look at all folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextPass {
    /// These are walked again, and all are looked at behind that.
    WalkAgain(BTreeSet<FolderOfTree>),
    /// Names that are too much may go, but for what lies in these folders.
    Remove(BTreeSet<FolderOfTree>),
    /// Nothing may go: other folders change each time.
    Nothing(BTreeSet<FolderOfTree>),
}

/// The passes of a command.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    count: u32,
    walked_last: BTreeSet<FolderOfTree>,
}

impl Passes {
    /// Passes so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// All folders were looked at; these are not what they were when they were walked. A dry run walks nothing again.
    pub fn handle_looks(&mut self, changed: BTreeSet<FolderOfTree>, walks_again: bool) -> NextPass {
        if changed.is_empty() || !walks_again {
            return NextPass::Remove(changed);
        }
        if self.count >= PASSES && changed.is_subset(&self.walked_last) {
            return NextPass::Remove(std::mem::take(&mut self.walked_last));
        }
        if self.count >= PASSES_MAX {
            return NextPass::Nothing(changed);
        }
        self.count += 1;
        self.walked_last.clone_from(&changed);
        NextPass::WalkAgain(changed)
    }
}

/// Names that folders got or lost between two walks of a command: what they are of may be on its way.
///
/// A name that was there when its folder was walked first, and is gone, may be on its way although no other folder has
/// its inode yet: it may have moved twice. So it counts, whether its inode was met again or not.
#[derive(Clone, Debug, Default)]
pub struct MovingNames(BTreeSet<u64>);

impl MovingNames {
    /// A folder was walked again.
    pub fn handle_walked(&mut self, before: &FolderNames, now: &FolderNames) {
        let only_in = |one: &FolderNames, other: &FolderNames| -> Vec<u64> {
            one.names().iter().filter(|name| !other.has_same(**name)).map(|name| name.key).collect()
        };
        self.0.extend(only_in(now, before));
        self.0.extend(only_in(before, now));
    }

    /// Whether a name of the target may be on its way in the source.
    pub fn may_have(&self, key: u64) -> bool {
        self.0.contains(&key)
    }

    /// Names that were met.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none was met.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
