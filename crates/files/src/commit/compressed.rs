//! Finds out whether the content of a file is compressed: by the file system, its mount, the folder, or the file.
//!
//! Compressed data take less room than they have bytes, and where room is reserved they may not be compressed any more
//! (btrfs). So nothing is reserved there, and no number of free bytes refuses a copy.
//!
//! Must not know: what is written, what follows from the answer.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use datapump_engine::Handle;

use crate::disk::kind::{self, CompressionRule};
use crate::disk::{FileCalls, inode_flags, mount_options};

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

/// What file systems and their mounts say, by device, each asked once.
#[derive(Debug, Default)]
pub struct Compressions(Mutex<BTreeMap<u64, (CompressionRule, bool)>>);

impl Compressions {
    /// The answer for an open file.
    pub fn of(&self, handle: &Handle) -> Compression {
        let Handle::Os(file) = handle else { return Compression::Never };
        let flags = || inode_flags(file).unwrap_or(0);
        match self.rule_of(handle) {
            (CompressionRule::Unknown, _) => Compression::Possible,
            (CompressionRule::ByFlag, _) if flags() & COMPRESSED != 0 => Compression::Possible,
            (CompressionRule::Below, true) => Compression::Cached,
            (CompressionRule::ByMount, is_set) => {
                let flags = flags();
                let is_possible = is_set || flags & COMPRESSED != 0;
                if is_possible && flags & WRITTEN_IN_PLACE == 0 {
                    Compression::Cached
                } else {
                    Compression::Never
                }
            }
            _ => Compression::Never,
        }
    }

    /// The rule of a file system, and whether it says of itself that it compresses.
    fn rule_of(&self, handle: &Handle) -> (CompressionRule, bool) {
        let look = || {
            let room = handle.room();
            let rule = kind::compression_rule(room.magic);
            let is_set = match rule {
                // Overlays are put on many file systems: only btrfs counts no inodes.
                CompressionRule::Below => room.inodes == 0,
                CompressionRule::ByMount => mount_compresses(handle),
                CompressionRule::Never | CompressionRule::ByFlag | CompressionRule::Unknown => false,
            };
            (rule, is_set)
        };
        let Ok(meta) = handle.meta() else { return look() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(meta.device).or_insert_with(look)
    }
}

/// Where the mount cannot be asked, it does.
fn mount_compresses(handle: &Handle) -> bool {
    let options = mount_options(handle.os());
    options.is_none_or(|options| options.split(',').any(|option| option.starts_with("compress")))
}
