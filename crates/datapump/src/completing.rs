//! The last steps of a file whose blocks have all landed: the source stood still, attributes, sync, name.
//!
//! Must not know: how blocks are moved, what follows when a step fails.

use std::fs::File;
use std::sync::Arc;

use datapump_engine::{Errno, Handle};

use crate::changed::{check_unchanged, find_change};
use crate::end::Sink;
use crate::held::{Held, Original};
use crate::options::{Keep, Sync};
use crate::problem::Problem;
use crate::report::Waits;
use crate::run::Shared;
use crate::task::Task;
use datapump_engine::{Stage, meter::within};
use datapump_files::attributes::{self, copy_of_handle};
use datapump_files::commit::Staged;
use datapump_files::disk::{
    Bearer, FileCalls, FileKind, Folder, Outcome, file_meta, handed_down, kind, names,
};
use datapump_files::identity::{Change, changed, cut_short};
use datapump_files::keep::New;
use datapump_files::loss::Lost;
use datapump_files::resume::Journal;

pub(crate) fn source_stood_still(shared: &Shared<'_>, task: &Task) -> Result<(), Problem> {
    match &task.original {
        Some(original) if original.watched => {
            check_unchanged(&shared.settings.world.disk, original, task.target_is_kept())
        }
        _ => Ok(()),
    }
}

/// A file of a tree that only grew is kept as it was when it was opened, and told: a log is never quiet.
fn source_is_whole_or_longer(shared: &Shared<'_>, task: &Task) -> Result<(), Problem> {
    let (Some(leaf), Some(original)) = (&task.leaf, &task.original) else {
        return source_stood_still(shared, task);
    };
    if !original.watched {
        return Ok(());
    }
    match find_change(&shared.settings.world.disk, original)? {
        None => {}
        Some(Change::Grew(words)) => {
            let problem = cut_short(&original.path, &words, original.meta.size_bytes);
            leaf.spot.branch.root.report(&shared.ledger, problem);
        }
        Some(Change::Other(words)) => return Err(changed(&original.path, &words, task.target_is_kept())),
    }
    Ok(())
}

/// The file is as it is to be, and synced where that is asked for; it lacks its name.
pub(crate) fn complete(
    shared: &Shared<'_>,
    waits: &mut Waits,
    task: &Arc<Task>,
    staged: &Staged,
) -> Result<(), Problem> {
    let clock = &shared.settings.world.clock;
    let start_ns = clock.now_ns();
    // A sync that failed beside the copy counts as the last one does: what it was to keep may be lost.
    let synced_aside = staged.journal().map_or(Ok(()), Journal::close);
    synced_aside.map_err(|errno| Problem::system("sync", &task.target_name, errno.0))?;
    let cut_off = cut_to_length(task, staged);
    cut_off.map_err(|errno| Problem::system("set the length of", &task.target_name, errno.0))?;
    source_is_whole_or_longer(shared, task)?;
    keep_attributes(shared, task, staged)?;
    waits.metadata += clock.now_ns() - start_ns;
    // Of what an earlier run wrote the system may have lost something since; the file's own sync is told of it, that of
    // the whole file system at a tree's end need not be.
    let goes_on = staged.goes_on && shared.settings.options.sync != Sync::None;
    // Reading back needs the sync too: what only the cache holds cannot come from the device.
    if shared.syncs_data(task, staged) || goes_on || task.verify {
        let _stage = within(Stage::Sync);
        let start_ns = clock.now_ns();
        staged.sync()?;
        waits.sync += clock.now_ns() - start_ns;
    }
    Ok(())
}

/// Removes the padding of a direct write, and what an older file had behind the end.
fn cut_to_length(task: &Task, staged: &Staged) -> Result<(), Errno> {
    let padded =
        matches!(&task.sink, Sink::File(file) if !task.length().is_multiple_of(u64::from(file.align_bytes)));
    if padded || staged.is_in_place() { staged.handle.set_len(task.length()) } else { Ok(()) }
}

