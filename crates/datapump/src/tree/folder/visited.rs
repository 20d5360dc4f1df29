//! What each folder of a source was when it was walked: `--delete` acts on that, and on nothing that it finds later.
//!
//! A folder is known by the names that lead to it, and kept as two numbers of 64 bits, whatever its path. A folder that
//! was changed, replaced, covered by a mount or uncovered since then has another number now. The key of the hash is not
//! known outside, so that nobody can look for two states of one number.
//!
//! Must not know: how trees are walked, what is removed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::job::budget::charged::ChargedRoom;
use crate::problem::Problem;
use crate::tree::folder::side::FolderSide;
use datapump_files::disk::Meta;

/// A folder by the names that lead to it.
pub(crate) type FolderKey = u64;

/// The root of every tree.
pub(crate) const ROOT: FolderKey = 0;

/// The folders of one tree. Nothing is kept where nothing is removed.
#[derive(Debug, Default)]
pub(crate) struct Visited {
    states: Option<Mutex<FolderStates>>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct FolderStates {
    of: HashMap<FolderKey, u64>,
    room: ChargedRoom,
}

/// What a folder takes here, while the table moves, too.
const FOLDER_BYTES: usize = 64;

impl Visited {
    /// Keeps what folders are, for a tree with `--delete`.
    pub(crate) fn keeping() -> Visited {
        Visited { states: Some(Mutex::default()), hasher: RandomState::new() }
    }

    /// The folder `name` in another.
    pub(crate) fn below(&self, above: FolderKey, name: &OsStr) -> FolderKey {
        match &self.states {
            Some(_) => self.hasher.hash_one((above, name)),
            None => ROOT,
        }
    }

    /// Makes room for one folder more. What another host brings is charged.
    ///
    /// Errors: this side may not hold more of it.
    pub(crate) fn make_room(&self, source: &FolderSide) -> Result<(), Problem> {
        let Some(mut states) = self.states() else { return Ok(()) };
        let FolderStates { of, room } = &mut *states;
        room.make(of.len(), FOLDER_BYTES, |bytes| source.charge_there(bytes))
    }

    /// The folder is about to be listed, and was this when it was opened.
    pub(crate) fn note(&self, folder: FolderKey, meta: &Meta) {
        if let Some(mut states) = self.states() {
            states.of.insert(folder, self.state(meta));
        }
    }

    /// Whether the folder was walked.
    pub(crate) fn has(&self, folder: FolderKey) -> bool {
        self.states().is_some_and(|states| states.of.contains_key(&folder))
    }

    /// Whether the folder was walked and is what it was then.
    pub(crate) fn is_as_walked(&self, folder: FolderKey, now: &Meta) -> bool {
        self.states().is_some_and(|states| states.of.get(&folder) == Some(&self.state(now)))
    }

    fn states(&self) -> Option<MutexGuard<'_, FolderStates>> {
        self.states.as_ref().map(|states| states.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A name that is added, removed or moved changes both times of its folder; the second cannot be set back.
    fn state(&self, meta: &Meta) -> u64 {
        self.hasher.hash_one((meta.device, meta.inode, meta.mtime_ns, meta.ctime_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_as_walked_only_in_its_place_and_unchanged() {
        let meta = Meta::nothing();
        let visited = Visited::keeping();
        let folder = visited.below(ROOT, OsStr::new("a"));
        visited.note(folder, &meta);
        let other = visited.below(ROOT, OsStr::new("b"));
        for (folder, now, expected) in [
            (folder, meta, true),
            (folder, Meta { atime_ns: 9, ..meta }, true),
            (folder, Meta { device: 9, ..meta }, false),
            (folder, Meta { inode: 9, ..meta }, false),
            (folder, Meta { mtime_ns: 9, ..meta }, false),
            (folder, Meta { ctime_ns: 9, ..meta }, false),
            (other, meta, false),
            (visited.below(folder, OsStr::new("a")), meta, false),
        ] {
            assert_eq!(visited.is_as_walked(folder, &now), expected, "{now:?}");
        }
        assert!(visited.has(folder) && !visited.has(other));
    }
}
