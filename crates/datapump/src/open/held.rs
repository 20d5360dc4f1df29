//! A source that is open, on this host or another, as it was when its copy began.
//!
//! Must not know: tasks, where the copy goes.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use datapump_engine::Handle;

use crate::net::folder::remote_host::RemoteFile;
use crate::problem::Problem;
use crate::target::listed::Attributes;
use datapump_files::disk::{FileKind, Folder, Meta};
use datapump_files::holes::ByteRanges;
use datapump_files::identity::{SourceChange, change};

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

impl Original {
    /// Whether its attributes go with its content: those of a device say who may use the device.
    pub(crate) fn has_attributes(&self) -> bool {
        !matches!(self.meta.kind, FileKind::BlockDevice | FileKind::CharDevice)
    }
}

/// A source file that is open on this host, or to be had from another.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    Here(Arc<Handle>),
    There(Arc<dyn Elsewhere>),
}

/// A source file that this host's system cannot open: what is known of it.
pub(crate) trait Elsewhere: Debug + Send + Sync {
    /// It is requested of another host, over the lane's own connection.
    fn remote_host(self: Arc<Self>) -> Option<Arc<RemoteFile>> {
        None
    }
    /// What it is and carries besides its bytes, as far as is known.
    fn told(&self) -> Option<(&Meta, &Attributes)>;
    /// The ranges that hold data.
    fn ranges(&self, meta: &Meta, _ignore_holes: bool) -> ByteRanges {
        vec![(0, meta.size_bytes)]
    }
    /// What happened to it since its copy began, if something did.
    fn find_change(&self, original: &Original) -> Result<Option<SourceChange>, Problem>;
}

impl Elsewhere for RemoteFile {
    fn remote_host(self: Arc<RemoteFile>) -> Option<Arc<RemoteFile>> {
        Some(self)
    }

    fn told(&self) -> Option<(&Meta, &Attributes)> {
        RemoteFile::told(self)
    }

    fn ranges(&self, meta: &Meta, ignore_holes: bool) -> ByteRanges {
        RemoteFile::ranges(self, meta, ignore_holes)
    }

    /// A small one was looked at there before and after it was read.
    fn find_change(&self, original: &Original) -> Result<Option<SourceChange>, Problem> {
        let Original { path, meta: before, .. } = original;
        let (now, named) = match self {
            RemoteFile::Open(file) => file.look_again(path)?,
            RemoteFile::Small(file) => match file.told.get() {
                Some((now, _)) => (*now, Some(*now)),
                None => (*before, Some(*before)),
            },
            RemoteFile::Stream(_) => return Ok(None),
        };
        Ok(match (change(before, &now, named.as_ref()), self) {
            // Its attributes are those of afterwards.
            (Some(SourceChange::Grew(words)), RemoteFile::Small(_)) => Some(SourceChange::Other(words)),
            (change, _) => change,
        })
    }
}

impl Held {
    /// What was told of a file of another system.
    pub(crate) fn told(&self) -> Option<(&Meta, &Attributes)> {
        match self {
            Held::Here(_) => None,
            Held::There(file) => file.told(),
        }
    }

    /// The open file of this host.
    pub(crate) fn here(&self) -> Option<&Arc<Handle>> {
        match self {
            Held::Here(handle) => Some(handle),
            Held::There(_) => None,
        }
    }
}
