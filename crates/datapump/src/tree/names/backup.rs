//! Backups of what is replaced or removed at the target, where they were asked for.
//!
//! Must not know: how backups are called and made (`aside`), which names are replaced.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

use datapump_engine::Errno;

use crate::job::options::Sync;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::run::Shared;
use crate::tree::folder::directory::Directory;
use crate::tree::folder::side::FolderSide;
use crate::tree::root::Root;
use datapump_files::commit::aside::Aside;
use datapump_files::disk::{FileKind, Meta, Outcome, names};
use datapump_files::identity::{FileId, id};

/// What gives a name back that nothing took.
#[derive(Debug, Default)]
pub(crate) struct GivenUp(Option<(File, OsString)>);

impl GivenUp {
    fn new(aside: Aside, to: &File) -> GivenUp {
        match aside {
            Aside::Linked => GivenUp::default(),
            Aside::Renamed(backup) => GivenUp(to.try_clone().ok().map(|to| (to, backup))),
        }
    }

    /// Best effort: what failed before is what is told.
    pub(crate) fn give_back(self, folder: &File, name: &OsStr) {
        if let Some((to, backup)) = self.0 {
            let _ = names::rename(&to, &backup, folder, name);
        }
    }
}

/// Sets aside what stands under a name of a tree's target. `source` has what is copied there, if anything.
pub(crate) fn in_tree(
    shared: &Shared<'_>,
    (root, target, source): (&Root, &FolderSide, Option<&FolderSide>),
    (folder, name): (&File, &OsStr),
) -> Result<GivenUp, Problem> {
    let Some(backup) = &shared.settings.options.backup else { return Ok(GivenUp::default()) };
    let wrong = |errno: Errno| Problem::system(Operation::BackUp, &target.path_of(name), errno.0);
    let Some(stood) = stands(folder, name).map_err(wrong)? else { return Ok(GivenUp::default()) };
    let to = root.backups.below(&shared.settings, &target.relative()).map_err(wrong)?;
    let is_beside = to.is_none();
    // What stands there may be of the run that was cut, and the backup what stood there before it. And a backup that is
    // a name of the source, too, is copied for itself.
    let has_cut = root.journal().is_some_and(|journal| journal.stood());
    let source_has = |backup: &OsStr| match source.filter(|_| is_beside) {
        Some(side) => !matches!(
            side.origin().and_then(|origin| origin.if_there(backup, || side.path_of(backup))),
            Ok(None)
        ),
        None => false,
    };
    let may_replace = |backup: &OsStr, _: &Meta| !has_cut && !source_has(backup);
    let into = to.as_ref().unwrap_or(folder);
    let aside = backup.set_aside((folder, name, &stood), into, may_replace).map_err(wrong)?;
    // Its attributes have another time now, by this run.
    if let Some(journal) = root.journal() {
        journal.know(&stood);
    }
    made_durable(shared, to.as_ref()).map_err(wrong)?;
    Ok(GivenUp::new(aside, into))
}

/// The same of a name of a directory that is walked.
pub(crate) fn of_entry(
    shared: &Shared<'_>,
    directory: &Directory,
    at: (&File, &OsStr),
) -> Result<GivenUp, Problem> {
    match &directory.target {
        Some(target) => in_tree(shared, (&directory.root, target, Some(&directory.source)), at),
        None => Ok(GivenUp::default()),
    }
}

/// The same of a file that the user named, which is not this source of it. Its folder is the one that is copied to.
pub(crate) fn of_file(
    shared: &Shared<'_>,
    (folder, name): (&File, &OsStr),
    (path, source): (&Path, Option<FileId>),
) -> Result<GivenUp, Problem> {
    let Some(backup) = &shared.settings.options.backup else { return Ok(GivenUp::default()) };
    let wrong = |errno: Errno| Problem::system(Operation::BackUp, path, errno.0);
    let Some(stood) = stands(folder, name).map_err(wrong)? else { return Ok(GivenUp::default()) };
    let to = backup.open(folder, true, shared.settings.is_confined).map_err(wrong)?;
    let may_replace = |_: &OsStr, there: &Meta| Some(id(there)) != source;
    let into = to.as_ref().unwrap_or(folder);
    let aside = backup.set_aside((folder, name, &stood), into, may_replace).map_err(wrong)?;
    made_durable(shared, to.as_ref()).map_err(wrong)?;
    Ok(GivenUp::new(aside, into))
}

/// What has a backup: no folder.
fn stands(folder: &File, name: &OsStr) -> Outcome<Option<Meta>> {
    match names::metadata(folder, name) {
        Err(Errno::ENOENT) => Ok(None),
        found => found.map(|meta| Some(meta).filter(|meta| meta.kind != FileKind::Folder)),
    }
}

/// A tree is put on stable storage at its end, with its backups: they lie on its file system.
fn made_durable(shared: &Shared<'_>, to: Option<&File>) -> Outcome<()> {
    let sync = shared.settings.options.sync;
    let is_due = sync == Sync::Each || (sync == Sync::End && !shared.settings.has_trees);
    match to.filter(|_| is_due) {
        Some(to) => {
            let to = names::open_folder(to, OsStr::new("."))?;
            to.sync_all().map_err(|error| Errno::of(&error))
        }
        None => Ok(()),
    }
}

/// Whether a name at the target is a backup, or the folder of backups: nobody removes it for want of a source.
pub(crate) fn is_kept(
    shared: &Shared<'_>,
    root: &Root,
    folder: &File,
    (name, kind): (&OsStr, FileKind),
) -> bool {
    let Some(backup) = &shared.settings.options.backup else { return false };
    match kind {
        FileKind::Folder if backup.folder.is_some() => {
            names::metadata(folder, name).is_ok_and(|there| root.backups.is(&shared.settings, id(&there)))
        }
        FileKind::Folder => false,
        _ => backup.is_beside(name),
    }
}

/// A folder of the source cannot be copied to where the backups are.
pub(crate) fn refuse_mixed(shared: &Shared<'_>, root: &Root, target: &FolderSide) -> Result<(), Problem> {
    if shared.settings.options.backup.is_none() || !root.backups.is(&shared.settings, id(&target.meta)) {
        return Ok(());
    }
    let path = target.path();
    let words =
        format!("is the folder of backups: '{}' of the source is left out", shown_path(&target.relative()));
    Err(Problem::new(Class::Refused, Operation::BackUp, &path, words))
}
