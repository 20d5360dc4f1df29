//! A store of objects that is mounted by FUSE, as mountpoint-s3 and its like: a file is uploaded while it is written, in
//! order and once, and exists when it is closed. What it refuses, and how, a test says.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};

use super::mounted::{Mounted, lock};
pub use super::store_rules::StoreRules;

const NOW: Duration = Duration::ZERO;
const BLOCK_BYTES: u32 = 4096;
const FREE_BLOCKS: u64 = 1 << 20;
const EPERM: i32 = 1;
const ENOSYS: i32 = 38;
const ACCESS: i32 = 3;
const READ_WRITE: i32 = 2;
const TRUNCATE: i32 = 0o1000;

#[derive(Default)]
struct Upload {
    bytes: Vec<u8>,
    /// It was given up.
    failed: Option<i32>,
    is_done: bool,
}

struct Object {
    attributes: FileAttr,
    /// None until the first upload of it is complete.
    content: Option<Vec<u8>>,
    upload: Option<Upload>,
}

struct State {
    rules: StoreRules,
    names: BTreeMap<(u64, OsString), u64>,
    objects: BTreeMap<u64, Object>,
    next: u64,
    /// The error of each close.
    close: Option<i32>,
    /// Writes that were out of order.
    gaps: u32,
    /// Names that were given to new files.
    created: Vec<String>,
}

/// The mount; dropping it unmounts.
pub struct ObjectStore {
    mounted: Mounted,
    state: Arc<Mutex<State>>,
}

impl ObjectStore {
    pub fn new(rules: StoreRules) -> ObjectStore {
        let state = State {
            rules,
            names: BTreeMap::new(),
            objects: BTreeMap::new(),
            next: INodeNo::ROOT.0,
            close: None,
            gaps: 0,
            created: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let mut config = Config::default();
        config.mount_options.push(MountOption::FSName("pump-store".into()));
        ObjectStore { mounted: Mounted::new(Store(Arc::clone(&state)), &config), state }
    }

    /// The path of a name in it.
    pub fn at(&self, name: &str) -> String {
        self.mounted.home.path("mnt").join(name).display().to_string()
    }

    /// An object in the root.
    pub fn put(&self, name: &str, content: &[u8]) {
        let mut state = lock(&self.state);
        let number = state.make(INodeNo::ROOT.0, name.as_ref(), FileType::RegularFile);
        state.objects.get_mut(&number).expect("just made").content = Some(content.to_vec());
    }

    /// The object under a path, past the kernel; none that is not complete.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let state = lock(&self.state);
        let step = |folder: u64, name: &str| state.names.get(&(folder, name.into())).copied();
        let number = path.split('/').try_fold(INodeNo::ROOT.0, step)?;
        state.objects.get(&number)?.content.clone()
    }

    /// The permissions of an object in the root.
    pub fn mode(&self, name: &str) -> u16 {
        let state = lock(&self.state);
        let number = state.find(INodeNo::ROOT.0, name.as_ref()).expect("it exists");
        state.objects[&number].attributes.perm
    }

    /// The names of all objects and folders.
    pub fn names(&self) -> Vec<String> {
        lock(&self.state).names.keys().map(|(_, name)| name.to_string_lossy().into_owned()).collect()
    }

    /// From now on each close fails so, and stores nothing.
    pub fn fail_closes(&self, errno: Option<i32>) {
        lock(&self.state).close = errno;
    }

    /// Bytes of uploads that are not complete, a probe's among them.
    pub fn uploading(&self) -> usize {
        let state = lock(&self.state);
        let uploads = state.objects.values().filter_map(|object| object.upload.as_ref());
        uploads.filter(|upload| !upload.is_done).map(|upload| upload.bytes.len()).sum()
    }

    /// How many writes were out of order since this was asked last.
    pub fn gaps(&self) -> u32 {
        std::mem::take(&mut lock(&self.state).gaps)
    }

    /// Names that new files got since this was asked last.
    pub fn created(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.state).created)
    }
}

impl State {
    fn make(&mut self, folder: u64, name: &OsStr, kind: FileType) -> u64 {
        self.next += 1;
        let attributes = attributes(self.next, kind);
        self.objects.insert(self.next, Object { attributes, content: None, upload: None });
        self.names.insert((folder, name.into()), self.next);
        self.next
    }

    fn find(&self, folder: u64, name: &OsStr) -> Option<u64> {
        self.names.get(&(folder, name.into())).copied()
    }

    fn attributes(&self, number: u64) -> Option<FileAttr> {
        if number == INodeNo::ROOT.0 {
            return Some(attributes(number, FileType::Directory));
        }
        let object = self.objects.get(&number)?;
        let size = object.content.as_ref().map_or(0, |content| content.len() as u64);
        let is_under_way = |upload: &Upload| !upload.is_done && upload.failed.is_none();
        let is_uploaded = object.upload.as_ref().is_some_and(is_under_way);
        let size = if is_uploaded { 0 } else { size };
        Some(FileAttr { size, blocks: size.div_ceil(512), ..object.attributes })
    }

