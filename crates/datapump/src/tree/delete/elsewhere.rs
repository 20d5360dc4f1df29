//! Folders at the target that stay whatever the source has: what is mounted there, and what is copied from.
//!
//! Must not know: how names are removed, what else goes.

use std::ffi::OsStr;
use std::fs::File;
use std::path::PathBuf;

use super::{DeletePass, DeletePlace, DeleteStep};
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::tree::folder::side::FolderSide;
use datapump_files::disk::{FileKind, Meta, names};

impl DeletePass<'_> {
    /// Before anything is removed: a name of this folder that the source does not have is a folder that is copied from.
    pub(super) fn refuse_source_in(&mut self, here: &DeletePlace, folder: &File, name: &OsStr) {
        let there = names::metadata(folder, name).ok().filter(|there| there.kind == FileKind::Folder);
        // Another file system stays anyhow.
        let there = there.filter(|there| there.device == here.target.meta.device);
        if let Some(there) = there {
            self.is_source(&there, || here.target.path_of(name));
        }
    }

    /// Whether a folder at the target is one that is copied from, under another name or by a mount; told, if so.
    pub(super) fn is_source(&mut self, there: &Meta, path: impl Fn() -> PathBuf) -> bool {
        let is_source = self.shared.trees.is_source_root(there);
        if is_source {
            self.is_refused = true;
            let removed = match self.step {
                DeleteStep::Check | DeleteStep::Count => "nothing was removed",
                DeleteStep::Remove => "it was left as it is",
            };
            let words = format!(
                "is copied from, under another name or by a mount, and --delete would remove what is in it: \
                 {removed}; exclude it, or move it away"
            );
            self.shared.ledger.report(Problem::new(Class::Refused, Operation::Delete, &path(), words));
        }
        is_source
    }

    /// Whether what is mounted on a folder is nobody's business here: other file systems with `one_file_system`, and at
    /// the target always where the source has nothing in their place.
    pub(super) fn is_elsewhere(
        &self,
        here: &DeletePlace,
        source: Option<&FolderSide>,
        target: &FolderSide,
    ) -> bool {
        let is_mounted = target.meta.device != here.target.meta.device;
        let crosses = |above: &FolderSide, below: &FolderSide| above.meta.device != below.meta.device;
        let source_crosses =
            here.source.as_deref().zip(source).is_some_and(|(above, below)| crosses(above, below));
        if is_mounted && source.is_none() && self.step == DeleteStep::Remove {
            let path = shown_path(&target.path());
            self.shared.ledger.warn(format!(
                "'{path}' is not in the source, but another file system is mounted there: left alone"
            ));
        }
        match source {
            Some(_) => self.shared.settings.options.one_file_system && (is_mounted || source_crosses),
            None => is_mounted,
        }
    }
}
