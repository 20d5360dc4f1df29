//! A name that is held (O_PATH): looked at and given attributes whatever it is, without being opened.
//!
//! Calls that take no such descriptor get a name of it in /proc. Where that is not mounted a regular file or a directory
//! is opened, and has to be the same one. Of all else the name is used in the directory that it was found in, if it is
//! still the same there; to change something nobody else may be able to put another one there.
//!
//! Must not know: which attributes are kept.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use datapump_engine::os::linux::XattrName;
use rustix::io::Errno as System;

use super::errno;
use crate::disk::os::retried::{self as fs, Mode, OFlags};
use crate::disk::proc::{NEEDS_PROC, is_proc_mounted, path_of_open_file};
use crate::disk::{FileKind, Meta, Outcome, os, own};

/// What a name was when it was opened.
#[derive(Debug)]
pub struct HeldName {
    file: File,
    /// Known only where /proc is not mounted.
    place: Option<HeldPlace>,
}

/// Where it was found.
#[derive(Debug)]
struct HeldPlace {
    folder: File,
    name: CString,
    follows: bool,
}

/// Whether a call changes what it is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::disk) enum CallEffect {
    Reads,
    Changes,
}

impl From<File> for HeldName {
    fn from(file: File) -> HeldName {
        HeldName { file, place: None }
    }
}

impl AsFd for HeldName {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Deref for HeldName {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl HeldName {
    /// Holds a name in an open folder; `follows` a symbolic link or holds it.
    pub fn open(folder: impl AsFd, name: &OsStr, follows: bool) -> Outcome<HeldName> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let flags = if follows { flags } else { flags | OFlags::NOFOLLOW };
        let file = fs::openat(&folder, name, flags, Mode::empty()).map(File::from).map_err(errno)?;
        let place = || {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = fs::openat(&folder, c".", flags, Mode::empty()).ok()?;
            Some(HeldPlace { folder: folder.into(), name: CString::new(name.as_bytes()).ok()?, follows })
        };
        let place = if is_proc_mounted() { None } else { place() };
        Ok(HeldName { file, place })
    }

    /// Without the name.
    pub fn into_file(self) -> File {
        self.file
    }

    /// Does by a path, or else by an open file, or else by the name what no call does to a held file.
    pub(in crate::disk) fn by_path<T>(
        &self,
        effect: CallEffect,
        by_path: impl FnOnce(&CStr) -> rustix::io::Result<T>,
        by_file: impl FnOnce(&File) -> rustix::io::Result<T>,
        by_name: impl FnOnce(XattrName<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        if is_proc_mounted() {
            return by_path(&path_of_open_file(&self.file)).map_err(errno);
        }
        let meta = os::file_metadata(&self.file)?;
        if let Some(opened) = self.opened(&meta) {
            return by_file(&opened).map_err(errno);
        }
        let place = self.place.as_ref().ok_or(NEEDS_PROC)?;
        let is_open_to_others = place.follows || !own::is_closed(&place.folder);
        if effect == CallEffect::Changes && is_open_to_others {
            return Err(NEEDS_PROC);
        }
        place.check(&meta)?;
        let name = XattrName { folder: &place.folder, name: &place.name, follows: place.follows };
        let done = by_name(name)?;
        // What was read may be another one's.
        place.check(&meta).map(|()| done)
    }

    /// The file or directory itself, open.
    fn opened(&self, meta: &Meta) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = match (meta.kind, &self.place) {
            (FileKind::Folder, _) => fs::openat(&self.file, c".", flags, Mode::empty()),
            (FileKind::Regular, Some(place)) => {
                let flags = if place.follows { flags.difference(OFlags::NOFOLLOW) } else { flags };
                fs::openat(&place.folder, &*place.name, flags, Mode::empty())
            }
            _ => return None,
        };
        let opened = File::from(opened.ok()?);
        is_same(&os::file_metadata(&opened).ok()?, meta).then_some(opened)
    }
}

impl HeldPlace {
    fn check(&self, meta: &Meta) -> Outcome<()> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let flags = if self.follows { flags } else { flags | OFlags::NOFOLLOW };
        let now = fs::openat(&self.folder, &*self.name, flags, Mode::empty()).map_err(errno)?;
        if is_same(&os::file_metadata(&now.into())?, meta) { Ok(()) } else { Err(errno(System::STALE)) }
    }
}

fn is_same(one: &Meta, other: &Meta) -> bool {
    (one.device, one.inode, one.kind) == (other.device, other.inode, other.kind)
}
