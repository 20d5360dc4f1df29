//! Puts what a tree committed on stable storage while it is copied, and only then its marks on the list.
//!
//! What went through the page cache counts after a kill only behind a good sync of the file systems: a write-back
//! that fails is told once to each open file of the file system, so that a later run need not hear of it. Its marks
//! wait for that sync, one every 5 s or 256 MiB, by a thread. What was written directly or synced by itself, and
//! everything where no sync is asked for, is told at once. After a sync that failed the list ends where the last good
//! one left it.
//!
//! The folders by which is synced are opened before the first write that they are to witness.
//!
//! Must not know: how files are copied, what a mark is.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use datapump_core::journal::Header;
use datapump_engine::{Errno, Handle};

use crate::problem::{Operation, Problem};
use crate::setup::options::Sync;
use datapump_files::disk::{FileCalls, Outcome, names};
use datapump_files::resume::{EVERY, EVERY_BYTES, LAST_WAIT};

/// Marks that need no sync are written so many at a time.
const AT_ONCE_BYTES: usize = 32 * 8;

/// How a committed file came to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// A sync of its own has ended well.
    Synced,
    /// Past the page cache: it is lost only with the mount.
    Directly,
    /// By the page cache, which may fail to write it.
    Cached,
}

/// A list that is written to.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    book: Arc<Book>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Book {
    /// None once the list was removed.
    file: Mutex<Option<Handle>>,
    header: Header,
    sync: Sync,
    /// Where the list lies, if what is not synced may count there: its mount is known by a number of its own.
    device: Option<u64>,
    /// A folder on each device that is written to.
    folders: Mutex<BTreeMap<u64, (PathBuf, Arc<File>)>>,
    state: Mutex<CheckpointState>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct CheckpointState {
    /// Marks that count already, kept back to be written together.
    at_once: Vec<u8>,
    /// Marks that wait for a good sync.
    waiting: Vec<u8>,
    waiting_bytes: u64,
    /// The list's length, and that up to which it counts whatever the next sync says.
    len: u64,
    good_len: u64,
    is_over: bool,
    /// The thread syncs once more before it ends.
    wants_last: bool,
    has_ended: bool,
    /// The sync that failed: of which folder's file system, and why.
    failed: Option<(PathBuf, Errno)>,
    is_told: bool,
    /// Something was written where nobody would hear that it did not come to the disk.
    is_unwitnessed: bool,
    /// Why it does not tell all that it could: what cannot be written is only copied again.
    lacks: Option<Errno>,
}

impl Checkpoint {
    /// Goes on writing a list of this length. `device` where what is not synced may count.
    pub(crate) fn begin(
        file: Handle,
        len: u64,
        header: Header,
        sync: Sync,
        device: Option<u64>,
    ) -> Checkpoint {
        let state = CheckpointState { len, good_len: len, ..CheckpointState::default() };
        let folders = Mutex::default();
        let (state, wake) = (Mutex::new(state), Condvar::new());
        let file = Mutex::new(Some(file));
        let book = Arc::new(Book { file, header, sync, device, folders, state, wake });
        let thread = Mutex::new(thread(&book));
        Checkpoint { book, thread }
    }

    /// Watches the file system of this folder for what could not be written; one that cannot be watched ends the list.
    pub(crate) fn watch_file_system(&self, device: u64, folder: &File, path: &Path) {
        let mut folders = locked(&self.book.folders);
        if folders.contains_key(&device) {
            return;
        }
        // Opened anew: who asks by the same open file hears of an error once.
        match names::open_folder(folder, OsStr::new(".")) {
            Ok(opened) => drop(folders.insert(device, (path.to_path_buf(), Arc::new(opened)))),
            // What nobody witnesses is not vouched for.
            Err(_) => {
                let mut state = locked(&self.book.state);
                (state.is_over, state.is_unwitnessed) = (true, true);
            }
        }
    }

