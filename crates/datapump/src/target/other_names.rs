//! Hard links between files that the user named: the first is copied, or stays, and the others become names of what
//! stands there then. What stays whatever it is has no part in that.
//!
//! Must not know: how files are opened and copied, names in trees.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use datapump_engine::Errno;

use crate::file::task::{Finish, Task};
use crate::place::Place;
use crate::problem::{Class, Operation, Problem};
use crate::report::change::{Change, ChangeKind};
use crate::setup::options::{FollowLinks, Options, Sync};
use crate::target::{Item, Target, is_name};
use crate::tree::links::FileState;
use crate::tree::links::linking;
use crate::tree::rules::decide::Action;
use crate::tree::rules::findings;
use crate::tree::{Shared, Work};
use datapump_files::commit::taken;
use datapump_files::disk::names::HeldName;
use datapump_files::disk::{FileCalls, FileKind, Folder, Meta, PathAt, names};
use datapump_files::identity::{id, prefix};

/// Files of one number with other contents that a further name is compared with.
const FIRSTS_MAX: usize = 8;

/// The same items, in which a file that was named several times is one that has the others with it.
pub(crate) fn gathered(items: Vec<Item>, options: &Options) -> Vec<Item> {
    let acceptor = options.attributes.keep.links && !options.durability.inplace;
    let mut firsts: BTreeMap<FileState, Vec<usize>> = BTreeMap::new();
    let mut all: Vec<Item> = Vec::with_capacity(items.len());
    for item in items {
        let known =
            state(&item).filter(|_| acceptor && !is_name(&item, options) && !is_apart(&item, options));
        let mut of_state = known.map(|state| firsts.entry(state).or_default());
        let first =
            of_state.iter().flat_map(|firsts| firsts.iter()).find(|first| are_one(&all[**first], &item));
        if let Some(&first) = first {
            all[first].other_names.push(item);
            continue;
        }
        if let Some(firsts) = of_state.as_mut().filter(|firsts| firsts.len() < FIRSTS_MAX) {
            firsts.push(all.len());
        }
        all.push(item);
    }
    all
}

/// With -L a link that is named is a file of its own, as it is in a folder.
fn is_apart(item: &Item, options: &Options) -> bool {
    options.links.follow == FollowLinks::Always && item.source.local_path().is_some_and(Path::is_symlink)
}

/// A file with one name is two sources by a symbolic link alone; else the numbers of its file system tell nothing. With
/// several names it is one file if its handle says so, else if the content does. What is on another host is copied twice
/// where no handle is told.
fn are_one(first: &Item, other: &Item) -> bool {
    let (Some(meta), Some(other_meta)) = (&first.meta, &other.meta) else { return false };
    let (Place::Path(path), Place::Path(other_path)) = (&first.source, &other.source) else {
        return meta.links > 1 && meta.handle != 0 && meta.handle == other_meta.handle;
    };
    let led_to = |path: &Path| path.canonicalize().ok();
    led_to(path).is_some_and(|path_of| Some(path_of) == led_to(other_path))
        || (meta.links > 1 && prefix::are_one(path, other_path))
}

/// What a file was when it was looked at.
fn state(item: &Item) -> Option<FileState> {
    let meta = item.meta.as_ref().filter(|meta| meta.kind == FileKind::Regular)?;
    let is_copied = matches!(item.target, Target::File(_)) && !item.is_left_out;
    is_copied.then(|| FileState::new(meta, 0))
}

/// The items of a file to deal with, each for itself: what stays whatever it is, and the first name with the others.
pub(crate) fn parted(shared: &Shared<'_>, item: &Item) -> Vec<Item> {
    let others = item.other_names.iter().cloned();
    let all = std::iter::once(Item { other_names: Vec::new(), ..item.clone() }).chain(others);
    let (kept, rest): (Vec<Item>, Vec<Item>) = all.partition(|item| is_kept(shared, item));
    kept.into_iter().chain(with_others(rest)).collect()
}

/// The first of these, with the rest.
fn with_others(mut items: Vec<Item>) -> Option<Item> {
    let rest = items.split_off(items.len().min(1));
    items.pop().map(|first| Item { other_names: rest, ..first })
}

/// Whether what stands at its target is not to be touched.
fn is_kept(shared: &Shared<'_>, item: &Item) -> bool {
    let there = item.target.at().and_then(|at| at.metadata().ok());
    let action = item.meta.zip(there).map(|(meta, there)| shared.trees.rules.decide(&meta, Some(&there)));
    matches!(action, Some(Action::Keep(_)))
}

