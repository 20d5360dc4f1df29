//! Going on inside a large file: the temporary file and the journal beside it that an earlier run left.
//!
//! The side that writes keeps the journal, wherever the source lies: the temporary name with `.journal`, in which
//! each block is told when its direct write has ended, or when it was synced behind the cache. The same command then
//! moves only what is missing, if the source is the one that it was, the temporary file is the one that was written,
//! and the system still runs that was told the writes; after a restart only what was synced counts (`sync.rs`).
//! Whatever does not agree starts the file over.
//!
//! The temporary file is the lock: who has it may use, remove and make the journal. It goes before the temporary file
//! does, and behind the rename, so that none is ever taken for that of another file: it names the inode, too.
//!
//! Must not know: who writes blocks, plans, what the bytes are (`core::resume`).

mod sync;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump_core::Block;
use datapump_core::resume::{
    self as core, HEAD_BYTES, RECORD_BYTES, RECORDS_MAX, Ranges, ResumeHead, ResumeLife, SourceId, TargetId,
};
use datapump_engine::{Errno, Handle};

use crate::commit::reserved::journal_name;
use crate::disk::{Access, FileCalls, FileKind, Folder, Meta, Outcome, names, why_not_own};
pub use sync::{EVERY, EVERY_BYTES, LAST_WAIT, SOON, Syncing};

/// A file that is to be gone on with, now or by a later run.
#[derive(Clone, Copy, Debug)]
pub struct ResumeRequest {
    /// The source, as it is now.
    pub source: SourceId,
    /// Its times had settled when it was looked at ([`ResumeHead::is_settled`]).
    pub is_settled: bool,
    /// It can be read a second time, to be compared with what an earlier run wrote.
    pub is_comparable: bool,
    /// Bytes that a run has under way at most: a cut leaves them unrecorded.
    pub under_way_bytes: u64,
    /// Whether, and by whom, data are synced before the file is complete.
    pub syncing: Syncing,
    /// Written data go through the cache, and are told only after they were synced.
    pub waits_for_sync: bool,
    /// Nobody asks for a sync.
    pub is_unsynced: bool,
}

/// What an earlier run left.
#[derive(Debug)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A leftover of no use, and why.
    StartsOver(String),
    /// It goes on: the temporary file, open and locked, and its journal.
    GoesOn(Box<(Handle, OpenedJournal)>),
    /// Another pump is at it.
    Busy,
}

/// A journal of an earlier run that agrees.
#[derive(Debug)]
pub struct OpenedJournal {
    file: Handle,
    told: core::JournalMachine,
}

