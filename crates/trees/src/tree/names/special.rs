//! Makes what has no bytes of its own: symbolic links, pipes, devices.
//!
//! Must not know: how folders are listed, how blocks are moved.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

use datapump_engine::Errno;

use crate::listed::Name;
use crate::problem::{AttributeKind, Class, LostAttribute, Operation, Problem};
use crate::report::change::ChangeKind;
use crate::tree::Shared;
use crate::tree::backup::{self, TakenName};
use crate::tree::batch::cursor::BatchCursor;
use crate::tree::findings;
use crate::tree::links::own_attributes;
use datapump_files::attributes::keep::{Keep, New};
use datapump_files::commit::final_name;
use datapump_files::commit::made;
use datapump_files::commit::reserved;
use datapump_files::commit::shortage;
use datapump_files::commit::taken;
use datapump_files::disk::names::HeldName;
use datapump_files::disk::{AttributeHolder, FileKind, Meta, Outcome, file_meta, names};
use datapump_files::identity::{FileId, id};

/// Makes a symbolic link, a pipe or a device, whole: it gets its name when its attributes are set, which are set by a
/// handle that was looked at. A name could be given to another file between two calls, by whoever owns the folder. Gives
/// the inode that it has.
pub(crate) fn make(
    shared: &Shared<'_>,
    cursor: &BatchCursor,
    name: &Name,
    meta: &Meta,
    existing: Option<&Meta>,
) -> Result<Option<FileId>, Problem> {
    // Before the old one is gone.
    let change = findings::change(shared, &cursor.directory, ChangeKind::Copy, name, meta, existing);
    let is_dry = shared.settings.options.dry_run;
    let copy = if is_dry { None } else { placed(shared, cursor, name, meta, existing.is_some())? };
    if !is_dry {
        cursor.directory.claim_made(&name.name, existing.is_none())?;
    }
    count_made(shared, meta.kind);
    shared.ledger.tell(change);
    Ok(copy)
}

fn count_made(shared: &Shared<'_>, kind: FileKind) {
    let mut tally = shared.ledger.tally();
    let count = if kind == FileKind::Symlink { &mut tally.done.links } else { &mut tally.done.specials };
    *count += u64::from(shared.settings.writes);
}

/// Whether it can be made where a folder is in its place: nothing of that is removed before. File systems without links,
/// and users who may make no devices, refuse it.
pub(crate) fn check_can_be_made(
    shared: &Shared<'_>,
    cursor: &BatchCursor,
    name: &Name,
    meta: &Meta,
) -> Result<(), Problem> {
    // In an append-only folder a temporary name would stay, and the folder in the way cannot be removed.
    if shared.settings.options.dry_run || cursor.directory.traits.append_only() {
        return Ok(());
    }
    let make = || make_temporary(shared, cursor, name, meta, false);
    let temporary = match make() {
        Err(problem) if problem.class == Class::Denied && cursor.directory.open_up() => make(),
        made => made,
    }?;
    let removed = names::remove(cursor.target()?, &temporary, false);
    removed.map_err(|errno| Problem::system(Operation::Remove, &cursor.target_path(&temporary), errno.0))
}

/// In a folder of this user that only its mode closes, too. Gives what was made.
fn placed(
    shared: &Shared<'_>,
    cursor: &BatchCursor,
    name: &Name,
    meta: &Meta,
    stands: bool,
) -> Result<Option<FileId>, Problem> {
    match replace(shared, cursor, name, meta, stands) {
        Err(problem) if problem.class == Class::Denied && cursor.directory.open_up() => {
            replace(shared, cursor, name, meta, stands)
        }
        // A pump that ended meanwhile took it for a leftover: such a temporary name cannot be locked.
        Err(problem) if problem.class == Class::Missing => replace(shared, cursor, name, meta, stands),
        placed => placed,
    }
}

fn not_made(kind: FileKind, path: &Path, errno: Errno, target: &File) -> Problem {
    match errno {
        Errno::EEXIST => taken(path),
        errno => shortage::of_name(verb(kind), path, errno, target),
    }
}

