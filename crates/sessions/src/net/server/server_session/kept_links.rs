//! Places of a client that are symbolic links and are kept as links: the link is given, and nothing else in its folder.
//!
//! A link is looked for where all else is, beneath a folder that is served. What it leads to is looked up there, and
//! never read.
//!
//! Must not know: what the client makes of it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_core::wire::session::{Begin, Direction};
use minicbor::bytes::ByteVec;

use super::Wanted;
use crate::count_ahead::served_root::ServedRoot;
use crate::net::folder::handle_place::{Flow, HandlePlace};
use crate::place::stands_for_content;
use datapump_files::disk::{FileKind, folder_of, names};

/// Whether each source is such a link; nothing where links are followed.
pub(super) fn which_are_links(
    root: &ServedRoot,
    begin: &Begin,
    typed: &[ByteVec],
    sources: &[PathBuf],
) -> Vec<bool> {
    if begin.keeps_links != Some(true) || begin.way != Direction::Pull {
        return Vec::new();
    }
    typed.iter().zip(sources).map(|(typed, source)| is_link(root, typed, source)).collect()
}

/// Whether a place is a link that is kept. A name that is not in what was typed is a folder: the home folder, what is served.
fn is_link(root: &ServedRoot, typed: &[u8], source: &Path) -> bool {
    let typed = Path::new(OsStr::from_bytes(typed));
    let name = typed.file_name().filter(|name| source.file_name() == Some(*name));
    let Some(name) = name.filter(|_| !stands_for_content(typed)) else { return false };
    let above = folder_of(source);
    let found = match root {
        ServedRoot::Folder(root) => names::find_beneath(root, above),
        ServedRoot::User(_) => names::find_folder(above),
        ServedRoot::Null { .. } => return false,
    };
    let meta = found.and_then(|folder| names::metadata(&folder, name));
    meta.is_ok_and(|meta| meta.kind == FileKind::Symlink)
}

impl Wanted {
    /// Places in the order in which the other side counts them.
    pub(super) fn handle_places(&self) -> Vec<HandlePlace> {
        (0..)
            .zip(&self.sources)
            .map(|(number, path)| self.place(path.clone(), self.is_link(number)))
            .collect()
    }

    /// The sources that may hold something to count.
    pub(super) fn countable_sources(&self) -> Vec<PathBuf> {
        (0..).zip(&self.sources).filter(|(number, _)| !self.is_link(*number)).map(|it| it.1.clone()).collect()
    }

    fn is_link(&self, number: usize) -> bool {
        self.links.get(number) == Some(&true)
    }

    /// A place as the handle table opens it: as a kept link, beneath the served folder, or by path.
    fn place(&self, path: PathBuf, is_link: bool) -> HandlePlace {
        match &self.root {
            ServedRoot::Folder(root) if is_link => HandlePlace::Link(Some(Arc::clone(root)), path),
            ServedRoot::User(_) if is_link => HandlePlace::Link(None, path),
            ServedRoot::Folder(root) => HandlePlace::Beneath(Arc::clone(root), path),
            ServedRoot::User(_) => HandlePlace::Path(path),
            ServedRoot::Null { bytes, fill } => {
                HandlePlace::Flow(Flow::Null { bytes: bytes.unwrap_or(0), fill: *fill })
            }
        }
    }
}
