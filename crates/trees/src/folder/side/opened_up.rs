//! Folders of a target that are closed to this user, their owner, while the run works in them.
//!
//! Must not know: what is done in them, when the run ends (`opened_folders`).

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::Errno;

use crate::folder::side::{FolderSide, SidePlace};
use crate::lock::StateLock;
use crate::problem::{Class, Operation, Problem};
use datapump_files::disk::{AttributeHolder, Meta, file_meta};
use datapump_files::opened_folders::{OPEN, OpenedFolders, WayToFolder};

/// An error that the mode of a folder may be the cause of.
pub(crate) trait Refusal {
    fn is_for_mode(&self) -> bool;
}

impl Refusal for Problem {
    fn is_for_mode(&self) -> bool {
        self.class == Class::Denied
    }
}

impl Refusal for Errno {
    fn is_for_mode(&self) -> bool {
        *self == Errno::EACCES
    }
}

impl FolderSide {
    /// Has a target that was just opened, and the folders below it, opened up until the run ends where they are closed to this
    /// user, their owner. `found` is what it was before, if it is open already.
    pub(crate) fn opening_up(
        mut self: Arc<FolderSide>,
        folders: &Arc<OpenedFolders>,
        found: Option<Meta>,
    ) -> Arc<FolderSide> {
        let side = Arc::get_mut(&mut self).expect("it was just opened");
        if let SidePlace::Here { opened_folders, .. } = &mut side.place {
            *opened_folders = Some(Arc::clone(folders));
        }
        if let Some(found) = found {
            (side.meta, side.opened_up) = (found, StateLock::new(Some(true)));
            side.owe_mode();
        }
        self
    }

    /// Opens the folder up to this user where it is theirs and only its mode forbids to change what it holds. True if
    /// that was done, by this lane or an earlier one; false also where it was never closed. The thread that finishes
    /// the folder gives it its mode.
    pub(super) fn open_up(&self) -> bool {
        let mut opened_up = self.opened_up.lock();
        *opened_up.get_or_insert_with(|| {
            let is_own = self.meta.uid == rustix::process::geteuid().as_raw();
            let opens = || {
                let folder = self.file().ok()?;
                let mode = file_meta(&folder).ok()?.mode;
                let is_set =
                    mode | OPEN != mode && AttributeHolder::Open(&folder).set_mode(mode | OPEN).is_ok();
                if is_set && self.way().is_some_and(|(folders, ..)| folders.has_room()) {
                    self.owe_mode();
                }
                Some(is_set)
            };
            is_own && opens() == Some(true)
        })
    }

    /// Acts in the folder; once more if only its mode refused that, and it could be opened up.
    pub(crate) fn in_opened<T, E: Refusal>(&self, act: impl Fn() -> Result<T, E>) -> Result<T, E> {
        match act() {
            Err(refusal) if refusal.is_for_mode() && self.open_up() => act(),
            done => done,
        }
    }

    /// Whether it is closed to this user, and a dry run does not open it up: what is not seen in it counts as missing.
    pub(crate) fn is_unseen(&self) -> bool {
        let folders = self.looking().filter(|_| self.was_opened_up());
        folders.inspect(|folders| folders.note_unseen(&self.meta, || self.path())).is_some()
    }

    /// What a dry run notes of closed folders.
    pub(super) fn looking(&self) -> Option<&Arc<OpenedFolders>> {
        let SidePlace::Here { opened_folders, .. } = &self.place else { return None };
        opened_folders.as_ref().filter(|folders| folders.only_looks())
    }

    /// Whether its mode is not its own for now, or would not be.
    pub(crate) fn was_opened_up(&self) -> bool {
        *self.opened_up.lock() == Some(true)
    }

    /// The way to a folder of a target that is written, and what keeps those that were opened up.
    fn way(&self) -> Option<(&Arc<OpenedFolders>, Arc<File>, &Path)> {
        let SidePlace::Here { opened_folders: Some(folders), .. } = &self.place else { return None };
        let root = self.ancestors().last()?;
        Some((folders, root.file().ok()?, Path::new(&root.name)))
    }

    /// The run gives it the mode that it was found with, unless it gets another one.
    pub(super) fn owe_mode(&self) {
        if let Some((folders, root, path)) = self.way() {
            folders.owe(WayToFolder { root: &root, path, way: self.relative() }, &self.meta);
        }
    }

    /// Notes that the folder has the mode that it is to have. One whose mode is closed to this user is opened up until the run
    /// ends.
    pub(crate) fn note_mode_set(&self) -> Result<(), Problem> {
        let was_opened_up = self.opened_up.lock().take().is_some();
        let folder = self.file()?;
        let wrong = |errno: Errno| Problem::system(Operation::OpenUp, &self.path(), errno.0);
        let mode = file_meta(&folder).map_err(wrong)?.mode;
        match self.way().filter(|_| was_opened_up || mode & OPEN != OPEN) {
            Some((folders, root, path)) => folders
                .has_its_mode(WayToFolder { root: &root, path, way: self.relative() }, &folder)
                .map_err(wrong),
            None => Ok(()),
        }
    }
}
