//! Whether what is written to a file is compressed: by the file system, its mount, the folder, or the file.
//!
//! Compressed data take less room than they have bytes, and where room is reserved they may not be compressed any more
//! (btrfs). So nothing is reserved there, and no number of free bytes refuses a copy.
//!
//! Must not know: what is written, what follows from the answer.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use datapump_engine::Handle;

use crate::disk::{FileCalls, inode_flags, kind, mount_options};

/// `FS_COMPR_FL` and `FS_NOCOW_FL`: linux/fs.h. What is written in place is not compressed.
const COMPRESSED: u32 = 0x4;
const WRITTEN_IN_PLACE: u32 = 0x0080_0000;

/// Whether what is written is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Nothing is.
    Never,
    /// It may be, whatever way it is written.
    Possible,
    /// It may be if it is written through the page cache.
    Cached,
}

/// What mounts say, by device, each read once.
#[derive(Debug, Default)]
pub struct Compressions(Mutex<BTreeMap<u64, bool>>);

impl Compressions {
    /// That of an open file.
    pub fn of(&self, handle: &Handle) -> Compression {
        let Handle::Os(file) = handle else { return Compression::Never };
        let room = handle.room();
        let flags = || inode_flags(file).unwrap_or(0);
        let is_set = |flag: u32| flags() & flag != 0;
        let (is_compressed, how) = match kind::compression_rule(room.magic) {
            kind::CompressionRule::Never => return Compression::Never,
            kind::CompressionRule::Unknown => (true, Compression::Possible),
            kind::CompressionRule::ByFlag => (is_set(COMPRESSED), Compression::Possible),
            // Of the file systems that overlays are put on, only btrfs counts no inodes.
            kind::CompressionRule::Below => (room.inodes == 0, Compression::Cached),
            kind::CompressionRule::ByMount => {
                let flags = flags();
                let is_possible = flags & COMPRESSED != 0 || self.mount_compresses(handle);
                (is_possible && flags & WRITTEN_IN_PLACE == 0, Compression::Cached)
            }
        };
        if is_compressed { how } else { Compression::Never }
    }

    /// Where the mount cannot be asked, it does.
    fn mount_compresses(&self, handle: &Handle) -> bool {
        let Ok(meta) = handle.meta() else { return true };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(meta.device).or_insert_with(|| {
            let options = mount_options(handle.os());
            options.is_none_or(|options| options.split(',').any(|option| option.starts_with("compress")))
        })
    }
}
