//! Hard links: names of one source file become names of one copy.
//!
//! The first name seen is copied; the others wait until it is committed and are then linked to it, or, when it came to
//! nothing, are tried one after the other. An entry is dropped when all names of the file were seen, so that the table
//! holds only files whose other names are still to come (or lie outside of what is copied).
//!
//! A source may be changed while it is copied, and an inode number that was deleted is used again. So a name is linked
//! only to a copy of the very state that it has itself: size, times, generation. One of another state is a first of its
//! own.
//!
//! Some file systems give one number to several files. So two names of one state are one file only if their handles are
//! the same. Where they are not, or none is told, contents decide: equal ones are linked, a name with another content
//! is a first of its own, of another class. A source on this host is compared with the copy of the first; one on another
//! host is copied, and the two copies are compared.
//!
//! Names of another host are charged to the session while the table keeps them. Names that wait leave as much memory
//! free as they take: listings, folders and open files need it. A name without room is deferred and met again when a
//! first name has ended: then its own first exists, to which it is linked without memory, or names that waited gave
//! theirs back. It is refused only where neither can happen. `defer` is called while the table is locked, and a first
//! name ends by locking it: so each name that is deferred for a first is deferred before that ends, and woken by it.
//!
//! Must not know: how files are copied or linked.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};

use crate::folder::directory::Directory;
use crate::lock::StateLock;
use crate::problem::Problem;
use crate::setup::budget::Charge;
use datapump_files::disk::{FileKind, Meta};
use datapump_files::identity::{FileId, id};

/// A source file as it was when one of its names was met. Only changes of the file itself change its `ctime_ns`: names
/// that it gets or loses count as such, reading it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileState {
    id: FileId,
    generation: u32,
    size_bytes: u64,
    mtime_ns: i128,
    ctime_ns: i128,
    owners_and_mode: (u32, u32, u32),
    /// Which of the files of this state it is, by content: the first, the second.
    class: u8,
}

/// Files of one state with different contents. Where there are more, the numbers tell nothing, and names of further
/// ones are files of their own.
const CLASSES_MAX: u8 = 8;

impl FileState {
    pub(crate) fn new(meta: &Meta, generation: u32) -> FileState {
        let &Meta { size_bytes, mtime_ns, ctime_ns, .. } = meta;
        let owners_and_mode = (meta.uid, meta.gid, meta.mode);
        FileState { id: id(meta), generation, size_bytes, mtime_ns, ctime_ns, owners_and_mode, class: 0 }
    }

    fn of_class(self, class: u8) -> FileState {
        FileState { class, ..self }
    }

    /// The least state that a file of this number may have.
    fn least(self) -> FileState {
        let (least, none) = (i128::MIN, 0);
        let state = FileState { generation: 0, size_bytes: none, mtime_ns: least, ctime_ns: least, ..self };
        FileState { owners_and_mode: (0, 0, 0), class: 0, ..state }
    }
}

/// A name in a folder of the tree.
#[derive(Clone, Debug)]
pub(crate) struct TreeEntry {
    pub(crate) directory: Arc<Directory>,
    pub(crate) name: OsString,
}

/// A name that waits until the first one of its file stands, and what it is at the source.
#[derive(Debug)]
pub(crate) struct WaitingName {
    pub(crate) entry: TreeEntry,
    pub(crate) meta: Meta,
    /// It is met once more: its content is to be compared, or a folder is in its place.
    pub(crate) comes_again: bool,
    _charge: Option<Charge>,
}

/// The first name of a file at the target, and the file that this run left under it; `None` where nothing is written.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    pub(crate) entry: TreeEntry,
    pub(crate) copy: Option<FileId>,
}

#[derive(Debug)]
enum LinksState {
    /// On its way; these names wait for it.
    Copying(Vec<WaitingName>),
    /// It stands here.
    Done(Copied),
}

#[derive(Debug)]
struct Linked {
    state: LinksState,
    /// That of the first name; 0: not known.
    handle: u64,
    /// By the count of the source when it was first seen.
    names: u64,
    /// Names not seen yet.
    unseen: u64,
    _charge: Option<Charge>,
}

