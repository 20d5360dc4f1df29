//! Whether a folder of the source is what was walked. One that is in doubt is walked again: its names decide.
//!
//! Must not know: what is removed.

use crate::problem::Problem;
use crate::tree::folder::side::FolderSide;
use crate::tree::folder::visited::{AsWalked, FolderKey, Visited};
use datapump_files::disk::Meta;
use datapump_files::identity::id;

/// Whether a folder was walked and is the same now.
pub(super) fn is_as_walked(
    visited: &Visited,
    key: FolderKey,
    source: &FolderSide,
    now: &Meta,
) -> Result<bool, Problem> {
    match visited.is_as_walked(key, now) {
        AsWalked::Yes => Ok(true),
        AsWalked::No => Ok(false),
        AsWalked::Unverified => is_listed_as_walked(visited, key, source),
    }
}

/// What it was before its names were listed counts from now on: where that is young, or a name came meanwhile, the next
/// look lists it once more.
fn is_listed_as_walked(visited: &Visited, key: FolderKey, source: &FolderSide) -> Result<bool, Problem> {
    let (before, is_young) = source.look_again()?;
    let (origin, path) = (source.origin()?, source.path());
    let (mut all, mut cookie) = (Vec::new(), 0);
    loop {
        let (names, next) = origin.list(cookie, false, &path)?;
        if names.is_empty() {
            break;
        }
        all.extend(names);
        cookie = next;
    }
    let (now, _) = source.look_again()?;
    Ok(id(&before) == id(&now) && visited.is_listed_as_walked(key, (&before, is_young), &all))
}
