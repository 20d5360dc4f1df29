//! Folders of a target that their mode closes to their owner: a run opens them up for as long as it works in the tree,
//! and gives them their mode when it ends, however it ends. A dry run changes no mode: what it cannot see in such a
//! folder counts as missing, and the run says so.
//!
//! Must not know: what is done in a folder, which mode it gets.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump_engine::Errno;

use crate::disk::names::HeldName;
use crate::disk::{AttributeHolder, FileKind, Meta, Outcome, file_meta, names};
use crate::identity::{FileId, id};

/// The owner lists a folder, looks into it and changes what it holds.
pub const OPEN: u32 = 0o700;
/// Without these nobody but a privileged user looks into a folder.
const LOOKED_INTO: u32 = 0o500;

/// Bytes kept about folders that were opened up: another host may name folders without end. Behind that a folder is
/// closed by the thread that finishes it alone, and stays open in a run that is cut.
const KEPT_BYTES_MAX: usize = 64 << 20;
/// What a folder takes besides the way to it.
const DUE_BYTES: usize = 128;

/// A folder by the root of its tree, the path of that, and the way from that root.
#[derive(Clone, Debug)]
pub struct WayToFolder<'tree> {
    /// The open root of the tree.
    pub root: &'tree Arc<File>,
    /// Its path, for messages.
    pub path: &'tree Path,
    /// From there.
    pub way: PathBuf,
}

/// The folders that a run opened up, and their modes.
#[derive(Debug, Default)]
pub struct OpenedFolders {
    /// Nothing is opened up: a dry run.
    only_looks: bool,
    state: Mutex<DueModes>,
}

#[derive(Debug, Default)]
struct DueModes {
    /// By the root, and the way from it: folders follow those that they lie in.
    due: BTreeMap<(FileId, PathBuf), (FileId, u32)>,
    roots: BTreeMap<FileId, (Arc<File>, PathBuf)>,
    kept_bytes: usize,
    /// Folders that were not opened up, of which something was not seen, and the path of one of them.
    unseen: (BTreeSet<FileId>, PathBuf),
}

/// Whether the mode of a folder keeps its owner, who is this user, from something.
pub fn is_owners(meta: &Meta) -> bool {
    meta.uid == rustix::process::geteuid().as_raw() && meta.mode & OPEN != OPEN
}

/// Whether this user may not look into an open folder, for want of bits that its owner can set.
fn is_shut(folder: &File, meta: &Meta) -> bool {
    let is_open = || names::open_folder(folder, OsStr::new(".")).err() != Some(Errno::EACCES);
    meta.mode & LOOKED_INTO != LOOKED_INTO && is_owners(meta) && !is_open()
}

/// Opens a folder of a folder, or that folder itself; one of this user that its mode closes is opened up. With what it
/// was before, and whether it was closed.
pub fn open_up(above: &File, name: Option<&OsStr>) -> Outcome<(File, Meta, bool)> {
    let open = || names::open_folder(above, name.unwrap_or(OsStr::new(".")));
    match open() {
        Ok(folder) => {
            let meta = file_meta(&folder)?;
            let was_shut = is_shut(&folder, &meta);
            if was_shut {
                AttributeHolder::Open(&folder).set_mode(meta.mode | OPEN)?;
            }
            Ok((folder, meta, was_shut))
        }
        Err(Errno::EACCES) => {
            let (held, meta) = hold_closed(above, name)?;
            let holder = AttributeHolder::Held(&held);
            holder.set_mode(meta.mode | OPEN)?;
            let opened = open().and_then(|folder| {
                if id(&file_meta(&folder)?) == id(&meta) { Ok(folder) } else { Err(Errno::ESTALE) }
            });
            // Best effort on the way out.
            opened.map(|folder| (folder, meta, true)).inspect_err(|_| {
                let _ = holder.set_mode(meta.mode);
            })
        }
        Err(errno) => Err(errno),
    }
}

