//! A file system in memory, mounted by FUSE, that fails where a test says.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

pub use super::fault::Fault;
use super::lies;
use super::mounted::{Mounted, lock};
use super::slow_calls::SlowCalls;

/// Nothing is kept by the kernel: what the file system says holds now.
const NOW: Duration = Duration::ZERO;
const BLOCK_BYTES: u32 = 4096;
const FREE_BLOCKS: u64 = 1000;

#[derive(Clone)]
struct Node {
    content: Vec<u8>,
    attributes: FileAttr,
}

#[derive(Default)]
struct State {
    /// By the folder that they stand in.
    names: BTreeMap<(u64, OsString), u64>,
    nodes: BTreeMap<u64, Node>,
    /// Times and mode that its root was given.
    root: Option<FileAttr>,
    fault: Option<Fault>,
    /// Files and folders that were changed after their last sync; that a name is gone counts for nothing.
    unsynced: BTreeSet<u64>,
    /// Sizes that are told instead of the true ones.
    told_sizes: BTreeMap<u64, u64>,
    /// All of its files are holes, whatever they hold; with no blocks at all.
    calls_all_holes: Option<lies::HoleLie>,
    /// The number and names that all files but folders tell, and not their own.
    told_number: Option<(u64, u32)>,
    lists_twice: bool,
    /// Names that listings gave.
    listed: usize,
    /// Upper and lower case are the same.
    folds: bool,
    restless: Option<Restless>,
    /// Looks so far.
    looks: u64,
}

/// A time that differs with each look, although nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restless {
    /// The time of attributes is that of the look.
    Changed,
    /// The time of content is some milliseconds more or less.
    Modified,
}

/// The mount; dropping it unmounts.
pub struct Fuse {
    mounted: Mounted,
    state: Arc<Mutex<State>>,
    pub slow: Arc<SlowCalls>,
}

impl Fuse {
    pub fn new() -> Fuse {
        Fuse::on_threads(1)
    }

    /// One that answers so many calls at a time.
    pub fn on_threads(threads: usize) -> Fuse {
        let state = Arc::new(Mutex::new(State::default()));
        let mut config = Config::default();
        config.n_threads = Some(threads);
        config.mount_options.push(MountOption::FSName("pump-test".into()));
        let slow = Arc::<SlowCalls>::default();
        let memory = Memory(Arc::clone(&state), Arc::clone(&slow));
        Fuse { mounted: Mounted::new(memory, &config), state, slow }
    }

    /// Names that differ in case only are one name.
    pub fn folding() -> Fuse {
        let fuse = Fuse::new();
        lock(&fuse.state).folds = true;
        fuse
    }

    /// From now on these times are told differently with each look, of files and folders.
    pub fn unsettle(&self, restless: Restless) {
        lock(&self.state).restless = Some(restless);
    }

    /// The path of a name in it.
    pub fn at(&self, name: &str) -> String {
        self.mounted.home.path("mnt").join(name).display().to_string()
    }

    pub fn put(&self, name: &str, content: &[u8]) {
        let mut state = lock(&self.state);
        let number = state.make(INodeNo::ROOT.0, name.as_ref(), FileType::RegularFile, 0o644);
        state.nodes.get_mut(&number).expect("just made").content = content.to_vec();
    }

    /// From now on a file that [`Fuse::put`] made tells this size, and gives what it holds.
    pub fn tell_size(&self, name: &str, bytes: u64) {
        let mut state = lock(&self.state);
        let number = state.names[&(INodeNo::ROOT.0, name.into())];
        state.told_sizes.insert(number, bytes);
    }

    pub fn call_holes(&self, lie: lies::HoleLie) {
        lock(&self.state).calls_all_holes = Some(lie);
    }

    /// From now on all files tell this inode number, so many names, and one time, and have handles of their own.
    pub fn report_number(&self, number: u64, names: u32) {
        lock(&self.state).told_number = Some((number, names));
    }

    /// From now on the listing of a folder gives all its names, and then all of them once more.
    pub fn list_twice(&self) {
        lock(&self.state).lists_twice = true;
    }

