//! Folders below the sources of a job that its targets show by a mount, known before anything is written: a folder may
//! be written to by one name long before it is walked by the other.
//!
//! The kernel lists which folder of which file system is mounted where, so that no tree is walked for this: two mounts
//! show one folder where the one's place in a file system lies in the other's. A mount may be covered by another, and
//! rules of the copy may leave the folder out: it counts if it is found at both paths, with the same numbers.
//!
//! Must not know: how trees are walked, what is refused.

use std::path::{Path, PathBuf};

use super::GuardRules;
use crate::target::{Item, Target};
use crate::tree::rules::source_folder::{Descent, RuledFolder};
use datapump_files::disk::{self, Folder, MountEntry, metadata_of_name, names};
use datapump_files::identity::{FileId, id};

/// A folder of a file system, and the path that shows it.
#[derive(Debug)]
struct View<'mounts> {
    device: &'mounts str,
    folder: PathBuf,
    path: PathBuf,
}

/// A source or target: its own view, and those of what is mounted below it.
#[derive(Debug)]
struct Views<'mounts> {
    root: View<'mounts>,
    below: Vec<View<'mounts>>,
}

impl<'mounts> Views<'mounts> {
    /// The views of a folder, but for what lies in the folders `without`.
    fn new(mounts: &'mounts [MountEntry], path: PathBuf, without: &[PathBuf]) -> Option<Views<'mounts>> {
        let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
        let mount = above.max_by_key(|mount| mount.point.as_os_str().len())?;
        let folder = mount.root.join(path.strip_prefix(&mount.point).ok()?);
        let is_below = |mount: &&MountEntry| {
            let is_without = without.iter().any(|without| mount.point.starts_with(without));
            mount.point != path && mount.point.starts_with(&path) && !is_without
        };
        let view = |mount: &'mounts MountEntry| View {
            device: &mount.device,
            folder: mount.root.clone(),
            path: mount.point.clone(),
        };
        let below = mounts.iter().filter(is_below).map(view).collect();
        Some(Views { root: View { device: &mount.device, folder, path }, below })
    }

    fn all(&self) -> impl Iterator<Item = &View<'mounts>> {
        std::iter::once(&self.root).chain(&self.below)
    }
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
pub(super) fn in_targets(items: &[Item], rules: GuardRules<'_>) -> Vec<FileId> {
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
    let without = &targets[..];
    let from =
        sources.into_iter().filter_map(|(item, path)| Some((item, Views::new(&mounts, path, without)?)));
    let from: Vec<(&Item, Views<'_>)> = from.collect();
    let to: Vec<Views<'_>> =
        targets.iter().filter_map(|path| Views::new(&mounts, path.clone(), &[])).collect();
    let with_mounts: Vec<&(&Item, Views<'_>)> =
        from.iter().filter(|(_, source)| !source.below.is_empty()).collect();
    let mut found = Vec::new();
    for target in &to {
        // Without a mount below either there is nothing to compare.
        let sources: Vec<_> =
            if target.below.is_empty() { with_mounts.clone() } else { from.iter().collect() };
        for (item, source) in sources {
            let views = target.all().flat_map(|shown| source.all().map(move |view| (view, shown)));
            let both = views.filter_map(|(view, shown)| paths(view, shown, &target.root));
            let roots = (&*source.root.path, &*target.root.path);
            found.extend(both.filter_map(|both| shown_id(item, roots, both, rules)));
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
fn paths(source: &View<'_>, shown: &View<'_>, target_root: &View<'_>) -> Option<(PathBuf, PathBuf)> {
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
    (source, target): (&Path, &Path),
    (from, to): (PathBuf, PathBuf),
    rules: GuardRules<'_>,
) -> Option<FileId> {
    let below = from.strip_prefix(source).ok()?;
    if to.strip_prefix(target).is_ok_and(|to| to == below) {
        return None;
    }
    let shown = id(&metadata_of_name(&to).ok()?);
    let ruled = RuledFolder::root(
        names::find_folder(source).ok()?,
        &item.patterns_above,
        (rules.options, rules.select),
    )
    .ok()?;
    let Descent::Found(meta, above) = ruled.descend(below.iter()) else { return None };
    (id(&meta) == shown && !above.is_left_alone(&meta)).then_some(shown)
}