/// The first was copied, or given up.
pub(crate) fn ended(shared: &Shared<'_>, task: &Task, first: &Item, is_complete: bool) {
    let is_it = |task: &Task| task.original.as_ref().map(|now| FileState::new(&now.meta, 0)) == state(first);
    match &task.finish {
        Finish::Commit(staged) if is_complete && is_it(task) => match staged.handle.meta() {
            Ok(there) => link_others(shared, first, Some(&there)),
            Err(_) => apart(shared, first),
        },
        _ => apart(shared, first),
    }
}

/// The others are copied for themselves.
pub(crate) fn apart(shared: &Shared<'_>, first: &Item) {
    let others = with_others(first.other_names.clone());
    shared.plan.add_first(others.map(Box::new).map(Work::Item).into_iter());
}

/// Makes the others names of the file that stands under the first; `None` where it only would be copied.
pub(crate) fn link_others(shared: &Shared<'_>, first: &Item, there: Option<&Meta>) {
    for (index, other) in first.other_names.iter().enumerate() {
        match link(shared, (first, there), other) {
            Ok(true) => {
                shared.ledger.tally().files_left += 1;
                shared.ledger.watch.skipped(other.bytes().unwrap_or(0));
            }
            // The file system has no links, or the file as many names as it can: the next one is copied.
            Ok(false) => {
                let rest = first.other_names[index..].to_vec();
                apart(shared, &Item { other_names: rest, ..first.clone() });
                break;
            }
            Err(problem) => shared.ledger.report(problem),
        }
    }
    sync(shared, first).unwrap_or_else(|problem| shared.ledger.report(problem));
}

fn sync(shared: &Shared<'_>, first: &Item) -> Result<(), Problem> {
    let writes = shared.settings.writes
        && shared.settings.options.durability.sync != Sync::None
        && !first.other_names.is_empty();
    let Some(at) = first.target.at().filter(|_| writes) else { return Ok(()) };
    let sync = || at.folder_to_sync().and_then(|folder| folder.sync());
    let synced = shared.aside(|waits| &mut waits.sync, sync);
    synced.map_err(|errno| Problem::system(Operation::SyncFolderOf, &at.path, errno.0))
}

/// False if it cannot be had.
fn link(shared: &Shared<'_>, (first, there): (&Item, Option<&Meta>), other: &Item) -> Result<bool, Problem> {
    let (Some(from), Some(to)) = (first.target.at(), other.target.at()) else { return Ok(true) };
    let stands = match to.metadata() {
        Ok(stands) => Some(stands),
        Err(Errno::ENOENT) => None,
        Err(errno) => return Err(Problem::system(Operation::LookAt, &to.path, errno.0)),
    };
    let is_it = stands.zip(there.copied()).is_some_and(|(stands, there)| id(&stands) == id(&there));
    if is_it {
        return Ok(true);
    }
    let change = change(shared, (first, other), stands.as_ref());
    let is_linked = match there.filter(|_| shared.settings.writes) {
        Some(there) => linking::link_file(shared, &held(from, there)?, ends(to)?, &to.path)?,
        None => true,
    };
    shared.ledger.tally().hard_links += u64::from(is_linked && shared.settings.writes);
    shared.ledger.tell(change.filter(|_| is_linked));
    Ok(is_linked)
}

fn change(shared: &Shared<'_>, (first, other): (&Item, &Item), stands: Option<&Meta>) -> Option<Box<Change>> {
    let name = first.source.path().and_then(|path| path.file_name())?;
    let change = findings::change_of_item(shared, other, ChangeKind::Link, stands)?;
    Some(Box::new(Change { leads_to: Some(name.into()), ..*change }))
}

/// The file that stands under the first name, and no other that was put there.
fn held(from: &PathAt, there: &Meta) -> Result<File, Problem> {
    let (folder, name) = ends(from)?;
    let held = names::hold_the(folder, name, there).and_then(|held| held.ok_or(Errno::ENOENT));
    held.map(HeldName::into_file).map_err(|errno| match errno {
        Errno::ENOENT => taken(&from.path),
        errno => Problem::system(Operation::OpenToLink, &from.path, errno.0),
    })
}

fn ends(at: &PathAt) -> Result<(&File, &OsStr), Problem> {
    match (at.folder(), at.name()) {
        (Ok(Folder::Os(folder)), Some(name)) => Ok((folder, name)),
        _ => Err(Problem::new(Class::Io, Operation::Link, &at.path, "its folder cannot be opened")),
    }
}
