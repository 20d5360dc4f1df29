//! The real file system in the terms of `disk`, by rustix.
//!
//! Must not know: what the calls are for.

mod long_path;
mod privilege;
pub(crate) mod retried;

pub use privilege::acts_as_owner;

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use datapump_engine::os::linux::{KernelCall, project};
use datapump_engine::{Errno, TransferFlags, os as engine};

use super::{Access, FileKind, Meta, Outcome, Room, proc};
use crate::withheld::{REFUSED, given, is_withheld, may_change};
use retried::{
    self as fs, AtFlags, FallocateFlags, FlockOperation, Mode, OFlags, SeekFrom, Stat, StatxAttributes,
    StatxFlags,
};

/// Together 800 ms: a signal is answered within a second.
const LOCK_TRIES: u32 = 80;
const LOCK_AGAIN_AFTER: Duration = Duration::from_millis(10);

fn errno(error: rustix::io::Errno) -> Errno {
    Errno(error.raw_os_error())
}

pub(super) fn flags(access: Access) -> OFlags {
    let base = match access {
        Access::Read => OFlags::RDONLY,
        Access::ReadWrite => OFlags::RDWR,
        Access::Write => OFlags::WRONLY,
        Access::WriteAlone => OFlags::WRONLY | OFlags::EXCL,
    };
    base | OFlags::CLOEXEC | OFlags::NOCTTY
}

pub(super) fn open(path: &Path, access: Access) -> Outcome<File> {
    fs::open(path, flags(access), Mode::empty()).map(File::from).map_err(errno)
}

/// Opens what is to be a file. A pipe that somebody put there is not waited for: what is done with a file fails on it.
pub(super) fn open_file_at(folder: &File, name: &OsStr, access: Access) -> Outcome<File> {
    let flags = flags(access) | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = given(fs::openat(folder, name, flags, Mode::empty()).map_err(errno)?.into())?;
    fs::fcntl_setfl(&file, OFlags::empty()).map_err(errno)?;
    Ok(file)
}

/// Opens what stands there, and waits for the other side of a pipe.
pub(super) fn open_at(folder: &File, name: &OsStr, access: Access) -> Outcome<File> {
    let flags = flags(access) | OFlags::NOFOLLOW;
    given(fs::openat(folder, name, flags, Mode::empty()).map_err(errno)?.into())
}

/// The same, following a link under the name.
pub(super) fn open_behind(folder: &File, name: &OsStr, access: Access) -> Outcome<File> {
    given(fs::openat(folder, name, flags(access), Mode::empty()).map_err(errno)?.into())
}

pub(super) fn folder(path: &Path) -> Outcome<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::open(path, flags, Mode::empty()).map(File::from).map_err(errno)
}

pub(super) fn create_new(folder: &File, name: &OsStr) -> Outcome<File> {
    let flags = flags(Access::ReadWrite) | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    // 0600 until the source's own attributes are set: a copy is never more readable than its source.
    fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR).map(File::from).map_err(errno)
}

pub(super) fn metadata(path: &Path) -> Outcome<Meta> {
    fs::stat(path).map(meta).map_err(errno)
}

/// The same, not following a link under the name.
pub fn metadata_of_name(path: &Path) -> Outcome<Meta> {
    fs::lstat(path).map(meta).map_err(errno)
}

pub(super) fn metadata_at(folder: &File, name: &OsStr) -> Outcome<Meta> {
    let stat = match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::ACCESS) => {
            return closed_mount(folder, name).ok_or(errno(rustix::io::Errno::ACCESS));
        }
        found => found.map_err(errno)?,
    };
    if is_withheld(stat.st_dev, stat.st_ino) { Err(REFUSED) } else { Ok(meta(stat)) }
}

/// A mount that does not answer this user, as FUSE keeps out all but the user who mounted it: the kernel reports its
/// device to a call that requests nothing else (Linux 5.14).
fn closed_mount(folder: &File, name: &OsStr) -> Option<Meta> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let found = fs::statx(folder, name, flags, StatxFlags::empty()).ok()?;
    let is_closed_mount = found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
        && found.stx_mask & StatxFlags::TYPE.bits() == 0;
    let device = fs::makedev(found.stx_dev_major, found.stx_dev_minor);
    is_closed_mount.then_some(Meta { device, inode: 0, mode: 0, kind: FileKind::Folder, ..Meta::nothing() })
}

/// The same, following a link under the name.
pub(super) fn metadata_behind(folder: &File, name: &OsStr) -> Outcome<Meta> {
    fs::statat(folder, name, AtFlags::empty()).map(meta).map_err(errno)
}

pub(super) fn file_metadata(file: &File) -> Outcome<Meta> {
    fs::fstat(file).map(meta).map_err(errno)
}

