//! Sees to it that no two of several sources get one name in the target's folder.
//!
//! Where the file system may take two names for one it is asked, before anything is copied: the names are made in a
//! folder of their own beside the targets, which goes again. What stands in the target's folder tells nothing about
//! names that do not stand there yet.
//!
//! Must not know: cp's rules for targets, how files are copied.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, btree_map};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

use datapump_engine::Errno;

use crate::problem::{Class, Operation, Problem, shown_path};
use crate::target::Target;
use crate::target::place::Place;
use datapump_files::commit::reserved;
use datapump_files::disk::{self, FileKind, Folder, Meta, PathAt, names};
use datapump_files::identity::{FileId, id};

/// The targets that were given to sources.
#[derive(Default)]
pub(crate) struct TargetNames {
    /// And the sources that they were given to.
    paths: BTreeMap<PathBuf, (Place, Option<FileId>)>,
    /// What the targets are, whatever they are called; of one source nobody asks.
    places: Option<HashMap<PlaceKey, (PathBuf, Option<FileId>)>>,
    is_inplace: bool,
    /// Their names in the target's folder.
    names: Vec<OsString>,
}

/// What tells targets apart.
#[derive(PartialEq, Eq, Hash)]
enum PlaceKey {
    /// A name in the folder with this device and inode.
    Name(FileId, OsString),
    /// What stands there.
    Existing(FileId),
    /// A block device, by its number.
    BlockDevice(u64),
}

impl TargetNames {
    pub(crate) fn new(several: bool, is_inplace: bool) -> TargetNames {
        TargetNames { places: several.then(HashMap::new), is_inplace, ..TargetNames::default() }
    }

    /// Refuses a target that is another's by links, or by a second mount. `source` is what is copied there.
    pub(crate) fn take_place(&mut self, target: &Target, source: Option<&Meta>) -> Result<(), Problem> {
        let Some(places) = &mut self.places else { return Ok(()) };
        let Some(path) = target.path() else { return Ok(()) };
        let source = source.map(id);
        for place in places_of(target, self.is_inplace) {
            // Names of one file that were copied stay names of one file.
            let may_be_one = source.is_some() && matches!(place, PlaceKey::Existing(_));
            match places.entry(place) {
                Entry::Vacant(free) => drop(free.insert((path.to_path_buf(), source))),
                Entry::Occupied(taken) if may_be_one && taken.get().1 == source => {}
                Entry::Occupied(taken) => return Err(is_one(path, &taken.get().0)),
            }
        }
        Ok(())
    }

    /// Gives a target to a source that goes into this folder, if into one. False: the same source has it already.
    pub(crate) fn take(
        &mut self,
        folder: Option<&PathAt>,
        target: &Target,
        (source, meta): (&Place, Option<&Meta>),
    ) -> Result<bool, Problem> {
        let (Target::File(at) | Target::Tree(at) | Target::Entry(at)) = target else { return Ok(true) };
        let file = meta.map(id);
        let taken = match self.paths.entry(at.path.clone()) {
            btree_map::Entry::Vacant(free) => {
                free.insert((source.clone(), file));
                None
            }
            btree_map::Entry::Occupied(taken) => Some(taken.into_mut()),
        };
        if let Some((first, first_file)) = taken {
            if file.is_some() && *first_file == file && is_one_place(first, source) {
                return Ok(false);
            }
            let is_content = folder.is_some_and(|folder| folder.path == at.path);
            return Err(refused(
                &at.path,
                if is_content {
                    TWO_CONTENTS
                } else {
                    "two of the sources would get this name; copy them one by one"
                },
            ));
        }
        // What goes elsewhere, through a link, is none of this folder.
        let is_in = folder.is_some_and(|folder| at.path.parent() == Some(&folder.path));
        self.names.extend(at.name().filter(|_| is_in).map(OsStr::to_owned));
        Ok(true)
    }

