//! What each folder of a source was when it was walked, and its names: `--delete` acts on that, comparisons and backups
//! ask it instead of the source, but for temporary files and on targets that fold names.
//!
//! A folder is known by the names that lead to it, and kept as a few numbers: what it was, and 16 bytes for each of its
//! names (`datapump_core::walked`). A folder that was replaced, covered by a mount or uncovered since then, or that got
//! or lost a name, has other numbers now. Where its time of content is the same and something else leaves it unverified
//! (the time of its attributes moved, or was too young), it is listed once more, and its names decide. The key of the
//! hash is not known outside, so that nobody can look for two states of one number.
//!
//! Must not know: how trees are walked, what is removed.

mod folder_tree;
mod missed;
mod record_room;
mod record_store;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use datapump_core::walked::{FolderNames, MovingNames, StoredNames, WalkedName};

use crate::folder::side::FolderSide;
use crate::listed::Name;
use crate::lock::StateLock;
pub(crate) use crate::origin::folder_way::{FolderKey, FolderStep};
use crate::problem::Problem;
use crate::setup::budget::charged::ChargedRoom;
use datapump_files::disk::Meta;
use datapump_files::identity::tick::SAME_TIME_NS;
use datapump_files::identity::{FileId, id};
use missed::MissedNames;
pub(crate) use record_room::{RecordRoom, TreeRoom};
use record_store::{RecordStore, WhichWalk};

/// The root of every tree.
pub(crate) const ROOT: FolderKey = 0;

/// For how long folders are kept in mind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Not at all.
    #[default]
    Nothing,
    /// While they are worked on.
    WorkedOn,
    /// Until the end, because something may be removed.
    All,
}

/// The folders of one tree.
#[derive(Debug, Default)]
pub(crate) struct Visited {
    keeps: Keeps,
    states: StateLock<FolderStates>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct FolderStates {
    of: HashMap<FolderKey, WalkedFolder>,
    room: ChargedRoom,
    /// Names of all folders.
    records: RecordStore,
    /// Why not all names are recorded.
    lacks: Option<Problem>,
    /// Names that folders got or lost between two walks.
    met: MovingNames,
    /// Folders that held names and hold none any more, or are others than those that were walked.
    guarded: BTreeSet<FolderKey>,
    /// Names that were not copied because they changed, by their folders.
    missed: BTreeMap<FolderKey, MissedNames>,
    problems_kept: usize,
}

/// What a folder takes here, while the table moves, too.
const FOLDER_BYTES: usize = 4 * size_of::<(FolderKey, WalkedFolder)>();

/// What a folder was when it was walked.
#[derive(Clone, Debug, Default)]
struct WalkedFolder {
    /// The folder that it lies in, and its name there.
    above: FolderKey,
    name: OsString,
    numbers: FolderNumbers,
    is_young: bool,
    names: StoredNames,
    /// Its names got into it before this.
    since_ns: i128,
    /// Its names when it was walked before, while it is walked again.
    before: Option<Box<StoredNames>>,
    /// They got into it before this.
    since_before_ns: i128,
}

/// A folder in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FolderNumbers {
    /// Its device and its number, as its host reports them.
    id: FileId,
    mtime_ns: i64,
    /// The time of its attributes, which cannot be set back.
    changed: u64,
}

impl FolderNumbers {
    /// Some network file systems report one time differently from their cache and from the server.
    fn is_in_time(&self, now: FolderNumbers) -> bool {
        i128::from(self.mtime_ns.abs_diff(now.mtime_ns)) < SAME_TIME_NS
    }
}

/// What a folder is, beside what was walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsWalked {
    Yes,
    /// Its names tell, when it is listed once more.
    Unverified,
    No,
    /// Another folder is in its place, or none that was walked.
    Replaced,
}

impl Visited {
    /// Keeps what folders are for so long.
    pub(crate) fn keeping(keeps: Keeps, hasher: &RandomState) -> Visited {
        Visited { keeps, states: StateLock::default(), hasher: hasher.clone() }
    }

