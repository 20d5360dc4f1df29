//! What a file system may tell that is not so: of the blocks of its files, which all hold data; of their numbers.
//!
//! Must not know: the file system.

use std::time::UNIX_EPOCH;

use fuser::{FileAttr, FileType, INodeNo};

/// `SEEK_DATA`: lseek(2).
const SEEK_DATA: i32 = 3;
/// What [`HoleLie::FirstMib`] calls data.
const HONEST_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoleLie {
    /// No blocks.
    NoBlocks,
    /// As many blocks as the holes leave: none but the first MiB holds data.
    FirstMib,
}

/// How many bytes of a file are called data: the first.
pub fn data_bytes(lie: Option<HoleLie>, bytes: u64) -> u64 {
    match lie {
        None => bytes,
        Some(HoleLie::NoBlocks) => 0,
        Some(HoleLie::FirstMib) => bytes.min(HONEST_BYTES),
    }
}

/// What lseek(2) gives; `None`: `ENXIO`.
pub fn sought(lie: Option<HoleLie>, bytes: u64, (at, whence): (i64, i32)) -> Option<i64> {
    let data = data_bytes(lie, bytes) as i64;
    match whence {
        SEEK_DATA => (at < data).then_some(at),
        _ => (at < bytes as i64).then_some(at.max(data)),
    }
}

/// As stat(2) tells a file, with this number, so many names and one time; folders keep their own.
pub fn numbered(told: FileAttr, number: Option<(u64, u32)>) -> FileAttr {
    match number.filter(|_| told.kind != FileType::Directory) {
        Some((number, nlink)) => {
            let (atime, mtime, ctime) = (UNIX_EPOCH, UNIX_EPOCH, UNIX_EPOCH);
            FileAttr { ino: INodeNo(number), nlink, atime, mtime, ctime, ..told }
        }
        None => told,
    }
}
