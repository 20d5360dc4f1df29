//! Begins a tree: opens the source's root, makes or opens the target's, and puts up the first listing.
//!
//! Must not know: what lies in the tree.

pub(crate) mod open_root;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::Errno;

use crate::folder::backup_place::BackupPlace;
use crate::folder::directory::{Directory, LinkDest, Traits};
use crate::folder::root::Root;
use crate::folder::side::FolderSide;
use crate::folder::visited::{Keeps, TreeRoom, Visited};
use crate::list::header::{SourceRoot, new_header};
use crate::list::journal::{Kept, TreeJournal};
use crate::list::{List, list_file};
use crate::open::confidential;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::report::change::{Change, ChangeKind};
use crate::report::cut_leaves::CutLeaves;
use crate::setup::options::Sync;
use crate::targets::Item;
use crate::tree::findings::compare_attributes;
use crate::tree::walk::mirror;
use crate::tree::{Shared, Work, findings, walk};
use datapump_core::name::Unverified;
use datapump_files::attributes;
use datapump_files::commit::{final_name, made, reserved, shortage, taken, temporary};
use datapump_files::disk::names::NameFlags;
use datapump_files::disk::{self, AttributeHolder, Folder, PathAt, kind, names};
use open_root::{open_if_there, open_parent, open_plain, open_target, simulated};

/// Begins a tree: opens or makes its target, with its list of this copy, and enqueues the listing of the root. An
/// existing target is closed to others as far as the copy needs it, and opened to this user. A comparison and a dry run
/// make nothing; a comparison reports how the attributes of both roots differ.
///
/// Errors: a target that must not be written; a mirror whose source is empty.
pub(crate) fn begin_tree(shared: &Shared<'_>, item: &Item, from: &Path, at: &PathAt) -> Result<(), Problem> {
    let source = source_of(shared, item.number, from)?;
    shared.trees.select.begin(from, &item.patterns_above);
    if !shared.settings.compares {
        mirror::refuse_emptied(shared, &source, at)?;
    }
    if !shared.settings.writes {
        return begin_unwritten(shared, source, at, item);
    }
    let (to, backups) = (&*at.path, BackupPlace::new(&shared.settings, at)?);
    let link_dest = link_dest(shared, to)?;
    let source_root = SourceRoot::from_origin(&source.origin()?, &source.meta);
    let made = make_root(shared, &source_root, at)?;
    made.iter().for_each(|_| shared.trees.guard.followed.note_root(at));
    let (folder, found) = match &made {
        Some((_, folder, _)) => (Arc::clone(folder), None),
        None => open_target(at, |above, name| shared.trees.opened_folders.open(above, name))?,
    };
    let target = FolderSide::shared_root(to, folder, &shared.trees.keeper)?;
    let target = target.opening_up(&shared.trees.opened_folders, found);
    shared.trees.enter_folder(&target.meta, to, &source)?;
    let is_merged = shared.trees.guard.claims().is_merged(item.number);
    let keeps_own = made.is_none() && (is_merged || keeps_own(shared, &source, &target));
    let (target_folder, first) = (target.file()?, first_of_list(shared, item.number));
    let list_source = list_source(shared, item.number, first.as_deref(), &source_root, &target_folder);
    if made.is_none() && !keeps_own {
        let keep = shared.settings.options.attributes.keep;
        confidential::close_folder(&target_folder, &target.meta, &source.meta, keep);
    }
    note_devices(shared, &source, &target);
    if !keeps_own {
        report_root(shared, &source, to, Some(&*target).filter(|_| made.is_none()));
    }
    let (fresh, made_in, list) = match (made, &first) {
        (Some((parent, _, journal)), _) => (true, Some(parent), new_list(shared, item, to, journal)),
        (None, Some(first)) => (false, None, Arc::clone(&first.list)),
        (None, None) => (false, None, open_list(shared, list_source, &target, keeps_own, to)?),
    };
    let traits = Traits {
        fresh,
        is_skipped: false,
        same_file_system: shared.remote_host.is_none() && source.meta.device == target.meta.device,
        made_up: source.origin()?.is_made_up(),
        source_magic: source.origin()?.magic(),
        target_flags: if fresh { NameFlags::default() } else { target.flags() },
        syncs_whole: kind::syncs_whole(magic_of_root(shared, at, fresh, &target_folder)),
        handed_down: disk::handed_down(&target_folder),
        unverified: if fresh {
            Unverified::default()
        } else {
            shared.trees.memory.unverified_in_root(&shared.ledger, list.journal(), &target_folder, to)
        },
        keeps_own: keeps_own && (is_merged || !list.journal().is_some_and(|list| list.is_of_new_folder)),
    };
    let mut root = Root::new(&source.meta, to, Some(&target.meta), list);
    root.made_in = made_in;
    share_list(&mut root, first.as_deref(), &source_root, list_source);
    root.visited = new_visited(shared, &source, Some(&target));
    describe_root(shared, &mut root, item, backups);
    put_up(shared, Directory::new(None, &Arc::new(root), source, Some(target), traits, link_dest));
    Ok(())
}

