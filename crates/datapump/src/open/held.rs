//! A source that is open, on this host or another, as it was when its copy began.
//!
//! Must not know: tasks, where the copy goes.

use std::path::PathBuf;
use std::sync::Arc;

use datapump_engine::Handle;

use crate::net::folder::far::FarFile;
use datapump_files::disk::{Folder, Meta};
use datapump_files::holes::Ranges;

/// The source as it was when the copy began, to see later whether it changed.
#[derive(Debug)]
pub(crate) struct Original {
    pub(crate) path: PathBuf,
    pub(crate) held: Held,
    pub(crate) meta: Meta,
    /// The folder that it was opened in, where it was not opened by its path.
    pub(crate) folder: Option<Folder>,
    /// Files of the kernel (`/proc`, `/sys`) have no stable size and times.
    pub(crate) watched: bool,
}

/// A source file that is open on this host, or to be had from another.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    Here(Arc<Handle>),
    There(Arc<FarFile>),
}

impl Held {
    /// The open file of this host.
    pub(crate) fn here(&self) -> Option<&Arc<Handle>> {
        match self {
            Held::Here(handle) => Some(handle),
            Held::There(_) => None,
        }
    }
}

/// A source that was opened.
#[derive(Default)]
pub(crate) struct Opened {
    pub(crate) handle: Option<Arc<Handle>>,
    /// A pipe, or null, of another host.
    pub(crate) flow: Option<Arc<FarFile>>,
    pub(crate) original: Option<Original>,
    /// Ranges to copy; `None` until the end of data.
    pub(crate) ranges: Option<Ranges>,
    pub(crate) is_file: bool,
    /// A regular file of a real file system.
    pub(crate) ordinary: bool,
}

impl Opened {
    /// A file of a tree.
    pub(crate) fn file(handle: Option<Arc<Handle>>, original: Original, ranges: Option<Ranges>) -> Opened {
        Opened { handle, flow: None, original: Some(original), ranges, is_file: true, ordinary: true }
    }
}