    /// With room for names. Those that are kept until the end are written where they do not fit in memory.
    pub(crate) fn in_room(self, room: Box<dyn RecordRoom>) -> Visited {
        self.states.lock().records = RecordStore::new(room, self.keeps == Keeps::All);
        self
    }

    fn keeps_some(&self) -> bool {
        self.keeps != Keeps::Nothing
    }

    /// Whether folders may be walked again.
    pub(crate) fn keeps_all(&self) -> bool {
        self.keeps == Keeps::All
    }

    /// The key of `name` in a folder, whether folders are kept or not: names in the way are told apart by it.
    pub(crate) fn below(&self, above: FolderKey, name: &OsStr) -> FolderKey {
        self.hasher.hash_one((above, name))
    }

    /// Makes room for one folder more. What another host brings is charged.
    ///
    /// Errors: this side may not hold more of it.
    pub(crate) fn make_room(&self, source: &FolderSide) -> Result<(), Problem> {
        if !self.keeps_some() {
            return Ok(());
        }
        let mut states = self.states.lock();
        let FolderStates { of, room, .. } = &mut *states;
        room.make(of.len(), 1, FOLDER_BYTES + source.name.len(), |bytes| source.charge_there(bytes))
    }

    /// Notes a folder that is about to be listed, for the first time or again, as it was when it was opened.
    pub(crate) fn note_folder(
        &self,
        folder: FolderKey,
        above: FolderKey,
        name: &OsStr,
        meta: &Meta,
        is_young: bool,
    ) {
        if !self.keeps_some() {
            return;
        }
        let name = if folder == ROOT { OsString::new() } else { name.to_owned() };
        let numbers = self.numbers(meta);
        let mut states = self.states.lock();
        states.forget_missed(folder);
        let earlier = states.of.remove(&folder);
        let len_before = earlier.as_ref().map_or(0, WalkedFolder::len_in_memory);
        let since_before_ns = earlier.as_ref().map_or(i128::MAX, |earlier| earlier.since_ns);
        let before = earlier.map(|walked| walked.names).filter(StoredNames::is_whole).map(Box::new);
        states.records.recount(len_before, before.as_ref().map_or(0, |before| before.len_in_memory()));
        let since_ns = meta.mtime_ns.min(meta.ctime_ns);
        let names = StoredNames::default();
        let walked =
            WalkedFolder { above, name, numbers, is_young, names, since_ns, before, since_before_ns };
        states.of.insert(folder, walked);
    }

    /// Notes names of a folder that were listed, from `cookie` on; none at the end. At the end of a second walk what
    /// changed since the first is kept from deletion: folders that went or were exchanged, names that moved. Where this
    /// side may not hold more names the folder is forgotten, and nothing in it is removed.
    pub(crate) fn note_names(&self, folder: FolderKey, cookie: u64, names: &[Name]) {
        if !self.keeps_some() {
            return;
        }
        let walked: Vec<WalkedName> = names.iter().map(|name| self.walked_name(name)).collect();
        let mut states = self.states.lock();
        if let Err(problem) = states.make_room_for_names(walked.len()) {
            states.lacks.get_or_insert(problem);
            states.forget(folder);
        }
        let is_end = walked.is_empty();
        states.change(folder, |state| {
            if cookie == 0 {
                state.names = StoredNames::default();
            }
            if is_end { state.names.end() } else { state.names.add(walked) }
        });
        if is_end {
            states.handle_walked_again(folder, |name| self.key_of(name));
        }
    }

    /// The listed names that are new since the folder was walked before; all, if it was not. The number of
    /// a file that is gone is used again, by ext4 at once: what changed since then, by the time of its attributes, is new.
    pub(crate) fn new_names(
        &self,
        folder: FolderKey,
        names: Vec<Name>,
        changed_ns: impl Fn(&Name) -> Option<i128>,
    ) -> Vec<Name> {
        let mut states = self.states.lock();
        let since_ns = states.of.get(&folder).map_or(i128::MIN, |state| state.since_before_ns);
        let Some(before) = states.names(folder, WhichWalk::Before) else { return names };
        let same: Vec<bool> = names.iter().map(|name| before.has_same(self.walked_name(name))).collect();
        drop(states);
        let is_new = |(name, is_same): &(Name, bool)| {
            !is_same || changed_ns(name).is_none_or(|changed_ns| changed_ns >= since_ns)
        };
        names.into_iter().zip(same).filter(is_new).map(|(name, _)| name).collect()
    }