    /// The upload is complete, or has failed.
    fn complete(&mut self, number: u64) -> Result<(), i32> {
        let close = self.close;
        let Some(object) = self.objects.get_mut(&number) else { return Ok(()) };
        let Some(upload) = object.upload.as_mut().filter(|upload| !upload.is_done) else { return Ok(()) };
        upload.failed = upload.failed.or(close);
        if let Some(errno) = upload.failed {
            return Err(errno);
        }
        upload.is_done = true;
        object.content = Some(upload.bytes.clone());
        object.attributes.mtime = SystemTime::now();
        object.attributes.ctime = object.attributes.mtime;
        Ok(())
    }

    /// Nobody has it open any more: what was not uploaded does not exist.
    fn release(&mut self, number: u64) {
        let _ = self.complete(number);
        let Some(object) = self.objects.get_mut(&number) else { return };
        let was_written = object.upload.take().is_some();
        if was_written && object.content.is_none() {
            self.names.retain(|_, named| *named != number);
        } else if was_written && !self.rules.takes_gaps {
            self.renumber(number);
        }
    }

    /// An object that was uploaded has another number.
    fn renumber(&mut self, number: u64) {
        let Some(object) = self.objects.remove(&number) else { return };
        self.next += 1;
        let attributes = FileAttr { ino: INodeNo(self.next), ..object.attributes };
        self.objects.insert(self.next, Object { attributes, ..object });
        self.names.values_mut().filter(|named| **named == number).for_each(|named| *named = self.next);
    }

    fn write(&mut self, number: u64, at: u64, bytes: &[u8]) -> Result<u32, i32> {
        let rules = self.rules;
        let object = self.objects.get_mut(&number).ok_or(EPERM)?;
        let upload = object.upload.as_mut().ok_or(EPERM)?;
        if let Some(errno) = upload.failed {
            return Err(errno);
        }
        let end = at as usize + bytes.len();
        if at != upload.bytes.len() as u64 || upload.is_done {
            self.gaps += 1;
            if !rules.takes_gaps {
                upload.failed = Some(rules.gap);
                return Err(rules.gap);
            }
            upload.bytes.resize(upload.bytes.len().max(end), 0);
            upload.is_done = false;
        } else {
            upload.bytes.resize(end, 0);
        }
        upload.bytes[at as usize..end].copy_from_slice(bytes);
        Ok(bytes.len() as u32)
    }

    /// A folder exists as long as something is in it.
    fn forget_empty(&mut self, folder: u64) {
        let is_empty = !self.names.keys().any(|(above, _)| *above == folder);
        let found = self.names.iter().find(|(_, number)| **number == folder).map(|(key, _)| key.clone());
        if let Some(key) = found.filter(|_| is_empty) {
            self.names.remove(&key);
            self.forget_empty(key.0);
        }
    }
}

fn attributes(number: u64, kind: FileType) -> FileAttr {
    let now = SystemTime::now();
    let (perm, nlink) = if kind == FileType::Directory { (0o755, 2) } else { (0o644, 1) };
    FileAttr {
        ino: INodeNo(number),
        size: 0,
        blocks: 0,
        atime: now,
        mtime: now,
        ctime: now,
        crtime: UNIX_EPOCH,
        kind,
        perm,
        nlink,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: BLOCK_BYTES,
        flags: 0,
    }
}

struct Store(Arc<Mutex<State>>);

impl Store {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

fn answer(reply: ReplyEmpty, done: Result<(), i32>) {
    match done {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(Errno::from_i32(errno)),
    }
}

impl Filesystem for Store {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let taken = config.add_capabilities(InitFlags::FUSE_ATOMIC_O_TRUNC);
        taken.map_err(|_| io::ErrorKind::Unsupported.into())
    }

