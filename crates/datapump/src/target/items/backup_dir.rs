//! Where a folder of backups may not lie: in what is copied, at the target itself, on another file system.
//!
//! Must not know: which names have backups (`given_up`), how backups are made.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use datapump_engine::Errno;

use super::within::is_dealt_with;
use super::{Hosts, Item, Target};
use crate::job::options::{Backup, Options};
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::tree::rules::select::Select;
use datapump_files::disk::{
    FileKind, Folder, Meta, Outcome, PathAt, WayStep, file_meta, folder_of, metadata_of_name, names, origin,
    way,
};
use datapump_files::identity::id;

/// The folder of backups, as far as it stands, and the names in it that are to be made.
struct BackupFolder {
    stands: Arc<File>,
    missing: Vec<OsString>,
    /// What the user wrote goes back by `..` from a name that is missing.
    goes_back: bool,
}

/// Where a target goes.
struct BackupGoal {
    /// The folder that a relative folder of backups begins in, and the names down to it that are to be made.
    base: BackupFolder,
    /// The folder that is copied to, if it stands; else the one that it is made in.
    folder: Arc<File>,
}

/// Refuses a folder of backups that the copy would read, mix up with its target, or not be able to fill.
pub(super) fn refuse_misplaced(
    hosts: &Hosts<'_>,
    items: &[Item],
    (options, select): (&Options, &Select),
) -> Result<(), Problem> {
    let Some(Backup { folder: Some(path), .. }) = &options.backup else { return Ok(()) };
    if options.rehearsal_bytes.is_some() || (hosts.is_confined && path.is_absolute()) {
        return Ok(());
    }
    refuse_target_names(items, path, (options, select))?;
    let mut seen = Vec::new();
    for item in items.iter().filter(|item| !item.is_left_out) {
        let (Target::File(at) | Target::Entry(at) | Target::Tree(at)) = &item.target else { continue };
        let Some(goal) = BackupGoal::of(at, item.is_tree()) else { continue };
        let key = file_meta(&goal.base.stands).ok().zip(file_meta(&goal.folder).ok());
        let Some(key) = key.map(|(base, folder)| (id(&base), id(&folder))) else { continue };
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let found = goal.base.below(path, hosts.is_confined).map_err(|words| refused(path, words))?;
        let Some(found) = found else { continue };
        goal.refuse_itself(&found, options)?;
        found.refuse_in_sources(items, (options, select))?;
        found.refuse_going_back(path)?;
        goal.refuse_elsewhere(&found, (path, at))?;
    }
    Ok(())
}