/// Begins a tree of which nothing is copied, for the names of a list that lie in it: each of them is looked at.
pub(crate) fn begin_skipped(shared: &Shared<'_>, item: &Item, from: &Path, to: &Path) -> Result<(), Problem> {
    let source = source_of(shared, item.number, from)?;
    shared.trees.select.begin(from, &item.patterns_above);
    let source_magic = source.origin()?.magic();
    let traits = Traits { fresh: true, is_skipped: true, source_magic, ..Traits::default() };
    let mut root = Root::new(&source.meta, to, None, List::started(None));
    describe_root(shared, &mut root, item, BackupPlace::default());
    put_up(shared, Directory::new(None, &Arc::new(root), source, None, traits, Vec::new()));
    Ok(())
}

/// The tree of an earlier source that goes to the same folder, whose list is that of all of these.
fn first_of_list(shared: &Shared<'_>, number: u32) -> Option<Arc<Root>> {
    let earlier: Vec<u32> = shared.trees.guard.claims().merged_with(number).collect();
    if earlier.is_empty() {
        return None;
    }
    let mut roots = shared.trees.roots().into_iter();
    roots.find(|root| earlier.contains(&root.number) && !root.shares_list)
}

/// The source that the list of a folder is of: the first that goes there, or the one that an earlier run of the command
/// named first.
fn list_source(
    shared: &Shared<'_>,
    number: u32,
    first: Option<&Root>,
    own: &SourceRoot,
    folder: &Arc<File>,
) -> SourceRoot {
    if let Some(of_first) = first.and_then(|first| first.list_source) {
        return of_first;
    }
    let is_list_of = |source: &SourceRoot| {
        list_file::stands_in(folder, &new_header(folder, source, shared.settings.options, false))
    };
    let has_list = names::metadata(folder, OsStr::new(reserved::LIST_NAME)).is_ok();
    if !has_list || is_list_of(own) {
        return *own;
    }
    let root_of = |(number, path): (u32, &Path)| {
        let side = source_of(shared, number, path).ok()?;
        Some(SourceRoot::from_origin(&side.origin().ok()?, &side.meta))
    };
    let others = shared.trees.guard.claims().merged_behind(number);
    others.filter_map(root_of).find(is_list_of).unwrap_or(*own)
}

/// A list is of one source: the names of others begin where that has none.
fn share_list(root: &mut Root, first: Option<&Root>, own: &SourceRoot, list_source: SourceRoot) {
    root.shares_list = first.is_some_and(|first| Arc::ptr_eq(&first.list, &root.list));
    root.list_source = Some(list_source);
    if own.path_sum() != list_source.path_sum() {
        root.path_sum = own.path_sum();
    }
}

/// The list of a new target. Without one the same command copies to a name in that target, once it exists.
fn new_list(shared: &Shared<'_>, item: &Item, to: &Path, journal: Option<TreeJournal>) -> Arc<List> {
    let is_content = shared.settings.options.place.target_is_name || item.source.stands_for_content();
    if journal.is_none() && !is_content && shared.settings.target == Some(to) {
        shared.ledger.leaves(CutLeaves::NewFolder);
    }
    List::started(journal)
}

/// The `statfs(2)` type of a root's file system: of a new one that of the folder which it was made in.
fn magic_of_root(shared: &Shared<'_>, at: &PathAt, fresh: bool, folder: &File) -> u64 {
    let known = shared.settings.target_magic.filter(|_| fresh || at.name().is_none());
    known.unwrap_or_else(|| disk::magic(folder))
}

