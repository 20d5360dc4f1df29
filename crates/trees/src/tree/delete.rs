//! Removes from a target what its source does not have, and folders where the source has none, once everything else
//! was copied without an error; a file that only grew is copied as far as it was.
//!
//! What goes is found by listing the target alone: what the source has is recorded (`visited`). If nothing goes, the
//! source is not asked, but for temporary files and on targets that fold names. If something does, all folders of the
//! source are looked at once more, and those that changed since they were walked are walked again, with what is new in
//! them copied (`datapump_core::walked`): what is missing in one folder may have been moved to another. What still
//! changes then keeps its own names, and all else that is too much goes.
//! Below a folder that is another by now, or that was emptied, nothing goes.
//!
//! Names are counted before the first is removed, so that too many are refused. What a pattern excludes is left alone
//! at the target too. A folder goes when nothing is left in it.
//!
//! Must not know: how trees are copied.

mod again;
mod elsewhere;
mod leftover;
mod looks;
mod pass;
mod place;
pub(crate) mod ways;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_core::verdict::{Phase, Waits};
use datapump_core::walked::{FolderOfTree, NextPass};

use crate::folder::directory::Directory;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::tree::Shared;
use crate::tree::state::in_the_way::FoldersInTheWay;
use crate::tree::state::pruning::PruneVerdict;
use crate::units::counted;
use pass::{DeletePass, DeleteStep, KeptNames};

/// Finds out what may be removed. True where folders are walked again for that: then this is asked once more when all
/// is done that they lead to.
pub(crate) fn start_walk_again(shared: &Shared<'_>, waits: &mut Waits, roots: &[Arc<Directory>]) -> bool {
    if shared.ledger.tally().keeps_all() || shared.stop.load(Ordering::Relaxed) {
        shared.trees.pruning.lock().verdict = PruneVerdict::Open;
        return false;
    }
    let clock = &shared.settings.platform.clock;
    let start_ns = clock.charged_ns();
    shared.ledger.watch.enter(Phase::Deleting);
    let verdict = match next_pass(shared, roots) {
        Ok(None) => {
            report_guarded(shared, roots);
            report_unknown(shared);
            PruneVerdict::Nothing
        }
        Ok(Some(NextPass::WalkAgain(folders))) => {
            shared.ledger.watch.enter(Phase::Copying);
            each_tree(&folders, roots, |root, keys| again::walk_again(shared, root, keys));
            PruneVerdict::Open
        }
        Ok(Some(NextPass::Remove(restless))) => PruneVerdict::Removes(restless),
        Ok(Some(NextPass::Nothing(folders))) => {
            report_too_restless(shared, roots, &folders);
            PruneVerdict::TooRestless
        }
        Ok(Some(NextPass::Uncopied(folders))) => {
            report_uncopied(shared, roots, &folders);
            PruneVerdict::TooRestless
        }
        Err(problem) => {
            refuse(shared, problem);
            PruneVerdict::Nothing
        }
    };
    let walks_again = matches!(verdict, PruneVerdict::Open);
    shared.trees.pruning.lock().verdict = verdict;
    waits.deleting += clock.charged_ns() - start_ns;
    walks_again
}

/// `None` where nothing is too much, or it was reported why nothing is removed: then nothing is requested.
fn next_pass(shared: &Shared<'_>, roots: &[Arc<Directory>]) -> Result<Option<NextPass>, Problem> {
    let mut count = DeletePass::new(shared, DeleteStep::Count, roots);
    count.check_names_known()?;
    roots.iter().enumerate().try_for_each(|(tree, root)| count.delete_in_tree(tree, root))?;
    if count.is_refused || count.found == 0 || shared.stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    shared.ledger.watch.will_delete(count.found);
    let found = looks::find(shared, roots)?;
    count.check_names_known()?;
    let walks = shared.settings.writes && !shared.settings.options.dry_run;
    Ok(Some(shared.trees.pruning.lock().passes.handle_looks(found, walks)))
}

/// Reports the names that no walk copied: from now on their problems count.
pub(crate) fn report_missed(shared: &Shared<'_>) {
    for root in shared.trees.roots() {
        let problems = root.visited.take_problems();
        problems.into_iter().for_each(|problem| root.report_missed(&shared.ledger, problem));
    }
}

/// Calls `act` for each tree, with those of these folders that lie in it.
fn each_tree(
    folders: &BTreeSet<FolderOfTree>,
    roots: &[Arc<Directory>],
    mut act: impl FnMut(&Arc<Directory>, &BTreeSet<u64>),
) {
    for (tree, root) in roots.iter().enumerate() {
        let keys = folders.iter().filter(|folder| folder.tree == tree).map(|folder| folder.key).collect();
        act(root, &keys);
    }
}

/// Whether something is too much and may go.
pub(crate) fn has_some(shared: &Shared<'_>) -> bool {
    matches!(shared.trees.pruning.lock().verdict, PruneVerdict::Removes(_))
}

/// Whether it is known that nothing is removed.
pub(crate) fn has_none(shared: &Shared<'_>) -> bool {
    matches!(shared.trees.pruning.lock().verdict, PruneVerdict::Nothing | PruneVerdict::TooRestless)
}

/// A pass over the targets that knows which folders are restless and whether any is guarded.
fn new_pass<'run>(
    shared: &'run Shared<'run>,
    step: DeleteStep,
    roots: &'run [Arc<Directory>],
) -> DeletePass<'run> {
    let mut pass = DeletePass::new(shared, step, roots);
    if let PruneVerdict::Removes(restless) = &shared.trees.pruning.lock().verdict {
        pass.restless.clone_from(restless);
    }
    let is_guarded = roots.iter().any(|root| !root.root.visited.guarded().is_empty());
    pass.keeps_moving = is_guarded || !pass.restless.is_empty();
    pass
}

