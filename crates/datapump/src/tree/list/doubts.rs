//! What at a target is in doubt (`doubt`), and what of that is copied again.
//!
//! Must not know: what stands in a list, how files are copied.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::problem::shown_path;
use crate::tree::Shared;
use crate::tree::folder::directory::Directory;
use crate::tree::folder::side::FolderSide;
use crate::tree::list::journal::TreeJournal;
use crate::tree::list::list_file;
use crate::tree::rules::decide::Action;
use datapump_core::name::Unverified;
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::commit::temporary;
use datapump_files::disk::{Folder, Meta, PathAt, file_meta, names};

/// Folders above a target that are looked at: a path of PATH_MAX bytes has no more.
const ABOVE_MAX: u32 = 2048;

/// Whether an unverified file may be of a copy of this source: it is not somebody's own work.
pub(crate) fn is_own(
    shared: &Shared<'_>,
    (directory, name): (&Directory, &OsStr),
    (source, there): (&Meta, &Meta),
) -> bool {
    let unverified = directory.traits.doubt;
    // Under a name of the source may stand what was on its way to another name.
    let is_leftover = || {
        let folder = directory.target.as_ref().and_then(|target| target.file().ok());
        folder.is_some_and(|folder| temporary::looks_left(&Folder::Os(folder.0), name, there))
    };
    let is_of_copy = || directory.root.journal().is_some_and(|journal| journal.is_of_new_folder);
    // In a folder that was made for the copy all is of the copy, but for what others put there since.
    let is_of_others = || directory.traits.tells_times() && unverified.is_of_others(source, there);
    unverified.may_have_made(source, there)
        || (shared.settings.options.comparison.ignore_existing && is_of_copy() && !is_of_others())
        || is_leftover()
}

/// The same of a file that the user named.
pub(crate) fn doubts_file(
    shared: &Shared<'_>,
    at: &PathAt,
    (action, source, there): (Action, &Meta, &Meta),
) -> bool {
    let ends = || Some((at.folder().ok()?, at.name()?));
    let is_leftover = || ends().is_some_and(|(folder, name)| temporary::looks_left(folder, name, there));
    leaves_some(shared) && is_undone(of_file(shared, at), (action, source, there), is_leftover)
}

fn is_undone(
    doubt: Unverified,
    (action, source, there): (Action, &Meta, &Meta),
    is_made: impl Fn() -> bool,
) -> bool {
    doubt.reaches(there)
        && match action {
            Action::Leave(_) | Action::Adjust | Action::Compare => true,
            // It may be somebody's own work. Under a name of the source may stand what was on its way to another name.
            Action::Keep(_) => doubt.may_have_made(source, there) || is_made(),
            _ => false,
        }
}

/// The doubt in the folder of a file that the user named. Found out once.
pub(crate) fn of_file(shared: &Shared<'_>, at: &PathAt) -> Unverified {
    let (Ok(Folder::Os(folder)), Some(path)) = (at.folder(), at.path.parent()) else {
        return Unverified::default();
    };
    let Some(id) = id(folder) else { return Unverified::default() };
    *shared.trees.doubts().entry(id).or_insert_with(|| in_and_above(shared, folder, path))
}

/// The doubt in the root of a tree: by its own list, or, where something is left alone for what it looks like, by any
/// that stands there or above.
pub(crate) fn of_root(
    shared: &Shared<'_>,
    journal: Option<&TreeJournal>,
    folder: &File,
    path: &Path,
) -> Unverified {
    let own = journal.map(|journal| journal.doubt).unwrap_or_default();
    match (leaves_some(shared), journal) {
        (false, _) => own,
        (true, Some(_)) => own.and(above(shared, folder, path)),
        (true, None) => in_and_above(shared, folder, path),
    }
}

/// By any list that stands in a folder or above.
pub(crate) fn in_and_above(shared: &Shared<'_>, folder: &File, path: &Path) -> Unverified {
    let here = by_list(shared, folder, list_file::doubt_in, || path.join(LIST_NAME));
    here.unwrap_or_default().and(above(shared, folder, path))
}

/// This run is going to have its own list in a folder: the trees that it has in one another see that.
pub(crate) fn expect_own(shared: &Shared<'_>, folder: &File) {
    let mut own = shared.trees.own_lists();
    if let (Some(id), None) = (id(folder), list_file::doubt_in(folder)) {
        own.insert(id, None);
    }
}

/// This run goes on with the list that stood in a folder.
pub(crate) fn go_on_with(shared: &Shared<'_>, folder: &File, doubt: Unverified) {
    if let Some(id) = id(folder) {
        shared.trees.own_lists().insert(id, Some(doubt));
    }
}

/// The doubt in a folder that this run did not make, below one of which that is known.
pub(crate) fn in_target(shared: &Shared<'_>, above: Unverified, target: &FolderSide) -> Unverified {
    if leaves_some(shared) { below(shared, above, target) } else { above }
}

pub(crate) fn below(shared: &Shared<'_>, above: Unverified, side: &FolderSide) -> Unverified {
    let path = || side.path_of(OsStr::new(LIST_NAME));
    let folder = side.file().ok();
    above.and(folder.and_then(|folder| by_list(shared, &folder.0, list_file::doubt_in, path)))
}

fn leaves_some(shared: &Shared<'_>) -> bool {
    shared.trees.flags.leaves_some() && !shared.settings.compares
}

/// A copy of a folder above dealt with this one, too, and its list lies there.
fn above(shared: &Shared<'_>, folder: &File, path: &Path) -> Option<Unverified> {
    let (mut found, mut here, mut path) = (None, None, path.to_path_buf());
    for _ in 0..ABOVE_MAX {
        let below = here.as_ref().unwrap_or(folder);
        let Ok(above) = names::open_folder(below, OsStr::new("..")) else { break };
        if id(below) == id(&above) {
            break;
        }
        path.push("..");
        if let Some(doubt) = by_list(shared, &above, list_file::doubt_above, || path.join(LIST_NAME)) {
            found = Some(doubt.and(found));
        }
        here = Some(above);
    }
    found
}

fn id(folder: &File) -> Option<(u64, u64)> {
    file_meta(folder).ok().map(|meta| (meta.device, meta.inode))
}

/// By the list in one folder. That of this run is of no other copy: it is not told, and what stood before it counts.
fn by_list(
    shared: &Shared<'_>,
    folder: &File,
    find: impl Fn(&File) -> Option<Unverified>,
    path: impl Fn() -> PathBuf,
) -> Option<Unverified> {
    let own = shared.trees.own_lists();
    if let Some(stood) = id(folder).and_then(|id| own.get(&id)) {
        return *stood;
    }
    // Nor can this run begin one meanwhile.
    let found = find(folder);
    drop(own);
    told(shared, found, path)
}

fn told(shared: &Shared<'_>, doubt: Option<Unverified>, path: impl Fn() -> PathBuf) -> Option<Unverified> {
    doubt.inspect(|_| {
        let list = shown_path(&path()).to_string();
        shared.ledger.warn(format!(
            "'{list}' was left by another copy that was cut or was not synced: what changed in its folder since \
             that began is copied again, not linked; to settle it run that copy to its end with all names (files \
             that cannot be read do not matter; without --sync=none and --inplace), or, if it is given up, copy \
             all without --update and the like and remove this file; a snapshot that is given up is not changed, \
             or removed: name a later one in --link-dest"
        ));
    })
}
