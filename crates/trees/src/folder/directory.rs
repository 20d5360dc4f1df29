//! One folder of a tree on its way: its two sides, and how much of what lies in it is still to be done.
//!
//! A branch counts what keeps it from being finished: the listing of its names, batches of names, folders below, files
//! on their way. The thread that brings the count to zero finishes the folder (attributes, times: last, because every
//! new name changes them) and tells its parent.
//!
//! Must not know: what is done with a name, who does it.

mod missed;
mod named_folder;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use datapump_core::journal::PathSum;

use crate::folder::lister::listed_early::ListedEarly;
use crate::folder::lister::names_once::NamesOnce;
use crate::folder::root::Root;
use crate::folder::side::{FolderSide, Refusal};
use crate::folder::visited::{self, FolderKey};
use crate::listed::Name;
use crate::lock::StateLock;
use crate::problem::{Operation, Problem};
use crate::targets::name_claims::Claims;
use datapump_core::name::{Content, Unverified};
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::commit::taken;
use datapump_files::commit::temporary::Siblings;
use datapump_files::disk::names::NameFlags;
use datapump_files::disk::{Meta, names};
use datapump_files::identity::id;
pub(crate) use missed::NotCopied;
pub(crate) use named_folder::NamedFolder;

/// A folder on its way.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) parent: Option<Arc<Directory>>,
    pub(crate) root: Arc<Root>,
    pub(crate) source: Arc<FolderSide>,
    /// `None` where nothing stands and nothing is made: a plan that is only shown.
    pub(crate) target: Option<Arc<FolderSide>>,
    pub(crate) traits: Traits,
    /// By this it is found again, if something is to be removed.
    folder_key: FolderKey,
    /// The same folder in each of `LinkOptions::link_dest` that has it.
    pub(crate) link_dest: Vec<LinkDest>,
    /// Where the target may take two names for one.
    claims: Option<Claims>,
    /// Of its path, for the marks of the files in it.
    pub(crate) path_sum: PathSum,
    pending: AtomicU32,
    put_off: StateLock<PutOff>,
    /// Where the listing goes on; used by the one lane that has it.
    cookie: AtomicU64,
    /// Names that the listing has given so far.
    listed: StateLock<NamesOnce>,
    /// Names that were listed before it is their turn. Locked while the folder is listed.
    pub(crate) listed_early: StateLock<ListedEarly>,
    /// Names that another host was asked for together, and whether it has them.
    looked_at: StateLock<HashMap<OsString, bool>>,
}

/// What holds for all files of a folder, found out once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// This run made the target folder: no name stands in it but those that this run made.
    pub(crate) fresh: bool,
    /// The folder is not copied: names of a list that lie in it are looked at.
    pub(crate) is_skipped: bool,
    /// Source and target lie on one file system.
    pub(crate) same_file_system: bool,
    /// The kernel makes the source's files up as they are read.
    pub(crate) made_up: bool,
    /// `statfs(2)` type of the source's file system, if it lies on this host.
    pub(crate) source_magic: u64,
    /// One sync of the target's file system does for all that is made in it, and no close tells of what was lost.
    pub(crate) syncs_whole: bool,
    /// Whether names in the target folder can be removed and replaced.
    pub(crate) target_flags: NameFlags,
    /// New files get an access control list from the target folder.
    pub(crate) handed_down: Option<u32>,
    /// What stands in the target folder and may not be on the disk.
    pub(crate) unverified: Unverified,
    /// The target folder is not a copy, which an earlier run may have made: it keeps its mode, owner and times.
    pub(crate) keeps_own: bool,
}

impl Traits {
    /// The target folder lets no name go: nothing in it gets a temporary one.
    pub(crate) fn append_only(&self) -> bool {
        self.target_flags.is_append_only
    }
}

/// A folder in which unchanged files are looked for, and what of it may not be on the disk.
#[derive(Clone, Debug)]
pub(crate) struct LinkDest {
    pub(crate) folder: Arc<FolderSide>,
    pub(crate) unverified: Unverified,
}

