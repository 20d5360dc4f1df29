//! The folder of backups at the start: it must not be a target or a source itself, and must take names of the target's
//! files. What lies in it, or around it, is left to where it is met: there a backup gets a number.
//!
//! Must not know: which names have backups, how backups are made.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use datapump_engine::Errno;

use crate::problem::{Class, Operation, Problem, shown_path};
use crate::setup::options::{Backup, Options};
use crate::targets::item::Item;
use datapump_files::disk::{FileKind, Outcome, PathAt, file_meta, names, origin, project_of_files, way_up};
use datapump_files::followed::FollowLinks;
use datapump_files::identity::{FileId, id};

const ITSELF: &str =
    "is the target itself; name another folder, or write --backup for backups beside their files";

/// A folder, as far as it exists, and the names in it that are to be made.
#[derive(Clone)]
struct FutureFolder {
    existing: Arc<File>,
    missing: Vec<OsString>,
}

type FuturePlace = (FileId, Vec<OsString>);

/// Where the backups of some targets go.
struct BackupGoal<'items> {
    at: &'items PathAt,
    /// The folder that is copied to, if it exists; else the one that it is made in.
    target: Arc<File>,
    backups: FutureFolder,
}

/// Refuses a folder of backups that the copy would mix up with its targets, or could not fill.
pub(crate) fn check_backup_folder(
    items: &[Item],
    options: &Options,
    is_confined: bool,
) -> Result<(), Problem> {
    let Some(Backup { folder: Some(path), .. }) = &options.backup else { return Ok(()) };
    if options.measuring.rehearsal_bytes.is_some() || (is_confined && path.is_absolute()) {
        return Ok(());
    }
    let goals = backup_goals(items, path, is_confined).map_err(|words| problem(path, words))?;
    let targets: HashSet<FuturePlace> =
        written(items).flat_map(|(item, at)| target_places(at, item.is_tree())).collect();
    for goal in &goals {
        let key = goal.backups.key();
        if key.as_ref().is_some_and(|key| targets.contains(key)) {
            return Err(problem(path, ITSELF));
        }
        let is_it =
            |item: &&Item| item.meta.is_some_and(|meta| key.as_ref() == Some(&(id(&meta), Vec::new())));
        if let Some(source) = local_trees(items).find(is_it) {
            return Err(problem(path, &format!("is the source '{}'; name a folder outside", source.source)));
        }
        goal.check_file_system(path)?;
    }
    Ok(())
}

/// Whether a backup may replace the one before it. That one may be content of a source that is still to be read: where
/// links are followed, which may lead to it, and where a tree lies in the folder of backups, or that in a tree.
pub(crate) fn may_replace(items: &[Item], options: &Options, is_confined: bool) -> bool {
    let Some(backup) = options.backup.as_ref().filter(|_| options.links.follow == FollowLinks::Never) else {
        return false;
    };
    let goals =
        backup.folder.as_deref().map(|path| backup_goals(items, path, is_confined).unwrap_or_default());
    let backups: HashSet<FileId> = goals.iter().flatten().filter_map(|goal| goal.backups.own_id()).collect();
    let around: HashSet<FileId> = goals.iter().flatten().flat_map(|goal| goal.backups.ids_above()).collect();
    !local_trees(items).any(|item| {
        let source = item.source.local_path().and_then(|path| names::find_folder(path).ok());
        let above = source.map(|source| way_up(&Arc::new(source))).unwrap_or_default();
        above.iter().any(|step| backups.contains(&step.id))
            || above.first().is_some_and(|own| around.contains(&own.id))
    })
}

fn local_trees(items: &[Item]) -> impl Iterator<Item = &Item> {
    items.iter().filter(|item| item.is_tree() && item.source.local_path().is_some())
}

/// What has backups, and where it goes.
fn written(items: &[Item]) -> impl Iterator<Item = (&Item, &PathAt)> {
    let copied = items.iter().filter(|item| !item.is_left_out);
    copied.filter_map(|item| Some((item, item.target.place()?)))
}

/// The folders of backups, one for each folder that targets lie in. Errors: words about what is no folder.
fn backup_goals<'items>(
    items: &'items [Item],
    path: &Path,
    is_confined: bool,
) -> Result<Vec<BackupGoal<'items>>, &'static str> {
    let (mut seen, mut goals) = (HashSet::new(), Vec::new());
    for (item, at) in written(items) {
        // A dry run would make what is missing.
        let Some((folder, missing)) = at.known_folder() else { continue };
        let base = FutureFolder { existing: Arc::clone(folder), missing: missing.to_vec() };
        let root = at.name().filter(|_| item.is_tree() && base.missing.is_empty());
        let root = root.and_then(|name| names::open_folder(&base.existing, name).ok()).map(Arc::new);
        let target = root.unwrap_or_else(|| Arc::clone(&base.existing));
        let Some(key) = base.key().zip(file_meta(&target).ok().map(|meta| id(&meta))) else { continue };
        if !seen.insert(key) {
            continue;
        }
        if let Some(backups) = base.folder_below(path, is_confined)? {
            goals.push(BackupGoal { at, target, backups });
        }
    }
    Ok(goals)
}