/// Whether nothing is removed because the source was not quiet.
fn has_too_restless(shared: &Shared<'_>) -> bool {
    matches!(shared.trees.pruning.lock().verdict, PruneVerdict::TooRestless)
}

/// Removes what is too much in these trees; with `ways` folders in the way alone, with what is in them.
pub(crate) fn delete(
    shared: &Shared<'_>,
    roots: &[Arc<Directory>],
    ways: Option<&FoldersInTheWay>,
) -> Result<(), Problem> {
    let mut remove = new_pass(shared, DeleteStep::Remove, roots);
    remove.ways = ways;
    let removed = roots.iter().enumerate().try_for_each(|(tree, root)| remove.delete_in_tree(tree, root));
    shared.trees.pruning.lock().removed = remove.found;
    if ways.is_none() {
        report_guarded(shared, roots);
        report_unknown(shared);
        let found = if remove.removes() { remove.found } else { 0 };
        report_restless(shared, roots, &remove.kept, found, &remove.restless);
    }
    removed
}

/// Reports that nothing goes, whatever else was copied.
pub(crate) fn refuse(shared: &Shared<'_>, problem: Problem) {
    shared.ledger.failed_whole.store(problem.class == Class::Refused, Ordering::Relaxed);
    shared.ledger.report(problem);
}

fn source_path(roots: &[Arc<Directory>], folder: &FolderOfTree) -> PathBuf {
    let root = &roots[folder.tree];
    root.root.visited.path_of(folder.key, &root.source.path())
}

fn changed(shared: &Shared<'_>, path: &std::path::Path, words: String) {
    shared.ledger.report(Problem::new(Class::Changed, Operation::LookAt, path, words));
}

/// Reports the folders in which nothing is removed because they were replaced or emptied while they were copied.
fn report_guarded(shared: &Shared<'_>, roots: &[Arc<Directory>]) {
    for (tree, root) in roots.iter().enumerate() {
        for key in root.root.visited.guarded() {
            let words = "changed while it was copied (it was replaced or emptied, or a file system was mounted or \
                         unmounted): nothing was removed in it (--delete); run the same command again when the source is \
                         complete";
            changed(shared, &source_path(roots, &FolderOfTree { tree, key }), words.into());
        }
    }
}

/// Reports the folders of which nobody can tell whether they are mounts, and in which nothing was removed. Called
/// behind all removals: a problem would keep the rest.
fn report_unknown(shared: &Shared<'_>) {
    let unknown = std::mem::take(&mut shared.trees.pruning.lock().unknown);
    for path in unknown {
        let words = "nothing shows whether something is mounted there (statx(2) is refused or too old, and /proc is not \
                     mounted): nothing in it was removed (--delete); mount /proc (mount -t proc proc /proc), and run the \
                     same command again";
        shared.ledger.report(Problem::new(Class::Refused, Operation::Delete, &path, words));
    }
}

/// Reports the folders that kept changing, with how many names stay for that.
fn report_restless(
    shared: &Shared<'_>,
    roots: &[Arc<Directory>],
    kept: &KeptNames,
    removed: u64,
    restless: &BTreeSet<FolderOfTree>,
) {
    let own = |folder: &FolderOfTree| kept.own.get(folder).copied().unwrap_or(0);
    let when =
        if shared.settings.options.dry_run { "since it was listed" } else { "each time it was looked at" };
    for folder in restless.iter().filter(|folder| own(folder) > 0) {
        let words = format!(
            "changed {when}: {} in it, which it may not have any more, stay at the target (--delete); run the same \
             command again when it is quiet",
            counted(own(folder), "name")
        );
        changed(shared, &source_path(roots, folder), words);
    }
    let Some(folder) = restless.first() else { return };
    if kept.on_their_way > 0 {
        let words = format!(
            "changed {when}: {} elsewhere, which may have moved into it, stay at the target (--delete); run the same \
             command again when it is quiet",
            counted(kept.on_their_way, "name")
        );
        changed(shared, &source_path(roots, folder), words);
    } else if removed > 0 && restless.iter().all(|folder| own(folder) == 0) {
        let words = "changed each time it was looked at: a file that kept moving may have no copy, and names elsewhere \
                     were removed (--delete); run the same command again when it is quiet";
        changed(shared, &source_path(roots, folder), words.into());
    }
}

/// Warns that nothing was removed for a file that could not be copied while it changed. The problem with the file
/// itself is reported besides.
fn report_uncopied(shared: &Shared<'_>, roots: &[Arc<Directory>], folders: &BTreeSet<FolderOfTree>) {
    let file = |folder: &FolderOfTree| {
        let name = roots[folder.tree].root.visited.first_that_keeps_all(folder.key)?;
        Some(source_path(roots, folder).join(name))
    };
    if let Some(file) = folders.iter().find_map(file) {
        let flag = if shared.settings.options.deletion.mirror { "" } else { " (--delete)" };
        shared.ledger.warn(format!(
            "nothing was removed{flag}, because '{}' could not be copied while the source changed and the target has \
             no copy of it: one of the names that would be removed may be its old name; run the same command again \
             when it is quiet",
            shown_path(&file)
        ));
    }
}

/// Reports that nothing was removed because folders kept changing.
fn report_too_restless(shared: &Shared<'_>, roots: &[Arc<Directory>], folders: &BTreeSet<FolderOfTree>) {
    if let Some(folder) = folders.first() {
        let more = counted(folders.len() as u64 - 1, "other folder");
        let words = format!(
            "and {more} changed again and again while they were looked at: nothing was removed (--delete); run the \
             same command again when the source is quiet"
        );
        changed(shared, &source_path(roots, folder), words);
    }
}
