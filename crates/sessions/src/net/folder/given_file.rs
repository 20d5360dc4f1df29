//! A file that was opened for the other side of a session: past the page cache or through it, and whether it stood
//! still.
//!
//! Must not know: who asks for it, by which number, how blocks are read.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump_core::{Block, Subtree};
use datapump_engine::{Errno, Handle};
use datapump_files::disk::{Access, FileCalls, Meta, Outcome, names, open_cached};
use datapump_files::holes::mapped;
use datapump_files::identity::tick::{self, TimeLook};
use datapump_files::identity::{SourceChange, certain_change, id};
use datapump_transport::Digest;

use crate::end::hash::BlockHash;
use crate::file::copied::read_part;
use crate::folder::side::FolderSide;
use crate::net::folder::shared_reads::{ReaderGroup, SharedReads};
use crate::open::copy_method::{self, Facts};
use crate::setup::options::Options;

/// A file that was opened.
#[derive(Debug)]
pub(crate) struct GivenFile {
    pub(crate) handle: Arc<Handle>,
    pub(crate) meta: Meta,
    /// Alignment of direct requests; 1 where it is read through the cache.
    align_bytes: u32,
    /// For what is not aligned, where direct requests are made.
    buffered: Option<Arc<Handle>>,
    /// The clients that have it open, where several may.
    group: Option<Arc<ReaderGroup>>,
    /// Where its name stands.
    pub(crate) above: Option<(Arc<FolderSide>, OsString)>,
    /// `statfs(2)` type of its file system, and what its times could tell when it was opened.
    pub(crate) magic: u64,
    pub(crate) look: TimeLook,
    /// A part of it is read to be measured: then stores through a mapping are no change.
    is_rehearsal: bool,
}

/// What a small file is behind its block.
#[derive(Debug)]
pub(crate) enum Still {
    /// What it was.
    Unchanged,
    /// It was appended to, and begins with its block: that is what it was when it was opened.
    Grew,
    /// A doubt was settled: what has its name now was read, and is what its block is.
    ReadAgain(Handle, Meta),
    Changed,
}

impl GivenFile {
    /// A file that is read through the cache.
    pub(crate) fn new(
        handle: Arc<Handle>,
        meta: Meta,
        magic: u64,
        look: TimeLook,
        above: Option<(Arc<FolderSide>, OsString)>,
    ) -> GivenFile {
        let (align_bytes, buffered, group, is_rehearsal) = (1, None, None, false);
        GivenFile { handle, meta, align_bytes, buffered, group, above, magic, look, is_rehearsal }
    }

    /// Other clients may have it open, too.
    pub(crate) fn joined(self, reads: Option<&SharedReads>) -> GivenFile {
        let file = (self.meta.device, self.meta.inode);
        GivenFile { group: reads.map(|reads| reads.join(file, self.meta.size_bytes)), ..self }
    }

    /// It is opened for a rehearsal, or for a copy.
    pub(crate) fn rehearsed(self, is_rehearsal: bool) -> GivenFile {
        GivenFile { is_rehearsal, ..self }
    }

    /// Whether pages of a range were stored to through a mapping since the file was as `now` says. To look for them the
    /// kernel visits each cached page, 7.5 ms a GiB. In memory they never show.
    pub(crate) fn was_stored_within(&self, now: &Meta, at: u64, len: u64) -> bool {
        self.was_stored_to(&self.handle, now, at, len)
    }

    fn was_stored_to(&self, handle: &Handle, now: &Meta, at: u64, len: u64) -> bool {
        !self.is_rehearsal && !self.look.is_in_memory && mapped::was_stored_within(handle, now, at, len)
    }

    /// Opens a file once more to read it past the cache, if it is large and not cached, as a copy on one host does. Where that
    /// fails the file stays as it is.
    pub(crate) fn read_past_cache(mut self) -> GivenFile {
        let facts = Facts {
            size_bytes: self.meta.size_bytes,
            cached: self.handle.cached_fraction(self.meta.size_bytes),
            source_is_file: true,
            sink_is_file: false,
            bytes_are_looked_at: true,
            same_file_system: false,
            whole_file: true,
            in_order: false,
            synced_alone: true,
        };
        if !copy_method::decide(&facts, &Options::default()).source_direct {
            return self;
        }
        let again = names::open_again(self.handle.os(), Access::Read).map(Handle::Os);
        if let Ok(direct) = again
            && direct.set_direct().is_ok()
        {
            self.align_bytes = direct.direct_alignment_bytes();
            self.buffered = Some(std::mem::replace(&mut self.handle, Arc::new(direct)));
        }
        self
    }

