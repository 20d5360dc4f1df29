//! The folder in which a tree's backups lie, if they do not lie beside their files.
//!
//! Must not know: what has a backup, how backups are called.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use datapump_engine::Errno;

use crate::problem::{Class, Operation, Problem, shown_path};
use crate::run::settings::Settings;
use crate::setup::options::Backup;
use crate::tree::folder::side::FolderSide;
use datapump_files::commit::backup_folders::{BackupFolders, Originals};
use datapump_files::commit::final_name;
use datapump_files::disk::names::NameAt;
use datapump_files::disk::{
    Folder, Meta, Outcome, PathAt, UpStep, file_meta, names, path_of, project_of_files, way_up,
};
use datapump_files::identity::{FileId, id};

/// Where the backups of a tree go, if they do not lie beside their files.
#[derive(Debug, Default)]
pub(crate) struct BackupPlace {
    /// The folder that the user named as the target, and the way from there to the tree's root.
    base: Option<(Arc<File>, PathBuf)>,
    /// The folder of backups, once it is there.
    open: Mutex<Option<Arc<File>>>,
    /// Held while folders in it are made.
    making: Mutex<()>,
    /// The project (quota) that is handed down to what is made in it.
    project: Option<u32>,
    way_down: WayDown,
}

/// How the folder of backups is reached, as it was when the tree was started: its folders, each by its name in the one
/// above, and the names of those that are to be made. A source that took one of these names would lead backups to
/// where it leads.
#[derive(Debug, Default)]
struct WayDown {
    folders: Vec<UpStep>,
    missing: Vec<OsString>,
}

impl WayDown {
    fn find(backup: &Backup, base: &File, is_confined: bool) -> WayDown {
        let Some(folder) = &backup.folder else { return WayDown::default() };
        let found = folder.ancestors().find_map(|above| {
            // An absolute path stays what it is.
            let part = Backup { folder: Some(Path::new(".").join(above)), ..backup.clone() };
            Some((above, Arc::new(part.open(base, false, is_confined).ok()??)))
        });
        let Some((above, existing)) = found else { return WayDown::default() };
        let missing = folder.strip_prefix(above).into_iter().flat_map(Path::iter);
        let missing = missing.map(OsStr::to_owned).collect();
        WayDown { folders: way_up(&existing), missing }
    }

    /// Whether a name of this folder is on the way, or the existing entry that it finds.
    fn has(&self, (folder, name): (FileId, &OsStr), existing: Option<FileId>) -> bool {
        let is = |step: &UpStep, id: FileId| step.id == id;
        let steps = self.folders.iter().zip(self.folders.iter().skip(1));
        let mut named = steps.map(|(step, above)| is(above, folder) && step.name.as_deref() == Some(name));
        named.any(|is_named| is_named)
            || existing.is_some_and(|existing| self.folders.iter().any(|step| is(step, existing)))
            || self.is_first_missing(folder, name)
    }

    fn is_first_missing(&self, folder: FileId, name: &OsStr) -> bool {
        let last = self.folders.first().is_some_and(|step| step.id == folder);
        last && self.missing.first().is_some_and(|first| first == name)
    }
}

impl BackupPlace {
    /// That of a tree which goes to this place.
    ///
    /// Errors: the folder of backups cannot be opened.
    pub(crate) fn new(settings: &Settings<'_>, at: &PathAt) -> Result<BackupPlace, Problem> {
        let Some(Backup { folder: Some(folder), .. }) = &settings.options.backup else {
            return Ok(BackupPlace::default());
        };
        let Ok(Folder::Os(base)) = at.folder() else { return Ok(BackupPlace::default()) };
        let base = (Arc::clone(base), PathBuf::from(at.name().unwrap_or_default()));
        let project = project_below(&base.0, folder);
        let way_down = settings
            .options
            .backup
            .as_ref()
            .map(|backup| WayDown::find(backup, &base.0, settings.is_confined));
        let way_down = way_down.unwrap_or_default();
        let place = BackupPlace { base: Some(base), project, way_down, ..BackupPlace::default() };
        place.found(settings).map_err(|errno| not_kept(settings, folder, errno))?;
        Ok(place)
    }

    /// Refuses a folder of the target whose files no backup can take: link(2), rename(2) and EXDEV. The root was compared
    /// before anything was written.
    pub(crate) fn check_project(&self, target: &FolderSide) -> Result<(), Problem> {
        let Some(project) = self.project else { return Ok(()) };
        if project_of_files(&target.file()?.0).unwrap_or(0) == project {
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
    /// A folder may be one on the way.
    pub(crate) fn check_name(
        &self,
        target: &FolderSide,
        name: &OsStr,
        (existing, is_folder): (Option<&Meta>, bool),
    ) -> Result<(), Problem> {
        let folder = id(&target.meta);
        let is_taken = if is_folder {
            self.way_down.missing.len() == 1 && self.way_down.is_first_missing(folder, name)
        } else {
            self.way_down.has((folder, name), existing.map(id))
        };
        if !is_taken {
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
        match self.opened(settings, None) {
            Err(Errno::ENOENT) => Ok(None),
            found => found,
        }
    }

    fn opened(&self, settings: &Settings<'_>, makes: Option<Making<'_>>) -> Outcome<Option<Arc<File>>> {
        let (Some(backup), Some((base, way))) = (&settings.options.backup, &self.base) else {
            return Ok(None);
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// The folder for backups of what lies in this folder of the tree; none where they lie beside. One lane after the
    /// other: what is no folder there gets another name, which must not happen to the folder that then takes it.
    pub(crate) fn below(
        &self,
        settings: &Settings<'_>,
        (folders, target): Making<'_>,
    ) -> Outcome<Option<File>> {
        let Some((base, way)) = &self.base else { return Ok(None) };
        let Some(open) = self.opened(settings, Some((folders, target)))? else { return Ok(None) };
        let _alone = self.making.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Why there is no backup. EXDEV: link(2) does not leave a file system, and openat2(2) not a folder that is served.
fn not_kept(settings: &Settings<'_>, path: &Path, errno: Errno) -> Problem {
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

/// Why a name is not set aside. A link to what is mounted on it leaves a file system, too.
pub(crate) fn not_set_aside(
    settings: &Settings<'_>,
    (folder, name, path): (&File, &OsStr, &Path),
    errno: Errno,
) -> Problem {
    let is_refused = errno == Errno::EXDEV;
    let mounted =
        is_refused.then(|| final_name::mounted(Operation::BackUp, path, NameAt { folder, name })).flatten();
    mounted.unwrap_or_else(|| not_kept(settings, path, errno))
}
