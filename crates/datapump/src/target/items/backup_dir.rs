//! Where a folder of backups may not lie: in what is copied, at the target itself, on another file system. And whether
//! backups may replace older ones, which they may not where a source lies in that folder.
//!
//! Must not know: which names have backups (`given_up`), how backups are made.

use std::collections::{HashMap, HashSet};
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
    FileKind, FoldersAbove, Meta, Outcome, PathAt, WayStep, file_meta, metadata_of_name, names, origin,
    project_of_files, way, way_up,
};
use datapump_files::followed::FollowLinks;
use datapump_files::identity::{FileId, id};

/// The trees that are read on this host, by device and inode.
type LocalTrees<'items> = HashMap<FileId, Vec<(&'items Item, Meta)>>;

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
    let trees = local_trees(items);
    let (mut seen, mut looked_at) = (HashSet::new(), HashSet::new());
    for (item, at) in written(items) {
        let Some(goal) = BackupGoal::of(at, item.is_tree()) else { continue };
        let key = file_meta(&goal.base.stands).ok().zip(file_meta(&goal.folder).ok());
        let Some(key) = key.map(|(base, folder)| (id(&base), id(&folder))) else { continue };
        if !seen.insert(key) {
            continue;
        }
        let found = goal.base.below(path, hosts.is_confined).map_err(|words| refused(path, words))?;
        let Some(found) = found else { continue };
        goal.refuse_itself(&found, options)?;
        // Each tree has a target of its own, and most often they have one folder of backups.
        if file_meta(&found.stands).is_ok_and(|meta| looked_at.insert((id(&meta), found.missing.clone()))) {
            found.refuse_in_sources(&trees, (options, select))?;
        }
        found.refuse_going_back(path)?;
        goal.refuse_elsewhere(&found, (path, at))?;
    }
    Ok(())
}

/// Whether a backup may replace the one before it. That one may be content of a source that is still to be read: where
/// links are followed, which may lead to it, and where a tree lies in the folder of backups.
pub(crate) fn may_replace(items: &[Item], options: &Options, is_confined: bool) -> bool {
    let Some(backup) = options.backup.as_ref().filter(|_| options.follow == FollowLinks::Never) else {
        return false;
    };
    let folders = backup.folder.as_deref().map(|path| backup_folders(items, path, is_confined));
    let Some(folders) = folders.filter(|folders| !folders.is_empty()) else { return true };
    let lies_in_one = |(item, _): &(&Item, Meta)| {
        let source = item.source.local_path().and_then(|path| names::find_folder(path).ok());
        source.is_some_and(|source| way_up(&Arc::new(source)).iter().any(|step| folders.contains(&step.id)))
    };
    !local_trees(items).values().flatten().any(lies_in_one)
}

/// The folders of backups that stand there.
fn backup_folders(items: &[Item], path: &Path, is_confined: bool) -> HashSet<FileId> {
    let mut seen = HashSet::new();
    let stands = |(_, at): (&Item, &PathAt)| {
        let base = BackupGoal::of(at, false)?.base;
        let is_new = seen.insert((id(&file_meta(&base.stands).ok()?), base.missing.clone()));
        let found = is_new.then(|| base.below(path, is_confined).ok()).flatten().flatten()?;
        found.missing.is_empty().then(|| file_meta(&found.stands).ok()).flatten().map(|meta| id(&meta))
    };
    written(items).filter_map(stands).collect()
}

fn local_trees(items: &[Item]) -> LocalTrees<'_> {
    let mut trees = LocalTrees::new();
    for item in items.iter().filter(|item| item.is_tree() && item.source.local_path().is_some()) {
        if let Some(meta) = item.meta {
            trees.entry(id(&meta)).or_default().push((item, meta));
        }
    }
    trees
}

/// What has backups, and where it goes.
fn written(items: &[Item]) -> impl Iterator<Item = (&Item, &PathAt)> {
    let copied = items.iter().filter(|item| !item.is_left_out);
    copied.filter_map(|item| match &item.target {
        Target::File(at) | Target::Entry(at) | Target::Tree(at) => Some((item, at)),
        _ => None,
    })
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
        // A dry run would make what is missing.
        let (folder, missing) = at.known_folder()?;
        let base = BackupFolder { stands: Arc::clone(folder), missing: missing.to_vec(), goes_back: false };
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
            return self.refuse_other_project(found, (path, at));
        }
        let words = format!(
            "is not on the file system of the target '{}', which backups do not leave; name a folder on that one",
            shown_path(&at.path)
        );
        Err(refused(path, &words))
    }

    /// A folder that hands down its project takes no file of another one: link(2), rename(2) and EXDEV.
    fn refuse_other_project(
        &self,
        found: &BackupFolder,
        (path, at): (&Path, &PathAt),
    ) -> Result<(), Problem> {
        let takes = project_of_files(&found.stands);
        if takes.is_none_or(|takes| takes == project_of_files(&self.folder).unwrap_or(0)) {
            return Ok(());
        }
        let words = format!(
            "is in another project (quota) than the target '{}', and the file system links no files between projects; \
             name a folder of the project of the target",
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
                    return Err("is not a directory; name another one, or remove it");
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
                    Err("is a symbolic link to nothing; create what it points to, or remove it")
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
    fn refuse_in_sources(&self, trees: &LocalTrees<'_>, job: (&Options, &Select)) -> Result<(), Problem> {
        let Some(Backup { folder: Some(path), .. }) = &job.0.backup else { return Ok(()) };
        let Ok(at) = PathAt::find_beneath(&self.stands, Path::new(".")) else { return Ok(()) };
        // Of many sources those above it are found at once.
        let above = FoldersAbove::from_path_at(&at);
        let mut around = above.ids().filter_map(|folder| trees.get(&folder)).flatten();
        match around.find(|(item, source)| self.is_copied_by((source, &item.patterns_above), &at, job)) {
            None => Ok(()),
            Some((item, _)) => {
                let words = format!(
                    "is the source '{}' or lies in it; name a folder outside, or --exclude it",
                    item.source
                );
                Err(refused(path, &words))
            }
        }
    }

    /// Whether a copy of this folder deals with the folder of backups, of which `at` stands.
    fn is_copied_by(
        &self,
        (source, patterns_above): (&Meta, &Path),
        at: &PathAt,
        (options, select): (&Options, &Select),
    ) -> bool {
        let Some(mut steps) = way((source.device, source.inode), at) else { return false };
        let device = steps.last().map_or(source.device, |step| step.device);
        steps.extend(self.missing.iter().map(|name| WayStep { name: name.clone(), device }));
        let is_passed = |step: &WayStep| !options.one_file_system || step.device == source.device;
        steps.iter().all(is_passed) && is_dealt_with((select, patterns_above), &steps, true)
    }
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