/// Attributes from what stat(2) fills in.
fn meta(stat: Stat) -> Meta {
    const NS: i128 = 1_000_000_000;
    let time = |seconds: i64, ns: u64| i128::from(seconds) * NS + i128::from(ns);
    Meta {
        device: stat.st_dev,
        inode: stat.st_ino,
        kind: kind(stat.st_mode),
        size_bytes: stat.st_size as u64,
        // st_blocks counts 512 bytes whatever the block size: stat(2).
        allocated_bytes: (stat.st_blocks as u64).saturating_mul(512),
        // Of 32 bits on some processors.
        #[allow(clippy::useless_conversion)]
        links: u64::from(stat.st_nlink),
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        atime_ns: time(stat.st_atime, stat.st_atime_nsec),
        mtime_ns: time(stat.st_mtime, stat.st_mtime_nsec),
        ctime_ns: time(stat.st_ctime, stat.st_ctime_nsec),
        special_device: stat.st_rdev,
        generation: 0,
        handle: 0,
    }
}

/// The kind in a mode; what is unknown counts as a regular file.
fn kind(mode: u32) -> FileKind {
    match fs::FileType::from_raw_mode(mode) {
        fs::FileType::Directory => FileKind::Folder,
        fs::FileType::BlockDevice => FileKind::BlockDevice,
        fs::FileType::CharacterDevice => FileKind::CharDevice,
        fs::FileType::Fifo => FileKind::Fifo,
        fs::FileType::Socket => FileKind::Socket,
        fs::FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Regular,
    }
}

pub(super) fn remove(folder: &File, name: &OsStr) -> Outcome<()> {
    may_change(folder, name)?;
    fs::unlinkat(folder, name, AtFlags::empty()).map_err(errno)
}

pub(super) fn sync(file: &File) -> Outcome<()> {
    fs::fsync(file).map_err(errno)
}

pub(super) fn try_lock(file: &File) -> Outcome<bool> {
    match fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        // File systems without locks: the name alone must do.
        Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::NOLCK) => Ok(true),
        Err(error) => Err(errno(error)),
    }
}

/// Whether another has the lock of a file that is open for reading; it is not kept.
pub fn is_locked(file: &File) -> bool {
    let is_free = || match fs::flock(file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(fs::flock(file, FlockOperation::Unlock).is_ok()),
        Err(error) => Ok(error != rustix::io::Errno::WOULDBLOCK),
    };
    within_a_moment(is_free) == Ok(false)
}

pub(super) fn lock(file: &File) -> Outcome<bool> {
    within_a_moment(|| try_lock(file))
}

/// Waits a moment for a lock that another has: it may be that of a killed process, whose requests the kernel has still
/// to end (io_uring, 10 ms measured) before it gives up the lock.
fn within_a_moment(mut is_free: impl FnMut() -> Outcome<bool>) -> Outcome<bool> {
    for _ in 0..LOCK_TRIES {
        if is_free()? {
            return Ok(true);
        }
        std::thread::sleep(LOCK_AGAIN_AFTER);
    }
    is_free()
}

pub(super) fn set_len(file: &File, bytes: u64) -> Outcome<()> {
    fs::ftruncate(file, bytes).map_err(errno)
}

/// `EOPNOTSUPP` also where a sandbox refuses the call: then writes show a full disk.
pub(super) fn reserve(file: &File, at: u64, bytes: u64) -> Outcome<()> {
    let reserved = fs::fallocate(file, FallocateFlags::empty(), at, bytes).map_err(errno);
    reserved
        .map_err(|errno| if KernelCall::Fallocate.is_refused_by(errno) { Errno::EOPNOTSUPP } else { errno })
}

/// What statfs(2) reports of a file system; nothing where it fails.
pub(super) fn room(file: impl AsFd) -> Room {
    let Ok(statfs) = fs::fstatfs(file) else { return Room::default() };
    Room {
        free_bytes: statfs.f_bavail.saturating_mul(statfs.f_bsize as u64),
        total_bytes: statfs.f_blocks.saturating_mul(statfs.f_bsize as u64),
        free_inodes: statfs.f_ffree,
        inodes: statfs.f_files,
        magic: statfs.f_type as u64,
    }
}

/// Where the system does not tell, it is so.
pub(super) fn folds_case(folder: &File) -> bool {
    /// `FS_CASEFOLD_FL`: linux/fs.h.
    const CASEFOLD: u32 = 0x4000_0000;
    inode_flags(folder).is_none_or(|flags| flags & CASEFOLD != 0)
}

