//! Names in open folders of the real file system: listing, making, linking, opening. Nothing here follows a symbolic
//! link, and every name is one component, so that no call leads out of the folder it is given.
//!
//! Must not know: what the names are for, trees, in which order things must happen to be safe.

use std::cell::Cell;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use datapump_engine::Errno;
use datapump_engine::os::linux::{KernelCall, again};
use rustix::io::Errno as System;

use super::os::retried::{self as fs, AtFlags, FileType, Mode, OFlags, RawDir, SeekFrom};
use super::os::retried::{StatxAttributes, StatxFlags, Timespec, Timestamps, Uid};
use super::proc::{is_proc_mounted, path_of_open_file};
use super::{Access, FileKind, Meta, Outcome, os};
use crate::withheld::{given, is_withheld_name, may_be_withheld, may_change};

mod beneath;
mod held_name;
mod new_name;
pub(super) use held_name::CallEffect;
pub use held_name::HeldName;
pub use new_name::{NameAt, move_new, rename, rename_new};

/// What one call of getdents64(2) may fill: about a thousand short names.
const LISTING_BYTES: usize = 32 << 10;

/// A name as a folder lists it.
#[derive(Clone, Debug)]
pub struct DirEntry {
    /// The name.
    pub name: OsString,
    /// What the listing says it is; `None` where the file system does not tell there.
    pub kind: Option<FileKind>,
    /// The inode number that the listing tells.
    pub inode: u64,
    /// A file of this process itself has the name (`withheld`).
    pub is_withheld: bool,
}

fn errno(error: System) -> Errno {
    Errno(error.raw_os_error())
}

/// Opens a folder in a folder.
pub fn open_folder(folder: &File, name: &OsStr) -> Outcome<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(folder, name, flags, Mode::empty()).map(File::from).map_err(errno)
}

/// Opens a regular file for reading without waiting (it may have become a pipe) and, where the system lets this user,
/// without changing its time of access.
pub fn open_source(folder: &File, name: &OsStr, quietly: bool) -> Outcome<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let quiet = if quietly { OFlags::NOATIME } else { OFlags::empty() };
    match fs::openat(folder, name, flags | quiet, Mode::empty()) {
        // Only the owner may leave the time of access alone: open(2).
        Err(System::PERM) if quietly => fs::openat(folder, name, flags, Mode::empty()),
        opened => opened,
    }
    .map_err(errno)
    .and_then(|opened| given(opened.into()))
}

/// Makes a new file that only this user may read, open for writing alone; `EEXIST` if the name is taken.
pub fn create_to_write(folder: &File, name: &OsStr) -> Outcome<File> {
    let flags = os::flags(Access::Write) | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR).map(File::from).map_err(errno)
}

/// Opens a file for writing, with nothing in it any more.
pub fn open_emptied(folder: &File, name: &OsStr) -> Outcome<File> {
    may_change(folder, name)?;
    let flags = os::flags(Access::Write) | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    fs::openat(folder, name, flags, Mode::empty()).map(File::from).map_err(errno)
}

/// Opens what stands under a name to be looked at and to get attributes, whatever it is (O_PATH): nothing waits, no
/// device is started, no permission but that to search the folder is needed.
pub fn hold(folder: &File, name: &OsStr) -> Outcome<HeldName> {
    HeldName::open(folder, name, false)
}

/// Opens a name that was looked at; `None` if another file has it by now.
pub fn hold_the(folder: &File, name: &OsStr, known: &Meta) -> Outcome<Option<HeldName>> {
    hold(folder, name).and_then(|held| if_the(held, known))
}

/// The held name, if it is the one that was looked at.
pub(crate) fn if_the(held: HeldName, known: &Meta) -> Outcome<Option<HeldName>> {
    let now = os::file_metadata(&held)?;
    let is_it = (now.device, now.inode, now.kind) == (known.device, known.inode, known.kind);
    Ok(is_it.then_some(held))
}

/// The same of a path, links followed.
pub fn hold_path(path: &Path) -> Outcome<HeldName> {
    HeldName::open(fs::CWD, path.as_os_str(), true)
}

/// Puts a file on stable storage of which only attributes were set. Its new mode may let nobody open it: then it was
/// opened before.
pub fn sync_of(opened: Option<File>, folder: &File, name: &OsStr) -> Outcome<()> {
    let file = opened.map_or_else(|| open_source(folder, name, true), Ok)?;
    os::sync(&file)
}

