//! The list of an unfinished copy as it lies in a folder: whose it is, and what follows from its being there.
//!
//! Must not know: who writes it (`journal`), what its marks say.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datapump_core::journal::{HEADER_BYTES, Header};

use crate::list::header::{SourceRoot, is_of_folder, new_header};
use crate::problem::shown_path;
use crate::setup::options::Options;
use datapump_core::name::Unverified;
use datapump_files::commit::partial::open_list;
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::disk::{FileKind, Folder, fill, is_closed, names, origin, why_foreign, why_not_own};

/// Whether a folder holds the list of an unfinished copy of this source: what another run of it finds there is its own.
pub(crate) fn stands_in(folder: &Arc<File>, expected: &Header) -> bool {
    let Some((file, meta)) = open_list(folder) else { return false };
    let is_foreign = why_foreign(&Folder::Os(Arc::clone(folder)), &meta).is_some();
    !is_foreign && header_in(&file).is_some_and(|header| header.is_of_source(expected))
}

/// Since when what stands in a folder may not be on the disk, by a list that lies there, whosever it is and whether or
/// not it is believed: in the worst case that makes a few files be copied again.
pub(crate) fn unverified_in(folder: &File) -> Option<Unverified> {
    let existing = names::metadata(folder, OsStr::new(LIST_NAME)).ok()?;
    if existing.kind != FileKind::Regular {
        return None;
    }
    let is_own = existing.uid == rustix::process::geteuid().as_raw();
    let file = || names::open_source(folder, OsStr::new(LIST_NAME), false).ok();
    let header = is_own.then(file).flatten().and_then(|file| header_in(&file));
    if let Some(header) = header.filter(|header| is_of_folder(header, folder)) {
        return (!header.is_settled).then(|| Unverified::since(&header));
    }
    // What it does not tell, or not to this user, its birth does.
    let held = names::hold(folder, OsStr::new(LIST_NAME)).ok()?;
    Some(Unverified::since_ns(origin(&held).0))
}

/// Since when a folder may be unverified by a list in a folder above it: only one that this user or root alone can have
/// put there counts.
pub(crate) fn unverified_by_above(folder: &File) -> Option<Unverified> {
    let existing = names::metadata(folder, OsStr::new(LIST_NAME)).ok()?;
    let is_of_root = existing.uid == 0 || existing.uid == rustix::process::geteuid().as_raw();
    if is_of_root && is_closed(folder) { unverified_in(folder) } else { None }
}

/// Whether a folder was made for a copy of this source that was cut: the same command then goes on into it. An error:
/// what stands there is not believed, in words. A list in a folder that stood there before says nothing about where.
pub(crate) fn was_made_for(
    folder: &Arc<File>,
    path: &Path,
    source: impl FnOnce() -> Option<SourceRoot>,
    options: &Options,
) -> Result<bool, String> {
    let Some(file) = open_own(folder) else { return Ok(false) };
    let leads_nowhere = |why| {
        let name = path.join(LIST_NAME);
        format!("'{}' is ignored: {why}; the copy goes where cp would put it", shown_path(&name))
    };
    let file = file.map_err(leads_nowhere)?;
    let (Some(found), Some(source)) = (header_in(&file), source()) else { return Ok(false) };
    let expected = new_header(folder, &source, options, true);
    Ok(found.is_new && found.is_of_source(&expected) && found.is_of_target(&expected))
}

/// The header of an open list.
pub(crate) fn header_in(file: &File) -> Option<Header> {
    let mut bytes = [0; HEADER_BYTES];
    let count = fill(file, 0, &mut bytes).ok()?;
    Header::decode(&bytes[..count])
}

/// Opens the list in a folder, if there is one. The inner error: why it is not believed to be this user's.
pub(crate) fn open_own(folder: &Arc<File>) -> Option<Result<File, &'static str>> {
    let (file, meta) = open_list(folder)?;
    Some(match why_not_own(&Folder::Os(Arc::clone(folder)), &meta) {
        Some(why) => Err(why),
        None => Ok(file),
    })
}
