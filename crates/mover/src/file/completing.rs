//! The steps of a file whose blocks have all landed: length, source, attributes, sync, name.
//!
//! Must not know: how blocks are moved, which step comes next, what follows when one fails.

pub mod closing;

use std::sync::Arc;

use datapump_core::SourceCheck;
use datapump_engine::{Errno, Handle};

use crate::end::Sink;
use crate::file::changed::find_change;
use crate::file::completing::closing::{has_plain_disk, is_rehearsal};
use crate::file::growth;
use crate::file::task::{Finish, Task};
use crate::file::verify::locate;
use crate::open::held::{Held, Original};
use crate::problem::{AttributeKind, Class, Operation, Problem, shown_path};
use crate::run::MoverRun;
use crate::run::owner::FileOwner;
use crate::setup::options::Keep;
use datapump_files::attributes::given::Given;
use datapump_files::attributes::keep::New;
use datapump_files::attributes::loss::Lost;
use datapump_files::attributes::{self, copy_of_handle};
use datapump_files::commit::StagedFile;
use datapump_files::disk::names::HeldName;
use datapump_files::disk::{
    AttributeHolder, FileCalls, FileKind, Folder, Outcome, file_meta, handed_down, names, umask,
};
use datapump_files::holes::sizes;
use datapump_files::identity::{SourceChange, changed};
use datapump_files::resume::Journal;

/// Whether a source that is watched is what it was when its copy began, or has to be read again. A file that only grew is
/// kept as it was when it was opened, and reported: a log is never quiet.
fn check_watched(
    owner: &dyn FileOwner<'_>,
    task: &Task,
    original: &Original,
) -> Result<SourceCheck, Problem> {
    let staged = if let Finish::Commit(staged) = &task.finish { Some(staged) } else { None };
    let is_measured = owner.settings.pieces.is_some() || (staged.is_some() && is_rehearsal(owner));
    match (find_change(owner, original)?, staged) {
        (None, _) => Ok(SourceCheck::Unchanged),
        // Only a part of it is written, to be measured.
        (Some(SourceChange::Unverified(_)), _) if is_measured => Ok(SourceCheck::Unchanged),
        (Some(SourceChange::Unverified(what)), _) => {
            let path = shown_path(&original.path);
            owner.ledger.note(|| format!("'{path}' {what}: it is read again and compared"));
            Ok(SourceCheck::Unverified)
        }
        (Some(SourceChange::Grew(words)), Some(staged)) => {
            growth::accept(owner, task, original, staged, &words).map(|()| SourceCheck::Unchanged)
        }
        (Some(SourceChange::Grew(words) | SourceChange::Other(words)), _) => {
            Err(changed(&original.path, &words, task.target_is_kept()))
        }
    }
}

/// The target of a task that gets a name.
fn staged(task: &Task) -> &StagedFile {
    let Finish::Commit(staged) = &task.finish else { unreachable!("only a file gets a name") };
    staged
}

/// Looks whether the source is what it was, and, of a comparison, whether the other file ends where it does.
pub fn check_source(owner: &dyn FileOwner<'_>, task: &Task) -> Result<SourceCheck, Problem> {
    if matches!(task.finish, Finish::Located) {
        return Err(locate::is_same_by_now(task));
    }
    let watched = task.original.as_ref().filter(|original| original.watched);
    let check = watched.map_or(Ok(SourceCheck::Unchanged), |it| check_watched(owner, task, it))?;
    check_end(task).map(|()| check)
}

/// Closes the journal and gives the file its length.
///
/// Errors: also of a sync that ran beside the copy.
pub fn set_length(task: &Task) -> Result<(), Problem> {
    if let Finish::Stripe(stripe) = &task.finish {
        return stripe.set_length(task.length());
    }
    let staged = staged(task);
    // A sync that failed beside the copy counts as the last one does: what it was to keep may be lost.
    let synced_aside = staged.journal().map_or(Ok(()), Journal::close);
    synced_aside.map_err(|errno| Problem::system(Operation::Sync, &task.target_name, errno.0))?;
    let cut_off = cut_to_length(task, staged);
    cut_off.map_err(|errno| Problem::system(Operation::SetLength, &task.target_name, errno.0))
}

/// Puts what was written on stable storage.
pub fn sync(task: &Task) -> Result<(), Problem> {
    match &task.finish {
        Finish::Device(handle) => {
            handle.sync().map_err(|errno| Problem::system(Operation::Sync, &task.target_name, errno.0))
        }
        Finish::Stripe(stripe) => stripe.sync(),
        _ => staged(task).sync(),
    }
}

/// Gives the file its name. One that is only measured never gets one.
pub fn rename(owner: &dyn FileOwner<'_>, task: &Task) -> Result<(), Problem> {
    let staged = staged(task);
    if is_rehearsal(owner) {
        owner.ledger.tally().rehearsed.push(Arc::clone(&staged.handle));
        return Ok(());
    }
    let publish = || staged.publish(task.length());
    if staged.is_in_place() { publish() } else { owner.put_name(task, staged, &publish) }
}

/// Makes the name durable.
pub fn sync_folder(task: &Task) -> Result<(), Problem> {
    match &task.finish {
        Finish::Stripe(stripe) => stripe.sync_names(),
        _ => staged(task).sync_name(),
    }
}

