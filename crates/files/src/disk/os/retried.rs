//! The calls of rustix on files and names, made again where they are interrupted: the one place for it. Reads and writes
//! of content are the engine's. Paths may be longer than one call takes.
//!
//! Must not know: what the calls are for.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

use datapump_engine::os::linux::{again, again_named};
use rustix::fs;
pub use rustix::fs::{
    Access, Advice, AtFlags, CWD, FallocateFlags, FileType, FlockOperation, Gid, Mode, OFlags, RawDir,
    RenameFlags, ResolveFlags, SeekFrom, Stat, StatVfs, Statx, StatxAttributes, StatxFlags, Timespec,
    Timestamps, Uid, XattrFlags, accessat, fadvise, fcntl_getfl, fcntl_setfl, flock, fstatfs, ioctl_ficlone,
    ioctl_getflags, makedev,
};
// A sync that failed is final, also an interrupted one.
pub use rustix::fs::{fdatasync, fsync, syncfs};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

use super::long_path::by_parts;

macro_rules! repeated {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty)*) => { $(
        pub fn $name($($argument: $kind),*) -> Result<$answer> {
            again(|| fs::$name($(Clone::clone(&$argument)),*))
        }
    )* }
}

/// Calls that have one effect, however often they are made; or that fail on what they made themselves.
macro_rules! repeated_named {
    ($($done:ident $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty)*) => { $(
        pub fn $name($($argument: $kind),*) -> Result<$answer> {
            again_named(|error| *error == Errno::$done, || fs::$name($(Clone::clone(&$argument)),*))
        }
    )* }
}

repeated! {
    openat2(at: impl AsFd + Clone, path: impl Arg + Clone, flags: OFlags, mode: Mode, resolve: ResolveFlags) -> OwnedFd
    statat(at: impl AsFd + Clone, path: impl Arg + Clone, flags: AtFlags) -> Stat
    statx(at: impl AsFd + Clone, path: impl Arg + Clone, flags: AtFlags, mask: StatxFlags) -> Statx
    fstat(file: impl AsFd + Clone) -> Stat
    fstatvfs(file: impl AsFd + Clone) -> StatVfs
    seek(file: impl AsFd + Clone, to: SeekFrom) -> u64
    ftruncate(file: impl AsFd + Clone, bytes: u64) -> ()
    fallocate(file: impl AsFd + Clone, flags: FallocateFlags, at: u64, bytes: u64) -> ()
    fchmod(file: impl AsFd + Clone, mode: Mode) -> ()
    chmod(path: impl Arg + Clone, mode: Mode) -> ()
    fgetxattr_query(file: impl AsFd + Clone, name: impl Arg + Clone) -> usize
    fchown(file: impl AsFd + Clone, owner: Option<Uid>, group: Option<Gid>) -> ()
    futimens(file: impl AsFd + Clone, times: &Timestamps) -> ()
    utimensat(at: impl AsFd + Clone, path: impl Arg + Clone, times: &Timestamps, flags: AtFlags) -> ()
    fsetxattr(file: impl AsFd + Clone, name: impl Arg + Clone, value: &[u8], flags: XattrFlags) -> ()
    setxattr(path: impl Arg + Clone, name: impl Arg + Clone, value: &[u8], flags: XattrFlags) -> ()
}

repeated_named! {
    EXIST openat(at: impl AsFd + Clone, path: impl Arg + Clone, flags: OFlags, mode: Mode) -> OwnedFd
    EXIST mkdirat(at: impl AsFd + Clone, path: impl Arg + Clone, mode: Mode) -> ()
    EXIST symlinkat(content: impl Arg + Clone, at: impl AsFd + Clone, path: impl Arg + Clone) -> ()
    NOENT unlinkat(at: impl AsFd + Clone, path: impl Arg + Clone, flags: AtFlags) -> ()
    NODATA fremovexattr(file: impl AsFd + Clone, name: impl Arg + Clone) -> ()
    NODATA removexattr(path: impl Arg + Clone, name: impl Arg + Clone) -> ()
}

pub fn open(path: impl Arg, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    by_parts(path, |folder, rest| again(|| fs::openat(folder, rest, flags, mode)))
}

pub fn stat(path: impl Arg) -> Result<Stat> {
    by_parts(path, |folder, rest| again(|| fs::statat(folder, rest, AtFlags::empty())))
}

pub fn lstat(path: impl Arg) -> Result<Stat> {
    by_parts(path, |folder, rest| again(|| fs::statat(folder, rest, AtFlags::SYMLINK_NOFOLLOW)))
}

pub fn chownat(
    at: impl AsFd,
    path: impl Arg + Clone,
    owner: Option<Uid>,
    group: Option<Gid>,
    flags: AtFlags,
) -> Result<()> {
    again(|| fs::chownat(&at, path.clone(), owner, group, flags))
}

pub fn chmodat(at: impl AsFd, path: impl Arg + Clone, mode: Mode, flags: AtFlags) -> Result<()> {
    again(|| fs::chmodat(&at, path.clone(), mode, flags))
}

pub fn mknodat(at: impl AsFd, path: impl Arg + Clone, kind: FileType, mode: Mode, device: u64) -> Result<()> {
    again_named(is_taken, || fs::mknodat(&at, path.clone(), kind, mode, device))
}

pub fn linkat(
    from: impl AsFd,
    old: impl Arg + Clone,
    to: impl AsFd,
    new: impl Arg + Clone,
    flags: AtFlags,
) -> Result<()> {
    again_named(is_taken, || fs::linkat(&from, old.clone(), &to, new.clone(), flags))
}

pub fn renameat(from: impl AsFd, old: impl Arg + Clone, to: impl AsFd, new: impl Arg + Clone) -> Result<()> {
    again_named(is_gone, || fs::renameat(&from, old.clone(), &to, new.clone()))
}

pub fn renameat_with(
    from: impl AsFd,
    old: impl Arg + Clone,
    to: impl AsFd,
    new: impl Arg + Clone,
    flags: RenameFlags,
) -> Result<()> {
    let is_done = |error: &Errno| is_gone(error) || is_taken(error);
    again_named(is_done, || fs::renameat_with(&from, old.clone(), &to, new.clone(), flags))
}

pub fn readlinkat(at: impl AsFd, path: impl Arg + Clone, reuse: Vec<u8>) -> Result<CString> {
    again(|| fs::readlinkat(&at, path.clone(), reuse.clone()))
}

pub fn fgetxattr(file: impl AsFd, name: impl Arg + Clone, value: &mut [u8]) -> Result<usize> {
    again(|| fs::fgetxattr(&file, name.clone(), &mut *value))
}

pub fn getxattr(path: impl Arg + Clone, name: impl Arg + Clone, value: &mut [u8]) -> Result<usize> {
    again(|| fs::getxattr(path.clone(), name.clone(), &mut *value))
}

pub fn flistxattr(file: impl AsFd, list: &mut [u8]) -> Result<usize> {
    again(|| fs::flistxattr(&file, &mut *list))
}

pub fn listxattr(path: impl Arg + Clone, list: &mut [u8]) -> Result<usize> {
    again(|| fs::listxattr(path.clone(), &mut *list))
}

fn is_taken(error: &Errno) -> bool {
    *error == Errno::EXIST
}

fn is_gone(error: &Errno) -> bool {
    *error == Errno::NOENT
}
