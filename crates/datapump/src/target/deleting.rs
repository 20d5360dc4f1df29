//! With `--delete`: what is copied from, or copied to, must not lie where it would be removed.
//!
//! Must not know: how names are removed, how patterns match.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::{Item, Target, usage};
use crate::job::neighbours::target_path;
use crate::job::options::Options;
use crate::problem::{Problem, shown_path};
use crate::tree::rules::select::Select;
use datapump_files::disk::{Disk, folder_of};
use datapump_files::identity::{self, FileId};

/// With `delete`, what is copied from must not lie in what is cleaned up, nor one target in another.
pub(super) fn refuse_what_is_needed(
    disk: &Disk,
    items: &[Item],
    (options, select): (&Options, &Select),
) -> Result<(), Problem> {
    let sources = items.iter().filter_map(|item| Some((item.source.local_path()?, item.is_entry())));
    let links_to = options.link_dest.iter().map(|path| (path.as_path(), false));
    let needed: Vec<(&Path, bool)> = sources.chain(links_to).collect();
    let (lying_in, targets_in) = (LyingIn::new(disk, &needed), targets_in(items));
    for item in items {
        let Target::Tree(at) = &item.target else { continue };
        let Ok(root) = at.metadata_of_name().map(|meta| (meta.device, meta.inode)) else { continue };
        let tree = &at.path;
        for (path, below) in lying_in.folder(root) {
            if !is_spared(select, below, options.delete_excluded) {
                let path = shown_path(path);
                return Err(usage(tree, &format!("--delete would remove '{path}', which is copied from")));
            }
        }
        if targets_in.get(&**tree).is_some_and(|count| *count > 1) {
            return Err(usage(
                tree,
                "--delete here would remove what another source is copied to; copy them one by one",
            ));
        }
    }
    Ok(())
}

/// How many of the targets lie in a folder, or are it.
fn targets_in(items: &[Item]) -> HashMap<&Path, usize> {
    let mut counts = HashMap::new();
    for path in items.iter().filter_map(target_path).flat_map(Path::ancestors) {
        *counts.entry(path).or_default() += 1;
    }
    counts
}

/// Sources and the like, by the folders that they lie in: those of one command lie in the same ones.
struct LyingIn<'job> {
    folders: HashMap<FileId, Vec<(&'job Path, PathBuf)>>,
}

impl<'job> LyingIn<'job> {
    fn new(disk: &Disk, needed: &[(&'job Path, bool)]) -> LyingIn<'job> {
        let (mut ids, mut folders) = (HashMap::new(), HashMap::<_, Vec<_>>::new());
        for (path, is_entry) in needed {
            let (full, mut seen) = (full_path(path, *is_entry), HashSet::new());
            for above in full.ancestors().skip(1) {
                let id = ids.entry(above.to_path_buf());
                let id = id.or_insert_with(|| disk.metadata(above).ok().map(|meta| identity::id(&meta)));
                let (Some(id), Ok(below)) = (*id, full.strip_prefix(above)) else { continue };
                // By a bind mount a folder may stand above itself.
                if seen.insert(id) {
                    folders.entry(id).or_default().push((*path, below.to_path_buf()));
                }
            }
        }
        LyingIn { folders }
    }

    /// What lies in a folder, each with its path from there.
    fn folder(&self, id: FileId) -> &[(&'job Path, PathBuf)] {
        self.folders.get(&id).map_or(&[], Vec::as_slice)
    }
}

/// A path from the root. A link that stays one is where its name stands.
fn full_path(path: &Path, is_entry: bool) -> PathBuf {
    let found = match path.file_name().filter(|_| is_entry) {
        Some(name) => std::fs::canonicalize(folder_of(path)).map(|folder| folder.join(name)),
        None => std::fs::canonicalize(path),
    };
    found.unwrap_or_else(|_| path.to_path_buf())
}

/// Whether a folder in the target is protected, or one that it lies in: nothing in it is removed.
fn is_spared(select: &Select, below: &Path, excluded_go: bool) -> bool {
    let mut chain = below.ancestors().filter_map(|path| Some((path.parent()?, path.file_name()?)));
    chain.any(|(folder, name)| select.protects(|| folder, (name, true), excluded_go))
}
