//! Names that a file system takes for one: which entries of a target stand for names of the source that are written
//! otherwise.
//!
//! Only the file system knows which names it takes for the same (case, accents, widths, by tables of its own). So it is
//! asked: a name of the source that the target does not list, but finds, stands there under another one.
//!
//! Must not know: what is done with the entries.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use datapump_engine::Errno;

use crate::listed::{self, Name};
use crate::origin::Origin;
use crate::problem::{Operation, Problem};
use datapump_files::disk::names;
use datapump_files::identity::{FileId, id};

/// Nothing stands under the name, or it is none that the file system could have: ENOENT, EINVAL, ENAMETOOLONG, EILSEQ.
const CANNOT_STAND: [Errno; 4] = [Errno::ENOENT, Errno::EINVAL, Errno::ENAMETOOLONG, Errno::EILSEQ];

/// The entries of the target, by what they are, under which names of the source stand that are not listed there, and
/// those names. Memory: 8 bytes for each name of the one folder, while it is looked at.
pub(crate) fn standing_otherwise_written(
    source: &Origin,
    source_path: &Path,
    target: &File,
    target_path: &Path,
) -> Result<HashMap<FileId, OsString>, Problem> {
    let (hasher, mut listed, mut found) = (RandomState::new(), HashSet::new(), HashMap::new());
    let target_names = |cookie| {
        let names = listed::list(target, cookie);
        names.map_err(|errno: Errno| Problem::system(Operation::List, target_path, errno.0))
    };
    each_name(target_names, |name| {
        listed.insert(hasher.hash_one(&name.name));
    })?;
    let mut unlisted = Ok(());
    each_name(
        |cookie| source.list(cookie, false, source_path),
        |name| {
            if listed.contains(&hasher.hash_one(&name.name)) {
                return;
            }
            match names::metadata(target, &name.name) {
                Ok(meta) => drop(found.insert(id(&meta), name.name.clone())),
                Err(errno) if CANNOT_STAND.contains(&errno) => {}
                Err(errno) => {
                    unlisted =
                        Err(Problem::system(Operation::LookAt, &target_path.join(&name.name), errno.0));
                }
            }
        },
    )?;
    unlisted.map(|()| found)
}

fn each_name(
    list: impl Fn(u64) -> Result<(Vec<Name>, u64), Problem>,
    mut deal: impl FnMut(&Name),
) -> Result<(), Problem> {
    let mut cookie = 0;
    loop {
        let (names, next) = list(cookie)?;
        if names.is_empty() {
            return Ok(());
        }
        names.iter().for_each(&mut deal);
        cookie = next;
    }
}