    /// How many names the listings of all folders have given.
    pub fn listed(&self) -> usize {
        lock(&self.state).listed
    }

    /// The content under a path, past the kernel.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let state = lock(&self.state);
        let step = |folder: u64, name: &str| state.names.get(&(folder, name.into())).copied();
        let number = path.split('/').try_fold(INodeNo::ROOT.0, step)?;
        state.nodes.get(&number).map(|node| node.content.clone())
    }

    /// All names, whichever folder they stand in.
    pub fn names(&self) -> Vec<String> {
        lock(&self.state).names.keys().map(|(_, name)| name.to_string_lossy().into_owned()).collect()
    }

    /// Names of what was changed after its last sync.
    pub fn unsynced(&self) -> Vec<String> {
        let state = lock(&self.state);
        let names = state.names.iter().filter(|(_, number)| state.unsynced.contains(number));
        names.map(|((_, name), _)| name.to_string_lossy().into_owned()).collect()
    }

    /// From now on this goes wrong, and nothing else.
    pub fn fail(&self, fault: Option<Fault>) {
        lock(&self.state).fault = fault;
    }
}

impl State {
    fn refused(&self, name: &OsStr) -> Option<Errno> {
        let has_colon = name.as_encoded_bytes().contains(&b':');
        match self.fault {
            Some(Fault::Name(most, errno)) if name.len() > most || has_colon => Some(Errno::from_i32(errno)),
            _ => None,
        }
    }

    /// As what a name is kept.
    fn key(&self, name: &OsStr) -> OsString {
        if self.folds { name.to_string_lossy().to_lowercase().into() } else { name.into() }
    }

    fn find(&self, folder: u64, name: &OsStr) -> Option<u64> {
        self.names.get(&(folder, self.key(name))).copied()
    }

    fn make(&mut self, folder: u64, name: &OsStr, kind: FileType, mode: u32) -> u64 {
        let number = self.nodes.last_key_value().map_or(INodeNo::ROOT.0, |(number, _)| *number) + 1;
        let now = SystemTime::now();
        let attributes = FileAttr {
            ino: INodeNo(number),
            size: 0,
            blocks: 0,
            atime: now,
            mtime: now,
            ctime: now,
            crtime: now,
            kind,
            perm: (mode & 0o7777) as u16,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: BLOCK_BYTES,
            flags: 0,
        };
        self.nodes.insert(number, Node { content: Vec::new(), attributes });
        self.names.insert((folder, self.key(name)), number);
        self.unsynced.extend([folder, number]);
        number
    }

    fn attributes(&mut self, number: u64) -> Option<FileAttr> {
        let attributes = self.attributes_at_rest(number)?;
        self.looks += 1;
        let jitter = Duration::from_millis(self.looks % 5);
        Some(match self.restless {
            None => attributes,
            Some(Restless::Changed) => FileAttr { ctime: SystemTime::now(), ..attributes },
            Some(Restless::Modified) => FileAttr { mtime: attributes.mtime + jitter, ..attributes },
        })
    }

    fn attributes_at_rest(&self, number: u64) -> Option<FileAttr> {
        if number == INodeNo::ROOT.0 {
            return Some(self.root.unwrap_or_else(root));
        }
        let node = self.nodes.get(&number)?;
        let bytes = node.content.len() as u64;
        let size = self.told_sizes.get(&number).copied().unwrap_or(bytes);
        let blocks = lies::data_bytes(self.calls_all_holes, bytes).div_ceil(512);
        Some(FileAttr { size, blocks, ..node.attributes })
    }

    /// The error of a transfer of these bytes, if one is due.
    fn error_in(&self, at: u64, bytes: u64, write: bool) -> Option<Errno> {
        let (byte, errno) = match (self.fault?, write) {
            (Fault::Read(byte, errno), false) | (Fault::Write(byte, errno), true) => (byte, errno),
            _ => return None,
        };
        (at..at + bytes).contains(&byte).then(|| Errno::from_i32(errno))
    }

    fn node(&mut self, number: u64) -> Option<&mut Node> {
        self.nodes.get_mut(&number)
    }

