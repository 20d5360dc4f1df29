//! Lists a folder of the source: when its walk comes there, or before, for who asks whether it has a name.
//!
//! Must not know: what is done with names.

use std::ffi::OsStr;

use crate::folder::directory::Directory;
use crate::listed::Name;
use crate::problem::Problem;
use crate::tree::Shared;
use datapump_core::selection::Listing;

/// Names of the folder from this place on, and where those behind them begin.
pub(crate) fn names_of_folder(
    shared: &Shared<'_>,
    directory: &Directory,
    from: u64,
) -> Result<(Vec<Name>, u64), Problem> {
    let mut early = directory.listed_early.lock();
    if let Some(listed) = early.take(from) {
        return Ok(listed);
    }
    let (names, next) = listed(shared, directory, from)?;
    early.handle_listed(names.len(), next);
    Ok((names, next))
}

fn listed(shared: &Shared<'_>, directory: &Directory, from: u64) -> Result<(Vec<Name>, u64), Problem> {
    let folder = directory.source.origin()?;
    let listed = folder.list(from, compares_attributes(shared, directory), &directory.source.path());
    listed.inspect(|(names, _)| directory.note_names(from, names))
}

/// Whether the folder of another host has a name, as it is walked: the rest of its names is listed for that, and dealt
/// with later. `None` where it has too many, and must be asked.
pub(crate) fn source_lists(shared: &Shared<'_>, directory: &Directory, name: &OsStr) -> Option<bool> {
    if directory.source.is_here() {
        return None;
    }
    let known = directory.has_recorded(name).or_else(|| directory.looked_at(name));
    let walks_list = || matches!(shared.trees.select.listing(|| directory.relative()), Listing::Listed(_));
    if known.is_some() || walks_list() {
        return known;
    }
    let mut early = directory.listed_early.lock();
    while let Some(from) = early.next() {
        // What cannot be listed is reported by the walk.
        let (names, next) = listed(shared, directory, from).ok()?;
        early.keep(from, names, next);
    }
    directory.has_recorded(name)
}

/// Whether names of files are compared in what only their attributes tell, before they are opened.
pub(crate) fn compares_attributes(shared: &Shared<'_>, directory: &Directory) -> bool {
    let looks = shared.trees.flags.leaves_unread() || shared.settings.itemizes();
    let updates = looks && directory.target.is_some() && !directory.traits.fresh;
    let keep = shared.settings.options.attributes.keep;
    if shared.settings.compares {
        return shared.settings.options.comparison.compare_attributes;
    }
    (updates || !directory.link_dest.is_empty()) && (keep.acl || keep.xattrs)
}
