//! What exists at the target and stays: told, its attributes put right, its other names linked to it.
//!
//! Must not know: how it was found right, how files are copied.

use datapump_core::name::{
    Content, KnownFacts, LeaveReason, NameAction, NameFact, NameMachine, NameStep, SkipReason,
};
use datapump_engine::Errno;

use crate::listed::{ListedEntry, Name};
use crate::open::held::Original;
use crate::problem::{Operation, Problem, shown_path};
use crate::report::change::ChangeKind;
use crate::setup::options::Sync;
use crate::tree::findings::hidden_differ;
use crate::tree::links::linking::{self, Met};
use crate::tree::links::own_attributes;
use crate::tree::state::links::TreeEntry;
use crate::tree::{Shared, findings};
use datapump_files::attributes;
use datapump_files::attributes::keep::New;
use datapump_files::commit::taken;
use datapump_files::disk::{AttributeHolder, FileKind, Meta, names};
use datapump_files::identity::id;

/// Why an existing entry is left, in words.
pub(crate) fn why_left(reason: LeaveReason) -> &'static str {
    match reason {
        LeaveReason::Exists => "exists at the target",
        LeaveReason::Newer => "the target is newer",
        LeaveReason::EqualInTime => "equal in size and time",
        LeaveReason::EqualInContent => "equal in content",
        LeaveReason::Same => "the same",
        LeaveReason::OwnInode => "it is the source itself",
        LeaveReason::HasSource => "the source has it, too",
        LeaveReason::Ours => "copied by the run that was cut",
    }
}

/// Why a name is skipped that is outside of bounds, or because nothing exists, in words.
pub(crate) fn why_skipped(reason: SkipReason) -> Option<&'static str> {
    match reason {
        SkipReason::OutOfBounds(why) => Some(why),
        SkipReason::NotExisting => Some("does not exist at the target (--existing)"),
        _ => None,
    }
}

/// What exists at the target stays, whatever it is.
pub(crate) fn report_kept(shared: &Shared<'_>, entry: &TreeEntry, why: &str) {
    shared.ledger.note(|| {
        let path = entry.directory.target_path().join(&entry.name);
        format!("'{}': not changed: {why}", shown_path(&path))
    });
}

/// What exists at the target stays although it is not as the source. Other names of the file are dealt with without it.
pub(crate) fn kept(shared: &Shared<'_>, entry: &TreeEntry, meta: &Meta, why: &str) {
    report_kept(shared, entry, why);
    count_unchanged(shared, entry, meta);
    if meta.kind == FileKind::Regular {
        shared.ledger.count_kept(shared.trees.flags.newer_by_ns().is_some());
    }
}

/// Counts an existing entry that stays as unchanged; of a name that the user gave it is remembered.
fn count_unchanged(shared: &Shared<'_>, entry: &TreeEntry, meta: &Meta) {
    let root = &entry.directory.root;
    if let Some(Ok(folder)) = entry.directory.target.as_ref().filter(|_| root.is_named()).map(|it| it.file())
    {
        shared.trees.memory.note_right(&folder, &entry.name);
    }
    match meta.kind {
        FileKind::Regular if root.is_named() && !shared.settings.has_trees => {
            shared.ledger.unchanged(0);
            shared.skip_named(root, meta);
        }
        FileKind::Regular => shared.ledger.unchanged(meta.size_bytes),
        FileKind::Symlink => shared.ledger.tally().done.links_unchanged += 1,
        _ => {}
    }
}

/// Reports and counts a file that is right and stays as it is; its other names may be linked to it. What is deferred is
/// reported when it is met again.
pub(crate) fn left(
    shared: &Shared<'_>,
    entry: &TreeEntry,
    meta: &Meta,
    existing: &Meta,
    why: &str,
) -> Result<Met, Problem> {
    let met = stays(shared, entry, meta, existing)?;
    if !matches!(met, Met::Deferred) {
        report_kept(shared, entry, why);
    }
    Ok(met)
}

fn stays(shared: &Shared<'_>, entry: &TreeEntry, meta: &Meta, existing: &Meta) -> Result<Met, Problem> {
    let met = linking::meet_name(shared, entry, meta, None, false)?;
    if let Met::First(links) = met {
        count_unchanged(shared, entry, meta);
        linking::link_waiting(shared, entry, links, Some(id(existing)));
    }
    Ok(met)
}

/// Counts and reports a file that an earlier run of the same command committed. What it could not keep then is reported again:
/// the status of this run is that of both.
pub(crate) fn report_committed(
    shared: &Shared<'_>,
    entry: &TreeEntry,
    meta: &Meta,
    existing: &Meta,
) -> Result<Met, Problem> {
    let met = linking::meet_name(shared, entry, meta, None, false)?;
    if matches!(met, Met::Deferred) {
        return Ok(met);
    }
    report_kept(shared, entry, why_left(LeaveReason::Ours));
    let (flags, source) = (&shared.trees.flags, shared.settings.options.attributes.keep.given.of(meta));
    let is_right = flags.is_time_right(&source, existing) && flags.is_owner_right(&source, existing);
    if !is_right && !shared.settings.options.dry_run {
        let lost = attributes::lacks(meta, existing, shared.settings.options.attributes.keep);
        shared.ledger.report_lost(lost, || entry.directory.target_path().join(&entry.name));
    }
    if let Met::First(links) = met {
        shared.ledger.committed_before(meta.size_bytes);
        linking::link_waiting(shared, entry, links, Some(id(existing)));
    }
    Ok(met)
}