/// Names that may be temporary names of other files. They are dealt with one by one when all else in the folder is
/// done, so that no file is written under a temporary name that the source has, too.
#[derive(Debug, Default)]
struct PutOff {
    names: Vec<Name>,
    is_their_turn: bool,
}

/// Names of one folder, for one lane to deal with.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) directory: Arc<Directory>,
    pub(crate) names: Vec<Name>,
    /// Contents that were compared already.
    pub(crate) read: ReadContents,
    /// It may bring files that nobody knows of yet.
    pub(crate) walks: bool,
}

/// What reading has told of the names of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReadContents {
    pub(crate) existing: Content,
    /// That of the file of `--link-dest`.
    pub(crate) older: Content,
}

impl Batch {
    /// Names of which nothing was read. The folder must wait for them.
    pub(crate) fn new(directory: &Arc<Directory>, names: Vec<Name>, walks: bool) -> Batch {
        Batch { directory: Arc::clone(directory), names, read: ReadContents::default(), walks }
    }
}

impl Directory {
    /// Whether the source's folder has this name, as it was walked; `None` where that is not known, and must be asked.
    pub(crate) fn has_recorded(&self, name: &OsStr) -> Option<bool> {
        self.root.visited.has_name(self.folder_key, name)
    }

    /// Whether the source folder has a name: by its record, or by a look.
    fn source_has(&self, name: &OsStr) -> Result<bool, Problem> {
        // A folder of this host is asked at once.
        if let Some(has) = self.has_recorded(name).filter(|_| !self.source.is_here()) {
            return Ok(has);
        }
        let found = self.source.origin()?.metadata_if_exists(name, || self.source.path_of(name))?;
        Ok(found.is_some())
    }

    /// Whether the folder of what the user named has this name, too; `None` where it is the existing entry itself, because
    /// the two folders are one, and where nobody can tell.
    fn has_beside_named(&self, name: &OsStr, existing: &Meta) -> Option<bool> {
        let origin = self.source.origin().ok().filter(|_| self.source.is_here())?;
        match origin.metadata_if_exists(name, || self.source.path_of(name)) {
            Ok(Some(found)) if id(&found) == id(existing) => None,
            // What cannot be looked at may be there.
            found => Some(!matches!(found, Ok(None))),
        }
    }

    /// Acts in the target folder: [`FolderSide::in_opened`]. The mode of a folder that named files go to is no part of
    /// the copy, and stays.
    pub(crate) fn in_opened<T, E: Refusal>(&self, act: impl Fn() -> Result<T, E>) -> Result<T, E> {
        match &self.target {
            Some(target) if !self.root.is_named() => target.in_opened(act),
            _ => act(),
        }
    }

    /// Takes an entry of the target that a name found, or that was just made under it. False if it belongs to another
    /// name of the source: then the file system takes the two for one.
    pub(crate) fn claim(&self, entry: &Meta, name: &OsStr) -> bool {
        let (Some(target), Some(claims)) = (&self.target, &self.claims) else { return true };
        let Ok(folder) = target.file() else { return false };
        let is_list = self.root.journal().is_some_and(|journal| journal.is(entry))
            && !(self.parent.is_some() || claims.are_listed(&folder, [LIST_NAME.as_ref(), name]));
        !is_list && claims.claim(&folder, entry, name)
    }

    /// Claims a name that this run has just given as [`Self::claim`] does; `is_new` where nothing had it before.
    pub(crate) fn claim_written(&self, entry: &Meta, name: &OsStr, is_new: bool) -> bool {
        self.claims.iter().filter(|_| is_new).for_each(|claims| claims.note_made(name));
        self.claim(entry, name)
    }

