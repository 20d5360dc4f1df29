//! Removes from the source what was copied (`--remove-source-files`): files, symbolic links, pipes and devices. Folders
//! stay, as with rsync.
//!
//! It comes last, when all copies are on stable storage, and only if nothing failed. What goes is looked at again, and
//! stands at the target now: of the same kind, size and time. When in doubt it stays in the source.
//!
//! Must not know: how anything was copied.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::problem::{Class, Operation, Problem, shown_path};
use crate::run::Shared;
use crate::target::listed::Name;
use crate::target::{Item, Target};
use crate::tree::count_ahead::listed;
use crate::tree::folder::directory::Directory;
use crate::tree::folder::side::FolderSide;
use crate::tree::rules::decide::{same_time, window_ns};
use datapump_files::disk::{FileKind, Folder, Meta, PathAt, names};
use datapump_files::identity::id;

/// A folder of the source, and its copy.
type BothSides = (Arc<FolderSide>, Arc<FolderSide>);

/// Removes the files that were named, each with its copy, and those of trees.
pub(crate) fn remove_sources(shared: &Shared<'_>, trees: &[Arc<Directory>]) {
    if shared.is_stopping() {
        return;
    }
    if !shared.ledger.tally().problems.is_empty() {
        let words =
            "nothing was removed from the source (--remove-source-files), because not everything was copied";
        return shared.ledger.warn_once(words.into());
    }
    let files = shared.settings.moved.iter().map(|(source, target)| of_file(shared, source, target));
    let folders = trees.iter().map(|directory| of_tree(shared, directory));
    files.chain(folders).for_each(|removed| {
        let _ = removed.map_err(|problem| shared.ledger.report(problem));
    });
}

/// A file that was named, and its copy.
fn of_file(shared: &Shared<'_>, source: &Path, target: &Path) -> Result<(), Problem> {
    let find = |path| PathAt::find(&shared.settings.platform.disk, path);
    let (from, to) = (find(source), find(target));
    // What was passed by has no copy. Of a link the file that it leads to was copied: both stay.
    let (Ok(meta), Ok(there)) = (from.metadata_of_name(), to.metadata()) else { return Ok(()) };
    let (Ok(Folder::Os(folder)), Some(name)) = (from.folder(), from.name()) else { return Ok(()) };
    match (meta.kind, there.kind) {
        (FileKind::Regular, FileKind::Regular) if is_equal(shared, &meta, &there) => {
            remove(shared, (folder, name), source)
        }
        (FileKind::Symlink, _) => Ok(()),
        _ => {
            tell_kept(shared, source, (&meta, &there));
            Ok(())
        }
    }
}

fn of_tree(shared: &Shared<'_>, root: &Directory) -> Result<(), Problem> {
    let Some(target) = root.target.as_ref().filter(|_| root.source.is_here()) else { return Ok(()) };
    let mut folders = vec![(Arc::clone(&root.source), Arc::clone(target))];
    while let Some((source, target)) = folders.pop() {
        let mut cookie = Some(0);
        while let Some(from) = cookie.filter(|_| !shared.is_stopping()) {
            let (names, next) = listed(&shared.trees.select, (&source, &source.origin()?), from)?;
            cookie = next.filter(|_| !names.is_empty());
            for name in names {
                folders.extend(of_name(shared, (&source, &target), &name)?);
            }
        }
    }
    Ok(())
}

/// Removes a name that has its copy. A folder on both sides is given back, to be gone into.
fn of_name(
    shared: &Shared<'_>,
    (source, target): (&Arc<FolderSide>, &Arc<FolderSide>),
    name: &Name,
) -> Result<Option<BothSides>, Problem> {
    let name = &*name.name;
    let (from, to) = (source.file()?.0, target.file()?.0);
    let (Ok(meta), Ok(there)) = (names::metadata(&from, name), names::metadata(&to, name)) else {
        return Ok(None);
    };
    let is_folder = meta.kind == FileKind::Folder;
    if !shared.trees.select.includes(|| source.relative(), name, is_folder) || meta.kind != there.kind {
        return Ok(None);
    }
    if is_folder {
        let stays_out = shared.settings.options.one_file_system && meta.device != source.meta.device;
        let both = || Ok((source.child(name)?, target.child(name)?));
        return (!stays_out).then(both).transpose();
    }
    match is_equal(shared, &meta, &there) && leads_to_same((&from, &to), name, meta.kind) {
        true => remove(shared, (&from, name), &source.path_of(name))?,
        false => tell_kept(shared, &source.path_of(name), (&meta, &there)),
    }
    Ok(None)
}

/// Whether what stands at the target is a copy of it, and not the same thing by another way to it.
fn is_equal(shared: &Shared<'_>, meta: &Meta, there: &Meta) -> bool {
    let is_alone = id(meta) == id(there) && meta.links == 1;
    let is_file = meta.kind == FileKind::Regular;
    !is_alone
        && meta.kind != FileKind::Socket
        && meta.special_device == there.special_device
        && (!is_file || meta.size_bytes == there.size_bytes)
        && same_time(meta, there, window_ns(shared.settings.options))
}

fn leads_to_same((from, to): (&File, &File), name: &OsStr, kind: FileKind) -> bool {
    let lead = (names::read_symlink(from, name), names::read_symlink(to, name));
    kind != FileKind::Symlink || matches!(lead, (Ok(one), Ok(other)) if one == other)
}

fn remove(shared: &Shared<'_>, (folder, name): (&File, &OsStr), path: &Path) -> Result<(), Problem> {
    let removed = names::remove(folder, name, false);
    removed.map_err(|errno| Problem::system(Operation::Remove, path, errno.0))?;
    shared.ledger.note(|| format!("'{}': removed from the source", shown_path(path)));
    Ok(())
}

fn tell_kept(shared: &Shared<'_>, path: &Path, (meta, there): (&Meta, &Meta)) {
    // What is newer at the target was left alone, as was asked.
    if shared.trees.rules.newer_by_ns().is_some() && there.mtime_ns > meta.mtime_ns {
        return;
    }
    let words = "stays in the source: what stands at the target is no copy of it any more, or never was";
    shared.ledger.report(Problem::new(Class::Changed, Operation::Remove, path, words));
}

/// The files that were named, each with its copy's path.
pub(crate) fn named(items: &[Item]) -> Vec<(PathBuf, PathBuf)> {
    let pair = |item: &Item| {
        let Target::File(at) = &item.target else { return None };
        let source = item.source.local_path().filter(|_| !item.is_left_out)?;
        Some((source.to_path_buf(), at.path.clone()))
    };
    items.iter().flat_map(Item::names).filter_map(pair).collect()
}