/// Makes it, without attributes, and gives its temporary name; in an append-only folder the final one.
fn make_temporary(
    shared: &Shared<'_>,
    cursor: &BatchCursor,
    name: &Name,
    meta: &Meta,
    stands: bool,
) -> Result<OsString, Problem> {
    let (target, path) = (cursor.target()?, cursor.target_path(&name.name));
    // What a kill leaves under that name is swept by a run that finds a list.
    cursor.directory.root.list.begin(&shared.ledger, shared.settings.options, &shared.trees.devices);
    let points_to = match meta.kind {
        FileKind::Symlink => Some(cursor.source().read_symlink(name, &cursor.source_path(&name.name))?),
        _ => None,
    };
    let make = |temporary: &OsStr| make_one(meta, points_to.as_deref(), target, temporary);
    let temporary = if !cursor.directory.traits.append_only() {
        reserved::under_new_name(make).map(|(temporary, ())| temporary)
    } else if stands {
        return Err(final_name::append_only(&path));
    } else {
        // A temporary name would stay.
        make(&name.name).map(|()| name.name.clone())
    };
    let wrong = |errno| not_made(meta.kind, &path, errno, target);
    temporary.map_err(|errno| Problem { lost: cannot_hold(meta.kind, errno), ..wrong(errno) })
}

fn replace(
    shared: &Shared<'_>,
    cursor: &BatchCursor,
    name: &Name,
    meta: &Meta,
    stands: bool,
) -> Result<Option<FileId>, Problem> {
    let (target, path) = (cursor.target()?, cursor.target_path(&name.name));
    let source_path = cursor.source_path(&name.name);
    let wrong = |errno| not_made(meta.kind, &path, errno, target);
    let temporary = make_temporary(shared, cursor, name, meta, stands)?;
    let held = made::hold(target, &temporary, meta, &path)?;
    let (to, keep) = (AttributeHolder::Held(&held), shared.settings.options.attributes.keep);
    let handed_down = cursor.directory.traits.handed_down;
    let stood = stands.then(|| replaced(target, &name.name, meta, keep)).flatten();
    let stood = stood.as_ref().map(AttributeHolder::Held);
    let new =
        New { made: true, bare: handed_down.is_none(), handed_down, shows_taken: false, replaced: stood };
    let kept = match own_attributes::lost(shared, target, meta) {
        Some(lost) => Ok(Ok(lost)),
        None => cursor.source().copy_attributes(name, &source_path, meta, to, keep, new),
    };
    let done = kept.and_then(|kept| {
        shared.ledger.tell_lost(kept.map_err(wrong)?, || path.clone());
        let taken = TakenName::taken(shared, target, &name.name, &held, Some(meta));
        if stands {
            backup::of_entry(shared, &cursor.directory, taken, || {
                let kept = |errno| final_name::of_kept(wrong(errno), target, &name.name);
                names::rename(target, &temporary, target, &name.name).map_err(kept)
            })
        } else if temporary == name.name {
            backup::of_new_entry(shared, &cursor.directory, taken, || Ok(()))
        } else {
            backup::of_new_entry(shared, &cursor.directory, taken, || {
                names::rename_new(target, &temporary, &name.name).map_err(wrong)
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

/// The target's file system has nothing of this kind, or this user may not make it: its names are not copied, and hold no
/// content for whose sake others had to stay.
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

/// Whether what stands there is the same but for its attributes.
pub(crate) fn is_same(cursor: &BatchCursor, name: &Name, meta: &Meta, there: &Meta) -> bool {
    if (meta.kind, meta.special_device) != (there.kind, there.special_device) {
        return false;
    }
    let Ok(target) = cursor.target() else { return false };
    let path = cursor.source_path(&name.name);
    meta.kind != FileKind::Symlink
        || cursor.source().read_symlink(name, &path).ok() == names::read_symlink(target, &name.name).ok()
}
