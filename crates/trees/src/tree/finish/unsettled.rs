//! What earlier runs left at a target and this one did not deal with.
//!
//! A copy that did not end well may have left files that the disk does not have. A later one that ends well has put
//! right, or found on the list, what its source holds now. What the source does not have any more (a mount is away, a
//! folder was moved) may be damaged still, and looks right when it comes back. So behind a list that stood, all files
//! of the target are looked at once more before it goes: those that changed since the first of its runs began, and not
//! in this one, must be known to it. A walk over the target, made only by a run that went on behind another.
//!
//! Must not know: what becomes of the list, how files are copied.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::folder::root::Root;
use crate::folder::side::FolderSide;
use crate::list::journal::{Birth, TreeJournal};
use crate::listed::{self, Name};
use crate::problem::{Operation, Problem, shown_path};
use crate::tree::{Shared, backup};
use datapump_files::commit::partial::is_pumps_in;
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::disk::kind::{TimeRule, time_rule};
use datapump_files::disk::{FileKind, magic, names};

/// So many are named; more only counted.
const NAMED_MAX: usize = 3;

/// Files of earlier runs that this one knows nothing of.
#[derive(Debug, Default)]
pub(crate) struct Unsettled {
    count: u64,
    named: Vec<PathBuf>,
}

/// Looks for them in a target whose list stood. A problem: a folder cannot be looked at, and anything may lie in it.
pub(crate) fn find(
    shared: &Shared<'_>,
    tree: &Root,
    journal: &TreeJournal,
    root: &Arc<File>,
    path: &Path,
) -> Result<Unsettled, Problem> {
    // A backup is what stood there before, or what a run that was cut made and this one replaced.
    let is_backup = |folder: &File, name: &OsStr, kind| backup::is_backup(shared, tree, folder, name, kind);
    // Another source of this command goes there behind a list of its own, which stays unless it may go.
    let had_list = |number: &u32| {
        let roots = shared.trees.roots();
        let other = roots.iter().find(|root| root.number == *number);
        other.and_then(|root| root.journal()).is_some_and(TreeJournal::has_unverified)
    };
    let is_of_other = |folder: &FolderSide, name: &OsStr| {
        let claims = shared.trees.guard.claims();
        let below = || folder.relative().join(name);
        tree.shares_target && claims.sources_to(tree.number, &below()).iter().any(had_list)
    };
    let mut found = Unsettled::default();
    let root = FolderSide::shared_root(path, Arc::clone(root), &shared.trees.keeper)?;
    let mut folders = vec![root.opening_up(&shared.trees.opened_folders, None)];
    while let Some(folder) = folders.pop() {
        for name in found.look_in(journal, &folder, &is_backup, &is_of_other)? {
            folders.push(folder.child(&name)?);
        }
    }
    Ok(found)
}

impl Unsettled {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first of them and how many there are, in words.
    pub(crate) fn words(&self) -> String {
        let named: Vec<String> = self.named.iter().map(|path| format!("'{}'", shown_path(path))).collect();
        match self.count - self.named.len() as u64 {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }

    /// Looks at the files of a folder; the folders in it.
    fn look_in(
        &mut self,
        journal: &TreeJournal,
        folder: &FolderSide,
        is_backup: &dyn Fn(&File, &OsStr, FileKind) -> bool,
        is_of_other: &dyn Fn(&FolderSide, &OsStr) -> bool,
    ) -> Result<Vec<OsString>, Problem> {
        let (open, mut below) = (folder.file()?, Vec::new());
        for names in listed::name_batches(|cookie| listed::list(&open, cookie)) {
            let names = names.map_err(|errno| Problem::system(Operation::List, &folder.path(), errno.0))?;
            for Name { name, kind, .. } in names {
                match kind {
                    _ if is_of_other(folder, &name) => {}
                    Some(kind) if is_backup(&open, &name, kind) => {}
                    Some(FileKind::Folder) => below.push(name),
                    Some(FileKind::Regular) | None => {
                        below.extend(self.look_at(journal, &open, folder, name));
                    }
                    _ => {}
                }
            }
        }
        Ok(below)
    }

    /// Looks at a name; gives it back if it is a folder.
    fn look_at(
        &mut self,
        journal: &TreeJournal,
        open: &File,
        folder: &FolderSide,
        name: OsString,
    ) -> Option<OsString> {
        let meta = names::metadata(open, &name).ok()?;
        match meta.kind {
            FileKind::Folder => return Some(name),
            FileKind::Regular if journal.is_settled(&meta, || born(open, &name)) => {}
            FileKind::Regular if is_pumps(open, &name) => {}
            FileKind::Regular => self.add(|| folder.path_of(&name)),
            _ => {}
        }
        None
    }

    fn add(&mut self, path: impl FnOnce() -> PathBuf) {
        self.count += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(path());
        }
    }
}

/// When a file was made. Servers and daemons may give a new file the time of the one that had its name before.
fn born(folder: &File, name: &OsStr) -> Option<Birth> {
    let held = names::hold(folder, name).ok()?;
    let is_kernels = time_rule(magic(folder)) == TimeRule::KernelClock;
    Some(Birth { ns: datapump_files::disk::origin(&held).0, is_kernels })
}

/// A list; or a partial file, which is judged by its own journal.
fn is_pumps(folder: &File, name: &OsStr) -> bool {
    name == LIST_NAME || is_pumps_in(folder, name)
}
