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
//! the new one is whole; where that is refused it is removed first. Whole means closed: what close(2) says counts, and
//! nothing is read back before it. A sync that the file system does not know is no error. A file that is given up is
//! made one that the store refuses, by a byte out of order; what remains of it is removed.
//!
//! Followed by `StagedFile` here; in the library by the request plan (one write under way, files as a whole to one
//! lane, holes as zeros), `copy_method` (no direct write, nothing shared), trees (no list, no sync of folders).
//!
//! Must not know: plans, trees, what is reported to users.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::os::linux::KernelCall;
use datapump_engine::{Errno, Handle};

use crate::attributes;
use crate::commit::reserved;
use crate::commit::temporary::busy;
use crate::commit::{Before, taken};
use crate::disk::{self, Access, AttributeHolder, FileCalls, Folder, Outcome, names};
use crate::problem::{Class, Operation, Problem};

/// How a file system says that it does not do something. `EIO` is a fault, but for a byte out of order.
const REFUSALS: [Errno; 5] = [Errno::EPERM, Errno::EINVAL, Errno::ENOSYS, Errno::ESPIPE, Errno::EOPNOTSUPP];

/// Facts about a file system that takes files in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InOrder {
    /// The device of it.
    pub device: u64,
    /// A file can be renamed once it is written.
    pub renames: bool,
    /// A byte behind the end is refused, and the upload with it.
    pub refuses_gaps: bool,
}

/// Finds out whether a folder lies on such a file system, where its type does not say (`kind::may_take_in_order`). What
/// cannot be tried is left to the copy, which says why.
pub fn probe(folder: &File) -> Option<InOrder> {
    let before = disk::file_meta(folder).ok()?;
    let made = reserved::probe_name(folder, |name| names::create_to_write(folder, name));
    let (name, file) = made.map(|(name, file)| (name, Handle::Os(file))).ok()?;
    // Another pump would take it for a leftover.
    let _ = file.try_lock();
    let renamed = reserved::under_new_name(|new| names::rename(folder, &name, folder, new));
    let put = file.put(1, b"-");
    let refuses_gaps =
        put.is_err_and(|errno| errno == Errno::EIO || is_file_systems(errno, KernelCall::Pwrite64));
    drop(file);
    let (renames, name) = match renamed {
        Ok((new, ())) => (true, new),
        Err(errno) => (!is_file_systems(errno, KernelCall::Renameat), name),
    };
    // Of an upload that was given up there is nothing to remove.
    let _ = names::remove(folder, &name, false);
    // A run with nothing to do finds the folder as it was.
    let _ = attributes::copy_times(&before, AttributeHolder::Held(folder));
    (refuses_gaps || !renames).then_some(InOrder { device: before.device, renames, refuses_gaps })
}

/// Whether the file system refuses, rather than a sandbox.
fn is_file_systems(errno: Errno, call: KernelCall) -> bool {
    REFUSALS.contains(&errno) && !call.is_refused_by(errno)
}

/// Whether a sync says that there is none.
pub(super) fn is_unknown_sync(errno: Errno) -> bool {
    REFUSALS.contains(&errno)
}

/// A file that is open for writing under its final name.
pub(super) struct OpenedFinal {
    pub(super) handle: Handle,
    /// One that existed was emptied.
    pub(super) replaced: bool,
}

/// Opens a new file under its final name, or the one that exists, emptied.
pub(super) fn open(
    folder: &Folder,
    (name, path): (&OsStr, &Path),
    before: Before,
) -> Result<OpenedFinal, Problem> {
    let system = |errno: Errno| Problem::system(Operation::Create, path, errno.0);
    let Folder::Os(open) = folder else { return Err(system(Errno::EOPNOTSUPP)) };
    // Before it is emptied: another pump may be writing it.
    let is_busy = || folder.open(name, Access::Read).is_ok_and(|existing| disk::is_locked(existing.os()));
    let opened = match names::create_to_write(open, name) {
        Err(Errno::EEXIST) if before == Before::Nothing => return Err(taken(path)),
        Err(Errno::EEXIST) if is_busy() => return Err(busy(path)),
        Err(Errno::EEXIST) => emptied_or_new(open, name).map_err(|errno| not_replaced(path, errno))?,
        created => OpenedFinal { handle: Handle::Os(created.map_err(system)?), replaced: false },
    };
    match opened.handle.try_lock() {
        Ok(false) => Err(busy(path)),
        _ => Ok(opened),
    }
}

fn emptied_or_new(folder: &File, name: &OsStr) -> Outcome<OpenedFinal> {
    match names::open_emptied(folder, name) {
        Ok(file) => Ok(OpenedFinal { handle: Handle::Os(file), replaced: true }),
        Err(errno) => {
            names::remove(folder, name, false).map_err(|_| errno)?;
            let file = names::create_to_write(folder, name)?;
            Ok(OpenedFinal { handle: Handle::Os(file), replaced: false })
        }
    }
}

fn not_replaced(path: &Path, errno: Errno) -> Problem {
    let problem = Problem::system(Operation::Create, path, errno.0);
    let hint = "its file system neither empties nor removes files: mount it so that it does (mountpoint-s3: \
                --allow-overwrite or --allow-delete), or choose another name";
    let message = format!("{}; {hint}", problem.message);
    // A plain user may lack the permission: that is said as ever.
    if errno == Errno::EACCES { problem } else { Problem { message, class: Class::Refused, ..problem } }
}

/// Gives up a file under its final name. Errors: it remains there, in part.
pub(super) fn give_up(
    folder: &Folder,
    name: &OsStr,
    (handle, replaced): (&Arc<Handle>, bool),
    takes: InOrder,
) -> Outcome<()> {
    if takes.refuses_gaps {
        let end = handle.meta().map_or(0, |meta| meta.size_bytes);
        let _ = handle.put(end + 1, b"-");
    }
    // A close that fails has stored nothing: what exists is the file that was to be replaced, or a name that ends with
    // the handle.
    if handle.flush().is_err() {
        let _ = if replaced { Ok(()) } else { folder.remove(name) };
        return Ok(());
    }
    match folder.remove(name) {
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(_) if folder.metadata(name) == Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Makes a file to be renamed, under one of the temporary names of its own.
pub(super) fn create(folder: &Folder, temporary: &OsStr) -> Outcome<Handle> {
    match folder {
        Folder::Os(folder) => names::create_to_write(folder, temporary).map(Handle::Os),
        Folder::Sim(_) => Err(Errno::EOPNOTSUPP),
    }
}