/// Opens a folder as [`open_up`] does, without a change: one that its mode closes is held, and names in it can be looked at
/// if its owner may search it.
fn look_at(above: &File, name: Option<&OsStr>) -> Outcome<(File, Meta, bool)> {
    match names::open_folder(above, name.unwrap_or(OsStr::new("."))) {
        Ok(folder) => {
            let meta = file_meta(&folder)?;
            let is_shut = is_shut(&folder, &meta);
            Ok((folder, meta, is_shut))
        }
        Err(Errno::EACCES) => hold_closed(above, name).map(|(held, meta)| (held.into_file(), meta, true)),
        Err(errno) => Err(errno),
    }
}

/// Holds a folder of this user that cannot be opened.
fn hold_closed(above: &File, name: Option<&OsStr>) -> Outcome<(HeldName, Meta)> {
    let held = match name {
        Some(name) => names::hold(above, name)?,
        None => above.try_clone().map_err(|error| Errno::from_io_error(&error))?.into(),
    };
    let meta = file_meta(&held)?;
    if meta.kind == FileKind::Folder && is_owners(&meta) { Ok((held, meta)) } else { Err(Errno::EACCES) }
}

impl OpenedFolders {
    /// Those of a run, or of a dry run.
    pub fn of_run(is_dry: bool) -> OpenedFolders {
        OpenedFolders { only_looks: is_dry, ..OpenedFolders::default() }
    }

    /// Opens a folder of a folder, or that folder itself, with what it was before, and whether it was closed.
    pub fn open(&self, above: &File, name: Option<&OsStr>) -> Outcome<(File, Meta, bool)> {
        if self.only_looks { look_at(above, name) } else { open_up(above, name) }
    }

    /// Whether nothing is opened up.
    pub fn only_looks(&self) -> bool {
        self.only_looks
    }

    /// Something in a folder that was not opened up was not seen.
    pub fn note_unseen(&self, folder: &Meta, path: impl FnOnce() -> PathBuf) {
        let mut state = self.state();
        if state.unseen.0.len() < KEPT_BYTES_MAX / DUE_BYTES && state.unseen.0.insert(id(folder)) {
            state.unseen.1 = path();
        }
    }

    /// One of the folders of which something was not seen, and the number of the others.
    pub fn unseen(&self) -> Option<(PathBuf, usize)> {
        let state = self.state();
        state.unseen.0.len().checked_sub(1).map(|others| (state.unseen.1.clone(), others))
    }

    fn state(&self) -> MutexGuard<'_, DueModes> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more is kept.
    pub fn has_room(&self) -> bool {
        self.state().kept_bytes < KEPT_BYTES_MAX
    }

    /// Notes that a folder was opened up, and gets this mode when the run ends; the first note of a folder counts.
    pub fn owe(&self, place: WayToFolder<'_>, folder: &Meta) {
        let WayToFolder { root, path, way } = place;
        if self.only_looks {
            return;
        }
        let Ok(root_id) = file_meta(root).map(|meta| id(&meta)) else { return };
        let mut state = self.state();
        state.roots.entry(root_id).or_insert_with(|| (Arc::clone(root), path.to_owned()));
        let bytes = DUE_BYTES + way.as_os_str().len();
        if let Entry::Vacant(place) = state.due.entry((root_id, way)) {
            place.insert((id(folder), folder.mode));
            state.kept_bytes += bytes;
        }
    }

    /// Notes that a folder has its final mode. One that this mode closes is opened up once more: until the run ends other names
    /// are linked to files in it, and some are removed.
    pub fn has_its_mode(&self, place: WayToFolder<'_>, folder: &File) -> Outcome<()> {
        let (now, root) = (file_meta(folder)?, id(&file_meta(place.root)?));
        let mut state = self.state();
        if !state.due.is_empty() && state.due.remove(&(root, place.way.clone())).is_some() {
            state.kept_bytes -= DUE_BYTES + place.way.as_os_str().len();
        }
        drop(state);
        if self.has_room() && is_shut(folder, &now) {
            AttributeHolder::Open(folder).set_mode(now.mode | OPEN)?;
            self.owe(place, &now);
        }
        Ok(())
    }

