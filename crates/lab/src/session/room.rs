//! How much room a study needs, and whether there is so much.
//!
//! Must not know: cells, steps.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use datapump::units::bytes_words;

use crate::rig::tree::{Layout, TreeFacts};

/// File systems slow down and fragment when they are nearly full: this part of the need stays free.
const SPARE: u64 = 20;

/// The smallest thing a file system gives to a file or folder.
const BLOCK_BYTES: u64 = 4096;

/// What the sources and targets of a study take.
#[derive(Clone, Debug, Default)]
pub struct Need {
    /// Sources that are still to be made, by name.
    sources: BTreeMap<String, TreeFacts>,
    /// The largest target.
    target: TreeFacts,
}

/// What there is.
#[derive(Clone, Debug)]
pub struct StudyRoom {
    /// The needed and the free space, in words.
    pub words: String,
    /// What the study leaves free: for targets that wait to be deleted.
    pub left: TreeFacts,
}

impl Need {
    /// A source of one file; `is_there` if it need not be made.
    pub fn add_file(&mut self, size: u64, is_there: bool) {
        let facts = TreeFacts { entries: 1, bytes: size };
        self.add_source(size.to_string(), facts, is_there);
        self.target = larger(self.target, facts);
    }

    /// A target whose source takes no room.
    pub fn add_target_file(&mut self, size: u64) {
        self.target = larger(self.target, TreeFacts { entries: 1, bytes: size });
    }

    /// A source that is a tree.
    pub fn add_tree(&mut self, layout: &Layout, is_there: bool) {
        let facts = TreeFacts { entries: layout.file_count(), bytes: layout.room_bytes() };
        self.add_source(layout.name(), facts, is_there);
        self.add_target_tree(facts);
    }

    /// A target that is a tree.
    pub fn add_target_tree(&mut self, tree: TreeFacts) {
        let facts = TreeFacts { bytes: tree.bytes.saturating_add(tree.entries * BLOCK_BYTES / 2), ..tree };
        self.target = larger(self.target, facts);
    }

    fn add_source(&mut self, name: String, facts: TreeFacts, is_there: bool) {
        if !is_there {
            self.sources.insert(name, facts);
        }
    }

    fn sum(&self) -> TreeFacts {
        let all = self.sources.values().chain([&self.target]);
        let sum = all.fold(TreeFacts::default(), |sum, one| TreeFacts {
            entries: sum.entries.saturating_add(one.entries),
            bytes: sum.bytes.saturating_add(one.bytes),
        });
        let spare = |count: u64| count.saturating_add(count / SPARE);
        TreeFacts { entries: spare(sum.entries), bytes: spare(sum.bytes) }
    }

    /// Looks whether all has room.
    ///
    /// Errors: there is too little, or it cannot be asked.
    pub fn check(&self, folder: &Path) -> anyhow::Result<StudyRoom> {
        let need = self.sum();
        let state = rustix::fs::statvfs(folder).context("ask for free room")?;
        let free = state.f_bavail.saturating_mul(state.f_frsize);
        let words = format!(
            "{} has {} free, the study needs {}",
            folder.display(),
            bytes_words(free),
            bytes_words(need.bytes)
        );
        if need.bytes > free {
            bail!("{words}: make room, or give another folder or smaller sizes");
        }
        // A file system that makes inodes as they are needed counts none.
        if state.f_files > 0 && need.entries > state.f_favail {
            let (entries, free) = (need.entries, state.f_favail);
            bail!("{words}, and has {free} inodes free of {entries}: give another folder or fewer files");
        }
        let entries = if state.f_files > 0 { state.f_favail - need.entries } else { u64::MAX };
        Ok(StudyRoom { words, left: TreeFacts { entries, bytes: free - need.bytes } })
    }
}

fn larger(one: TreeFacts, other: TreeFacts) -> TreeFacts {
    TreeFacts { entries: one.entries.max(other.entries), bytes: one.bytes.max(other.bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::TreeShape;

    #[test]
    fn sources_are_counted_once_and_the_largest_target_is_added() {
        let mut need = Need::default();
        for (size, is_there) in [(1000, false), (1000, false), (9000, true)] {
            need.add_file(size, is_there);
        }
        assert_eq!(need.sum(), TreeFacts { entries: 2, bytes: 10_500 });
        let shape =
            TreeShape { files: 10, smallest: 5000, largest: 5000, per_folder: 10, ..TreeShape::default() };
        need.add_tree(&Layout { shape, seed: 1 }, false);
        let target = 10 * 8192 + 10 * 2048;
        let bytes = 1000 + 10 * 8192 + target;
        assert_eq!(need.sum().bytes, bytes + bytes / SPARE, "a tree and its copy");
    }

    #[test]
    fn too_many_files_are_refused_with_the_figures() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut need = Need::default();
        need.add_target_tree(TreeFacts { entries: u64::MAX / BLOCK_BYTES, bytes: 0 });
        let error = need.check(folder.path()).expect_err("no such disk").to_string();
        assert!(error.contains("free, the study needs"), "{error}");
    }
}
