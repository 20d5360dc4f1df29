//! Targets that take the bytes of a file once and in order: object stores that are mounted by FUSE (mountpoint-s3,
//! goofys, rclone without a cache of writes). An object is uploaded while it is written and exists once it is closed.
//! Nothing of it is written again, and most such file systems rename nothing and keep no attributes.
//!
//! Where: [`probe`] makes a file in the folder of a target, once a job, and only on file systems whose type says nothing
//! of what they do (FUSE, unknown ones). What decides are its answers, never a name: a file system is written in order
//! if it refuses a byte behind the end of a file, or to rename one. The byte behind the end is the first one that is
//! written, so that the store gives up the upload: no object remains of the probe, also where nothing can be removed.
//!
//! What follows: a file is open for writing alone, under a temporary name where it can be renamed, else under its final
//! name from the start. One that exists is emptied by its open (`O_TRUNC`), so that a store keeps the old object until
//! the new one is whole; where that is refused it is removed first. A file system that takes bytes anywhere is no store,
//! whatever it renames: what its files hold would be gone at once, so that none is emptied. Whole means closed:
//! what close(2) says counts, and nothing is read back before it. A sync that the file system does not know is no error.
//! A file that is given up is made one that the store refuses, by a byte out of order; what remains of it is removed, or
//! else emptied and given a time before all sources, so that no later run takes it for a copy.
//!
//! Followed by `StagedFile` here; in the library by the request plan (one write under way, files as a whole to one
//! lane, holes as zeros), `copy_method` (no direct write, nothing shared), trees (no list, no sync of folders).
//!
//! Must not know: plans, trees, what is reported to users.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::os::linux::KernelCall;
use datapump_engine::{Errno, Handle};

use crate::attributes;
use crate::commit::reserved;
use crate::commit::shortage;
use crate::commit::temporary::{Siblings, busy};
use crate::commit::{Before, CommitStage, FinalName, StagedFile, resume_or_create, taken};
use crate::disk::{self, Access, AttributeHolder, FileCalls, FileKind, Folder, Meta, Outcome, names};
use crate::problem::{Class, Operation, Problem};

/// How a file system says that it does not do something. `EIO` is a fault, but for a byte out of order.
const REFUSALS: [Errno; 5] = [Errno::EPERM, Errno::EINVAL, Errno::ENOSYS, Errno::ESPIPE, Errno::EOPNOTSUPP];

const GROUP_AND_OTHERS: u32 = 0o077;

/// Facts about a file system that takes files in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InOrder {
    /// The device of it.
    pub device: u64,
    /// A file can be renamed once it is written.
    pub renames: bool,
    /// A byte behind the end is refused, and the upload with it.
    pub refuses_gaps: bool,
    /// A new file has the mode with which it is made.
    pub keeps_modes: bool,
}

/// Whether others could read what is written to an existing file, and nobody can change that.
pub type StaysOpen<'copy> = &'copy dyn Fn(&Handle) -> bool;

/// Finds out whether a folder lies on such a file system, where its type does not say (`kind::may_take_in_order`). What
/// cannot be tried is left to the copy, which says why.
pub fn probe(folder: &File) -> Option<InOrder> {
    let before = disk::file_meta(folder).ok()?;
    let made = reserved::probe_name(folder, |name| names::create_to_write(folder, name));
    let (name, file) = made.map(|(name, file)| (name, Handle::Os(file))).ok()?;
    // Another pump would take it for a leftover.
    let _ = file.try_lock();
    let tried = Cell::new(None);
    let renamed = reserved::under_new_name(|new| {
        tried.set(Some(new.to_owned()));
        names::rename(folder, &name, folder, new)
    });
    let keeps_modes = file.meta().is_ok_and(|made| made.mode & GROUP_AND_OTHERS == 0);
    let put = file.put(1, b"-");
    let refuses_gaps =
        put.is_err_and(|errno| errno == Errno::EIO || is_file_systems(errno, KernelCall::Pwrite64));
    drop(file);
    let (renames, left) = match renamed {
        Ok((new, ())) => (true, [Some(new), None]),
        // It may have been performed all the same.
        Err(Errno::EINTR) => (true, [Some(name), tried.take()]),
        Err(errno) => (!is_file_systems(errno, KernelCall::Renameat), [Some(name), None]),
    };
    for name in left.into_iter().flatten() {
        // An upload that was given up has nothing to remove.
        let _ = names::remove(folder, &name, false);
    }
    // A run with nothing to do finds the folder as it was.
    let _ = attributes::give_back_times(&before, folder);
    let takes = InOrder { device: before.device, renames, refuses_gaps, keeps_modes };
    (refuses_gaps || !renames).then_some(takes)
}

