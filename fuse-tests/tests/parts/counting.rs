//! A file system of one file that counts which of its pages the kernel asks for, mounted by FUSE. What is written stays
//! in the page cache until it is written back, as on a disk: so a page that is written in part must be fetched.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    Request, TimeOrNow, WriteFlags,
};

use super::mounted::{Mounted, lock};

const NAME: &str = "file";
const FILE: INodeNo = INodeNo(2);
pub const PAGE: u64 = 4096;
/// The kernel asks again after so long: the file changes by its own writes alone.
const LONG: Duration = Duration::from_secs(60);

#[derive(Default)]
struct CountedFile {
    content: Vec<u8>,
    /// How often each page was asked for.
    fetched: BTreeMap<u64, u32>,
    /// Bytes that were written back.
    written: u64,
    has_writeback: bool,
}

/// The mount; dropping it unmounts.
pub struct Counting {
    mounted: Mounted,
    file: Arc<Mutex<CountedFile>>,
}

impl Counting {
    /// With a file of this content. `None`, with a printed reason, where the kernel keeps no written pages for FUSE.
    pub fn new(content: Vec<u8>) -> Option<Counting> {
        let file = Arc::new(Mutex::new(CountedFile { content, ..CountedFile::default() }));
        let mounted = Mounted::new(CountingDisk(Arc::clone(&file)), &Config::default());
        let counting = Counting { mounted, file };
        std::fs::metadata(counting.path()).expect("it is mounted");
        if !counting.file().has_writeback {
            println!("not tested: this kernel has no FUSE_WRITEBACK_CACHE");
            return None;
        }
        Some(counting)
    }

    /// The path of the file.
    pub fn path(&self) -> String {
        self.mounted.home.path("mnt").join(NAME).display().to_string()
    }

    /// How often each page was asked for, and what was written back.
    pub fn counted(&self) -> (Vec<u32>, u64) {
        let file = self.file();
        let pages = (file.content.len() as u64).div_ceil(PAGE);
        ((0..pages).map(|page| file.fetched.get(&page).copied().unwrap_or(0)).collect(), file.written)
    }

    pub fn content(&self) -> Vec<u8> {
        self.file().content.clone()
    }

    fn file(&self) -> MutexGuard<'_, CountedFile> {
        lock(&self.file)
    }
}

fn attributes(number: INodeNo, bytes: u64) -> FileAttr {
    let is_file = number == FILE;
    FileAttr {
        ino: number,
        size: bytes,
        blocks: bytes.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if is_file { FileType::RegularFile } else { FileType::Directory },
        perm: if is_file { 0o644 } else { 0o755 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: PAGE as u32,
        flags: 0,
    }
}

struct CountingDisk(Arc<Mutex<CountedFile>>);

impl CountingDisk {
    fn attributes(&self, number: INodeNo) -> FileAttr {
        let bytes = if number == FILE { lock(&self.0).content.len() as u64 } else { 0 };
        attributes(number, bytes)
    }
}

impl Filesystem for CountingDisk {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        lock(&self.0).has_writeback = config.add_capabilities(InitFlags::FUSE_WRITEBACK_CACHE).is_ok();
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&LONG, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&LONG, &self.attributes(number));
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        _: Option<u32>,
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
        size.into_iter().for_each(|size| lock(&self.0).content.resize(size as usize, 0));
        reply.attr(&LONG, &self.attributes(number));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Each command begins with nothing of the file in the page cache.
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut file = lock(&self.0);
        let end = file.content.len().min((at + u64::from(bytes)) as usize);
        let start = end.min(at as usize);
        for page in start as u64 / PAGE..(end as u64).div_ceil(PAGE) {
            *file.fetched.entry(page).or_default() += 1;
        }
        reply.data(&file.content[start..end]);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut file = lock(&self.0);
        let end = at as usize + bytes.len();
        if file.content.len() < end {
            file.content.resize(end, 0);
        }
        file.content[at as usize..end].copy_from_slice(bytes);
        file.written += bytes.len() as u64;
        reply.written(bytes.len() as u32);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }
}
