//! The extents of an open file, as the file system reports them: FIEMAP.
//!
//! Must not know: names of files, why somebody asks.

use std::fs::File;
use std::os::fd::AsRawFd;

use crate::Errno;

/// Extents that one call may tell: 14 KiB of them.
const EXTENTS: usize = 256;
/// A file whose extents do not end after so many calls (256 Mi extents) changes under the reader.
const CALLS_MAX: u32 = 1 << 20;

/// `_IOWR('f', 11, struct fiemap)`: linux/fs.h. The number holds the size of the head alone.
const FIEMAP: libc::c_ulong =
    (3 << 30) | ((size_of::<FiemapHead>() as libc::c_ulong) << 16) | ((b'f' as libc::c_ulong) << 8) | 11;
/// `FIEMAP_FLAG_SYNC`: what is dirty is written first.
const SYNC: u32 = 1;
/// `FIEMAP_EXTENT_LAST`.
const LAST: u32 = 1;
/// `FIEMAP_EXTENT_UNWRITTEN`: blocks are reserved, and read as zeros.
const UNWRITTEN: u32 = 0x800;

/// `struct fiemap` without its extents: linux/fiemap.h.
#[repr(C)]
struct FiemapHead {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Map {
    head: FiemapHead,
    extents: [FiemapExtent; EXTENTS],
}

/// Bytes that are reserved for the file and were never written, also behind its end; what is dirty is written first.
/// `EOPNOTSUPP` where the file system tells no extents.
pub fn unwritten_bytes(file: &File) -> Result<u64, Errno> {
    let (mut unwritten, mut at) = (0_u64, 0);
    for _ in 0..CALLS_MAX {
        let map = map_from(file, at)?;
        let told = &map.extents[..(map.head.mapped_extents as usize).min(EXTENTS)];
        for extent in told.iter().filter(|extent| extent.flags & UNWRITTEN != 0) {
            unwritten = unwritten.saturating_add(extent.length);
        }
        match told.last() {
            Some(last) if last.flags & LAST == 0 && last.length > 0 => {
                at = last.logical.saturating_add(last.length);
            }
            _ => break,
        }
    }
    Ok(unwritten)
}

fn map_from(file: &File, start: u64) -> Result<Box<Map>, Errno> {
    let none =
        FiemapExtent { logical: 0, physical: 0, length: 0, reserved64: [0; 2], flags: 0, reserved: [0; 3] };
    let head = FiemapHead {
        start,
        length: u64::MAX - start,
        flags: SYNC,
        mapped_extents: 0,
        extent_count: EXTENTS as u32,
        reserved: 0,
    };
    let mut map = Box::new(Map { head, extents: [none; EXTENTS] });
    // SAFETY: the map has the kernel's layout (linux/fiemap.h: a head, then as many extents as `extent_count` says), is
    // ours alone during the call, and the kernel keeps no reference to it.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), FIEMAP as _, &raw mut *map) };
    match result {
        0 => Ok(map),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FallocateFlags, fallocate};

    #[test]
    fn what_is_reserved_and_not_written_is_told_also_behind_the_end() {
        assert_eq!((size_of::<FiemapHead>(), size_of::<FiemapExtent>()), (32, 56), "linux/fiemap.h");
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        match unwritten_bytes(&file) {
            Err(_) => return eprintln!("skipped: this file system tells no extents"),
            Ok(bytes) => assert_eq!(bytes, 0),
        }
        std::os::unix::fs::FileExt::write_all_at(&file, &[7; 1 << 16], 0).expect("room");
        assert_eq!(unwritten_bytes(&file), Ok(0), "written data are none");
        fallocate(&file, FallocateFlags::KEEP_SIZE, 1 << 30, 1 << 20).expect("room");
        fallocate(&file, FallocateFlags::KEEP_SIZE, 1 << 32, 1 << 20).expect("room");
        assert_eq!(unwritten_bytes(&file), Ok(2 << 20));
    }
}