fn put_up(shared: &Shared<'_>, directory: Arc<Directory>) {
    directory.note_walk(&directory.source.meta, directory.source.is_young());
    shared.trees.walk(1);
    shared.trees.begin_tree(&directory.root);
    shared.plan.add_first([Work::List(directory)].into_iter());
}

/// The root of a source as its path leads to it now.
pub(in crate::tree) fn source_of(
    shared: &Shared<'_>,
    number: u32,
    from: &Path,
) -> Result<Arc<FolderSide>, Problem> {
    match &shared.remote_host {
        Some(remote_host) => Ok(FolderSide::remote_root(from, Arc::clone(remote_host).root(number, from)?)),
        None => {
            let root = FolderSide::root(from, open_folder(shared, from)?, &shared.trees.keeper)?;
            Ok(root.following(shared.settings.options.links.follow))
        }
    }
}

/// Where unchanged files of this tree are looked for: what `link_dest` names corresponds to what the user named as the
/// target, so that a source which goes below that is looked for below this, as with rsync.
pub(in crate::tree) fn link_dest(shared: &Shared<'_>, to: &Path) -> Result<Vec<LinkDest>, Problem> {
    let paths = shared.settings.options.links.link_dest.iter();
    paths.filter_map(|path| one_link_dest(shared, to, path).transpose()).collect()
}

