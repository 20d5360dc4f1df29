//! What the trees of a job share.
//!
//! Must not know: how a folder is walked, how files are copied.

pub(crate) mod in_the_way;
pub(crate) mod like_backups;
pub(crate) mod links;
pub(crate) mod memory;
pub(crate) mod name_flags;
pub(crate) mod pruning;
pub(crate) mod tree_file;
pub(crate) mod twins;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::hash::RandomState;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use datapump_core::name::NameOptions;
use rustix::process::{getegid, getgroups};

use crate::folder::directory::{Batch, Directory, NamedFolder};
use crate::folder::root::Root;
use crate::folder::side::{FolderSide, Keeper};
use crate::lock::StateLock;
use crate::origin::source_host::SourceHost;
use crate::problem::{Class, Operation, Problem};
use crate::report::watch::Watch;
use crate::setup::budget::charged::ChargedRoom;
use crate::setup::options::Options;
use crate::targets::guard::{Guard, GuardRules};
use crate::targets::{Item, Target};
use crate::tree::state::in_the_way::NameWaiting;
use crate::tree::state::like_backups::{LikeBackups, LikeBackupsOfFolders};
use crate::tree::state::links::Links;
use crate::tree::state::memory::RunMemory;
use crate::tree::state::twins::Twins;
use datapump_core::selection::Select;
use datapump_files::commit::backup_folders::BackupFolders;
use datapump_files::disk::Meta;
use datapump_files::identity::{FileId, id};
use datapump_files::opened_folders::OpenedFolders;
use pruning::Pruning;

/// What follows from the names that the user gave.
#[derive(Debug, Default)]
pub(crate) struct NamedFacts {
    /// The names of targets that are called as backups beside them would be.
    pub(crate) backup_names: HashSet<OsString>,
    /// The same, and those that some file system may take for backups' names.
    pub(crate) like_backups: LikeBackups,
    /// A backup may replace the one before it, unless something else speaks against it.
    pub(crate) replaces_backups: bool,
    /// What goes from the source, once copied: each with where it goes.
    pub(crate) moved: Vec<(PathBuf, Target)>,
}

/// What the trees of a job share.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    pub(crate) named: NamedFacts,
    /// What was asked, as far as it decides about names.
    pub(crate) flags: NameOptions,
    pub(crate) links: Links,
    /// Some file whose content was right was opened for its attributes: others may be, too.
    pub(crate) opens_for_attributes: AtomicBool,
    pub(crate) select: Select,
    /// Files of one tree and the other that are compared, both ways.
    pub(crate) twins: Twins,
    pub(crate) twins_back: Twins,
    pub(crate) keeper: Arc<Keeper>,
    /// The target of one source lies in that of another.
    pub(crate) targets_overlap: bool,
    /// What this command reads and keeps.
    pub(crate) guard: Guard,
    /// Trees to be begun, folders being listed, batches of their names: at zero all files are known.
    walking: AtomicUsize,
    /// The roots of all trees that were started.
    roots: StateLock<Vec<Weak<Root>>>,
    /// Roots of which everything but the root itself is done.
    pub(crate) trees_done: StateLock<Vec<Arc<Directory>>>,
    /// Folders that names go to which the user gave.
    pub(crate) named_folders: StateLock<BTreeMap<FileId, NamedFolder>>,
    /// Groups of such names that were begun and are not done.
    pub(crate) names_begun: AtomicUsize,
    /// A folder on each device that is written to, to sync it at the end.
    pub(crate) devices: StateLock<BTreeMap<u64, (PathBuf, Arc<File>)>>,
    /// Folders that were made for backups.
    pub(crate) backup_folders: BackupFolders,
    /// Folders of the targets that were closed to this user, their owner.
    pub(crate) opened_folders: Arc<OpenedFolders>,
    /// What this command knows of its own copies.
    pub(crate) memory: RunMemory,
    /// Of folders of the source, for targets that take two names for one.
    pub(crate) like_backups: LikeBackupsOfFolders,
    /// Names that wait for a folder in their place to be removed.
    pub(crate) waiting: StateLock<Vec<NameWaiting>>,
    /// Names that wait for the end of all trees: links to below a target.
    pub(crate) awaiting_trees: StateLock<Vec<Batch>>,
    /// How far it is known what may be removed.
    pub(crate) pruning: StateLock<Pruning>,
    /// For records of names; of all trees, since a name may move from one to another.
    pub(crate) name_hasher: RandomState,
    /// Folders that are written to and that others may give another name.
    entered: StateLock<(HashSet<FileId>, ChargedRoom)>,
    /// Devices of which it is known whether files there keep the times that they are given.
    pub(crate) keeps_times: StateLock<BTreeMap<u64, bool>>,
    /// The same of whether symbolic links there have attributes of their own.
    pub(crate) links_have_attributes: StateLock<BTreeMap<u64, bool>>,
}

