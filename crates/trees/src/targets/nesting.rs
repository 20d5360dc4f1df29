//! Warns of a folder that is copied below one that may be meant as its copy.
//!
//! Must not know: how targets are resolved, how folders are walked.

use std::ffi::OsStr;
use std::path::Path;

use crate::place::Place;
use crate::problem::shown_path;
use crate::setup::options::{Options, Update};
use datapump_files::disk::{PathAt, names};

/// The notice that a folder is copied into another one, where perhaps its content was meant: the flags are those of a
/// mirror, or a second run of a command would do that. `None` where the name already exists.
pub(super) fn nesting_notice(
    source: &Place,
    folder: &PathAt,
    name: &OsStr,
    options: &Options,
) -> Option<String> {
    let below = folder.child(name);
    if below.metadata_of_name().is_ok() {
        return None;
    }
    let mirrors = options.comparison.update != Update::All
        || options.comparison.checksum
        || options.deletion.delete
        || options.comparison.ignore_existing
        || !options.links.link_dest.is_empty();
    if !mirrors && !source.local_path().is_some_and(|from| holds_its_first_name(folder, from)) {
        return None;
    }
    Some(format!(
        "'{source}' is copied to '{}'; to bring '{}' itself up to date write '{source}/'",
        shown_path(&below.path),
        shown_path(&folder.path)
    ))
}

/// Names of other hosts are not listed for this.
fn holds_its_first_name(folder: &PathAt, from: &Path) -> bool {
    let listed = names::open_path(from).and_then(|open| names::list(&open, 0));
    let first = listed.ok().and_then(|(entries, _)| entries.into_iter().next());
    first.is_some_and(|entry| folder.child(&entry.name).metadata_of_name().is_ok())
}
