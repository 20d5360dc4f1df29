//! Makes names hard links: the further names of a file that has several.
//!
//! Must not know: how files are copied, which names wait for which (`links`).

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use datapump_engine::Errno;

use crate::folder::directory::Batch;
use crate::list::checkpoint::Written;

use crate::list::journal;
use crate::listed::Name;
use crate::open::held::Held;
use crate::problem::{Class, Operation, Problem, shown_path, system_words};
use crate::report::change::{Change, ChangeKind};
use crate::run::cause::cause_words;
use crate::tree::backup::{self, TakenName};
use crate::tree::batch::folder_done;
use crate::tree::links::equal;
use crate::tree::state::links::{Copied, FileState, Meeting, MetName, TreeEntry, WaitingName};
use crate::tree::{Shared, Work, findings};
use datapump_files::commit::{final_name, reserved, taken};
use datapump_files::disk::{self, FileKind, Meta, Outcome, file_meta, names};
use datapump_files::identity::{FileId, id};

/// How a name goes on.
pub(crate) enum Met {
    /// It is to be copied; with the key under which its other names wait. Then call [`stands`] or [`failed`].
    First(Option<FileState>),
    /// It was linked, or waits to be.
    Settled,
    /// It can be linked when the folder in its place is gone.
    LinkLater,
    /// There is no memory for it now: put it back, and meet it again.
    Deferred,
}

/// Finds out what is to be done with a name that may be one of several of its file, and links it if the first one is written.
/// `is_in_the_way`: a folder is in its place. Written in place, each name is a file of its own.
pub(crate) fn meet_name(
    shared: &Shared<'_>,
    entry: &TreeEntry,
    meta: &Meta,
    held: Option<&Held>,
    is_in_the_way: bool,
) -> Result<Met, Problem> {
    let options = shared.settings.options;
    if meta.links < 2 || !options.attributes.keep.links || options.durability.inplace {
        return Ok(Met::First(None));
    }
    let meta = &with_identity(shared, entry, meta, held)?;
    let file = FileState::new(meta, meta.generation);
    let mut compared = Vec::new();
    loop {
        let compared_here = entry.directory.source.is_here().then_some(&compared[..]);
        let name = MetName { entry, meta, compared: compared_here, is_in_the_way };
        match shared.trees.links.meet(file, &name, || shared.plan.defer())? {
            Meeting::First { file, has_changed } => {
                if has_changed {
                    tell_changed(shared, entry);
                }
                return Ok(Met::First(Some(file)));
            }
            Meeting::Compare(file, first) => {
                compared.push((file, equal::equals_copy(shared, entry, held, &first)));
            }
            Meeting::Alone => return Ok(Met::First(None)),
            Meeting::Waits => return Ok(Met::Settled),
            Meeting::Deferred => return Ok(Met::Deferred),
            Meeting::LinkLater(file, first) => {
                if can_link_to_copy(shared, &first, entry)? {
                    return Ok(Met::LinkLater);
                }
                shared.trees.links.forget(file, &first.entry);
            }
            Meeting::Link(file, there) => {
                return link(shared, &there, entry, file, meta).map(|()| Met::Settled);
            }
        }
    }
}

/// The metadata with what tells the file from all that have or had its inode number. Another host reported it with the
/// file. A dry run has no copy to compare with: it believes the numbers.
fn with_identity(
    shared: &Shared<'_>,
    entry: &TreeEntry,
    meta: &Meta,
    held: Option<&Held>,
) -> Result<Meta, Problem> {
    let reported = match held {
        _ if !entry.directory.source.is_here() => *meta,
        Some(Held::Here(handle)) => disk::open_with_identity(*meta, handle),
        _ => entry.directory.source.origin_folder()?.with_identity(*meta, &entry.name),
    };
    Ok(if shared.settings.options.dry_run { Meta { handle: 1, ..reported } } else { reported })
}

fn tell_changed(shared: &Shared<'_>, entry: &TreeEntry) {
    let path = entry.directory.source.path_of(&entry.name);
    shared.ledger.warn(format!(
        "'{}': its inode was changed or used again while its other names were copied; it is no hard link in the copy",
        shown_path(&path)
    ));
}

