//! Backups of what is replaced or removed at the target, where they were asked for.
//!
//! A backup never is, and never replaces, what this command has put under a name: earlier sessions and runs of it that
//! did not end well, and this run, too. All that gives a name to something passes here for that.
//!
//! Must not know: how backups are called and made (`aside`), which names are replaced.

pub(crate) mod names_beside;
pub(crate) mod removal;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_core::resume::fnv;
use datapump_engine::Errno;

use crate::folder::backup_place::not_set_aside;
use crate::folder::directory::Directory;
use crate::folder::root::Root;
use crate::folder::side::FolderSide;
use crate::list::header::selection_sum;
use crate::list::journal::TreeJournal;
use crate::place::Place;
use crate::problem::{Problem, system_words};
use crate::report::change::backed_up;
use crate::setup::options::{Backup, Options, Sync};
use crate::tree::Shared;
use crate::tree::batch::listing;
use crate::tree::state::like_backups::{NamedEntry, may_fold};
use crate::tree::state::memory::NotedName;
use datapump_files::commit::aside::Aside;
use datapump_files::commit::own_copy::{Incoming, Resemblance};
use datapump_files::commit::put_names::{PutNames, is_note};
use datapump_files::commit::taken as name_taken;
use datapump_files::disk::names::NameAt;
use datapump_files::disk::{FileKind, Meta, Outcome, file_meta, folder_of, names};
use datapump_files::identity::{FileId, id};

/// A name that something else takes, or that goes.
#[derive(Clone, Copy)]
pub(crate) struct TakenName<'run> {
    pub(crate) folder: &'run File,
    pub(crate) name: &'run OsStr,
    /// What takes it; none where it goes.
    pub(crate) by: Option<Incoming<'run>>,
    /// The source that it is copied from: no backup replaces that.
    source: Option<FileId>,
    /// It is one of several of its file, and may be given once more.
    has_others: bool,
}

impl<'run> TakenName<'run> {
    /// The name goes, or what takes it is no file, link, pipe or device.
    pub(crate) fn gone(folder: &'run File, name: &'run OsStr) -> TakenName<'run> {
        TakenName { folder, name, by: None, source: None, has_others: false }
    }

    /// A name that is taken by `made`, which is complete but for its name, and was made of a source with these
    /// attributes.
    pub(crate) fn from_made(
        shared: &Shared<'_>,
        folder: &'run File,
        name: &'run OsStr,
        made: &'run File,
        source: Option<&Meta>,
    ) -> TakenName<'run> {
        let source_mtime_ns =
            source.filter(|_| shared.settings.options.attributes.keep.times).map(|source| source.mtime_ns);
        let has_others = source.is_some_and(|source| source.links > 1);
        let by = Some(Incoming { made, source_mtime_ns });
        TakenName { folder, name, by, source: source.map(id), has_others }
    }

    /// A name that is taken by a further link to a file.
    pub(crate) fn from_link(
        shared: &Shared<'_>,
        folder: &'run File,
        name: &'run OsStr,
        held: &'run File,
        file: Option<&Meta>,
    ) -> TakenName<'run> {
        TakenName { has_others: true, ..TakenName::from_made(shared, folder, name, held, file) }
    }

    /// It has its name now.
    fn is_put(&self, shared: &Shared<'_>) {
        if let Some(Ok(made)) = self.by.filter(|_| self.has_others).map(|by| file_meta(by.made)) {
            shared.trees.memory.keep_own(self.folder, self.name, id(&made));
        }
    }

    /// Whether this very run put the existing entry; `None` where it has put too many to know. The copy of another source
    /// that goes there, too, is kept.
    fn is_own(&self, shared: &Shared<'_>, existing: &Meta) -> Option<bool> {
        if self.has_others && !shared.trees.targets_overlap {
            shared.trees.memory.is_own(self.folder, self.name, id(existing))
        } else {
            Some(false)
        }
    }

    /// The entry that a backup is kept of, and whether that is certain to be no copy of this command: none where there is
    /// none, or a folder, or what this run, or an earlier session or run of this command, put there. `was_put` is what
    /// notes say of that.
    fn existing_to_back_up(&self, shared: &Shared<'_>, was_put: bool) -> Outcome<Option<(Meta, bool)>> {
        let existing = match names::metadata(self.folder, self.name) {
            Err(Errno::ENOENT) => return Ok(None),
            found => found?,
        };
        if existing.kind == FileKind::Folder {
            return Ok(None);
        }
        let beside = |by: Incoming<'_>| {
            by.beside(NameAt { folder: self.folder, name: self.name }, &existing, was_put, &shared.stop)
        };
        let resemblance = match self.is_own(shared, &existing) {
            Some(false) => self.by.map_or(Ok(Resemblance::Other), beside)?,
            Some(true) => Resemblance::Copy,
            None => Resemblance::Unverified,
        };
        Ok(match resemblance {
            Resemblance::Copy => None,
            Resemblance::Unverified => Some((existing, false)),
            Resemblance::Other => Some((existing, true)),
        })
    }
}