/// Opens a file or folder by its path for reading, following links, without waiting for the other side of a pipe.
pub fn open_path(path: &Path) -> Outcome<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    fs::open(path, flags, Mode::empty()).map(File::from).map_err(errno)
}

/// Opens a path below a folder that no link may lead out of.
pub fn open_beneath(root: &File, path: &Path) -> Outcome<File> {
    beneath::open(root, path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC)
        .and_then(given)
}

/// Holds what a path names below such a folder, links followed, whatever it is (O_PATH).
pub fn hold_beneath(root: &File, path: &Path) -> Outcome<File> {
    beneath::open(root, path, OFlags::PATH | OFlags::CLOEXEC).and_then(given)
}

/// The flags needed to go on from a folder: it need not be readable.
const ON_THE_WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Finds a folder by its path, following links, to go on from it by names.
pub fn find_folder(path: &Path) -> Outcome<File> {
    fs::open(path, ON_THE_WAY, Mode::empty()).map(File::from).map_err(errno)
}

/// The same of a path that begins in an open folder.
pub fn find_folder_from(folder: &File, path: &Path) -> Outcome<File> {
    fs::openat(folder, path, ON_THE_WAY, Mode::empty()).map(File::from).map_err(errno)
}

/// The same below a folder that no link may lead out of.
pub fn find_beneath(root: &File, path: &Path) -> Outcome<File> {
    beneath::open(root, path, ON_THE_WAY)
}

/// The next names of a folder from `cookie` on (0: the first), and the cookie behind them; no names at the end.
pub fn list(folder: &File, cookie: u64) -> Outcome<(Vec<DirEntry>, u64)> {
    let list_from = |cookie| again(|| list_once(folder, cookie));
    match list_from(cookie)? {
        // An open folder that was read at its end and nowhere else has no names for ext4 (6.18) when it is read from
        // the start, once. What the start gives has two dots, and where it has none it is asked again for nothing.
        (names, 0) if names.is_empty() => list_from(0),
        listed => Ok(listed),
    }
}

/// All names of a folder that is named by its path, links followed, and what each is.
pub fn list_path(path: &Path) -> Outcome<Vec<(OsString, FileKind)>> {
    let (folder, mut all, mut cookie) = (open_path(path)?, Vec::new(), 0);
    loop {
        let (entries, next) = list(&folder, cookie)?;
        if entries.is_empty() {
            return Ok(all);
        }
        for DirEntry { name, kind, .. } in entries {
            let kind = kind.map_or_else(|| metadata(&folder, &name).map(|meta| meta.kind), Ok)?;
            all.push((name, kind));
        }
        cookie = next;
    }
}

/// A part of a folder's names from this cookie on, without the dots, and the cookie of the next part.
fn list_once(folder: &File, cookie: u64) -> Outcome<(Vec<DirEntry>, u64)> {
    fs::seek(folder, SeekFrom::Start(cookie)).map_err(|error| of_gone(folder, error))?;
    let mut buffer = [const { MaybeUninit::<u8>::uninit() }; LISTING_BYTES];
    let mut entries = RawDir::new(folder, &mut buffer);
    let (mut names, mut next) = (Vec::new(), cookie);
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(errno)?;
        next = entry.next_entry_cookie();
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            let name = OsStr::from_bytes(name).to_owned();
            let (kind, inode) = (kind(entry.file_type()), entry.ino());
            let is_withheld = may_be_withheld(inode) && is_withheld_name(folder, &name);
            names.push(DirEntry { name, kind, inode, is_withheld });
        }
        // A call that gave only the two dots is no end.
        if entries.is_buffer_empty() && !names.is_empty() {
            break;
        }
    }
    Ok((names, next))
}

/// Of a folder that was removed ext4 says that the place in it is wrong.
fn of_gone(folder: &File, error: System) -> Errno {
    let is_gone = error == System::INVAL && fs::fstat(folder).is_ok_and(|stat| stat.st_nlink == 0);
    errno(if is_gone { System::NOENT } else { error })
}

/// The kind that a directory entry names; `None` if the file system does not report it.
fn kind(told: FileType) -> Option<FileKind> {
    match told {
        FileType::Directory => Some(FileKind::Folder),
        FileType::RegularFile => Some(FileKind::Regular),
        FileType::Symlink => Some(FileKind::Symlink),
        FileType::Fifo => Some(FileKind::Fifo),
        FileType::Socket => Some(FileKind::Socket),
        FileType::CharacterDevice => Some(FileKind::CharDevice),
        FileType::BlockDevice => Some(FileKind::BlockDevice),
        _ => None,
    }
}