    /// Gives all folders their modes at the end of the run, and calls `done` with each. Gives those that did not get theirs,
    /// and why.
    pub fn close(&self, mut done: impl FnMut(&File, &Meta) -> Outcome<()>) -> Vec<(PathBuf, Errno)> {
        let state = std::mem::take(&mut *self.state());
        let mut failed = Vec::new();
        for ((root, way), (folder, mode)) in state.due.iter().rev() {
            let Some((root, path)) = state.roots.get(root) else { continue };
            let closed = at_end(root, way).and_then(|open| {
                let now = file_meta(&open)?;
                // Another one by now, which is none of this run's.
                if id(&now) != *folder {
                    return Ok(());
                }
                AttributeHolder::Open(&open).set_mode(now.mode & !OPEN | mode & OPEN)?;
                done(&open, &now)
            });
            match closed {
                Ok(()) | Err(Errno::ENOENT) => {}
                Err(errno) => failed.push((path.join(way), errno)),
            }
        }
        failed
    }
}

/// The folder at the end of a way, no link followed.
pub fn at_end(base: &File, way: &Path) -> Outcome<File> {
    let base = names::open_folder(base, OsStr::new("."))?;
    way.components().try_fold(base, |above, part| names::open_folder(&above, part.as_os_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        let open = names::hold_path(path).expect("it is there");
        file_meta(&open).expect("a folder").mode
    }

    #[test]
    fn folders_get_their_modes_from_the_inside_to_the_outside() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let (outer, inner) = (home.path().join("a"), home.path().join("a/b"));
        std::fs::create_dir_all(&inner).expect("room");
        let (folders, root) =
            (OpenedFolders::default(), Arc::new(File::open(home.path()).expect("it is there")));
        for (path, way, bits) in [(&outer, "a", 0), (&inner, "a/b", 0o500)] {
            let found = file_meta(&names::hold_path(path).expect("it is there")).expect("a folder");
            folders.owe(
                WayToFolder { root: &root, path: home.path(), way: way.into() },
                &Meta { mode: bits, ..found },
            );
            AttributeHolder::Open(&File::open(path).expect("it is there")).set_mode(0o750).expect("ours");
        }
        // What something else replaced keeps its mode; what is gone is no error.
        let found = file_meta(&root).expect("a folder");
        folders.owe(WayToFolder { root: &root, path: home.path(), way: "a/gone".into() }, &found);
        let mut done = 0;
        let failed = folders.close(|_, _| {
            done += 1;
            Ok(())
        });
        assert!(failed.is_empty() && done == 2, "{failed:?}");
        assert_eq!(mode(&outer), 0o050, "the bits of its owner alone");
        let held = names::hold_path(&outer).expect("it is there");
        AttributeHolder::Held(&held).set_mode(0o755).expect("ours");
        assert_eq!(mode(&inner), 0o550);
    }

    #[test]
    fn what_is_kept_is_bounded_and_given_back() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let (folders, root) =
            (OpenedFolders::default(), Arc::new(File::open(home.path()).expect("it is there")));
        let found = file_meta(&root).expect("a folder");
        let long = "x".repeat(1 << 20);
        let way = |number: u32| PathBuf::from(format!("{number}{long}"));
        let count = (0..1000).take_while(|number| {
            folders.owe(WayToFolder { root: &root, path: home.path(), way: way(*number) }, &found);
            folders.owe(WayToFolder { root: &root, path: home.path(), way: way(*number) }, &found);
            folders.has_room()
        });
        let count = count.count() as u32;
        assert!((50..100).contains(&count), "{count}");
        folders
            .has_its_mode(WayToFolder { root: &root, path: home.path(), way: way(0) }, &root)
            .expect("it is open");
        folders
            .has_its_mode(WayToFolder { root: &root, path: home.path(), way: way(0) }, &root)
            .expect("it is open");
        folders
            .has_its_mode(WayToFolder { root: &root, path: home.path(), way: way(1) }, &root)
            .expect("it is open");
        assert!(folders.has_room());
    }
}
