//! The open root of what a server serves.
//!
//! Must not know: sessions, who asks.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use crate::place::{Fill, Place};
use crate::problem::{Operation, Problem};
use datapump_files::disk::{Disk, Folder};

/// The served root, open.
#[derive(Clone, Debug)]
pub enum ServedRoot {
    Folder(Arc<File>),
    /// Whatever this user may; relative places begin in his home folder.
    User(PathBuf),
    /// Takes everything, and gives so many bytes, if a size was said.
    Null {
        bytes: Option<u64>,
        fill: Fill,
    },
}

impl ServedRoot {
    /// Opens the place that is served. Errors: it cannot be opened, or is neither a path of this host nor null.
    pub fn open(place: &Place) -> Result<ServedRoot, Problem> {
        match place {
            Place::Path(path) => match Disk::Os.folder(path) {
                Ok(Folder::Os(folder)) => Ok(ServedRoot::Folder(folder)),
                Ok(Folder::Sim(_)) => unreachable!("the system's own file system"),
                Err(errno) => Err(Problem::system(Operation::Open, path, errno.0)),
            },
            Place::Null { bytes, fill } => Ok(ServedRoot::Null { bytes: *bytes, fill: *fill }),
            place => Err(Problem::usage(format!("'{place}' cannot be served; name a folder of this host"))),
        }
    }
}