/// What a symbolic link points to that is held.
pub fn read_held_symlink(held: &File) -> Outcome<OsString> {
    let content = fs::readlinkat(held, c"", Vec::new()).map_err(errno)?;
    Ok(OsString::from_vec(content.into_bytes()))
}

/// What a name is.
pub fn metadata(folder: &File, name: &OsStr) -> Outcome<Meta> {
    os::metadata_at(folder, name)
}

/// Whether a name can be taken away or replaced, as far as it tells itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameFlags {
    /// Owner and group.
    pub owners: (u32, u32),
    /// Permissions and set-id bits.
    pub mode: u32,
    /// A file that only grows, or a folder that lets no name go: chattr(1), a.
    pub is_append_only: bool,
    /// Neither changes nor can be replaced: chattr(1), i.
    pub is_immutable: bool,
    /// Something is mounted on it; false also where the system does not report that (Linux before 5.8).
    pub is_mount_point: bool,
}

/// Those of an open folder.
pub fn flags(folder: &File) -> Outcome<NameFlags> {
    flags_at(folder, OsStr::new(""), AtFlags::EMPTY_PATH)
}

/// Those of a name in a folder.
pub fn flags_of(folder: &File, name: &OsStr) -> Outcome<NameFlags> {
    flags_at(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// Refuses where a name that is made could not be removed: in an append-only folder, and where a sandbox refuses that.
pub fn lets_names_go(folder: &File) -> Outcome<()> {
    match KernelCall::Unlinkat.refusal() {
        None if flags(folder).is_ok_and(|flags| flags.is_append_only) => Err(Errno::EPERM),
        refusal => refusal.map_or(Ok(()), Err),
    }
}

/// What statx(2) reports of a name: owners, mode, and the flags that forbid to replace it.
fn flags_at(folder: &File, name: &OsStr, how: AtFlags) -> Outcome<NameFlags> {
    let asked = StatxFlags::MODE | StatxFlags::UID | StatxFlags::GID;
    let found = fs::statx(folder, name, how, asked).map_err(errno)?;
    let has = |flag: StatxAttributes| found.stx_attributes.contains(flag);
    Ok(NameFlags {
        owners: (found.stx_uid, found.stx_gid),
        mode: u32::from(found.stx_mode) & 0o7777,
        is_append_only: has(StatxAttributes::APPEND),
        is_immutable: has(StatxAttributes::IMMUTABLE),
        is_mount_point: has(StatxAttributes::MOUNT_ROOT),
    })
}

/// Which of the files that had its inode number a regular file is; 0 where that is not known.
pub fn generation(folder: &File, name: &OsStr) -> u32 {
    let opened = open_source(folder, name, true);
    opened.ok().and_then(|file| datapump_engine::os::linux::generation(&file)).unwrap_or(0)
}

/// With what tells a file from all that have or had its inode number, [`Meta::generation`] and [`Meta::handle`]: asked
/// for only where it has several names.
pub fn with_identity(meta: Meta, folder: &File, name: &OsStr) -> Meta {
    if meta.links < 2 || meta.kind == FileKind::Folder {
        return meta;
    }
    let generation = if meta.kind == FileKind::Regular { generation(folder, name) } else { 0 };
    Meta { generation, handle: handle_sum(folder, name, &meta), ..meta }
}

/// Where the file system tells no handle: of what is no regular file a sum of what it is, which is all that a copy has
/// of it.
fn handle_sum(folder: &File, name: &OsStr, meta: &Meta) -> u64 {
    let told = |name: CString| datapump_engine::os::linux::handle_sum(folder, &name);
    CString::new(name.as_bytes()).ok().and_then(told).unwrap_or_else(|| match meta.kind {
        FileKind::Regular | FileKind::Folder => 0,
        _ => {
            let mut hasher = DefaultHasher::new();
            (meta.special_device, meta.mode, read_symlink(folder, name).ok()).hash(&mut hasher);
            hasher.finish()
        }
    })
}

/// Makes a folder that only this user may use.
pub fn make_folder(folder: &File, name: &OsStr) -> Outcome<()> {
    fs::mkdirat(folder, name, Mode::RWXU).map_err(errno)
}

/// Makes a folder as any program does: the umask decides who may use it.
pub fn make_usual_folder(folder: &File, name: &OsStr) -> Outcome<()> {
    fs::mkdirat(folder, name, Mode::RWXU | Mode::RWXG | Mode::RWXO).map_err(errno)
}

/// Gives what stands under a name another one, new, itself and not what a symbolic link leads to.
pub fn link(folder: &File, name: &OsStr, to: &File, new: &OsStr) -> Outcome<()> {
    fs::linkat(folder, name, to, new, AtFlags::empty()).map_err(errno)
}

/// Errors of link(2) for which a file is copied instead: EPERM of FAT, and of files of others (protected_hardlinks,
/// proc(5)), EXDEV between mounts and projects, EOPNOTSUPP, EMLINK for one name too many, ENOSYS of FUSE.
const UNLINKABLE: [Errno; 5] = [Errno::EPERM, Errno::EXDEV, Errno::EOPNOTSUPP, Errno::EMLINK, Errno::ENOSYS];

/// Whether a file gets no further name by [`link`]: one of these, or a sandbox refuses the call.
pub fn is_unlinkable(errno: Errno) -> bool {
    UNLINKABLE.contains(&errno) || KernelCall::Linkat.is_refused_by(errno)
}

/// Makes a file without a name, to be linked in when it is complete. It may be opened by nobody until then, so that
/// it may have its final permissions from the start.
pub fn make_unnamed(folder: &File, mode: u32) -> Outcome<File> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    fs::openat(folder, c".", flags, Mode::from_raw_mode(mode)).map(File::from).map_err(errno)
}

/// Makes a file for what does not fit in memory; it has no name when this returns.
pub fn make_spare(folder: &File, spare: &OsStr) -> Outcome<File> {
    make_unnamed(folder, 0o600).or_else(|_| {
        lets_names_go(folder)?;
        let file = os::create_new(folder, spare)?;
        os::remove(folder, spare)?;
        Ok(file)
    })
}

/// Makes a new file in a folder, asks it, and removes it.
fn ask_new_one<T>(folder: &File, spare: &OsStr, ask: impl FnOnce(&File) -> T) -> Outcome<T> {
    if let Ok(file) = make_unnamed(folder, 0o600) {
        return Ok(ask(&file));
    }
    lets_names_go(folder)?;
    let made = os::create_new(folder, spare)?;
    // Before it is removed: some file systems (FUSE) know nothing of what has no name any more.
    let told = ask(&made);
    // Best effort: a leftover is recognised and removed by the next run.
    let _ = os::remove(folder, spare);
    Ok(told)
}

/// The owner of new files in a folder.
pub fn owner_of_new(folder: &File, spare: &OsStr) -> Outcome<u32> {
    ask_new_one(folder, spare, os::file_metadata)?.map(|meta| meta.uid)
}

/// Whether new files in a folder keep the time that they are given.
pub fn new_one_keeps_times(folder: &File, spare: &OsStr) -> Outcome<bool> {
    /// September 2001: all file systems can tell it.
    const TIME: Timespec = Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
    ask_new_one(folder, spare, |file| {
        let set = fs::futimens(file, &Timestamps { last_access: TIME, last_modification: TIME });
        let shown = os::file_metadata(file).map(|meta| meta.mtime_ns / 1_000_000_000);
        set.is_ok() && shown == Ok(i128::from(TIME.tv_sec))
    })
}

/// Whether symbolic links in a folder have attributes of their own, found out by one to a file of this run. Servers behind
/// some file systems (sshfs) follow it, and what it leads to gets them.
///
/// The daemon may remember what it has shown. So the link is asked for what it was given, and the file under a name that
/// nobody has asked for.
pub fn links_have_attributes(folder: &File, spare: &OsStr, link: &OsStr, renamed: &OsStr) -> Outcome<bool> {
    /// Another time than any new file has.
    const TIME: Timespec = Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 };
    let file = os::create_new(folder, spare)?;
    let state = |of: &File| Ok::<_, Errno>((os::mtime_from_disk(of)?, os::file_metadata(of)?.uid));
    let named = Cell::new(spare);
    let are_own = || {
        let before = state(&file)?;
        make_symlink(spare, folder, link)?;
        let held = hold(folder, link)?;
        // Any user that it does not belong to.
        let owner = if state(&held)?.1 == 1 { 2 } else { 1 };
        let times = Timestamps { last_access: TIME, last_modification: TIME };
        // A refused call moves nothing.
        let set = fs::utimensat(&held, c"", &times, AtFlags::EMPTY_PATH);
        let given = fs::chownat(&held, c"", Some(Uid::from_raw(owner)), None, AtFlags::EMPTY_PATH);
        let (mtime_ns, uid) = state(&held)?;
        // Either is enough: some mounts have one owner for all, or ignore times.
        let shows_some = mtime_ns == i128::from(TIME.tv_sec) * 1_000_000_000 || uid == owner;
        let moved = rename_new(folder, spare, renamed);
        // An interrupted call may have been performed.
        if matches!(moved, Ok(()) | Err(Errno::EINTR)) {
            named.set(renamed);
        }
        moved?;
        Ok::<_, Errno>((shows_some || (set.is_err() && given.is_err())) && state(&file)? == before)
    };
    let are_own = are_own();
    // Best effort: leftovers are recognised and removed by the next run.
    for name in [link, spare, named.get()] {
        let _ = os::remove(folder, name);
    }
    are_own
}

