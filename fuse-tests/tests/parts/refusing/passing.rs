//! The calls of the file system that passes all on, but for what is refused.

use std::ffi::{CString, OsStr};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink};
use std::path::Path;
use std::time::SystemTime;

use fuser::{
    Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, LockOwner, OpenFlags, RenameFlags,
    ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{CWD, XattrFlags};

use super::{Attribute, NOW, Passing, error, kind};

fn name_of(name: &OsStr) -> CString {
    CString::new(name.as_bytes()).expect("no zero")
}

fn is_xattr(name: &OsStr) -> impl Fn(Attribute) -> bool {
    move |attribute| match attribute {
        Attribute::Xattr(begins) => name.as_bytes().starts_with(begins.as_bytes()),
        _ => false,
    }
}

fn done(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

/// As getxattr(2) has it: a size of 0 asks for the size.
fn value(reply: ReplyXattr, size: u32, read: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) {
    let mut bytes = vec![0; 1 << 16];
    match read(&mut bytes) {
        Ok(len) if size == 0 => reply.size(len as u32),
        Ok(len) if len > size as usize => reply.error(Errno::from_i32(34)),
        Ok(len) => reply.data(&bytes[..len]),
        Err(errno) => reply.error(Errno::from_i32(errno.raw_os_error())),
    }
}

/// Answers with the error that is due for a call, if one is.
macro_rules! fails {
    ($disk:expr, $call:literal, $path:expr, $reply:expr) => {
        if let Some(errno) = $disk.failing.error($call, &$path) {
            return $reply.error(errno);
        }
    };
}

impl Filesystem for Passing {
    fn lookup(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEntry) {
        fails!(self, "lookup", self.below(folder, name), reply);
        if self.hides(name) {
            return reply.error(Errno::ENOENT);
        }
        self.entry(&self.below(folder, name), Ok(()), reply);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        fails!(self, "getattr", self.path(number), reply);
        match self.meta(number) {
            Ok(meta) => reply.attr(&NOW, &self.attributes(&meta)),
            Err(wrong) => reply.error(error(wrong)),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        fails!(self, "setattr", self.path(number), reply);
        self.forget(&self.path(number));
        let path = self.given(self.path(number));
        let set_size = |size: u64| -> io::Result<()> {
            match handle {
                Some(handle) => self.open_file(handle)?.set_len(size),
                None => OpenOptions::new().write(true).open(&path)?.set_len(size),
            }
        };
        let changed = size.map_or(Ok(()), |size| set_size(size).map_err(error)).and_then(|()| {
            let owner = |attribute| attribute == Attribute::Owner;
            match uid.or(gid) {
                None => Ok(()),
                Some(_) => self.change(owner, || lchown(&path, uid, gid)),
            }
        });
        let changed = changed.and_then(|()| match mode {
            None => Ok(()),
            Some(mode) => self.change(
                |attribute| attribute == Attribute::Mode,
                || std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode & 0o7777)),
            ),
        });
        // What a write or a new size does to the time is the folder's own business.
        let are_given = matches!(atime, Some(TimeOrNow::SpecificTime(_)))
            || matches!(mtime, Some(TimeOrNow::SpecificTime(_)));
        let changed = changed.and_then(|()| {
            if !are_given {
                return Ok(());
            }
            self.change(|attribute| attribute == Attribute::Times, || self.set_times(&path, (atime, mtime)))
        });
        match changed.and_then(|()| self.meta(number).map_err(error)) {
            Ok(meta) => reply.attr(&NOW, &self.attributes(&meta)),
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        match std::fs::read_link(self.path(number)) {
            Ok(to) => reply.data(to.as_os_str().as_bytes()),
            Err(wrong) => reply.error(error(wrong)),
        }
    }

    fn mknod(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        fails!(self, "mknod", self.below(folder, name), reply);
        let path = self.below(folder, name);
        let kind = rustix::fs::FileType::from_raw_mode(mode);
        let made = rustix::fs::mknodat(CWD, &path, kind, mode.into(), rdev.into());
        self.entry(&path, made.map_err(io::Error::from), reply);
    }

    fn mkdir(&self, _: &Request, folder: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        fails!(self, "mkdir", self.below(folder, name), reply);
        if self.hides(name) {
            return reply.error(Errno::EACCES);
        }
        let path = self.below(folder, name);
        let made = rustix::fs::mkdir(&path, mode.into()).map_err(io::Error::from);
        self.entry(&path, made, reply);
    }

    fn unlink(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let path = self.below(folder, name);
        self.forget(&path);
        done(reply, std::fs::remove_file(path).map_err(error));
    }

    fn rmdir(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(reply, std::fs::remove_dir(self.below(folder, name)).map_err(error));
    }

    fn symlink(&self, _: &Request, folder: INodeNo, name: &OsStr, to: &Path, reply: ReplyEntry) {
        fails!(self, "symlink", self.below(folder, name), reply);
        let path = self.below(folder, name);
        self.entry(&path, symlink(to, &path), reply);
    }

    fn link(&self, _: &Request, number: INodeNo, folder: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let path = self.below(folder, name);
        self.forget(&self.path(number));
        self.entry(&path, std::fs::hard_link(self.path(number), &path), reply);
    }

    fn rename(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        new_folder: INodeNo,
        new: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        fails!(self, "rename", self.below(new_folder, new), reply);
        if self.hides(new) {
            return reply.error(Errno::EACCES);
        }
        let (from, to) = (self.below(folder, name), self.below(new_folder, new));
        [&from, &to].into_iter().for_each(|path| self.forget(path));
        let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
        let renamed = rustix::fs::renameat_with(CWD, &from, CWD, &to, flags).map_err(io::Error::from);
        if renamed.is_ok() {
            let root = self.back.path();
            let (from, to) = (from.strip_prefix(root).expect("below"), to.strip_prefix(root).expect("below"));
            for path in self.state().paths.values_mut() {
                if let Ok(rest) = path.strip_prefix(from) {
                    *path = if rest.as_os_str().is_empty() { to.to_path_buf() } else { to.join(rest) };
                }
            }
        }
        // It is performed and fails.
        fails!(self, "renamed", to, reply);
        done(reply, renamed.map_err(error));
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        fails!(self, "open", self.path(number), reply);
        const ACCESS: i32 = 3;
        let access = flags.0 & ACCESS;
        let opened = OpenOptions::new().read(true).write(access != 0).open(self.path(number));
        match opened {
            Ok(file) => reply.opened(self.opened(number.0, file), FopenFlags::empty()),
            Err(wrong) => reply.error(error(wrong)),
        }
    }

    fn create(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        fails!(self, "create", self.below(folder, name), reply);
        if self.hides(name) {
            return reply.error(Errno::EACCES);
        }
        let path = self.below(folder, name);
        let made = OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(&path);
        match made.and_then(|file| Ok((file, self.found(&path)?))) {
            Ok((file, attributes)) => {
                let handle = self.opened(attributes.ino.0, file);
                reply.created(&NOW, &attributes, Generation(0), handle, FopenFlags::empty());
            }
            Err(wrong) => reply.error(error(wrong)),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.state().open.remove(&handle.0);
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        at: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        fails!(self, "read", self.path(number), reply);
        let mut content = vec![0; bytes as usize];
        match self.open_file(handle).and_then(|file| file.read_at(&mut content, at)) {
            Ok(len) => reply.data(&content[..len]),
            Err(wrong) => reply.error(error(wrong)),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        at: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        fails!(self, "write", self.path(number), reply);
        self.forget(&self.path(number));
        let end = at + bytes.len() as u64;
        let is_beyond = |attribute| matches!(attribute, Attribute::BytesFrom(most) if end > most);
        let write = || self.open_file(handle)?.write_all_at(bytes, at);
        match self.change(is_beyond, write) {
            Ok(()) => reply.written(bytes.len() as u32),
            Err(errno) => reply.error(errno),
        }
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        fails!(self, "fsync", self.path(number), reply);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn flush(&self, _: &Request, number: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        fails!(self, "flush", self.path(number), reply);
        reply.ok();
    }

    fn readdir(&self, _: &Request, folder: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        fails!(self, "readdir", self.path(folder), reply);
        let Ok(listed) = std::fs::read_dir(self.path(folder)) else { return reply.error(Errno::ENOENT) };
        let mut names: Vec<_> = listed.flatten().filter(|name| !self.hides(&name.file_name())).collect();
        names.sort_by_key(std::fs::DirEntry::file_name);
        for (index, name) in names.iter().enumerate().skip(offset as usize) {
            let Ok(meta) = name.path().symlink_metadata() else { continue };
            if reply.add(INodeNo(meta.ino()), index as u64 + 1, kind(&meta), name.file_name()) {
                break;
            }
        }
        reply.ok();
    }

    fn setxattr(
        &self,
        _: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        _: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        let path = self.path(number);
        let set = || Ok(rustix::fs::lsetxattr(&path, name_of(name), value, XattrFlags::empty())?);
        done(reply, self.change(is_xattr(name), set));
    }

    fn getxattr(&self, _: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let path = self.path(number);
        value(reply, size, |bytes| rustix::fs::lgetxattr(&path, name_of(name), bytes));
    }

    fn listxattr(&self, _: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        fails!(self, "listxattr", self.path(number), reply);
        let path = self.path(number);
        value(reply, size, |bytes| rustix::fs::llistxattr(&path, bytes));
    }

    fn removexattr(&self, _: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let path = self.path(number);
        done(reply, self.change(is_xattr(name), || Ok(rustix::fs::lremovexattr(&path, name_of(name))?)));
    }
}
