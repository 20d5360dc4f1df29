//! A file system that passes all on to a folder, and refuses to set what a test says, with the error that it says; or it
//! takes it and does not keep it.

mod passing;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Generation, INodeNo, MountOption, ReplyEntry, TimeOrNow,
};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

use super::failing_calls::{CallFault, FailingCalls};
use super::mounted::{Mounted, lock};

const NOW: Duration = Duration::ZERO;

/// What a file is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    Times,
    Mode,
    Owner,
    /// Extended attributes whose names begin so.
    Xattr(&'static str),
    /// Bytes behind this offset.
    BytesFrom(u64),
}

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Errno(i32),
    /// It says that it was done.
    Ignored,
}

#[derive(Default)]
struct State {
    paths: BTreeMap<u64, PathBuf>,
    open: BTreeMap<u64, (u64, File)>,
    next: u64,
    refused: Vec<(Attribute, Answer)>,
    /// Whom everything belongs to, whoever made it.
    owner: Option<(u32, u32)>,
    /// A time later than this becomes this.
    last_second: Option<i64>,
    /// Names with a dot in front are not shown, and none is made.
    hides_dot_names: bool,
    /// Times are told in even seconds.
    is_even: bool,
    /// What a link is given gets what it leads to.
    follows_links: bool,
    /// Attributes of a path are told as they were found first, until they are set by that path, as sshfs does.
    remembered: Option<BTreeMap<PathBuf, Metadata>>,
}

/// The mount; dropping it unmounts.
pub struct RefusingDisk {
    mounted: Mounted,
    state: Arc<Mutex<State>>,
    back: Arc<tempfile::TempDir>,
    failing: Arc<FailingCalls>,
}

impl RefusingDisk {
    pub fn new() -> RefusingDisk {
        let state = Arc::new(Mutex::new(State::default()));
        let back = Arc::new(tempfile::tempdir().expect("room"));
        let mut config = Config::default();
        config.mount_options.push(MountOption::FSName("pump-refusing".into()));
        let failing = Arc::<FailingCalls>::default();
        let disk =
            Passing { back: Arc::clone(&back), state: Arc::clone(&state), failing: Arc::clone(&failing) };
        RefusingDisk { mounted: Mounted::new(disk, &config), state, back, failing }
    }

    /// The path of a name in the folder that all is passed on to.
    pub fn behind(&self, name: &str) -> String {
        self.back.path().join(name).display().to_string()
    }

    /// From now on names with a dot in front are neither shown nor made.
    pub fn hide_dot_names(&self) {
        lock(&self.state).hides_dot_names = true;
    }

    /// From now on attributes of symbolic links are set on what they lead to.
    pub fn follow_links(&self) {
        lock(&self.state).follows_links = true;
    }

    /// From now on attributes that were told are told again, whatever happens to the file by other paths.
    pub fn remember_attributes(&self) {
        lock(&self.state).remembered = Some(BTreeMap::new());
    }

    /// From now on times are told in even seconds.
    pub fn tell_even_seconds(&self) {
        lock(&self.state).is_even = true;
    }

    /// The path of a name in it.
    pub fn at(&self, name: &str) -> String {
        self.mounted.home.path("mnt").join(name).display().to_string()
    }

    /// From now on these are refused, and nothing else.
    pub fn refuse(&self, refused: &[(Attribute, Answer)]) {
        lock(&self.state).refused = refused.to_vec();
    }

    /// From now on these calls fail, and no others.
    pub fn fail_calls(&self, faults: &[CallFault]) {
        self.failing.fail(faults);
    }

    /// From now on all belongs to these.
    pub fn give_all_to(&self, owner: Option<(u32, u32)>) {
        lock(&self.state).owner = owner;
    }

    /// From now on times end here.
    pub fn end_time(&self, last_second: Option<i64>) {
        lock(&self.state).last_second = last_second;
    }
}

struct Passing {
    back: Arc<tempfile::TempDir>,
    state: Arc<Mutex<State>>,
    failing: Arc<FailingCalls>,
}

fn error(error: io::Error) -> Errno {
    Errno::from_i32(error.raw_os_error().unwrap_or(5))
}

fn time(seconds: i64, nanoseconds: i64) -> SystemTime {
    match seconds {
        0.. => UNIX_EPOCH + Duration::new(seconds as u64, nanoseconds as u32),
        _ => {
            UNIX_EPOCH - Duration::from_secs(seconds.unsigned_abs())
                + Duration::from_nanos(nanoseconds as u64)
        }
    }
}

fn kind(meta: &Metadata) -> FileType {
    let kind = meta.file_type();
    if kind.is_dir() {
        FileType::Directory
    } else if kind.is_symlink() {
        FileType::Symlink
    } else if kind.is_fifo() {
        FileType::NamedPipe
    } else if kind.is_char_device() {
        FileType::CharDevice
    } else if kind.is_block_device() {
        FileType::BlockDevice
    } else {
        FileType::RegularFile
    }
}

impl Passing {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn path(&self, number: INodeNo) -> PathBuf {
        let state = self.state();
        let below = state.paths.get(&number.0).cloned().unwrap_or_default();
        self.back.path().join(below)
    }

    fn below(&self, folder: INodeNo, name: &OsStr) -> PathBuf {
        self.path(folder).join(name)
    }