    /// Refuses names that are one in their folder. Where nothing can be made nothing can be copied, either.
    pub(crate) fn refuse_what_is_one(&self, folder: &PathAt) -> Result<(), Problem> {
        if self.names.len() < 2 {
            return Ok(());
        }
        let Ok(Folder::Os(above)) = folder.child(OsStr::new(".")).folder().cloned() else { return Ok(()) };
        let Ok(above) = names::open_folder(&above, OsStr::new(".")) else { return Ok(()) };
        let Some(trial) = NamesProbe::begin(&above) else { return Ok(()) };
        if self.names.iter().all(|name| name.is_ascii()) && trial.tells_case() {
            return Ok(());
        }
        match self.names.iter().find(|name| !trial.takes(name)) {
            None => Ok(()),
            Some(name) => Err(refused(
                &folder.path.join(name),
                "two of the sources would get this name, because this file system takes their names for the same \
                 (upper and lower case); copy them one by one",
            )),
        }
    }
}

/// Some file systems give one number to several files: the paths must be the same, too. Those of another host are not
/// followed.
fn is_one_place(one: &Place, other: &Place) -> bool {
    match (one.local_path(), other.local_path()) {
        (Some(one), Some(other)) => is_one_path(one, other),
        (None, None) => one.path().is_some() && one.path() == other.path(),
        _ => false,
    }
}

/// Whether both paths lead to the same name.
pub(crate) fn is_one_path(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// A file that has several names gets another one under each of them, unless it is written where it stands.
fn places_of(target: &Target, is_inplace: bool) -> Vec<PlaceKey> {
    let existing = |meta: Meta| PlaceKey::Existing(id(&meta));
    let is_replaced = |meta: &Meta| meta.kind != FileKind::Folder && meta.links > 1 && !is_inplace;
    let (at, there) = match target {
        Target::Device(at) => {
            let device = at.metadata().ok().map(|meta| PlaceKey::BlockDevice(meta.special_device));
            return device.into_iter().collect();
        }
        Target::File(at) | Target::Tree(at) => (at, at.metadata().ok()),
        Target::Entry(at) => (at, None),
        _ => return Vec::new(),
    };
    let name =
        at.name().zip(at.folder_id().ok()).map(|(name, folder)| PlaceKey::Name(folder, name.to_owned()));
    name.into_iter().chain(there.filter(|there| !is_replaced(there)).map(existing)).collect()
}

fn is_one(path: &Path, other: &Path) -> Problem {
    let other = shown_path(other);
    let words = format!(
        "is the same place as '{other}' (by a link or a mount, or since this file system takes their names for the \
         same), and two of the sources would get it; copy them one by one to names of their own"
    );
    refused(path, &words)
}

const TWO_CONTENTS: &str =
    "the contents of two sources would be mixed here; drop their trailing slashes, or copy them one by one";

fn refused(path: &Path, why: &str) -> Problem {
    Problem::new(Class::Usage, Operation::Copy, path, why)
}

/// A folder in which names are tried.
struct NamesProbe<'above> {
    above: &'above File,
    name: OsString,
    open: File,
}

impl NamesProbe<'_> {
    /// `None` where all names are told apart.
    fn begin(above: &File) -> Option<NamesProbe<'_>> {
        if !disk::may_fold_names(above) {
            return None;
        }
        let (name, ()) = reserved::probe_name(above, |name| names::make_folder(above, name)).ok()?;
        let open = names::open_folder(above, &name);
        if open.is_err() {
            let _ = names::remove(above, &name, true);
        }
        open.ok().map(|open| NamesProbe { above, name, open })
    }

    /// Whether upper and lower case are told apart. Then names in ASCII are told apart, whatever it does with others:
    /// so it is on XFS, which does not tell how it was made.
    fn tells_case(&self) -> bool {
        self.takes(OsStr::new(".pump-case")) && self.takes(OsStr::new(".PUMP-CASE"))
    }

    /// Whether a name is no other's. A folder is made of it: what was open when it goes, FUSE keeps for a moment under
    /// another name.
    fn takes(&self, name: &OsStr) -> bool {
        names::make_folder(&self.open, name) != Err(Errno::EEXIST)
    }
}

impl Drop for NamesProbe<'_> {
    fn drop(&mut self) {
        while let Ok((made, _)) = names::list(&self.open, 0)
            && !made.is_empty()
            && made.iter().all(|made| names::remove(&self.open, &made.name, true).is_ok())
        {}
        let _ = names::remove(self.above, &self.name, true);
    }
}
