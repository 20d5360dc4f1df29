//! Which folders of a tree are on their way, by device and inode: those above a folder are among them, so that most
//! folders need not be compared with each one above them.
//!
//! Must not know: how they lie in each other.

use crate::lock::StateLock;
use datapump_files::identity::FileId;
use std::collections::HashMap;

/// The folders, and how many times each is on its way.
#[derive(Debug, Default)]
pub(crate) struct Alive(StateLock<HashMap<FileId, u32>>);

impl Alive {
    pub(crate) fn add(&self, folder: FileId) {
        *self.0.lock().entry(folder).or_default() += 1;
    }

    /// Takes one open folder back that was added; the last one removes its entry.
    pub(crate) fn remove(&self, folder: FileId) {
        let mut counts = self.0.lock();
        let count = counts.get_mut(&folder).expect("it was added");
        *count -= 1;
        if *count == 0 {
            counts.remove(&folder);
        }
    }

    pub(crate) fn has(&self, folder: FileId) -> bool {
        self.0.lock().contains_key(&folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_until_it_was_removed_as_often_as_added() {
        let (alive, folder) = (Alive::default(), (1, 2));
        [folder, folder].into_iter().for_each(|folder| alive.add(folder));
        assert!(alive.has(folder) && !alive.has((2, 1)));
        alive.remove(folder);
        assert!(alive.has(folder));
        alive.remove(folder);
        assert!(!alive.has(folder) && alive.0.lock().is_empty());
    }
}