fn keep_attributes(shared: &Shared<'_>, task: &Task, staged: &Staged) -> Result<(), Problem> {
    let keep = if task.original.is_some() { shared.settings.options.keep } else { Keep::NOTHING };
    let replaced = replaced(staged, keep);
    let new = new(task, staged, keep, replaced.as_ref());
    let kept = match &task.original {
        Some(original) => copy_attributes(original, staged, keep, new),
        None => attributes_of_new(staged, new),
    };
    let lost = kept.map_err(|errno| Problem::system("set the attributes of", &task.target_name, errno.0))?;
    shared.ledger.tell_lost(lost, || task.target_name.clone());
    Ok(())
}

fn copy_attributes(original: &Original, staged: &Staged, keep: Keep, new: New<'_>) -> Outcome<Lost> {
    match (&original.held, &*staged.handle) {
        (Held::Here(from), to) => copy_of_handle(from, &original.meta, to, keep, new),
        (Held::There(file), Handle::Os(to)) => {
            let (meta, told) = file.told().map_or((&original.meta, &[][..]), |(meta, told)| (meta, told));
            attributes::copy(Bearer::Told(told), meta, Bearer::Open(to), keep, new)
        }
        (Held::There(_), Handle::Sim(_)) => unreachable!("the simulation has one host"),
    }
}

/// A stream has no attributes: its copy gets those of any new file, or keeps those of the file that it replaces.
fn attributes_of_new(staged: &Staged, new: New<'_>) -> Outcome<Lost> {
    match &*staged.handle {
        Handle::Os(file) if new.made => {
            let to = Bearer::Open(file);
            attributes::copy(Bearer::Told(&[]), &to.meta()?, to, Keep::NOTHING, new)
        }
        _ => Ok(Lost::default()),
    }
}

fn new<'open>(task: &Task, staged: &Staged, keep: Keep, replaced: Option<&'open File>) -> New<'open> {
    let made = !staged.is_in_place();
    let handed_down = match (&task.leaf, &staged.folder) {
        (Some(leaf), _) => leaf.spot.branch.traits.handed_down,
        (None, Folder::Os(folder)) if !keep.mode => handed_down(folder),
        (None, _) => None,
    };
    let bare = made && !staged.goes_on && task.leaf.is_some() && handed_down.is_none();
    New { made, bare, handed_down, replaced: replaced.map(Bearer::Held) }
}

/// The file that is replaced, where something of it stays.
fn replaced(staged: &Staged, keep: Keep) -> Option<File> {
    let Folder::Os(folder) = &staged.folder else { return None };
    let stays = keep.leaves_some() && !staged.is_in_place();
    let held = stays.then(|| names::hold(folder, &staged.name)).and_then(Result::ok)?;
    file_meta(&held).is_ok_and(|meta| meta.kind == FileKind::Regular).then_some(held)
}

pub(crate) fn publish(
    shared: &Shared<'_>,
    waits: &mut Waits,
    task: &Task,
    staged: &Staged,
) -> Result<(), Problem> {
    if shared.settings.options.rehearsal_bytes.is_some() {
        shared.ledger.tally().rehearsed.push(Arc::clone(&staged.handle));
        return Ok(());
    }
    let start_ns = shared.settings.world.clock.now_ns();
    if !closes_silently(task, staged) {
        close_first(task, &staged.handle)?;
    }
    staged.publish()?;
    let named_ns = shared.settings.world.clock.now_ns();
    waits.metadata += named_ns - start_ns;
    if shared.syncs_names(task) {
        let _stage = within(Stage::Sync);
        staged.sync_name()?;
        waits.sync += shared.settings.world.clock.now_ns() - named_ns;
    }
    Ok(())
}

/// Whether close(2) has nothing to tell there. Of a tree that is found out once.
fn closes_silently(task: &Task, staged: &Staged) -> bool {
    match &task.leaf {
        Some(leaf) => leaf.spot.branch.traits.syncs_whole,
        None => kind::syncs_whole(staged.folder.room().magic),
    }
}

/// Hears what a close tells before it gets its name, also with `--sync=none`: some file systems (FUSE, NFS, CIFS)
/// keep what was written only then, or fail to.
pub(crate) fn close_first(task: &Task, handle: &Handle) -> Result<(), Problem> {
    handle.flush().map_err(|errno| Problem::system("close", &task.target_name, errno.0))
}
