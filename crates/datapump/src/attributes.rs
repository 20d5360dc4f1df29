//! What a file carries besides its bytes: owner, mode, extended attributes and ACLs, times.
//!
//! The order matters: a new owner clears set-id bits and capabilities (chown(2)), a new mode changes the mask of an
//! ACL, and everything else changes the times.
//!
//! Must not know: names, when the file is committed.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;

use datapump_engine::{Errno, Handle};
use rustix::fs::{Timespec, Timestamps};

use crate::disk::{Bearer, FileKind, Meta, Outcome, names, xattr_names_at};
use crate::options::{Keep, SET_ID_BITS};
use crate::problem::system_words;

const EPERM: Errno = Errno(1);
const EACCES: Errno = Errno(13);
const EINVAL: Errno = Errno(22);
const EOPNOTSUPP: Errno = Errno(95);

/// What could not be kept although the rest was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// What this user or this file system keeps of no file: told once, whatever file it is.
    pub(crate) of_all: Vec<String>,
    /// What this file alone lost: told of each.
    pub(crate) of_this: Vec<String>,
}

/// What is known of the file or folder that gets attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct New {
    /// This run made it.
    pub(crate) made: bool,
    /// It has no attributes that would have to go: made where new files get nothing from their folder.
    pub(crate) bare: bool,
}

/// Gives `to` the attributes of `from`, both open; in the simulation those that it has.
pub(crate) fn copy_of_handle(from: &Handle, meta: &Meta, to: &Handle, keep: Keep, new: New) -> Outcome<Lost> {
    match (from, to) {
        (Handle::Os(from), Handle::Os(to)) => copy(Bearer::Open(from), meta, Bearer::Open(to), keep, new),
        (_, Handle::Sim(to)) => to.set_attributes(meta.mode, meta.mtime_ns as i64).map(|()| Lost::default()),
        (Handle::Sim(_), Handle::Os(_)) => unreachable!("real and simulated files never meet"),
    }
}

/// Gives `to` the attributes of `from`. What an ordinary user may not set is told, not an error.
pub(crate) fn copy(from: Bearer<'_>, meta: &Meta, to: Bearer<'_>, keep: Keep, new: New) -> Outcome<Lost> {
    let mut lost = Lost::default();
    let before = to.meta()?;
    // First: what a kill leaves behind this is known for a copy by its size and time, whatever its mode (`temporary`).
    if keep.times {
        copy_times(meta, to)?;
        check_times(meta, to, &mut lost)?;
    }
    let was_owners = (before.uid, before.gid) == (meta.uid, meta.gid);
    let is_owners = was_owners || (keep.owner && set_owner(meta, to, &mut lost)?);
    // Before the mode: a user may set attributes only on a file that its mode lets them write. An access control list
    // and the mode share the bits of the group, which are the same in the source's two.
    let has_xattrs = copy_xattrs(from, to, (keep, new.bare), &mut lost)?;
    let mode = wanted_mode(meta, &before, is_owners, keep, new);
    if keep.mode && !is_owners && meta.mode & SET_ID_BITS != 0 && meta.kind == FileKind::Regular {
        lost.of_all.push(
            "set-user-id and set-group-id: not kept, because the copy does not belong to the same owner"
                .into(),
        );
    }
    let stands = was_owners && !has_xattrs && before.mode == mode;
    if meta.kind != FileKind::Symlink && !stands {
        set_mode(to, mode, &mut lost)?;
    }
    Ok(lost)
}

/// Gives `to` the times of access and of change.
pub(crate) fn copy_times(meta: &Meta, to: Bearer<'_>) -> Outcome<()> {
    let (last_access, last_modification) = (timespec(meta.atime_ns), timespec(meta.mtime_ns));
    to.set_times(&Timestamps { last_access, last_modification })
}

/// File systems give a time that they cannot tell another one, and say nothing. All can tell those of these years.
fn check_times(meta: &Meta, to: Bearer<'_>, lost: &mut Lost) -> Outcome<()> {
    const SECOND: i128 = 1_000_000_000;
    /// From 2 January 1980 (FAT) to 18 January 2038 (signed 32 bits).
    const KNOWN: std::ops::Range<i128> = 315_619_200 * SECOND..2_147_385_600 * SECOND;
    if KNOWN.contains(&meta.mtime_ns) && KNOWN.contains(&meta.atime_ns) {
        return Ok(());
    }
    let now = to.meta()?;
    for (what, asked, got) in
        [("change", meta.mtime_ns, now.mtime_ns), ("access", meta.atime_ns, now.atime_ns)]
    {
        // Whole seconds, and FAT's even ones, are as near as some come.
        if (asked - got).abs() > 2 * SECOND {
            let (asked, got) = (asked.div_euclid(SECOND), got.div_euclid(SECOND));
            lost.of_this.push(format!(
                "time of {what}: this file system cannot keep {asked} s since 1970; it is {got} s now"
            ));
        }
    }
    Ok(())
}

/// A mode that is not kept is that of cp without -p, the source's permissions less the umask; what stood there before
/// this run keeps its own.
fn wanted_mode(meta: &Meta, before: &Meta, is_owners: bool, keep: Keep, new: New) -> u32 {
    match (keep.mode, new.made) {
        (true, _) if is_owners => meta.mode,
        // A program that runs as its owner must not come to run as somebody else.
        (true, _) => meta.mode & !SET_ID_BITS,
        (false, true) => meta.mode & 0o777 & !crate::run::umask(),
        (false, false) => before.mode,
    }
}

/// File systems without permissions of their own (FAT) refuse some; the copy is good without.
fn set_mode(to: Bearer<'_>, mode: u32, lost: &mut Lost) -> Outcome<()> {
    match to.set_mode(mode) {
        Err(EPERM | EOPNOTSUPP) => {
            lost.of_all.push("permissions: this file system does not keep them all".into());
            Ok(())
        }
        set => set,
    }
}

