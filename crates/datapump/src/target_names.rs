//! Sees to it that no two of several sources get one name in the target's folder.
//!
//! Where the file system may take two names for one it is asked, before anything is copied: the names are made in a
//! folder of their own beside the targets, which goes again. What stands in the target's folder tells nothing about
//! names that do not stand there yet.
//!
//! Must not know: cp's rules for targets, how files are copied.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use datapump_engine::Errno;

use crate::disk::{self, Folder, PathAt, names};
use crate::problem::{Class, Problem};
use crate::target::Target;
use crate::temporary;

const EEXIST: Errno = Errno(17);

/// The targets that were given to sources.
pub(crate) struct TargetNames {
    paths: BTreeSet<PathBuf>,
    trial: Option<Trial>,
}

impl TargetNames {
    /// Of sources that go into this folder; `writes` unless nothing may be made there.
    pub(crate) fn new(folder: Option<&PathAt>, writes: bool) -> TargetNames {
        let trial = folder.filter(|_| writes).and_then(Trial::begin);
        TargetNames { paths: BTreeSet::new(), trial }
    }

    /// Gives a target to a source.
    pub(crate) fn take(&mut self, target: &Target) -> Result<(), Problem> {
        let (Target::File(at) | Target::Tree(at)) = target else { return Ok(()) };
        if !self.paths.insert(at.path.clone()) {
            return Err(refused(at, "two of the sources would get this name"));
        }
        match self.trial.as_mut().is_none_or(|trial| trial.takes(at)) {
            true => Ok(()),
            false => Err(refused(
                at,
                "two of the sources would get this name, because this file system takes their names for the same \
                 (upper and lower case)",
            )),
        }
    }
}

fn refused(at: &PathAt, why: &str) -> Problem {
    Problem::new(Class::Usage, "copy", &at.path, format!("{why}; copy them one by one"))
}

/// A folder in which names are tried.
struct Trial {
    /// The target's folder, and its path.
    above: Arc<File>,
    path: PathBuf,
    name: OsString,
    open: File,
    made: Vec<OsString>,
}

impl Trial {
    /// `None` where all names are told apart, or nothing can be made: then nothing can be copied there, either.
    fn begin(folder: &PathAt) -> Option<Trial> {
        let Ok(Folder::Os(above)) = folder.child(OsStr::new(".")).folder().cloned() else { return None };
        if !disk::may_fold_names(&above) {
            return None;
        }
        let (name, ()) = temporary::under_new_name(|name| names::make_folder(&above, name)).ok()?;
        let open = names::open_folder(&above, &name);
        let made = Vec::new();
        match open {
            Ok(open) => Some(Trial { path: folder.path.to_path_buf(), name, open, made, above }),
            Err(_) => {
                let _ = names::remove(&above, &name, true);
                None
            }
        }
    }

    /// Whether a name is no other's. What goes elsewhere, through a link, is none of this folder.
    fn takes(&mut self, at: &PathAt) -> bool {
        let Some(name) = at.name().filter(|_| at.path.parent() == Some(&self.path)) else { return true };
        // A folder: what was open when it goes, FUSE keeps for a moment under another name.
        match names::make_folder(&self.open, name) {
            Err(EEXIST) => false,
            made => {
                self.made.extend(made.is_ok().then(|| name.to_owned()));
                true
            }
        }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        for name in &self.made {
            let _ = names::remove(&self.open, name, true);
        }
        let _ = names::remove(&self.above, &self.name, true);
    }
}