/// Opens a folder of `--link-dest`, below it the one for this target; `None` if it is missing.
fn one_link_dest(shared: &Shared<'_>, to: &Path, path: &Path) -> Result<Option<LinkDest>, Problem> {
    let below = shared.settings.below_target(to);
    let mut here = open_folder(shared, path);
    for name in below {
        here = here.and_then(|folder| {
            names::open_folder(&folder, name)
                .map_err(|errno| Problem::system(Operation::Open, &path.join(below), errno.0))
        });
    }
    match here {
        Ok(folder) => {
            let unverified = shared.trees.memory.in_and_above(&shared.ledger, &folder, &path.join(below));
            let folder = FolderSide::root(path, folder, &shared.trees.keeper)?;
            Ok(Some(LinkDest { folder, unverified }))
        }
        Err(problem) if problem.class == Class::Missing => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Gives a root what is known of its tree from the command.
fn describe_root(shared: &Shared<'_>, root: &mut Root, item: &Item, backups: BackupPlace) {
    root.shares_target = shared.trees.targets_overlap;
    root.patterns_above = item.patterns_above.clone();
    root.number = item.number;
    root.backups = backups;
}

/// Reports in which attributes that are compared the two roots differ.
fn compare_roots(
    shared: &Shared<'_>,
    source: &FolderSide,
    target: &FolderSide,
    to: &Path,
) -> Result<(), Problem> {
    let comparison = &shared.settings.options.comparison;
    if !comparison.content_only {
        compare_attributes::compare_mode_and_time(shared, &source.path(), to, &source.meta, &target.meta);
    }
    if comparison.compare_attributes {
        compare_attributes::owner(shared, &source.path(), to, &source.meta, &target.meta);
        compare_attributes::of_folders(shared, source, target)?;
    }
    Ok(())
}

/// Begins a tree of which nothing is made: a dry run, whose target may not exist yet, or a comparison.
fn begin_unwritten(
    shared: &Shared<'_>,
    source: Arc<FolderSide>,
    at: &PathAt,
    item: &Item,
) -> Result<(), Problem> {
    let to = &*at.path;
    let (backups, opened) = if shared.settings.compares {
        (BackupPlace::default(), Some((open_target(at, open_plain)?.0, None)))
    } else {
        let backups = BackupPlace::new(&shared.settings, at)?;
        (backups, open_if_there(at, &shared.trees.opened_folders, shared.settings.options.place.make_path)?)
    };
    let side = |(folder, found)| {
        let side = FolderSide::shared_root(to, folder, &shared.trees.keeper)?;
        Ok(if shared.settings.compares { side } else { side.opening_up(&shared.trees.opened_folders, found) })
    };
    let target = opened.map(side).transpose()?;
    let is_merged = shared.trees.guard.claims().is_merged(item.number);
    let keeps = is_merged || target.as_ref().is_some_and(|target| keeps_own(shared, &source, target));
    if !shared.settings.compares && !keeps {
        report_root(shared, &source, to, target.as_deref());
    }
    if let Some(target) = target.as_ref().filter(|_| shared.settings.compares && !keeps) {
        compare_roots(shared, &source, target, to)?;
    }
    let earlier = target
        .as_ref()
        .filter(|_| shared.settings.options.dry_run)
        .map(|target| target.file())
        .transpose()?;
    let source_root = SourceRoot::from_origin(&source.origin()?, &source.meta);
    let first = first_of_list(shared, item.number);
    let list_source = earlier.as_ref().map_or(source_root, |folder| {
        list_source(shared, item.number, first.as_deref(), &source_root, folder)
    });
    let look =
        |folder: &Arc<File>| TreeJournal::open_for_dry_run(folder, to, &list_source, shared.settings.options);
    let list = match &first {
        Some(first) => Arc::clone(&first.list),
        None => List::started(earlier.and_then(|folder| look(&folder))),
    };
    let source_magic = source.origin()?.magic();
    let link_dest = link_dest(shared, to)?;
    let unverified = match &target {
        Some(target) => {
            let memory = &shared.trees.memory;
            memory.unverified_in_root(&shared.ledger, list.journal(), &*target.file()?, to)
        }
        None => Unverified::default(),
    };
    let target_flags = target.as_deref().map(FolderSide::flags).unwrap_or_default();
    let traits =
        Traits { fresh: target.is_none(), source_magic, target_flags, unverified, ..Traits::default() };
    let mut root = Root::new(&source.meta, to, target.as_ref().map(|target| &target.meta), list);
    share_list(&mut root, first.as_deref(), &source_root, list_source);
    root.visited = new_visited(shared, &source, None);
    root.is_copied = !shared.settings.compares;
    describe_root(shared, &mut root, item, backups);
    let directory = Directory::new(None, &Arc::new(root), source, target, traits, link_dest);
    put_up(shared, directory);
    Ok(())
}

/// Whether an existing target keeps its own mode, owner and times, since it is no copy: names of a list go into it, or
/// everybody's go, as into /tmp. That is noted; and warned of, where it lets more users in than the source. rsync and
/// cp -a give it the source's mode and owner, which closed many a home folder.
fn keeps_own(shared: &Shared<'_>, source: &FolderSide, target: &FolderSide) -> bool {
    const STICKY_AND_OPEN: u32 = 0o1002;
    // Where mode and owner are the same nobody is shut out: owners of another host are this host's by now.
    let (existing, meta) = (&target.meta, &source.meta);
    let is_same = (existing.mode, existing.uid, existing.gid) == (meta.mode, meta.uid, meta.gid);
    let is_open = existing.mode & STICKY_AND_OPEN == STICKY_AND_OPEN && !is_same;
    let is_named = |path: &Path| {
        std::fs::metadata(path)
            .is_ok_and(|named| (named.dev(), named.ino()) == (existing.device, existing.inode))
    };
    let home = std::env::var_os("HOME").map(PathBuf::from);
    // A mirror is the same as its source.
    let is_common = !shared.settings.options.deletion.delete
        && (is_open || is_named(Path::new("/")) || home.is_some_and(|home| is_named(&home)));
    if is_common {
        let (from, to) = (shown_path(&source.path()), shown_path(&target.path()));
        shared.ledger.note(|| format!("'{to}' keeps its own mode, owner and times"));
        if shared.settings.writes && confidential::lets_more_in(existing, meta) {
            shared.ledger.warn(format!(
                "'{to}' keeps its own mode: others can look into it, and not into '{from}'; copy into a folder below \
                 it to keep them out"
            ));
        }
    }
    is_common || !shared.trees.select.has_root()
}

/// Opens or begins the list of an existing target. Where what is right is left alone, a run with nothing to do must
/// write nothing: its list is begun with the first file.
fn open_list(
    shared: &Shared<'_>,
    source: SourceRoot,
    target: &FolderSide,
    keeps_own: bool,
    path: &Path,
) -> Result<Arc<List>, Problem> {
    if shared.settings.in_order.is_some() {
        return Ok(List::started(None));
    }
    let folder = target.file()?;
    shared.trees.memory.expect_own_list(&folder);
    let stands =
        || list_file::stands_in(&folder, &new_header(&folder, &source, shared.settings.options, false));
    if shared.trees.flags.leaves_some() && !stands() {
        return Ok(List::late(folder, path, source));
    }
    let begin = || TreeJournal::begin(&folder, path, &source, shared.settings.options, false);
    let journal = target.in_opened(begin)?.report(&shared.ledger);
    match &journal {
        Some(journal) if journal.stood() => shared.trees.memory.go_on_with(&folder, journal.unverified),
        // Nothing else is made in it so far.
        Some(_) if keeps_own => {
            let _ = attributes::copy_times(&target.meta, AttributeHolder::Open(&folder));
        }
        _ => {}
    }
    Ok(List::started(journal))
}

/// An empty record of walked folders, which keeps as much as deletion and backups will ask of it.
fn new_visited(shared: &Shared<'_>, source: &Arc<FolderSide>, target: Option<&Arc<FolderSide>>) -> Visited {
    let options = shared.settings.options;
    let keeps = if shared.settings.compares {
        Keeps::WorkedOn
    } else if options.deletion.delete {
        Keeps::All
    } else if options.backup.is_some() {
        Keeps::WorkedOn
    } else {
        Keeps::Nothing
    };
    let room = TreeRoom { source: Arc::clone(source), target: target.cloned() };
    Visited::keeping(keeps, &shared.trees.name_hasher).in_room(Box::new(room))
}

/// Reports the change of a root that is made, or gets other attributes.
fn report_root(shared: &Shared<'_>, source: &FolderSide, to: &Path, existing: Option<&FolderSide>) {
    if !shared.settings.tells_changes() {
        return;
    }
    let paths = [source.path(), to.to_path_buf(), shared.settings.below_target(to).to_path_buf()];
    let change = match existing {
        None => Change::new(ChangeKind::Copy, paths, &source.meta, None, findings::for_new(shared)),
        Some(existing) => {
            let found = findings::for_folders(shared, source, existing);
            Change::new(ChangeKind::Adjust, paths, &source.meta, Some(&existing.meta), found)
        }
    };
    shared.ledger.tell(Some(Box::new(change)).filter(|change| change.says_something()));
}

/// Notes the devices of both sides, and keeps the target open to sync its file system.
fn note_devices(shared: &Shared<'_>, source: &FolderSide, target: &FolderSide) {
    // What another host reads is counted there.
    let magic = source.origin().map_or(0, |origin| origin.magic());
    let mut tally = shared.ledger.tally();
    tally.note_source(source.meta.device, magic);
    tally.target_devices.insert(target.meta.device);
    drop(tally);
    if let Ok(folder) = target.file() {
        // The one that was opened first: it hears of all that could not be written since.
        let mut devices = shared.trees.devices.lock();
        devices.entry(target.meta.device).or_insert_with(|| (target.path(), folder));
    }
}

/// Opens a folder of this host. Errors: the file system is simulated.
fn open_folder(shared: &Shared<'_>, path: &Path) -> Result<File, Problem> {
    let opened = shared
        .settings
        .platform
        .disk
        .folder(path)
        .map_err(|errno| Problem::system(Operation::Open, path, errno.0))?;
    match opened {
        Folder::Os(folder) => Ok(Arc::into_inner(folder).expect("opened one line above")),
        Folder::Sim(_) => Err(simulated(path)),
    }
}

/// The folder that it was made in, the root itself, and its list.
type Made = (Arc<File>, Arc<File>, Option<TreeJournal>);

/// Makes a folder under a temporary name, or opens the one that a killed run left with nothing but its list in it, or
/// that another pump makes at this very point.
fn make_temporary_root(above: &File, name: &OsStr, path: &Path) -> Result<(OsString, Arc<File>), Problem> {
    let system = |errno: Errno| shortage::of_name(Operation::Make, path, errno, above);
    for temporary in reserved::names_of(name) {
        let is_new = match names::make_folder(above, &temporary) {
            Err(Errno::EEXIST) => false,
            made => made.map(|()| true).map_err(system)?,
        };
        let opened = match names::open_folder(above, &temporary) {
            Err(Errno::EACCES) if is_new => {
                walk::own_alone(above, &temporary, path)?;
                names::open_folder(above, &temporary)
            }
            opened => opened,
        };
        match opened {
            Ok(folder) if is_new || made::holds_a_list_alone(&folder) == Ok(true) => {
                return Ok((temporary, Arc::new(folder)));
            }
            Err(errno) if is_new => {
                let _ = names::remove(above, &temporary, true);
                return Err(system(errno));
            }
            // Something else stands there.
            _ => {}
        }
    }
    Err(temporary::all_taken(path))
}

/// Makes a folder under its own name.
fn root_under(above: &File, name: &OsStr, path: &Path) -> Result<(OsString, Arc<File>), Problem> {
    match names::make_folder(above, name).and_then(|()| names::open_folder(above, name)) {
        Ok(folder) => Ok((name.to_owned(), Arc::new(folder))),
        Err(Errno::EEXIST) => Err(taken(path)),
        Err(errno) => Err(shortage::of_name(Operation::Make, path, errno, above)),
    }
}

/// Makes the root under its name at once, with no list: its file system takes no file that is written again and again.
fn make_plainly(shared: &Shared<'_>, parent: Arc<File>, name: &OsStr, path: &Path) -> Result<Made, Problem> {
    let (_, folder) = root_under(&parent, name, path)?;
    made::check_root(&parent, &folder, path)?;
    shared.ledger.tally().done.folders_made += 1;
    Ok((parent, folder, None))
}

/// Makes the root of the target, with its list in it from the first moment, so that a killed run is always recognised.
/// `None` if it stands there.
fn make_root(shared: &Shared<'_>, source: &SourceRoot, at: &PathAt) -> Result<Option<Made>, Problem> {
    let path = &*at.path;
    let system = |errno: Errno| Problem::system(Operation::Make, path, errno.0);
    let Some(name) = at.name() else { return Ok(None) };
    if at.metadata_of_name().is_ok() {
        return Ok(None);
    }
    let parent_folder = open_parent(at)?;
    if shared.settings.in_order.is_some() {
        return make_plainly(shared, parent_folder, name, path).map(Some);
    }
    let (temporary, folder) = if final_name::is_append_only(&parent_folder) {
        // A temporary name would stay.
        root_under(&parent_folder, name, path)?
    } else {
        make_temporary_root(&parent_folder, name, path)?
    };
    made::check_root(&parent_folder, &folder, path).inspect_err(|problem| {
        // It could not be looked at: a new one is empty, and no other is removed.
        let is_unseen = problem.class != Class::Refused;
        let _ = is_unseen.then(|| names::remove(&parent_folder, &temporary, true));
    })?;
    shared.trees.memory.expect_own_list(&folder);
    let begun = TreeJournal::begin(&folder, path, source, shared.settings.options, true).inspect_err(|_| {
        // Nothing is in it that anybody could miss.
        let _ = names::remove(&parent_folder, &temporary, true);
    });
    let journal = match begun? {
        Kept::Ignored(words) => return Err(Problem::new(Class::Refused, Operation::Make, path, words)),
        kept => kept.report(&shared.ledger),
    };
    // A root that stands there without its list keeps its mode where names of a list are copied (`keeps_own`): a loss
    // of power must not leave one that this run made.
    let is_known_by_list =
        !shared.trees.select.has_root() && shared.settings.options.durability.sync != Sync::None;
    let synced = journal.as_ref().filter(|_| is_known_by_list).map_or(Ok(()), TreeJournal::sync);
    let parent = Folder::Os(Arc::clone(&parent_folder));
    let is_named = temporary == name;
    let rename = || if is_named { Ok(()) } else { parent.rename_new(&temporary, name) };
    match synced.and_then(|()| rename()) {
        Ok(()) => {
            shared.ledger.tally().done.folders_made += 1;
            Ok(Some((parent_folder, folder, journal)))
        }
        Err(errno) => {
            // FUSE keeps what is open under another name in the folder, which then does not go.
            let _ = journal.map(|journal| journal.remove());
            let _ = names::remove(&parent_folder, &temporary, true);
            match errno {
                Errno::EEXIST if walk::is_of_another(shared, &parent_folder, name) => Ok(None),
                Errno::EEXIST => Err(taken(path)),
                errno => Err(system(errno)),
            }
        }
    }
}
