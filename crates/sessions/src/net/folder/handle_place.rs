//! A place of a session that the reading side gives: by its path, below what is served, a link by itself, a stream.
//!
//! Must not know: numbers under which things are open, connections.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_core::wire::attributes::Entry;
use datapump_core::wire::bounds::FileSize;
use datapump_core::wire::peer_request::{Answer, Fault};
use datapump_engine::{Errno, Handle};

use crate::folder::side::OpensRoot;
use crate::listed::Name;
use crate::net::folder::convert::{fault, to_wire};
use crate::net::folder::listing;
use crate::place::Fill;
use crate::problem::Operation;
use datapump_files::commit::{partial, reserved};
use datapump_files::disk::names::HeldName;
use datapump_files::disk::{FileCalls, Meta, file_meta, folder_of, names, open_with_identity};
use datapump_files::followed::OriginFolder;

const ENOTDIR: Errno = Errno(20);

type PlaceOutcome<T> = Result<T, Fault>;

/// A place that is read.
#[derive(Clone, Debug)]
pub(crate) enum HandlePlace {
    /// By its path, as the user named it here.
    Path(PathBuf),
    /// Below a served folder, which no link leads out of.
    Beneath(Arc<File>, PathBuf),
    /// A symbolic link by itself: below a served folder, or as the user named it here.
    Link(Option<Arc<File>>, PathBuf),
    /// Standard input, a pipe, or null.
    Flow(Flow),
}

/// A source without a name and attributes.
#[derive(Clone, Debug)]
pub(crate) enum Flow {
    /// Read once, in its own order, until it ends.
    Stream(Arc<Handle>),
    /// So many bytes of what slots were filled with.
    Null { bytes: u64, fill: Fill },
}

impl HandlePlace {
    /// The path for messages.
    pub(crate) fn path(&self) -> &Path {
        match self {
            HandlePlace::Path(path) | HandlePlace::Beneath(_, path) | HandlePlace::Link(_, path) => path,
            HandlePlace::Flow(_) => Path::new(""),
        }
    }

    /// Whether it is a file that a pump uses or can resume, or the list of an unfinished copy.
    pub(crate) fn is_partial(&self) -> bool {
        let path = self.path();
        let Some(name) = path.file_name().filter(|name| reserved::may_be_pumps(name)) else { return false };
        let above = folder_of(path);
        let folder = match self {
            HandlePlace::Path(_) => names::open_path(above),
            HandlePlace::Beneath(root, _) => names::open_beneath(root, above),
            HandlePlace::Flow(_) | HandlePlace::Link(..) => return false,
        };
        folder.is_ok_and(|folder| partial::is_pumps_in(&folder, name))
    }

    /// Opens what stands there for reading, without waiting for the other side of a pipe.
    pub(crate) fn open(&self) -> PlaceOutcome<File> {
        self.open_root().map_err(|errno| fault(Operation::Open, errno))
    }

    /// The attributes of what exists there.
    ///
    /// Errors: it cannot be opened or looked at.
    pub(crate) fn meta(&self) -> PlaceOutcome<Meta> {
        let found = match self {
            HandlePlace::Link(_, path) => {
                names::metadata(&self.open_above()?.0, path.file_name().unwrap_or_default())
            }
            _ => {
                let handle = Handle::Os(self.open()?);
                handle.meta().map(|meta| open_with_identity(meta, &handle))
            }
        };
        found.map_err(|errno| fault(Operation::LookAt, errno))
    }

    /// Device and inode of what a link leads to; below a served folder nothing that lies outside of it.
    pub(crate) fn led_to(&self) -> Option<(u64, u64)> {
        let held = match self {
            HandlePlace::Link(None, path) => names::hold_path(path).map(HeldName::into_file),
            HandlePlace::Link(Some(root), path) => names::hold_beneath(root, path),
            _ => return None,
        };
        file_meta(&held.ok()?).ok().map(|meta| (meta.device, meta.inode))
    }

    /// The folder of a link, as it is told: it is asked for the link, and nothing else in it.
    pub(crate) fn folder_of_link(&self) -> PlaceOutcome<Answer> {
        let meta = self.open_above()?.1;
        Ok(Answer::folder(to_wire(&meta), Vec::new()))
    }

    /// The entry of a name in the folder of a kept link. Nothing else than the link exists for the other side.
    pub(crate) fn entry_of(&self, name: &OsStr) -> PlaceOutcome<Entry> {
        let name = Name::here(name.to_owned(), None);
        if self.path().file_name() == Some(&*name.name) {
            Ok(listing::entry_with_facts(
                &OriginFolder::from_file(Arc::new(self.open_above()?.0)),
                name,
                false,
            ))
        } else {
            Ok(listing::missing_entry(name))
        }
    }

    /// Opens the folder that holds the place, and looks at it.
    fn open_above(&self) -> PlaceOutcome<(File, Meta)> {
        let path = folder_of(self.path());
        let found = match self {
            HandlePlace::Link(Some(root), _) => names::find_beneath(root, path),
            _ => names::find_folder(path),
        };
        let found = found.and_then(|folder| Ok((file_meta(&folder)?, folder)));
        found.map(|(meta, folder)| (folder, meta)).map_err(|errno| fault(Operation::Open, errno))
    }
}

impl OpensRoot for HandlePlace {
    fn open_root(&self) -> Result<File, Errno> {
        match self {
            HandlePlace::Path(path) => names::open_path(path),
            HandlePlace::Beneath(root, path) => names::open_beneath(root, path),
            HandlePlace::Flow(_) | HandlePlace::Link(..) => Err(ENOTDIR),
        }
    }
}

impl Flow {
    /// The answer to a request that opens it.
    pub(crate) fn answer(&self) -> Answer {
        match self {
            Flow::Stream(_) => Answer::Stream { bytes: None },
            Flow::Null { bytes, .. } => Answer::Stream { bytes: Some(FileSize::of(*bytes)) },
        }
    }
}