    /// The file for a block that is read now, and the alignment of its requests. Called once for each block: where other
    /// clients read the file, too, its bytes are charged to what may go past the cache.
    pub(crate) fn take_for_block(&self, at: u64, len: u32) -> (&Arc<Handle>, u32) {
        let Some(buffered) = &self.buffered else { return (&self.handle, 1) };
        let is_alone = || self.group.as_ref().is_none_or(|group| group.may_go_past_cache(len));
        if at.is_multiple_of(self.align_bytes.into()) && is_alone() {
            (&self.handle, self.align_bytes)
        } else {
            (buffered, 1)
        }
    }

    /// Whether nothing of a small file has changed since it was opened, and that is sure.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.handle.meta().is_ok_and(|now| {
            let is_same = now == Meta { atime_ns: now.atime_ns, links: now.links, ..self.meta };
            is_same && !self.look.is_young && !self.was_stored_within(&self.meta, 0, self.meta.size_bytes)
        })
    }

    /// Whether this block is what a small file was when it was opened: one state of it. What is unverified is read again,
    /// once a further change would show. A file whose name another one has by now counts as long as it is unchanged
    /// itself: it was copied before it was replaced. One whose name is gone has vanished.
    pub(crate) fn check_again(&self, block: &[u8], stop: &AtomicBool) -> Still {
        // Else it is gone, or cannot be read any more.
        self.read_again(block, stop).unwrap_or(Still::Changed)
    }

    /// Waits until a change of a small file would show, and compares the bytes again.
    fn read_again(&self, block: &[u8], stop: &AtomicBool) -> Outcome<Still> {
        let named = self.open_named()?;
        let is_replaced = id(&named.meta()?) != id(&self.meta);
        let handle = if is_replaced { open_cached(&self.handle)? } else { named };
        tick::wait_until_settled(self.magic, &self.meta, stop);
        let before = mapped::believed(&handle, handle.meta()?, stop)?;
        if !holds(&handle, block)? {
            return Ok(Still::Changed);
        }
        let now = handle.meta()?;
        let was_stored_to = self.was_stored_to(&handle, &now, 0, now.size_bytes);
        let is_same_state = self.look.is_same_time(before.mtime_ns, now.mtime_ns) && !was_stored_to;
        Ok(match (self.change_to(&before), self.change_to(&now)) {
            (None | Some(SourceChange::Grew(_)), Some(SourceChange::Grew(_))) => Still::Grew,
            // Its attributes are those that it had with its name.
            (None, None) if is_same_state && is_replaced => Still::Unchanged,
            (None, None) if is_same_state => Still::ReadAgain(handle, now),
            _ => Still::Changed,
        })
    }

    fn change_to(&self, now: &Meta) -> Option<SourceChange> {
        certain_change(&self.meta, now, Some(now), self.look)
    }

    /// Opens what has the file's name now, to be read through the cache.
    fn open_named(&self) -> Outcome<Handle> {
        match &self.above {
            Some((side, name)) => {
                let folder = side.origin_folder().map_err(|_| Errno::ENOENT)?;
                folder.open_source(name).map(Handle::Os)
            }
            None => open_cached(&self.handle),
        }
    }

    /// The digest of a part that is read once more, after a further change would show.
    pub(crate) fn sum(&self, at: u64, len: u32, stop: &AtomicBool) -> Outcome<Digest> {
        if self.look.is_young {
            tick::wait_until_settled(self.magic, &self.meta, stop);
        }
        let handle = self.buffered.as_ref().unwrap_or(&self.handle);
        let bytes = bytes_of(handle, at, len.into())?.ok_or(Errno::ESTALE)?;
        Ok(BlockHash::from_bytes(Block { file: 0, at, len }, &bytes).digest())
    }
}

/// Whether a file begins with these bytes.
fn holds(handle: &Handle, block: &[u8]) -> Outcome<bool> {
    bytes_of(handle, 0, block.len() as u64).map(|bytes| bytes.is_some_and(|bytes| bytes == block))
}

fn bytes_of(handle: &Handle, at: u64, bytes: u64) -> Outcome<Option<Vec<u8>>> {
    read_part(&|at, into| handle.peek(at, into), Subtree { at, bytes })
}
