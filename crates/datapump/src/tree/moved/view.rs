//! Whether a folder of the source shows the files of the target under another device number: a mount of it by bindfs,
//! an overlay over one of its layers, a network file system of this very host. What goes from the source would be gone
//! from the target, too, and no number tells it.
//!
//! A name that is made in one of the two is looked for in the other. In both directions: of file systems that are put
//! together of others a new name goes to one of them alone.
//!
//! Must not know: what is removed.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::{Errno, Handle};

use crate::job::options::Options;
use crate::problem::{Class, Operation, Problem, shown_path, system_words};
use crate::target::{Item, Target};
use datapump_files::attributes;
use datapump_files::commit::reserved;
use datapump_files::disk::{
    self, AttributeHolder, FileCalls, Folder, Meta, Outcome, file_meta, folder_of, kind, names,
};
use datapump_files::identity::id;

/// A folder that was opened, and its path for messages.
type OpenedPath<'run> = (&'run Arc<File>, &'run Path);

/// A name that stands in a folder as long as this does.
#[derive(Debug)]
pub(crate) struct ViewProbe {
    folder: Arc<File>,
    pub(crate) name: OsString,
    /// Locked: another pump would take it for a leftover.
    made: Option<Handle>,
    /// The folder, as it was before.
    meta: Meta,
}

impl ViewProbe {
    pub(crate) fn make(folder: &Arc<File>) -> Outcome<ViewProbe> {
        let meta = file_meta(folder)?;
        let open = Folder::Os(Arc::clone(folder));
        let (name, made) = reserved::under_new_name(|name| open.create_new(name))?;
        // A file system without locks is no reason to look no further.
        let _ = made.try_lock();
        Ok(ViewProbe { folder: Arc::clone(folder), name, made: Some(made), meta })
    }

    fn is_in(&self, other: &File) -> Outcome<bool> {
        match names::metadata(other, &self.name) {
            Err(Errno::ENOENT) => Ok(false),
            found => found.map(|_| true),
        }
    }
}

impl Drop for ViewProbe {
    /// The folder gets its times back, if this user may set them.
    fn drop(&mut self) {
        // FUSE keeps what is open under another name.
        drop(self.made.take());
        let _ = names::remove(&self.folder, &self.name, false);
        let _ = attributes::copy_times(&self.meta, AttributeHolder::Open(&self.folder));
    }
}

/// Refuses a removal from a folder that shows what is in the folder of the copies.
pub(super) fn refuse(
    (source, from): OpenedPath<'_>,
    (target, to): OpenedPath<'_>,
    class: Class,
) -> Result<(), Problem> {
    let (from, to) = (shown_path(from).to_string(), (to, shown_path(to)));
    let refused = |words: &str| Err(Problem::new(class, Operation::Remove, to.0, words));
    match shows(source, target) {
        Ok(false) => Ok(()),
        Ok(true) => refused(&format!(
            "shows the files of the source '{from}' through another mount: removing them there removes them here; \
             nothing was removed (--remove-source-files)"
        )),
        Err(errno) => refused(&format!(
            "may be another mount of the source '{from}', and no name can be made to find out: {}; nothing was \
             removed (--remove-source-files)",
            system_words(errno.0)
        )),
    }
}

/// Whether a name that is made in one of two folders is seen in the other.
fn shows(source: &Arc<File>, target: &Arc<File>) -> Outcome<bool> {
    let (from, to) = (file_meta(source)?, file_meta(target)?);
    if !may_show(&from, &to, target) {
        return Ok(false);
    }
    let found = |made: &Arc<File>, other: &File| ViewProbe::make(made).and_then(|probe| probe.is_in(other));
    match (found(target, source), found(source, target)) {
        (Ok(true), _) | (_, Ok(true)) => Ok(true),
        (Ok(_), _) | (_, Ok(_)) => Ok(false),
        (Err(errno), Err(_)) => Err(errno),
    }
}

/// Whether a folder may be a view of another. Numbers tell within one file system, but for those that make up their
/// own; and what is one folder is known.
pub(crate) fn may_show(from: &Meta, to: &Meta, target: &File) -> bool {
    let numbers_tell = from.device == to.device && kind::syncs_whole(disk::magic(target));
    id(from) != id(to) && !numbers_tell
}

/// Refuses sources that are views of their targets, before anything is written. What lies deeper is looked at when
/// files of it are to go.
pub(crate) fn refuse_views(items: &[Item], options: &Options) -> Result<(), Problem> {
    if !options.remove_sources || options.dry_run {
        return Ok(());
    }
    let mut seen = HashSet::new();
    for item in items.iter().flat_map(Item::names).filter(|item| !item.is_left_out) {
        let Some(path) = item.source.local_path() else { continue };
        let (Target::File(at) | Target::Entry(at) | Target::Tree(at)) = &item.target else { continue };
        let from = if item.is_tree() { path } else { folder_of(path) };
        let Ok(Folder::Os(folder)) = at.folder() else { continue };
        let root = at.name().filter(|_| item.is_tree());
        let target = root.map_or_else(
            || Some(Arc::clone(folder)),
            |name| names::open_folder(folder, name).ok().map(Arc::new),
        );
        let Some(target) = target else { continue };
        // Of many files that are named most have one folder.
        if !seen.insert((from.to_path_buf(), file_meta(&target).ok().map(|meta| id(&meta)))) {
            continue;
        }
        let Ok(source) = names::find_folder(from) else { continue };
        refuse((&Arc::new(source), from), (&target, folder_or_root(item, &at.path)), Class::Usage)?;
    }
    Ok(())
}

/// The path of the folder that copies go to.
fn folder_or_root<'path>(item: &Item, path: &'path Path) -> &'path Path {
    if item.is_tree() { path } else { folder_of(path) }
}
