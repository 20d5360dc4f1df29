//! The paths of one folder, joined once for a batch of its names, and only where something needs them.
//!
//! Must not know: what they are needed for.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use crate::folder::directory::Directory;

/// The paths. A batch is in one lane's hands, so that as many are kept as there are lanes.
#[derive(Default)]
pub(crate) struct Paths {
    source: OnceCell<PathBuf>,
    target: OnceCell<PathBuf>,
    relative: OnceCell<PathBuf>,
}

impl Paths {
    pub(crate) fn source(&self, directory: &Directory) -> &Path {
        self.source.get_or_init(|| directory.source.path())
    }

    pub(crate) fn target(&self, directory: &Directory) -> &Path {
        self.target.get_or_init(|| directory.target_path())
    }

    pub(crate) fn relative(&self, directory: &Directory) -> &Path {
        self.relative.get_or_init(|| directory.relative())
    }
}