/// The next step for a name of a file that has several.
#[derive(Debug)]
pub(crate) enum Meeting {
    /// The first: copy it, then call [`Links::committed`] or [`Links::failed`].
    First {
        /// With its class.
        file: FileState,
        /// A name of this file was met when it was another, or in another state.
        has_changed: bool,
    },
    /// Numbers alone say that it is a name of this file, which stands here: meet it again with what comparing shows.
    Compare(FileState, Copied),
    /// It waits; whoever copies the first gets it back.
    Waits,
    /// There is no memory for it before a first name has ended: meet it again then.
    Deferred,
    /// Link it to this, of this file.
    Link(FileState, Copied),
    /// Link it to this when the folder in its place is gone, if it can be linked.
    LinkLater(FileState, Copied),
    /// The target has no hard links: copy it for itself.
    Alone,
}

/// A name of a file that has several names, as it is met.
pub(crate) struct MetName<'met> {
    pub(crate) entry: &'met TreeEntry,
    /// With what tells it from other files of its numbers.
    pub(crate) meta: &'met Meta,
    /// It can be compared with copies before it is copied: those of these files were, and are equal or not.
    pub(crate) compared: Option<&'met [(FileState, bool)]>,
    /// A folder is in its place: it is met again when that is gone.
    pub(crate) is_in_the_way: bool,
}

/// Which of the files of its state a name is of.
enum WhichFile {
    Same(FileState),
    New(FileState),
    /// Perhaps this: their contents tell.
    Doubtful(FileState),
    TooMany,
}

/// The table of one job: hard links across all its sources are kept.
#[derive(Debug, Default)]
pub(crate) struct Links {
    table: StateLock<LinkTable>,
    /// Files of which all names were met, how many, and how many have gone; only where they are removed from the source.
    whole: Option<StateLock<WholeFiles>>,
    /// The target's file system has none.
    unknown: AtomicBool,
}

type WholeFiles = BTreeMap<FileId, (u64, u64)>;

#[derive(Debug, Default)]
struct LinkTable {
    files: BTreeMap<FileState, Linked>,
    /// Names that wait, with those that are taken and have not given their memory back.
    waiting: usize,
}

impl Links {
    /// `removes_sources`: names of the source are removed once they are copied.
    pub(crate) fn new(removes_sources: bool) -> Links {
        Links { whole: removes_sources.then(StateLock::default), ..Links::default() }
    }

    /// Whether names of a source file were removed, and others remain besides this one. All of them were met.
    pub(crate) fn is_between_names(&self, meta: &Meta) -> bool {
        let names = self.whole().and_then(|whole| whole.get(&id(meta)).copied());
        meta.links > 1 && names.is_some_and(|(met, gone)| gone > 0 && met == gone + meta.links)
    }

    /// A name of the source was removed.
    pub(crate) fn name_is_gone(&self, meta: &Meta) {
        if let Some((_, gone)) = self.whole().as_mut().and_then(|whole| whole.get_mut(&id(meta))) {
            *gone += 1;
        }
    }

