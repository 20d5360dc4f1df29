//! Sees to it that no two of several sources get one place.
//!
//! Must not know: cp's rules for targets, how files are copied.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::place::Place;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::targets::item::Target;
use datapump_files::disk::Meta;
use datapump_files::identity::{FileId, id};

/// The targets that were given to sources.
#[derive(Default)]
pub(crate) struct TargetNames {
    taken: HashMap<TargetPlace, TakenPlace>,
    /// Files are written where they are.
    is_inplace: bool,
}

/// What tells targets apart.
#[derive(PartialEq, Eq, Hash)]
enum TargetPlace {
    /// A name in the folder with this device and inode.
    Name(FileId, OsString),
    /// A folder, or an entry that is written where it is.
    Written(FileId),
    /// A block device, by its number.
    BlockDevice(u64),
    /// In a simulation, and in folders that will be made.
    Path(PathBuf),
}

/// What goes to a place.
struct TakenPlace {
    path: PathBuf,
    source: Place,
    file: Option<FileId>,
    is_tree: bool,
}

impl TargetNames {
    pub(crate) fn new(is_inplace: bool) -> TargetNames {
        TargetNames { is_inplace, ..TargetNames::default() }
    }

    /// Gives a target to a source. False: the same source has it already. Errors: another source has it. Folders are merged
    /// where the user named the folder that they go to.
    pub(crate) fn assign(
        &mut self,
        target: &Target,
        source: &Place,
        meta: Option<&Meta>,
    ) -> Result<bool, Problem> {
        let (Some(place), Some(path)) = (self.place_of(target), target.path()) else { return Ok(true) };
        let (file, is_tree) = (meta.map(id), matches!(target, Target::Tree(_)));
        let taken = match self.taken.entry(place) {
            Entry::Vacant(free) => {
                free.insert(TakenPlace { path: path.to_path_buf(), source: source.clone(), file, is_tree });
                return Ok(true);
            }
            Entry::Occupied(taken) => taken.into_mut(),
        };
        let is_same = file.is_some() && taken.file == file;
        if taken.path == path && is_same && is_one_place(&taken.source, source) {
            return Ok(false);
        }
        // Another host is not asked which names two of its folders have in common.
        let are_here = [&taken.source, source].iter().all(|source| source.local_path().is_some());
        let is_content = are_here && source.stands_for_content();
        let is_merged = taken.is_tree && is_tree && is_content && taken.path == path;
        // Names of one file that were copied stay names of one file.
        if is_merged || (is_same && self.is_inplace && taken.path != path) {
            return Ok(true);
        }
        let words = if taken.path == path {
            "two of the sources would get this name; copy them one by one".into()
        } else {
            format!(
                "is the same place as '{}' (by a link or a mount), and two of the sources would get it; copy them one \
                 by one to names of their own",
                shown_path(&taken.path)
            )
        };
        Err(Problem::new(Class::Usage, Operation::Copy, path, words))
    }

    /// The place by which two targets are found to be the same; `None` for streams and the like.
    fn place_of(&self, target: &Target) -> Option<TargetPlace> {
        let at = match target {
            Target::Device(at) => {
                return at.metadata().ok().map(|meta| TargetPlace::BlockDevice(meta.special_device));
            }
            Target::File(at) | Target::Tree(at) | Target::Entry(at) => at,
            _ => return None,
        };
        let is_written =
            matches!(target, Target::Tree(_)) || (self.is_inplace && !matches!(target, Target::Entry(_)));
        if let Some(Ok(meta)) = is_written.then(|| at.metadata()) {
            return Some(TargetPlace::Written(id(&meta)));
        }
        let name = at.name().zip(at.folder_id().ok());
        let named = name.map(|(name, folder)| TargetPlace::Name(folder, name.to_owned()));
        Some(named.unwrap_or_else(|| TargetPlace::Path(at.path.clone())))
    }
}

/// Some file systems give one number to several files: the paths must be the same, too. Those of another host are not
/// followed.
fn is_one_place(one: &Place, other: &Place) -> bool {
    match (one.local_path(), other.local_path()) {
        (Some(one), Some(other)) => {
            one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
        }
        (None, None) => one.path().is_some() && one.path() == other.path(),
        _ => false,
    }
}
