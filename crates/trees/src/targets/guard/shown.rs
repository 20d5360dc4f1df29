//! Folders below the sources of a job that its targets show by a mount, known before anything is written: a folder may
//! be written to by one name long before it is walked by the other.
//!
//! The kernel lists which folder of which file system is mounted where, so that no tree is walked for this: two mounts
//! show one folder where the one's place in a file system lies in the other's. A mount may be covered by another, and
//! rules of the copy may leave the folder out: it counts if it is found at both paths, with the same numbers.
//!
//! Must not know: how trees are walked, what is refused.

use std::path::{Path, PathBuf};

use super::rules::GuardRules;
use crate::targets::item::{Item, Target};
use datapump_files::disk::{self, Folder, MountEntry, metadata_of_name};
use datapump_files::identity::{FileId, id};

/// A folder of a file system, and the path that shows it.
#[derive(Debug)]
struct View<'mounts> {
    device: &'mounts str,
    folder: PathBuf,
    path: PathBuf,
}

/// The views of a source or target, its own first, but for what lies in the folders `without`.
fn views_of<'mounts>(mounts: &'mounts [MountEntry], path: &Path, without: &[PathBuf]) -> Vec<View<'mounts>> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    let own = above.max_by_key(|mount| mount.point.as_os_str().len()).and_then(|mount| {
        let folder = mount.root.join(path.strip_prefix(&mount.point).ok()?);
        Some(View { device: &mount.device, folder, path: path.to_path_buf() })
    });
    let is_below = |mount: &&MountEntry| {
        let is_without = without.iter().any(|without| mount.point.starts_with(without));
        mount.point != path && mount.point.starts_with(path) && !is_without
    };
    let view = |mount: &'mounts MountEntry| View {
        device: &mount.device,
        folder: mount.root.clone(),
        path: mount.point.clone(),
    };
    own.into_iter().chain(mounts.iter().filter(is_below).map(view)).collect()
}

impl View<'_> {
    /// Whether a folder lies in this one, or is it.
    fn holds(&self, other: &View<'_>) -> bool {
        self.device == other.device && other.folder.starts_with(&self.folder)
    }

    /// The path that shows the folder of a view that this one holds.
    fn path_of(&self, other: &View<'_>) -> Option<PathBuf> {
        other.folder.strip_prefix(&self.folder).ok().map(|below| self.path.join(below))
    }
}

/// The folders below the sources by which targets reach what is copied from.
pub(super) fn folders_shown_in_targets(items: &[Item], rules: GuardRules<'_>) -> Vec<FileId> {
    let sources = items.iter().filter(|item| item.is_tree()).filter_map(|item| {
        let path = item.source.local_path()?.canonicalize().ok()?;
        Some((item, path))
    });
    let sources: Vec<(&Item, PathBuf)> = sources.collect();
    let targets: Vec<PathBuf> = sources.iter().filter_map(|(item, _)| target_path(item)).collect();
    if targets.is_empty() {
        return Vec::new();
    }
    let mounts = MountEntry::list("self");
    let from: Vec<_> =
        sources.iter().map(|(item, path)| (*item, views_of(&mounts, path, &targets))).collect();
    let mut found = Vec::new();
    for to in targets.iter().map(|path| views_of(&mounts, path, &[])) {
        for (item, from) in &from {
            let (Some(source), Some(target)) = (from.first(), to.first()) else { continue };
            // Without a mount below either there is nothing to compare.
            if from.len() + to.len() > 2 {
                let views = to.iter().flat_map(|shown| from.iter().map(move |view| (view, shown)));
                let both = views.filter_map(|(view, shown)| shown_paths(view, shown, target));
                found.extend(
                    both.filter_map(|(from, to)| {
                        shown_id(item, &source.path, &target.path, &from, &to, rules)
                    }),
                );
            }
        }
    }
    found
}

/// The path of a target that exists.
fn target_path(item: &Item) -> Option<PathBuf> {
    let Target::Tree(at) = &item.target else { return None };
    let Ok(Folder::Os(folder)) = at.folder() else { return None };
    let path = disk::path_of(folder)?;
    Some(at.name().map_or_else(|| path.clone(), |name| path.join(name)))
}

/// The paths in the source and in the target of the folder that both views show.
fn shown_paths(source: &View<'_>, shown: &View<'_>, target_root: &View<'_>) -> Option<(PathBuf, PathBuf)> {
    if source.holds(target_root) && target_root.holds(shown) {
        // A target that lies in the source is not copied from.
        None
    } else if source.holds(shown) {
        Some((source.path_of(shown)?, shown.path.clone()))
    } else if shown.holds(source) {
        Some((source.path.clone(), shown.path_of(source)?))
    } else {
        None
    }
}

/// The folder at both paths, if the copy deals with it in the source. Under one name on both sides it is its own copy.
fn shown_id(
    item: &Item,
    source: &Path,
    target: &Path,
    from: &Path,
    to: &Path,
    rules: GuardRules<'_>,
) -> Option<FileId> {
    let below = from.strip_prefix(source).ok()?;
    if to.strip_prefix(target).is_ok_and(|to| to == below) {
        return None;
    }
    let (shown, meta) = (id(&metadata_of_name(to).ok()?), metadata_of_name(from).ok()?);
    let is_passed = rules.options.selection.one_file_system && item.meta?.device != meta.device;
    (id(&meta) == shown && !is_passed && rules.deal_with(item, below, true)).then_some(shown)
}
