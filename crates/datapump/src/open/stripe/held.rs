//! The open members of a stripe that is read: its end, and whether it is still what it was.
//!
//! Must not know: how members are found, where the copy goes.

use std::sync::Arc;

use datapump_engine::Handle;

use crate::end::{Source, StripeEnd};
use crate::open::direct::direct;
use crate::open::file_end;
use crate::open::held::{Elsewhere, Original};
use crate::problem::{Problem, shown_path};
use crate::run::Shared;
use crate::target::listed::Attributes;
use crate::target::stripe::StripeSource;
use datapump_files::disk::{Disk, FileCalls, FileKind, Meta};
use datapump_files::identity::{OpenSource, SourceChange, find_change};

/// The open members of a source, as they were when its copy began.
#[derive(Debug)]
pub(crate) struct HeldStripe {
    pub(super) disk: Disk,
    pub(super) source: StripeSource,
    pub(super) handles: Vec<Arc<Handle>>,
    pub(super) meta: Meta,
    pub(super) attributes: Attributes,
}

impl HeldStripe {
    /// Its end; whether all of it goes past the page cache.
    pub(crate) fn end(&self, shared: &Shared<'_>, is_direct: bool) -> Result<(Source, bool), Problem> {
        let paths = self.source.members.paths.iter().cloned();
        let (mut members, mut all_direct) = (Vec::new(), is_direct);
        for (path, handle) in paths.zip(&self.handles) {
            let is_direct = is_direct && direct(shared, Some(handle), &path)?;
            all_direct &= is_direct;
            members.push((path, file_end::of_source(shared, Arc::clone(handle), is_direct)));
        }
        let end = StripeEnd::new(self.source.members.map, members);
        Ok((Source::Stripe(Arc::new(end)), all_direct))
    }

    /// How much of it is in the page cache, as far as the system tells.
    pub(crate) fn cached_fraction(&self) -> Option<f64> {
        let cached = |(handle, meta): (&Arc<Handle>, &Meta)| match (meta.kind, meta.size_bytes) {
            (FileKind::Regular, 0) => Some(0.0),
            (FileKind::Regular, bytes) => Some(handle.cached_fraction(bytes)? * bytes as f64),
            _ => None,
        };
        let bytes = self.handles.iter().zip(&self.source.metas).map(cached).sum::<Option<f64>>()?;
        Some(bytes / self.source.bytes.max(1) as f64)
    }
}

impl Elsewhere for HeldStripe {
    fn told(&self) -> Option<(&Meta, &Attributes)> {
        Some((&self.meta, &self.attributes))
    }

    /// Of the first member with which something happened.
    fn find_change(&self, _original: &Original) -> Result<Option<SourceChange>, Problem> {
        let members = self.source.members.paths.iter().zip(&self.handles).zip(&self.source.metas);
        for ((path, handle), before) in members.filter(|(_, meta)| meta.kind == FileKind::Regular) {
            let change = find_change(&self.disk, OpenSource { path, handle, before, folder: None })?;
            let named = |words| format!("has a member '{}' that {words}", shown_path(path));
            match change {
                None => {}
                Some(SourceChange::Grew(words) | SourceChange::Other(words)) => {
                    return Ok(Some(SourceChange::Other(named(words))));
                }
            }
        }
        Ok(None)
    }
}
