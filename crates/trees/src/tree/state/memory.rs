//! What this command knows of its own copies: whether the existing entry of a name is of an earlier run of the same command
//! that was cut or failed in part, unverified, this run's, or somebody else's.
//!
//! The list of a tree tells what earlier runs committed, and since when what changed in its folder and below may not be on
//! the disk. Where backups are made notes tell of names that earlier runs put and did not end well with; they are of named
//! files, too, and outlast the list. The process tells what this run put under names that it may put once more.
//!
//! Must not know: what follows from an answer, how lists and notes are written, how files are copied.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use crate::folder::directory::Directory;
use crate::folder::side::FolderSide;
use crate::list::journal::TreeJournal;
use crate::list::list_file;
use crate::lock::StateLock;
use crate::problem::shown_path;
use crate::run::ledger::Ledger;
use datapump_core::name::{NameOptions, Ours, Unverified};
use datapump_files::commit::put_names::PutNames;
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::commit::temporary;
use datapump_files::disk::{Folder, Meta, file_meta, names};
use datapump_files::identity::FileId;

/// Folders above a target that are looked at: a path of PATH_MAX bytes has no more.
const ABOVE_MAX: u32 = 2048;

/// What a command knows of its own copies.
#[derive(Debug, Default)]
pub(crate) struct RunMemory {
    /// Existing entries may be left alone for what they look like.
    leaves_some: bool,
    /// `--ignore-existing`
    leaves_all: bool,
    /// Names that this run and earlier ones put; none where no backups are made.
    put_names: Option<PutNames>,
    /// Folders in which this run has its own list, or will: what was unverified by the list that existed before.
    own_lists: StateLock<BTreeMap<FileId, Option<Unverified>>>,
    /// Files at the target of which a dry run reported that their attributes would be set.
    adjusted: StateLock<BTreeSet<FileId>>,
}

/// A name at the target, as notes have it: under the root of its tree, or in the folder of a file that was named.
#[derive(Clone, Copy)]
pub(crate) struct NotedName<'run> {
    /// The folder of a tree that holds it; none of a file that was named.
    pub(crate) in_tree: Option<&'run FolderSide>,
    pub(crate) folder: &'run File,
    pub(crate) name: &'run OsStr,
}

impl NotedName<'_> {
    fn ask<T>(self, ask: impl FnOnce(&File, &OsStr) -> T) -> Option<T> {
        let Some(folder) = self.in_tree else { return Some(ask(self.folder, self.name)) };
        let root = folder.ancestors().last().and_then(|root| root.file().ok())?;
        Some(ask(&root, folder.relative().join(self.name).as_os_str()))
    }
}

impl RunMemory {
    /// Of a command with these flags. `put_names`: where backups are made.
    pub(crate) fn new(flags: &NameOptions, put_names: Option<PutNames>) -> RunMemory {
        let leaves_some = flags.leaves_some() && !flags.compares();
        RunMemory { leaves_some, leaves_all: flags.ignore_existing, put_names, ..RunMemory::default() }
    }

    /// Whether the existing file of a name is this command's, and by what. The source is asked for only where it may
    /// be.
    pub(crate) fn ours<E>(
        &self,
        directory: &Directory,
        name: &OsStr,
        source: impl FnOnce() -> Result<Meta, E>,
        existing: &Meta,
    ) -> Result<Ours, E> {
        let journal = directory.root.journal().filter(|journal| journal.continues);
        let is_unverified = directory.traits.unverified.reaches(existing);
        if journal.is_none() && !is_unverified {
            return Ok(Ours::No);
        }
        let source = source()?;
        Ok(if journal.is_some_and(|journal| journal.has(&directory.path_sum, name, &source, existing)) {
            Ours::Earlier
        } else if !is_unverified {
            Ours::No
        } else if self.may_be_copy(directory, name, &source, existing) {
            Ours::Unverified
        } else {
            Ours::Touched
        })
    }

