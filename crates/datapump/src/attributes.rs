//! What a file carries besides its bytes: owner, mode, extended attributes and ACLs, times.
//!
//! The order matters: a new owner clears set-id bits and capabilities (chown(2)), a new mode changes the mask of an
//! ACL, and everything else changes the times.
//!
//! Must not know: names, when the file is committed.

use std::ffi::{CStr, CString};
use std::fs::File;

use datapump_engine::{Errno, Handle};
use rustix::fs::{self, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno as System;

use crate::disk::{Meta, Outcome};

const SET_ID_BITS: u32 = 0o6000;

/// What could not be kept although the rest was: one line for the user each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost(pub(crate) Vec<String>);

/// Gives `to` the attributes of `from`. What an ordinary user may not set is told, not an error.
pub(crate) fn copy_attributes(from: &Handle, meta: &Meta, to: &Handle) -> Outcome<Lost> {
    match (from, to) {
        (Handle::Os(from), Handle::Os(to)) => copy_real(from, meta, to),
        (_, Handle::Sim(to)) => to.set_attributes(meta.mode, meta.mtime_ns as i64).map(|()| Lost::default()),
        (Handle::Sim(_), Handle::Os(_)) => unreachable!("real and simulated files never meet"),
    }
}

fn copy_real(from: &File, meta: &Meta, to: &File) -> Outcome<Lost> {
    let mut lost = Lost::default();
    let mut mode = meta.mode;
    if !set_owner(meta, to)? {
        lost.0.push("owner: not permitted; the copy belongs to this user".into());
        // A program that runs as its owner must not come to run as somebody else.
        mode &= !SET_ID_BITS;
    }
    // Before the mode: a user may set attributes only on a file that its mode lets them write. An access control list
    // and the mode share the bits of the group, which are the same in the source's two.
    copy_xattrs(from, to, &mut lost)?;
    fs::fchmod(to, Mode::from_raw_mode(mode)).map_err(number)?;
    set_times(meta, to)?;
    Ok(lost)
}

/// Whether the owner and group are those of the source now.
fn set_owner(meta: &Meta, to: &File) -> Outcome<bool> {
    let stat = fs::fstat(to).map_err(number)?;
    if (stat.st_uid, stat.st_gid) == (meta.uid, meta.gid) {
        return Ok(true);
    }
    match fs::fchown(to, Some(Uid::from_raw(meta.uid)), Some(Gid::from_raw(meta.gid))) {
        Ok(()) => Ok(true),
        Err(System::PERM | System::INVAL | System::NOTSUP) => {
            // The group alone may be permitted: its members may give files to it.
            let _ = fs::fchown(to, None, Some(Gid::from_raw(meta.gid)));
            Ok(false)
        }
        Err(error) => Err(number(error)),
    }
}

fn copy_xattrs(from: &File, to: &File, lost: &mut Lost) -> Outcome<()> {
    let names = xattr_names(from)?;
    remove_others(&names, to)?;
    for name in names {
        let Some(value) = xattr_value(from, &name)? else { continue };
        match fs::fsetxattr(to, name.as_c_str(), &value, XattrFlags::empty()) {
            Ok(()) => {}
            Err(System::PERM | System::ACCESS | System::NOTSUP | System::INVAL) => {
                lost.0.push(format!(
                    "extended attribute {}: not permitted here",
                    crate::shown(name.as_bytes())
                ));
            }
            Err(error) => return Err(number(error)),
        }
    }
    Ok(())
}

/// Removes what the folder handed down (a default ACL would let in whom the source keeps out) and what an older file
/// had. Labels of the system and properties of the file system stay.
fn remove_others(names: &[CString], to: &File) -> Outcome<()> {
    let is_copied = |name: &CStr| {
        let name = name.to_bytes();
        name == b"system.posix_acl_access" || name.starts_with(b"user.") || name.starts_with(b"trusted.")
    };
    for name in xattr_names(to)?.into_iter().filter(|name| is_copied(name) && !names.contains(name)) {
        match fs::fremovexattr(to, name.as_c_str()) {
            Ok(()) | Err(System::NODATA | System::NOTSUP) => {}
            Err(error) => return Err(number(error)),
        }
    }
    Ok(())
}

fn xattr_names(file: &File) -> Outcome<Vec<CString>> {
    let mut names = vec![0u8; 1024];
    let len = loop {
        match fs::flistxattr(file, &mut names[..]) {
            Ok(len) => break len,
            Err(System::RANGE) => names.resize(names.len() * 4, 0), // the kernel's limit is 64 KiB: xattr(7)
            Err(System::NOTSUP | System::NOSYS) => break 0,
            Err(error) => return Err(number(error)),
        }
    };
    let split = names[..len].split_inclusive(|&byte| byte == 0);
    Ok(split.filter_map(|name| CStr::from_bytes_with_nul(name).ok()).map(CStr::to_owned).collect())
}

fn xattr_value(file: &File, name: &CStr) -> Outcome<Option<Vec<u8>>> {
    let mut value = vec![0u8; 1024];
    loop {
        match fs::fgetxattr(file, name, &mut value[..]) {
            Ok(len) => {
                value.truncate(len);
                return Ok(Some(value));
            }
            Err(System::RANGE) => value.resize(value.len() * 4, 0),
            // Gone since it was listed, or not for this user's eyes.
            Err(System::NODATA | System::PERM | System::ACCESS) => return Ok(None),
            Err(error) => return Err(number(error)),
        }
    }
}

fn set_times(meta: &Meta, to: &File) -> Outcome<()> {
    let times =
        Timestamps { last_access: timespec(meta.atime_ns), last_modification: timespec(meta.mtime_ns) };
    fs::futimens(to, &times).map_err(number)
}

fn timespec(ns: i128) -> Timespec {
    const NS: i128 = 1_000_000_000;
    Timespec { tv_sec: ns.div_euclid(NS) as i64, tv_nsec: ns.rem_euclid(NS) as i64 }
}

fn number(error: System) -> Errno {
    Errno(error.raw_os_error())
}
