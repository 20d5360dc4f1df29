//! Removes what killed runs left in the folders of a target: temporary files that nobody has locked, and journals whose
//! temporary file is gone. Best effort: what cannot be removed is left.
//!
//! Must not know: whose copy it was.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::Errno;

use crate::disk::{FileKind, Folder, Name, file_meta, names};
use crate::resume;
use crate::temporary::{is_temporary, remove_leftover};
use crate::tree::journal;
use crate::tree::origin::Origin;

const ENOENT: Errno = Errno(2);

/// Sweeps a folder, and those below it that the source does not have (any more): nobody else comes there. What the
/// source has is a file like any other. What is older than the copy (`begun_ns`) is none of its leftovers.
pub(crate) fn sweep(folder: &Arc<File>, source: &Origin, begun_ns: i128) {
    let is_gone = |name: &OsStr| matches!(source.if_there(name, || name.into()), Ok(None));
    sweep_below(folder, &is_gone, begun_ns);
}

/// Removes what changed since that time and is no name of the source.
fn sweep_below(open: &Arc<File>, is_gone: &dyn Fn(&OsStr) -> bool, begun_ns: i128) {
    let (folder, mut cookie) = (Folder::Os(Arc::clone(open)), 0);
    while let Ok((names, next)) = names::list(open, cookie)
        && !names.is_empty()
    {
        cookie = next;
        for name in &names {
            let is_temporary = is_temporary(&name.name);
            match is_folder(open, name) {
                true if is_gone(&name.name) => enter(open, &name.name, begun_ns),
                false if is_temporary && is_gone(&name.name) => {
                    remove(&folder, &name.name, is_gone, begun_ns)
                }
                _ => {}
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
        sweep_below(&Arc::new(folder), &|_| true, begun_ns);
    }
}

fn is_folder(folder: &File, name: &Name) -> bool {
    let asked = || names::metadata(folder, &name.name).is_ok_and(|meta| meta.kind == FileKind::Folder);
    name.kind.map_or_else(asked, |kind| kind == FileKind::Folder)
}

fn remove(folder: &Folder, name: &OsStr, is_gone: &dyn Fn(&OsStr) -> bool, begun_ns: i128) {
    if folder.metadata(name).is_ok_and(|meta| meta.ctime_ns < begun_ns) {
        return;
    }
    match resume::temporary_of(name) {
        // A journal goes with its temporary file, or is left over alone.
        Some(temporary) if folder.metadata(temporary) == Err(ENOENT) => {
            resume::remove_journal(folder, temporary);
        }
        Some(_) => {}
        None if is_special(folder, name) => drop(folder.remove(name)),
        // Its journal would go, too.
        None if !is_gone(&resume::journal_name(name)) => {}
        None => drop(remove_leftover(folder, name, Path::new(name))),
    }
}

/// What `special.rs` makes under temporary names. It cannot be locked: a pump that makes one makes it again.
fn is_special(folder: &Folder, name: &OsStr) -> bool {
    use FileKind::{BlockDevice, CharDevice, Fifo, Symlink};
    let special = |kind| matches!(kind, Symlink | Fifo | CharDevice | BlockDevice);
    folder.metadata(name).is_ok_and(|meta| special(meta.kind))
}
