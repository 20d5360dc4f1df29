//! Walks a tree: lists folders in batches of names, and goes into the folders below.
//!
//! Memory is bounded: a folder is read one buffer of names at a time, and those are dealt with before the next.
//!
//! Must not know: what is done with files, links and devices.

pub(crate) mod begin_tree;
pub(crate) mod mirror;

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use datapump_core::wire::peer_request::walk_ahead::BATCH_NAMES;
use datapump_engine::Errno;

use crate::folder::directory::{Directory, LinkDest, Traits};
use crate::folder::lister::{Lister, Next};
use crate::folder::root::Root;
use crate::folder::side::FolderSide;
use crate::listed::Name;
use crate::open::confidential;
use crate::origin::Origin;
use crate::problem::{Class, Operation, Problem};
use crate::report::change::{Change, ChangeKind};
use crate::run::in_order_target;
use crate::setup::options::FollowLinks;
use crate::tree::backup::names_beside::names_beside;
use crate::tree::backup::removal;
use crate::tree::batch::cursor::BatchName;
use crate::tree::batch::folder_done;
use crate::tree::batch::listing::{compares_attributes, names_of_folder};
use crate::tree::findings::compare_attributes;
use crate::tree::{Shared, Work, findings};
use datapump_core::selection::ListStep;

use datapump_files::commit::{made, shortage};
use datapump_files::disk::{self, AttributeHolder, FileKind, Meta, kind, names};
use datapump_files::identity;

/// Reads the next names of a folder and enqueues them as work, the rest of the listing behind them.
pub(crate) fn list_next(shared: &Shared<'_>, directory: &Arc<Directory>) {
    match next_names(shared, directory) {
        Ok(names) if !names.is_empty() => return enqueue_listed(shared, directory, names),
        Ok(_) if shared.settings.compares => {
            shared.plan.add_first([Work::Others(Arc::clone(directory))].into_iter());
        }
        Ok(_) => folder_done::release(shared, directory),
        Err(problem) => {
            directory.report_own(&shared.ledger, problem);
            folder_done::release(shared, directory);
        }
    }
    shared.trees.walked(&shared.ledger.watch);
}

/// The next names of a folder that were not dealt with yet; none at its end.
fn next_names(shared: &Shared<'_>, directory: &Directory) -> Result<Vec<Name>, Problem> {
    let listing = shared.trees.select.listing(|| directory.relative());
    let mut lister = Lister::new(listing, directory.cookie(), shared.settings.itemizes());
    loop {
        match lister.poll() {
            Next::List(from) => {
                let (names, next) = names_of_folder(shared, directory, from)?;
                lister.handle_listed(names, next);
            }
            Next::Names(mut names) => {
                directory.set_cookie(lister.from());
                let is_end = names.is_empty();
                if directory.source.is_here() && !shared.settings.compares {
                    let folder = identity::id(&directory.source.meta);
                    shared.trees.guard.followed.without_made(folder, &mut names);
                }
                let names = directory.take_new_names(names)?;
                if is_end || !names.is_empty() {
                    return look_at_listed(shared, directory, names);
                }
            }
        }
    }
}

/// Names that no listing told of: another host is asked for them together, with names of the list below them.
fn look_at_listed(
    shared: &Shared<'_>,
    directory: &Directory,
    mut names: Vec<Name>,
) -> Result<Vec<Name>, Problem> {
    let with_attributes = compares_attributes(shared, directory);
    let Origin::There(folder) = directory.source.origin()? else {
        return Ok(names);
    };
    let untold = || names.iter().filter(|name| name.reported.is_none());
    let is_open = |name: &&Name| folder.has_entered(&name.name);
    let below = steps_below(shared, directory, untold().filter(|name| !is_open(name)));
    let backups = names_beside(shared, directory, untold());
    let count = names.len();
    names.extend(backups);
    let mut names = folder.look_at_all(names, &below, with_attributes)?;
    directory.note_looked_at(&names.split_off(count));
    Ok(names)
}

/// A way through the names of a list below these.
fn steps_below<'names>(
    shared: &Shared<'_>,
    directory: &Directory,
    names: impl DoubleEndedIterator<Item = &'names Name>,
) -> Vec<ListStep> {
    let select = &shared.trees.select;
    if !select.is_list() {
        return Vec::new();
    }
    let beside = shared.settings.options.backup.as_ref().filter(|backup| backup.folder.is_none());
    let ending = beside.filter(|_| directory.target.is_some()).map(|backup| &*backup.suffix);
    select.steps_below(&directory.relative(), names.map(|name| &*name.name), ending)
}

