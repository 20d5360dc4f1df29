//! Files that the user named one by one, which another host opens before their turn: the requests for them are sent
//! together. What is expected wrongly costs a message; nothing that is decided depends on it.
//!
//! Must not know: how files are opened, what becomes of them.

use crate::place::Place;
use crate::problem::Problem;
use crate::target::Item;
use crate::tree::rules::decide::Action;
use crate::tree::{Shared, Work};
use datapump_files::disk::FileKind;

/// So many at a time: half of the places that the other side keeps open.
const TOGETHER: usize = 32;

/// Opens a file, and those behind it that will be opened, unless it is open, or comes without a request.
pub(crate) fn open_early(shared: &Shared<'_>, item: &Item) -> Result<(), Problem> {
    let Some(host) = shared.remote_host.as_ref().filter(|host| !host.brings_places()) else { return Ok(()) };
    if !is_soon_read(shared, item) || !is_opened(shared, item) {
        return Ok(());
    }
    let others = || {
        let next = shared.plan.look_ahead(TOGETHER - 1, |work| match work {
            Work::Item(item) if is_soon_read(shared, item) => Some(item.clone()),
            _ => None,
        });
        next.iter().filter(|item| is_opened(shared, item)).map(|item| item.number).collect()
    };
    shared.places_early.open(host, item.number, others)
}

/// A file that is opened long before its turn may change until then: others are soon read.
fn is_soon_read(shared: &Shared<'_>, item: &Item) -> bool {
    let most = u64::from(shared.settings.shape.request_bytes);
    let is_soon = item.meta.is_some_and(|meta| {
        meta.kind == FileKind::Regular && meta.size_bytes.min(meta.allocated_bytes) <= most
    });
    is_soon
        && !item.is_left_out
        && !item.is_tree()
        && !item.is_entry()
        && matches!(item.source, Place::Remote(_))
}

/// Whether the rules will want its content, or what it carries besides.
fn is_opened(shared: &Shared<'_>, item: &Item) -> bool {
    let (options, rules) = (shared.settings.options, &shared.trees.rules);
    let Some(meta) = item.meta.filter(|_| !shared.settings.compares) else { return true };
    let there = item.target.at().and_then(|at| at.metadata().ok());
    if rules.passed_by(Some(&meta), there.is_some()).is_some() {
        return false;
    }
    let there = there.filter(|_| rules.leaves_some() && !item.differs);
    match there.map(|there| rules.decide(&meta, Some(&there))) {
        Some(Action::Keep(_)) => false,
        Some(Action::Leave(_) | Action::Adjust) => {
            options.attributes.keep.acl || options.attributes.keep.xattrs
        }
        Some(Action::Compare) => true,
        _ => !options.dry_run,
    }
}