/// Whether the file system refuses, rather than a sandbox.
fn is_file_systems(errno: Errno, call: KernelCall) -> bool {
    REFUSALS.contains(&errno) && !call.is_refused_by(errno)
}

/// Whether a sync says that there is none.
pub(super) fn is_unknown_sync(errno: Errno) -> bool {
    REFUSALS.contains(&errno)
}

impl StagedFile {
    /// A file that is written in order, under a temporary name if it can be renamed.
    pub fn in_order(
        at: FinalName,
        before: Before,
        takes: InOrder,
        stays_open: StaysOpen<'_>,
        siblings: &dyn Siblings,
    ) -> Result<StagedFile, Problem> {
        let (stage, handle) = if takes.renames {
            let create = |new: &OsStr| create(&at.folder, new);
            let made = resume_or_create(&at, None, siblings, create)?;
            (CommitStage::Temporary(made.0), made.1)
        } else {
            let (handle, replaced) = open(&at, before, takes, stays_open)?;
            (CommitStage::Final(replaced.map(Box::new)), handle)
        };
        let staged = StagedFile::new(at, stage, before, handle);
        Ok(StagedFile { takes: Some(takes), ..staged })
    }
}

/// A file that is open for writing under its final name, and what one was that existed and was emptied for it.
type OpenedFinal = (Handle, Option<Meta>);

/// Opens a new file under its final name, or the one that exists, emptied.
fn open(
    at: &FinalName,
    before: Before,
    takes: InOrder,
    stays_open: StaysOpen<'_>,
) -> Result<OpenedFinal, Problem> {
    let FinalName { folder, name, path } = at;
    let system = |errno: Errno| shortage::of_name_in(Operation::Create, path, errno, folder);
    let Folder::Os(open) = folder else { return Err(system(Errno::EOPNOTSUPP)) };
    let opened = match names::create_to_write(open, name) {
        Err(Errno::EEXIST) if before == Before::Nothing => return Err(taken(path)),
        Err(Errno::EEXIST) => {
            let existing = folder.open(name, Access::Read).ok();
            // Before it is emptied: another pump may be writing it.
            if existing.as_ref().is_some_and(|existing| disk::is_locked(existing.os())) {
                return Err(busy(path));
            }
            if !takes.refuses_gaps && !existing.as_ref().is_some_and(holds_nothing) {
                return Err(refused(path, KEEPS_NOTHING));
            }
            if takes.keeps_modes && existing.as_ref().is_some_and(stays_open) {
                return Err(refused(path, STAYS_OPEN));
            }
            drop(existing);
            emptied_or_new(open, name).map_err(|errno| not_replaced(path, errno))?
        }
        created => (Handle::Os(created.map_err(system)?), None),
    };
    match opened.0.try_lock() {
        Ok(false) => Err(busy(path)),
        _ => Ok(opened),
    }
}

const KEEPS_NOTHING: &str = "exists, and this file system renames nothing: what it holds would be lost before the new \
                             content is complete; copy it by itself with --inplace, or remove it first";
const STAYS_OPEN: &str =
    "exists, others could read what is written to it, and its mode cannot be set; remove it first";

fn refused(path: &Path, words: &str) -> Problem {
    Problem::new(Class::Refused, Operation::Create, path, words)
}

/// Read as well: what makes its content as it is read shows no size.
fn holds_nothing(existing: &Handle) -> bool {
    let is_file = existing.meta().is_ok_and(|meta| meta.kind == FileKind::Regular && meta.size_bytes == 0);
    is_file && existing.peek(0, &mut [0]) == Ok(0)
}

