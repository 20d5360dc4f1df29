//! Names that the listing of a folder has given: each of them is dealt with once. Some file systems give a name twice
//! (unions, NFS and sshfs while names come and go); the second time it would find what the first has made.
//!
//! Names are remembered by 128 bits of their hash, as far as the bound goes; behind it a name that comes again is
//! refused where it finds an existing entry.
//!
//! Must not know: how a folder is listed, what is done with its names.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;

use crate::listed::Name;
use crate::origin::Origin;
use datapump_files::disk::{self, kind};

/// So many names of one folder: 10 MB.
const REMEMBERED_MAX: usize = 1 << 18;

/// The names of one folder, while it is listed.
#[derive(Debug, Default)]
pub(crate) struct NamesOnce(HashSet<u128>);

impl NamesOnce {
    /// The names that were not given before; they count as given from now on. An empty list ends the listing, and all
    /// is forgotten.
    pub(crate) fn take_new(&mut self, folder: &Origin, names: Vec<Name>) -> Vec<Name> {
        if gives_each_once(folder) {
            return names;
        }
        if names.is_empty() {
            self.0 = HashSet::new();
        }
        names.into_iter().filter(|name| self.is_new(name)).collect()
    }

    fn is_new(&mut self, name: &Name) -> bool {
        let mut sum = [0; 16];
        sum.copy_from_slice(&blake3::hash(name.name.as_bytes()).as_bytes()[..16]);
        let sum = u128::from_le_bytes(sum);
        if self.0.len() < REMEMBERED_MAX { self.0.insert(sum) } else { !self.0.contains(&sum) }
    }
}

/// The file systems of Linux whose folders are trees of names.
fn gives_each_once(folder: &Origin) -> bool {
    match folder {
        Origin::Here(folder) => kind::holes_are_honest(disk::magic(&folder.file)),
        Origin::There(_) => false,
    }
}
