//! The folder in which a tree's backups lie, if they do not lie beside their files.
//!
//! Must not know: what has a backup, how backups are called.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::Errno;

use crate::folder::side::FolderSide;
use crate::lock::StateLock;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::run::settings::Settings;
use crate::setup::options::Backup;
use datapump_files::commit::backup_folders::{BackupFolders, Originals};
use datapump_files::commit::final_name;
use datapump_files::disk::names::NameAt;
use datapump_files::disk::{
    FileKind, Folder, Meta, Outcome, PathAt, file_meta, names, path_of, project_of_files, way_up,
};
use datapump_files::identity::{FileId, id};

/// Where the backups of a tree go, if they do not lie beside their files.
#[derive(Debug, Default)]
pub(crate) struct BackupPlace {
    /// The folder that the user named as the target, and the way from there to the tree's root.
    base: Option<(Arc<File>, PathBuf)>,
    /// The folder of backups, once it is there.
    open: StateLock<Option<Arc<File>>>,
    /// Held while folders in it are made.
    making: StateLock<()>,
    /// The project (quota) that is handed down to what is made in it.
    project: Option<u32>,
    way_down: WayDown,
}

/// How the folder of backups is reached, as it was when the tree was started. A source that took one of these names would
/// lead backups to where it leads.
#[derive(Debug, Default)]
struct WayDown {
    /// Each folder, or link to one, by its name in the one above; the first is that of the folder of backups, as far as
    /// the folders above it exist.
    names: Vec<(FileId, OsString)>,
    /// The folders that exist.
    folders: Vec<FileId>,
    /// The folder of backups may be made by one more name.
    has_whole_way: bool,
}

impl WayDown {
    /// Finds the folders on the way to the folder of backups, by their names as written and as they are; the way may be missing
    /// in part.
    fn find(backup: &Backup, folder: &Path, base: &File, is_confined: bool) -> WayDown {
        let open = |part: &Path| {
            // An absolute path stays what it is.
            let part = Backup { folder: Some(Path::new(".").join(part)), ..backup.clone() };
            part.open(base, false, is_confined).ok().flatten().map(Arc::new)
        };
        let place = |part: &Path| {
            let (above, name) = (open(part.parent()?)?, part.file_name()?.to_owned());
            Some((id(&file_meta(&above).ok()?), name))
        };
        let has_whole_way = place(folder).is_some();
        let existing = folder.ancestors().find_map(open);
        let steps = existing.map(|existing| way_up(&existing)).unwrap_or_default();
        let above = steps.iter().skip(1).map(|step| step.id);
        let real = steps.iter().zip(above).filter_map(|(step, above)| Some((above, step.name.clone()?)));
        let names = folder.ancestors().filter_map(place).chain(real).collect();
        WayDown { names, folders: steps.iter().map(|step| step.id).collect(), has_whole_way }
    }

    /// Whether a name of a folder may be given to an entry of the source, seen from backups. A folder may be one on the
    /// way, unless it comes in the place of a link.
    fn spares(&self, place: (FileId, &OsStr), existing: Option<&Meta>, is_folder: bool) -> bool {
        let is = |named: &(FileId, OsString)| (named.0, &*named.1) == place;
        let is_named = self.names.iter().any(is);
        if !is_folder {
            return !is_named && existing.is_none_or(|existing| !self.folders.contains(&id(existing)));
        }
        let is_last = self.has_whole_way && self.names.first().is_some_and(is);
        let replaces = existing.is_some_and(|existing| existing.kind != FileKind::Folder);
        !(is_last || (is_named && replaces))
    }
}

impl BackupPlace {
    /// The place of backups for a tree with this target. Errors: the folder of backups cannot be opened.
    pub(crate) fn new(settings: &Settings<'_>, at: &PathAt) -> Result<BackupPlace, Problem> {
        let Some(backup @ Backup { folder: Some(folder), .. }) = &settings.options.backup else {
            return Ok(BackupPlace::default());
        };
        let Ok(Folder::Os(base)) = at.folder() else { return Ok(BackupPlace::default()) };
        let base = (Arc::clone(base), PathBuf::from(at.name().unwrap_or_default()));
        let project = project_below(&base.0, folder);
        let way_down = WayDown::find(backup, folder, &base.0, settings.is_confined);
        let place = BackupPlace { base: Some(base), project, way_down, ..BackupPlace::default() };
        place.found(settings).map_err(|errno| no_backup_problem(settings, folder, errno))?;
        Ok(place)
    }

    /// Refuses a folder of the target whose files no backup can take: link(2), rename(2) and EXDEV. The root was compared
    /// before anything was written.
    pub(crate) fn check_project(&self, target: &FolderSide) -> Result<(), Problem> {
        let Some(project) = self.project else { return Ok(()) };
        if project_of_files(&*target.file()?).unwrap_or(0) == project {
            return Ok(());
        }
        let words = "is in another project (quota) than the folder of backups, and the file system links no files \
                     between projects; exclude it, or name a --backup-dir that hands down no project";
        Err(Problem::new(Class::Refused, Operation::Enter, &target.path(), words))
    }

    /// Refuses to copy a folder of the source to where the backups are.
    pub(crate) fn check_apart(&self, settings: &Settings<'_>, target: &FolderSide) -> Result<(), Problem> {
        if settings.options.backup.is_none() || !self.is(settings, id(&target.meta)) {
            return Ok(());
        }
        let shown = shown_path(&target.relative()).to_string();
        let words = format!("is the folder of backups: '{shown}' of the source is left out");
        Err(Problem::new(Class::Refused, Operation::BackUp, &target.path(), words))
    }

