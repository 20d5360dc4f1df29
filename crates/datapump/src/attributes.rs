//! What a file carries besides its bytes: owner, mode, extended attributes and ACLs, times.
//!
//! The order matters: a new owner clears set-id bits and capabilities (chown(2)), a new mode changes the mask of an
//! ACL, and everything else changes the times.
//!
//! Must not know: names, when the file is committed.

use std::ffi::{CStr, CString};

use datapump_engine::{Errno, Handle};
use rustix::fs::{Timespec, Timestamps};

use crate::disk::{Bearer, FileKind, Meta, Outcome};
use crate::options::{Keep, SET_ID_BITS};

const EPERM: Errno = Errno(1);
const EACCES: Errno = Errno(13);
const EINVAL: Errno = Errno(22);
const EOPNOTSUPP: Errno = Errno(95);

/// What could not be kept although the rest was: one line for the user each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost(pub(crate) Vec<String>);

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
    let was_owners = (before.uid, before.gid) == (meta.uid, meta.gid);
    let is_owners = was_owners || (keep.owner && set_owner(meta, to, &mut lost)?);
    // Before the mode: a user may set attributes only on a file that its mode lets them write. An access control list
    // and the mode share the bits of the group, which are the same in the source's two.
    let has_xattrs = copy_xattrs(from, to, (keep, new.bare), &mut lost)?;
    let mode = wanted_mode(meta, &before, is_owners, keep, new);
    if keep.mode && !is_owners && meta.mode & SET_ID_BITS != 0 && meta.kind == FileKind::Regular {
        lost.0.push(
            "set-user-id and set-group-id: not kept, because the copy does not belong to the same owner"
                .into(),
        );
    }
    let stands = was_owners && !has_xattrs && before.mode == mode;
    if meta.kind != FileKind::Symlink && !stands {
        set_mode(to, mode, &mut lost)?;
    }
    if keep.times {
        copy_times(meta, to)?;
    }
    Ok(lost)
}

/// Gives `to` the times of access and of change.
pub(crate) fn copy_times(meta: &Meta, to: Bearer<'_>) -> Outcome<()> {
    let (last_access, last_modification) = (timespec(meta.atime_ns), timespec(meta.mtime_ns));
    to.set_times(&Timestamps { last_access, last_modification })
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
            lost.0.push("permissions: this file system does not keep them all".into());
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
            lost.0.push("owner: not permitted; the copy belongs to this user".into());
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
    let removed = !bare && remove_others(&names, to)?;
    for name in &names {
        let Some(value) = from.xattr_value(name)? else { continue };
        match to.set_xattr(name, &value) {
            Ok(()) => {}
            Err(EPERM | EACCES | EOPNOTSUPP | EINVAL) => {
                let name = crate::shown(name.to_bytes());
                lost.0.push(format!("extended attribute {name}: not permitted here; there may be others"));
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(!names.is_empty() || removed)
}

/// Whether two files differ in the extended attributes and access control lists that are kept. Labels of the system,
/// which may differ for its own reasons, do not count.
pub(crate) fn hidden_differ(from: Bearer<'_>, to: Bearer<'_>, keep: Keep) -> bool {
    let names = |bearer: Bearer<'_>| {
        let mut names = bearer.xattr_names().unwrap_or_default();
        names.retain(|name| if is_acl(name) { keep.mode } else { keep.xattrs && is_compared(name) });
        names.sort();
        names
    };
    let (one, other) = (names(from), names(to));
    one != other || one.iter().any(|name| from.xattr_value(name) != to.xattr_value(name))
}

fn is_compared(name: &CStr) -> bool {
    is_copied(name) || name == c"security.capability"
}

fn is_copied(name: &CStr) -> bool {
    is_acl(name) || [&b"user."[..], b"trusted."].iter().any(|space| name.to_bytes().starts_with(space))
}

fn is_acl(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"system.posix_acl_")
}

/// Removes what the folder handed down (a default ACL would let in whom the source keeps out) and what an older file
/// had. Labels of the system and properties of the file system stay.
fn remove_others(names: &[CString], to: Bearer<'_>) -> Outcome<bool> {
    let others = to.xattr_names()?.into_iter().filter(|name| is_copied(name) && !names.contains(name));
    let others: Vec<CString> = others.collect();
    others.iter().try_for_each(|name| to.remove_xattr(name))?;
    Ok(!others.is_empty())
}

fn timespec(ns: i128) -> Timespec {
    const NS: i128 = 1_000_000_000;
    Timespec { tv_sec: ns.div_euclid(NS) as i64, tv_nsec: ns.rem_euclid(NS) as i64 }
}