/// The journal of a file on its way.
#[derive(Debug)]
pub struct Journal {
    folder: Folder,
    name: OsString,
    book: Arc<JournalBook>,
    helper: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// What the journal's user and who syncs for it share.
#[derive(Debug)]
struct JournalBook {
    file: Handle,
    data: Arc<Handle>,
    folder: Folder,
    syncing: Syncing,
    waits_for_sync: bool,
    under_way_bytes: u64,
    state: Mutex<JournalState>,
    wake: std::sync::Condvar,
}

#[derive(Debug)]
struct JournalState {
    told: core::JournalMachine,
    /// Bytes that earlier runs had recorded, and those that this one has written.
    earlier_bytes: u64,
    written_bytes: u64,
    /// No more is written, and a later run is to resume.
    is_left: bool,
    /// Ranges that are told when they are synced.
    waiting: Ranges,
    /// No more is told: it cannot be written any more, and what it tells stays true, or a sync failed.
    is_broken: bool,
    unsynced_bytes: u64,
    is_over: bool,
    sync_failed: Option<Errno>,
    names_are_synced: bool,
}

/// What makes a source the one that it was.
pub fn source_id(meta: &Meta) -> SourceId {
    let Meta { device, inode, size_bytes, mtime_ns, ctime_ns, .. } = *meta;
    SourceId { device, inode, size_bytes, mtime_ns, ctime_ns }
}

fn target_id(meta: &Meta, handle: &Handle) -> TargetId {
    TargetId { device: meta.device, inode: meta.inode, born_ns: handle.origin().0 }
}

/// Whether an open file has a journal's form.
pub fn is_journal(file: &Handle) -> bool {
    head_of(file).is_some()
}

/// The same of a name.
pub fn is_journal_at(folder: &Folder, name: &OsStr) -> bool {
    let is_file = folder.metadata(name).is_ok_and(|meta| meta.kind == FileKind::Regular);
    is_file && folder.open(name, Access::Read).is_ok_and(|file| is_journal(&file))
}

/// Whether a journal beside an open temporary file belongs to it.
pub fn has_journal(folder: &File, temporary: &OsStr, file: &Handle) -> bool {
    let journal = names::open_source(folder, &journal_name(temporary), true).map(Handle::Os);
    let head = journal.ok().and_then(|journal| head_of(&journal));
    head.is_some_and(|head| file.meta().is_ok_and(|meta| head.target == target_id(&meta, file)))
}

/// Whether the journal of a temporary file says that it is a copy of this.
pub fn is_of(folder: &Folder, temporary: &OsStr, source: &Meta) -> bool {
    let journal = folder.open(&journal_name(temporary), Access::Read);
    journal.ok().and_then(|journal| head_of(&journal)).is_some_and(|head| head.source == source_id(source))
}

fn head_of(file: &Handle) -> Option<ResumeHead> {
    let mut bytes = [0; HEAD_BYTES];
    let len = file.peek(0, &mut bytes).ok()?;
    ResumeHead::decode(&bytes[..len])
}

/// Removes the journal of a temporary file, which its owner has locked. An entry that is no file (a folder of this
/// name) is left: it is never opened either.
pub fn remove_journal(folder: &Folder, temporary: &OsStr) {
    let name = journal_name(temporary);
    if folder.remove(&name).is_ok() {
        // A power failure must not bring it back beside a file that comes to have the same inode.
        let _ = folder.sync();
    }
}

/// Looks for what an earlier run left under a temporary name. Links are not followed, and a journal of another user is
/// nobody's.
pub fn find(folder: &Folder, temporary: &OsStr, wish: &ResumeRequest) -> Found {
    let Ok(journal) = folder.metadata(&journal_name(temporary)) else { return Found::Nothing };
    if let Some(why) = why_not_own(folder, &journal) {
        return Found::StartsOver(format!("the journal beside it is not believed: {why}"));
    }
    let Ok(handle) = open_written(folder, temporary) else { return Found::Nothing };
    match handle.lock() {
        Ok(true) => {}
        Ok(false) => return Found::Busy,
        Err(_) => return Found::Nothing,
    }
    match agreeing(folder, temporary, &handle, wish) {
        Ok(Some(opened)) if handle.take_over().is_ok() => Found::GoesOn(Box::new((handle, opened))),
        Ok(_) => Found::Nothing,
        Err(NoUse(words)) => Found::StartsOver(words.into()),
    }
}

/// Why an earlier copy is of no use.
struct NoUse(&'static str);

const IS_OTHER: NoUse =
    NoUse("the copy that was cut was of another source, or of this one before it changed");
/// Half of it would be of another content, and nobody could tell.
const IS_UNVERIFIED: NoUse = NoUse(
    "whether the source has changed since the copy that was cut began is not known, and it cannot be read again",
);

/// Opens the temporary file. It may have its final mode already, which may let nobody write.
fn open_written(folder: &Folder, temporary: &OsStr) -> Outcome<Handle> {
    if folder.metadata(temporary)?.kind != FileKind::Regular {
        return Err(Errno::ENOENT);
    }
    match folder.open(temporary, Access::ReadWrite) {
        Err(Errno::EACCES) => {
            folder.open(temporary, Access::Read)?.take_over()?;
            folder.open(temporary, Access::ReadWrite)
        }
        opened => opened,
    }
}

/// The journal, if it is this user's, and of this file and this source. `None` where there is none such.
///
/// Errors: why the file cannot be resumed.
fn agreeing(
    folder: &Folder,
    temporary: &OsStr,
    handle: &Handle,
    wish: &ResumeRequest,
) -> Result<Option<OpenedJournal>, NoUse> {
    let read = || -> Outcome<(Handle, Meta, Meta, Vec<u8>)> {
        let (named, meta) = (folder.metadata(temporary)?, handle.meta()?);
        let file = folder.open(&journal_name(temporary), Access::ReadWrite)?;
        let bytes = read_all(&file)?;
        Ok((file, named, meta, bytes))
    };
    let Ok((file, named, meta, bytes)) = read() else { return Ok(None) };
    let is_named = (named.device, named.inode, meta.links) == (meta.device, meta.inode, 1);
    let Ok(true) = file.meta().map(|meta| why_not_own(folder, &meta).is_none()) else { return Ok(None) };
    let Some(head) = ResumeHead::decode(&bytes) else { return Ok(None) };
    if !is_named || head.target != target_id(&meta, handle) {
        return Ok(None);
    }
    if head.source != wish.source {
        return Err(IS_OTHER);
    }
    if !(head.is_settled || wish.is_comparable) {
        return Err(IS_UNVERIFIED);
    }
    let life = ResumeLife { boot: folder.boot(), mount: handle.origin().1, is_unsynced: wish.is_unsynced };
    let Some(told) = core::JournalMachine::read(&bytes, life) else { return Ok(None) };
    let end = told.written().iter().last().map_or(0, |(_, end)| end);
    // Shorter than what was written: somebody cut it.
    Ok((end > 0 && end <= meta.size_bytes).then_some(OpenedJournal { file, told }))
}

/// Reads a journal, at most as much as one can hold.
fn read_all(file: &Handle) -> Outcome<Vec<u8>> {
    const MAX_BYTES: usize = HEAD_BYTES + RECORDS_MAX * RECORD_BYTES;
    let size_bytes = file.meta()?.size_bytes.min(MAX_BYTES as u64);
    let (mut bytes, mut len) = (vec![0; size_bytes as usize], 0);
    while len < bytes.len() {
        match file.peek(len as u64, &mut bytes[len..])? {
            0 => break,
            count => len += count,
        }
    }
    bytes.truncate(len);
    Ok(bytes)
}

impl OpenedJournal {
    /// The ranges that are left of those to be copied.
    pub fn missing(&self, ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
        self.told.written().missing(ranges, self.told.head().source.size_bytes)
    }

    /// Whether the source would show it if it had changed since. Otherwise what stands is to be compared with it.
    pub fn is_settled(&self) -> bool {
        self.told.head().is_settled
    }

    /// Bytes that earlier runs may have had and that come again.
    pub fn doubt_bytes(&self) -> u64 {
        self.told.doubt_bytes()
    }

    /// Device and number of the temporary file.
    pub fn target_inode(&self) -> (u64, u64) {
        let TargetId { device, inode, .. } = self.told.head().target;
        (device, inode)
    }
}

impl Journal {
    /// Begins the journal of a temporary file, or goes on with it. Gives nothing where it cannot be written: then a
    /// later run starts over.
    pub fn begin(
        folder: &Folder,
        temporary: &OsStr,
        data: &Arc<Handle>,
        wish: &ResumeRequest,
        earlier: Option<OpenedJournal>,
    ) -> Option<Journal> {
        let name = journal_name(temporary);
        let OpenedJournal { file, mut told } = match earlier {
            Some(earlier) => earlier,
            None => new(folder, &name, data, wish).ok()?,
        };
        // Nobody knows how much is written while a sync is under way.
        let (at, unrecorded) = told.begin(if wish.waits_for_sync { u64::MAX } else { wish.under_way_bytes });
        file.put(at, &unrecorded).ok()?;
        let state = JournalState {
            earlier_bytes: told.written().total(),
            written_bytes: 0,
            is_left: false,
            told,
            waiting: Ranges::default(),
            is_broken: false,
            unsynced_bytes: 0,
            is_over: false,
            sync_failed: None,
            names_are_synced: false,
        };
        let book = Arc::new(JournalBook {
            file,
            data: Arc::clone(data),
            folder: folder.clone(),
            syncing: wish.syncing,
            waits_for_sync: wish.waits_for_sync,
            under_way_bytes: wish.under_way_bytes,
            state: Mutex::new(state),
            wake: std::sync::Condvar::new(),
        });
        let helper = Mutex::new(sync::helper(&book));
        Some(Journal { folder: folder.clone(), name, book, helper })
    }

    /// Enters a block that was written; with syncs beside it, once it is synced.
    ///
    /// Errors: a sync failed, and the file is not to be resumed, here or later.
    pub fn landed(&self, block: Block) -> Outcome<()> {
        let mut state = self.book.state();
        if state.is_broken {
            return state.sync_failed.map_or(Ok(()), Err);
        }
        let (start, end) = (block.at, block.at + u64::from(block.len));
        state.written_bytes += end - start;
        if self.book.waits_for_sync {
            state.waiting.insert(start, end);
        } else if let Some((at, record)) = state.told.add_written(start, end) {
            state.is_broken = self.book.file.put(at, &record).is_err();
        }
        state.unsynced_bytes += u64::from(block.len);
        self.book.heed(state);
        Ok(())
    }

    /// Nobody syncs any more when this returns. An error: a sync failed, and what it was to put on stable storage may
    /// be lost, whatever later syncs say.
    pub fn close(&self) -> Outcome<()> {
        self.book.state().is_over = true;
        self.book.wake.notify_all();
        let helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner).take();
        helper.map(std::thread::JoinHandle::join);
        self.book.state().sync_failed.map_or(Ok(()), Err)
    }

    /// The same of a file that is left for a later run: what waits for a sync gets one, if it ends soon.
    pub fn leave(&self) -> Outcome<()> {
        if !self.book.waits_for_sync {
            return self.close();
        }
        let helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner).take();
        sync::last(&self.book, helper);
        self.book.state().is_left = true;
        self.book.state().sync_failed.map_or(Ok(()), Err)
    }