/// The flags of chattr(1), where the file system has them: ioctl_iflags(2).
pub fn inode_flags(file: &File) -> Option<u32> {
    fs::ioctl_getflags(file).ok().map(|flags| flags.bits())
}

/// The project, for quotas, that files get which are made in a folder; `None` where it hands down none. 0 is that of files
/// without one.
pub fn project_of_files(folder: &File) -> Option<u32> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // The folder may be open for its names alone.
    let open = fs::openat(folder, c".", flags, Mode::empty()).map(File::from).ok()?;
    project(&open).and_then(|(project, is_handed_down)| is_handed_down.then_some(project))
}

/// The file system's options of the mount by which a file was opened. `None` where the system does not report them.
pub fn mount_options(file: &File) -> Option<String> {
    /// `STATX_MNT_ID`: statx(2).
    const MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x1000);
    let found = fs::statx(file, c"", AtFlags::EMPTY_PATH, MOUNT).ok()?;
    let number = (found.stx_mask & MOUNT.bits() != 0).then(|| found.stx_mnt_id.to_string())?;
    let mount = proc::MountEntry::list("self").into_iter().find(|mount| mount.number == number)?;
    Some(mount.file_system_options)
}

/// The ranges that hold data, by `SEEK_DATA`; `None` where the file system does not tell them.
pub(super) fn data_ranges(file: &File, size_bytes: u64) -> Outcome<Option<Vec<(u64, u64)>>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < size_bytes {
        let start = match fs::seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(rustix::io::Errno::NXIO) => break,
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOTSUP) => return Ok(None),
            Err(error) => return Err(errno(error)),
        };
        let end = fs::seek(file, SeekFrom::Hole(start)).map_err(errno)?.min(size_bytes);
        if end <= start {
            break; // the file shrank meanwhile; the check after the copy will say so
        }
        ranges.push((start, end));
        at = end;
    }
    Ok(Some(ranges))
}

/// tmpfs tells no extents, but its map of holes is the page cache itself: whatever else is allocated was never written.
pub(super) fn unwritten_bytes(file: &File) -> u64 {
    const TMPFS: u64 = 0x0102_1994;
    match datapump_engine::os::linux::unwritten_bytes(file) {
        Ok(bytes) => bytes,
        Err(_) if room(file).magic == TMPFS => u64::MAX,
        Err(_) => 0,
    }
}

pub(super) fn peek(file: &File, at: u64, into: &mut [u8]) -> Outcome<usize> {
    engine::read_at(file, at, into, TransferFlags::default())
}

/// Reads until `into` is full or the file ends. The number of bytes that were read.
pub fn fill(file: &File, at: u64, into: &mut [u8]) -> Outcome<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match peek(file, at + filled as u64, &mut into[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// Reads a file to its end, whatever length it says.
pub fn read_whole(file: &File) -> Outcome<Vec<u8>> {
    const PIECE_BYTES: usize = 64 << 10;
    let mut bytes = Vec::new();
    loop {
        let end = bytes.len();
        bytes.resize(end + PIECE_BYTES, 0);
        let count = fill(file, end as u64, &mut bytes[end..])?;
        bytes.truncate(end + count);
        if count < PIECE_BYTES {
            return Ok(bytes);
        }
    }
}

pub(super) fn set_direct(file: &File) -> Outcome<()> {
    let flags = fs::fcntl_getfl(file).map_err(errno)?;
    fs::fcntl_setfl(file, flags | OFlags::DIRECT).map_err(errno)
}

pub(super) fn forget_cached(file: &File) -> Outcome<()> {
    fs::fadvise(file, 0, None, fs::Advice::DontNeed).map_err(errno)
}

/// What statx(2) tells, else a page: enough for every device whose logical block is at most a page.
pub(super) fn direct_alignment_bytes(file: &File) -> u32 {
    const PAGE_BYTES: u32 = 4096;
    datapump_engine::os::linux::direct_alignment(file)
        .map_or(PAGE_BYTES, |(memory, offset)| memory.max(offset).max(1))
}

pub(super) fn reflink(from: &File, to: &File) -> Outcome<()> {
    fs::ioctl_ficlone(to, from).map_err(errno)
}

/// Writes all of these bytes.
///
/// Errors: also where the system takes none.
pub fn put(file: &File, at: u64, bytes: &[u8]) -> Outcome<()> {
    let mut written = 0;
    while written < bytes.len() {
        match engine::write_at(file, at + written as u64, &bytes[written..], TransferFlags::default())? {
            0 => return Err(Errno::EIO),
            count => written += count,
        }
    }
    Ok(())
}

pub(super) fn sync_data(file: &File) -> Outcome<()> {
    fs::fdatasync(file).map_err(errno)
}

/// Before Linux 6.8 there is no number of a mount that is not given again: that of `STATX_MNT_ID` is the lowest free
/// one, so that a disk that was pulled out, and whose cache is lost, gets the one that it had. It is not asked for.
pub fn origin(file: &File) -> (i128, u64) {
    /// `STATX_MNT_ID_UNIQUE`: statx(2).
    const MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);
    let asked = StatxFlags::BTIME | MOUNT;
    let Ok(told) = fs::statx(file, c"", AtFlags::EMPTY_PATH, asked) else { return (0, 0) };
    let has = |flag: StatxFlags| told.stx_mask & flag.bits() != 0;
    let born = told.stx_btime;
    let born_ns = i128::from(born.tv_sec) * 1_000_000_000 + i128::from(born.tv_nsec);
    (if has(StatxFlags::BTIME) { born_ns } else { 0 }, if has(MOUNT) { told.stx_mnt_id } else { 0 })
}

/// The time of content, asked of who keeps it: a server or a daemon, whatever the kernel remembers.
pub fn mtime_from_disk(file: &File) -> Outcome<i128> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    let time = fs::statx(file, c"", flags, StatxFlags::MTIME).map_err(errno)?.stx_mtime;
    Ok(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec))
}