    /// Adds the mark of a committed file of so many bytes, at once or behind the next sync. `soon` if it was expensive to copy.
    /// Gives the problem of a failed sync once.
    pub(crate) fn add(
        &self,
        mark: u64,
        device: u64,
        bytes: u64,
        written: Written,
        soon: bool,
    ) -> Option<Problem> {
        let (book, mut state) = (&self.book, locked(&self.book.state));
        if state.failed.is_some() || state.is_over {
            return state.failure();
        }
        match book.counts(device, written) {
            MarkCounts::AtOnce => {
                state.at_once.extend(mark.to_le_bytes());
                if soon || state.at_once.len() >= AT_ONCE_BYTES {
                    book.write_at_once(&mut state);
                }
            }
            MarkCounts::BehindSync => {
                state.waiting.extend(mark.to_le_bytes());
                state.waiting_bytes += bytes;
                if state.waiting_bytes >= EVERY_BYTES {
                    book.wake.notify_all();
                }
            }
            MarkCounts::Never => {}
        }
        None
    }

    /// Whether a sync failed.
    pub(crate) fn has_failed(&self) -> bool {
        locked(&self.book.state).failed.is_some()
    }

    /// A sync beside the copy that failed; told once.
    pub(crate) fn failure(&self) -> Option<Problem> {
        locked(&self.book.state).failure()
    }

    /// Why the list does not tell all that it could.
    pub(crate) fn lacks(&self) -> Option<Errno> {
        locked(&self.book.state).lacks
    }

    /// Puts what the list tells by now on stable storage.
    pub(crate) fn sync_list(&self) -> Outcome<()> {
        self.book.with_file(Handle::sync)
    }

    /// Nobody syncs any more when this returns.
    pub(crate) fn close(&self) {
        locked(&self.book.state).is_over = true;
        self.book.wake.notify_all();
        let thread = locked(&self.thread).take();
        thread.map(JoinHandle::join);
    }

    /// Adds the marks of all waiting files, since somebody else has synced everything. Nothing is added once a sync
    /// failed.
    pub(crate) fn mark_all_synced(&self) {
        let mut state = locked(&self.book.state);
        let waiting = std::mem::take(&mut state.waiting);
        if state.failed.is_none() {
            self.book.append(&mut state, &waiting);
            self.book.write_at_once(&mut state);
        }
    }

    /// Whether each sync went well, and all was witnessed.
    pub(crate) fn is_vouched_for(&self) -> bool {
        let state = locked(&self.book.state);
        state.failed.is_none() && !state.is_unwitnessed
    }

    /// All of the copy is on stable storage, and the list says so.
    pub(crate) fn settle(&self) -> Outcome<()> {
        let header = Header { is_settled: true, ..self.book.header };
        self.book.with_file(|file| file.put(0, &header.encode()))
    }

    /// A sync failed: nothing counts that came behind the last good one.
    pub(crate) fn distrust(&self, path: &Path, errno: Errno) {
        self.book.distrust(&mut locked(&self.book.state), path, errno);
    }

    /// Nothing more is written to it.
    pub(crate) fn forget(&self) {
        self.close();
        let mut state = locked(&self.book.state);
        state.waiting.clear();
        state.at_once.clear();
    }

    /// The list was removed: its lock goes, too. What a FUSE file system keeps of an open file under another name
    /// (`.fuse_hidden…`) is removed when it is closed, which changes the folder's times: before they are set.
    pub(crate) fn close_file(&self) {
        *locked(&self.book.file) = None;
    }
}

impl Drop for Checkpoint {
    /// A copy that was cut keeps what had come, if a sync says so soon. One that takes longer keeps the list locked.
    fn drop(&mut self) {
        let mut state = locked(&self.book.state);
        self.book.write_at_once(&mut state);
        (state.is_over, state.wants_last) = (true, true);
        self.book.wake.notify_all();
        if locked(&self.thread).take().is_some() {
            let waited = self.book.wake.wait_timeout_while(state, LAST_WAIT, |state| !state.has_ended);
            drop(waited);
        }
    }
}

impl CheckpointState {
    fn failure(&mut self) -> Option<Problem> {
        let (path, errno) = self.failed.clone().filter(|_| !self.is_told)?;
        self.is_told = true;
        Some(Problem::system(Operation::SyncFileSystem, &path, errno.0))
    }
}

enum MarkCounts {
    AtOnce,
    BehindSync,
    Never,
}

