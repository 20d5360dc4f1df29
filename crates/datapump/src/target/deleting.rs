//! With `--delete`: what is copied to, or linked to, must not lie where it would be removed.
//!
//! Must not know: how names are removed, how patterns match.

use std::path::Path;

use super::within::in_trees::{InTree, TreeTargets, is_spared, places_of};
use super::{Item, Target, usage};
use crate::job::options::Options;
use crate::problem::{Problem, shown_path};
use crate::tree::rules::select::Select;
use datapump_files::disk::{Disk, PathAt};

/// With `delete`, no target may lie in another one, nor may what `link_dest` names, which is copied from as well, nor
/// what is written beside the copy.
pub(super) fn refuse_what_is_needed(
    disk: &Disk,
    items: &[Item],
    (options, select): (&Options, &Select),
) -> Result<(), Problem> {
    if !options.delete || !matches!(disk, Disk::Os) {
        return Ok(());
    }
    let trees = TreeTargets::new(items);
    refuse_own_files(&trees, (options, select))?;
    for path in &options.link_dest {
        // The target itself stays.
        let stays = |inside: &InTree<'_>| {
            let rules = (select, &*inside.tree.patterns_above);
            let spared = |below| is_spared(rules, (below, true), options.delete_excluded);
            inside.below.as_deref().is_some_and(|below| below.as_os_str().is_empty() || spared(below))
        };
        let mut found = places_of(path, false).into_iter().flat_map(|at| trees.holding(&at));
        if let Some(inside) = found.find(|inside| !stays(inside)) {
            let words = format!("--delete would remove '{}', which is copied from", shown_path(path));
            return Err(usage(inside.tree.target.path().unwrap_or(path), &words));
        }
    }
    let others = items.iter().filter_map(|item| Some((item, place(&item.target)?)));
    for (item, at) in others {
        if let Some(inside) = trees.holding(at).iter().find(|inside| inside.tree.number != item.number) {
            return Err(usage(
                inside.tree.target.path().unwrap_or(&at.path),
                "--delete here would remove what another source is copied to; copy them one by one",
            ));
        }
    }
    Ok(())
}

/// A log that is removed, or written over by what has its name in the source, says nothing.
fn refuse_own_files(trees: &TreeTargets<'_>, (options, select): (&Options, &Select)) -> Result<(), Problem> {
    for path in &options.own_files {
        let is_lost = |inside: &InTree<'_>| {
            let rules = (select, &*inside.tree.patterns_above);
            !inside
                .below
                .as_deref()
                .is_some_and(|below| is_spared(rules, (below, false), options.delete_excluded))
        };
        let mut found = places_of(path, false).into_iter().flat_map(|at| trees.holding(&at));
        if let Some(inside) = found.find(is_lost) {
            let path = shown_path(path);
            let words = format!(
                "--delete would remove '{path}', which is written beside the copy; name a file outside, or exclude it"
            );
            return Err(usage(inside.tree.target.path().unwrap_or(Path::new("")), &words));
        }
    }
    Ok(())
}

fn place(target: &Target) -> Option<&PathAt> {
    match target {
        Target::File(at) | Target::Tree(at) | Target::Entry(at) => Some(at),
        _ => None,
    }
}
