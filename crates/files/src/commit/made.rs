//! Checks that an existing name is what this run has just made there. A user who may write to the folder may have put
//! something else in its place. From then on the handle alone counts, never the name.
//!
//! Must not know: what is made, what it is given.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use datapump_engine::Errno;

use crate::commit::reserved::{LIST_NAME, under_new_name};
use crate::disk::names::HeldName;
use crate::disk::{AttributeHolder, FileKind, Meta, Outcome, file_meta, names};
use crate::problem::{Class, Operation, Problem};

/// File systems take times from a clock that moves in ticks of at most this.
const TICK: Duration = Duration::from_millis(20);

/// Holds a pipe, a device or a symbolic link that was made like `like`.
pub fn hold(folder: &File, name: &OsStr, like: &Meta, path: &Path) -> Result<HeldName, Problem> {
    let system = |errno: Errno| Problem::system(Operation::OpenMade, path, errno.0);
    let held = names::hold(folder, name).map_err(system)?;
    let meta = AttributeHolder::Held(&held).meta().map_err(system)?;
    let is_like = (meta.kind, meta.special_device) == (like.kind, like.special_device);
    if is_like && meta.links == 1 && is_own(folder, &meta) { Ok(held) } else { Err(replaced(path)) }
}

/// Holds a folder that was made, whatever its mode.
pub fn hold_folder(folder: &File, name: &OsStr, path: &Path) -> Result<HeldName, Problem> {
    let system = |errno: Errno| Problem::system(Operation::OpenMade, path, errno.0);
    let held = names::hold(folder, name).map_err(system)?;
    let meta = AttributeHolder::Held(&held).meta().map_err(system)?;
    if meta.kind == FileKind::Folder && is_own(folder, &meta) { Ok(held) } else { Err(replaced(path)) }
}

/// Whether an open folder is one that was made in `above` since `start`. What shows other times than a new folder has
/// is listed: a new one is empty.
pub fn check_folder(
    above: &File,
    made: &File,
    meta: &Meta,
    start: SystemTime,
    path: &Path,
) -> Result<(), Problem> {
    let start = start.checked_sub(TICK).and_then(|start| start.duration_since(SystemTime::UNIX_EPOCH).ok());
    let start_ns = start.map_or(0, |since| since.as_nanos() as i128);
    let looks_new = meta.mtime_ns == meta.ctime_ns && meta.ctime_ns >= start_ns;
    let system = |errno: Errno| Problem::system(Operation::List, path, errno.0);
    let is_new = looks_new || names::list(made, 0).map_err(system)?.0.is_empty();
    if is_new && is_own(above, meta) { Ok(()) } else { Err(replaced(path)) }
}

/// Whether an open folder is a new root: this user's, with nothing in it but the list of a run that was killed. A
/// folder of this user's that somebody else gave the temporary name would be handed on with all that it holds.
pub fn check_root(above: &File, made: &File, path: &Path) -> Result<(), Problem> {
    let meta = file_meta(made).map_err(|errno| Problem::system(Operation::Make, path, errno.0))?;
    let is_new = holds_a_list_alone(made).map_err(|errno| Problem::system(Operation::List, path, errno.0))?;
    if is_new && is_own(above, &meta) {
        Ok(())
    } else {
        let words = "what stands under its temporary name was made by somebody else, or is not empty; choose \
                     another place";
        Err(Problem::new(Class::Refused, Operation::Make, path, words))
    }
}

/// Whether nothing is in a folder but a list.
pub fn holds_a_list_alone(folder: &File) -> Outcome<bool> {
    let mut cookie = 0;
    loop {
        match names::list(folder, cookie)? {
            (names, _) if names.is_empty() => return Ok(true),
            (names, next) if names.iter().all(|name| name.name == LIST_NAME) => cookie = next,
            _ => return Ok(false),
        }
    }
}

/// Whether others may give other names to what lies in a folder.
pub fn is_open_to_others(folder: &Meta) -> bool {
    const STICKY: u32 = 0o1000;
    const OTHERS_WRITE: u32 = 0o022;
    let is_others = folder.uid != 0 && folder.uid != rustix::process::geteuid().as_raw();
    is_others || folder.mode & OTHERS_WRITE != 0 && folder.mode & STICKY == 0
}

/// Whether something in a folder belongs to whom new files there belong to: this user, or where the file system gives
/// all to one (FAT, NFS that trusts no root) that one.
pub fn is_own(folder: &File, meta: &Meta) -> bool {
    let is_users = |meta: &Meta| meta.uid == rustix::process::geteuid().as_raw();
    is_users(meta) || {
        let owner = under_new_name(|spare| names::owner_of_new(folder, spare));
        owner.is_ok_and(|(_, owner)| owner == meta.uid)
    }
}

fn replaced(path: &Path) -> Problem {
    let words = "another program put something else in its place while it was made; that was not changed";
    Problem::new(Class::Refused, Operation::Make, path, words)
}