/// Looks at a folder of a list, with those of the list behind it, unless that was done before its turn.
fn look_below_listed(at: BatchName<'_>) -> Result<(), Problem> {
    let Origin::There(folder) = &at.cursor.source else { return Ok(()) };
    if !at.shared.trees.select.is_list() || folder.has_entered(&at.name.name) {
        return Ok(());
    }
    let names = std::iter::once(at.name).chain(at.cursor.names.as_slice());
    let names = names.filter(|name| !folder.has_entered(&name.name));
    let below = steps_below(at.shared, at.directory(), names);
    let with_attributes = compares_attributes(at.shared, at.directory());
    folder.look_at_all(Vec::new(), &below, with_attributes).map(drop)
}

/// Enqueues listed names of a folder in batches, and the rest of its listing behind them.
fn enqueue_listed(shared: &Shared<'_>, directory: &Arc<Directory>, names: Vec<Name>) {
    // One by one the names of a folder come right behind it.
    let most = if shared.settings.itemizes() { 1 } else { BATCH_NAMES };
    let batches = directory.in_batches(names, most, true);
    shared.trees.walk(batches.len());
    let batches = batches.into_iter().map(Work::Batch);
    shared.plan.add_first(batches.chain([Work::List(Arc::clone(directory))]));
}

/// A folder of the source that is open.
pub(crate) struct OpenedSource {
    pub(crate) side: Arc<FolderSide>,
    /// It is on another file system, and nothing in it is listed.
    is_left_out: bool,
}

/// Opens a folder of the source; nothing where it is closed and on another file system.
pub(crate) fn open_source(at: BatchName<'_>) -> Result<Option<OpenedSource>, Problem> {
    let above = at.directory();
    look_below_listed(at)?;
    let side = match above.source.child_of(at.name) {
        Err(problem) if problem.class == Class::Denied && is_elsewhere(at) => {
            at.shared.ledger.leave_out_mount(&at.source_path());
            return Ok(None);
        }
        opened => opened?,
    };
    let is_left_out =
        at.shared.settings.options.selection.one_file_system && side.meta.device != above.root.source_device;
    if is_left_out {
        at.shared.ledger.leave_out_mount(&side.path());
    } else {
        check_loop(at.shared, above, &side)?;
        report_made(at.shared, &above.root, &side);
    }
    Ok(Some(OpenedSource { side, is_left_out }))
}

/// Goes into a folder: makes or opens its target and enqueues the listing of its names.
pub(crate) fn enter(at: BatchName<'_>, source: OpenedSource, existing: Option<&Meta>) -> Result<(), Problem> {
    match open_or_make_target(at, &source.side, existing)? {
        Some((target, fresh)) => {
            let traits = folder_traits(at.directory(), &source.side, target.as_deref(), fresh);
            enter_both(at, source, target, traits)
        }
        None => Ok(()),
    }
}

/// Goes into a folder that is not copied, for names of a list that lie in it: each of them is looked at.
pub(crate) fn enter_skipped(at: BatchName<'_>, source: OpenedSource) -> Result<(), Problem> {
    let traits = Traits { is_skipped: true, ..folder_traits(at.directory(), &source.side, None, true) };
    enter_both(at, source, None, traits)
}

/// A folder is missing where no room is left. What would lie in it is counted, too.
pub(crate) fn enter_missing(at: BatchName<'_>, source: OpenedSource) -> Result<(), Problem> {
    at.shared.ledger.leave_missing(0);
    at.directory().root.fail();
    let traits = folder_traits(at.directory(), &source.side, None, true);
    enter_both(at, source, None, traits)
}

/// Goes into a folder that is compared.
pub(crate) fn enter_compared(at: BatchName<'_>) -> Result<(), Problem> {
    let Some(source) = open_source(at)?.filter(|source| !source.is_left_out) else {
        return Ok(());
    };
    let target = at.directory().target.as_ref().map(|target| target.child(&at.name.name)).transpose()?;
    if let Some(target) = target.as_ref().filter(|_| at.shared.settings.options.comparison.compare_attributes)
    {
        compare_attributes::of_folders(at.shared, &source.side, target)?;
    }
    let traits = folder_traits(at.directory(), &source.side, target.as_deref(), false);
    enter_both(at, source, target, traits)
}

