//! Targets of runs that have ended: small ones are deleted together, so that the disk is given one large piece of work
//! and not a small one before every run. And as seldom as the room allows: for minutes after a
//! deletion ext4 looks at each inode that it might use again, to leave those alone that were deleted lately
//! (`recently_deleted` in fs/ext4/ialloc.c), and runs of any program take up to five times as long.
//!
//! Must not know: studies, what the targets hold.

use std::path::{Path, PathBuf};

use crate::rig::tree::TreeFacts;

/// A usual study of five programs ends before.
pub const TARGETS_MAX: u64 = 40;
/// Or what is left free, if that is less.
pub const BYTES_MAX: u64 = 24 << 30;
/// Two copies of a million files, or forty of 50,000.
pub const ENTRIES_MAX: u64 = 2_100_000;

/// Folders that are still to be deleted.
#[derive(Debug)]
pub struct Finished {
    folders: Vec<PathBuf>,
    held: TreeFacts,
    most: TreeFacts,
}

impl Default for Finished {
    fn default() -> Finished {
        let most = TreeFacts { entries: ENTRIES_MAX, bytes: BYTES_MAX };
        Finished { folders: Vec::new(), held: TreeFacts::default(), most }
    }
}

impl Finished {
    /// Takes a target with about what it holds, and deletes all that were taken when there are enough.
    pub fn add(&mut self, path: PathBuf, facts: TreeFacts) {
        self.folders.push(path);
        self.held.entries += facts.entries;
        self.held.bytes += facts.bytes;
        let (held, most) = (self.held, self.most);
        if self.folders.len() as u64 >= TARGETS_MAX
            || held.bytes >= most.bytes
            || held.entries >= most.entries
        {
            self.delete();
        }
    }

    /// They hold no more than this.
    pub fn limit(&mut self, left: TreeFacts) {
        let (entries, bytes) = (ENTRIES_MAX.min(left.entries), BYTES_MAX.min(left.bytes));
        self.most = TreeFacts { entries, bytes };
    }

    /// Deletes all that were taken.
    pub fn delete(&mut self) {
        self.held = TreeFacts::default();
        self.folders.drain(..).for_each(|path| delete(&path));
    }
}

/// Deletes a file, or a folder with what is in it. A run that failed may have left nothing to delete.
pub fn delete(path: &Path) {
    let _ = if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_deleted_together_when_there_are_enough() {
        let folder = tempfile::tempdir().expect("a folder");
        for (bytes, entries, adds) in [(1, 1, TARGETS_MAX), (BYTES_MAX / 2, 1, 2), (1, ENTRIES_MAX, 1)] {
            let mut finished = Finished::default();
            finished.limit(TreeFacts { entries: u64::MAX, bytes: u64::MAX });
            for add in 0..adds {
                assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count() as u64, add);
                let path = folder.path().join(add.to_string());
                std::fs::create_dir_all(path.join("in")).expect("room");
                finished.add(path, TreeFacts { entries, bytes });
            }
            assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "{bytes} {entries}");
        }
    }
}
