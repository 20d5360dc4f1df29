//! Folders at the target that stay whatever the source has: what is mounted there, and what is copied from.
//!
//! Must not know: how names are removed, what else goes.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::Errno;

use super::{DeletePass, DeletePlace, DeleteStep, open};
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::tree::folder::side::FolderSide;
use crate::tree::moved::view::{self, ViewProbe};
use datapump_files::disk::{self, FileKind, Meta, file_meta, names};

impl DeletePass<'_> {
    /// Before anything is removed: a name of this folder that the source does not have is a folder that is copied from.
    pub(super) fn refuse_source_in(&mut self, here: &DeletePlace, folder: &File, name: &OsStr) {
        let there = names::metadata(folder, name).ok().filter(|there| there.kind == FileKind::Folder);
        // Another mount stays anyhow.
        let there = there.filter(|there| there.device == here.target.meta.device);
        if let Some(there) = there {
            let open = || names::open_folder(folder, name).ok().map(Arc::new);
            self.is_source((&there, open), || here.target.path_of(name));
        }
    }

    /// Whether what is about to go from a folder would go from the source, too: it is shown there on another mount.
    pub(super) fn is_shown_in_source(&mut self, here: &DeletePlace, folder: &Arc<File>) -> bool {
        let Some(source) = here.source.clone().filter(|_| self.removes()) else { return false };
        let is_shown = self.shows(&source, folder);
        if is_shown {
            self.refuse_source(&here.target.path());
        }
        is_shown
    }

    /// Whether a folder of the target is seen in one of the source, of this very host, or may be. From one that takes no
    /// names at all nothing can be removed.
    fn shows(&self, source: &FolderSide, folder: &Arc<File>) -> bool {
        let is_here = source.is_here() || self.shared.remote_host.as_ref().is_some_and(|host| host.is_here);
        let Some(meta) = file_meta(folder).ok().filter(|_| is_here && self.shared.settings.writes) else {
            return false;
        };
        if !view::may_show(&source.meta, &meta, folder) {
            return false;
        }
        let mtime_ns = || match source.is_here() {
            true => source.file().map_err(drop).and_then(|open| disk::mtime_from_disk(&open.0).map_err(drop)),
            false => source.now().map(|now| now.mtime_ns).map_err(drop),
        };
        let has = |probe: &ViewProbe| {
            let found = source.origin().and_then(|origin| origin.if_there(&probe.name, || source.path()));
            Ok(found.is_ok_and(|found| found.is_some()))
        };
        let is_seen = view::is_seen(folder, || mtime_ns().map_err(|()| Errno::ENOENT), has);
        is_seen.unwrap_or_else(|errno| view::may_hide(folder, errno))
    }

    /// Whether a folder at the target is one that is copied from, under another name or by a mount; told, if so.
    pub(super) fn is_source(
        &mut self,
        (there, open): (&Meta, impl FnOnce() -> Option<Arc<File>>),
        path: impl Fn() -> PathBuf,
    ) -> bool {
        let is_shown = || {
            let folder = open().filter(|_| self.step != DeleteStep::Count);
            folder.is_some_and(|folder| self.roots.iter().any(|source| self.shows(source, &folder)))
        };
        let is_source = self.shared.trees.is_source_root(there) || is_shown();
        if is_source {
            self.refuse_source(&path());
        }
        is_source
    }

    fn refuse_source(&mut self, path: &Path) {
        self.is_refused = true;
        let removed = match self.step {
            DeleteStep::Check | DeleteStep::Count => "nothing was removed",
            DeleteStep::Remove => "it was left as it is",
        };
        let words = format!(
            "is copied from, under another name or by a mount (or that cannot be told), and --delete would remove what \
             is in it: {removed}; exclude it, or move it away"
        );
        self.shared.ledger.report(Problem::new(Class::Refused, Operation::Delete, path, words));
    }

    /// Whether what is mounted on a folder is nobody's business here: with `one_file_system`, and at the target always
    /// where the source has nothing in its place. A bind mount of the same file system shows by its mount alone.
    pub(super) fn is_elsewhere(
        &self,
        here: &DeletePlace,
        source: Option<&FolderSide>,
        target: &FolderSide,
    ) -> bool {
        let is_mounted = target.meta.device != here.target.meta.device
            || open(target).is_some_and(|folder| disk::is_mount_root(&folder));
        let crosses = |above: &FolderSide, below: &FolderSide| above.meta.device != below.meta.device;
        let source_crosses =
            here.source.as_deref().zip(source).is_some_and(|(above, below)| crosses(above, below));
        if is_mounted && source.is_none() && self.step == DeleteStep::Remove {
            let path = shown_path(&target.path());
            self.shared
                .ledger
                .warn(format!("'{path}' is not in the source, but it is a mount point: left alone"));
        }
        match source {
            Some(_) => self.shared.settings.options.one_file_system && (is_mounted || source_crosses),
            None => is_mounted,
        }
    }
}