/// Notes that the first name of a file is written, and links the names that waited for it.
pub(crate) fn link_waiting(
    shared: &Shared<'_>,
    first: &TreeEntry,
    links: Option<FileState>,
    copy: Option<FileId>,
) {
    let Some(file) = links else { return };
    let copied = Copied { entry: first.clone(), copy };
    let waiting = shared.trees.links.note_committed(file, copied.clone());
    let (file, copied) = join_equal_copy(shared, first, file, copied);
    let count = waiting.len();
    for WaitingName { entry, meta, comes_again, .. } in waiting {
        if comes_again {
            shared.plan.add_first([once_more(entry)].into_iter());
            continue;
        }
        if let Err(problem) = link(shared, &copied, &entry, file, &meta) {
            entry.directory.root.report(&shared.ledger, problem);
        }
        folder_done::release(shared, &entry.directory);
    }
    give_back(shared, count);
}

/// Makes the first name a name of an equal copy of another file of the same numbers, if there is one that could not be compared
/// before. Gives the file that counts then.
fn join_equal_copy(
    shared: &Shared<'_>,
    first: &TreeEntry,
    file: FileState,
    copied: Copied,
) -> (FileState, Copied) {
    let Some((other, same)) = equal::find_equal_copy(shared, file, &copied) else { return (file, copied) };
    match link_to_same(shared, first, &same) {
        Ok(()) => {
            shared.trees.links.join(file, first, other);
            (other, same)
        }
        // Where there are no more links both stay.
        Err(problem) => {
            if !problem.cause.is_some_and(|errno| names::is_unlinkable(Errno(errno))) {
                first.directory.root.report(&shared.ledger, problem);
            }
            (file, copied)
        }
    }
}

/// Replaces a name by a link to an equal copy of a file of the same numbers.
fn link_to_same(shared: &Shared<'_>, entry: &TreeEntry, same: &Copied) -> Result<(), Problem> {
    let (Some(from), Some(to)) = (&same.entry.directory.target, &entry.directory.target) else {
        return Ok(());
    };
    let held = open_copied(same, &*from.file()?)?;
    let to = to.file()?;
    replace_by_link(&held, &to, &entry.name).map_err(|errno| link_problem(entry, errno))?;
    entry.directory.claim_link(&to, &entry.name);
    if let Some(journal) = entry.directory.root.journal()
        && let Ok(linked) = names::metadata(&to, &entry.name)
    {
        journal.know(&linked);
    }
    shared.ledger.tally().done.hard_links += 1;
    Ok(())
}

/// The first name came to nothing: those that waited are dealt with as if they were met now.
pub(crate) fn failed(shared: &Shared<'_>, links: Option<FileState>) {
    let Some(file) = links else { return };
    let waiting = shared.trees.links.failed(file);
    let count = waiting.len();
    let batches: Vec<Work> = waiting.into_iter().map(|waiting| once_more(waiting.entry)).collect();
    shared.plan.add_first(batches.into_iter());
    give_back(shared, count);
}

/// A first name has ended, and so many names that waited for it gave their memory back: those without room go on.
fn give_back(shared: &Shared<'_>, names: usize) {
    shared.trees.links.give_back(names);
    shared.plan.go_on();
}

/// A batch of one name. It holds its folder already.
fn once_more(entry: TreeEntry) -> Work {
    let name = Name::here(entry.name, None);
    Work::Batch(Batch::new(&entry.directory, vec![name], false))
}

/// The change to report for a further name: what stood there before, and which name it is linked to.
fn link_change(
    shared: &Shared<'_>,
    entry: &TreeEntry,
    meta: &Meta,
    existing: Option<&Meta>,
    first: &TreeEntry,
) -> Option<Box<Change>> {
    let name = Name::here(entry.name.clone(), None);
    let change = findings::change(shared, &entry.directory, ChangeKind::Link, &name, meta, existing);
    let first = findings::reported_path(shared, &first.directory, &first.name);
    change.map(|change| Box::new(Change { leads_to: Some(first), ..*change }))
}

/// What stands under a name, if it is told of.
fn stands_at(shared: &Shared<'_>, entry: &TreeEntry) -> Option<Meta> {
    let target = entry.directory.target.as_ref().filter(|_| shared.settings.tells_changes())?;
    names::metadata(&*target.file().ok()?, &entry.name).ok()
}