    fn read(&mut self, number: u64, at: u64, bytes: u64) -> Result<Vec<u8>, Errno> {
        if let Some(error) = self.error_in(at, bytes, false) {
            return Err(error);
        }
        let cut = match self.fault {
            Some(Fault::Truncate(byte)) if (at..at + bytes).contains(&byte) => Some(byte),
            _ => None,
        };
        let node = self.node(number).ok_or(Errno::ENOENT)?;
        if let Some(cut) = cut {
            node.content.truncate(cut as usize);
            node.attributes.mtime = SystemTime::now();
        }
        let start = node.content.len().min(at as usize);
        let end = node.content.len().min((at + bytes) as usize);
        Ok(node.content[start..end].to_vec())
    }

    fn write(&mut self, number: u64, at: u64, bytes: &[u8]) -> Result<u32, Errno> {
        if let Some(error) = self.error_in(at, bytes.len() as u64, true) {
            return Err(error);
        }
        let flipped = match self.fault {
            Some(Fault::Flip(byte)) if (at..at + bytes.len() as u64).contains(&byte) => Some(byte),
            _ => None,
        };
        self.fault = self.fault.filter(|_| flipped.is_none());
        self.unsynced.insert(number);
        let node = self.node(number).ok_or(Errno::ENOENT)?;
        let end = at as usize + bytes.len();
        if node.content.len() < end {
            node.content.resize(end, 0);
        }
        node.content[at as usize..end].copy_from_slice(bytes);
        flipped.into_iter().for_each(|byte| node.content[byte as usize] ^= 1);
        (node.attributes.mtime, node.attributes.ctime) = (SystemTime::now(), SystemTime::now());
        Ok(bytes.len() as u32)
    }
}

fn root() -> FileAttr {
    FileAttr {
        ino: INodeNo::ROOT,
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: FileType::Directory,
        perm: 0o755,
        nlink: 2,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: BLOCK_BYTES,
        flags: 0,
    }
}

fn time(asked: TimeOrNow) -> SystemTime {
    match asked {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => SystemTime::now(),
    }
}

struct Memory(Arc<Mutex<State>>, Arc<SlowCalls>);

