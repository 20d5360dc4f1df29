//! Names of files that are unchanged in another folder (`--link-dest`): they become hard links of the files there.
//!
//! Must not know: how a link is made over what exists, which names of one file belong together.

use std::fs::File;
use std::sync::Arc;

use datapump_engine::Errno;

use crate::folder::directory::LinkDest;

use crate::problem::{Operation, Problem, system_words};
use crate::report::change::ChangeKind;
use crate::run::cause::cause_words;
use crate::tree::batch::cursor::BatchName;
use crate::tree::findings;
use crate::tree::findings::kept_times;
use crate::tree::links::linking::{can_link, link_into, link_problem};
use datapump_files::disk::{Meta, file_meta, names};
use datapump_files::identity::{FileId, id};

/// Links a file that is unchanged in another folder (`--link-dest`) to the one there, and gives that; `None` if it is
/// not unchanged.
pub(crate) fn link_unchanged(at: BatchName<'_>, meta: &Meta) -> Result<Option<FileId>, Problem> {
    let Some((_, held, there)) = unchanged(at, meta)? else { return Ok(None) };
    let (shared, entry) = (at.shared, at.entry());
    if let Some(target) = entry.directory.target.as_ref().filter(|_| !shared.settings.options.dry_run) {
        match link_into(shared, &entry, &held, &*target.file()?) {
            Ok(is_new) => shared.ledger.tally().done.hard_links += u64::from(is_new),
            // Another file system, or too many names: it is copied.
            Err(Errno::EMLINK) => return Ok(None),
            Err(errno) if names::is_unlinkable(errno) => {
                let why = cause_words(Operation::Link, errno).unwrap_or_else(|| system_words(errno.0));
                shared.ledger.notice_once(format!("--link-dest: {why}; what cannot be linked is copied"));
                return Ok(None);
            }
            Err(errno) => return Err(link_problem(&entry, errno)),
        }
    }
    entry.directory.root.journal().inspect(|journal| journal.know(&there));
    shared.ledger.tell(findings::change(shared, &entry.directory, ChangeKind::Link, at.name, meta, None));
    Ok(Some(id(&there)))
}

/// Whether a name whose place a folder has will be such a link when that is gone.
pub(crate) fn can_link_unchanged(at: BatchName<'_>, meta: &Meta) -> Result<bool, Problem> {
    match unchanged(at, meta)? {
        Some((_, held, _)) => can_link(at.shared, &at.entry(), &held),
        None => Ok(false),
    }
}

/// A file of `--link-dest`: its folder, itself, and what it is.
type Unchanged = (Arc<File>, File, Meta);

/// The file of `--link-dest` that is equal in all but perhaps its content, to be read. None where it cannot be read.
pub(crate) fn open_unchanged(at: BatchName<'_>, meta: &Meta) -> Result<Option<File>, Problem> {
    let Some((folder, _, there)) = unchanged(at, meta)? else { return Ok(None) };
    let opened = names::open_source(&folder, &at.name.name, true).ok();
    Ok(opened.filter(|opened| file_meta(opened).is_ok_and(|meta| id(&meta) == id(&there))))
}

/// The file of `--link-dest` that is equal in size, time and attributes, and its folder.
fn unchanged(at: BatchName<'_>, meta: &Meta) -> Result<Option<Unchanged>, Problem> {
    let mut folders = at.directory().link_dest.iter();
    folders.find_map(|dest| unchanged_in(at, dest, meta).transpose()).transpose()
}

/// The file of this name in a folder of `--link-dest`, if the source is unchanged against it.
fn unchanged_in(at: BatchName<'_>, dest: &LinkDest, meta: &Meta) -> Result<Option<Unchanged>, Problem> {
    let (shared, from, name) = (at.shared, &at.cursor.source, &at.name.name);
    let folder = dest.folder.file()?;
    let Ok(held) = names::hold(&folder, name) else { return Ok(None) };
    let Ok(there) = file_meta(&held) else { return Ok(None) };
    let source = shared.settings.options.attributes.keep.given.of(meta);
    let same = !dest.unverified.reaches(&there) && shared.trees.flags.is_unchanged(&source, &there);
    let may_hide = || kept_times::may_hide(shared, &folder, name, meta, &there, || from.magic());
    let differs = !same || may_hide() || findings::hidden_differ(shared, from, at.name, &folder);
    Ok((!differs).then_some((folder, held.into_file(), there)))
}
