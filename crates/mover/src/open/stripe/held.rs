//! The open members of a stripe that is read, and whether it is still what it was.
//!
//! Must not know: how members are found, where the copy goes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump_engine::{Errno, Handle};

use crate::file::copied::CopiedContent;
use crate::open::held::{
    Attributes, BytesFrom, Elsewhere, OpenMembers, OpenedWords, Original, ReadAgain, rewritten,
};
use crate::open::stripe::peek::peek;
use crate::place::stripe::StripeSource;
use crate::problem::{Operation, Problem, shown_path};
use datapump_files::disk::{Access, Disk, FileCalls, FileKind, Meta, names};
use datapump_files::identity::tick::{self, TimeLook};
use datapump_files::identity::{OpenSource, SourceChange, YOUNG, find_change};

/// The open members of a source, as they were when its copy began.
#[derive(Debug)]
pub struct HeldStripe {
    /// As the user named it.
    pub(super) name: String,
    pub(super) disk: Disk,
    pub(super) source: StripeSource,
    pub(super) handles: Vec<Arc<Handle>>,
    /// What the times of each could tell.
    pub(super) looks: Vec<TimeLook>,
    pub(super) meta: Meta,
    pub(super) attributes: Attributes,
}

impl Elsewhere for HeldStripe {
    fn bytes_from(self: Arc<HeldStripe>) -> BytesFrom {
        let paths = self.source.members.paths.iter().cloned();
        let files = paths.zip(self.handles.iter().cloned()).collect();
        BytesFrom::Stripe(OpenMembers { map: self.source.members.map, files })
    }

    fn opened_words(&self, _writes: bool) -> Option<OpenedWords> {
        let StripeSource { members, bytes, .. } = &self.source;
        Some(OpenedWords::Note(format!("'{}': {}, {bytes} bytes", self.name, members.words())))
    }

    fn cached_fraction(&self) -> Option<f64> {
        let cached = |(handle, meta): (&Arc<Handle>, &Meta)| match (meta.kind, meta.size_bytes) {
            (FileKind::Regular, 0) => Some(0.0),
            (FileKind::Regular, bytes) => Some(handle.cached_fraction(bytes)? * bytes as f64),
            _ => None,
        };
        let bytes = self.handles.iter().zip(&self.source.metas).map(cached).sum::<Option<f64>>()?;
        Some(bytes / self.source.bytes.max(1) as f64)
    }

    fn reported(&self) -> Option<(&Meta, &Attributes)> {
        Some((&self.meta, &self.attributes))
    }

    /// The change of the first member that has changed; a member that is unverified counts only where none has.
    fn find_change(&self, original: &Original) -> Result<Option<SourceChange>, Problem> {
        let mut unverified = original.look.is_young.then_some(SourceChange::Unverified(YOUNG));
        for (path, handle, before, look) in self.files() {
            let change = find_change(
                &self.disk,
                OpenSource { path, handle, before, look, folder: None, is_rehearsal: false },
            )?;
            let named = |words| format!("has a member '{}' that {words}", shown_path(path));
            match change {
                None => {}
                Some(SourceChange::Unverified(what)) => unverified = Some(SourceChange::Unverified(what)),
                Some(SourceChange::Grew(words) | SourceChange::Other(words)) => {
                    return Ok(Some(SourceChange::Other(named(words))));
                }
            }
        }
        Ok(unverified)
    }

    fn was_settled(&self) -> bool {
        self.files().all(|(.., look)| !look.is_young)
    }

    fn is_readable_again(&self) -> bool {
        true
    }

    /// Waits until a further change would show in the members' times, and compares their bytes with what was copied. The inner
    /// error: how they changed.
    fn read_again(
        &self,
        original: &Original,
        copied: &CopiedContent<'_>,
        stop: &AtomicBool,
    ) -> Result<Result<ReadAgain, SourceChange>, Problem> {
        self.files().for_each(|(_, handle, before, _)| {
            tick::wait_until_settled(handle.room().magic, before, stop);
        });
        let system = |errno: Errno| Problem::system(Operation::Read, &original.path, errno.0);
        // Those that copied may be for direct I/O, which takes no bytes at any address.
        let again = |handle: &Arc<Handle>| names::open_again(handle.os(), Access::Read).map(Handle::Os);
        let members = self.handles.iter().map(again).collect::<Result<Vec<_>, Errno>>().map_err(system)?;
        if !copied.is_same_by(&|at, into| self.peek(&members, at, into), stop).map_err(system)? {
            return Ok(Err(rewritten()));
        }
        match self.find_change(original)? {
            None | Some(SourceChange::Unverified(_)) => {}
            Some(change) => return Ok(Err(change)),
        }
        Ok(Ok(ReadAgain { held: original.held.clone(), meta: original.meta }))
    }
}

impl HeldStripe {
    /// Its members that are files.
    fn files(&self) -> impl Iterator<Item = (&PathBuf, &Arc<Handle>, &Meta, TimeLook)> {
        let members = self.source.members.paths.iter().zip(&self.handles).zip(&self.source.metas);
        let members =
            members.zip(&self.looks).map(|(((path, handle), meta), look)| (path, handle, meta, *look));
        members.filter(|(_, _, meta, _)| meta.kind == FileKind::Regular)
    }

    /// Reads a few bytes of its members; 0 at its end.
    fn peek(&self, members: &[Handle], at: u64, into: &mut [u8]) -> Result<usize, Errno> {
        if at >= self.source.bytes { Ok(0) } else { peek(self.source.members.map, members, at, into) }
    }
}
