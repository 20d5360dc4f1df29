//! Puts a file's data on stable storage while it is copied, and records that in its journal. What went through the
//! cache counts after a kill only after a good sync, one each 5 s or 256 MiB. A power failure costs at most a second or
//! 256 MiB of what comes from another host.
//!
//! A thread of its own does it: a sync may take as long as the device likes, and no lane waits for it. First the data,
//! then the record that tells of them, so that nothing is told that is not so.
//!
//! Must not know: who writes the data, what a later run does with the journal.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use datapump_core::resume::HEAD_BYTES;
use datapump_engine::Errno;

use super::{JournalBook, JournalState};
use crate::disk::{FileCalls, Outcome};

/// What a kill costs at most, besides what comes during the sync.
pub const EVERY: Duration = Duration::from_secs(5);
/// The same in bytes.
pub const EVERY_BYTES: u64 = 256 << 20;
/// A copy that was cut waits so long for its last sync: a signal is answered within a second.
pub const LAST_WAIT: Duration = Duration::from_millis(500);
/// What comes from another host is not had again for nothing.
pub const SOON: Duration = Duration::from_secs(1);
/// In the simulation, whose files are small.
const AT_ONCE_BYTES: u64 = 4 << 10;

/// Whether, and by whom, data are synced before the file is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syncing {
    /// By nobody.
    Never,
    /// By a thread, so often.
    Aside(Duration),
    /// By who tells of a block: the simulation has no threads.
    AtOnce,
}

/// Starts the thread. Where the system gives none, nothing is synced before the end.
pub(super) fn helper(book: &Arc<JournalBook>) -> Option<JoinHandle<()>> {
    let Syncing::Aside(every) = book.syncing else { return None };
    let book = Arc::clone(book);
    std::thread::Builder::new().name("pump sync".into()).spawn(move || help(&book, every)).ok()
}