impl Book {
    /// When the mark of a file counts: at once, after the next sync, or never.
    fn counts(&self, device: u64, written: Written) -> MarkCounts {
        let is_in_known_mount = self.device == Some(device);
        match (self.sync, written) {
            (Sync::Each, _) | (_, Written::Synced) => MarkCounts::AtOnce,
            (Sync::None, _) | (_, Written::Directly) if is_in_known_mount => MarkCounts::AtOnce,
            (Sync::None, _) => MarkCounts::Never,
            (Sync::End, Written::Directly | Written::Cached) => MarkCounts::BehindSync,
        }
    }

    /// A list that cannot be written (disk full) only lets more be copied again.
    fn append(&self, state: &mut CheckpointState, marks: &[u8]) {
        if marks.is_empty() {
            return;
        }
        match self.with_file(|file| file.put(state.len, marks)) {
            Ok(()) => state.len += marks.len() as u64,
            Err(errno) => state.lacks = Some(errno),
        }
    }

    fn write_at_once(&self, state: &mut CheckpointState) {
        let marks = std::mem::take(&mut state.at_once);
        self.append(state, &marks);
    }

    /// Syncs the folders, then adds the marks of the waiting files to the list. Where the sync fails, marks since the last good
    /// one are dropped.
    fn sync(&self, mut state: MutexGuard<'_, CheckpointState>) {
        let waiting = std::mem::take(&mut state.waiting);
        state.waiting_bytes = 0;
        let len = state.len;
        drop(state);
        let synced = self.sync_folders();
        let mut state = locked(&self.state);
        match synced {
            Ok(()) => {
                let is_all = state.len == len;
                self.append(&mut state, &waiting);
                // What was told at once while the sync ran is vouched for by the next one.
                state.good_len = if is_all { state.len } else { len };
            }
            Err((path, errno)) => self.distrust(&mut state, &path, errno),
        }
    }

    fn sync_folders(&self) -> Result<(), (PathBuf, Errno)> {
        let folders: Vec<_> = locked(&self.folders).values().cloned().collect();
        let sync = |(path, folder): &(PathBuf, Arc<File>)| {
            names::sync_all(folder).map_err(|errno| (path.clone(), errno))
        };
        folders.iter().try_for_each(sync)
    }

    /// Notes a failed sync, and cuts the list behind the last good one; where that fails, the header is made invalid.
    fn distrust(&self, state: &mut CheckpointState, path: &Path, errno: Errno) {
        if state.failed.is_none() {
            state.failed = Some((path.to_path_buf(), errno));
        }
        state.waiting.clear();
        state.at_once.clear();
        // Cutting it off needs no room; should that fail, a header under which no marks count takes none either.
        let cut = self.with_file(|file| file.set_len(state.good_len));
        let _: Outcome<()> = cut.or_else(|_| self.spoil());
        state.len = state.good_len;
    }

    /// Nothing behind the header is to count, but where the copy goes still is.
    fn spoil(&self) -> Outcome<()> {
        self.with_file(|file| file.put(0, &self.header.without_marks().encode()))
    }

    fn with_file(&self, act: impl FnOnce(&Handle) -> Outcome<()>) -> Outcome<()> {
        locked(&self.file).as_ref().map_or(Err(Errno::EBADF), act)
    }
}

/// Starts the thread. Where the system gives none, marks wait for the end.
fn thread(book: &Arc<Book>) -> Option<JoinHandle<()>> {
    if book.sync != Sync::End {
        return None;
    }
    let book = Arc::clone(book);
    std::thread::Builder::new().name("pump sync".into()).spawn(move || keep_syncing(&book)).ok()
}