/// Where there are no links a backup took the name itself: this gives it back, if nothing took it.
#[derive(Debug, Default)]
pub(crate) struct UndoRename(Option<(File, OsString)>);

impl UndoRename {
    fn new(aside: Aside, to: &File) -> UndoRename {
        match aside {
            Aside::Linked(_) => UndoRename::default(),
            Aside::Renamed(backup) => UndoRename(to.try_clone().ok().map(|to| (to, backup))),
        }
    }

    /// Whether the name is gone.
    pub(crate) fn is_renamed(&self) -> bool {
        self.0.is_some()
    }

    /// Best effort: what failed before is what is told.
    fn undo(self, folder: &File, name: &OsStr) {
        if let Some((to, backup)) = self.0 {
            let _ = names::rename(&to, &backup, folder, name);
        }
    }
}

/// What a command puts, which is told from others by its sources and by what is chosen of them; none without backups.
pub(crate) fn put_names(sources_sum: u64, options: &Options) -> Option<PutNames> {
    let makes_some = options.backup.is_some() && !options.dry_run;
    makes_some.then(|| PutNames::for_command(fnv(selection_sum(options), &sources_sum.to_le_bytes())))
}

/// A sum of sources of this host. The same words mean others in another working directory.
pub(crate) fn sum_of(sources: &[Place]) -> u64 {
    let sum = |sum, source: &Place| {
        let whole = source.local_path().and_then(|path| std::path::absolute(path).ok());
        let whole = whole.map_or_else(|| source.clone(), Place::Path);
        fnv(sum, format!("{whole:?}").as_bytes())
    };
    sources.iter().fold(0, sum)
}

/// A sum of sources for another host that writes, to which sources of several hosts may be copied: with the name of
/// this host.
pub fn sum_for_others(sources: &[Place]) -> u64 {
    let host = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    fnv(sum_of(sources), &host)
}

/// The folder of the source that is copied to where a backup lies. It is opened only for what no record tells.
#[derive(Clone, Copy)]
pub(crate) struct BackupSource<'run> {
    /// Whether it has a name, where that is known.
    pub(crate) lists: &'run dyn Fn(&OsStr) -> Option<bool>,
    /// `None` where it cannot be opened.
    pub(crate) open: &'run dyn Fn() -> Option<Arc<FolderSide>>,
}

/// Sets aside the existing entry of a name of a tree's target. `source` has what is copied there, if anything.
pub(crate) fn set_aside_in_tree(
    shared: &Shared<'_>,
    root: &Root,
    target: &FolderSide,
    source: Option<BackupSource<'_>>,
    taken: TakenName<'_>,
) -> Result<UndoRename, Problem> {
    let TakenName { folder, name, .. } = taken;
    let Some(backup) = &shared.settings.options.backup else { return Ok(UndoRename::default()) };
    let wrong = |errno: Errno| not_set_aside(&shared.settings, folder, name, &target.path_of(name), errno);
    let was_put = shared.trees.memory.note_put(NotedName { in_tree: Some(target), folder, name });
    let Some((existing, is_other)) = taken.existing_to_back_up(shared, was_put).map_err(wrong)? else {
        return Ok(UndoRename::default());
    };
    let to = root.backups.below(&shared.settings, &shared.trees.backup_folders, target).map_err(wrong)?;
    let is_beside = to.is_none();
    // The existing entry may be of the run that was cut, and the backup the one from before that run.
    let is_unverified =
        was_put || !is_other || root.list.is_lacking() || root.journal().is_some_and(TreeJournal::stood);
    let into = to.as_ref().unwrap_or(folder);
    let at = NamedEntry { folder, name, meta: &existing };
    let source = source.filter(|_| is_beside);
    let names = BackupNames { shared, root, target, source, is_beside, at, into, is_unverified };
    let may_replace = |backup: &OsStr, existing: &Meta| names.may_replace(backup, existing);
    let is_needed = |backup: &OsStr| names.is_needed(backup);
    let aside =
        backup.set_aside(NameAt { folder, name }, &existing, into, may_replace, is_needed).map_err(wrong)?;
    // Its attributes have another time now, by this run.
    if let Some(journal) = root.journal() {
        journal.know(&existing);
    }
    make_durable(shared, to.as_ref()).map_err(wrong)?;
    let path = || target.path_of(name);
    report_backup(shared, path, &root.target_path, &target.relative(), aside.name(), existing.kind);
    Ok(UndoRename::new(aside, into))
}

