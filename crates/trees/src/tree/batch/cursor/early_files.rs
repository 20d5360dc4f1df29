//! Files of a batch that another host opens before their turn: the requests for them are sent together. What is
//! expected wrongly costs a message; nothing that is decided depends on it.
//!
//! A name is looked at once more for that, so only those are whose file may be opened alone: by what was listed of their
//! content, by their attributes once a first file of the run got its own. Where nothing is to be done that saves one look
//! at the target for each name, 12 % of the CPU time of both hosts.
//!
//! Must not know: how files are opened, what becomes of them.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::tree::batch::cursor::{BatchCursor, BatchName};
use datapump_core::name::{KnownFacts, NameAction, NameFact, NameMachine, NameStep};

use crate::folder::directory::ReadContents;
use crate::listed::Name;
use crate::origin::Origin;
use crate::tree::Shared;
use datapump_files::disk::{FileKind, Meta, names};

/// Which files of a batch were opened before their turn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Early {
    Nothing,
    Contents,
    /// Those that only get attributes, too.
    Attributes,
}

/// Which files are looked for.
#[derive(Clone, Copy)]
struct EarlyKinds {
    contents: bool,
    attributes: bool,
    /// Small ones, too.
    opens_each: bool,
}

impl BatchCursor {
    /// Opens the files that will be opened one by one. Once for the batch, and once more when the first file of the run
    /// is opened for its attributes alone.
    pub(in crate::tree) fn open_early(&mut self, shared: &Shared<'_>) {
        let attributes =
            shared.trees.opens_for_attributes.load(Ordering::Relaxed) && !shared.settings.options.dry_run;
        let is_due = match self.opened_early {
            Early::Nothing => true,
            Early::Contents => attributes,
            Early::Attributes => false,
        };
        let Origin::There(folder) = &self.source else { return };
        let opens_none = shared.ledger.full.is_full() || folder.facts().made_up;
        if !is_due || opens_none || self.names.len() < 2 {
            return;
        }
        let is_first = self.opened_early == Early::Nothing;
        self.opened_early = if attributes { Early::Attributes } else { Early::Contents };
        let opens_each = folder.opens_each();
        let wanted = self.opened_alone(shared, EarlyKinds { contents: is_first, attributes, opens_each });
        if wanted.len() > 1 {
            // What goes wrong is met again where a file is opened by itself.
            self.early.extend(Arc::clone(folder).open_early(wanted));
        }
    }

    /// The files that will be opened by requests of their own, and whether they are empty.
    fn opened_alone(&self, shared: &Shared<'_>, kinds: EarlyKinds) -> Vec<(OsString, bool)> {
        let file = |name: &Name| {
            let meta = name.reported.as_ref()?.meta.ok()?;
            let at = BatchName { shared, cursor: self, name };
            at.is_opened_alone(&meta, kinds).then(|| (name.name.clone(), meta.size_bytes == 0))
        };
        self.names.as_slice().iter().filter_map(file).collect()
    }
}

impl BatchName<'_> {
    /// Whether a file will be opened one by one, by its size, holes and attributes; then it is opened early.
    fn is_opened_alone(self, meta: &Meta, kinds: EarlyKinds) -> bool {
        if meta.kind != FileKind::Regular || self.name.follows().is_some() {
            return false;
        }
        let most = u64::from(self.shared.settings.shape.request_bytes);
        let (is_large, has_holes) = (meta.size_bytes > most, meta.allocated_bytes < meta.size_bytes);
        // One that is opened long before its turn may change until then: others of the batch are soon read.
        let is_soon_read = meta.size_bytes.min(meta.allocated_bytes) <= most;
        let (is_empty, tells_holes) = (meta.size_bytes == 0, has_holes && !self.shared.compares_by_sums());
        let is_copied_alone = kinds.contents
            && is_soon_read
            && (has_holes || is_empty || kinds.opens_each)
            && !self.shared.settings.options.dry_run;
        let is_compared_alone =
            kinds.contents && (is_large || tells_holes || is_empty || (kinds.opens_each && is_soon_read));
        let keep = self.shared.settings.options.attributes.keep;
        let carries = kinds.contents && kinds.opens_each && (keep.acl || keep.xattrs);
        let is_selected = || self.directory().root.is_named() || self.is_included(meta.kind);
        if !(is_copied_alone || is_compared_alone || carries || kinds.attributes) || !is_selected() {
            return false;
        }
        let existing = self.cursor.target.as_deref().filter(|_| !self.directory().traits.fresh);
        match existing.and_then(|target| names::metadata(target, &self.name.name).ok()) {
            there if self.shared.settings.compares => {
                let is_read =
                    there.is_some_and(|there| (there.kind, there.size_bytes) == (meta.kind, meta.size_bytes));
                is_read && is_compared_alone
            }
            existing if self.cursor.read == ReadContents::default() => {
                match expected(self.shared, meta, existing) {
                    NameStep::Perform(NameAction::Leave(_) | NameAction::Skip(_))
                    | NameStep::Find(NameFact::MayHide) => false,
                    NameStep::Find(NameFact::HiddenEqual) => carries,
                    NameStep::Perform(NameAction::SetAttributes) => kinds.attributes || carries,
                    NameStep::Perform(NameAction::CompareExisting) => is_compared_alone,
                    _ => is_copied_alone,
                }
            }
            _ => is_copied_alone,
        }
    }
}

/// What becomes of a file by what is known so far.
fn expected(shared: &Shared<'_>, meta: &Meta, existing: Option<Meta>) -> NameStep {
    let source = shared.settings.options.attributes.keep.given.of(meta);
    let facts = KnownFacts { existing: Some(existing), ..KnownFacts::of_two_files(&source, &source) };
    NameMachine::with_facts(&shared.trees.flags, facts).poll()
}