impl Memory {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

/// Answers with nothing, or with the error of a fault.
fn answer(reply: ReplyEmpty, error: Option<i32>) {
    match error {
        None => reply.ok(),
        Some(errno) => reply.error(Errno::from_i32(errno)),
    }
}

impl Filesystem for Memory {
    fn lookup(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.1.make("lookup");
        let mut state = self.state();
        match state.find(folder.0, name).and_then(|number| state.attributes(number)) {
            Some(attributes) => reply.entry(&NOW, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.1.make("getattr");
        let mut state = self.state();
        match state.attributes(number.0) {
            Some(attributes) => reply.attr(&NOW, &lies::numbered(attributes, state.told_number)),
            None => reply.error(Errno::ENOENT),
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
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.1.make("setattr");
        let mut state = self.state();
        let attributes = if number == INodeNo::ROOT {
            state.root.get_or_insert_with(root)
        } else {
            let Some(node) = state.node(number.0) else { return reply.error(Errno::ENOENT) };
            if let Some(size) = size {
                node.content.resize(size as usize, 0);
            }
            &mut node.attributes
        };
        mode.into_iter().for_each(|mode| attributes.perm = (mode & 0o7777) as u16);
        uid.into_iter().for_each(|uid| attributes.uid = uid);
        gid.into_iter().for_each(|gid| attributes.gid = gid);
        atime.into_iter().for_each(|asked| attributes.atime = time(asked));
        mtime.into_iter().for_each(|asked| attributes.mtime = time(asked));
        state.unsynced.insert(number.0);
        reply.attr(&NOW, &state.attributes(number.0).expect("it was there"));
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
        self.1.make("create");
        let mut state = self.state();
        if let Some(errno) = state.refused(name) {
            return reply.error(errno);
        }
        let number = state.make(folder.0, name, FileType::RegularFile, mode);
        let attributes = state.attributes(number).expect("just made");
        reply.created(&NOW, &attributes, Generation(0), FileHandle(0), FopenFlags::empty());
    }

    fn mkdir(&self, _: &Request, folder: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        let mut state = self.state();
        if let Some(errno) = state.refused(name) {
            return reply.error(errno);
        }
        let number = state.make(folder.0, name, FileType::Directory, mode);
        reply.entry(&NOW, &state.attributes(number).expect("just made"), Generation(0));
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.1.make("open");
        // The kernel gives no more than the size that is told, unless it leaves the end to the file system.
        let flags = if self.state().told_sizes.contains_key(&number.0) {
            FopenFlags::FOPEN_DIRECT_IO
        } else {
            FopenFlags::empty()
        };
        reply.opened(FileHandle(0), flags);
    }

    fn flush(&self, _: &Request, number: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        let mut state = self.state();
        let failing = match state.fault {
            Some(Fault::Close(each, errno)) if number.0.is_multiple_of(each) => Some(errno),
            _ => None,
        };
        if let Some(node) = state.node(number.0).filter(|_| failing.is_some()) {
            node.content.clear();
        }
        answer(reply, failing);
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.1.make("read");
        match self.state().read(number.0, at, bytes.into()) {
            Ok(content) => reply.data(&content),
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.1.make("write");
        match self.state().write(number.0, at, bytes) {
            Ok(count) => reply.written(count),
            Err(error) => reply.error(error),
        }
    }

    fn lseek(&self, _: &Request, number: INodeNo, _: FileHandle, at: i64, whence: i32, reply: ReplyLseek) {
        let state = self.state();
        let bytes = state.nodes.get(&number.0).map_or(0, |node| node.content.len());
        match lies::sought(state.calls_all_holes, bytes as u64, (at, whence)) {
            Some(at) => reply.offset(at),
            None => reply.error(Errno::ENXIO),
        }
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.1.make("fsync");
        let mut state = self.state();
        let error = match state.fault {
            Some(Fault::Sync(errno)) => Some(errno),
            _ => None,
        };
        if error.is_none() {
            state.unsynced.remove(&number.0);
        }
        answer(reply, error);
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.state().unsynced.remove(&number.0);
        reply.ok();
    }

    fn unlink(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        // Its node stays for those who have it open.
        let mut state = self.state();
        let key = (folder.0, state.key(name));
        match state.names.remove(&key) {
            Some(_) => reply.ok(),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn rmdir(&self, request: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let state = self.state();
        let found = state.find(folder.0, name);
        if state.names.keys().any(|(above, _)| Some(*above) == found) {
            return reply.error(Errno::ENOTEMPTY);
        }
        drop(state);
        self.unlink(request, folder, name, reply);
    }

    fn rename(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        new_folder: INodeNo,
        new: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        self.1.make("rename");
        let mut state = self.state();
        if let Some(Fault::Rename(errno)) = state.fault {
            return reply.error(Errno::from_i32(errno));
        }
        if let Some(errno) = state.refused(new) {
            return reply.error(errno);
        }
        let (key, new) = ((folder.0, state.key(name)), (new_folder.0, state.key(new)));
        match state.names.remove(&key) {
            Some(number) => {
                state.unsynced.insert(new_folder.0);
                state.names.insert(new, number);
                reply.ok();
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(&self, _: &Request, folder: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        self.1.make("readdir");
        let mut state = self.state();
        let names = || state.names.iter().filter(|((above, _), _)| *above == folder.0);
        let again = state.lists_twice.then(names).into_iter().flatten();
        let mut listed = 0;
        for (index, ((_, name), &number)) in names().chain(again).enumerate().skip(offset as usize) {
            let kind = state.nodes.get(&number).map_or(FileType::RegularFile, |node| node.attributes.kind);
            if reply.add(INodeNo(number), index as u64 + 1, kind, name) {
                break;
            }
            listed += 1;
        }
        state.listed += listed;
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(FREE_BLOCKS * 2, FREE_BLOCKS, FREE_BLOCKS, 1000, 1000, BLOCK_BYTES, 255, BLOCK_BYTES);
    }
}