    fn whole(&self) -> Option<MutexGuard<'_, WholeFiles>> {
        self.whole.as_ref().map(StateLock::lock)
    }

    /// Finds out what a name of a file with several names is: the first, a further one, or one to compare. A name that waits
    /// keeps its folder from being finished. `defer`: whether one without room may wait for memory.
    ///
    /// Errors: there is no room for it, and none will come.
    pub(crate) fn meet(
        &self,
        file: FileState,
        name: &MetName<'_>,
        defer: impl Fn() -> bool,
    ) -> Result<Meeting, Problem> {
        if self.unknown.load(Ordering::Relaxed) {
            return Ok(Meeting::Alone);
        }
        let &MetName { entry, meta, is_in_the_way, .. } = name;
        let mut table = self.table.lock();
        let LinkTable { files, waiting } = &mut *table;
        let (file, is_doubtful) = match which_file(files, file, name) {
            WhichFile::New(file) => {
                let Some(charge) = charge(entry, *waiting, || *waiting > 0 && defer())? else {
                    return Ok(Meeting::Deferred);
                };
                let known = files.range(file.least()..).map(|(known, _)| known);
                let mut others = known.take_while(|known| known.id == file.id);
                let has_changed = others.any(|other| other.of_class(0) != file.of_class(0));
                files.insert(file, Linked::new(LinksState::Copying(Vec::new()), meta, charge));
                return Ok(Meeting::First { file, has_changed });
            }
            WhichFile::TooMany => return Ok(Meeting::Alone),
            WhichFile::Doubtful(file) => (file, true),
            WhichFile::Same(file) => (file, false),
        };
        let Some(linked) = files.get_mut(&file) else { return Ok(Meeting::Alone) };
        let comes_again = is_doubtful || is_in_the_way;
        let unseen = linked.unseen.saturating_sub(u64::from(!comes_again));
        let meeting = match &mut linked.state {
            LinksState::Copying(names) => {
                let Some(charge) = charge(entry, *waiting, defer)? else { return Ok(Meeting::Deferred) };
                names.push(WaitingName::new(entry, meta, comes_again, charge));
                *waiting += 1;
                Meeting::Waits
            }
            LinksState::Done(there) if is_doubtful => Meeting::Compare(file, there.clone()),
            LinksState::Done(there) if is_in_the_way => Meeting::LinkLater(file, there.clone()),
            LinksState::Done(there) => Meeting::Link(file, there.clone()),
        };
        linked.unseen = unseen;
        self.close(files, file);
        Ok(meeting)
    }

    /// So many names that waited have been dealt with, and gave their memory back.
    pub(crate) fn give_back(&self, names: usize) {
        self.table.lock().waiting -= names;
    }

    /// Whether a name waits for a first one.
    pub(crate) fn has_waiting(&self) -> bool {
        self.table.lock().waiting > 0
    }

    /// The completed copies of other files of the same state, with which a copy is compared.
    pub(crate) fn copies_of_other_classes(&self, file: FileState) -> Vec<(FileState, Copied)> {
        let table = self.table.lock();
        let others = table.files.range(file.of_class(0)..=file.of_class(CLASSES_MAX));
        let stands = |(&of, linked): (&FileState, &Linked)| match &linked.state {
            LinksState::Done(copied) if of != file => Some((of, copied.clone())),
            LinksState::Done(_) | LinksState::Copying(_) => None,
        };
        others.filter_map(stands).collect()
    }

    /// Notes that the first name of a file was linked to another file of its state: both count as one from now on.
    pub(crate) fn join(&self, file: FileState, first: &TreeEntry, other: FileState) {
        let files = &mut self.table.lock().files;
        remove_copied(files, file, first);
        if let Some(linked) = files.get_mut(&other) {
            linked.unseen = linked.unseen.saturating_sub(1);
        }
        self.close(files, other);
    }

    /// Notes that the first name is written, and gives the names that waited for it: [`Links::give_back`].
    pub(crate) fn note_committed(&self, file: FileState, copied: Copied) -> Vec<WaitingName> {
        let files = &mut self.table.lock().files;
        let Some(linked) = files.get_mut(&file) else { return Vec::new() };
        let waiting = match std::mem::replace(&mut linked.state, LinksState::Done(copied)) {
            LinksState::Copying(waiting) => waiting,
            LinksState::Done(_) => Vec::new(),
        };
        self.close(files, file);
        waiting
    }

    /// A file is dropped when all its names were seen.
    fn close(&self, files: &mut BTreeMap<FileState, Linked>, file: FileState) {
        let is_done = |linked: &Linked| linked.unseen == 0 && matches!(linked.state, LinksState::Done(_));
        if files.get(&file).is_some_and(is_done) {
            let names = files.remove(&file).map_or(0, |linked| linked.names);
            self.whole().and_then(|mut whole| whole.insert(file.id, (names, 0)));
        }
    }

    /// The target's file system has no hard links.
    pub(crate) fn give_up(&self) {
        self.unknown.store(true, Ordering::Relaxed);
    }

    /// A name cannot be linked to the file that is here: the next one is a first again.
    pub(crate) fn forget(&self, file: FileState, there: &TreeEntry) {
        remove_copied(&mut self.table.lock().files, file, there);
    }

    /// The first name came to nothing; gives the names that waited, each to be met anew: [`Links::give_back`].
    pub(crate) fn failed(&self, file: FileState) -> Vec<WaitingName> {
        match self.table.lock().files.remove(&file) {
            Some(Linked { state: LinksState::Copying(waiting), .. }) => waiting,
            _ => Vec::new(),
        }
    }
}

/// Drops a file whose first name is written here. One of which another first name is on its way meanwhile stays: names
/// wait for that.
fn remove_copied(files: &mut BTreeMap<FileState, Linked>, file: FileState, first: &TreeEntry) {
    let is_first =
        |entry: &TreeEntry| Arc::ptr_eq(&entry.directory, &first.directory) && entry.name == first.name;
    if let Some(Linked { state: LinksState::Done(copied), .. }) = files.get(&file)
        && is_first(&copied.entry)
    {
        files.remove(&file);
    }
}

