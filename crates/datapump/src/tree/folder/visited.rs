//! What each folder of a source was when it was walked: `--delete` acts on that, and on nothing that it finds later.
//!
//! A folder is known by the names that lead to it, and kept as a few numbers, whatever its path: what it was, and the
//! sum of its names. A folder that was replaced, covered by a mount or uncovered since then, or that got or lost a name,
//! has other numbers now. Where its time of content is the same and something else leaves a doubt (the time of its
//! attributes moved, or was too young to tell), it is listed once more, and its names decide. The key of the hash is not known
//! outside, so that nobody can look for two states of one number.
//!
//! Must not know: how trees are walked, what is removed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::job::budget::charged::ChargedRoom;
use crate::problem::Problem;
use crate::target::listed::Name;
use crate::tree::folder::side::FolderSide;
use datapump_files::disk::Meta;
use datapump_files::identity::tick::SAME_TIME_NS;

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
    of: HashMap<FolderKey, WalkedFolder>,
    room: ChargedRoom,
}

/// What a folder takes here, while the table moves, too.
const FOLDER_BYTES: usize = 4 * size_of::<(FolderKey, WalkedFolder)>();

/// What a folder was when it was walked.
#[derive(Clone, Copy, Debug, Default)]
struct WalkedFolder {
    /// Its device and its number.
    id: u64,
    mtime_ns: i64,
    /// The time of its attributes, which cannot be set back.
    changed: u64,
    /// The sum over its names, in whatever order they are listed. `None`: its names came from a list.
    names: Option<u64>,
    is_young: bool,
}

impl WalkedFolder {
    /// Some network file systems tell one time differently from their cache and from the server.
    fn is_in_time(&self, now: WalkedFolder) -> bool {
        i128::from(self.mtime_ns.abs_diff(now.mtime_ns)) < SAME_TIME_NS
    }

    fn is_unchanged(&self, now: WalkedFolder) -> bool {
        (self.mtime_ns, self.changed) == (now.mtime_ns, now.changed)
    }
}

/// What a folder is, beside what was walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsWalked {
    Yes,
    /// Its names tell, when it is listed once more.
    Unverified,
    No,
}

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
    pub(crate) fn note(&self, folder: FolderKey, meta: &Meta, is_young: bool) {
        if let Some(mut states) = self.states() {
            states.of.insert(folder, WalkedFolder { is_young, ..self.walked(meta) });
        }
    }

    /// These of its names were listed, from `cookie` on.
    pub(crate) fn note_names(&self, folder: FolderKey, cookie: u64, names: &[Name]) {
        let Some(mut states) = self.states() else { return };
        if let Some(walked) = states.of.get_mut(&folder) {
            let before = if cookie == 0 { 0 } else { walked.names.unwrap_or_default() };
            walked.names = Some(before.wrapping_add(self.sum(names)));
        }
    }

    /// A number for these names: sums add up.
    pub(crate) fn sum(&self, names: &[Name]) -> u64 {
        let one = |name: &Name| self.hasher.hash_one((&name.name, name.inode()));
        names.iter().map(one).fold(0, u64::wrapping_add)
    }

    /// Whether the folder was walked.
    pub(crate) fn has(&self, folder: FolderKey) -> bool {
        self.states().is_some_and(|states| states.of.contains_key(&folder))
    }

    /// Whether the folder was walked and is what it was then.
    pub(crate) fn is_as_walked(&self, folder: FolderKey, now: &Meta) -> AsWalked {
        let states = self.states();
        let Some(walked) = states.as_ref().and_then(|states| states.of.get(&folder)) else {
            return AsWalked::No;
        };
        let now = self.walked(now);
        match () {
            () if walked.id != now.id || !walked.is_in_time(now) => AsWalked::No,
            // Of a list each name was asked for, and none was missing.
            () if walked.names.is_none() && walked.is_unchanged(now) => AsWalked::Yes,
            () if walked.is_young || !walked.is_unchanged(now) => AsWalked::Unverified,
            () => AsWalked::Yes,
        }
    }

    /// The folder was listed once more and has names of this sum. Whether they are those that were walked: then it is
    /// from now on what it was when this began.
    pub(crate) fn is_listed_as_walked(
        &self,
        folder: FolderKey,
        (now, is_young): (&Meta, bool),
        sum: u64,
    ) -> bool {
        let Some(mut states) = self.states() else { return false };
        let is_same = states.of.get(&folder).is_some_and(|walked| walked.names == Some(sum));
        if is_same {
            let again = WalkedFolder { names: Some(sum), is_young, ..self.walked(now) };
            states.of.insert(folder, again);
        }
        is_same
    }

    fn states(&self) -> Option<MutexGuard<'_, FolderStates>> {
        self.states.as_ref().map(|states| states.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A name that is added, removed or moved changes both times of its folder; the second cannot be set back.
    fn walked(&self, meta: &Meta) -> WalkedFolder {
        WalkedFolder {
            id: self.hasher.hash_one((meta.device, meta.inode)),
            mtime_ns: i64::try_from(meta.mtime_ns).unwrap_or(i64::MAX),
            changed: self.hasher.hash_one(meta.ctime_ns),
            ..WalkedFolder::default()
        }
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
        visited.note(folder, &meta, false);
        visited.note_names(folder, 0, &[]);
        let other = visited.below(ROOT, OsStr::new("b"));
        for (folder, now, expected) in [
            (folder, meta, AsWalked::Yes),
            (folder, Meta { atime_ns: 9, ..meta }, AsWalked::Yes),
            (folder, Meta { device: 9, ..meta }, AsWalked::No),
            (folder, Meta { inode: 9, ..meta }, AsWalked::No),
            (folder, Meta { mtime_ns: 9, ..meta }, AsWalked::Unverified),
            (folder, Meta { mtime_ns: SAME_TIME_NS, ..meta }, AsWalked::No),
            (folder, Meta { ctime_ns: 9, ..meta }, AsWalked::Unverified),
            (other, meta, AsWalked::No),
            (visited.below(folder, OsStr::new("a")), meta, AsWalked::No),
        ] {
            assert_eq!(visited.is_as_walked(folder, &now), expected, "{now:?}");
        }
        assert!(visited.has(folder) && !visited.has(other));
    }

    #[test]
    fn names_decide_where_times_leave_a_doubt() {
        let (meta, visited) = (Meta::nothing(), Visited::keeping());
        let name = |name: &str| Name::here(name.into(), None);
        let (a, b, c) = (name("a"), name("b"), name("c"));
        visited.note(ROOT, &meta, true);
        let listed = |names: &[Name]| visited.is_listed_as_walked(ROOT, (&meta, false), visited.sum(names));
        assert!(!listed(&[]), "it was not listed");
        visited.note_names(ROOT, 0, &[a.clone(), b.clone()]);
        visited.note_names(ROOT, 2, std::slice::from_ref(&c));
        assert_eq!(visited.is_as_walked(ROOT, &meta), AsWalked::Unverified, "it was young");
        assert!(!listed(&[a.clone(), b.clone()]) && !listed(&[a.clone(), b.clone(), c.clone(), name("d")]));
        assert!(listed(&[c, a, b]), "in any order");
        assert_eq!(visited.is_as_walked(ROOT, &meta), AsWalked::Yes, "it is old by now");
    }
}