/// Whether the owner and group are those of the source now.
fn set_owner(meta: &Meta, to: Bearer<'_>, lost: &mut Lost) -> Outcome<bool> {
    match to.set_owner(Some(meta.uid), meta.gid) {
        Ok(()) => Ok(true),
        Err(EPERM | EINVAL | EOPNOTSUPP) => {
            // The group alone may be permitted: its members may give files to it.
            let _ = to.set_owner(None, meta.gid);
            lost.of_all.push("owner: not permitted; the copy belongs to this user".into());
            Ok(false)
        }
        Err(errno) => Err(errno),
    }
}

/// Copies extended attributes and access control lists; true if the source has any, or the target had.
fn copy_xattrs(
    from: Bearer<'_>,
    to: Bearer<'_>,
    (keep, bare): (Keep, bool),
    lost: &mut Lost,
) -> Outcome<bool> {
    let mut names = from.xattr_names()?;
    names.retain(|name| if is_acl(name) { keep.mode } else { keep.xattrs });
    // An access control list may take from the owner what setting the others needs.
    names.sort_by_key(|name| is_acl(name));
    let removed = !bare && remove_others(&names, to, lost)?;
    for name in &names {
        let value = match from.xattr_value(name) {
            Err(errno @ (EPERM | EACCES)) => {
                let (name, why) = (crate::shown(name.to_bytes()), system_words(errno.0));
                lost.of_this.push(format!("extended attribute {name}: could not be read: {why}"));
                continue;
            }
            value => value?,
        };
        let Some(value) = value else { continue };
        match to.set_xattr(name, &value) {
            Ok(()) => {}
            Err(EPERM | EACCES | EOPNOTSUPP | EINVAL) => {
                let name = crate::shown(name.to_bytes());
                lost.of_all
                    .push(format!("extended attribute {name}: not permitted here; there may be others"));
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(!names.is_empty() || removed)
}

/// Whether two files differ in the extended attributes and access control lists that are kept, by their values. Labels
/// of the system, which may differ for its own reasons, do not count. What cannot be read is not taken for equal.
pub(crate) fn hidden_differ(from: Bearer<'_>, to: Bearer<'_>, keep: Keep) -> Outcome<bool> {
    let (one, other) = (compared(from.xattr_names()?, keep), compared(to.xattr_names()?, keep));
    Ok(one != other || !have_equal_values(from, to, &one))
}

/// The same of a name in two open folders. Most files have no such attributes: then nothing is opened.
pub(crate) fn hidden_of_names_differ(from: &File, to: &File, name: &OsStr, keep: Keep) -> Outcome<bool> {
    if !keep.mode && !keep.xattrs {
        return Ok(false);
    }
    let one = compared(xattr_names_at(from, name)?, keep);
    if one != compared(xattr_names_at(to, name)?, keep) {
        return Ok(true);
    }
    if one.is_empty() {
        return Ok(false);
    }
    let (from, to) = (names::hold(from, name)?, names::hold(to, name)?);
    Ok(!have_equal_values(Bearer::Held(&from), Bearer::Held(&to), &one))
}

/// The same of a file of another host, whose attributes were told.
pub(crate) fn hidden_of_told_differ(from: Bearer<'_>, to: &File, name: &OsStr, keep: Keep) -> Outcome<bool> {
    let one = compared(from.xattr_names()?, keep);
    if one != compared(xattr_names_at(to, name)?, keep) {
        return Ok(true);
    }
    Ok(!one.is_empty() && !have_equal_values(from, Bearer::Held(&names::hold(to, name)?), &one))
}

fn have_equal_values(from: Bearer<'_>, to: Bearer<'_>, names: &[CString]) -> bool {
    let is_equal = |name: &CString| {
        let values = (from.xattr_value(name), to.xattr_value(name));
        matches!(values, (Ok(Some(one)), Ok(Some(other))) if one == other)
    };
    names.iter().all(is_equal)
}

fn compared(mut names: Vec<CString>, keep: Keep) -> Vec<CString> {
    names.retain(|name| if is_acl(name) { keep.mode } else { keep.xattrs && is_files_own(name) });
    names.sort();
    names
}

/// What belongs to the file, whatever system it lies on.
pub(crate) fn is_files_own(name: &CStr) -> bool {
    let spaces = [&b"user."[..], b"trusted."];
    let is_in_space = spaces.iter().any(|space| name.to_bytes().starts_with(space));
    is_acl(name) || is_in_space || name == c"security.capability"
}

fn is_acl(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"system.posix_acl_")
}

/// Removes what the folder handed down (a default ACL would let in whom the source keeps out) and what an older file
/// had. Labels of the system and properties of the file system stay.
fn remove_others(names: &[CString], to: Bearer<'_>, lost: &mut Lost) -> Outcome<bool> {
    let others = to.xattr_names()?.into_iter().filter(|name| is_files_own(name) && !names.contains(name));
    let others: Vec<CString> = others.collect();
    for name in &others {
        match to.remove_xattr(name) {
            Err(errno @ (EPERM | EACCES)) => {
                let (name, why) = (crate::shown(name.to_bytes()), system_words(errno.0));
                lost.of_this.push(format!(
                    "extended attribute {name}: the source does not have it, and it could not be removed: {why}"
                ));
            }
            removed => removed?,
        }
    }
    Ok(!others.is_empty())
}

fn timespec(ns: i128) -> Timespec {
    const NS: i128 = 1_000_000_000;
    Timespec { tv_sec: ns.div_euclid(NS) as i64, tv_nsec: ns.rem_euclid(NS) as i64 }
}