    /// Claims what was just made without looking at it; `is_new` where nothing had the name before.
    ///
    /// Errors: the entry belongs to another name, or cannot be looked at.
    pub(crate) fn claim_made(&self, name: &OsStr, is_new: bool) -> Result<(), Problem> {
        let (Some(target), true) = (&self.target, self.claims.is_some()) else { return Ok(()) };
        match names::metadata(&*target.file()?, name) {
            Ok(entry) if self.claim_written(&entry, name, is_new) => Ok(()),
            Ok(_) => Err(taken(&target.path_of(name))),
            Err(errno) => Err(Problem::system(Operation::LookAt, &target.path_of(name), errno.0)),
        }
    }

    /// A name of this folder was made a further name of a file: the entry is its own.
    pub(crate) fn claim_link(&self, folder: &File, name: &OsStr) {
        if let Some(claims) = &self.claims
            && let Ok(entry) = names::metadata(folder, name)
        {
            claims.add(&entry, name);
        }
    }

    /// A folder of a walk, whose listing is still to be done.
    pub(crate) fn new(
        parent: Option<&Arc<Directory>>,
        root: &Arc<Root>,
        source: Arc<FolderSide>,
        target: Option<Arc<FolderSide>>,
        traits: Traits,
        link_dest: Vec<LinkDest>,
    ) -> Arc<Directory> {
        let claims = claims(root, target.as_deref(), traits);
        let folder_key = match parent {
            Some(parent) => root.visited.below(parent.folder_key, &source.name),
            None => visited::ROOT,
        };
        let path_sum = match parent {
            Some(parent) => parent.path_sum.folder(source.name.as_bytes()),
            None => root.path_sum,
        };
        root.alive.add(id(&source.meta));
        Arc::new(Directory {
            parent: parent.cloned(),
            root: Arc::clone(root),
            source,
            target,
            traits,
            folder_key,
            link_dest,
            claims,
            path_sum,
            pending: AtomicU32::new(1),
            put_off: StateLock::default(),
            cookie: AtomicU64::new(0),
            listed: StateLock::default(),
            listed_early: StateLock::default(),
            looked_at: StateLock::default(),
        })
    }

    /// The path at the target, for messages, also where no target is made.
    pub(crate) fn target_path(&self) -> PathBuf {
        self.source.path_below(&self.root.target_path)
    }

    /// Whether each of its files and folders is synced where syncs are due at the end: no sync of the whole file system
    /// does for them, or no list would tell that it failed.
    pub(crate) fn is_synced_by_parts(&self) -> bool {
        !self.traits.syncs_whole || self.root.syncs_each()
    }

    /// The path from the root of the tree; empty for the root itself.
    pub(crate) fn relative(&self) -> PathBuf {
        self.source.relative()
    }

    /// Where the listing goes on.
    pub(crate) fn cookie(&self) -> u64 {
        self.cookie.load(Ordering::Relaxed)
    }

    /// It is about to be listed from the start; `found` is what its source was before that, and whether its times could
    /// hide a name that comes then.
    pub(crate) fn note_walk(&self, found: &Meta, is_young: bool) {
        let above = self.parent.as_ref().map_or(visited::ROOT, |parent| parent.folder_key);
        self.root.visited.note_folder(self.folder_key, above, &self.source.name, found, is_young);
        *self.listed_early.lock() = ListedEarly::default();
        self.set_cookie(0);
    }

    /// Names of it were listed, from this place on.
    pub(crate) fn note_names(&self, cookie: u64, names: &[Name]) {
        self.root.visited.note_names(self.folder_key, cookie, names);
    }

    /// Another host was asked for these names.
    pub(crate) fn note_looked_at(&self, names: &[Name]) {
        let mut looked_at = self.looked_at.lock();
        for name in names {
            if let Some(reported) = &name.reported {
                looked_at.insert(name.name.clone(), reported.meta.is_ok());
            }
        }
    }

    /// Whether the source has a name that another host was asked for.
    pub(crate) fn looked_at(&self, name: &OsStr) -> Option<bool> {
        self.looked_at.lock().get(name).copied()
    }