/// Existing entries of the names that a backup in a tree may get, and names that are to come there.
struct BackupNames<'run> {
    shared: &'run Shared<'run>,
    root: &'run Root,
    target: &'run FolderSide,
    /// Where the backup lies beside what is copied.
    source: Option<BackupSource<'run>>,
    is_beside: bool,
    at: NamedEntry<'run>,
    into: &'run File,
    /// A copy of this command may be set aside.
    is_unverified: bool,
}

impl BackupNames<'_> {
    /// A backup that is a name of the source, or may be of another source, is copied for itself.
    fn may_replace(&self, backup: &OsStr, existing: &Meta) -> bool {
        let is_certain = self.shared.trees.named.replaces_backups && !self.is_unverified;
        let is_source = self.shared.trees.targets_overlap || self.shared.trees.guard.reads(existing);
        is_certain
            && !is_source
            && self.source_has(backup) == Some(false)
            && self.source_may_have(backup) == Some(false)
            && if self.is_beside {
                !self.was_put(backup)
            } else {
                tells_apart(self.at, NamedEntry { folder: self.into, name: backup, meta: existing })
            }
    }

    /// Whether a name that the backup would take is needed for a copy of the source; `None` where that cannot be known.
    fn is_needed(&self, backup: &OsStr) -> Option<bool> {
        let (shared, root) = (self.shared, self.root);
        let has = self.source_has(backup)?;
        if self.source_may_have(backup)? {
            return Some(true);
        }
        if has && is_chosen(shared, &root.patterns_above, &self.target.relative(), backup) {
            return Some(true);
        }
        if self.is_beside && shared.trees.targets_overlap {
            is_of_another(shared, backup, self.at)
        } else {
            Some(false)
        }
    }

    /// Whether the source has a name that a backup would take; `None` where that cannot be known.
    fn source_has(&self, backup: &OsStr) -> Option<bool> {
        let Some(source) = self.source else { return Some(false) };
        let ask = || {
            let side = (source.open)()?;
            side.origin().ok()?.has(backup, || side.path_of(backup))
        };
        (source.lists)(backup).or_else(ask)
    }

    /// Whether the source has a name that the target may take for the backup's.
    fn source_may_have(&self, backup: &OsStr) -> Option<bool> {
        let shared = self.shared;
        let (Some(source), Some(requested)) = (self.source, &shared.settings.options.backup) else {
            return Some(false);
        };
        if !may_fold(self.at) {
            return Some(false);
        }
        let side = (source.open)()?;
        shared
            .trees
            .like_backups
            .in_folder(requested, &side, &shared.stop)
            .map(|names| names.may_have(backup))
    }

    /// Whether an earlier run that did not end well may have put the entry under the backup's name.
    fn was_put(&self, backup: &OsStr) -> bool {
        let noted = NotedName { in_tree: Some(self.target), folder: self.into, name: backup };
        self.shared.trees.memory.was_put(noted)
    }
}

/// Whether a folder of backups tells all names apart that the folder of their files does: else the backup of one name
/// would replace that of another.
fn tells_apart(existing: NamedEntry<'_>, backup: NamedEntry<'_>) -> bool {
    !may_fold(backup) || may_fold(existing)
}