/// Syncs what was written after so much time or so many bytes, until the journal is over or a sync fails.
fn help(book: &JournalBook, every: Duration) {
    loop {
        let (mut state, start) = (book.state(), Instant::now());
        while !state.is_over && state.unsynced_bytes < EVERY_BYTES && start.elapsed() < every {
            let left = every.saturating_sub(start.elapsed());
            let waited = book.wake.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.is_over || state.sync_failed.is_some() {
            return;
        }
        if state.unsynced_bytes > 0 {
            book.sync(state);
        }
    }
}

/// Syncs what is left when nothing more is written, on a thread, for which this one waits a limited time.
pub(super) fn last(book: &Arc<JournalBook>, helper: Option<JoinHandle<()>>) {
    let book = Arc::clone(book);
    let (ended, wait) = std::sync::mpsc::channel();
    let sync = move || {
        book.state().is_over = true;
        book.wake.notify_all();
        helper.map(JoinHandle::join);
        let state = book.state();
        if state.sync_failed.is_none() && state.waiting.total() > 0 {
            book.sync(state);
        }
        let _ = ended.send(());
    };
    if std::thread::Builder::new().name("pump sync".into()).spawn(sync).is_ok() {
        // Longer than that: the next run has what was told so far.
        let _ = wait.recv_timeout(LAST_WAIT);
    }
}

impl JournalBook {
    /// A block was told: a sync may be due.
    pub(super) fn heed(&self, state: MutexGuard<'_, JournalState>) {
        match self.syncing {
            Syncing::Aside(_) if state.unsynced_bytes >= EVERY_BYTES => self.wake.notify_all(),
            Syncing::AtOnce if state.unsynced_bytes >= AT_ONCE_BYTES => self.sync(state),
            Syncing::Never | Syncing::Aside(_) | Syncing::AtOnce => {}
        }
    }

    /// Syncs the data, once also its folder, then enters the synced ranges in the journal. A sync that fails makes the journal
    /// useless.
    pub(super) fn sync(&self, mut state: MutexGuard<'_, JournalState>) {
        state.unsynced_bytes = 0;
        let (mut ranges, names_are_synced) = (state.told.written().clone(), state.names_are_synced);
        let waiting = std::mem::take(&mut state.waiting);
        waiting.iter().for_each(|(start, end)| ranges.insert(start, end));
        drop(state);
        let synced =
            self.data.sync_data().and_then(|()| if names_are_synced { Ok(()) } else { self.folder.sync() });
        if let Err(errno) = synced {
            return self.distrust(errno);
        }
        let mut state = self.state();
        state.names_are_synced = true;
        for (at, record) in state.told.add_synced(&ranges) {
            state.is_broken |= self.file.put(at, &record).is_err();
        }
        drop(state);
        // Should it fail, a restart finds fewer records, or none.
        let _: Outcome<()> = self.file.sync_data();
    }

    /// A sync failed. The system tells that once: what it was to keep may be lost although it was told as written, and
    /// no later sync says so, neither the last one before the file gets its name nor that of a later run. So there is
    /// no journal any more, from now on and after a kill. (After a restart only what was synced before counts.)
    pub(super) fn distrust(&self, errno: Errno) {
        let mut state = self.state();
        (state.sync_failed, state.is_broken) = (Some(errno), true);
        // Cutting it off needs no room and no page. Should that fail, too, the file is removed at the task's end.
        let _: Outcome<()> = self.file.put(0, &[0; HEAD_BYTES]).or_else(|_| self.file.set_len(0));
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use datapump_core::Block;
    use datapump_core::resume::{ResumeHead, ResumeLife, SourceId};

    use super::*;
    use crate::disk::{Access, Disk};
    use crate::resume::{Journal, ResumeRequest};

    #[test]
    fn a_sync_that_fails_leaves_no_journal() {
        let home = tempfile::tempdir().expect("room");
        let folder = Disk::Os.folder(home.path()).expect("it was made");
        // A device that cannot be synced: fsync(2).
        let data = Disk::Os.open(Path::new("/dev/null"), Access::ReadWrite).expect("every system has it");
        let source = SourceId { device: 1, inode: 2, size_bytes: 1 << 20, mtime_ns: 3, ctime_ns: 4 };
        let wish = ResumeRequest {
            source,
            is_settled: true,
            is_comparable: true,
            under_way_bytes: 4096,
            syncing: Syncing::AtOnce,
            waits_for_sync: false,
            is_unsynced: false,
        };
        let begun = Journal::begin(&folder, OsStr::new("file"), &Arc::new(data), &wish, None);
        let journal = begun.expect("room");
        let bytes = || std::fs::read(home.path().join("file.journal")).expect("it was made");

        assert_eq!(journal.landed(Block { file: 0, at: 0, len: 1024 }), Ok(()));
        assert_eq!(ResumeHead::decode(&bytes()).map(|head| head.source), Some(source));
        assert_eq!(journal.landed(Block { file: 0, at: 1024, len: AT_ONCE_BYTES as u32 }), Ok(()));
        let left = bytes();
        assert_eq!(ResumeHead::decode(&left), None);
        assert_eq!(journal.landed(Block { file: 0, at: 1 << 19, len: 1024 }), Err(Errno::EINVAL));
        assert_eq!(bytes(), left, "no more is told");
        assert!(!journal.is_of_use());
        assert_eq!(journal.close(), Err(Errno::EINVAL));
    }

    #[test]
    fn what_is_in_the_cache_is_told_when_it_was_synced() {
        let home = tempfile::tempdir().expect("room");
        let folder = Disk::Os.folder(home.path()).expect("it was made");
        let data = folder.create_new(OsStr::new("file")).expect("room");
        data.set_len(1 << 20).expect("room");
        let source = SourceId { device: 1, inode: 2, size_bytes: 1 << 20, mtime_ns: 3, ctime_ns: 4 };
        let wish = ResumeRequest {
            source,
            is_settled: true,
            is_comparable: true,
            under_way_bytes: 4096,
            syncing: Syncing::Never,
            waits_for_sync: true,
            is_unsynced: false,
        };
        let begun = Journal::begin(&folder, OsStr::new("file"), &Arc::new(data), &wish, None);
        let journal = begun.expect("room");
        let life = ResumeLife { boot: [1; 16], mount: 2, is_unsynced: false };
        let read = || {
            let bytes = std::fs::read(home.path().join("file.journal")).expect("it was made");
            datapump_core::resume::JournalMachine::read(&bytes, life).expect("it is whole")
        };
        let told = || read().written().iter().collect::<Vec<_>>();

        assert_eq!(journal.landed(Block { file: 0, at: 0, len: 8192 }), Ok(()));
        assert!(told().is_empty() && !journal.is_of_use(), "a kill would find nothing");
        journal.book.sync(journal.book.state());
        assert_eq!(told(), [(0, 8192)], "in any life of the system");
        assert!(journal.is_of_use());
        assert_eq!(read().doubt_bytes(), 1 << 20, "a kill leaves any number of bytes unrecorded");
        assert_eq!(journal.leave(), Ok(()));
        // Another lane's, behind the last sync.
        assert_eq!(journal.landed(Block { file: 0, at: 8192, len: 1024 }), Ok(()));
        drop(journal);
        assert_eq!((told(), read().doubt_bytes()), (vec![(0, 8192)], 1024 + 4096));
    }
}