    /// Whether an unverified file may be of a copy of this source: it is not somebody's own work.
    fn may_be_copy(&self, directory: &Directory, name: &OsStr, source: &Meta, existing: &Meta) -> bool {
        let unverified = directory.traits.unverified;
        // Under a name of the source may stand what was on its way to another name.
        let is_leftover = || {
            let folder = directory.target.as_ref().and_then(|target| target.file().ok());
            folder.is_some_and(|folder| temporary::looks_left(&Folder::Os(folder), name, existing))
        };
        let is_of_copy = || directory.root.journal().is_some_and(|journal| journal.is_of_new_folder);
        // In a folder that was made for the copy all is of the copy, but for what others put there since.
        // Files have the times that they are given, and by content and attributes that of what was done last, on the file
        // systems of which one sync does for all (`disk/kind.rs`).
        let tells_times = directory.traits.syncs_whole;
        let is_of_others = || tells_times && unverified.is_of_others(source, existing);
        unverified.may_have_made(source, existing)
            || (self.leaves_all && is_of_copy() && !is_of_others())
            || is_leftover()
    }

    /// Names that are unverified in the root of a tree: by its own list, or, where something is left alone for what it
    /// looks like, by any in it or above.
    pub(crate) fn unverified_in_root(
        &self,
        ledger: &Ledger<'_>,
        journal: Option<&TreeJournal>,
        folder: &File,
        path: &Path,
    ) -> Unverified {
        let own = journal.map(|journal| journal.unverified).unwrap_or_default();
        match (self.leaves_some, journal) {
            (false, _) => own,
            (true, Some(_)) => own.and(self.unverified_above(ledger, folder, path)),
            (true, None) => self.in_and_above(ledger, folder, path),
        }
    }

    /// By any list in a folder or above.
    pub(crate) fn in_and_above(&self, ledger: &Ledger<'_>, folder: &File, path: &Path) -> Unverified {
        let here = self.unverified_by_list(ledger, folder, list_file::unverified_in, || path.join(LIST_NAME));
        here.unwrap_or_default().and(self.unverified_above(ledger, folder, path))
    }

    /// Names that are unverified in a folder that this run did not make: those by the list in it, and those of the
    /// folder above.
    pub(crate) fn unverified_in_target(
        &self,
        ledger: &Ledger<'_>,
        above: Unverified,
        target: &FolderSide,
    ) -> Unverified {
        if self.leaves_some { self.below(ledger, above, target) } else { above }
    }

    /// Names that are unverified in a folder: those by the list in it, and those of the folder above.
    pub(crate) fn below(&self, ledger: &Ledger<'_>, above: Unverified, side: &FolderSide) -> Unverified {
        let path = || side.path_of(OsStr::new(LIST_NAME));
        let folder = side.file().ok();
        above.and(
            folder
                .and_then(|folder| self.unverified_by_list(ledger, &folder, list_file::unverified_in, path)),
        )
    }

    /// By lists above a folder: a copy of a folder above dealt with this one, too, and its list lies there.
    fn unverified_above(&self, ledger: &Ledger<'_>, folder: &File, path: &Path) -> Option<Unverified> {
        let (mut found, mut here, mut path) = (None, None, path.to_path_buf());
        for _ in 0..ABOVE_MAX {
            let below = here.as_ref().unwrap_or(folder);
            let Ok(above) = names::open_folder(below, OsStr::new("..")) else { break };
            if id(below) == id(&above) {
                break;
            }
            path.push("..");
            let by_list = self.unverified_by_list(ledger, &above, list_file::unverified_by_above, || {
                without_steps_up(&path, &above).join(LIST_NAME)
            });
            if let Some(unverified) = by_list {
                found = Some(unverified.and(found));
            }
            here = Some(above);
        }
        found
    }

    /// By the list in one folder. That of this run is of no other copy: what existed before it counts.
    fn unverified_by_list(
        &self,
        ledger: &Ledger<'_>,
        folder: &File,
        find: impl Fn(&File) -> Option<Unverified>,
        path: impl Fn() -> PathBuf,
    ) -> Option<Unverified> {
        let own = self.own_lists.lock();
        if let Some(before) = id(folder).and_then(|id| own.get(&id)) {
            return *before;
        }
        // Nor can this run begin one meanwhile.
        let found = find(folder);
        drop(own);
        found.inspect(|_| warn_of_list(ledger, &path()))
    }

