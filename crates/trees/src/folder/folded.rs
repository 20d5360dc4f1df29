//! Names that a file system takes for one: which entries of a target stand for names of the source that are written
//! otherwise.
//!
//! Only the file system knows which names it takes for the same (case, accents, widths, by tables of its own). So it is
//! asked: a name of the source that the target does not list, but finds, exists there under another one.
//!
//! Must not know: what is done with the entries.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use datapump_engine::Errno;

use crate::listed::{Name, name_batches};
use crate::origin::Origin;
use crate::problem::{Operation, Problem};
use datapump_files::disk::names;
use datapump_files::identity::{FileId, id};

/// Nothing exists under the name, or it is none that the file system could have: ENOENT, EINVAL, ENAMETOOLONG, EILSEQ.
const CANNOT_STAND: [Errno; 4] = [Errno::ENOENT, Errno::EINVAL, Errno::ENAMETOOLONG, Errno::EILSEQ];

/// Entries of the target that have a name of the source in another spelling which is not listed there, with that name. Memory:
/// 8 bytes for each name of the one folder, while it is looked at.
pub(crate) fn entries_written_otherwise(
    source: &Origin,
    source_path: &Path,
    target: &File,
    target_path: &Path,
) -> Result<HashMap<FileId, OsString>, Problem> {
    let (hasher, mut listed, mut found) = (RandomState::new(), HashSet::new(), HashMap::new());
    for names in name_batches(|cookie| names::list(target, cookie)) {
        let names = names.map_err(|errno| Problem::system(Operation::List, target_path, errno.0))?;
        listed.extend(names.iter().map(|name| hasher.hash_one(&name.name)));
    }
    for names in name_batches(|cookie| source.list(cookie, false, source_path)) {
        for Name { name, .. } in names? {
            if listed.contains(&hasher.hash_one(&name)) {
                continue;
            }
            match names::metadata(target, &name) {
                Ok(meta) => drop(found.insert(id(&meta), name)),
                Err(errno) if CANNOT_STAND.contains(&errno) => {}
                Err(errno) => {
                    return Err(Problem::system(Operation::LookAt, &target_path.join(&name), errno.0));
                }
            }
        }
    }
    Ok(found)
}