/// Whether this user may make and remove names in a folder, as far as permissions and the mount show. Where a sandbox
/// refuses the call, it may be so.
pub fn takes_names(folder: &File) -> bool {
    let access = fs::Access::WRITE_OK | fs::Access::EXEC_OK;
    let allowed = fs::accessat(folder, c".", access, AtFlags::EACCESS).map_err(errno);
    allowed.map_or_else(|errno| KernelCall::Faccessat2.is_refused_by(errno), |()| true)
}

/// Whether it is the root of a mount: something is mounted there, from another file system or from the same one. Linux
/// before 5.8 and some sandboxes show that in /proc alone; `None` where neither does.
pub fn is_mount_root(file: &File) -> Option<bool> {
    match fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::empty()) {
        Ok(found) if found.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) => {
            Some(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
        }
        _ => proc::is_mount_point(file),
    }
}

/// Which file system it is, as far as that tells: statvfs(3), f_fsid.
pub fn file_system(file: &File) -> u64 {
    fs::fstatvfs(file).map_or(0, |told| told.f_fsid)
}

/// Makes a file this user's own, for this user alone; what the file system or its mode makes impossible or needless is passed
/// by.
pub(super) fn take_over(file: &File) -> Outcome<()> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    let stat = fs::fstat(file).map_err(errno)?;
    if (stat.st_uid, stat.st_gid) != (uid.as_raw(), gid.as_raw()) {
        match fs::fchown(file, Some(uid), Some(gid)) {
            // Its mode gives nothing to the group (that of a folder with set-group-id, whose other has no quota).
            Err(_) if stat.st_uid == uid.as_raw() => {}
            set => set.map_err(errno)?,
        }
    }
    match fs::fchmod(file, Mode::RUSR | Mode::WUSR) {
        // File systems without permissions of their own (FAT): what it has it will keep.
        Err(rustix::io::Errno::PERM | rustix::io::Errno::NOTSUP) => Ok(()),
        Err(_) if stat.st_mode & 0o7777 == 0o600 => Ok(()),
        set => set.map_err(errno),
    }
}

/// Which start of the system this is: /proc/sys/kernel/random/boot_id, a UUID.
pub fn boot() -> [u8; 16] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u8> =
        text.bytes().filter_map(|byte| char::from(byte).to_digit(16)).map(|digit| digit as u8).collect();
    let mut boot = [0; 16];
    for (byte, pair) in boot.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    boot
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::super::Folder;
    use super::*;

    /// It was a file when it was looked at; whoever may write to the folder has put the pipe there since.
    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let room = tempfile::tempdir().expect("room");
        let folder = Arc::new(File::open(room.path()).expect("it is there"));
        fs::mknodat(&folder, c"pipe", fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("room");
        for access in [Access::Read, Access::ReadWrite, Access::Write] {
            let (told, tells) = channel();
            let folder = Folder::Os(Arc::clone(&folder));
            std::thread::spawn(move || told.send(folder.open(OsStr::new("pipe"), access).map(|_| ())));
            let opened = tells.recv_timeout(Duration::from_secs(20));
            assert!(opened.is_ok(), "{access:?}: it is waited for");
        }
    }

    #[test]
    fn the_number_of_a_mount_is_not_one_that_is_given_again() {
        let file = tempfile::tempfile().expect("room");
        let (_, mount) = origin(&file);
        // Those that are given again are small; the others begin behind them.
        assert!(mount == 0 || mount >= 1 << 31, "{mount}");
    }
}