/// Opens the existing file, emptied. One with more names, or that cannot be emptied, is removed, and a new one made.
fn emptied_or_new(folder: &File, name: &OsStr) -> Outcome<OpenedFinal> {
    let before = names::metadata(folder, name)?;
    // Emptied, another name of it would be, too.
    let emptied = if before.links > 1 { Err(Errno::EOPNOTSUPP) } else { names::open_emptied(folder, name) };
    match emptied {
        Ok(file) => Ok((Handle::Os(file), Some(before))),
        Err(errno) if REFUSALS.contains(&errno) => {
            names::remove(folder, name, false).map_err(|_| errno)?;
            let file = names::create_to_write(folder, name)?;
            Ok((Handle::Os(file), None))
        }
        // A fault: the old object stays.
        Err(errno) => Err(errno),
    }
}

fn not_replaced(path: &Path, errno: Errno) -> Problem {
    let problem = Problem::system(Operation::Create, path, errno.0);
    let hint = "its file system neither empties nor removes files: mount it so that it does (mountpoint-s3: \
                --allow-overwrite or --allow-delete), or choose another name";
    let message = format!("{}; {hint}", problem.message);
    // A fault, or a plain user lacks the permission: that is said as ever.
    if REFUSALS.contains(&errno) { Problem { message, class: Class::Refused, ..problem } } else { problem }
}

/// Makes a store refuse what is uploaded, by a byte out of order.
pub(super) fn refuse_upload(handle: &Handle, takes: InOrder) {
    if takes.refuses_gaps {
        let end = handle.meta().map_or(0, |meta| meta.size_bytes);
        let _ = handle.put(end + 1, b"-");
    }
}

/// Removes a file under its final name, or opens what it was to replace to others again, if nothing was stored.
///
/// Errors: the file remains there, in part.
pub(super) fn give_up(
    folder: &Folder,
    name: &OsStr,
    handle: &Arc<Handle>,
    replaced: Option<&Meta>,
    takes: InOrder,
) -> Outcome<()> {
    refuse_upload(handle, takes);
    // A close that fails has stored nothing: what exists is the file that was to be replaced, or a name that ends with
    // the handle.
    if handle.flush().is_err() {
        match replaced {
            Some(before) => open_again(folder, name, before),
            None => drop(folder.remove(name)),
        }
        return Ok(());
    }
    match folder.remove(name) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(_) if folder.metadata(name) == Err(Errno::ENOENT) => Ok(()),
        Err(errno) => {
            make_useless(handle);
            Err(errno)
        }
    }
}

/// Gives a file that was not replaced back its owner and mode from before it was closed to others, if it is still that file.
fn open_again(folder: &Folder, name: &OsStr, before: &Meta) {
    let Folder::Os(folder) = folder else { return };
    let Ok(existing) = names::hold(folder, name) else { return };
    let state = |meta: &Meta| (meta.size_bytes, meta.mtime_ns);
    let to = AttributeHolder::Held(&existing);
    let Ok(now) = to.meta() else { return };
    if state(&now) == state(before) && (now.uid, now.gid, now.mode) != (before.uid, before.gid, before.mode) {
        // Best effort on the way out: it stays closed.
        let _ = to.set_owner(Some(before.uid), before.gid);
        let _ = to.set_mode(before.mode);
    }
}

/// What cannot be removed is emptied, and older than any source: no later run takes it for a copy. Best effort.
fn make_useless(handle: &Handle) {
    let _ = handle.set_len(0);
    let _ = attributes::copy_times(&Meta::nothing(), AttributeHolder::Open(handle.os()));
}

/// Makes a file to be renamed, under one of the temporary names of its own.
fn create(folder: &Folder, temporary: &OsStr) -> Outcome<Handle> {
    match folder {
        Folder::Os(folder) => names::create_to_write(folder, temporary).map(Handle::Os),
        Folder::Sim(_) => Err(Errno::EOPNOTSUPP),
    }
}