/// Enqueues the listing of a folder that is open on both sides. One that is on another file system is done at once.
fn enter_both(
    at: BatchName<'_>,
    source: OpenedSource,
    target: Option<Arc<FolderSide>>,
    traits: Traits,
) -> Result<(), Problem> {
    let below = new_directory(at.shared, at.directory(), &at.name.name, source.side, target, traits)?;
    below.note_walk(&below.source.meta, below.source.is_young());
    if source.is_left_out {
        // The folder itself is there, as rsync and cp have it: what is mounted on it is not.
        folder_done::release(at.shared, &below);
        return Ok(());
    }
    at.shared.trees.walk(1);
    at.shared.plan.add_first([Work::List(below)].into_iter());
    Ok(())
}

/// Whether a folder that this user may not enter is of another file system and left out for that.
fn is_elsewhere(at: BatchName<'_>) -> bool {
    let found = || at.cursor.source.look_again(at.name, || at.source_path()).ok();
    at.shared.settings.options.selection.one_file_system
        && found().is_some_and(|found| found.device != at.directory().root.source_device)
}

/// A folder on its way, which its parent waits for.
fn new_directory(
    shared: &Shared<'_>,
    above: &Arc<Directory>,
    name: &OsStr,
    source: Arc<FolderSide>,
    target: Option<Arc<FolderSide>>,
    mut traits: Traits,
) -> Result<Arc<Directory>, Problem> {
    note_device(shared, above, target.as_deref())?;
    let link_dest = link_dest_below(shared, above, name);
    if let Some(target) = target.as_deref().filter(|_| !traits.fresh) {
        above.root.backups.check_project(target)?;
        traits.unverified =
            shared.trees.memory.unverified_in_target(&shared.ledger, traits.unverified, target);
    }
    above.root.visited.make_room(&source)?;
    let below = Directory::new(Some(above), &above.root, source, target, traits, link_dest);
    above.hold();
    Ok(below)
}

/// Opens a folder that was walked once more, on both sides.
pub(crate) fn open_again(
    shared: &Shared<'_>,
    above: &Arc<Directory>,
    name: &OsStr,
) -> Result<Arc<Directory>, Problem> {
    let source = above.source.child(name)?;
    let target = above.target.as_ref().map(|target| target.child(name)).transpose()?;
    let traits = folder_traits(above, &source, target.as_deref(), false);
    new_directory(shared, above, name, source, target, traits)
}

/// The folders of that name in those where unchanged files are looked for.
fn link_dest_below(shared: &Shared<'_>, above: &Directory, name: &OsStr) -> Vec<LinkDest> {
    let below = |dest: &LinkDest| {
        let folder = dest.folder.child(name).ok()?;
        let unverified = shared.trees.memory.below(&shared.ledger, dest.unverified, &folder);
        Some(LinkDest { folder, unverified })
    };
    above.link_dest.iter().filter_map(below).collect()
}

/// Refuses a folder in which a walk would go on for ever: one that it lies in, by a bind mount or a followed link, the
/// target, or the folder of backups.
fn check_loop(shared: &Shared<'_>, above: &Directory, source: &FolderSide) -> Result<(), Problem> {
    let own = identity::id(&source.meta);
    let is_same = |side: &FolderSide| identity::id(&side.meta) == own;
    let follows = shared.settings.options.links.follow != FollowLinks::Never;
    let target = above.target.as_deref().filter(|_| follows);
    let is_written = || target.is_some_and(|target| target.ancestors().any(is_same));
    // A folder is on its way for as long as one below it is.
    let is_above = || above.root.alive.has(own) && above.source.ancestors().any(is_same);
    let words = if above.root.target_id == Some(own) || is_written() {
        "is the folder that is copied into; it is left out"
    } else if is_above() {
        "is a folder that it lies in (a loop of mounts, or of links that are followed); it is left out"
    } else if source.is_here() && shared.settings.writes && above.root.backups.is(&shared.settings, own) {
        "is the folder of backups; it is left out (--exclude it)"
    } else {
        return Ok(());
    };
    Err(Problem::new(Class::Io, Operation::Enter, &source.path(), words))
}