/// A relative folder of backups begins where the targets lie: none of them may have its name, or that of one above it.
fn refuse_target_names(
    items: &[Item],
    path: &Path,
    (options, select): (&Options, &Select),
) -> Result<(), Problem> {
    let mut parts = path.components().filter(|part| *part != Component::CurDir);
    let Some(Component::Normal(first)) = parts.next() else { return Ok(()) };
    let is_whole = parts.next().is_none();
    for item in items.iter().filter(|item| !item.is_left_out) {
        let (Target::File(at) | Target::Entry(at) | Target::Tree(at)) = &item.target else { continue };
        match at.name() {
            Some(name) if name == first && is_whole => return Err(refused(path, &itself(options))),
            Some(name) if name == first => {
                let words = format!("lies in the target '{}'; name a folder outside", shown_path(&at.path));
                return Err(refused(path, &words));
            }
            None if item.is_tree() && has_at_top(item, first, select) => {
                return Err(refused(path, "has a name of the source; name another folder"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a source on this host has this name to copy; of another host that is asked when its tree begins.
fn has_at_top(item: &Item, name: &OsStr, select: &Select) -> bool {
    let there = item.source.local_path().and_then(|source| metadata_of_name(&source.join(name)).ok());
    there.is_some_and(|there| select.takes_top(&item.patterns_above, name, there.kind == FileKind::Folder))
}

/// What to write instead of the target itself.
fn itself(options: &Options) -> String {
    let suffix = options.backup.iter().map(|backup| String::from_utf8_lossy(&backup.suffix));
    let flags: String =
        suffix.filter(|suffix| !suffix.is_empty()).map(|suffix| format!(" --suffix={suffix}")).collect();
    format!(
        "is the target itself; name another folder, or write --backup{flags} for backups beside their files"
    )
}

/// The folder that the backup of what stands in this one goes to, if it is there.
pub(super) fn whole(backup: &Backup, folder: &Arc<File>, is_confined: bool) -> Option<Arc<File>> {
    match backup.folder {
        None => Some(Arc::clone(folder)),
        Some(_) => backup.open(folder, false, is_confined).ok().flatten().map(Arc::new),
    }
}

impl BackupGoal {
    fn of(at: &PathAt, is_tree: bool) -> Option<BackupGoal> {
        let base = match at.folder() {
            Ok(Folder::Os(folder)) => {
                BackupFolder { stands: Arc::clone(folder), missing: Vec::new(), goes_back: false }
            }
            Ok(Folder::Sim(_)) => return None,
            // A dry run would make it.
            Err(_) => promised(at)?,
        };
        let root = at.name().filter(|_| is_tree && base.missing.is_empty());
        let root = root.and_then(|name| names::open_folder(&base.stands, name).ok());
        let folder = root.map_or_else(|| Arc::clone(&base.stands), Arc::new);
        Some(BackupGoal { base, folder })
    }

    fn refuse_itself(&self, found: &BackupFolder, options: &Options) -> Result<(), Problem> {
        let Some(Backup { folder: Some(path), .. }) = &options.backup else { return Ok(()) };
        let targets = [&self.base.stands, &self.folder].map(|folder| file_meta(folder).ok());
        let own = file_meta(&found.stands).ok();
        let is_one = targets.iter().flatten().any(|target| own.is_some_and(|own| id(&own) == id(target)));
        if !is_one || found.missing != self.base.missing {
            return Ok(());
        }
        Err(refused(path, &itself(options)))
    }

    /// A backup is another name of the old file (or has its name), which link(2) and rename(2) give on one mount alone.
    fn refuse_elsewhere(&self, found: &BackupFolder, (path, at): (&Path, &PathAt)) -> Result<(), Problem> {
        let device = |folder: &File| file_meta(folder).map(|meta| meta.device);
        let (Ok(there), Ok(here)) = (device(&found.stands), device(&self.folder)) else { return Ok(()) };
        let (there_mount, here_mount) = (origin(&found.stands).1, origin(&self.folder).1);
        let is_mounted_apart = there_mount != 0 && here_mount != 0 && there_mount != here_mount;
        if there == here && !is_mounted_apart {
            return Ok(());
        }
        let words = format!(
            "is not on the file system of the target '{}', which backups do not leave; name a folder on that one",
            shown_path(&at.path)
        );
        Err(refused(path, &words))
    }
}

impl BackupFolder {
    /// What a path from here is; nothing where that cannot be told.
    ///
    /// Errors: words about what is no folder.
    fn below(&self, path: &Path, is_confined: bool) -> Result<Option<BackupFolder>, &'static str> {
        let base = if path.is_absolute() { 0 } else { self.missing.len() };
        let path = self.missing.iter().collect::<PathBuf>().join(path);
        for above in path.ancestors() {
            let stands = match open(&self.stands, above, is_confined) {
                Ok(stands) => stands,
                Err(Errno::ENOENT) => continue,
                Err(Errno::ENOTDIR) => {
                    return Err("is no folder; name another one, or remove what stands there");
                }
                Err(_) => return Ok(None),
            };
            let Ok(rest) = path.strip_prefix(above) else { return Ok(None) };
            let Ok(mut found) = BackupFolder::normal(stands, rest) else { return Ok(None) };
            let own = rest.components().skip(base.saturating_sub(above.components().count()));
            found.goes_back =
                own.skip_while(|part| *part == Component::ParentDir).any(|part| part == Component::ParentDir);
            let first = found.missing.first().and_then(|name| names::metadata(&found.stands, name).ok());
            return match first {
                Some(there) if there.kind == FileKind::Symlink => {
                    Err("leads to nothing by a symbolic link; make what that points to, or remove it")
                }
                _ => Ok(Some(found)),
            };
        }
        Ok(None)
    }

    /// Behind what is missing there is no link yet: `..` takes back one name. The names that are left do not stand.
    fn normal(mut stands: Arc<File>, rest: &Path) -> Outcome<BackupFolder> {
        let mut missing: Vec<OsString> = Vec::new();
        for part in rest.components() {
            match part {
                Component::Normal(name) => missing.push(name.to_owned()),
                Component::ParentDir if missing.pop().is_none() => {
                    stands = Arc::new(names::find_folder_from(&stands, Path::new(".."))?);
                }
                _ => {}
            }
        }
        // What a name leads back to may be there.
        while let Some(next) =
            missing.first().and_then(|name| names::find_folder_from(&stands, name.as_ref()).ok())
        {
            stands = Arc::new(next);
            missing.remove(0);
        }
        Ok(BackupFolder { stands, missing, goes_back: false })
    }

    /// The name in front of `..` would be made for nothing, and whether it stands there is another question each time.
    fn refuse_going_back(&self, path: &Path) -> Result<(), Problem> {
        match self.goes_back {
            true => {
                Err(refused(path, "goes back by '..' from a name that is not there; write it without both"))
            }
            false => Ok(()),
        }
    }

    /// Backups in a source would be copied, or take the place of what is.
    fn refuse_in_sources(&self, items: &[Item], job: (&Options, &Select)) -> Result<(), Problem> {
        let Some(Backup { folder: Some(path), .. }) = &job.0.backup else { return Ok(()) };
        for item in items.iter().filter(|item| item.is_tree()) {
            let Some(source) = item.meta.filter(|_| item.source.local_path().is_some()) else { continue };
            if self.is_copied_by((&source, &item.patterns_above), job) {
                let words = format!(
                    "is the source '{}' or lies in it; name a folder outside, or --exclude it",
                    item.source
                );
                return Err(refused(path, &words));
            }
        }
        Ok(())
    }

    /// Whether a copy of this folder deals with the folder of backups.
    fn is_copied_by(
        &self,
        (source, patterns_above): (&Meta, &Path),
        (options, select): (&Options, &Select),
    ) -> bool {
        let Ok(at) = PathAt::find_beneath(&self.stands, Path::new(".")) else { return false };
        let Some(mut steps) = way((source.device, source.inode), &at) else { return false };
        let device = steps.last().map_or(source.device, |step| step.device);
        steps.extend(self.missing.iter().map(|name| WayStep { name: name.clone(), device }));
        let is_passed = |step: &WayStep| !options.one_file_system || step.device == source.device;
        steps.iter().all(is_passed) && is_dealt_with((select, patterns_above), &steps, true)
    }
}

/// The folder that a run would make for a target.
fn promised(at: &PathAt) -> Option<BackupFolder> {
    let path = if at.name().is_some() { folder_of(&at.path) } else { &at.path };
    for above in path.ancestors() {
        let stands = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        if let Ok(stands) = names::find_folder(stands) {
            return BackupFolder::normal(Arc::new(stands), path.strip_prefix(above).ok()?).ok();
        }
    }
    None
}

fn open(base: &Arc<File>, path: &Path, is_confined: bool) -> Outcome<Arc<File>> {
    match is_confined {
        _ if path.as_os_str().is_empty() => Ok(Arc::clone(base)),
        true => names::find_beneath(base, path).map(Arc::new),
        false => names::find_folder_from(base, path).map(Arc::new),
    }
}

fn refused(path: &Path, words: &str) -> Problem {
    let words = format!("--backup-dir {words}");
    Problem::new(Class::Usage, Operation::BackUp, path, words)
}