/// Sets the attributes of a file whose content is right, and reports the change; a dry run only reports it.
pub(crate) fn adjust_attributes(
    shared: &Shared<'_>,
    entry: &TreeEntry,
    name: &Name,
    meta: &Meta,
    existing: &Meta,
) -> Result<Met, Problem> {
    let change = findings::change(shared, &entry.directory, ChangeKind::Adjust, name, meta, Some(existing));
    if shared.settings.options.dry_run {
        // The names of one file at the target have the same attributes: they are set once.
        let is_first = shared.trees.memory.is_first_report(existing);
        shared.ledger.tell(change.filter(|_| is_first));
        return left(shared, entry, meta, existing, "its attributes would be set");
    }
    // What was not kept whole is told as that.
    if set_attributes(shared, entry, name, meta, existing)? {
        shared.ledger.tally().done.adjusted += 1;
        shared.ledger.tell(change);
    }
    stays(shared, entry, meta, existing)
}

/// Sets the attributes of an existing file, and reports what could not be kept; false if anything could not.
fn set_attributes(
    shared: &Shared<'_>,
    entry: &TreeEntry,
    name: &Name,
    meta: &Meta,
    existing: &Meta,
) -> Result<bool, Problem> {
    let Some(target) = &entry.directory.target else { return Ok(false) };
    let (origin, path) = (entry.directory.source.origin()?, || target.path_of(&entry.name));
    let folder = target.file()?;
    if let Some(lost) = own_attributes::lost_of_link(shared, &folder, existing) {
        shared.ledger.report_lost(lost, path);
        return Ok(false);
    }
    let held = names::hold_the(&folder, &entry.name, existing).and_then(|held| held.ok_or(Errno::ENOENT));
    let held = held.map_err(|errno| match errno {
        Errno::ENOENT => taken(&path()),
        errno => Problem::system(Operation::OpenToSetAttributes, &path(), errno.0),
    })?;
    // Its new mode may let nobody open it. One that cannot be opened yet may be behind it.
    // A link or a pipe cannot be synced: its folder is, when all in it is done.
    let alone = shared.settings.syncs_names()
        && shared.settings.options.durability.sync == Sync::End
        && entry.directory.is_synced_by_parts()
        && existing.kind == FileKind::Regular;
    let opened = alone.then(|| names::open_source(&folder, &entry.name, true)).and_then(Result::ok);
    let to = AttributeHolder::Held(&held);
    let from_path = entry.directory.source.path_of(&entry.name);
    let keep = shared.settings.options.attributes.keep;
    let lost = origin.copy_attributes(name, &from_path, meta, to, keep, New::default())?;
    let lost = lost.map_err(|errno| Problem::system(Operation::SetAttributes, &path(), errno.0))?;
    let is_whole = shared.ledger.report_lost(lost, path).is_empty();
    entry.directory.root.journal().inspect(|journal| journal.know(existing));
    if alone {
        names::sync_of(opened, &folder, &entry.name)
            .map_err(|errno| Problem::system(Operation::Sync, &path(), errno.0))?;
    }
    Ok(is_whole)
}

/// The name of a file that was read, with what another host told of it until now.
pub(crate) fn read_name(entry: &TreeEntry, original: &Original) -> Name {
    let (held, latest) = original.latest();
    // Which of several names it is was reported when it was found.
    let Meta { generation, handle, .. } = original.meta;
    let reported = held.here().is_none().then(|| ListedEntry {
        attributes: held.reported().map(|reported| reported.1.clone()),
        ..ListedEntry::from_meta(Meta { generation, handle, ..*latest })
    });
    Name { reported: reported.map(Box::new), ..Name::here(entry.name.clone(), Some(FileKind::Regular)) }
}

/// Leaves a file whose content was compared and is equal, or sets its attributes. Where its name must be dealt with again,
/// gives what its content counts as then: other if it is copied all the same, equal if only memory was short.
pub(crate) fn keep_if_equal(
    shared: &Shared<'_>,
    entry: &TreeEntry,
    original: &Original,
) -> Result<Option<Content>, Problem> {
    let (_, meta) = original.latest();
    let Some(target) = &entry.directory.target else { return Ok(None) };
    let folder = target.file()?;
    let existing = names::metadata(&folder, &entry.name)
        .map_err(|errno| Problem::system(Operation::LookAt, &target.path_of(&entry.name), errno.0))?;
    let (name, from) = (read_name(entry, original), entry.directory.source.origin()?);
    let source = shared.settings.options.attributes.keep.given.of(meta);
    let facts = KnownFacts { content: Content::Equal, ..KnownFacts::of_two_files(&source, &existing) };
    let mut machine = NameMachine::with_facts(&shared.trees.flags, facts);
    if machine.poll() == NameStep::Find(NameFact::HiddenEqual) {
        machine.facts.hidden_equal = Some(!hidden_differ(shared, &from, &name, &folder));
    }
    let met = match machine.poll() {
        NameStep::Perform(NameAction::Leave(_)) => {
            left(shared, entry, meta, &existing, why_left(LeaveReason::EqualInContent))?
        }
        NameStep::Perform(NameAction::SetAttributes) => {
            adjust_attributes(shared, entry, &name, meta, &existing)?
        }
        _ => return Ok(Some(Content::Other)),
    };
    Ok(matches!(met, Met::Deferred).then_some(Content::Equal))
}