    /// A sync of its file failed.
    pub fn distrust(&self, errno: Errno) {
        self.book.distrust(errno);
    }

    /// Whether a later run gains by it.
    pub fn is_of_use(&self) -> bool {
        let state = self.book.state();
        state.sync_failed.is_none() && state.told.written().total() > 0
    }

    /// Removes it.
    pub fn remove(&self) {
        // Best effort: it names a file that has another name then, or none.
        let _ = self.folder.remove(&self.name);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.close();
        self.book.record_end();
    }
}

/// Makes an empty journal. What existed under its name belonged to a file that is gone, and is removed.
fn new(folder: &Folder, name: &OsStr, data: &Handle, wish: &ResumeRequest) -> Outcome<OpenedJournal> {
    let file = match folder.create_new(name) {
        Err(Errno::EEXIST) => folder.remove(name).and_then(|()| folder.create_new(name)),
        made => made,
    }?;
    let (meta, (_, mount)) = (data.meta()?, data.origin());
    let (target, is_settled) = (target_id(&meta, data), wish.is_settled);
    let head = ResumeHead { source: wish.source, target, is_settled };
    file.put(0, &head.encode())?;
    let life = ResumeLife { boot: folder.boot(), mount, is_unsynced: wish.is_unsynced };
    Ok(OpenedJournal { file, told: core::JournalMachine::new(head, life) })
}

impl JournalBook {
    /// Records how much this run leaves unrecorded, when no lane writes any more. A sync may still be under way, after which
    /// it is less.
    fn record_end(&self) {
        let mut state = self.state();
        if state.is_left && !state.is_broken {
            let recorded_bytes = state.told.written().total().saturating_sub(state.earlier_bytes);
            let lost_bytes = state.written_bytes.saturating_sub(recorded_bytes);
            let (at, unrecorded) = state.told.begin(lost_bytes.saturating_add(self.under_way_bytes));
            // Should it fail, the bound of the beginning stays.
            let _: Outcome<()> = self.file.put(at, &unrecorded);
        }
    }

    fn state(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