/// Runs in a thread of its own: syncs whenever enough bytes or time have passed, and a last time at the end if that is wanted.
fn keep_syncing(book: &Book) {
    loop {
        let (mut state, start) = (locked(&book.state), Instant::now());
        let is_due = |state: &CheckpointState| state.waiting_bytes >= EVERY_BYTES && state.failed.is_none();
        while !state.is_over && !is_due(&state) && start.elapsed() < EVERY {
            let left = EVERY.saturating_sub(start.elapsed());
            state = book.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let is_last = state.is_over;
        if state.failed.is_none() && !state.waiting.is_empty() && (!is_last || state.wants_last) {
            book.sync(state);
        } else {
            drop(state);
        }
        if is_last {
            locked(&book.state).has_ended = true;
            return book.wake.notify_all();
        }
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use datapump_core::journal::{HEADER_BYTES, Life, RootId};

    use super::*;

    const HEADER: Header = Header {
        source: RootId { inode: 1, born_ns: 2, file_system: 3 },
        source_host: 0,
        target: RootId { inode: 4, born_ns: 5, file_system: 6 },
        life: Life { boot: [0; 16], mount: 7, source: 8, options: 9 },
        is_new: true,
        loses_times: false,
        is_settled: false,
        selection: 0,
        begun_ns: 10,
    };

    /// A list of nothing, and who keeps it.
    fn checkpoint(sync: Sync, device: Option<u64>) -> (tempfile::TempDir, PathBuf, Checkpoint) {
        let home = tempfile::tempdir().expect("room");
        let path = home.path().join("list");
        std::fs::write(&path, [7; HEADER_BYTES]).expect("room");
        let file = File::options().read(true).write(true).open(&path).expect("it was made");
        let checkpoint = Checkpoint::begin(Handle::Os(file), HEADER_BYTES as u64, HEADER, sync, device);
        checkpoint.watch_file_system(1, &File::open(home.path()).expect("it was made"), home.path());
        (home, path, checkpoint)
    }

    fn marks(path: &Path) -> Vec<u64> {
        datapump_core::journal::marks(&std::fs::read(path).expect("it is there")).collect()
    }

    #[test]
    fn what_is_in_the_cache_waits_for_a_good_sync() {
        let (_home, path, checkpoint) = checkpoint(Sync::End, Some(1));
        checkpoint.add(1, 1, 5, Written::Cached, true);
        checkpoint.add(2, 1, 5, Written::Directly, true);
        checkpoint.add(3, 1, 5, Written::Synced, true);
        checkpoint.add(4, 9, 5, Written::Directly, true);
        assert_eq!(marks(&path), [2, 3], "another device may be mounted again");
        checkpoint.book.sync(locked(&checkpoint.book.state));
        assert_eq!(marks(&path), [2, 3, 1, 4]);
        checkpoint.add(5, 1, 5, Written::Cached, true);
        checkpoint.close();
        assert_eq!(marks(&path), [2, 3, 1, 4]);
        checkpoint.mark_all_synced();
        assert_eq!(marks(&path), [2, 3, 1, 4, 5], "somebody else synced");
    }

    #[test]
    fn after_a_failed_sync_nothing_counts_behind_the_last_good_one() {
        let (_home, path, checkpoint) = checkpoint(Sync::End, Some(1));
        checkpoint.add(1, 1, 5, Written::Cached, true);
        checkpoint.book.sync(locked(&checkpoint.book.state));
        checkpoint.add(2, 1, 5, Written::Directly, true);
        checkpoint.add(3, 1, 5, Written::Cached, true);
        assert_eq!(marks(&path), [1, 2]);
        checkpoint.distrust(Path::new("folder"), Errno(5));
        assert_eq!(marks(&path), [1]);
        let told = checkpoint.add(4, 1, 5, Written::Synced, true);
        checkpoint.mark_all_synced();
        assert!(told.is_some() && checkpoint.failure().is_none(), "told once");
        drop(checkpoint);
        assert_eq!(marks(&path), [1], "no later sync makes it good");
    }

    #[test]
    fn a_list_that_cannot_be_cut_off_still_says_where_the_copy_goes() {
        let (_home, path, checkpoint) = checkpoint(Sync::End, Some(1));
        checkpoint.book.spoil().expect("room");
        assert_eq!(Header::decode(&std::fs::read(&path).expect("it is there")), Some(HEADER));
    }

    #[test]
    fn without_syncs_all_counts_at_once_where_the_mount_is_known() {
        for (device, expected) in [(Some(1), &[1, 2][..]), (None, &[])] {
            let (_home, path, checkpoint) = checkpoint(Sync::None, device);
            checkpoint.add(1, 1, 5, Written::Cached, true);
            checkpoint.add(2, 1, 5, Written::Directly, true);
            checkpoint.add(3, 9, 5, Written::Cached, true);
            drop(checkpoint);
            assert_eq!(marks(&path), expected, "{device:?}");
        }
    }
}
