//! With `--delete`: what is copied from, or copied to, must not lie where it would be removed.
//!
//! Must not know: how names are removed, how patterns match.

use std::path::{Path, PathBuf};

use super::{Item, Target, usage};
use crate::job::neighbours::target_path;
use crate::job::options::Options;
use crate::problem::{Problem, shown_path};
use crate::tree::rules::select::Select;
use datapump_files::disk::{Disk, folder_of};

/// With `delete`, what is copied from must not lie in what is cleaned up, nor one target in another.
pub(super) fn refuse_what_is_needed(
    disk: &Disk,
    items: &[Item],
    (options, select): (&Options, &Select),
) -> Result<(), Problem> {
    let id = |path: &Path| disk.metadata(path).ok().map(|meta| (meta.device, meta.inode));
    let sources = items.iter().filter_map(|item| Some((item.source.local_path()?, item.is_entry())));
    let links_to = options.link_dest.iter().map(|path| (path.as_path(), false));
    let needed: Vec<(&Path, bool)> = sources.chain(links_to).collect();
    for (index, item) in items.iter().enumerate() {
        let Target::Tree(at) = &item.target else { continue };
        let Ok(root) = at.metadata_of_name().map(|meta| (meta.device, meta.inode)) else { continue };
        let tree = &at.path;
        for (path, is_entry) in &needed {
            let full = full_path(path, *is_entry);
            let above = full.ancestors().skip(1).find(|above| id(above) == Some(root));
            let below = above.and_then(|above| full.strip_prefix(above).ok());
            let is_spared = |below| is_spared(select, (&item.patterns_above, below), options.delete_excluded);
            if below.is_some_and(|below| !is_spared(below)) {
                let path = shown_path(path);
                return Err(usage(tree, &format!("--delete would remove '{path}', which is copied from")));
            }
        }
        let holds = |(other, item): (usize, &Item)| {
            other != index && target_path(item).is_some_and(|path| path.starts_with(tree))
        };
        if items.iter().enumerate().any(holds) {
            return Err(usage(
                tree,
                "--delete here would remove what another source is copied to; copy them one by one",
            ));
        }
    }
    Ok(())
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
fn is_spared(select: &Select, (above, below): (&Path, &Path), excluded_go: bool) -> bool {
    let mut chain = below.ancestors().filter_map(|path| Some((path.parent()?, path.file_name()?)));
    chain.any(|(folder, name)| select.protects((above, || folder), (name, true), excluded_go))
}