/// The places of a target, none of which may be the folder of backups: itself, and the folder of its name.
fn target_places(at: &PathAt, is_tree: bool) -> Vec<FuturePlace> {
    let Some((folder, missing)) = at.known_folder() else { return Vec::new() };
    let base = FutureFolder { existing: Arc::clone(folder), missing: missing.to_vec() };
    let own = at.name().map(|name| {
        let root =
            names::open_folder(&base.existing, name).ok().filter(|_| is_tree && base.missing.is_empty());
        root.map_or_else(
            || FutureFolder { missing: [&base.missing[..], &[name.to_owned()]].concat(), ..base.clone() },
            |root| FutureFolder { existing: Arc::new(root), missing: Vec::new() },
        )
    });
    own.iter().chain([&base]).filter_map(FutureFolder::key).collect()
}

impl BackupGoal<'_> {
    /// Refuses a folder of backups on another mount or in another project than the target: link(2) and rename(2) do not
    /// leave these.
    fn check_file_system(&self, path: &Path) -> Result<(), Problem> {
        let device = |folder: &File| file_meta(folder).map(|meta| meta.device);
        let (Ok(there), Ok(here)) = (device(&self.backups.existing), device(&self.target)) else {
            return Ok(());
        };
        let mounts = [origin(&self.backups.existing).1, origin(&self.target).1];
        let is_mounted_apart = !mounts.contains(&0) && mounts[0] != mounts[1];
        let shown = shown_path(&self.at.path);
        if there != here || is_mounted_apart {
            let words = format!(
                "is not on the file system of the target '{shown}', which backups do not leave; name a folder on that one"
            );
            return Err(problem(path, &words));
        }
        let takes = project_of_files(&self.backups.existing);
        if takes.is_none_or(|takes| takes == project_of_files(&self.target).unwrap_or(0)) {
            return Ok(());
        }
        let words = format!(
            "is in another project (quota) than the target '{shown}', and the file system links no files between \
             projects; name a folder of the project of the target"
        );
        Err(problem(path, &words))
    }
}

impl FutureFolder {
    fn key(&self) -> Option<FuturePlace> {
        file_meta(&self.existing).ok().map(|meta| (id(&meta), self.missing.clone()))
    }

    /// Its own numbers, if it exists.
    fn own_id(&self) -> Option<FileId> {
        self.key().filter(|(_, missing)| missing.is_empty()).map(|(own, _)| own)
    }

    fn ids_above(&self) -> Vec<FileId> {
        way_up(&self.existing).into_iter().map(|step| step.id).collect()
    }

    /// The folder at a path from here; nothing where that cannot be told.
    fn folder_below(&self, path: &Path, is_confined: bool) -> Result<Option<FutureFolder>, &'static str> {
        let path = path_behind(&self.missing, path);
        for above in path.ancestors() {
            let existing = match open(&self.existing, above, is_confined) {
                Ok(existing) => existing,
                Err(Errno::ENOENT) => continue,
                Err(Errno::ENOTDIR) => return Err("is not a directory; name another one, or remove it"),
                Err(_) => return Ok(None),
            };
            let missing = path.strip_prefix(above).unwrap_or(Path::new(""));
            let missing: Vec<OsString> = missing.iter().map(OsStr::to_owned).collect();
            let first = missing.first().and_then(|name| names::metadata(&existing, name).ok());
            return match first {
                Some(link) if link.kind == FileKind::Symlink => {
                    Err("is a symbolic link to nothing; create what it points to, or remove it")
                }
                _ => Ok(Some(FutureFolder { existing, missing })),
            };
        }
        Ok(None)
    }
}

fn open(base: &Arc<File>, path: &Path, is_confined: bool) -> Outcome<Arc<File>> {
    match path {
        _ if path.as_os_str() == OsStr::new("") => Ok(Arc::clone(base)),
        _ if is_confined => names::find_beneath(base, path).map(Arc::new),
        _ => names::find_folder_from(base, path).map(Arc::new),
    }
}

fn problem(path: &Path, words: &str) -> Problem {
    Problem::new(Class::Usage, Operation::BackUp, path, format!("--backup-dir {words}"))
}

/// The path from an existing folder, behind folders that will be made in it: in these is no link yet, and `..` takes
/// back a name.
pub(crate) fn path_behind(missing: &[OsString], path: &Path) -> PathBuf {
    let (mut way, mut parts) = (missing.to_vec(), path.components());
    while !way.is_empty() && path.is_relative() {
        match parts.next() {
            Some(Component::Normal(name)) => way.push(name.to_owned()),
            Some(Component::ParentDir) => drop(way.pop()),
            Some(_) => {}
            None => break,
        }
    }
    way.iter().collect::<PathBuf>().join(parts.as_path())
}