    fn lookup(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let state = self.state();
        match state.find(folder.0, name).and_then(|number| state.attributes(number)) {
            Some(attributes) => reply.entry(&NOW, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.state().attributes(number.0) {
            Some(attributes) => reply.attr(&NOW, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.state();
        let rules = state.rules;
        if rules.refusal != 0 {
            return reply.error(Errno::from_i32(rules.refusal));
        }
        if let (true, Some(mode), Some(object)) = (rules.keeps_modes, mode, state.objects.get_mut(&number.0))
        {
            object.attributes.perm = mode as u16 & 0o7777;
        }
        if let (Some(size), Some(object)) = (size, state.objects.get_mut(&number.0)) {
            let cut = |bytes: &mut Vec<u8>| bytes.resize(size as usize, 0);
            object.upload.as_mut().map(|upload| &mut upload.bytes).map(cut);
            object.content.as_mut().map(cut);
        }
        match state.attributes(number.0) {
            Some(attributes) => reply.attr(&NOW, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn create(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let mut state = self.state();
        if let Some(errno) = state.rules.read_write.filter(|_| flags & ACCESS == READ_WRITE) {
            return reply.error(Errno::from_i32(errno));
        }
        let number = state.make(folder.0, name, FileType::RegularFile);
        state.created.push(name.to_string_lossy().into_owned());
        let keeps_modes = state.rules.keeps_modes;
        let object = state.objects.get_mut(&number).expect("just made");
        object.upload = Some(Upload::default());
        if keeps_modes {
            object.attributes.perm = mode as u16 & 0o777;
        }
        let attributes = state.attributes(number).expect("just made");
        reply.created(&NOW, &attributes, Generation(0), FileHandle(1), FopenFlags::empty());
    }

    fn mkdir(&self, _: &Request, folder: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let mut state = self.state();
        let number = state.make(folder.0, name, FileType::Directory);
        reply.entry(&NOW, &state.attributes(number).expect("just made"), Generation(0));
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let mut state = self.state();
        let rules = state.rules;
        let Some(object) = state.objects.get_mut(&number.0) else { return reply.error(Errno::ENOENT) };
        let writes = flags.0 & ACCESS != 0;
        let is_emptied = flags.0 & TRUNCATE != 0 && rules.overwrites;
        let is_uploaded = object.upload.as_ref().is_some_and(|upload| !upload.is_done);
        if writes && !is_uploaded && (is_emptied || rules.takes_gaps) {
            let bytes = object.content.clone().filter(|_| !is_emptied).unwrap_or_default();
            object.upload = Some(Upload { bytes, ..Upload::default() });
            reply.opened(FileHandle(1), FopenFlags::empty());
        } else if !writes && (!is_uploaded || rules.takes_gaps) {
            reply.opened(FileHandle(0), FopenFlags::empty());
        } else {
            reply.error(Errno::EPERM);
        }
    }

    fn flush(&self, _: &Request, number: INodeNo, handle: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        let done = if handle.0 == 1 { self.state().complete(number.0) } else { Ok(()) };
        answer(reply, done);
    }

    fn release(
        &self,
        _: &Request,
        number: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        if handle.0 == 1 {
            self.state().release(number.0);
        }
        reply.ok();
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
        let state = self.state();
        let Some(object) = state.objects.get(&number.0) else { return reply.error(Errno::ENOENT) };
        let content = object.content.as_deref().unwrap_or_default();
        let start = content.len().min(at as usize);
        reply.data(&content[start..content.len().min(start + bytes as usize)]);
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
        match self.state().write(number.0, at, bytes) {
            Ok(count) => reply.written(count),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let mut state = self.state();
        let done = match state.rules {
            StoreRules { sync: Some(errno), .. } => Err(errno),
            StoreRules { takes_gaps: true, .. } => Ok(()),
            _ => state.complete(number.0),
        };
        answer(reply, done);
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer(reply, self.state().rules.sync.map_or(Ok(()), Err));
    }

    fn unlink(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut state = self.state();
        let Some(number) = state.find(folder.0, name) else { return reply.error(Errno::ENOENT) };
        let is_stored = state.objects.get(&number).is_some_and(|object| object.content.is_some());
        if !state.rules.removes || !is_stored {
            return reply.error(Errno::EPERM);
        }
        state.names.remove(&(folder.0, name.into()));
        state.forget_empty(folder.0);
        reply.ok();
    }

    fn rmdir(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut state = self.state();
        let Some(number) = state.find(folder.0, name) else { return reply.error(Errno::ENOENT) };
        if state.names.keys().any(|(above, _)| *above == number) {
            return reply.error(Errno::ENOTEMPTY);
        }
        state.names.remove(&(folder.0, name.into()));
        reply.ok();
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
        let mut state = self.state();
        if !state.rules.renames {
            let refusal = if state.rules.refusal == 0 { ENOSYS } else { state.rules.refusal };
            return reply.error(Errno::from_i32(refusal));
        }
        match state.names.remove(&(folder.0, name.into())) {
            Some(number) => {
                state.names.insert((new_folder.0, new.into()), number);
                reply.ok();
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(&self, _: &Request, folder: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let state = self.state();
        let names = state.names.iter().filter(|((above, _), _)| *above == folder.0);
        for (index, ((_, name), number)) in names.enumerate().skip(offset as usize) {
            let kind = state.objects[number].attributes.kind;
            if reply.add(INodeNo(*number), index as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(FREE_BLOCKS * 2, FREE_BLOCKS, FREE_BLOCKS, 1000, 1000, BLOCK_BYTES, 255, BLOCK_BYTES);
    }
}