/// Gives a file that exists at the target another name, or copies it for itself.
fn link(
    shared: &Shared<'_>,
    copied: &Copied,
    entry: &TreeEntry,
    file: FileState,
    meta: &Meta,
) -> Result<(), Problem> {
    let (there, existing) = (&copied.entry, stands_at(shared, entry));
    let is_linked = existing.as_ref().is_some_and(|existing| copied.copy == Some(id(existing)));
    let change = if is_linked { None } else { link_change(shared, entry, meta, existing.as_ref(), there) };
    match try_link(shared, copied, entry, meta, change)? {
        Ok(()) => shared.skip_named(&entry.directory.root, meta),
        // The copy has as many names as it can: the next name is copied anew and takes the rest.
        Err(Errno::EMLINK) => copy_instead(shared, there, entry, file),
        // Between mounts or projects (quotas) of one file system; others can be linked.
        Err(Errno::EXDEV) => {
            shared.ledger.warn_once(format!("hard links: {}; copied instead", system_words(Errno::EXDEV.0)));
            copy_instead(shared, there, entry, file);
        }
        Err(errno) if names::is_unlinkable(errno) => {
            shared.trees.links.give_up();
            let why = cause_words(Operation::Link, errno).unwrap_or_else(|| system_words(errno.0));
            shared.ledger.warn_once(format!("hard links: {why}; copied instead"));
            copy_instead(shared, there, entry, file);
        }
        Err(errno) => return Err(link_problem(entry, errno)),
    }
    Ok(())
}

/// Links a further name. The inner error is what the system says; the outer one is final.
fn try_link(
    shared: &Shared<'_>,
    copied: &Copied,
    entry: &TreeEntry,
    meta: &Meta,
    change: Option<Box<Change>>,
) -> Result<Outcome<()>, Problem> {
    let there = &copied.entry;
    if shared.settings.options.dry_run {
        // What would be copied anew has no other name yet.
        if copied.copy.is_none() || copied.copy != id_at_target(entry)? {
            shared.ledger.tell(change);
        }
        return Ok(Ok(()));
    }
    let (Some(from), Some(to)) = (&there.directory.target, &entry.directory.target) else {
        return Ok(Ok(()));
    };
    if shared.settings.in_order.is_some() {
        // Objects have one name each, and another number once they are uploaded.
        return Ok(Err(Errno::EOPNOTSUPP));
    }
    let (from, to) = (from.file()?, to.file()?);
    let held = open_copied(copied, &from)?;
    match link_into(shared, entry, &held, &to) {
        Ok(false) => {}
        Ok(true) => {
            update_list(shared, there, meta, &from);
            shared.ledger.tally().done.hard_links += 1;
            shared.ledger.tell(change);
        }
        Err(errno) => return Ok(Err(errno)),
    }
    Ok(Ok(()))
}

fn can_link_to_copy(shared: &Shared<'_>, first: &Copied, entry: &TreeEntry) -> Result<bool, Problem> {
    let Some(from) = &first.entry.directory.target else { return Ok(true) };
    can_link(shared, entry, &open_copied(first, &*from.file()?)?)
}

/// Whether a name can be a link of this file, which is tried beside it: no folder in its place is emptied for what cannot
/// be made.
pub(super) fn can_link(shared: &Shared<'_>, entry: &TreeEntry, held: &File) -> Result<bool, Problem> {
    let TreeEntry { directory, .. } = entry;
    let Some(to) = &directory.target else { return Ok(true) };
    // What a kill leaves under that name is swept by a run that finds a list.
    directory.root.list.begin(&shared.ledger, shared.settings.options, &shared.trees.devices);
    let to = to.file()?;
    let link = || reserved::under_new_name(|temporary| names::link_in(held, &to, temporary));
    Ok(directory.in_opened(link).is_ok_and(|(temporary, ())| names::remove(&to, &temporary, false).is_ok()))
}

/// Opens the file that this run wrote under the first name. Another that was put there meanwhile is refused: it must not get a
/// name in this folder.
fn open_copied(copied: &Copied, folder: &File) -> Result<File, Problem> {
    let path = || copied.entry.directory.target_path().join(&copied.entry.name);
    let system = |errno: Errno| Problem::system(Operation::OpenToLink, &path(), errno.0);
    let held = names::hold(folder, &copied.entry.name).map_err(system)?;
    let found = id(&file_meta(&held).map_err(system)?);
    if copied.copy.is_none_or(|copy| copy == found) {
        Ok(held.into_file())
    } else {
        let words = "another program replaced it meanwhile; no other name was linked to it";
        Err(Problem::new(Class::Refused, Operation::Link, &path(), words))
    }
}