    /// The attributes of a path, which has this number from now on.
    fn found(&self, path: &Path) -> io::Result<FileAttr> {
        let meta = self.look(path)?;
        let below = path.strip_prefix(self.back.path()).expect("all lies there").to_path_buf();
        if !below.as_os_str().is_empty() {
            self.state().paths.insert(meta.ino(), below);
        }
        Ok(self.attributes(&meta))
    }

    /// Metadata of a path: the remembered one, or that of now.
    fn look(&self, path: &Path) -> io::Result<Metadata> {
        let mut state = self.state();
        if let Some(meta) = state.remembered.as_ref().and_then(|remembered| remembered.get(path)) {
            return Ok(meta.clone());
        }
        let meta = path.symlink_metadata()?;
        let remembered = state.remembered.as_mut().filter(|_| !meta.is_dir());
        remembered.and_then(|remembered| remembered.insert(path.to_path_buf(), meta.clone()));
        Ok(meta)
    }

    fn forget(&self, path: &Path) {
        self.state().remembered.as_mut().and_then(|remembered| remembered.remove(path));
    }

    fn attributes(&self, meta: &Metadata) -> FileAttr {
        let (uid, gid) = self.state().owner.unwrap_or((meta.uid(), meta.gid()));
        let is_even = self.state().is_even;
        let told = |seconds: i64, nanoseconds: i64| {
            if is_even { time(seconds & !1, 0) } else { time(seconds, nanoseconds) }
        };
        let is_root = self.back.path().metadata().is_ok_and(|root| root.ino() == meta.ino());
        FileAttr {
            ino: if is_root { INodeNo::ROOT } else { INodeNo(meta.ino()) },
            size: meta.size(),
            blocks: meta.blocks(),
            atime: told(meta.atime(), meta.atime_nsec()),
            mtime: told(meta.mtime(), meta.mtime_nsec()),
            ctime: told(meta.ctime(), meta.ctime_nsec()),
            crtime: UNIX_EPOCH,
            kind: kind(meta),
            perm: (meta.mode() & 0o7777) as u16,
            nlink: meta.nlink() as u32,
            uid,
            gid,
            rdev: meta.rdev() as u32,
            blksize: 4096,
            flags: 0,
        }
    }

    fn entry(&self, path: &Path, made: io::Result<()>, reply: ReplyEntry) {
        match made.and_then(|()| self.found(path)) {
            Ok(attributes) => reply.entry(&NOW, &attributes, Generation(0)),
            Err(wrong) => reply.error(error(wrong)),
        }
    }

    fn hides(&self, name: &OsStr) -> bool {
        self.state().hides_dot_names && name.as_encoded_bytes().starts_with(b".")
    }

    /// How a change of this is answered; `None` if it is made.
    fn answer(&self, is_meant: impl Fn(Attribute) -> bool) -> Option<Result<(), Errno>> {
        let state = self.state();
        let found = state.refused.iter().find(|(attribute, _)| is_meant(*attribute))?;
        Some(match found.1 {
            Answer::Errno(errno) => Err(Errno::from_i32(errno)),
            Answer::Ignored => Ok(()),
        })
    }

    fn change(
        &self,
        is_meant: impl Fn(Attribute) -> bool,
        make: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), Errno> {
        self.answer(is_meant).unwrap_or_else(|| make().map_err(error))
    }

    fn opened(&self, number: u64, file: File) -> FileHandle {
        let mut state = self.state();
        state.next += 1;
        let handle = state.next;
        state.open.insert(handle, (number, file));
        FileHandle(handle)
    }

    fn open_file(&self, handle: FileHandle) -> io::Result<File> {
        let state = self.state();
        let (_, file) = state.open.get(&handle.0).ok_or(io::ErrorKind::NotFound)?;
        file.try_clone()
    }

    /// Of what has no name any more, by what is open of it.
    fn meta(&self, number: INodeNo) -> io::Result<Metadata> {
        match self.look(&self.path(number)) {
            Ok(meta) => Ok(meta),
            Err(missing) => {
                let state = self.state();
                let mut open = state.open.values();
                open.find(|(open, _)| *open == number.0).map_or(Err(missing), |(_, file)| file.metadata())
            }
        }
    }

    /// The path of the file that gets attributes which are set on a path.
    fn given(&self, path: PathBuf) -> PathBuf {
        if self.state().follows_links { path.canonicalize().unwrap_or(path) } else { path }
    }

    fn set_times(&self, path: &Path, asked: (Option<TimeOrNow>, Option<TimeOrNow>)) -> io::Result<()> {
        let last_second = self.state().last_second.unwrap_or(i64::MAX);
        let spec = |asked: Option<TimeOrNow>| match asked {
            None => Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
            Some(TimeOrNow::Now) => Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW },
            Some(TimeOrNow::SpecificTime(time)) => match time.duration_since(UNIX_EPOCH) {
                Ok(since) => Timespec {
                    tv_sec: (since.as_secs() as i64).min(last_second),
                    tv_nsec: since.subsec_nanos().into(),
                },
                Err(before) => Timespec { tv_sec: -(before.duration().as_secs() as i64), tv_nsec: 0 },
            },
        };
        let times = Timestamps { last_access: spec(asked.0), last_modification: spec(asked.1) };
        Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}
