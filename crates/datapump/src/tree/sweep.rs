//! Removes what killed runs left in the folders of a target: temporary files that nobody has locked, and journals whose
//! temporary file is gone. Best effort: what cannot be removed is left.
//!
//! Must not know: whose copy it was.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::Errno;

use crate::commit::{is_temporary, remove_leftover};
use crate::disk::{FileKind, Folder, Name, file_meta, names};
use crate::resume;
use crate::tree::journal;
use crate::tree::origin::Origin;

const ENOENT: Errno = Errno(2);

/// Sweeps a folder, and those below it that the source does not have (any more): nobody else comes there. In those
/// only what is younger than the copy (`begun_ns`): a file that another copy may go on with is older, or locked.
pub(crate) fn sweep(folder: &Arc<File>, source: &Origin, begun_ns: i128) {
    sweep_below(
        folder,
        &|name| matches!(source.if_there(name, || name.into()), Ok(None)),
        (i128::MIN, begun_ns),
    );
}

/// Removes what changed since the first of the two times; in folders below, since the second.
fn sweep_below(open: &Arc<File>, is_gone: &dyn Fn(&OsStr) -> bool, (since_ns, begun_ns): (i128, i128)) {
    let (folder, mut cookie) = (Folder::Os(Arc::clone(open)), 0);
    while let Ok((names, next)) = names::list(open, cookie)
        && !names.is_empty()
    {
        cookie = next;
        for name in &names {
            match is_temporary(&name.name) {
                true => remove(&folder, &name.name, since_ns),
                false if is_folder(open, name) && is_gone(&name.name) => enter(open, &name.name, begun_ns),
                false => {}
            }
        }
    }
}

/// A folder on another file system, or with a list of its own, is left to others.
fn enter(above: &File, name: &OsStr, begun_ns: i128) {
    let Ok(folder) = names::open_folder(above, name) else { return };
    let device = |folder: &File| file_meta(folder).map(|meta| meta.device);
    let has_list = names::metadata(&folder, OsStr::new(journal::NAME)).is_ok();
    if device(above) == device(&folder) && !has_list {
        sweep_below(&Arc::new(folder), &|_| true, (begun_ns, begun_ns));
    }
}

fn is_folder(folder: &File, name: &Name) -> bool {
    let asked = || names::metadata(folder, &name.name).is_ok_and(|meta| meta.kind == FileKind::Folder);
    name.kind.map_or_else(asked, |kind| kind == FileKind::Folder)
}

fn remove(folder: &Folder, name: &OsStr, since_ns: i128) {
    if folder.metadata(name).is_ok_and(|meta| meta.ctime_ns < since_ns) {
        return;
    }
    match resume::temporary_of(name) {
        // A journal goes with its temporary file, or is left over alone.
        Some(temporary) if folder.metadata(temporary) == Err(ENOENT) => {
            resume::remove_journal(folder, temporary);
        }
        Some(_) => {}
        None if is_special(folder, name) => drop(folder.remove(name)),
        None => drop(remove_leftover(folder, name, Path::new(name))),
    }
}

/// What `special.rs` makes under temporary names. It cannot be locked: a pump that makes one makes it again.
fn is_special(folder: &Folder, name: &OsStr) -> bool {
    use FileKind::{BlockDevice, CharDevice, Fifo, Symlink};
    let special = |kind| matches!(kind, Symlink | Fifo | CharDevice | BlockDevice);
    folder.metadata(name).is_ok_and(|meta| special(meta.kind))
}
