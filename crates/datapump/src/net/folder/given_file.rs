//! A file that was opened for the other side of a session: past the page cache or through it, and whether it stood
//! still.
//!
//! Must not know: who asks for it, by which number, how blocks are read.

use std::ffi::OsString;
use std::sync::Arc;

use datapump_engine::Handle;
use datapump_files::disk::{Access, FileCalls, Meta, names};
use datapump_files::holes::mapped;

use crate::job::options::Options;
use crate::net::folder::shared_reads::{ReaderGroup, SharedReads};
use crate::open::copy_method::{self, Facts};
use crate::tree::folder::side::FolderSide;

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
}

impl GivenFile {
    /// A file that is read through the cache.
    pub(crate) fn new(
        handle: Arc<Handle>,
        meta: Meta,
        above: Option<(Arc<FolderSide>, OsString)>,
    ) -> GivenFile {
        GivenFile { handle, meta, align_bytes: 1, buffered: None, group: None, above }
    }

    /// Other clients may have it open, too.
    pub(crate) fn joined(self, reads: Option<&SharedReads>) -> GivenFile {
        let file = (self.meta.device, self.meta.inode);
        GivenFile { group: reads.map(|reads| reads.join(file, self.meta.size_bytes)), ..self }
    }

    /// Reads past the cache what is large and not in it, as a copy on one host does (LIMITS §1).
    pub(crate) fn made_direct(mut self) -> GivenFile {
        let facts = Facts {
            size_bytes: self.meta.size_bytes,
            cached: self.handle.cached_fraction(self.meta.size_bytes),
            source_is_file: true,
            sink_is_file: false,
            bytes_are_looked_at: true,
            same_file_system: false,
            whole_file: true,
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

    /// The file for a block at this offset, and the alignment of its requests.
    pub(crate) fn for_block(&self, at: u64, len: u32) -> (&Arc<Handle>, u32) {
        let Some(buffered) = &self.buffered else { return (&self.handle, 1) };
        let is_alone = || self.group.as_ref().is_none_or(|group| group.may_go_past_cache(len));
        match at.is_multiple_of(self.align_bytes.into()) && is_alone() {
            true => (&self.handle, self.align_bytes),
            false => (buffered, 1),
        }
    }

    /// Whether the file is still what it was when it was opened.
    pub(crate) fn stood_still(&self) -> bool {
        !mapped::was_stored_to(&self.handle, &self.meta)
            // A link that is followed has one name, whatever its file has; another name changes the ctime, too.
            && self
                .handle
                .meta()
                .is_ok_and(|now| now == Meta { atime_ns: now.atime_ns, links: now.links, ..self.meta })
    }
}
