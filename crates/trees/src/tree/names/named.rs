//! What the user named: a tree of those names alone, in the folder that holds them. Nothing else in that folder is
//! looked at, it gets no attributes and no list, and nothing is removed from it.
//!
//! A command that names one file syncs that file and its name; of more the file systems are synced at the end, as for
//! trees.
//!
//! Must not know: how a name is dealt with (`entry`, `special`), where a source goes (`target`).

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_core::verdict::Waits;
use datapump_core::wire::peer_request::walk_ahead::BATCH_NAMES;

use crate::folder::directory::{Directory, NamedFolder, Traits};
use crate::folder::root::{NamedRoot, Root};
use crate::folder::side::FolderSide;
use crate::list::List;
use crate::listed::{ListedEntry, Name};
use crate::open::elsewhere::SourceOpener;
use crate::origin::Origin;
use crate::origin::lone_source::LoneSource;
use crate::origin::source_host::NamedPlace;
use crate::place::{Place, Remote};
use crate::problem::{Class, Operation, Problem};
use crate::setup::options::Sync;
use crate::targets::{Item, NamedGroup, NamedItem, Target};
use crate::tree::batch::cursor::was_replaced;
use crate::tree::batch::folder_done;
use crate::tree::finish::sync_devices;
use crate::tree::names::items::is_unclaimed;
use crate::tree::walk::begin_tree::link_dest;
use crate::tree::{Shared, Work};
use datapump_engine::Errno;
use datapump_files::disk::{self, FileKind, Folder, Meta, PathAt, file_meta, folder_of, kind, names};
use datapump_files::followed::GivenName;
use datapump_files::identity::id;

/// Files of another host that are opened together: half of the places that the other side keeps open.
const TOGETHER: usize = 32;

/// Enqueues the names of a group, or reports of each why that cannot be.
pub(crate) fn begin_group(shared: &Shared<'_>, group: &NamedGroup) {
    let unclaimed: NamedGroup;
    let group = if shared.trees.guard.claims().are_apart() {
        group
    } else {
        let names = group.iter().filter(|named| is_unclaimed(shared, &named.item));
        unclaimed = names.cloned().collect();
        &unclaimed
    };
    if group.is_empty() {
        return;
    }
    for named in group {
        named.item.notices.iter().for_each(|event| (shared.ledger.events)(event.clone()));
    }
    let begun = open_directory(shared, group).and_then(|directory| {
        let names: Result<Vec<Name>, Problem> =
            group.iter().map(|named| listed_name(&directory, named)).collect();
        match names {
            Ok(names) => Ok((directory, names)),
            Err(problem) => {
                folder_done::release(shared, &directory);
                Err(NotBegun::Alone(problem))
            }
        }
    });
    match begun {
        Ok((directory, names)) => enqueue_names(shared, &directory, names),
        Err(why) => {
            group.iter().for_each(|named| shared.ledger.report(why.problem_of(&named.item)));
        }
    }
}

/// Why a group was not begun.
enum NotBegun {
    /// The folder that holds its names.
    Source(Errno),
    /// The folder that they go to.
    Target(Errno),
    Alone(Problem),
}

impl NotBegun {
    /// The problem to report of an item whose group could not begin.
    fn problem_of(&self, item: &Item) -> Problem {
        let from = &shown_source(item);
        match (self, &item.target) {
            (NotBegun::Source(errno), _) => Problem::system(Operation::Open, from, errno.0),
            (NotBegun::Target(errno), Target::Entry(at)) => {
                Problem::system(Operation::Open, folder_of(&at.path), errno.0).of_folder_above()
            }
            (NotBegun::Target(errno), target) => {
                let path = target.path().unwrap_or(from);
                Problem::system(Operation::OpenFolder, path, errno.0).of_folder_above()
            }
            (NotBegun::Alone(problem), _) => problem.clone(),
        }
    }
}