/// Reports targets that this run makes in a folder of the source, to which a followed link may lead.
fn report_made(shared: &Shared<'_>, root: &Root, source: &FolderSide) {
    if shared.settings.compares || !source.is_here() {
        return;
    }
    let (select, above) = (&shared.trees.select, &root.patterns_above);
    let is_selected =
        |name: &OsStr, is_folder| select.deals_with((above, &source.relative()), (name, is_folder));
    let own = identity::id(&source.meta);
    let problems = shared.trees.guard.followed.check_made(own, is_selected, |name| source.path_of(name));
    problems.into_iter().for_each(|problem| root.report(&shared.ledger, problem));
}

/// A folder at the target (none in a dry run that would make it), and whether it was made now.
type Entered = (Option<Arc<FolderSide>>, bool);

/// The target folder; nothing where there is no room to make it.
fn open_or_make_target(
    at: BatchName<'_>,
    source: &FolderSide,
    existing: Option<&Meta>,
) -> Result<Option<Entered>, Problem> {
    let path = at.target_path();
    let folder = existing.filter(|existing| existing.kind == FileKind::Folder);
    folder.map_or(Ok(()), |folder| at.shared.trees.guard.enter(folder, || path.clone()))?;
    let fresh = folder.is_none();
    if let Some(existing) = existing.filter(|_| fresh) {
        at.check_replaced(&source.meta, existing)?;
    }
    let change = report_or_give_change(at, &source.meta, folder);
    let Some(target) =
        at.directory().target.as_ref().filter(|_| !(fresh && at.shared.settings.options.dry_run))
    else {
        return Ok(Some((None, true)));
    };
    let start = SystemTime::now();
    if fresh && existing.is_some() {
        removal::remove_file(at)?;
    }
    let fresh = match if fresh { make_target_folder(at, &path) } else { Ok(false) } {
        Ok(fresh) => fresh,
        Err(problem) => return no_room_for(at, problem),
    };
    let made = || match target.made_child(&at.name.name) {
        Err(problem) if problem.class == Class::Denied => {
            own_alone(at.target()?, &at.name.name, &path)?;
            target.made_child(&at.name.name)
        }
        side => side,
    };
    let side = if fresh { made() } else { target.child(&at.name.name) }?;
    at.directory().root.backups.check_apart(&at.shared.settings, &side)?;
    if fresh {
        check_made(at.shared, at.target()?, &side, start, &path)?;
    }
    // Nobody else can give another name to what lies in a folder of this user.
    if made::is_open_to_others(&target.meta) && !at.shared.settings.options.dry_run {
        at.shared.trees.enter_folder(&side.meta, &path, source)?;
    }
    if !fresh && !at.shared.settings.options.dry_run {
        confidential::close_folder(
            &*side.file()?,
            &side.meta,
            &source.meta,
            at.shared.settings.options.attributes.keep,
        );
    }
    if fresh && !at.directory().claim(&side.meta, &at.name.name) {
        return Err(datapump_files::commit::taken(&path));
    }
    at.shared.ledger.tally().done.folders_made += u64::from(fresh);
    at.shared.ledger.tell(change);
    Ok(Some((Some(side), fresh)))
}

/// A folder that was not made. Where that is for want of room, what would lie in it is counted as missing, too.
fn no_room_for(at: BatchName<'_>, problem: Problem) -> Result<Option<Entered>, Problem> {
    if problem.class != Class::NoSpace {
        return Err(problem);
    }
    at.directory().root.report(&at.shared.ledger, problem);
    Ok(at.shared.ledger.full.is_full().then_some((None, true)))
}

/// Reports the change of a folder that gets other attributes; gives back that of one that is made, to report then. A new name
/// in it changes its time: it is looked at before.
fn report_or_give_change(at: BatchName<'_>, meta: &Meta, existing: Option<&Meta>) -> Option<Box<Change>> {
    let kind = if existing.is_some() { ChangeKind::Adjust } else { ChangeKind::Copy };
    let change = findings::change(at.shared, at.directory(), kind, at.name, meta, existing);
    let change = change.filter(|change| change.says_something());
    if existing.is_none() && !at.shared.settings.options.dry_run {
        return change;
    }
    at.shared.ledger.tell(change);
    None
}