/// The groups of this user. Asked once.
fn own_groups() -> &'static [u32] {
    static GROUPS: OnceLock<Vec<u32>> = OnceLock::new();
    GROUPS.get_or_init(|| {
        let others = getgroups().unwrap_or_default();
        others.into_iter().chain([getegid()]).map(|group| group.as_raw()).collect()
    })
}

/// Each lane has a ring and two files or folders open at each end; large files, roots and the program's own need more.
pub(crate) fn most_lanes() -> u32 {
    const OTHERS: u64 = 32;
    const EACH: u64 = 8;
    let limit = datapump_engine::os::linux::open_files_limit().unwrap_or(u64::MAX);
    (limit.saturating_sub(OTHERS) / EACH).clamp(1, u64::from(Options::LANES_MAX)) as u32
}

/// What a folder takes among those that were entered, while the table moves, too.
const ENTERED_BYTES: usize = 64;
/// Open files that a run needs besides folders: lanes with their rings, large files, the program's own.
const OTHER_FILES: u64 = 56;
/// Folders kept open: more spare no call in usual trees.
const FOLDERS_MAX: u64 = 256;
const FOLDERS_MIN: u64 = 4;

impl Trees {
    /// Errors: patterns and lists of names that mean nothing.
    pub(crate) fn new(options: &Options) -> Result<Trees, Problem> {
        let limit = datapump_engine::os::linux::open_files_limit().unwrap_or(u64::MAX);
        let folders = limit.saturating_sub(OTHER_FILES).clamp(FOLDERS_MIN, FOLDERS_MAX);
        let select = Select::new(&options.selection.rules)?;
        if options.deletion.delete && select.is_list() {
            let words =
                "--delete with a list of names would remove whatever is not on it; leave one of them out";
            return Err(Problem::usage(words));
        }
        let user = rustix::process::geteuid();
        Ok(Trees {
            select,
            flags: name_flags::from_options(options, user, own_groups()),
            links: Links::new(options.deletion.remove_sources),
            keeper: Keeper::new(folders as usize),
            opened_folders: Arc::new(OpenedFolders::of_run(options.dry_run)),
            ..Trees::default()
        })
    }

    /// Learns what this command reads and keeps.
    pub(crate) fn guard_sources(
        &mut self,
        items: &[Item],
        options: &Options,
        other: Option<&dyn SourceHost>,
    ) {
        self.guard = Guard::for_run(items, GuardRules { options, select: &self.select }, other);
        self.targets_overlap = !self.guard.claims().are_apart();
    }

    pub(crate) fn guard_rules<'run>(&'run self, options: &'run Options) -> GuardRules<'run> {
        GuardRules { options, select: &self.select }
    }

    /// Notes that a folder is going to be written to. Refuses one that is filled under another name, unless targets overlap: it
    /// would get the mode of another folder in the end.
    pub(crate) fn enter_folder(
        &self,
        folder: &Meta,
        path: &Path,
        source: &FolderSide,
    ) -> Result<(), Problem> {
        let mut entered = self.entered.lock();
        let (folders, room) = &mut *entered;
        room.make(folders.len(), 1, ENTERED_BYTES, |bytes| source.charge_there(bytes))?;
        let is_first = folders.insert(id(folder));
        drop(entered);
        // Where the user named targets that lie in each other they share folders.
        if is_first || self.targets_overlap {
            return Ok(());
        }
        let words = "is a folder that this copy fills under another name; it was not changed";
        Err(Problem::new(Class::Refused, Operation::Enter, path, words))
    }

    /// A tree was started.
    pub(crate) fn begin_tree(&self, root: &Arc<Root>) {
        self.roots.lock().push(Arc::downgrade(root));
    }

    /// Trees that were started.
    pub(crate) fn trees_started(&self) -> usize {
        self.roots.lock().len()
    }

    /// The roots of all trees.
    pub(crate) fn roots(&self) -> Vec<Arc<Root>> {
        let roots = self.roots.lock();
        roots.iter().filter_map(Weak::upgrade).collect()
    }

    /// So much more is to be walked.
    pub(crate) fn walk(&self, count: usize) {
        self.walking.fetch_add(count, Ordering::Relaxed);
    }

    /// A piece of walking is done; the last makes the totals known.
    pub(crate) fn walked(&self, watch: &Watch) {
        if self.walking.fetch_sub(1, Ordering::AcqRel) == 1 {
            watch.found_all();
        }
    }
}