/// Opens the folder of the source and the one of the target that the names of a group go to.
fn open_directory(shared: &Shared<'_>, group: &NamedGroup) -> Result<Arc<Directory>, NotBegun> {
    let first = &group[0].item;
    let (source, at) =
        (open_source(shared, group)?, first.target.name_place().expect("a name goes to a folder"));
    let target = match at.folder_to_sync() {
        Ok(Folder::Os(folder)) => Some(look_at_target(shared, at, folder)?),
        Ok(Folder::Sim(_)) => return Err(NotBegun::Alone(Problem::usage("the simulation has no folders"))),
        // It would be made.
        Err(Errno::ENOENT) if shared.settings.options.dry_run && at.is_promised() => None,
        Err(errno) => return Err(NotBegun::Target(errno)),
    };
    let origin = source.origin().map_err(NotBegun::Alone)?;
    let target_meta = target.as_ref().map(|target| target.side.meta);
    let side = target.as_ref().map(|target| Arc::clone(&target.side));
    let source_magic = origin.magic();
    let made_up = if source.is_here() { kind::is_made_up(source_magic) } else { origin.is_made_up() };
    let traits = Traits {
        made_up,
        source_magic,
        same_file_system: source.is_here()
            && target_meta.is_some_and(|meta| meta.device == source.meta.device),
        fresh: target.is_none(),
        ..target.as_ref().map(|target| target.traits).unwrap_or_default()
    };
    if shared.settings.writes && group.iter().any(|named| is_file(&named.item)) {
        put_on_devices(shared, side.as_deref());
    }
    let target_path = shown_folder_of(&at.path);
    let mut root = Root::new(&source.meta, target_path, target_meta.as_ref(), List::started(None));
    let is_lone = matches!(first.source, Place::Web(_) | Place::Stripe(_));
    root.named = Some(NamedRoot { is_alone: is_alone(shared), is_lone });
    root.shares_target = shared.trees.targets_overlap;
    root.number = first.number;
    let link_dest = target.map(|target| target.link_dest).unwrap_or_default();
    shared.trees.names_begun.fetch_add(1, Ordering::Relaxed);
    Ok(Directory::new(None, &Arc::new(root), source, side, traits, link_dest))
}

fn is_file(item: &Item) -> bool {
    matches!(item.target, Target::File(_))
}

/// The command names one file, which is synced by itself.
fn is_alone(shared: &Shared<'_>) -> bool {
    !shared.settings.has_trees && shared.settings.names_wanted == 1
}

/// The folder of the source, which is known by its names alone; of another host by the places that they are.
fn open_source(shared: &Shared<'_>, group: &NamedGroup) -> Result<Arc<FolderSide>, NotBegun> {
    let first = &group[0].item;
    let source = match (&first.source, &shared.remote_host) {
        (Place::Remote(remote), Some(remote_host)) => {
            let places = group.iter().filter_map(place).collect();
            let folder = Arc::clone(remote_host).named_places(places);
            FolderSide::remote_root(shown_folder_of(&remote.path), folder)
        }
        (Place::Path(from), _) => {
            let folder = names::find_folder(folder_of(from)).map_err(NotBegun::Source)?;
            FolderSide::root(shown_folder_of(from), folder, &shared.trees.keeper).map_err(NotBegun::Alone)?
        }
        (source, _) => {
            let meta = first.meta.unwrap_or(Meta::nothing());
            let lone = LoneSource::new(source.clone(), meta, SourceOpener::new(shared));
            FolderSide::remote_root(Path::new(""), Arc::new(lone))
        }
    };
    let differs = |named: &&NamedItem| {
        named.follows || named.links.is_some() || own_name(&named.item).as_deref() != name_at(&named.item)
    };
    let given = group.iter().filter(differs).filter_map(given);
    let given: HashMap<_, _> = given.collect();
    Ok(if given.is_empty() { source } else { source.with_given(given) })
}

fn name_at(item: &Item) -> Option<&OsStr> {
    item.target.name_place()?.name()
}

/// The name of a source in its folder; of what lies in none all that the user wrote.
fn own_name(item: &Item) -> Option<OsString> {
    match &item.source {
        Place::Path(path) | Place::Remote(Remote { path, .. }) => path.file_name().map(OsStr::to_owned),
        source => Some(source.to_string().into()),
    }
}

/// The source, for messages.
fn shown_source(item: &Item) -> PathBuf {
    match &item.source {
        Place::Path(path) | Place::Remote(Remote { path, .. }) => path.clone(),
        source => source.to_string().into(),
    }
}

/// What another host has under the name that it gets at the target.
fn place(NamedItem { item, links, .. }: &NamedItem) -> Option<(OsString, NamedPlace)> {
    let (own, is_link) = (own_name(item)?, item.is_entry());
    let place = NamedPlace { number: item.number, own, is_link, links: *links };
    Some((name_at(item)?.to_owned(), place))
}

fn given(named: &NamedItem) -> Option<(OsString, GivenName)> {
    let own = own_name(&named.item)?;
    Some((name_at(&named.item)?.to_owned(), GivenName { own, follows: named.follows, links: named.links }))
}