    /// Refuses a name of the source that would take the place of the folder of backups, or of one on the way to it.
    pub(crate) fn check_name(
        &self,
        target: &FolderSide,
        name: &OsStr,
        existing: Option<&Meta>,
        is_folder: bool,
    ) -> Result<(), Problem> {
        if self.way_down.spares((id(&target.meta), name), existing, is_folder) {
            return Ok(());
        }
        let shown = shown_path(&target.relative().join(name)).to_string();
        let what =
            if is_folder { "the folder of backups" } else { "where the folder of backups is, or will be" };
        let words = format!("is {what}: '{shown}' of the source is left out");
        Err(Problem::new(Class::Refused, Operation::BackUp, &target.path_of(name), words))
    }

    /// The folder of backups, if it is there.
    fn found(&self, settings: &Settings<'_>) -> Outcome<Option<Arc<File>>> {
        match self.open_once(settings, None) {
            Err(Errno::ENOENT) => Ok(None),
            found => found,
        }
    }

    /// The folder of backups, opened at the first call and kept open. With `makes` a missing one is made, and noted as made by
    /// this run.
    fn open_once(&self, settings: &Settings<'_>, makes: Option<Making<'_>>) -> Outcome<Option<Arc<File>>> {
        let (Some(backup), Some((base, way))) = (&settings.options.backup, &self.base) else {
            return Ok(None);
        };
        let mut open = self.open.lock();
        if open.is_none() {
            *open = match (backup.open(base, false, settings.is_confined), makes) {
                (Err(Errno::ENOENT), Some((folders, target))) => {
                    let made = backup.open(base, true, settings.is_confined)?.map(Arc::new);
                    let root = target.ancestors().last().filter(|_| way.as_os_str().is_empty());
                    let found = root.map(|root| root.meta);
                    made.iter().for_each(|made| folders.made_root(made, base, found));
                    made
                }
                (found, _) => found?.map(Arc::new),
            };
        }
        Ok(open.clone())
    }

    /// Whether this is the folder of backups.
    pub(crate) fn is(&self, settings: &Settings<'_>, there: FileId) -> bool {
        let open = self.found(settings).ok().flatten();
        open.and_then(|open| file_meta(&open).ok()).is_some_and(|meta| id(&meta) == there)
    }

    /// Whether the folder of backups lies below a folder, or will.
    pub(crate) fn lies_below(&self, folder: FileId) -> bool {
        self.way_down.folders.contains(&folder)
    }

    /// Opens or makes the folder for backups of what lies in this folder of the tree; none where they lie beside. One
    /// lane after the other: what is no folder there gets another name, which must not happen to the folder that then
    /// takes it.
    pub(crate) fn below(
        &self,
        settings: &Settings<'_>,
        folders: &BackupFolders,
        target: &FolderSide,
    ) -> Outcome<Option<File>> {
        let Some((base, way)) = &self.base else { return Ok(None) };
        let Some(open) = self.open_once(settings, Some((folders, target)))? else { return Ok(None) };
        let _alone = self.making.lock();
        let found = |levels| target.ancestors().nth(levels).map(|side| side.meta);
        let originals = Originals { base, found: &found };
        folders.open_below(&open, &way.join(target.relative()), originals).map(Some)
    }
}

/// The project that a folder below another one hands down, or would hand down if it was made.
fn project_below(base: &File, folder: &Path) -> Option<u32> {
    let base = path_of(base)?;
    let existing = folder.ancestors().find_map(|above| names::open_path(&base.join(above)).ok());
    existing.and_then(|existing| project_of_files(&existing))
}

/// What keeps in mind the folders that are made, and the folder of the tree that they are made for.
type Making<'run> = (&'run BackupFolders, &'run FolderSide);

/// The problem of a name that has no backup. EXDEV: link(2) does not leave a file system, and openat2(2) not a folder that is
/// served.
fn no_backup_problem(settings: &Settings<'_>, path: &Path, errno: Errno) -> Problem {
    if errno == Errno::EXDEV && settings.is_confined {
        let words =
            "--backup-dir leads out of the target, or to another file system; name a folder below the target";
        return Problem::new(Class::Refused, Operation::BackUp, path, words);
    }
    if errno == Errno::EXDEV {
        // A mount or a project in the target: where that itself lies was looked at before anything was written.
        let words = "is on another file system, or in another project (quota), than --backup-dir, which backups do not \
                     leave; --exclude it, or copy it by itself with a --backup-dir there";
        return Problem::new(Class::Io, Operation::BackUp, path, words);
    }
    Problem::system(Operation::BackUp, path, errno.0)
}

/// The problem of a name that could not be set aside. EXDEV may be a mount on the name itself, which is said then.
pub(crate) fn not_set_aside(
    settings: &Settings<'_>,
    folder: &File,
    name: &OsStr,
    path: &Path,
    errno: Errno,
) -> Problem {
    let is_refused = errno == Errno::EXDEV;
    let mounted =
        is_refused.then(|| final_name::mounted(Operation::BackUp, path, NameAt { folder, name })).flatten();
    mounted.unwrap_or_else(|| no_backup_problem(settings, path, errno))
}
