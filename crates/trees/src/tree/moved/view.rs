//! Whether a folder of the source shows the files of the target under another device number: a mount of it by bindfs,
//! an overlay over one of its layers, a network file system of this very host. What goes from the source would be gone
//! from the target, too, and no number tells it.
//!
//! A time that the one folder gets for a moment is looked for in the other, and so is a name that is made in it. Names in
//! both directions: of file systems that are put together of others a new name goes to one of them alone. A mount may
//! hide names of some forms and refuse to make them, so that a name that could not be made has told nothing.
//!
//! Must not know: what is removed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::{Errno, Handle};

use crate::problem::{Class, Operation, Problem, shown_path, system_words};
use crate::setup::options::Options;
use crate::targets::Item;
use datapump_files::attributes;
use datapump_files::commit::{final_name, reserved};
use datapump_files::disk::{self, FileCalls, Folder, Meta, Outcome, file_meta, folder_of, kind, names};
use datapump_files::identity::{FileId, id};

/// How far the time is from its own that a folder gets for a moment: farther than any clock is coarse.
const AWAY_NS: i128 = 4_000 * 1_000_000_000;

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
    /// Makes and locks an empty probe file in a folder, by which its views are found.
    pub(crate) fn make(folder: &Arc<File>) -> Outcome<ViewProbe> {
        let meta = file_meta(folder)?;
        // For writing alone: some file systems open no new file for both.
        let make = |name: &OsStr| names::create_to_write(folder, name).map(Handle::Os);
        let (name, made) = reserved::probe_name(folder, make)?;
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
        let _ = attributes::give_back_times(&self.meta, &self.folder);
    }
}

/// Refuses a removal from a folder that shows what is in the folder of the copies.
pub(super) fn check_apart(
    source: &Arc<File>,
    from: &Path,
    target: &Arc<File>,
    to: &Path,
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

/// Whether one of two folders shows the other.
fn shows(source: &Arc<File>, target: &Arc<File>) -> Outcome<bool> {
    let (from, to) = (file_meta(source)?, file_meta(target)?);
    if !may_show(id(&from), &to, target) || final_name::is_append_only(source) {
        return Ok(false);
    }
    let is_in_source = is_seen(target, || disk::mtime_from_disk(source), |probe| probe.is_in(source));
    let is_in_target = || ViewProbe::make(source).and_then(|probe| probe.is_in(target));
    match (is_in_source, is_in_target()) {
        (Ok(true), _) | (_, Ok(true)) => Ok(true),
        (Ok(false), Ok(false)) => Ok(false),
        (Ok(false), Err(errno)) if !may_hide(source, errno) => Ok(false),
        (Err(errno), Ok(false)) if is_full(errno) => Ok(false),
        (Err(errno), _) | (_, Err(errno)) => Err(errno),
    }
}

/// Whether a folder of the target is seen in one of the source, by what is changed in that of the target alone; an error
/// where it takes neither a time nor a name.
pub(crate) fn is_seen(
    target: &Arc<File>,
    source_mtime_ns: impl Fn() -> Outcome<i128>,
    has: impl FnOnce(&ViewProbe) -> Outcome<bool>,
) -> Outcome<bool> {
    match (shares_time(target, source_mtime_ns), ViewProbe::make(target)) {
        (Some(true), _) => Ok(true),
        (_, Ok(probe)) => has(&probe),
        (Some(false), Err(_)) => Ok(false),
        (None, Err(errno)) => Err(errno),
    }
}

/// Whether a time that a folder gets for a moment is that of another, too; `None` where it does not take it.
fn shares_time(folder: &File, other_ns: impl Fn() -> Outcome<i128>) -> Option<bool> {
    let (meta, before_ns) = (file_meta(folder).ok()?, other_ns().ok()?);
    let is_near = |one_ns: i128, two_ns: i128| (one_ns - two_ns).abs() < AWAY_NS / 4;
    let times = [1, 2].map(|far| meta.mtime_ns - far * AWAY_NS);
    let probe_ns = times.into_iter().find(|time_ns| !is_near(*time_ns, before_ns))?;
    let set = |mtime_ns| attributes::give_back_times(&Meta { mtime_ns, ..meta }, folder);
    set(probe_ns).ok()?;
    let [is_set, is_shared] = [disk::mtime_from_disk(folder), other_ns()]
        .map(|found| found.is_ok_and(|found_ns| is_near(found_ns, probe_ns)));
    let _ = set(meta.mtime_ns);
    (is_set || is_shared).then_some(is_shared)
}

/// Whether a folder in which no name could be made may be one that hides such names, and lets others go.
pub(crate) fn may_hide(folder: &File, errno: Errno) -> bool {
    !is_full(errno) && disk::takes_names(folder)
}

/// No name is refused for its form then.
fn is_full(errno: Errno) -> bool {
    use rustix::io::Errno as System;
    [System::NOSPC, System::DQUOT].iter().any(|full| full.raw_os_error() == errno.0)
}

/// Whether a folder may be a view of another. Numbers tell within one file system, but for those that make up their
/// own; what is one folder is known; and a folder that is append-only loses no name by any view.
pub(crate) fn may_show(from: FileId, to: &Meta, target: &File) -> bool {
    let numbers_tell = from.0 == to.device && kind::syncs_whole(disk::magic(target));
    from != id(to) && !numbers_tell && !final_name::is_append_only(target)
}

/// Refuses sources that are views of their targets, before anything is written. What lies deeper is looked at when
/// files of it are to go.
pub(crate) fn check_views(items: &[Item], options: &Options) -> Result<(), Problem> {
    if !options.deletion.remove_sources || options.dry_run {
        return Ok(());
    }
    let mut seen = HashSet::new();
    for item in items.iter().filter(|item| !item.is_left_out) {
        let Some(path) = item.source.local_path() else { continue };
        let Some(at) = item.target.place() else { continue };
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
        let to = if item.is_tree() { &*at.path } else { folder_of(&at.path) };
        check_apart(&Arc::new(source), from, &target, to, Class::Usage)?;
    }
    Ok(())
}
