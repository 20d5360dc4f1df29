//! A source that the user named becomes work: a file, an entry beside others, or the root of a tree.
//!
//! Must not know: how blocks are moved, command lines.

use std::path::Path;
use std::sync::atomic::Ordering;

use crate::problem::{Problem, shown_path};
use crate::target::existing;
use crate::target::existing::{FileNext, early_places};
use crate::target::guard::claims::ClaimedName;
use crate::target::{Item, Target, check_target_folder, open_item, other_names};
use crate::tree::Shared;
use crate::tree::folder::begin_tree;
use datapump_core::verdict::Waits;
use datapump_engine::Errno;
use datapump_files::commit::partial;
use datapump_files::disk::PathAt;

/// Opens what the user named: a file, or the root of a tree.
pub(crate) fn open_item(shared: &Shared<'_>, waits: &mut Waits, item: &Item) {
    if item.is_left_out {
        let name = item.source.path().and_then(Path::file_name).unwrap_or_default();
        return shared.ledger.leave_out(&format!("'{}' {}", item.source, partial::why_skipped(name)));
    }
    if let Some((to, why)) = passed_by(shared, item) {
        shared.ledger.note(|| format!("'{}': not changed: {why}", shown_path(&to.path)));
        if item.is_tree() {
            shared.trees.walked(&shared.ledger.watch);
        }
        return;
    }
    if !is_unclaimed(shared, item) {
        if item.is_tree() {
            shared.trees.walked(&shared.ledger.watch);
        }
        return;
    }
    item.told.iter().for_each(|event| (shared.ledger.events)(event.clone()));
    let (Some(from), Target::Tree(to)) = (item.source.path(), &item.target) else {
        return open_file(shared, waits, item);
    };
    if let Err(problem) = begin_tree::begin_tree(shared, item, (from, to)) {
        shared
            .ledger
            .failed_whole
            .fetch_or(shared.settings.has_one_source && !shared.settings.compares, Ordering::Relaxed);
        shared.ledger.full.leave_uncounted();
        shared.ledger.report(problem);
    }
    shared.trees.walked(&shared.ledger.watch);
}

/// Whether no earlier source has its name at the target; reported, if one has.
pub(crate) fn is_unclaimed(shared: &Shared<'_>, item: &Item) -> bool {
    let claims = shared.trees.guard.claims();
    let own = ClaimedName { number: item.number, below: Path::new(""), is_folder: item.is_tree() };
    let rules = shared.trees.guard_rules(shared.settings.options);
    let path = || item.target.path().unwrap_or(Path::new("")).to_path_buf();
    claims.check(&own, rules, path).map_err(|problem| shared.ledger.report(problem)).is_ok()
}

/// A folder that is none of those that are asked for. What cannot be looked at stands there.
fn passed_by<'item>(shared: &Shared<'_>, item: &'item Item) -> Option<(&'item PathAt, &'static str)> {
    let Target::Tree(to) = &item.target else { return None };
    if shared.settings.compares || !shared.trees.rules.passes_some() {
        return None;
    }
    let stands = to.metadata_of_name() != Err(Errno::ENOENT);
    Some((to, shared.trees.rules.passed_by(item.meta.as_ref(), stands)?))
}

/// Opens a file that the user named, under the first of its names, unless what stands at its target stays.
fn open_file(shared: &Shared<'_>, waits: &mut Waits, item: &Item) {
    if let Err(problem) = early_places::open_early(shared, item) {
        return shared.ledger.report(problem);
    }
    if item.other_names.is_empty() || item.differs {
        return open_one(shared, waits, item);
    }
    other_names::parted(shared, item).iter().for_each(|item| open_one(shared, waits, item));
}

/// The work that is left for a file. A run finds out when it opens the folder of the target whether that is there; a
/// dry run opens none.
fn next(shared: &Shared<'_>, item: &Item) -> Result<FileNext, Problem> {
    let next = existing::next(shared, item)?;
    if matches!(next, FileNext::Copy(_)) && shared.settings.options.dry_run {
        check_target_folder(item, shared.settings.options)?;
    }
    Ok(next)
}

fn open_one(shared: &Shared<'_>, waits: &mut Waits, item: &Item) {
    match next(shared, item) {
        Ok(FileNext::Copy(change)) if shared.settings.options.dry_run => {
            shared.ledger.tell(change);
            other_names::link_others(shared, item, None);
        }
        Ok(FileNext::Compare(back)) => {
            let compared = item.target.at().cloned().map_or(Target::Null, Target::Compare);
            open_item::open_item(
                shared,
                waits,
                &Item { target: compared, ..item.clone() },
                FileNext::Compare(back),
            );
        }
        Ok(FileNext::Stands(there)) => existing::stays(shared, item, &there),
        Ok(FileNext::PassedBy) => {
            existing::pass_by(shared, item);
            other_names::apart(shared, item);
        }
        Ok(next) => open_item::open_item(shared, waits, item, next),
        Err(problem) => {
            shared.ledger.report(problem);
            other_names::apart(shared, item);
        }
    }
}