    fn walked_name(&self, name: &Name) -> WalkedName {
        WalkedName { key: self.key_of(&name.name), inode: name.inode() }
    }

    /// The key of a name in a record.
    pub(crate) fn key_of(&self, name: &OsStr) -> u64 {
        self.hasher.hash_one(name)
    }

    /// Whether the source's folder has this name, as it was walked; `None` where it was not listed to its end.
    pub(crate) fn has_name(&self, folder: FolderKey, name: &OsStr) -> Option<bool> {
        if !self.keeps_some() {
            return None;
        }
        self.states.lock().names(folder, WhichWalk::Last)?.has(self.key_of(name))
    }

    /// The folder is done.
    pub(crate) fn done(&self, folder: FolderKey) {
        match self.keeps {
            Keeps::Nothing => {}
            Keeps::WorkedOn => self.states.lock().forget(folder),
            Keeps::All => self.states.lock().change(folder, |state| state.before = None),
        }
    }

    /// Whether the folder was walked.
    pub(crate) fn has(&self, folder: FolderKey) -> bool {
        self.states.lock().of.contains_key(&folder)
    }

    /// Device and inode number of the folder when it was walked.
    pub(crate) fn id_of(&self, folder: FolderKey) -> Option<FileId> {
        self.states.lock().of.get(&folder).map(|walked| walked.numbers.id)
    }

    /// Device and inode numbers of all folders that were walked.
    pub(crate) fn ids(&self) -> Vec<FileId> {
        self.states.lock().of.values().map(|walked| walked.numbers.id).collect()
    }

    /// Whether the folder was walked and is what it was then.
    pub(crate) fn is_as_walked(&self, folder: FolderKey, now: &Meta) -> AsWalked {
        let states = self.states.lock();
        let Some(walked) = states.of.get(&folder) else { return AsWalked::Replaced };
        let (then, now) = (walked.numbers, self.numbers(now));
        if then.id != now.id {
            AsWalked::Replaced
        } else if !then.is_in_time(now) {
            AsWalked::No
        } else if walked.is_young || then != now {
            AsWalked::Unverified
        } else {
            AsWalked::Yes
        }
    }

    /// The folder was listed once more and has these names. Whether they are those that were walked: then it is from now
    /// on what it was when this listing began. Where the times of the folder moved, a name that changed since may be
    /// another file, with the number of one that is gone. `are_links`: the names are those of one file.
    pub(crate) fn is_listed_as_walked(
        &self,
        folder: FolderKey,
        now: &Meta,
        is_young: bool,
        names: &[Name],
        changed_ns: impl Fn(&Name) -> Option<i128>,
        are_links: impl FnOnce() -> bool,
    ) -> bool {
        let mut listed = FolderNames::default();
        listed.add(names.iter().map(|name| self.walked_name(name)));
        listed.end();
        let numbers = self.numbers(now);
        let since_ns =
            |state: &WalkedFolder| if state.numbers == numbers { i128::MAX } else { state.since_ns };
        let since_ns = self.states.lock().of.get(&folder).map_or(i128::MIN, since_ns);
        let is_old = since_ns == i128::MAX
            || names.iter().filter_map(changed_ns).all(|changed_ns| changed_ns < since_ns);
        let mut states = self.states.lock();
        let last = states.names(folder, WhichWalk::Last).filter(|_| is_old);
        let is_same = last.is_some_and(|names| names.is_same(&listed, are_links));
        if let Some(walked) = states.of.get_mut(&folder).filter(|_| is_same) {
            (walked.numbers, walked.is_young) = (numbers, is_young);
        }
        is_same
    }

    /// Why not all names are recorded, if they are not.
    pub(crate) fn lacks(&self) -> Option<Problem> {
        self.states.lock().lacks.clone()
    }