/// Gives what is open, or held, a name: its first one, or one more; `EEXIST` if that is taken.
pub fn link_in(file: &File, folder: &File, name: &OsStr) -> Outcome<()> {
    match fs::linkat(file, c"", folder, name, AtFlags::EMPTY_PATH) {
        // Before Linux 6.10 only a process with CAP_DAC_READ_SEARCH may link what it has open: open(2), O_TMPFILE.
        Err(System::NOENT) => {
            fs::linkat(fs::CWD, path_of_open_file(file), folder, name, AtFlags::SYMLINK_FOLLOW)
        }
        linked => linked,
    }
    .map_err(errno)
}

/// Makes a symbolic link.
pub fn make_symlink(content: &OsStr, folder: &File, name: &OsStr) -> Outcome<()> {
    fs::symlinkat(content, folder, name).map_err(errno)
}

/// Reads a symbolic link.
pub fn read_symlink(folder: &File, name: &OsStr) -> Outcome<OsString> {
    let content = fs::readlinkat(folder, name, Vec::new()).map_err(errno)?;
    Ok(OsString::from_vec(content.into_bytes()))
}

/// Makes a pipe or a device.
pub fn make_special(folder: &File, name: &OsStr, meta: &Meta) -> Outcome<()> {
    let kind = match meta.kind {
        FileKind::CharDevice => FileType::CharacterDevice,
        FileKind::BlockDevice => FileType::BlockDevice,
        _ => FileType::Fifo,
    };
    fs::mknodat(folder, name, kind, Mode::RUSR | Mode::WUSR, meta.special_device).map_err(errno)
}

