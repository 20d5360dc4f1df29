//! Holders of attributes: an open file or folder, or a handle of what cannot be opened to read: symbolic links, pipes,
//! devices, files that their mode closes. The same calls for both; none takes a name, so that nobody can swap what it
//! means between two calls.
//!
//! Must not know: which attributes are kept, in which order they are set.

use std::cell::RefCell;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;

use datapump_engine::Errno;
use datapump_engine::os::linux::{KernelCall, list_xattrs_at, set_mode_of_held};
use rustix::io::Errno as System;
use rustix::path::Arg;

use crate::attributes::acl;

use super::names::{CallEffect, HeldName};
use super::os::retried::{self as fs, AtFlags, Gid, Mode, Timestamps, Uid, XattrFlags};
use super::proc::{NEEDS_PROC, path_of_open_file};
use super::{Meta, Outcome, Room, names, os};

/// The names of most files' extended attributes fit in this; the kernel's limit is 64 KiB: xattr(7).
const FEW_BYTES: usize = 256;

/// Something that has attributes.
#[derive(Clone, Copy, Debug)]
pub enum AttributeHolder<'open> {
    /// Open for reading or writing.
    Open(&'open File),
    /// Opened by [`names::hold`].
    Held(&'open HeldName),
    /// At another host: its extended attributes were told, and nothing else can be asked of it or done to it.
    /// A value is missing that could not be read there; an empty name says that they could not be listed.
    Told(&'open [(CString, Option<Vec<u8>>)]),
}

fn errno(error: System) -> Errno {
    Errno(error.raw_os_error())
}

impl AttributeHolder<'_> {
    /// What it is.
    pub fn meta(&self) -> Outcome<Meta> {
        match self {
            AttributeHolder::Open(file) => os::file_metadata(file),
            AttributeHolder::Held(held) => os::file_metadata(held),
            AttributeHolder::Told(_) => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Gives it to another owner and group, or (`None`) to another group alone.
    pub fn set_owner(&self, uid: Option<u32>, gid: u32) -> Outcome<()> {
        let (uid, gid) = (uid.map(Uid::from_raw), Some(Gid::from_raw(gid)));
        match self {
            AttributeHolder::Open(file) => fs::fchown(file, uid, gid),
            AttributeHolder::Held(held) => fs::chownat(held, c"", uid, gid, AtFlags::EMPTY_PATH),
            AttributeHolder::Told(_) => Err(System::OPNOTSUPP),
        }
        .map_err(errno)
    }

    /// Sets the permissions of what is no symbolic link.
    pub fn set_mode(&self, mode: u32) -> Outcome<()> {
        let bits = Mode::from_raw_mode(mode);
        match self {
            AttributeHolder::Open(file) => fs::fchmod(file, bits).map_err(errno),
            AttributeHolder::Held(held) => set_mode_of_held(held, mode).unwrap_or_else(|| {
                held.by_path(
                    CallEffect::Changes,
                    |path| fs::chmod(path, bits),
                    |file| fs::fchmod(file, bits),
                    // It is no link.
                    |at| fs::chmodat(at.folder, at.name, bits, AtFlags::empty()).map_err(errno),
                )
            }),
            AttributeHolder::Told(_) => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Sets the times of access and of change.
    pub fn set_times(&self, times: &Timestamps) -> Outcome<()> {
        match self {
            AttributeHolder::Open(file) => fs::futimens(file, times),
            AttributeHolder::Held(held) => match fs::utimensat(held, c"", times, AtFlags::EMPTY_PATH) {
                // Before Linux 5.8.
                Err(System::INVAL) => {
                    fs::utimensat(fs::CWD, path_of_open_file(held), times, AtFlags::empty())
                }
                set => set,
            },
            AttributeHolder::Told(_) => Err(System::OPNOTSUPP),
        }
        .map_err(errno)
    }

    /// The file system that it lies on, where that is one of this host.
    pub fn room(&self) -> Option<Room> {
        match self {
            AttributeHolder::Open(file) => Some(os::room(file)),
            AttributeHolder::Held(held) => Some(os::room(held)),
            AttributeHolder::Told(_) => None,
        }
    }

    /// The names of its extended attributes; none where the file system has none such.
    pub fn xattr_names(&self) -> Outcome<Vec<CString>> {
        if let AttributeHolder::Told(told) = self {
            let is_listed = told.iter().all(|(name, _)| !name.is_empty());
            return is_listed
                .then(|| told.iter().map(|(name, _)| name.clone()).collect())
                .ok_or(Errno::EACCES);
        }
        let mut few = [0; FEW_BYTES];
        match self.list_xattrs(&mut few) {
            // Most files have none: no memory is asked for.
            Ok(len) => return Ok(split(&few[..len])),
            Err(Errno::ERANGE) => {}
            // A sandbox that refuses the call says nothing of what the file has.
            Err(error) if is_refused(error) => return Err(error),
            Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
        let list = grown(FEW_BYTES, |list| self.list_xattrs(list))?;
        Ok(split(&list))
    }

    /// `None` for what is gone since it was listed.
    pub fn xattr_value(&self, name: &CStr) -> Outcome<Option<Vec<u8>>> {
        if let AttributeHolder::Told(told) = self {
            let found = told.iter().find(|(known, _)| **known == *name);
            return found.map(|(_, value)| value.clone().ok_or(Errno::EACCES)).transpose();
        }
        let read = |value: &mut [u8]| match self {
            AttributeHolder::Open(file) => fs::fgetxattr(file, name, value).map_err(errno),
            AttributeHolder::Held(held) => {
                let value = RefCell::new(value);
                held.by_path(
                    CallEffect::Reads,
                    |path| fs::getxattr(path, name, &mut value.borrow_mut()),
                    |file| fs::fgetxattr(file, name, &mut value.borrow_mut()),
                    |at| offered(KernelCall::Getxattrat, at.get(name, &mut value.borrow_mut())),
                )
            }
            AttributeHolder::Told(_) => Err(Errno::EOPNOTSUPP),
        };
        match grown(FEW_BYTES, read) {
            Ok(value) => Ok(Some(value)),
            Err(Errno(number)) if number == System::NODATA.raw_os_error() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets an extended attribute.
    pub fn set_xattr(&self, name: &CStr, value: &[u8]) -> Outcome<()> {
        let flags = XattrFlags::empty();
        match self {
            AttributeHolder::Open(file) => fs::fsetxattr(file, name, value, flags).map_err(errno),
            AttributeHolder::Held(held) => held.by_path(
                CallEffect::Changes,
                |path| fs::setxattr(path, name, value, flags),
                |file| fs::fsetxattr(file, name, value, flags),
                |at| offered(KernelCall::Setxattrat, at.set(name, value)),
            ),
            AttributeHolder::Told(_) => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Removes an extended attribute that may be gone already.
    pub fn remove_xattr(&self, name: &CStr) -> Outcome<()> {
        let removed = match self {
            AttributeHolder::Open(file) => fs::fremovexattr(file, name).map_err(errno),
            AttributeHolder::Held(held) => held.by_path(
                CallEffect::Changes,
                |path| fs::removexattr(path, name),
                |file| fs::fremovexattr(file, name),
                |at| offered(KernelCall::Removexattrat, at.remove(name)),
            ),
            AttributeHolder::Told(_) => Err(Errno::EOPNOTSUPP),
        };
        let none = [System::NODATA, System::NOTSUP].map(errno);
        removed.or_else(|error| if none.contains(&error) { Ok(()) } else { Err(error) })
    }

    /// Writes the names of extended attributes to `list`, and gives their length.
    fn list_xattrs(&self, list: &mut [u8]) -> Outcome<usize> {
        match self {
            AttributeHolder::Open(file) => fs::flistxattr(file, list).map_err(errno),
            AttributeHolder::Held(held) => {
                let list = RefCell::new(list);
                held.by_path(
                    CallEffect::Reads,
                    |path| fs::listxattr(path, &mut list.borrow_mut()),
                    |file| fs::flistxattr(file, &mut list.borrow_mut()),
                    |at| offered(KernelCall::Listxattrat, at.list(&mut list.borrow_mut())),
                )
            }
            AttributeHolder::Told(_) => Err(Errno::EOPNOTSUPP),
        }
    }
}

/// Before Linux 6.13, or in a sandbox, there is no such call.
fn offered<T>(call: KernelCall, done: Outcome<T>) -> Outcome<T> {
    done.map_err(|errno| if call.is_refused_by(errno) { NEEDS_PROC } else { errno })
}

/// The names of the extended attributes of a name in an open folder: one call where the system has it.
pub fn xattr_names_at(folder: &File, name: &OsStr) -> Outcome<Vec<CString>> {
    let mut few = [0; FEW_BYTES];
    let listed = name.into_with_c_str(|name| Ok(list_xattrs_at(folder, name, &mut few))).map_err(errno)?;
    match listed {
        Some(Ok(len)) => Ok(split(&few[..len])),
        Some(Err(Errno::EOPNOTSUPP)) => Ok(Vec::new()),
        _ => AttributeHolder::Held(&names::hold(folder, name)?).xattr_names(),
    }
}

fn is_refused(errno: Errno) -> bool {
    [KernelCall::Flistxattr, KernelCall::Listxattr].iter().any(|call| call.is_refused_by(errno))
}

/// Reads into more and more memory until it is enough.
fn grown(start: usize, read: impl Fn(&mut [u8]) -> Outcome<usize>) -> Outcome<Vec<u8>> {
    let mut bytes = vec![0; start];
    loop {
        match read(&mut bytes) {
            Ok(len) => {
                bytes.truncate(len);
                return Ok(bytes);
            }
            Err(Errno::ERANGE) => bytes.resize(bytes.len() * 4, 0),
            Err(error) => return Err(error),
        }
    }
}

fn split(list: &[u8]) -> Vec<CString> {
    let split = list.split_inclusive(|&byte| byte == 0);
    split.filter_map(|name| CStr::from_bytes_with_nul(name).ok()).map(CStr::to_owned).collect()
}

/// The permissions that a folder gives to what is made in it: acl(5), default ACLs. `None` if it has no such list.
pub fn handed_down(folder: &File) -> Option<u32> {
    // Most folders have none: nothing is read.
    let len = fs::fgetxattr_query(folder, acl::DEFAULT).ok().filter(|len| *len > 0)?;
    let read = |list: &mut [u8]| fs::fgetxattr(folder, acl::DEFAULT, list).map_err(errno);
    Some(grown(len, read).ok().and_then(|list| acl::mode(&list)).unwrap_or(0))
}
