//! Makes what has no bytes of its own: symbolic links, pipes, devices.
//!
//! Must not know: how folders are listed, how blocks are moved.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

use datapump_engine::Errno;

use crate::problem::{AttributeKind, Class, LostAttribute, Operation, Problem};
use crate::report::change::ChangeKind;
use crate::tree::backup::{self, TakenName};
use crate::tree::batch::cursor::BatchName;
use crate::tree::links::own_attributes;
use crate::tree::{Shared, findings};

use datapump_files::attributes::keep::{Keep, New};
use datapump_files::commit::{final_name, made, reserved, shortage, taken};
use datapump_files::disk::names::HeldName;
use datapump_files::disk::{AttributeHolder, FileKind, Meta, Outcome, file_meta, names};
use datapump_files::identity::{FileId, id};

/// Makes a symbolic link, a pipe or a device, whole: it gets its name when its attributes are set, which are set by a
/// handle that was looked at. A name could be given to another file between two calls, by whoever owns the folder. Gives
/// the inode that it has.
pub(crate) fn make_special(
    at: BatchName<'_>,
    meta: &Meta,
    existing: Option<&Meta>,
) -> Result<Option<FileId>, Problem> {
    // Before the old one is gone.
    let change = findings::change(at.shared, at.directory(), ChangeKind::Copy, at.name, meta, existing);
    let is_dry = at.shared.settings.options.dry_run;
    let copy = if is_dry { None } else { placed(at, meta, existing.is_some())? };
    if !is_dry {
        at.directory().claim_made(&at.name.name, existing.is_none())?;
    }
    count_made(at.shared, meta.kind);
    at.shared.ledger.tell(change);
    Ok(copy)
}

fn count_made(shared: &Shared<'_>, kind: FileKind) {
    let mut tally = shared.ledger.tally();
    let count = if kind == FileKind::Symlink { &mut tally.done.links } else { &mut tally.done.specials };
    *count += u64::from(shared.settings.writes);
}

/// Makes and removes the link, pipe or device under a temporary name, before a folder in its place is removed.
///
/// Errors: it cannot be made, by this user or on this file system.
pub(crate) fn check_can_be_made(at: BatchName<'_>, meta: &Meta) -> Result<(), Problem> {
    // In an append-only folder a temporary name would stay, and the folder in the way cannot be removed.
    if at.shared.settings.options.dry_run || at.directory().traits.append_only() {
        return Ok(());
    }
    let make = || make_temporary(at, meta, false);
    let temporary = at.directory().in_opened(make)?;
    let removed = names::remove(at.target()?, &temporary, false);
    removed.map_err(|errno| Problem::system(Operation::Remove, &at.cursor.target_path(&temporary), errno.0))
}

/// In a folder of this user that only its mode closes, too. Gives what was made.
fn placed(at: BatchName<'_>, meta: &Meta, target_exists: bool) -> Result<Option<FileId>, Problem> {
    match at.directory().in_opened(|| replace(at, meta, target_exists)) {
        // A pump that ended meanwhile took it for a leftover: such a temporary name cannot be locked.
        Err(problem) if problem.class == Class::Missing => replace(at, meta, target_exists),
        placed => placed,
    }
}

fn not_made(kind: FileKind, path: &Path, errno: Errno, target: &File) -> Problem {
    match errno {
        Errno::EEXIST => taken(path),
        errno => shortage::of_name(verb(kind), path, errno, target),
    }
}

/// Makes the link, pipe or device without attributes, and gives its temporary name; in an append-only folder the final one.
fn make_temporary(at: BatchName<'_>, meta: &Meta, target_exists: bool) -> Result<OsString, Problem> {
    let (target, path) = (at.target()?, at.target_path());
    // What a kill leaves under that name is swept by a run that finds a list.
    at.directory().root.list.begin(&at.shared.ledger, at.shared.settings.options, &at.shared.trees.devices);
    let points_to = match meta.kind {
        FileKind::Symlink => Some(at.cursor.source.read_symlink(at.name, &at.source_path())?),
        _ => None,
    };
    let make = |temporary: &OsStr| make_one(meta, points_to.as_deref(), target, temporary);
    let temporary = if !at.directory().traits.append_only() {
        reserved::under_new_name(make).map(|(temporary, ())| temporary)
    } else if target_exists {
        return Err(final_name::append_only(&path));
    } else {
        // A temporary name would stay.
        make(&at.name.name).map(|()| at.name.name.clone())
    };
    let wrong = |errno| not_made(meta.kind, &path, errno, target);
    temporary.map_err(|errno| Problem { lost: cannot_hold(meta.kind, errno), ..wrong(errno) })
}