/// Counts and reports a backup, which lies in the folder of the name, or in that of all backups, seen from the target.
fn report_backup(
    shared: &Shared<'_>,
    path: impl FnOnce() -> PathBuf,
    target: &Path,
    below: &Path,
    backup: &OsStr,
    kind: FileKind,
) {
    shared.ledger.tally().done.backups += 1;
    if shared.settings.tells_changes() {
        let all = shared.settings.options.backup.as_ref().and_then(|backup| backup.folder.as_deref());
        let folder = target.join(all.unwrap_or(Path::new(""))).join(below);
        shared.ledger.tell(Some(Box::new(backed_up(path(), folder.join(backup), kind))));
    }
}

/// Replaces the existing entry of a name of a directory that is walked, behind a backup of it. An entry that was named
/// itself has the backup of a file that was named.
pub(crate) fn replace_entry<T>(
    shared: &Shared<'_>,
    directory: &Directory,
    taken: TakenName<'_>,
    replace: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    let Some(target) = &directory.target else { return replace() };
    if directory.root.is_named() {
        let path = target.path_of(taken.name);
        return replace_file(shared, taken, &path, replace);
    }
    let lists = |name: &OsStr| listing::source_lists(shared, directory, name);
    let open = || Some(Arc::clone(&directory.source));
    let source = BackupSource { lists: &lists, open: &open };
    let aside = set_aside_in_tree(shared, &directory.root, target, Some(source), taken)?;
    replace().inspect(|_| taken.is_put(shared)).inspect_err(|_| aside.undo(taken.folder, taken.name))
}

/// Has `make` give something a free name of a folder that is walked, and gives its result. The name is noted before for
/// later runs, the entry after for this one: it gets no backup.
pub(crate) fn make_entry<T, E>(
    shared: &Shared<'_>,
    directory: &Directory,
    taken: TakenName<'_>,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let TakenName { folder, name, .. } = taken;
    let in_tree = directory.target.as_deref().filter(|_| !directory.root.is_named());
    shared.trees.memory.note_put(NotedName { in_tree, folder, name });
    make().inspect(|_| taken.is_put(shared))
}

/// Has `make` give something a free name that the user named, and notes it as [`make_entry`] does.
///
/// Errors: also `is_of_another`, where the name already finds the copy of another source.
pub(crate) fn make_named_file<T, E>(
    shared: &Shared<'_>,
    taken: TakenName<'_>,
    is_of_another: impl FnOnce() -> E,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let TakenName { folder, name, .. } = taken;
    shared.trees.memory.note_put(NotedName { in_tree: None, folder, name });
    let made = shared.trees.guard.give_name(taken.folder, taken.name, make);
    made.unwrap_or_else(|| Err(is_of_another())).inspect(|_| taken.is_put(shared))
}

/// Replaces the existing entry of a name that the user gave, behind a backup of it. Its folder is the one that is copied to.
pub(crate) fn replace_file<T>(
    shared: &Shared<'_>,
    taken: TakenName<'_>,
    path: &Path,
    replace: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    let replace = || {
        let aside = set_aside_file(shared, taken, path);
        let wrong = |errno| not_set_aside(&shared.settings, taken.folder, taken.name, path, errno);
        let aside = aside.map_err(wrong)?;
        replace().inspect_err(|_| aside.undo(taken.folder, taken.name))
    };
    let replaced = shared.trees.guard.give_name(taken.folder, taken.name, replace);
    replaced.unwrap_or_else(|| Err(name_taken(path))).inspect(|_| taken.is_put(shared))
}

/// Sets aside the existing entry of a name that the user gave. Errors: its place takes no backups, needed or not.
fn set_aside_file(shared: &Shared<'_>, taken: TakenName<'_>, path: &Path) -> Outcome<UndoRename> {
    let TakenName { folder, name, .. } = taken;
    let Some(backup) = &shared.settings.options.backup else { return Ok(UndoRename::default()) };
    // A place that takes no backups is refused, whether one is needed or not.
    if let Err(errno) = backup.open(folder, false, shared.settings.is_confined)
        && errno != Errno::ENOENT
    {
        return Err(errno);
    }
    let was_put = shared.trees.memory.note_put(NotedName { in_tree: None, folder, name });
    let Some((existing, is_other)) = taken.existing_to_back_up(shared, was_put)? else {
        return Ok(UndoRename::default());
    };
    let to = backup_folder_of_file(shared, backup, folder)?;
    let (into, at) = (to.as_deref().unwrap_or(folder), NamedEntry { folder, name, meta: &existing });
    let may_replace = |backup: &OsStr, existing: &Meta| {
        let is_source = Some(id(existing)) == taken.source || shared.trees.guard.reads(existing);
        let is_certain = shared.trees.named.replaces_backups && is_other && !was_put && !is_source;
        is_certain
            && is_of_another(shared, backup, at) == Some(false)
            && (to.is_some()
                || !shared.trees.memory.was_put(NotedName { in_tree: None, folder, name: backup }))
            && (to.is_none() || tells_apart(at, NamedEntry { folder: into, name: backup, meta: existing }))
    };
    let is_needed = |backup: &OsStr| match to {
        Some(_) => Some(false),
        None => is_of_another(shared, backup, at),
    };
    let aside = backup.set_aside(NameAt { folder, name }, &existing, into, may_replace, is_needed)?;
    make_durable(shared, to.as_deref())?;
    report_backup(shared, || path.to_path_buf(), folder_of(path), Path::new(""), aside.name(), existing.kind);
    Ok(UndoRename::new(aside, into))
}

