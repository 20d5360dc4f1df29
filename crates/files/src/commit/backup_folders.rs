//! The folders that backups lie in: made like those that the backups come from, so that a copy back changes no folder's
//! mode, and open to this user until the run ends.
//!
//! Must not know: what has a backup, what backups are called.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use datapump_engine::Errno;

use crate::attributes;
use crate::attributes::keep::{Keep, New};
use crate::commit::aside;
use crate::disk::{AttributeHolder, Meta, Outcome, file_meta, names};
use crate::identity::{FileId, id};
use crate::opened_folders::{self, OPEN, at_end};

/// The folders that backups of a tree come from.
#[derive(Clone, Copy)]
pub struct Originals<'tree> {
    /// Where the ways to them begin.
    pub base: &'tree File,
    /// What the one so many levels above the last was before the run, if that is known.
    pub found: &'tree dyn Fn(usize) -> Option<Meta>,
}

/// What a folder gets when nothing more is put into it.
#[derive(Debug)]
struct DueAttributes {
    folder: FileId,
    meta: Meta,
}

/// A folder below that of all backups.
#[derive(Clone, Copy)]
struct BelowRoot<'way> {
    root: &'way Arc<File>,
    way: &'way Path,
}

/// The folders that a run made for backups, or opened to itself.
#[derive(Debug, Default)]
pub struct BackupFolders {
    state: Mutex<DueFolders>,
}

#[derive(Debug, Default)]
struct DueFolders {
    /// By the folder of all backups, and the way from there.
    due: BTreeMap<(FileId, PathBuf), DueAttributes>,
    roots: BTreeMap<FileId, Arc<File>>,
}

impl BackupFolders {
    /// A folder below that of all backups, made if it is not there. No link is followed, whoever put it there: what is
    /// no folder, a backup of what stood in the place of one, gets a number.
    pub fn open_below(&self, root: &Arc<File>, below: &Path, originals: Originals<'_>) -> Outcome<File> {
        let (open, meta, was_closed) = opened_folders::open_up(root, None)?;
        let mut open = self.opened(BelowRoot { root, way: Path::new("") }, open, meta, was_closed)?;
        let (levels, mut way) = (below.components().count(), PathBuf::new());
        for (index, part) in below.components().enumerate() {
            let Component::Normal(name) = part else { return Err(Errno::EXDEV) };
            way.push(name);
            let (next, is_made) = self.enter(BelowRoot { root, way: &way }, &open, name)?;
            if is_made {
                let found = (originals.found)(levels - 1 - index);
                let original = at_end(originals.base, &way).ok();
                self.copy_attributes_early(BelowRoot { root, way: &way }, &next, original, found);
            }
            open = next;
        }
        Ok(open)
    }

    /// The folder of all backups was made for what comes from this one.
    pub fn made_root(&self, root: &Arc<File>, original: &File, found: Option<Meta>) {
        let original = names::open_folder(original, OsStr::new(".")).ok();
        if let Ok(open) = names::open_folder(root, OsStr::new(".")) {
            self.copy_attributes_early(BelowRoot { root, way: Path::new("") }, &open, original, found);
        }
    }

    /// Copies the original's owner and lists at once, lest somebody looks in who could not; its mode and times are due at the
    /// end. What cannot be set prevents no backup.
    fn copy_attributes_early(
        &self,
        at: BelowRoot<'_>,
        made: &File,
        original: Option<File>,
        found: Option<Meta>,
    ) {
        let now = || original.as_ref().and_then(|original| file_meta(original).ok());
        let Some(meta) = found.or_else(now) else { return };
        let from = match &original {
            Some(original) => AttributeHolder::Open(original),
            None => AttributeHolder::Told(&[]),
        };
        let (to, new) = (AttributeHolder::Open(made), New { made: true, ..New::default() });
        let _ = attributes::copy(from, &Meta { mode: meta.mode | OPEN, ..meta }, to, Keep::default(), new);
        if let Ok(own) = to.meta() {
            self.owe(at, id(&own), meta);
        }
    }

    /// Opens a folder, or makes it for this user alone: the files in it may be readable where the folder that they came from
    /// lets nobody in. One that is closed to its owner is opened up; what is no folder is moved to a numbered name. Gives
    /// whether it was made.
    fn enter(&self, at: BelowRoot<'_>, above: &File, name: &OsStr) -> Outcome<(File, bool)> {
        let made = || names::make_folder(above, name).and_then(|()| names::open_folder(above, name));
        match made() {
            Err(Errno::EEXIST) => {}
            made => return Ok((made?, true)),
        }
        match opened_folders::open_up(above, Some(name)) {
            Err(Errno::ENOTDIR | Errno::ELOOP) => {
                aside::number(above, name)?;
                Ok((made()?, true))
            }
            opened => {
                let (folder, meta, was_closed) = opened?;
                Ok((self.opened(at, folder, meta, was_closed)?, false))
            }
        }
    }

    /// An existing folder that this user changes, too; `meta` is what it was before it was opened.
    fn opened(&self, at: BelowRoot<'_>, folder: File, meta: Meta, was_closed: bool) -> Outcome<File> {
        if opened_folders::is_owners(&meta) {
            if !was_closed {
                AttributeHolder::Open(&folder).set_mode(meta.mode | OPEN)?;
            }
            self.owe(at, id(&meta), meta);
        }
        Ok(folder)
    }

    fn owe(&self, at: BelowRoot<'_>, folder: FileId, meta: Meta) {
        let BelowRoot { root, way } = at;
        let Ok(root_id) = file_meta(root) else { return };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.roots.entry(id(&root_id)).or_insert_with(|| Arc::clone(root));
        state.due.entry((id(&root_id), way.to_owned())).or_insert(DueAttributes { folder, meta });
    }

    /// Gives all their times, and closes those that were closed; `done` gets each of them.
    ///
    /// Errors: the first that the system had; the others have theirs.
    pub fn finish(&self, mut done: impl FnMut(&File) -> Outcome<()>) -> Outcome<()> {
        let state = std::mem::take(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner));
        let mut first = Ok(());
        // Those below come behind: closed, a folder lets nobody in.
        for ((root, way), due) in state.due.iter().rev() {
            let Some(root) = state.roots.get(root) else { continue };
            first = first.and(finish_one(root, way, due, &mut done));
        }
        first
    }
}

/// Gives a folder its mode and times, then calls `done` with it. One that is gone, or another by now, is passed by.
fn finish_one(
    root: &File,
    way: &Path,
    due: &DueAttributes,
    done: &mut impl FnMut(&File) -> Outcome<()>,
) -> Outcome<()> {
    let Ok(folder) = at_end(root, way) else { return Ok(()) };
    let now = file_meta(&folder)?;
    // Another one by now, which is none of this run's.
    if id(&now) != due.folder {
        return Ok(());
    }
    let holder = AttributeHolder::Open(&folder);
    let mode = now.mode & !OPEN | due.meta.mode & OPEN;
    // What cannot be set prevents no backup.
    if mode != now.mode {
        let _ = holder.set_mode(mode);
    }
    let _ = attributes::copy_times(&due.meta, holder);
    done(&folder)
}