/// The file that stands under a name at the target.
fn id_at_target(entry: &TreeEntry) -> Result<Option<FileId>, Problem> {
    let Some(target) = &entry.directory.target else { return Ok(None) };
    let found = names::metadata(&*target.file()?, &entry.name);
    Ok(found.ok().map(|meta| id(&meta)))
}

/// Adds a file to the list once more: a further name changed its time of attributes, by which the list knows it.
fn update_list(shared: &Shared<'_>, there: &TreeEntry, meta: &Meta, folder: &File) {
    if let Some(journal) = there.directory.root.journal()
        && let Ok(target) = names::metadata(folder, &there.name)
        && target.kind == FileKind::Regular
    {
        journal.know(&target);
        // Its content may still be in the cache alone.
        let mark = journal::file_mark(&there.directory.path_sum, &there.name, meta, &target);
        let problem = journal.add(mark, &target, Written::Cached, false);
        problem.into_iter().for_each(|problem| there.directory.root.report(&shared.ledger, problem));
    }
}

/// The problem of a name that could not be linked.
pub(super) fn link_problem(entry: &TreeEntry, errno: Errno) -> Problem {
    let path = entry.directory.target_path().join(&entry.name);
    match errno {
        Errno::EEXIST => taken(&path),
        Errno::EPERM if entry.directory.traits.append_only() => final_name::append_only(&path),
        errno => {
            let problem = Problem::system(Operation::Link, &path, errno.0);
            let folder = entry.directory.target.as_ref().and_then(|target| target.file().ok());
            match folder {
                Some(folder) => final_name::of_kept(problem, &folder, &entry.name),
                None => problem,
            }
        }
    }
}

fn copy_instead(shared: &Shared<'_>, there: &TreeEntry, entry: &TreeEntry, file: FileState) {
    shared.trees.links.forget(file, there);
    entry.directory.hold();
    shared.plan.add_first([once_more(entry.clone())].into_iter());
}

/// Links, in a folder of this user that only its mode closes, too.
pub(super) fn link_into(shared: &Shared<'_>, entry: &TreeEntry, held: &File, to: &File) -> Outcome<bool> {
    entry.directory.in_opened(|| link_or_replace(shared, held, to, entry))
}

/// Links, in place of an existing entry if there is one, behind its backup; false if it is the same file already.
fn link_or_replace(shared: &Shared<'_>, held: &File, to: &File, entry: &TreeEntry) -> Outcome<bool> {
    let TreeEntry { directory, name } = entry;
    let claimed = || directory.claim_link(to, name);
    let taken = |old| TakenName::from_link(shared, to, name, held, old);
    // A run with nothing to do writes nothing, nor notes of what it might put.
    let is_free = directory.traits.fresh || names::metadata(to, name).is_err();
    if is_free {
        match backup::make_entry(shared, directory, taken(None), || names::link_in(held, to, name)) {
            Err(Errno::EEXIST) if !directory.traits.fresh => {}
            linked => return linked.map(|()| true).inspect(|_| claimed()),
        }
    }
    let (old, new) = (file_meta(held)?, names::metadata(to, name)?);
    // What stands there may belong to another name of the source.
    if !directory.claim(&new, name) {
        return Err(Errno::EEXIST);
    }
    if (old.device, old.inode) == (new.device, new.inode) {
        return Ok(false);
    }
    // What a kill leaves under that name is swept by a run that finds a list.
    directory.root.list.begin(&shared.ledger, shared.settings.options, &shared.trees.devices);
    let link = || {
        replace_by_link(held, to, name)
            .map_err(|errno| Problem::system(Operation::Link, Path::new(name), errno.0))
    };
    // The copied file has the time of its source, if times are kept here at all.
    let linked = backup::replace_entry(shared, directory, taken(Some(&old)), link);
    linked.map(|()| true).map_err(|problem| problem.cause.map_or(Errno::EIO, Errno)).inspect(|_| claimed())
}

/// Puts a link in the place of an existing entry.
fn replace_by_link(held: &File, to: &File, name: &OsStr) -> Outcome<()> {
    if final_name::is_append_only(to) {
        return Err(Errno::EPERM); // the temporary name would stay
    }
    let (temporary, ()) = reserved::under_new_name(|temporary| names::link_in(held, to, temporary))?;
    // Best effort on the way out.
    names::rename(to, &temporary, to, name).inspect_err(|_| {
        let _ = names::remove(to, &temporary, false);
    })
}