/// Makes a link, pipe or device with its attributes under a temporary name, and renames it to the final one, behind a backup if
/// something exists there.
fn replace(at: BatchName<'_>, meta: &Meta, target_exists: bool) -> Result<Option<FileId>, Problem> {
    let (target, path) = (at.target()?, at.target_path());
    let source_path = at.source_path();
    let wrong = |errno| not_made(meta.kind, &path, errno, target);
    let temporary = make_temporary(at, meta, target_exists)?;
    let held = made::hold(target, &temporary, meta, &path)?;
    let (to, keep) = (AttributeHolder::Held(&held), at.shared.settings.options.attributes.keep);
    let handed_down = at.directory().traits.handed_down;
    let stood = target_exists.then(|| replaced(target, &at.name.name, meta, keep)).flatten();
    let stood = stood.as_ref().map(AttributeHolder::Held);
    let new =
        New { made: true, bare: handed_down.is_none(), handed_down, shows_taken: false, replaced: stood };
    let kept = match own_attributes::lost_of_link(at.shared, target, meta) {
        Some(lost) => Ok(Ok(lost)),
        None => at.cursor.source.copy_attributes(at.name, &source_path, meta, to, keep, new),
    };
    let done = kept.and_then(|kept| {
        at.shared.ledger.report_lost(kept.map_err(wrong)?, || path.clone());
        let taken = TakenName::from_made(at.shared, target, &at.name.name, &held, Some(meta));
        if target_exists {
            backup::replace_entry(at.shared, at.directory(), taken, || {
                let kept = |errno| final_name::of_kept(wrong(errno), target, &at.name.name);
                names::rename(target, &temporary, target, &at.name.name).map_err(kept)
            })
        } else if temporary == at.name.name {
            backup::make_entry(at.shared, at.directory(), taken, || Ok(()))
        } else {
            backup::make_entry(at.shared, at.directory(), taken, || {
                names::rename_new(target, &temporary, &at.name.name).map_err(wrong)
            })
        }
    });
    // An incomplete entry goes, best effort.
    done.inspect_err(|_| {
        let _ = names::remove(target, &temporary, false);
    })?;
    let has_names = meta.links > 1;
    Ok(has_names.then(|| file_meta(&held)).and_then(Result::ok).map(|made| id(&made)))
}

/// The entry that is replaced, where something of it stays.
fn replaced(target: &File, name: &OsStr, meta: &Meta, keep: Keep) -> Option<HeldName> {
    let held = keep.leaves_some().then(|| names::hold(target, name)).and_then(Result::ok)?;
    file_meta(&held).is_ok_and(|stood| stood.kind == meta.kind).then_some(held)
}

/// The lost attribute to count for an error that says that the target's file system has nothing of this kind, or this
/// user may not make it; `None` for another error.
fn cannot_hold(kind: FileKind, errno: Errno) -> Option<LostAttribute> {
    let kind = match kind {
        FileKind::Symlink => AttributeKind::Symlinks,
        FileKind::Fifo => AttributeKind::Pipes,
        _ => AttributeKind::Devices,
    };
    let is_refused = [Errno::EPERM, Errno::EOPNOTSUPP, Errno::ENOSYS].contains(&errno);
    is_refused.then_some(LostAttribute { kind, names: None })
}

fn verb(kind: FileKind) -> Operation {
    match kind {
        FileKind::Symlink => Operation::MakeLink,
        FileKind::Fifo => Operation::MakePipe,
        _ => Operation::MakeDevice,
    }
}

fn make_one(meta: &Meta, points_to: Option<&OsStr>, target: &File, temporary: &OsStr) -> Outcome<()> {
    match points_to {
        Some(points_to) => names::make_symlink(points_to, target, temporary),
        None => names::make_special(target, temporary, meta),
    }
}

/// Whether the existing link, pipe or device is the same but for its attributes.
pub(crate) fn is_same_special(at: BatchName<'_>, meta: &Meta, existing: &Meta) -> bool {
    if (meta.kind, meta.special_device) != (existing.kind, existing.special_device) {
        return false;
    }
    let Ok(target) = at.target() else { return false };
    let path = at.source_path();
    meta.kind != FileKind::Symlink
        || at.cursor.source.read_symlink(at.name, &path).ok()
            == names::read_symlink(target, &at.name.name).ok()
}