/// The folder for the backup of a file that the user named; none where that lies beside.
fn backup_folder_of_file(shared: &Shared<'_>, backup: &Backup, folder: &File) -> Outcome<Option<Arc<File>>> {
    let is_confined = shared.settings.is_confined;
    match backup.open(folder, false, is_confined) {
        Err(Errno::ENOENT) => {
            let made = backup.open(folder, true, is_confined)?.map(Arc::new);
            made.iter().for_each(|made| shared.trees.backup_folders.made_root(made, folder, None));
            Ok(made)
        }
        found => Ok(found?.map(Arc::new)),
    }
}

/// Gives the folders of backups the modes and times of their originals, when all backups are made, and warns of a
/// failure. Each is synced, unless there are trees: then the file system is synced later.
pub(crate) fn finish_folders(shared: &Shared<'_>) {
    let is_synced = shared.settings.options.durability.sync != Sync::None && !shared.settings.has_trees;
    let done = |folder: &File| {
        if is_synced { folder.sync_all().map_err(|error| Errno::from_io_error(&error)) } else { Ok(()) }
    };
    if let Err(errno) = shared.trees.backup_folders.finish(done) {
        let why = system_words(errno.0);
        shared
            .ledger
            .warn(format!("not all folders of backups got the modes and times of their originals: {why}"));
    }
}

/// Whether another source of this command is copied to the name of a backup; `None` where it may be.
fn is_of_another(shared: &Shared<'_>, backup: &OsStr, existing: NamedEntry<'_>) -> Option<bool> {
    let may_be = || shared.trees.named.like_backups.may_have(backup) && may_fold(existing);
    if shared.trees.named.backup_names.contains(backup) || may_be() {
        Some(true)
    } else {
        (!shared.trees.targets_overlap).then_some(false)
    }
}

/// Whether a name of a folder of the source may be one that is copied: neither excluded nor missing on a list.
fn is_chosen(shared: &Shared<'_>, above: &Path, folder: &Path, name: &OsStr) -> bool {
    let select = &shared.trees.select;
    [true, false].into_iter().any(|is_folder| select.deals_with((above, folder), (name, is_folder)))
}

/// Syncs the folder that a backup was put into, where that is due now. A tree is synced at its end, with its backups:
/// they lie on its file system.
fn make_durable(shared: &Shared<'_>, to: Option<&File>) -> Outcome<()> {
    let sync = shared.settings.options.durability.sync;
    let is_due = sync == Sync::Each || (sync == Sync::End && !shared.settings.has_trees);
    match to.filter(|_| is_due) {
        Some(to) => {
            let to = names::open_folder(to, OsStr::new("."))?;
            to.sync_all().map_err(|error| Errno::from_io_error(&error))
        }
        None => Ok(()),
    }
}

/// Whether a name at the target is a backup, or the folder of backups: --delete leaves it alone.
pub(crate) fn is_backup(
    shared: &Shared<'_>,
    root: &Root,
    folder: &File,
    name: &OsStr,
    kind: FileKind,
) -> bool {
    let Some(backup) = &shared.settings.options.backup else { return false };
    match kind {
        FileKind::Folder if backup.folder.is_some() => names::metadata(folder, name)
            .is_ok_and(|existing| root.backups.is(&shared.settings, id(&existing))),
        FileKind::Folder => false,
        _ => backup.is_beside(name) || is_note(name),
    }
}