/// The folder of a path, as far as the user wrote it.
fn shown_folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// The folder of the target, looked at once.
fn look_at_target(shared: &Shared<'_>, at: &PathAt, folder: Arc<File>) -> Result<NamedFolder, NotBegun> {
    let path = shown_folder_of(&at.path);
    let file = id(&file_meta(&folder).map_err(NotBegun::Target)?);
    let mut known = shared.trees.named_folders.lock();
    if let Some(known) = known.get(&file) {
        return Ok(known.clone());
    }
    let side =
        FolderSide::shared_root(path, Arc::clone(&folder), &shared.trees.keeper).map_err(NotBegun::Alone)?;
    let magic = shared.settings.target_magic.unwrap_or_else(|| disk::magic(&folder));
    let traits = Traits {
        target_flags: side.flags(),
        syncs_whole: kind::syncs_whole(magic),
        handed_down: disk::handed_down(&folder),
        unverified: shared.trees.memory.unverified_in_root(&shared.ledger, None, &folder, path),
        ..Traits::default()
    };
    let link_dest = link_dest(shared, path).map_err(NotBegun::Alone)?;
    let folder = NamedFolder { side, traits, link_dest };
    known.insert(file, folder.clone());
    Ok(folder)
}

/// Its file system is synced at the end.
fn put_on_devices(shared: &Shared<'_>, target: Option<&FolderSide>) {
    if let Some(Ok(folder)) = target.filter(|_| !is_alone(shared)).map(FolderSide::file) {
        let (device, path) = target.map(|target| (target.meta.device, target.path())).unwrap_or_default();
        shared.trees.devices.lock().entry(device).or_insert_with(|| (path, folder));
    }
}

/// A name as a folder lists it. A link of another host is looked at once more.
fn listed_name(directory: &Directory, named: &NamedItem) -> Result<Name, Problem> {
    let (from, to) = (&shown_source(&named.item), name_at(&named.item));
    let to = to.unwrap_or_default().to_owned();
    // An entry is not followed: it may be a link to what was looked at.
    let kind = named.item.meta.filter(|_| is_file(&named.item)).map(|meta| meta.kind);
    match directory.source.origin()? {
        Origin::Here(_) => Ok(Name::here(to, kind)),
        Origin::There(_) if let (Some(_), Some(meta)) = (kind, named.item.meta) => {
            let links = named.links.unwrap_or(meta.links);
            let meta = Meta { links, ..meta };
            Ok(Name::from_remote(to, kind, ListedEntry::from_meta(meta)))
        }
        Origin::There(folder) => {
            let reported = folder.look_at(&to, from)?;
            match reported.meta {
                Ok(meta) if meta.kind != FileKind::Symlink => Err(was_replaced(from)),
                _ => Ok(Name::from_remote(to, kind, reported)),
            }
        }
    }
}

/// Enqueues names of a folder in batches, and releases the folder's listing.
fn enqueue_names(shared: &Shared<'_>, directory: &Arc<Directory>, names: Vec<Name>) {
    let walks = shared.settings.has_trees;
    let most = if directory.source.is_here() { BATCH_NAMES } else { TOGETHER };
    let batches = directory.in_batches(names, most, walks);
    if walks {
        shared.trees.walk(batches.len());
    }
    shared.plan.add_first(batches.into_iter().map(Work::Batch));
    folder_done::release(shared, directory);
}

/// Puts on stable storage what was written for named files, when all names are dealt with or the run was cut.
/// `is_synced_later`: the file systems are, with trees.
pub(crate) fn sync_named(shared: &Shared<'_>, waits: &mut Waits, is_synced_later: bool) {
    let folders = std::mem::take(&mut *shared.trees.named_folders.lock());
    if folders.is_empty() || !shared.settings.writes || !shared.settings.syncs_names() {
        return;
    }
    let start_ns = shared.settings.platform.clock.charged_ns();
    let sync = shared.settings.options.durability.sync;
    for NamedFolder { side, traits, link_dest } in folders.into_values() {
        let is_file_alone = is_alone(shared) && shared.settings.files_wanted == 1;
        let is_whole = sync == Sync::End
            && traits.syncs_whole
            && shared.trees.devices.lock().contains_key(&side.meta.device);
        if is_whole || (is_file_alone && link_dest.is_empty()) {
            continue;
        }
        let synced = side.file().and_then(|folder| {
            let synced = folder.sync_all();
            synced.map_err(|error| {
                Problem::system(Operation::SyncFolder, &side.path(), Errno::from_io_error(&error).0)
            })
        });
        synced.unwrap_or_else(|problem| shared.ledger.report(problem));
    }
    if sync == Sync::End && !is_synced_later {
        sync_devices(shared, &[]);
    }
    waits.sync += shared.settings.platform.clock.charged_ns() - start_ns;
}

/// Reports groups of which nobody finished the last name: a mistake of this program that status 0 must not hide.
pub(crate) fn report_unfinished(shared: &Shared<'_>) {
    let lost = shared.trees.names_begun.load(Ordering::Relaxed);
    if lost > 0 {
        let words = format!("{lost} of the groups of names could not be finished; copy again");
        shared.ledger.report(Problem::of(Class::Io, Operation::Finish, words));
    }
}
