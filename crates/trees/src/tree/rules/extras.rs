//! Which names of two trees are compared by the rules of a copy, and which only one of them has.
//!
//! A name of the original that is hidden is not compared. A name of the copy that the original does not have, or hides,
//! is a difference, unless it is protected: a mirror would remove it. So a folder that a mirror would keep is none if
//! something in it is protected, and all else in it is. Which of the two trees is listed and which is looked into is of
//! no matter (`ComparisonOptions::compares_backwards`).
//!
//! Must not know: how names are compared, how patterns match.

use std::path::PathBuf;
use std::sync::Arc;

use crate::folder::directory::Directory;
use crate::folder::root::Root;
use crate::folder::side::FolderSide;
use crate::listed::{self, Name};
use crate::origin::Origin;
use crate::problem::{Class, Operation, Problem};
use crate::tree::Shared;
use crate::tree::batch::cursor::BatchName;
use crate::tree::batch::folder_done;
use crate::tree::rules::compare::is_missing;
use crate::tree::rules::left_out;
use datapump_core::selection::Listing;
use datapump_files::disk::FileKind;

/// Whether a name that was listed is compared. If not because only the copy has it, that is reported.
pub(crate) fn is_compared(at: BatchName<'_>, kind: FileKind) -> Result<bool, Problem> {
    if !at.shared.settings.options.comparison.compares_backwards {
        return Ok(at.is_included(kind));
    }
    let there = at.target_meta()?;
    if there.is_some_and(|there| at.is_included(there.kind)) {
        return Ok(true);
    }
    let extras = Extras {
        shared: at.shared,
        root: &at.directory().root,
        other: at.directory().root.target_path.clone(),
        is_original: false,
    };
    extras.report_extra(&at.directory().source, at.name)?;
    Ok(false)
}

/// The problem of a name of a list that was not found: this one, or a difference if the other tree has the name.
pub(crate) fn of_list(at: BatchName<'_>, problem: Problem) -> Problem {
    let is_there = || matches!(at.target_meta(), Ok(Some(_)));
    if problem.class == Class::Missing && is_there() {
        is_missing(&at.source_path(), &at.target_path())
    } else {
        problem
    }
}

/// The names of a folder that only the tree has that is not listed.
pub(crate) fn others(shared: &Shared<'_>, directory: &Arc<Directory>) {
    if let Err(problem) = report_extras(shared, directory) {
        directory.root.report(&shared.ledger, problem);
    }
    folder_done::release(shared, directory);
}

/// Reports the names of the target's folder that the source does not have, as far as they are compared.
fn report_extras(shared: &Shared<'_>, directory: &Directory) -> Result<(), Problem> {
    let Some(target) = &directory.target else { return Ok(()) };
    // Only names of the list are compared.
    if matches!(shared.trees.select.listing(|| directory.relative()), Listing::Listed(_)) {
        return Ok(());
    }
    let (one, other) = (directory.source.origin()?, target.file()?);
    let source_root = directory.source.ancestors().last().map(|root| PathBuf::from(&root.name));
    let is_backwards = shared.settings.options.comparison.compares_backwards;
    let source_root = source_root.unwrap_or_default();
    let extras = Extras { shared, root: &directory.root, other: source_root, is_original: is_backwards };
    for names in listed::name_batches(|cookie| listed::list(&other, cookie)) {
        let names = names.map_err(|errno| Problem::system(Operation::List, &target.path(), errno.0))?;
        for name in &names {
            match extras.is_compared_there(directory, &one, target, name)? {
                Some(true) => {}
                None if is_backwards => {
                    let kind = kind_of(target, name)?;
                    if extras.is_included(target, name, kind) {
                        extras.tell_missing(target, name, kind)?;
                    }
                }
                _ => extras.report_extra(target, name)?,
            }
        }
    }
    Ok(())
}

fn kind_of(side: &FolderSide, name: &Name) -> Result<FileKind, Problem> {
    match name.kind {
        Some(kind) => Ok(kind),
        None => Ok(side.origin()?.metadata(name, || side.path_of(&name.name))?.kind),
    }
}

/// What one tree has and the other, whose root has this path, has not.
struct Extras<'run> {
    shared: &'run Shared<'run>,
    root: &'run Root,
    other: PathBuf,
    /// It is the original, of which a copy leaves out more.
    is_original: bool,
}

impl Extras<'_> {
    fn is_included(&self, side: &FolderSide, name: &Name, kind: FileKind) -> bool {
        let (select, above) = (&self.shared.trees.select, &self.root.patterns_above);
        select.includes(above, || side.relative(), &name.name, kind == FileKind::Folder)
    }

    fn is_protected(&self, side: &FolderSide, name: &Name, kind: FileKind) -> bool {
        let (select, above) = (&self.shared.trees.select, &*self.root.patterns_above);
        select.protects((above, || side.relative()), (&name.name, kind == FileKind::Folder), false)
    }

    /// Whether the tree that was listed has a name of this one, and whether it is compared there. The listing tells,
    /// unless patterns tell a folder of this name from a file. Of one that is protected nothing depends on that.
    fn is_compared_there(
        &self,
        directory: &Directory,
        listed: &Origin,
        side: &FolderSide,
        name: &Name,
    ) -> Result<Option<bool>, Problem> {
        let is_included = |kind| self.is_original || self.is_included(side, name, kind);
        let of_any_kind = is_included(FileKind::Regular);
        match directory.has_recorded(&name.name) {
            Some(false) => return Ok(None),
            Some(true) if of_any_kind == is_included(FileKind::Folder) => return Ok(Some(of_any_kind)),
            _ if !self.is_original && self.is_protected(side, name, kind_of(side, name)?) => {
                return Ok(Some(true));
            }
            _ => {}
        }
        let there = listed.metadata_if_exists(&name.name, || directory.source.path_of(&name.name))?;
        Ok(there.map(|there| is_included(there.kind)))
    }

    /// Reports a name of the copy that is too much, or what is too much in it.
    fn report_extra(&self, side: &Arc<FolderSide>, name: &Name) -> Result<(), Problem> {
        let mut found = vec![(Arc::clone(side), name.clone())];
        while let Some((side, name)) = found.pop() {
            let kind = kind_of(&side, &name)?;
            if self.is_protected(&side, &name, kind) {
                continue;
            }
            if kind == FileKind::Folder && self.shared.trees.select.protects_some() {
                let below = side.child_of(&name)?;
                if self.keeps_some(&below)? {
                    found.extend(
                        below
                            .origin()?
                            .list_all(&below.path())?
                            .into_iter()
                            .map(|name| (Arc::clone(&below), name)),
                    );
                    continue;
                }
            }
            self.tell_missing(&side, &name, kind)?;
        }
        Ok(())
    }

    /// Whether something in a folder is protected, so that a mirror keeps the folder.
    fn keeps_some(&self, folder: &Arc<FolderSide>) -> Result<bool, Problem> {
        let mut folders = vec![Arc::clone(folder)];
        while let Some(side) = folders.pop() {
            for name in side.origin()?.list_all(&side.path())? {
                let kind = kind_of(&side, &name)?;
                if self.is_protected(&side, &name, kind) {
                    return Ok(true);
                }
                if kind == FileKind::Folder {
                    folders.push(side.child_of(&name)?);
                }
            }
        }
        Ok(false)
    }

    fn tell_missing(&self, side: &FolderSide, name: &Name, kind: FileKind) -> Result<(), Problem> {
        let missing = side.path_below(&self.other).join(&name.name);
        left_out::report_missing(self.shared, side, name, kind, &missing, self.is_original)
    }
}
