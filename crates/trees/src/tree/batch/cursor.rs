//! A batch of names in a lane's hands: its two folders, open, and the paths of its names.
//!
//! Must not know: what is done with a name.

mod early_files;
mod guarded;

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::folder::directory::{Batch, Directory, Looked};
use crate::folder::paths::Paths;
use crate::listed::Name;
use crate::open::held::Held;
use crate::origin::source_host::EarlyFiles;
use crate::origin::{Origin, SmallRead};
use crate::problem::{Class, Operation, Problem};
use crate::tree::Shared;
use crate::tree::state::links::TreeEntry;
use datapump_engine::Errno;
use datapump_files::commit::taken;
use datapump_files::disk::{FileKind, Meta, names};
use early_files::Early;

/// A batch in a lane's hands, with its folders open.
pub(crate) struct BatchCursor {
    pub(crate) directory: Arc<Directory>,
    pub(crate) source: Origin,
    pub(crate) target: Option<Arc<File>>,
    pub(crate) names: std::vec::IntoIter<Name>,
    pub(crate) paths: Paths,
    pub(crate) looked: Looked,
    /// It may bring files that nobody knows of yet.
    pub(crate) walks: bool,
    /// Files that were opened before their turn, once they were.
    early: Vec<Box<dyn EarlyFiles>>,
    opened_early: Early,
}

impl BatchCursor {
    /// Opens the folders of a batch.
    pub(crate) fn take(batch: Batch) -> Result<BatchCursor, (Arc<Directory>, bool, Box<Problem>)> {
        let Batch { directory, names, looked, walks } = batch;
        let source = directory.source.origin();
        let target = directory.target.as_ref().map(|target| target.file()).transpose();
        match (source, target) {
            (Ok(source), Ok(target)) => {
                let (target, paths) = (target.map(|target| target.0), Paths::default());
                Ok(BatchCursor {
                    directory,
                    source,
                    target,
                    names: names.into_iter(),
                    paths,
                    looked,
                    walks,
                    early: Vec::new(),
                    opened_early: Early::Nothing,
                })
            }
            (Err(problem), _) | (_, Err(problem)) => Err((directory, walks, Box::new(problem))),
        }
    }

    /// The open folder of the target.
    pub(crate) fn target(&self) -> Result<&File, Problem> {
        let words = "nothing is made here";
        let missing = || Problem::new(Class::Io, Operation::Open, &self.directory.source.path(), words);
        self.target.as_deref().ok_or_else(missing)
    }

    /// The same, if there is one.
    pub(crate) fn open_target(&self) -> Option<Arc<File>> {
        self.target.clone()
    }

    /// Whether existing files are written where they are: those of names that the user gave.
    pub(crate) fn is_in_place(&self, shared: &Shared<'_>) -> bool {
        shared.settings.options.durability.inplace && self.directory.root.is_named()
    }

    pub(crate) fn source(&self) -> &Origin {
        &self.source
    }

    /// What stands under a name at the target.
    pub(crate) fn there(&self, name: &OsStr) -> Result<Option<Meta>, Problem> {
        let Some(target) = self.target.as_ref().filter(|_| !self.directory.traits.fresh) else {
            return Ok(None);
        };
        match names::metadata(target, name) {
            Ok(meta) if !self.directory.claim(&meta, name) => Err(taken(&self.target_path(name))),
            Ok(meta) => Ok(Some(meta)),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::EACCES) if self.directory.target.as_ref().is_some_and(|target| target.is_unseen()) => {
                Ok(None)
            }
            Err(errno) => Err(Problem::system(Operation::LookAt, &self.target_path(name), errno.0)),
        }
    }

    pub(crate) fn source_path(&self, name: &OsStr) -> PathBuf {
        joined(self.paths.source(&self.directory), self.directory.source.own(name))
    }

    pub(crate) fn target_path(&self, name: &OsStr) -> PathBuf {
        joined(self.paths.target(&self.directory), name)
    }

    pub(crate) fn entry(&self, name: &OsStr) -> TreeEntry {
        TreeEntry { directory: Arc::clone(&self.directory), name: name.to_owned() }
    }

    /// Names that are left.
    pub(crate) fn left(&self) -> usize {
        self.names.len()
    }

    /// What a name is; asked for where the listing does not tell.
    pub(crate) fn kind(&self, name: &Name) -> Result<FileKind, Problem> {
        match name.kind {
            Some(kind) => Ok(kind),
            None => self.meta(name).map(|meta| meta.kind),
        }
    }

    /// What stands under a name of the source.
    pub(crate) fn meta(&self, name: &Name) -> Result<Meta, Problem> {
        let found = self.source.metadata(name, || self.source_path(&name.name));
        let meta = found.map_err(|problem| if name.was_seen() { problem.vanished() } else { problem })?;
        // What the user named went to its place for what it was.
        if self.directory.root.is_named() && name.kind.is_some_and(|kind| kind != meta.kind) {
            return Err(was_replaced(&self.source_path(&name.name)));
        }
        Ok(meta)
    }

    /// A name that cannot be opened, as if it were not there, and that a look finds there, has not vanished.
    pub(crate) fn open_listed(
        &self,
        shared: &Shared<'_>,
        name: &Name,
        path: &Path,
        small: SmallRead,
    ) -> Result<(Held, Meta), Problem> {
        /// Names that go and come back are opened in between.
        const TRIES: u32 = 3;
        let open = || self.source.open_file(name, path, small, &shared.stop);
        let is_there = || matches!(self.source.if_there(&name.name, || path.to_path_buf()), Ok(Some(_)));
        let mut opened = open();
        for _ in 1..TRIES {
            match opened {
                Err(problem) if problem.class == Class::Missing && !is_there() => {
                    return Err(problem.vanished());
                }
                Err(problem) if problem.class == Class::Missing => opened = open(),
                opened => return opened,
            }
        }
        opened
    }
}

/// The problem of a name of the source that is of another kind than it was.
pub(crate) fn was_replaced(path: &Path) -> Problem {
    let words = "was replaced while it was copied; copy again";
    Problem::new(Class::Changed, Operation::Open, path, words)
}

/// [`Path::join`] with one allocation instead of two: each small file has two paths.
fn joined(folder: &Path, name: &OsStr) -> PathBuf {
    let mut path = PathBuf::with_capacity(folder.as_os_str().len() + 1 + name.len());
    path.push(folder);
    path.push(name);
    path
}
