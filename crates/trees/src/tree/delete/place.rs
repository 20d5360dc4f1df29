//! A folder of the target that is looked through, and the folder of the source that belongs to it.
//!
//! The source's folder is opened only where something must be asked of it that no record has. Must not know: what goes.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::sync::{Arc, OnceLock};

use datapump_core::name::Recorded;

use crate::folder::folded;
use crate::folder::root::Root;
use crate::folder::side::FolderSide;
use crate::folder::visited::FolderKey;
use crate::listed::Name;
use crate::problem::Problem;
use datapump_files::disk::{self, FileKind, names};
use datapump_files::identity::{FileId, id};

/// A folder of the source by the names that lead to it.
#[derive(Debug)]
pub(super) struct PlacedSource {
    /// `None` of a root, which is open.
    above: Option<(Arc<PlacedSource>, OsString)>,
    open: OnceLock<Arc<FolderSide>>,
}

impl PlacedSource {
    pub(super) fn root(root: &Arc<FolderSide>) -> Arc<PlacedSource> {
        Arc::new(PlacedSource { above: None, open: OnceLock::from(Arc::clone(root)) })
    }

    pub(super) fn below(self: &Arc<PlacedSource>, name: &OsStr) -> Arc<PlacedSource> {
        Arc::new(PlacedSource { above: Some((Arc::clone(self), name.to_owned())), open: OnceLock::new() })
    }

    /// The folder, opened now if it was not.
    pub(super) fn open_side(&self) -> Result<Arc<FolderSide>, Problem> {
        let (mut closed, mut here) = (Vec::new(), self);
        let mut side = loop {
            match (here.open.get(), &here.above) {
                (Some(side), _) => break Arc::clone(side),
                (None, Some((above, name))) => {
                    closed.push((here, name));
                    here = above;
                }
                (None, None) => unreachable!("a root is open"),
            }
        };
        for (folder, name) in closed.into_iter().rev() {
            side = side.child(name)?;
            let _ = folder.open.set(Arc::clone(&side));
        }
        Ok(side)
    }
}

/// A folder that is being looked through; without a source everything in it goes.
pub(super) struct DeletePlace {
    pub(super) root: Arc<Root>,
    pub(super) source: Option<Arc<PlacedSource>>,
    pub(super) key: FolderKey,
    pub(super) target: Arc<FolderSide>,
    pub(super) cookie: u64,
    pub(super) removed_some: bool,
    /// Something in it stays, so that it stays too.
    pub(super) keeps_some: bool,
    /// Entries that names of the source stand for, though written otherwise; found out when something is to go.
    pub(super) folded: Option<HashMap<FileId, OsString>>,
    /// The number of its parent among the open places.
    pub(super) above: usize,
}

impl DeletePlace {
    /// A folder of the target that is to be looked through, from its first name.
    pub(super) fn new(
        root: &Arc<Root>,
        source: Option<Arc<PlacedSource>>,
        target: Arc<FolderSide>,
        key: FolderKey,
    ) -> DeletePlace {
        DeletePlace {
            root: Arc::clone(root),
            source,
            key,
            target,
            cookie: 0,
            removed_some: false,
            keeps_some: false,
            folded: None,
            above: 0,
        }
    }

    /// What the source has under a name, as its folder was walked.
    pub(super) fn recorded_entry(&self, name: &OsStr, key: FolderKey) -> Recorded {
        let visited = &self.root.visited;
        match visited.has_name(self.key, name) {
            _ if self.source.is_none() => Recorded::No,
            Some(true) if visited.has(key) => Recorded::Folder,
            Some(true) => Recorded::Other,
            Some(false) => Recorded::No,
            None => Recorded::Unlisted,
        }
    }

    /// Whether the source has a folder of this name.
    pub(super) fn source_has_folder(&self, name: &OsStr) -> bool {
        let Some(source) = &self.source else { return false };
        let found = source
            .open_side()
            .and_then(|side| side.origin()?.metadata_if_exists(name, || side.path_of(name)));
        found.is_ok_and(|found| found.is_some_and(|found| found.kind == FileKind::Folder))
    }

    /// The name of the source that an entry belongs to, though it is written otherwise. Most file systems fold nothing.
    pub(super) fn name_in_source(&mut self, folder: &File, name: &Name) -> Result<Option<OsString>, Problem> {
        let Some(source) = &self.source else { return Ok(None) };
        let folded = match &mut self.folded {
            Some(folded) => folded,
            empty if !disk::may_fold_names(folder) => empty.insert(HashMap::new()),
            empty => {
                let side = source.open_side()?;
                empty.insert(folded::entries_written_otherwise(
                    &side.origin()?,
                    &side.path(),
                    folder,
                    &self.target.path(),
                )?)
            }
        };
        if folded.is_empty() {
            return Ok(None);
        }
        match names::metadata(folder, &name.name) {
            Ok(meta) => Ok(folded.get(&id(&meta)).cloned()),
            // It may stand for any.
            Err(_) => Ok(Some(name.name.clone())),
        }
    }
}

impl Drop for PlacedSource {
    /// A tree may be deeper than the stack.
    fn drop(&mut self) {
        let mut next = self.above.take();
        while let Some((folder, _)) = next {
            next = Arc::into_inner(folder).and_then(|mut folder| folder.above.take());
        }
    }
}

/// The folder of the target, open.
pub(super) fn open(target: &FolderSide) -> Option<Arc<File>> {
    target.file().ok()
}
