//! The way from a folder down to a target that lies in it: its folders by name and device.
//!
//! Must not know: who walks the folder, and where such a walk does not go.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, PathBuf};
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
    let devices = devices_up_to(from, folder)?;
    let Some(mut steps) = steps(folder, devices) else { return Some(Vec::new()) };
    // A new name lies where its folder does.
    let own = |name: &std::ffi::OsStr| WayStep {
        name: name.to_owned(),
        device: own_device.map_or(from.0, |id| id.0),
    };
    steps.extend(promised.iter().map(OsString::as_os_str).chain(to.name()).map(own));
    Some(steps)
}

/// The folders that a target lies in, by device and inode, from its own upwards, as far as can be looked at.
pub fn folders_above(target: &PathAt) -> Vec<(u64, u64)> {
    target.known_folder().map_or_else(Vec::new, |(folder, _)| upwards(folder).collect())
}

/// The devices of the folders from this one up to the one below `top`.
fn devices_up_to(top: (u64, u64), folder: &Arc<File>) -> Option<Vec<u64>> {
    let mut devices = Vec::new();
    for id in upwards(folder) {
        if id == top {
            return Some(devices);
        }
        devices.push(id.0);
    }
    None
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

/// What the system calls the last folders of a folder's path, from above; `devices` are from below.
fn steps(folder: &File, devices: Vec<u64>) -> Option<Vec<WayStep>> {
    let path = path_of(folder)?;
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    });
    let count = devices.len();
    let mut steps: Vec<WayStep> = names.zip(devices).map(|(name, device)| WayStep { name, device }).collect();
    steps.reverse();
    (path.is_absolute() && steps.len() == count).then_some(steps)
}