/// Removes a name; of a folder only if it is empty.
pub fn remove(folder: &File, name: &OsStr, is_folder: bool) -> Outcome<()> {
    let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    may_change(folder, name)?;
    fs::unlinkat(folder, name, flags).map_err(errno)
}

/// Opens the file once more that is open, whatever became of its name. Without /proc the open one itself is read.
pub fn open_again(file: &File, access: Access) -> Outcome<File> {
    match fs::open(path_of_open_file(file), os::flags(access), Mode::empty()).map_err(errno) {
        Err(Errno::ENOENT) if access == Access::Read && !is_proc_mounted() => {
            file.try_clone().map_err(|error| Errno::from_io_error(&error))
        }
        opened => opened.map(File::from),
    }
}

/// Puts everything of the file system on stable storage on which the folder lies. Tells also of what could not be
/// written since the folder was opened (Linux 5.8).
pub fn sync_all(folder: &File) -> Outcome<()> {
    fs::syncfs(folder).map_err(errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between two listings, with a place in it that ext4 does not know any more.
    #[test]
    fn a_folder_that_is_removed_while_it_is_listed_is_not_there() {
        let above = tempfile::tempdir().expect("room");
        let path = above.path().join("folder");
        std::fs::create_dir(&path).expect("room");
        std::fs::write(path.join("file"), b"").expect("room");
        let folder = File::open(&path).expect("it is there");
        let (names, cookie) = list(&folder, 0).expect("it can be listed");
        assert_eq!(names.len(), 1);
        std::fs::remove_dir_all(&path).expect("it is ours");
        let again = list(&folder, cookie);
        assert!(matches!(again, Err(Errno::ENOENT)), "{again:?}");
    }

    /// As one does that was closed for room between its last names and a second look at it.
    #[test]
    fn a_folder_that_was_read_at_its_end_is_read_from_the_start() {
        let above = tempfile::tempdir().expect("room");
        std::fs::write(above.path().join("file"), b"").expect("room");
        let open = || File::open(above.path()).expect("it is there");
        let (names, end) = list(&open(), 0).expect("it can be listed");
        assert_eq!(names.len(), 1);
        let again = open();
        assert_eq!(list(&again, end).expect("it can be listed").0.len(), 0);
        assert_eq!(list(&again, 0).expect("it can be listed").0.len(), 1);
    }
}