/// A folder just made may be closed to who made it, by the umask or an access control list that it was handed down.
pub(crate) fn own_alone(folder: &File, name: &OsStr, path: &Path) -> Result<(), Problem> {
    let held = made::hold_folder(folder, name, path)?;
    let opened = AttributeHolder::Held(&held).set_mode(0o700);
    opened.map_err(|errno| Problem::system(Operation::OpenUp, path, errno.0))
}

/// Makes the folder of a name at the target. False where another tree of the same copy, which goes into this one, has
/// made it meanwhile.
fn make_target_folder(at: BatchName<'_>, path: &Path) -> Result<bool, Problem> {
    let target = at.target()?;
    match at.directory().in_opened(|| names::make_folder(target, &at.name.name)) {
        Ok(()) => Ok(true),
        Err(Errno::EEXIST) if is_of_another(at.shared, target, &at.name.name) => Ok(false),
        Err(Errno::EEXIST) => Err(datapump_files::commit::taken(path)),
        Err(errno) => Err(shortage::of_name(Operation::Make, path, errno, target)),
    }
}

/// Whether a folder that appeared may be of another tree of this copy, one of which goes into the other.
pub(crate) fn is_of_another(shared: &Shared<'_>, folder: &File, name: &OsStr) -> bool {
    let stands = || names::metadata(folder, name).is_ok_and(|meta| meta.kind == FileKind::Folder);
    shared.trees.targets_overlap && stands()
}

/// Errors: the folder that was opened is not the one that was made. Another tree of the same copy may have put names
/// into it meanwhile.
fn check_made(
    shared: &Shared<'_>,
    above: &File,
    made: &FolderSide,
    start: SystemTime,
    path: &Path,
) -> Result<(), Problem> {
    match made::check_folder(above, &*made.file()?, &made.meta, start, path) {
        Err(_) if shared.trees.targets_overlap && made::is_own(above, &made.meta) => Ok(()),
        checked => checked,
    }
}

/// A folder on another file system than the one above is kept open, to sync that one at the end. Errors: files cannot be
/// written to it as elsewhere in this job.
fn note_device(shared: &Shared<'_>, above: &Directory, target: Option<&FolderSide>) -> Result<(), Problem> {
    if let (Some(target), Some(parent)) = (target, &above.target)
        && target.meta.device != parent.meta.device
    {
        let (folder, device) = (target.file()?, target.meta.device);
        let is_known = || shared.trees.devices.lock().contains_key(&device);
        if shared.settings.writes && shared.settings.in_order_on(|| Some(device)).is_none() && !is_known() {
            in_order_target::refuse_below(&folder, &target.path())?;
        }
        let opened = Arc::clone(&folder);
        shared.trees.devices.lock().entry(device).or_insert_with(|| (target.path(), opened));
        // In this order: a list that is begun meanwhile looks at what is there.
        let journal = above.root.journal();
        journal.inspect(|journal| journal.witness(device, &folder, &target.path()));
    }
    Ok(())
}

/// The traits of a folder below this one; what its file system says is asked only where that changes.
fn folder_traits(above: &Directory, source: &FolderSide, target: Option<&FolderSide>, fresh: bool) -> Traits {
    let same_device = target.is_some_and(|target| target.meta.device == source.meta.device);
    let same_file_system = same_device && source.is_here();
    Traits {
        fresh,
        is_skipped: false,
        keeps_own: false,
        same_file_system,
        source_magic: if source.meta.device == above.source.meta.device {
            above.traits.source_magic
        } else {
            source.origin().map_or(0, |folder| folder.magic())
        },
        made_up: if source.meta.device == above.source.meta.device {
            above.traits.made_up
        } else {
            source.origin().is_ok_and(|folder| folder.is_made_up())
        },
        syncs_whole: match (target, &above.target) {
            (Some(target), Some(existing)) if target.meta.device != existing.meta.device => {
                target.file().is_ok_and(|folder| kind::syncs_whole(disk::magic(&folder)))
            }
            _ => above.traits.syncs_whole,
        },
        handed_down: match (fresh, target) {
            (true, _) | (_, None) => above.traits.handed_down,
            (false, Some(target)) => target.file().ok().and_then(|folder| disk::handed_down(&folder)),
        },
        target_flags: target.filter(|_| !fresh).map(FolderSide::flags).unwrap_or_default(),
        unverified: above.traits.unverified,
    }
}
