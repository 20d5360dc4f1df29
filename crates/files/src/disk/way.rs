//! The folders that a name lies in, by device and inode, from its own upwards, and the names on the way down.
//!
//! Must not know: who walks the folder, and where such a walk does not go.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::{PathAt, names, os, proc};

/// Folders above a target that are looked at: a path of PATH_MAX bytes has no more.
const ABOVE_MAX: usize = 2048;

/// One name on the way.
#[derive(Debug)]
pub struct WayStep {
    /// The name.
    pub name: OsString,
    /// The device that it lies on.
    pub device: u64,
}

/// The steps from a folder, by its device and inode, to a target: the last is the target's own. None are told for the
/// folder itself, and where the system does not tell names. `None`: it lies elsewhere, as far as can be looked at.
pub fn way(from: (u64, u64), to: &PathAt) -> Option<Vec<WayStep>> {
    let (folder, promised) = to.known_folder()?;
    let own_device = to.metadata().map(|meta| (meta.device, meta.inode));
    if own_device == Ok(from) {
        return Some(Vec::new());
    }
    let mut above = way_up(folder);
    above.truncate(above.iter().position(|step| step.id == from)?);
    let step = |step: UpStep| Some(WayStep { name: step.name?, device: step.id.0 });
    let steps: Option<Vec<WayStep>> = above.into_iter().rev().map(step).collect();
    let Some(mut steps) = steps else { return Some(Vec::new()) };
    // A new name lies where its folder does.
    let own = |name: &std::ffi::OsStr| WayStep {
        name: name.to_owned(),
        device: own_device.map_or(from.0, |id| id.0),
    };
    steps.extend(promised.iter().map(OsString::as_os_str).chain(to.name()).map(own));
    Some(steps)
}

/// The folders that a name lies in, from its own upwards, as far as can be looked at, with the way down from each.
#[derive(Debug, Default)]
pub struct FoldersAbove {
    steps: Vec<UpStep>,
    /// Folders that will be made in the first of them.
    promised: Vec<OsString>,
}

impl FoldersAbove {
    /// Those of what stands under a name, or will; or of a folder, which is the first of them.
    pub fn from_path_at(at: &PathAt) -> FoldersAbove {
        let of = |(folder, promised): (_, &[OsString])| FoldersAbove {
            steps: way_up(folder),
            promised: promised.to_vec(),
        };
        at.known_folder().map(of).unwrap_or_default()
    }

    /// Names of folders that will be made, each in the one before, the first of them in the first of these.
    pub fn promised(&self) -> &[OsString] {
        &self.promised
    }

    /// Their devices and inodes.
    pub fn ids(&self) -> impl Iterator<Item = (u64, u64)> {
        self.steps.iter().map(|step| step.id)
    }

    /// The path from one of them, counted from below, down to what the name is in; nothing where that is not known.
    pub fn way_from(&self, index: usize) -> Option<PathBuf> {
        let names = self.steps.get(..index)?.iter().rev().map(|step| step.name.as_ref());
        names.chain(self.promised.iter().map(Some)).collect()
    }
}

/// A folder on the way up.
#[derive(Debug)]
pub struct UpStep {
    /// Its device and inode.
    pub id: (u64, u64),
    /// Its name in the folder above; none of the root, nor where the system does not tell names.
    pub name: Option<OsString>,
}

/// A folder and those above it, from its own upwards.
pub fn way_up(folder: &Arc<File>) -> Vec<UpStep> {
    let ids: Vec<(u64, u64)> = upwards(folder).collect();
    let path = path_of(folder).filter(|path| path.is_absolute());
    let names: Vec<OsString> = path.iter().flat_map(|path| names_upwards(path)).collect();
    let are_all = names.len() + 1 == ids.len();
    let names = names.into_iter().filter(|_| are_all).map(Some).chain(std::iter::repeat(None));
    ids.into_iter().zip(names).map(|(id, name)| UpStep { id, name }).collect()
}

/// A folder and those above it, by device and inode. Above the root is the root, which ends it.
fn upwards(folder: &Arc<File>) -> impl Iterator<Item = (u64, u64)> + use<> {
    let with_id = |folder: Arc<File>| {
        let meta = os::file_metadata(&folder).ok()?;
        Some((folder, (meta.device, meta.inode)))
    };
    let above = move |(here, id): &(Arc<File>, (u64, u64))| {
        let above = names::find_folder_from(here, "..".as_ref()).ok()?;
        with_id(Arc::new(above)).filter(|(_, next)| next != id)
    };
    std::iter::successors(with_id(Arc::clone(folder)), above).take(ABOVE_MAX).map(|(_, id)| id)
}

/// What the system calls a folder, now; nothing where it does not say.
pub fn path_of(folder: &File) -> Option<PathBuf> {
    let path = rustix::fs::readlink(proc::path_of_open_file(folder), Vec::new()).ok()?;
    Some(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// The names of a path, the last one first.
fn names_upwards(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    })
}
