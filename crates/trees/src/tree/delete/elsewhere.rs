//! Folders at the target that stay whatever the source has: what is mounted there, and what is copied from.
//!
//! Must not know: how names are removed, what else goes.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::Errno;

use super::pass::{DeletePass, DeleteStep};
use super::place::{DeletePlace, open};
use crate::folder::side::FolderSide;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::targets::guard::claims::{ClaimedName, Rank};
use crate::targets::guard::{Destruction, ExistingEntry};
use crate::tree::moved::view::{self, ViewProbe};
use datapump_files::disk::{self, FileKind, file_meta, names};
use datapump_files::identity::{FileId, id};

impl DeletePass<'_> {
    /// Whether what is about to be removed from a folder would be removed from the source, too: it is one of the folders
    /// that were walked, whichever, or its own is shown there on another mount. The source's folder is opened only where
    /// its numbers, as they were recorded, leave that open.
    pub(super) fn is_shown_in_source(&mut self, here: &DeletePlace, folder: &Arc<File>) -> bool {
        let Some(source) = here.source.as_ref().filter(|_| self.step == DeleteStep::Remove) else {
            return false;
        };
        let target = file_meta(folder).ok().map(|meta| id(&meta));
        let is_shown = match here.root.visited.id_of(here.key) {
            _ if target.is_some_and(|target| self.is_walked(target)) => true,
            Some(recorded) if !self.may_show(recorded, folder) => false,
            _ => self.removes() && source.open_side().is_ok_and(|source| self.shows(&source, folder)),
        };
        if is_shown {
            self.refuse_source(&here.target.path());
        }
        is_shown
    }

    /// Whether it is a folder of the source that was walked. Their numbers are sorted once, when something is removed.
    fn is_walked(&mut self, target: FileId) -> bool {
        if !self.is_source_here() {
            return false;
        }
        let all = self.all;
        let walked = self.walked_ids.get_or_insert_with(|| {
            let mut ids: Vec<FileId> = all.iter().flat_map(|root| root.root.visited.ids()).collect();
            ids.sort_unstable();
            ids
        });
        walked.binary_search(&target).is_ok()
    }

    fn is_source_here(&self) -> bool {
        self.shared.remote_host.as_ref().is_none_or(|host| host.is_here())
    }

    /// Whether a folder of the target may be seen in one of the source, which is of this very host.
    fn may_show(&self, source: FileId, folder: &File) -> bool {
        let asks = self.is_source_here() && self.shared.settings.writes;
        asks && file_meta(folder).is_ok_and(|meta| view::may_show(source, &meta, folder))
    }

    /// Whether a folder of the target is seen in one of the source, of this very host, or may be. From one that takes no
    /// names at all nothing can be removed.
    fn shows(&self, source: &FolderSide, folder: &Arc<File>) -> bool {
        if !self.may_show(id(&source.meta), folder) {
            return false;
        }
        let mtime_ns = || {
            if source.is_here() {
                source.file().map_err(drop).and_then(|open| disk::mtime_from_disk(&open).map_err(drop))
            } else {
                source.now().map(|now| now.mtime_ns).map_err(drop)
            }
        };
        let has = |probe: &ViewProbe| {
            let found =
                source.origin().and_then(|origin| origin.metadata_if_exists(&probe.name, || source.path()));
            Ok(found.is_ok_and(|found| found.is_some()))
        };
        let is_seen = view::is_seen(folder, || mtime_ns().map_err(|()| Errno::ENOENT), has);
        is_seen.unwrap_or_else(|errno| view::may_hide(folder, errno))
    }

    /// Whether a folder at the target that the source does not have under this name is one that is copied from: one
    /// that was walked, or that a mount shows. If so it is reported, and the pass fails.
    pub(super) fn is_source(&mut self, target: &FolderSide) -> bool {
        if self.is_source_root(target) {
            return true;
        }
        let shows = |folder: &Arc<File>| self.all.iter().any(|root| self.shows(&root.source, folder));
        let is_source = open(target).is_some_and(|folder| shows(&folder)) || self.is_walked(id(&target.meta));
        if is_source {
            self.refuse_source(&target.path());
        }
        is_source
    }

    /// Whether it is a folder that the user named as a source, or that a mount shows. Reported, if so.
    pub(super) fn is_source_root(&mut self, target: &FolderSide) -> bool {
        let is_root = self.shared.trees.guard.is_source_folder(&target.meta);
        if is_root {
            self.refuse_source(&target.path());
        }
        is_root
    }

    /// Whether it stays for this very command: a name of another source that goes to this folder, too; no folder, but
    /// something that is read, which is reported, or written beside the copy.
    pub(super) fn is_needed(
        &mut self,
        here: &DeletePlace,
        folder: &File,
        name: &OsStr,
        kind: FileKind,
    ) -> bool {
        let (guard, is_folder) = (&self.shared.trees.guard, kind == FileKind::Folder);
        let below = here.target.relative().join(name);
        let claimed = ClaimedName { number: here.root.number, below: &below, is_folder };
        let rules = self.shared.trees.guard_rules(self.shared.settings.options);
        if here.root.shares_target && guard.claims().find(&claimed, Rank::Any, rules).is_some() {
            return true;
        }
        if is_folder || !(guard.reads_files() || kind == FileKind::Symlink) {
            return false;
        }
        let Ok(meta) = names::metadata(folder, name) else { return false };
        let entry = ExistingEntry { folder: Some(folder), name, meta: &meta };
        let is_needed = guard.why_kept(entry, Destruction::OfName).is_some();
        if is_needed && !guard.is_own_file(&meta) {
            self.refuse_source(&here.target.path_of(name));
        }
        is_needed
    }

    /// Reports that a folder is copied from, and has the pass end without removing it.
    fn refuse_source(&mut self, path: &Path) {
        self.is_refused = true;
        let removed = match self.step {
            DeleteStep::Count => "nothing was removed",
            DeleteStep::Remove => "it was not changed",
        };
        let words = format!(
            "is copied from, or may be (under another name, or by a mount), and --delete would remove what is in it: \
             {removed}; exclude it, or move it away"
        );
        self.shared.ledger.report(Problem::new(Class::Refused, Operation::Delete, path, words));
    }

    /// Whether what is mounted on a folder is nobody's business here: with `one_file_system`, and at the target always
    /// where the source has nothing in its place. A bind mount of the same file system shows by its mount alone. Where
    /// nothing shows it, anything may be mounted there.
    pub(super) fn is_elsewhere(
        &self,
        here: &DeletePlace,
        is_common: bool,
        target: &FolderSide,
    ) -> Result<bool, Problem> {
        if is_common && !self.shared.settings.options.selection.one_file_system {
            return Ok(false);
        }
        let is_mounted = if target.meta.device == here.target.meta.device {
            disk::is_mount_root(&*target.file()?)
        } else {
            Some(true)
        };
        match is_mounted {
            None => drop(self.shared.trees.pruning.lock().unknown.insert(target.path())),
            Some(true) if !is_common => self.report_mount(&target.path()),
            Some(_) => {}
        }
        Ok(is_mounted != Some(false))
    }

    /// Whether a folder that the source does not have and that this user may not enter is a mount.
    pub(super) fn is_closed_mount(&self, here: &DeletePlace, folder: &File, name: &OsStr) -> bool {
        let found = names::metadata(folder, name);
        let is_mounted = found.is_ok_and(|found| found.device != here.target.meta.device);
        if is_mounted {
            self.report_mount(&here.target.path_of(name));
        }
        is_mounted
    }

    /// Warns, in the pass that counts, that a mount stays.
    fn report_mount(&self, path: &Path) {
        if self.step == DeleteStep::Count {
            let path = shown_path(path);
            self.shared
                .ledger
                .warn_once(format!("'{path}' is not in the source, but it is a mount point: left alone"));
        }
    }
}