    /// Nothing of what lies below the folder is removed.
    pub(crate) fn guard(&self, folder: FolderKey) {
        self.states.lock().guarded.insert(folder);
    }

    /// Folders below which nothing is removed.
    pub(crate) fn guarded(&self) -> BTreeSet<FolderKey> {
        self.states.lock().guarded.clone()
    }

    /// Whether a name of the target may be on its way in the source.
    pub(crate) fn may_be_on_its_way(&self, name: &OsStr) -> bool {
        self.states.lock().met.may_have(self.key_of(name))
    }

    /// The path of a folder that was walked.
    pub(crate) fn path_of(&self, folder: FolderKey, root: &Path) -> PathBuf {
        self.steps_from_root(folder).iter().fold(root.to_path_buf(), |path, (_, name)| path.join(name))
    }

    /// A name that is added, removed or moved changes both times of its folder; the second cannot be set back.
    fn numbers(&self, meta: &Meta) -> FolderNumbers {
        FolderNumbers {
            id: id(meta),
            mtime_ns: i64::try_from(meta.mtime_ns).unwrap_or(i64::MAX),
            changed: self.hasher.hash_one(meta.ctime_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_core::walked::MissedName;

    fn noted(visited: &Visited, folder: FolderKey, is_young: bool) {
        visited.note_folder(folder, ROOT, OsStr::new("folder"), &Meta::nothing(), is_young);
    }

    fn list(visited: &Visited, cookie: u64, names: &[Name]) {
        visited.note_names(ROOT, cookie, names);
    }

    #[test]
    fn a_folder_is_as_walked_only_in_its_place_and_unchanged() {
        let meta = Meta::nothing();
        let visited = Visited::keeping(Keeps::All, &RandomState::new());
        let folder = visited.below(ROOT, OsStr::new("a"));
        noted(&visited, folder, false);
        let other = visited.below(ROOT, OsStr::new("b"));
        for (folder, now, expected) in [
            (folder, meta, AsWalked::Yes),
            (folder, Meta { atime_ns: 9, ..meta }, AsWalked::Yes),
            (folder, Meta { device: 9, ..meta }, AsWalked::Replaced),
            (folder, Meta { inode: 9, ..meta }, AsWalked::Replaced),
            (folder, Meta { mtime_ns: 9, ..meta }, AsWalked::Unverified),
            (folder, Meta { mtime_ns: SAME_TIME_NS, ..meta }, AsWalked::No),
            (folder, Meta { ctime_ns: 9, ..meta }, AsWalked::Unverified),
            (other, meta, AsWalked::Replaced),
            (visited.below(folder, OsStr::new("a")), meta, AsWalked::Replaced),
        ] {
            assert_eq!(visited.is_as_walked(folder, &now), expected, "{now:?}");
        }
        assert!(visited.has(folder) && !visited.has(other));
        assert_eq!([folder, other].map(|folder| visited.id_of(folder)), [Some(id(&meta)), None]);
    }

    #[test]
    fn names_decide_where_times_do_not() {
        let (meta, visited) = (Meta::nothing(), Visited::keeping(Keeps::All, &RandomState::new()));
        let name = |name: &str| Name::here(name.into(), None);
        let (a, b, c) = (name("a"), name("b"), name("c"));
        noted(&visited, ROOT, true);
        let listed =
            |names: &[Name]| visited.is_listed_as_walked(ROOT, &meta, false, names, |_| Some(9), || false);
        let later = Meta { ctime_ns: 1, ..meta };
        let moved = |changed_ns| {
            let names = [a.clone(), b.clone(), c.clone()];
            visited.is_listed_as_walked(ROOT, &later, false, &names, |_| Some(changed_ns), || false)
        };
        assert!(!listed(&[]), "it was not listed");
        list(&visited, 0, &[a.clone(), b.clone()]);
        list(&visited, 2, std::slice::from_ref(&c));
        assert!(!listed(&[a.clone(), b.clone(), c.clone()]), "it was not listed to its end");
        assert_eq!(visited.has_name(ROOT, OsStr::new("a")), None, "more may come");
        list(&visited, 3, &[]);
        let has = ["a", "c", "d"].map(|name| visited.has_name(ROOT, OsStr::new(name)));
        assert_eq!(has, [Some(true), Some(true), Some(false)]);
        assert_eq!(visited.is_as_walked(ROOT, &meta), AsWalked::Unverified, "it was young");
        assert!(!listed(&[a.clone(), b.clone()]) && !listed(&[a.clone(), b.clone(), c.clone(), name("d")]));
        assert!(listed(&[c.clone(), a.clone(), b.clone()]), "in any order");
        assert_eq!(visited.is_as_walked(ROOT, &meta), AsWalked::Yes, "it is old by now");
        assert!(!moved(0), "its times moved, and a name changed since");
        assert!(moved(-1), "its times moved, and no name changed");
    }

    #[test]
    fn a_folder_is_forgotten_when_it_is_done_unless_something_is_removed() {
        for (keeps, kept) in [(Keeps::Nothing, false), (Keeps::WorkedOn, false), (Keeps::All, true)] {
            let visited = Visited::keeping(keeps, &RandomState::new());
            noted(&visited, ROOT, false);
            visited.done(ROOT);
            assert_eq!(visited.has(ROOT), kept, "{keeps:?}");
        }
    }

    #[test]
    fn what_is_new_in_a_folder_that_is_walked_again_is_told_from_what_is_known() {
        let visited = Visited::keeping(Keeps::All, &RandomState::new());
        let name = |name: &str, inode| Name { listed_inode: inode, ..Name::here(name.into(), None) };
        let walked = |names: &[Name]| {
            noted(&visited, ROOT, false);
            list(&visited, 0, names);
            list(&visited, 9, &[]);
        };
        let take_new = |names: &[Name]| -> Vec<OsString> {
            let changed_ns = |name: &Name| Some(if name.name == "d" { 0 } else { -1 });
            visited.new_names(ROOT, names.to_vec(), changed_ns).into_iter().map(|name| name.name).collect()
        };
        let first = [name("a", 1), name("b", 2), name("d", 5)];
        let again = [name("a", 1), name("b", 3), name("c", 4), name("d", 5)];
        walked(&first);
        assert_eq!(take_new(&first), ["a", "b", "d"], "all are new the first time");
        walked(&again);
        assert_eq!(take_new(&again), ["b", "c", "d"], "b is another file by now, and d may be");
        assert!(["b", "c"].iter().all(|name| visited.may_be_on_its_way(OsStr::new(name))));
        assert!(!visited.may_be_on_its_way(OsStr::new("a")));
        let problem = || Problem::usage("it changed");
        let miss = |name, missed| visited.note_missed(ROOT, OsStr::new(name), missed, problem());
        assert_eq!(miss("a", MissedName::Changed { keeps_all: true }), None, "it is kept for later");
        assert_eq!(visited.with_missed(), [(ROOT, true)]);
        assert_eq!(visited.first_that_keeps_all(ROOT), Some("a".into()));
        assert!(!visited.was_missed(ROOT, OsStr::new("a")), "it is now, not before");
        walked(&again);
        assert_eq!(take_new(&again), ["a", "d"], "it changed before it was copied");
        assert!(visited.was_missed(ROOT, OsStr::new("a")) && !visited.was_missed(ROOT, OsStr::new("b")));
        assert!(
            visited.with_missed().is_empty() && visited.take_problems().is_empty(),
            "it has its turn again"
        );
        assert_eq!(miss("a", MissedName::Changed { keeps_all: false }), None);
        assert_eq!(miss("b", MissedName::Vanished), None);
        assert_eq!((visited.with_missed(), visited.take_problems().len()), (vec![(ROOT, false)], 2));
        let kept = (0..1000).filter(|_| miss("a", MissedName::Vanished).is_none()).count();
        assert_eq!(kept, 256, "they are bounded");
        assert!(miss("a", MissedName::Vanished).is_some(), "others are reported at once");
        assert!(visited.guarded().is_empty());
        walked(&[]);
        assert!(visited.guarded().contains(&ROOT), "it held names and holds none");
    }
}