    /// The listed names that were not dealt with in this run; they count as dealt with from now on.
    pub(crate) fn take_new_names(&self, names: Vec<Name>) -> Result<Vec<Name>, Problem> {
        let origin = self.source.origin()?;
        let visited = &self.root.visited;
        let was_walked = |name: &Name| visited.has(visited.below(self.folder_key, &name.name));
        let changed_ns = |name: &Name| origin.changed_ns(name, || was_walked(name));
        let names = visited.new_names(self.folder_key, names, changed_ns);
        Ok(self.listed.lock().take_new(&origin, names))
    }

    pub(crate) fn set_cookie(&self, cookie: u64) {
        self.cookie.store(cookie, Ordering::Relaxed);
    }

    /// These names, so many at a time: the folder waits for each batch.
    pub(crate) fn in_batches(
        self: &Arc<Directory>,
        names: Vec<Name>,
        most: usize,
        walks: bool,
    ) -> Vec<Batch> {
        let mut names = names.into_iter().peekable();
        let batch = || {
            names.peek()?;
            self.hold();
            Some(Batch::new(self, names.by_ref().take(most).collect(), walks))
        };
        std::iter::from_fn(batch).collect()
    }

    /// One more thing must be done before the folder is finished.
    pub(crate) fn hold(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// Puts a name off; false if its turn has come.
    pub(crate) fn put_off(&self, name: &Name) -> bool {
        let mut put_off = self.put_off.lock();
        if !put_off.is_their_turn {
            put_off.names.push(name.clone());
        }
        !put_off.is_their_turn
    }

    /// The next of them, when nothing else in the folder is on its way.
    pub(crate) fn next_put_off(&self) -> Option<Name> {
        let mut put_off = self.put_off.lock();
        put_off.is_their_turn = true;
        put_off.names.pop()
    }

    /// By what it is found again, if something is to be removed.
    pub(crate) fn key(&self) -> FolderKey {
        self.folder_key
    }

    /// Whether a name was not copied when the folder was walked before.
    pub(crate) fn was_missed(&self, name: &OsStr) -> bool {
        self.root.visited.was_missed(self.folder_key, name)
    }

    /// By what a folder under this name is found again.
    pub(crate) fn key_of(&self, name: &OsStr) -> FolderKey {
        self.root.visited.below(self.folder_key, name)
    }

    /// One thing is done; true for the last.
    pub(crate) fn release(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

/// What lies beside a file of a folder that is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside<'tree_file> {
    pub(crate) directory: &'tree_file Directory,
    pub(crate) source: &'tree_file Meta,
}

impl Siblings for Beside<'_> {
    fn source_has(&self, name: &OsStr, existing: &Meta) -> Option<bool> {
        if self.directory.root.is_named() {
            return self.directory.has_beside_named(name, existing);
        }
        // What cannot be looked at may be there.
        Some(self.directory.root.shares_target || !matches!(self.directory.source_has(name), Ok(false)))
    }

    fn source(&self) -> Option<&Meta> {
        Some(self.source)
    }

    fn is_tree(&self) -> bool {
        !self.directory.root.is_named()
    }
}

/// In a folder that this run made, and where nothing is made, all that must be known the file system tells.
fn claims(root: &Root, target: Option<&FolderSide>, traits: Traits) -> Option<Claims> {
    let target = target.filter(|_| !traits.fresh && root.is_copied)?;
    target.file().ok().and_then(|folder| Claims::of(&folder))
}

impl Drop for Directory {
    /// A tree may be deeper than the stack: parents that nobody else holds are dropped here, one after the other.
    fn drop(&mut self) {
        self.root.alive.remove(id(&self.source.meta));
        self.root.visited.done(self.folder_key);
        let mut next = self.parent.take();
        while let Some(directory) = next {
            next = Arc::into_inner(directory).and_then(|mut directory| directory.parent.take());
        }
    }
}
