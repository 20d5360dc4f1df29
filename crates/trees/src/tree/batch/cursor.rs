//! A batch of names in a lane's hands: its two folders, open, and the paths of its names.
//!
//! Must not know: what is done with a name.

mod early_files;
mod guarded;

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::folder::directory::{Batch, Directory, ReadContents};
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
    /// Paths of its folders, for words, and from the root: joined once, and only where something needs them.
    source_path: OnceCell<PathBuf>,
    target_path: OnceCell<PathBuf>,
    relative: OnceCell<PathBuf>,
    pub(crate) read: ReadContents,
    /// It may bring files that nobody knows of yet.
    pub(crate) walks: bool,
    /// Files that were opened before their turn, once they were.
    early: Vec<Box<dyn EarlyFiles>>,
    opened_early: Early,
}

/// A name of a batch, as it is dealt with.
#[derive(Clone, Copy)]
pub(crate) struct BatchName<'run> {
    pub(crate) shared: &'run Shared<'run>,
    pub(crate) cursor: &'run BatchCursor,
    pub(crate) name: &'run Name,
}

impl BatchCursor {
    /// Opens the folders of a batch.
    pub(crate) fn open(batch: Batch) -> Result<BatchCursor, (Arc<Directory>, bool, Box<Problem>)> {
        let Batch { directory, names, read, walks } = batch;
        let source = directory.source.origin();
        let target = directory.target.as_ref().map(|target| target.file()).transpose();
        match (source, target) {
            (Ok(source), Ok(target)) => Ok(BatchCursor {
                directory,
                source,
                target,
                names: names.into_iter(),
                source_path: OnceCell::new(),
                target_path: OnceCell::new(),
                relative: OnceCell::new(),
                read,
                walks,
                early: Vec::new(),
                opened_early: Early::Nothing,
            }),
            (Err(problem), _) | (_, Err(problem)) => Err((directory, walks, Box::new(problem))),
        }
    }

    pub(crate) fn target_path(&self, name: &OsStr) -> PathBuf {
        joined(self.target_path.get_or_init(|| self.directory.target_path()), name)
    }

    /// Puts back a name that was taken: it is the next one again.
    pub(crate) fn put_back(&mut self, name: Name) {
        let names: Vec<Name> = std::iter::once(name).chain(self.names.by_ref()).collect();
        self.names = names.into_iter();
    }

    /// The names that are left, as a batch.
    pub(crate) fn into_batch(self) -> Batch {
        let BatchCursor { directory, names, read, walks, .. } = self;
        Batch { directory, names: names.collect(), read, walks }
    }

    /// Names that are left.
    pub(crate) fn left(&self) -> usize {
        self.names.len()
    }
}

impl<'run> BatchName<'run> {
    /// The folder that it lies in.
    pub(crate) fn directory(self) -> &'run Arc<Directory> {
        &self.cursor.directory
    }

    /// The open folder of the target.
    pub(crate) fn target(self) -> Result<&'run File, Problem> {
        let words = "nothing is made here";
        let missing = || Problem::new(Class::Io, Operation::Open, &self.directory().source.path(), words);
        self.cursor.target.as_deref().ok_or_else(missing)
    }

    /// Whether existing files are written where they are: those of names that the user gave.
    pub(crate) fn is_in_place(self) -> bool {
        self.shared.settings.options.durability.inplace && self.directory().root.is_named()
    }

    /// Metadata of the existing entry of the name at the target.
    pub(crate) fn target_meta(self) -> Result<Option<Meta>, Problem> {
        let (name, directory) = (&self.name.name, self.directory());
        let Some(target) = self.cursor.target.as_ref().filter(|_| !directory.traits.fresh) else {
            return Ok(None);
        };
        match names::metadata(target, name) {
            Ok(meta) if !directory.claim(&meta, name) => Err(taken(&self.target_path())),
            Ok(meta) => Ok(Some(meta)),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::EACCES) if directory.target.as_ref().is_some_and(|target| target.is_unseen()) => {
                Ok(None)
            }
            Err(errno) => Err(Problem::system(Operation::LookAt, &self.target_path(), errno.0)),
        }
    }

    pub(crate) fn source_path(self) -> PathBuf {
        let directory = self.directory();
        let folder = self.cursor.source_path.get_or_init(|| directory.source.path());
        joined(folder, directory.source.own(&self.name.name))
    }

    /// The path of its folder from the root of the tree.
    pub(crate) fn relative(self) -> &'run Path {
        self.cursor.relative.get_or_init(|| self.directory().relative())
    }

    pub(crate) fn target_path(self) -> PathBuf {
        self.cursor.target_path(&self.name.name)
    }

    pub(crate) fn entry(self) -> TreeEntry {
        TreeEntry { directory: Arc::clone(self.directory()), name: self.name.name.clone() }
    }

    /// What it is; asked for where the listing does not tell.
    pub(crate) fn kind(self) -> Result<FileKind, Problem> {
        self.name.kind.map_or_else(|| self.source_meta().map(|meta| meta.kind), Ok)
    }

    /// Metadata of the name in the source.
    pub(crate) fn source_meta(self) -> Result<Meta, Problem> {
        let name = self.name;
        let found = self.cursor.source.metadata(name, || self.source_path());
        let meta = found.map_err(|problem| if name.was_seen() { problem.vanished() } else { problem })?;
        // What the user named went to its place for what it was.
        if self.directory().root.is_named() && name.kind.is_some_and(|kind| kind != meta.kind) {
            return Err(was_replaced(&self.source_path()));
        }
        Ok(meta)
    }

    /// Opens a file that was listed, to read it. One that a look finds is tried again, else a missing one has vanished.
    pub(crate) fn open_listed(self, path: &Path, small: SmallRead) -> Result<(Held, Meta), Problem> {
        /// Names that go and come back are opened in between.
        const TRIES: u32 = 3;
        let open = || self.cursor.source.open_file(self.name, path, small, &self.shared.stop);
        let is_there = || {
            matches!(
                self.cursor.source.metadata_if_exists(&self.name.name, || path.to_path_buf()),
                Ok(Some(_))
            )
        };
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
