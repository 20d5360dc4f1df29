//! Facts of a file, gathered for the rule before its copy begins.
//!
//! Must not know: what follows from it.

use crate::open::copy_method::Facts;
use crate::open::opened::Opened;
use crate::run::Shared;
use crate::target::{Item, Target};
use datapump_files::disk::FileCalls;

pub(crate) fn facts(shared: &Shared<'_>, item: &Item, opened: &Opened) -> Facts {
    let size_bytes = match &opened.ranges {
        Some(ranges) => ranges.iter().map(|(start, end)| end - start).sum(),
        // A stream of unknown length is taken for a long one, a file that does not know its size for a short one.
        None if opened.is_file => 0,
        None => u64::MAX,
    };
    let cached = match (&opened.handle, &opened.original) {
        _ if opened.stripe.is_some() => opened.stripe.as_ref().and_then(|stripe| stripe.cached_fraction()),
        (Some(handle), Some(original)) if opened.ordinary => handle.cached_fraction(original.meta.size_bytes),
        _ => None,
    };
    let compares = matches!(item.target, Target::Compare(_));
    Facts {
        size_bytes,
        cached,
        source_is_file: opened.is_file,
        sink_is_file: matches!(item.target, Target::File(_) | Target::Device(_) | Target::Stripe(_)),
        bytes_are_looked_at: shared.settings.hashes || compares || opened.is_elsewhere(),
        same_file_system: same_file_system(item, opened),
        whole_file: opened.ordinary && matches!(item.target, Target::File(_)),
        in_order: shared.settings.in_order.is_some(),
        synced_alone: true,
    }
}

fn same_file_system(item: &Item, opened: &Opened) -> bool {
    let (Target::File(at), Some(original)) = (&item.target, &opened.original) else { return false };
    at.folder_device().is_ok_and(|device| device == original.meta.device)
}