/// Refuses a compared file that has bytes behind the end of its source. Files of trees are passed by, since their lengths are
/// compared first.
fn check_end(task: &Task) -> Result<(), Problem> {
    let Sink::Compare(file) = &task.sink else { return Ok(()) };
    let length = task.length();
    // The lengths of files of trees are compared first, but of one that holds more than the size that it tells.
    let is_as_listed = || task.original.as_ref().is_none_or(|one| one.meta.size_bytes == length);
    if (task.owned.tree.is_some() && is_as_listed()) || matches!(task.finish, Finish::Checked) {
        return Ok(());
    }
    let system = |errno: Errno| Problem::system(Operation::Stat, &task.target_name, errno.0);
    if !sizes::has_byte(&file.handle, length).map_err(system)? {
        return Ok(());
    }
    let source = shown_path(&task.source_name);
    let words = format!("goes on where '{source}' ends");
    Err(Problem::new(Class::Mismatch, Operation::Compare, &task.target_name, words).at(length))
}

/// Removes the padding of a direct write, and what an older file had behind the end. What ends in a hole is as long as
/// it is told to be.
fn cut_to_length(task: &Task, staged: &StagedFile) -> Result<(), Errno> {
    let padded =
        matches!(&task.sink, Sink::File(file) if !task.length().is_multiple_of(u64::from(file.align_bytes)));
    if padded || task.sink.skips_zeros() || staged.is_in_place() {
        staged.handle.set_len(task.length())
    } else {
        Ok(())
    }
}

/// Sets the attributes of what was written: the source's, or those of a new file where it has none. What is lost is reported.
pub fn set_attributes_of_written(
    run: &MoverRun<'_>,
    task: &Task,
    staged: &StagedFile,
) -> Result<(), Problem> {
    let original = task.original.as_ref().filter(|original| original.has_attributes());
    let keep = if original.is_some() { run.settings.options.attributes.keep } else { Keep::NOTHING };
    let replaced = replaced(staged, keep);
    let new = describe_new(run, task, staged, keep, replaced.as_ref());
    let kept = match original {
        Some(original) => copy_attributes(original, staged, keep, new),
        None => set_attributes_of_new(staged, new, run.settings.options.attributes.keep.given),
    };
    let lost = kept.map_err(|errno| Problem::system(Operation::SetAttributes, &task.target_name, errno.0))?;
    let kinds = run.ledger.report_lost(lost, || task.target_name.clone());
    if kinds.iter().any(|kind| matches!(kind, AttributeKind::AccessList | AttributeKind::Extended)) {
        task.lose_attributes();
    }
    Ok(())
}

/// Copies the source's attributes, as they were seen last, to the file. Gives those that were lost.
fn copy_attributes(original: &Original, staged: &StagedFile, keep: Keep, new: New<'_>) -> Outcome<Lost> {
    let (held, meta) = original.latest();
    match (held, &*staged.handle) {
        (Held::Here(from), to) => copy_of_handle(from, meta, to, keep, new),
        (Held::There(file), Handle::Os(to)) => {
            let (meta, reported) =
                file.reported().map_or((meta, &[][..]), |(meta, reported)| (meta, reported));
            attributes::copy(AttributeHolder::Told(reported), meta, AttributeHolder::Open(to), keep, new)
        }
        (Held::There(_), Handle::Sim(_)) => unreachable!("the simulation has one host"),
    }
}

/// Sets the attributes of a copy whose source, a stream or a device, has none: those of any new file, or else those
/// that the replaced file had. Gives those that were lost.
fn set_attributes_of_new(staged: &StagedFile, new: New<'_>, given: Given) -> Outcome<Lost> {
    let Handle::Os(file) = &*staged.handle else { return Ok(Lost::default()) };
    if !new.made && given == Given::NOTHING {
        return Ok(Lost::default());
    }
    let to = AttributeHolder::Open(file);
    let keep = Keep { owner: given.user.or(given.group).is_some(), given, ..Keep::NOTHING };
    attributes::copy(AttributeHolder::Told(&[]), &to.meta()?, to, keep, new)
}

/// What setting attributes has to know of the file that is written: whether it is new, what its folder hands down, and which
/// entry it replaces.
fn describe_new<'open>(
    run: &MoverRun<'_>,
    task: &Task,
    staged: &StagedFile,
    keep: Keep,
    replaced: Option<&'open HeldName>,
) -> New<'open> {
    let made = !staged.is_in_place();
    let handed_down = match (&task.owned.tree, &staged.folder) {
        (Some(tree), _) => tree.handed_down,
        (None, Folder::Os(folder)) if !keep.mode => handed_down(folder),
        (None, _) => None,
    };
    // What only some may read of a device is not for more of them in a file.
    let device = task.original.as_ref().filter(|original| !original.has_attributes());
    let lets = |original: &Original| original.meta.mode & handed_down.unwrap_or_else(|| !umask());
    let handed_down = device.map(lets).or(handed_down);
    let bare = made && !staged.goes_on && task.owned.tree.is_some() && handed_down.is_none();
    let shows_taken = has_plain_disk(run, task, staged);
    New { made, bare, handed_down, shows_taken, replaced: replaced.map(AttributeHolder::Held) }
}

/// The file that is replaced, where something of it stays.
fn replaced(staged: &StagedFile, keep: Keep) -> Option<HeldName> {
    let Folder::Os(folder) = &staged.folder else { return None };
    let stays = keep.leaves_some() && !staged.is_in_place();
    let held = stays.then(|| names::hold(folder, &staged.name)).and_then(Result::ok)?;
    file_meta(&held).is_ok_and(|meta| meta.kind == FileKind::Regular).then_some(held)
}
