//! Files of a batch that another host opens before their turn: the requests for them are sent together. What is
//! expected wrongly costs a message; nothing that is decided depends on it.
//!
//! Must not know: how files are opened, what becomes of them.

use std::ffi::OsString;

use super::BatchCursor;
use crate::run::Shared;
use crate::target::listed::Name;
use crate::tree::folder::directory::Looked;
use crate::tree::folder::origin::Origin;
use crate::tree::rules::decide::Action;
use datapump_files::disk::{FileKind, Meta, names};

impl BatchCursor {
    /// Opens the files that will be opened one by one. Once for the batch.
    pub(in crate::tree::names) fn open_early(&mut self, shared: &Shared<'_>) {
        if std::mem::replace(&mut self.has_opened_early, true) {
            return;
        }
        let wanted = self.opened_alone(shared);
        if let Origin::There(folder) = &self.source
            && wanted.len() > 1
        {
            // What goes wrong is met again where a file is opened by itself.
            self.early.extend(folder.open_early(wanted));
        }
    }

    /// The files that will be opened by requests of their own, and whether they are empty.
    fn opened_alone(&self, shared: &Shared<'_>) -> Vec<(OsString, bool)> {
        let Origin::There(folder) = &self.source else { return Vec::new() };
        let (options, names) = (shared.settings.options, self.names.as_slice());
        let opens_none = options.dry_run || shared.ledger.full.is_full();
        if names.len() < 2 || opens_none || folder.made_up {
            return Vec::new();
        }
        let is_opened = |name: &&Name| self.is_opened_alone(shared, name);
        let file = |name: &Name| {
            let meta = name.told.as_ref().and_then(|told| told.meta.ok());
            (name.name.clone(), meta.is_some_and(|meta| meta.size_bytes == 0))
        };
        names.iter().filter(is_opened).map(file).collect()
    }

    fn is_opened_alone(&self, shared: &Shared<'_>, name: &Name) -> bool {
        let Some(Ok(meta)) = name.told.as_ref().map(|told| told.meta) else { return false };
        if meta.kind != FileKind::Regular || name.follows().is_some() {
            return false;
        }
        if !self.is_included(shared, name, meta.kind) || shared.trees.rules.passes_some() {
            return false;
        }
        let most = u64::from(shared.settings.shape.request_bytes);
        let (is_large, has_holes) = (meta.size_bytes > most, meta.allocated_bytes < meta.size_bytes);
        // One that is opened long before its turn may change until then: others of the batch are soon read.
        let is_soon_read = meta.size_bytes.min(meta.allocated_bytes) <= most;
        let (is_empty, tells_holes) = (meta.size_bytes == 0, has_holes && !shared.compares_by_sums());
        let stands = self.target.as_deref().filter(|_| !self.directory.traits.fresh);
        match stands.and_then(|target| names::metadata(target, &name.name).ok()) {
            there if shared.settings.compares => {
                let is_read =
                    there.is_some_and(|there| (there.kind, there.size_bytes) == (meta.kind, meta.size_bytes));
                is_read && (is_large || tells_holes || is_empty)
            }
            Some(there) if self.looked == Looked::NotYet => match self.expected(shared, &meta, &there) {
                Action::Leave(_) | Action::Keep(_) => false,
                Action::Adjust => shared.settings.options.keep.acl || shared.settings.options.keep.xattrs,
                Action::Compare => is_large || tells_holes || is_empty,
                _ => is_soon_read && (has_holes || is_empty),
            },
            _ => is_soon_read && (has_holes || is_empty),
        }
    }

    fn expected(&self, shared: &Shared<'_>, meta: &Meta, there: &Meta) -> Action {
        match shared.trees.rules.leaves_some() {
            true => shared.trees.rules.decide(meta, Some(there)),
            false => Action::Replace,
        }
    }
}