/// Which of the files of its state a name is of.
fn which_file(files: &BTreeMap<FileState, Linked>, file: FileState, name: &MetName<'_>) -> WhichFile {
    let handle = name.meta.handle;
    let verdict = |of: FileState| {
        let compared = name.compared?.iter().find(|(other, _)| *other == of);
        compared.map(|&(_, is_equal)| is_equal)
    };
    let (mut free, mut doubtful) = (0, None);
    for (&of, linked) in files.range(file.of_class(0)..=file.of_class(CLASSES_MAX)) {
        let is_same = handle != 0 && linked.handle == handle;
        let is_on_its_way = matches!(linked.state, LinksState::Copying(_));
        match verdict(of) {
            Some(is_equal) if is_equal || is_same => return WhichFile::Same(of),
            None if is_same => return WhichFile::Same(of),
            Some(_) => {}
            // What cannot be compared before it is copied waits only for what is on its way.
            None if name.compared.is_some() || is_on_its_way => doubtful = doubtful.or(Some(of)),
            None => {}
        }
        free += u8::from(free == of.class);
    }
    match doubtful {
        Some(of) if name.meta.kind == FileKind::Regular => WhichFile::Doubtful(of),
        _ if free < CLASSES_MAX => WhichFile::New(file.of_class(free)),
        _ => WhichFile::TooMany,
    }
}

impl Linked {
    fn new(state: LinksState, meta: &Meta, charge: Option<Charge>) -> Linked {
        let unseen = meta.links.saturating_sub(1);
        Linked { state, handle: meta.handle, names: meta.links, unseen, _charge: charge }
    }
}

impl WaitingName {
    fn new(entry: &TreeEntry, meta: &Meta, comes_again: bool, charge: Option<Charge>) -> WaitingName {
        entry.directory.hold();
        WaitingName { entry: entry.clone(), meta: *meta, comes_again, _charge: charge }
    }
}

/// Charges what the table keeps of a name, if as much stays free as so many waiting names take. Where that is not so the
/// name is deferred (`None`), or, if it cannot be, charged without that.
///
/// Errors: there is no room at all.
fn charge(
    entry: &TreeEntry,
    waiting: usize,
    defer: impl FnOnce() -> bool,
) -> Result<Option<Option<Charge>>, Problem> {
    let (source, bytes) = (&entry.directory.source, memory_of(&entry.name));
    match source.charge_beside(bytes, waiting * bytes) {
        Err(_) if defer() => Ok(None),
        Err(_) => source.charge_there(bytes).map(Some),
        Ok(charge) => Ok(Some(charge)),
    }
}

/// What the table keeps of a name.
pub(crate) fn memory_of(name: &OsStr) -> usize {
    /// What nodes of the table leave free, and the name's own piece of memory.
    const BESIDES: usize = 128;
    size_of::<FileState>() + size_of::<Linked>().max(size_of::<WaitingName>()) + BESIDES + name.len()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::folder::directory::Traits;
    use crate::folder::root::Root;
    use crate::folder::side::{FolderSide, Keeper};
    use crate::list::List;

    /// A copy takes no more names: the next one is copied anew, while the copy is found to be equal to another one.
    #[test]
    fn names_that_wait_for_a_new_first_name_are_not_lost_with_the_old_one() {
        let home = tempfile::tempdir().expect("room");
        let folder = File::open(home.path()).expect("it is there");
        let source = FolderSide::root(home.path(), folder, &Keeper::new(8)).expect("a folder");
        let root = Root::new(&source.meta, home.path(), None, List::started(None));
        let directory = Directory::new(None, &Arc::new(root), source, None, Traits::default(), Vec::new());
        let meta = &Meta { links: 4, handle: 1, ..Meta::nothing() };
        let [one, two, three] =
            ["1", "2", "3"].map(|name| TreeEntry { directory: Arc::clone(&directory), name: name.into() });
        let (links, state) = (Links::default(), FileState::new(meta, 0));
        let meet = |entry| {
            let name = MetName { entry, meta, compared: None, is_in_the_way: false };
            links.meet(state, &name, || false).expect("a folder of this host takes no memory")
        };
        let copied = |entry: &TreeEntry| Copied { entry: entry.clone(), copy: None };

        assert!(matches!(meet(&one), Meeting::First { .. }));
        assert!(links.note_committed(state, copied(&one)).is_empty());
        links.forget(state, &one);
        assert!(matches!(meet(&two), Meeting::First { .. }));
        assert!(matches!(meet(&three), Meeting::Waits));
        links.join(state, &one, state.of_class(1));
        let waiting = links.note_committed(state, copied(&two));
        assert_eq!(waiting.iter().map(|it| &it.entry.name).collect::<Vec<_>>(), [&three.name]);
    }
}