    /// This run is going to have its own list in a folder: the trees that it has in one another see that.
    pub(crate) fn expect_own_list(&self, folder: &File) {
        let mut own = self.own_lists.lock();
        if let (Some(id), None) = (id(folder), list_file::unverified_in(folder)) {
            own.insert(id, None);
        }
    }

    /// This run goes on with the list that existed in a folder.
    pub(crate) fn go_on_with(&self, folder: &File, unverified: Unverified) {
        if let Some(id) = id(folder) {
            self.own_lists.lock().insert(id, Some(unverified));
        }
    }

    /// Notes a name that is about to be put. Whether an earlier run put it, and did not end well, or may have.
    pub(crate) fn note_put(&self, noted: NotedName<'_>) -> bool {
        let put_names = self.put_names.as_ref();
        put_names.is_some_and(|notes| noted.ask(|folder, name| notes.put(folder, name)).unwrap_or(true))
    }

    /// Whether an earlier run that did not end well may have put a name.
    pub(crate) fn was_put(&self, noted: NotedName<'_>) -> bool {
        let put_names = self.put_names.as_ref();
        put_names
            .is_some_and(|notes| noted.ask(|folder, name| notes.has_earlier(folder, name)).unwrap_or(true))
    }

    /// The existing entry of a name that the user gave is right and stays: no run is left that did not end well with it.
    pub(crate) fn note_right(&self, folder: &File, name: &OsStr) {
        self.put_names.iter().for_each(|notes| notes.stays(folder, name));
    }

    /// What earlier runs put under a root is looked for, though this one may put nothing.
    pub(crate) fn look_for_notes(&self, root: &File) {
        self.put_names.iter().for_each(|notes| notes.look_in(root));
    }

    /// This run put a file under a name that it may put once more.
    pub(crate) fn keep_own(&self, folder: &File, name: &OsStr, file: FileId) {
        self.put_names.iter().for_each(|notes| notes.keep_own(folder, name, file));
    }

    /// Whether this run put the existing entry of such a name; `None` where it has put too many to know.
    pub(crate) fn is_own(&self, folder: &File, name: &OsStr, file: FileId) -> Option<bool> {
        self.put_names.as_ref().map_or(Some(false), |notes| notes.is_own(folder, name, file))
    }

    /// The command ended well: what it and its earlier runs put counts no more.
    pub(crate) fn finish(&self) {
        self.put_names.iter().for_each(PutNames::finish);
    }

    /// Whether it is the first time that a dry run reports attributes of a file at the target: all its names have them.
    pub(crate) fn is_first_report(&self, existing: &Meta) -> bool {
        let id = datapump_files::identity::id(existing);
        existing.links < 2 || self.adjusted.lock().insert(id)
    }
}

fn id(folder: &File) -> Option<FileId> {
    file_meta(folder).ok().map(|meta| datapump_files::identity::id(&meta))
}

/// The path of a folder without the steps up, where it leads there.
fn without_steps_up(path: &Path, folder: &File) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        let goes_back = part == Component::ParentDir
            && matches!(short.components().next_back(), Some(Component::Normal(_)));
        if !(goes_back && short.pop()) {
            short.push(part);
        }
    }
    let short = if short.as_os_str().is_empty() { PathBuf::from(".") } else { short };
    let found = names::find_folder(&short);
    if found.is_ok_and(|found| id(&found) == id(folder)) { short } else { path.to_path_buf() }
}

/// Warns that a list of another copy leaves its folder unverified, and how to settle that.
fn warn_of_list(ledger: &Ledger<'_>, path: &Path) {
    let list = shown_path(path);
    ledger.warn(format!(
        "'{list}' was left by another copy that was cut or was not synced: what changed in its folder since that began \
         is copied again, not linked; to settle it run that copy to its end with all names (files that cannot be read do \
         not matter; without --sync=none and --inplace), or, if it is given up, copy all without --update and the like \
         and remove this file; a snapshot that is given up is not changed, or removed: name a later one in --link-dest"
    ));
}
