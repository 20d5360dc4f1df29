//! A source that the user named and that is no name of a folder becomes work: the root of a tree, a stream, a device.
//!
//! Must not know: how blocks are moved, command lines.

mod open_item;

use std::path::Path;
use std::sync::atomic::Ordering;

use crate::problem::{Operation, Problem, shown_path};
use crate::report::change::{Change, ChangeKind};
use crate::targets::guard::claims::ClaimedName;
use crate::targets::{Item, Target, check_target_folder};
use crate::tree::Shared;
use crate::tree::findings;
use crate::tree::rules::update_existing;
use crate::tree::walk::begin_tree;
use datapump_core::name::{KnownFacts, LeaveReason, NameAction, NameMachine, NameStep, SkipReason};
use datapump_core::verdict::Waits;
use datapump_engine::Errno;
use datapump_files::commit::partial;
use datapump_files::disk::{FileKind, Folder, Meta, PathAt};

/// Opens what the user named: a file, or the root of a tree.
pub(crate) fn open_item(shared: &Shared<'_>, waits: &mut Waits, item: &Item) {
    if item.is_left_out {
        let name = item.source.path().and_then(Path::file_name).unwrap_or_default();
        return shared.ledger.leave_out(&format!("'{}' {}", item.source, partial::why_skipped(name)));
    }
    if let Some(to) = absent_folder(shared, item) {
        let why = update_existing::why_skipped(SkipReason::NotExisting).unwrap_or_default();
        shared.ledger.note(|| format!("'{}': not changed: {why}", shown_path(&to.path)));
        if let Some(from) = item.source.path().filter(|_| shared.trees.select.is_list()) {
            let started = begin_tree::begin_skipped(shared, item, from, &to.path);
            started.unwrap_or_else(|problem| shared.ledger.report(problem));
        }
        return shared.trees.walked(&shared.ledger.watch);
    }
    if !is_unclaimed(shared, item) {
        if item.is_tree() {
            shared.trees.walked(&shared.ledger.watch);
        }
        return;
    }
    item.notices.iter().for_each(|event| (shared.ledger.events)(event.clone()));
    let (Some(from), Target::Tree(to)) = (item.source.path(), &item.target) else {
        return open_file(shared, waits, item);
    };
    if let Err(problem) = begin_tree::begin_tree(shared, item, from, to) {
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

/// The place of a folder that does not exist, where only existing ones are asked for. What cannot be looked at exists.
fn absent_folder<'item>(shared: &Shared<'_>, item: &'item Item) -> Option<&'item PathAt> {
    let Target::Tree(to) = &item.target else { return None };
    let is_asked = shared.trees.flags.existing && !shared.settings.compares;
    (is_asked && to.metadata_of_name() == Err(Errno::ENOENT)).then_some(to)
}

/// Opens what the user named and is no name of a folder, unless the existing entry at its target stays. A run finds out
/// when it opens the folder of the target whether that exists; a dry run opens none.
fn open_file(shared: &Shared<'_>, waits: &mut Waits, item: &Item) {
    let options = shared.settings.options;
    let done = match next_step(shared, item) {
        Ok(ItemStep::Leave(at, action)) => {
            count_left(shared, item, at, action);
            Ok(())
        }
        Ok(ItemStep::Copy(change)) if options.dry_run => {
            check_target_folder(item, options).map(|()| shared.ledger.tell(change))
        }
        Ok(ItemStep::Copy(change)) => {
            open_item::open_item(shared, waits, item, change);
            Ok(())
        }
        Err(problem) => Err(problem),
    };
    done.unwrap_or_else(|problem| shared.ledger.report(problem));
}

/// The step that is left for an item.
enum ItemStep<'item> {
    /// It is copied; the change to report then.
    Copy(Option<Box<Change>>),
    /// Nothing: the entry at this place stays, or is none of those that are asked for.
    Leave(&'item PathAt, NameAction),
}

/// What the name machine says of an item. Of a stream or a device, which has neither size nor time, no more is asked than
/// whether something exists.
fn next_step<'item>(shared: &Shared<'_>, item: &'item Item) -> Result<ItemStep<'item>, Problem> {
    let (Target::File(at) | Target::Special(at) | Target::Device(at)) = &item.target else {
        return Ok(ItemStep::Copy(None));
    };
    let flags = &shared.trees.flags;
    let is_asked = flags.leaves_some() || flags.skips_some() || shared.settings.itemizes();
    if shared.settings.compares || !is_asked {
        return Ok(ItemStep::Copy(None));
    }
    let existing = match at.metadata() {
        Ok(existing) => Some(existing),
        Err(Errno::ENOENT) => None,
        Err(errno) => return Err(Problem::system(Operation::LookAt, &at.path, errno.0)),
    };
    let stream = Meta { kind: FileKind::Fifo, ..Meta::nothing() };
    let source = item.meta.filter(|meta| meta.kind == FileKind::Regular).unwrap_or(stream);
    let facts = KnownFacts { existing: Some(existing), ..KnownFacts::of_two_files(&source, &source) };
    Ok(match NameMachine::with_facts(flags, facts).poll() {
        NameStep::Perform(action @ (NameAction::Skip(_) | NameAction::Leave(_))) => {
            ItemStep::Leave(at, action)
        }
        _ => ItemStep::Copy(findings::change_of_item(shared, item, ChangeKind::Copy, existing.as_ref())),
    })
}

/// Counts and reports an item that is not copied.
fn count_left(shared: &Shared<'_>, item: &Item, at: &PathAt, action: NameAction) {
    let why = match action {
        NameAction::Leave(reason) => {
            if let (Ok(Folder::Os(folder)), Some(name)) = (at.folder(), at.name()) {
                shared.trees.memory.note_right(folder, name);
            }
            shared.ledger.tally().done.files_unchanged += 1;
            if matches!(reason, LeaveReason::Exists | LeaveReason::Newer) {
                shared.ledger.count_kept(shared.trees.flags.newer_by_ns().is_some());
            }
            update_existing::why_left(reason)
        }
        NameAction::Skip(reason) => update_existing::why_skipped(reason).unwrap_or_default(),
        _ => unreachable!("nothing else leaves an entry"),
    };
    shared.ledger.note(|| format!("'{}': not changed: {why}", shown_path(&at.path)));
    shared.ledger.tally().files_left += 1;
    shared.ledger.watch.add_present(1, 0);
    shared.ledger.watch.skipped(item.bytes().unwrap_or(0));
}
