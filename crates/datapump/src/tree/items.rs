//! A source that the user named becomes work: a file, an entry beside others, or the root of a tree.
//!
//! Must not know: how blocks are moved, command lines.

use std::sync::atomic::Ordering;

use crate::existing;
use crate::report::Waits;
use crate::run::Shared;
use crate::target::{Item, Target};
use crate::tree::{entry_argument, plant};
use datapump_files::temporary;

/// Opens what the user named: a file, or the root of a tree.
pub(crate) fn open_item(shared: &Shared<'_>, waits: &mut Waits, item: &Item) {
    if item.is_left_out {
        return shared.ledger.leave_out(&format!("'{}' {}", item.source, temporary::LEFT_OUT));
    }
    if let (Some(from), Target::Entry(to)) = (item.source.path(), &item.target) {
        let made = entry_argument::make(shared, from, to);
        return made.unwrap_or_else(|problem| shared.ledger.report(problem));
    }
    let (Some(from), Target::Tree(to)) = (item.source.path(), &item.target) else {
        return existing::open_item(shared, waits, item);
    };
    item.warning.iter().for_each(|words| shared.ledger.warn(words.clone()));
    if let Err(problem) = plant::plant(shared, (item.number, from), to) {
        shared
            .ledger
            .failed_whole
            .fetch_or(shared.settings.has_one_source && !shared.settings.compares, Ordering::Relaxed);
        shared.ledger.report(problem);
    }
    shared.trees.walked(&shared.ledger.watch);
}
