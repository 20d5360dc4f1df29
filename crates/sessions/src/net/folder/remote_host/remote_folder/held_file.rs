//! A file of the other side as a source that is held: what is known of it, and what happened to it since its copy began.
//!
//! Must not know: how requests are sent, where the copy goes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::remote_file::{OpenFile, RemoteFile};
use crate::file::copied::CopiedContent;
use crate::open::held::{Attributes, BytesFrom, Elsewhere, Held, Original, ReadAgain, rewritten};
use crate::problem::Problem;
use datapump_files::disk::Meta;
use datapump_files::holes::ByteRanges;
use datapump_files::identity::tick::TimeLook;
use datapump_files::identity::{SourceChange, certain_change, change, id};

impl Elsewhere for RemoteFile {
    fn bytes_from(self: Arc<RemoteFile>) -> BytesFrom {
        BytesFrom::RemoteHost(self)
    }

    fn stream_bytes(&self) -> Option<u64> {
        match self {
            RemoteFile::Stream(stream) => stream.bytes,
            RemoteFile::Open(_) | RemoteFile::Small(_) => None,
        }
    }

    fn tells_ranges(&self) -> bool {
        !matches!(self, RemoteFile::Open(OpenFile { ranges: None, .. }))
    }

    fn reported(&self) -> Option<(&Meta, &Attributes)> {
        match self {
            RemoteFile::Open(file) => Some((&file.meta, &file.attributes)),
            RemoteFile::Small(file) => file.reported.get().map(|(meta, attributes)| (meta, attributes)),
            RemoteFile::Stream(_) => None,
        }
    }

    fn ranges(&self, meta: &Meta, ignore_holes: bool) -> ByteRanges {
        match self {
            RemoteFile::Open(OpenFile { ranges: Some(ranges), .. }) if !ignore_holes => ranges.clone(),
            RemoteFile::Small(_) if meta.size_bytes == 0 => Vec::new(),
            _ => vec![(0, meta.size_bytes)],
        }
    }

    /// How the file changed since it was opened. A small one was looked at there before and after it was read: one that
    /// is copied is taken as it was then, whatever was listed, and that is noted in `original`.
    fn find_change(&self, original: &Original) -> Result<Option<SourceChange>, Problem> {
        let Original { path, meta: before, look, .. } = original;
        let (now, named, is_young) = match self {
            RemoteFile::Open(file) => file.look_again(path)?,
            RemoteFile::Small(file) => match file.reported.get() {
                Some((now, _)) if file.len_max > 0 && !is_another_of_several(before, now) => {
                    let meta = as_the_file_listed(before, now);
                    let _ = original.again.set(ReadAgain { held: original.held.clone(), meta });
                    return Ok(None);
                }
                Some((now, _)) => (*now, Some(*now), false),
                None => (*before, Some(*before), false),
            },
            RemoteFile::Stream(_) => return Ok(None),
        };
        let look = TimeLook { is_young: is_young || look.is_young, ..*look };
        Ok(match (change(before, &now, named.as_ref(), look), self) {
            // Its attributes are those of afterwards.
            (Some(SourceChange::Grew(words)), RemoteFile::Small(_)) => Some(SourceChange::Other(words)),
            (Some(SourceChange::Unverified(_)), RemoteFile::Small(_)) => None,
            (change, _) => change,
        })
    }

    /// A host that is too old to tell may have looked within a tick.
    fn was_settled(&self) -> bool {
        matches!(self, RemoteFile::Open(file) if file.is_young == Some(false))
    }

    fn is_readable_again(&self) -> bool {
        matches!(self, RemoteFile::Open(file) if file.tells_sums())
    }

    /// Opens the file once more and has the other host read it; its digests are compared with what was copied. The inner error:
    /// how it changed.
    fn read_again(
        &self,
        original: &Original,
        copied: &CopiedContent<'_>,
        stop: &AtomicBool,
    ) -> Result<Result<ReadAgain, SourceChange>, Problem> {
        let Original { path, meta: before, look, .. } = original;
        let Some(again) = self.open_again(path)? else {
            return Err(original.unsettled("it cannot be read a second time"));
        };
        if let Some(change) = certain_change(before, &again.meta, Some(&again.meta), *look) {
            return Ok(Err(change));
        }
        let is_same = || match again.is_same(copied, path, stop)? {
            None => Err(original.unsettled("the host of the source is too old to read it again")),
            Some(is_same) => Ok(is_same),
        };
        if !is_same()? {
            return Ok(Err(rewritten()));
        }
        let (now, named, _) = again.look_again(path)?;
        // It may have been written to behind what was compared, and the copy would get the time of that; or this time
        // never rests.
        if now.mtime_ns != again.meta.mtime_ns && !is_same()? {
            return Ok(Err(rewritten()));
        }
        let (meta, held) = (now, Held::There(Arc::new(RemoteFile::Open(again))));
        Ok(certain_change(before, &now, named.as_ref(), *look).map_or(Ok(ReadAgain { held, meta }), Err))
    }

    /// Its own host reads it, and answers with digests.
    fn begins_with(
        &self,
        original: &Original,
        copied: &CopiedContent<'_>,
        stop: &AtomicBool,
    ) -> Result<Option<bool>, Problem> {
        match self {
            // It answers with a fault where the file became shorter again.
            RemoteFile::Open(file) if file.tells_sums() => {
                file.begins_with(copied, &original.path, stop).map(|begins| Some(begins == Some(true)))
            }
            _ => Ok(None),
        }
    }
}

/// A file as it was when it was read. By which handle it is told apart from others of its number, its listing alone says.
fn as_the_file_listed(listed: &Meta, now: &Meta) -> Meta {
    if id(listed) == id(now) {
        Meta { generation: listed.generation, handle: listed.handle, ..*now }
    } else {
        *now
    }
}

/// Whether another file has the name by now, where the other names of the one that was listed wait to be linked to its
/// copy.
fn is_another_of_several(listed: &Meta, now: &Meta) -> bool {
    listed.links > 1 && id(listed) != id(now)
}
