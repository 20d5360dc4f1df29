//! Symbolic links and what they lead to. A link that stays one must not replace that. One that is followed to below a
//! target waits until all else is done; what this run has made or replaced by then is refused, since its content would
//! depend on the order, and all else is read, so that it must stay.
//!
//! Must not know: how links are made and followed, how names wait, how an entry is replaced.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::listed::Name;
use crate::lock::StateLock;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::setup::options::{FollowLinks, Options};
use crate::targets::item::Item;
use datapump_engine::Errno;
use datapump_files::commit::reserved;
use datapump_files::disk::{FileKind, Folder, Meta, PathAt, UpStep, file_meta, names, way_up};
use datapump_files::followed::behind::{PlaceBehind, places_on};
use datapump_files::identity::{FileId, id};

const ORDER: &str = "its content depends on the order; copy without -L and --copy-unsafe-links, or copy it in a run of \
                     its own";

const IS_MADE: &str = "is what this copy makes, and was reached by a link that is followed";
const IS_REPLACED: &str = "is what this copy replaces, and was reached by a link that is followed";

/// Names that a run remembers: beyond, each counts as written.
const NAMES_MAX: usize = 1 << 20;

/// Where a link goes: the open folder, and the name with its existing entry.
pub(crate) struct LinkTarget<'run> {
    pub(crate) folder: &'run Arc<File>,
    pub(crate) name: &'run OsStr,
    pub(crate) existing: &'run Meta,
}

/// Refuses to make a link with these words, which lies in this folder of the source, in the place of what it leads to:
/// of that only a link to itself would remain.
pub(crate) fn check_kept(
    source: &Arc<File>,
    words: &OsStr,
    to: &LinkTarget<'_>,
    from: &Path,
    path: &Path,
) -> Result<(), Problem> {
    let is_symlink = to.existing.kind == FileKind::Symlink;
    let is_equal = is_symlink && names::read_symlink(to.folder, to.name).as_deref() == Ok(words);
    if is_equal || !leads_to(source, words, to) {
        return Ok(());
    }
    let words = format!(
        "is what the symbolic link '{}' leads to; it would be lost, and stays; copy with -L to have what the link leads \
         to, or move it away",
        shown_path(from)
    );
    Err(Problem::new(Class::Io, Operation::Replace, path, words))
}

/// Whether a link leads to an entry, or into it. A file that has other names stays under those.
pub(crate) fn leads_to(source: &Arc<File>, words: &OsStr, to: &LinkTarget<'_>) -> bool {
    let own = id(to.existing);
    let is_name = |place: &PlaceBehind| {
        let folders = [&place.folder, to.folder].map(|folder| file_meta(folder).ok().map(|meta| id(&meta)));
        folders[0] == folders[1] && place.name.as_deref() == Some(to.name)
    };
    let is_lost = |place: &PlaceBehind| match to.existing.kind {
        FileKind::Folder => id(&place.meta) == own || way_up(&place.folder).iter().any(|up| up.id == own),
        _ => id(&place.meta) == own && (to.existing.links < 2 || is_name(place)),
    };
    places_on(source, words).iter().any(is_lost)
}

/// What a run does at its targets, where links are followed: they may lead there.
#[derive(Debug, Default)]
pub(crate) struct FollowedLinks {
    /// The names that are targets, by the folders that hold them; none of a folder that is one. Empty where no link is
    /// followed.
    targets: HashMap<FileId, HashSet<Option<OsString>>>,
    /// Those that did not exist when the run began.
    made: HashMap<FileId, MadeNames>,
    /// All else of all trees is done.
    have_trees_ended: AtomicBool,
    hasher: RandomState,
    state: StateLock<FollowState>,
}

/// Names that a run makes in a folder.
#[derive(Debug, Default)]
struct MadeNames {
    /// Targets, and whether they are folders.
    targets: BTreeMap<OsString, bool>,
    /// The temporary names of these.
    temporary: HashSet<OsString>,
}

#[derive(Debug, Default)]
struct FollowState {
    /// Names that were made or replaced, and folders that were gone into.
    written: HashSet<u64>,
    /// What links lead to that were followed.
    read: HashSet<FileId>,
}

/// A name in a folder on the way down to a place; none of the place itself, or where the system does not tell it.
struct WayName {
    folder: FileId,
    name: Option<OsString>,
}

/// A name of a source that may be a link which is followed.
pub(crate) struct FollowedName<'run> {
    pub(crate) folder: FileId,
    pub(crate) name: &'run OsStr,
    /// Where it leads, if that may be below a target.
    pub(crate) places: Vec<PlaceBehind>,
}

impl FollowedLinks {
    /// Notes the targets, and the names that this run makes, by their folders; nothing where no links are followed.
    pub(super) fn new(items: &[Item], options: &Options) -> FollowedLinks {
        let mut links = FollowedLinks::default();
        let follows = options.links.follow != FollowLinks::Never;
        for item in items.iter().filter(|item| follows && !item.is_left_out) {
            let Some((folder, at)) = item.target.place().and_then(|at| Some((folder_id(at)?, at))) else {
                continue;
            };
            links.targets.entry(folder).or_default().insert(at.name().map(OsStr::to_owned));
            let is_made = !options.comparison.existing && at.metadata_of_name() == Err(Errno::ENOENT);
            if let Some(name) = at.name().filter(|_| is_made) {
                let made = links.made.entry(folder).or_default();
                made.targets.insert(name.to_owned(), item.is_tree());
                made.temporary.extend(reserved::names_of(name));
            }
        }
        links
    }

    /// Whether links that are followed may lead to a target.
    pub(crate) fn are_followed(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Whether a link leads to below a target, or to one. `root`: that of its own tree, into which a walk does not go.
    pub(crate) fn lead_to_target(&self, places: &[PlaceBehind], root: Option<FileId>) -> bool {
        let is_root =
            |place: &PlaceBehind| root == Some(id(&place.meta)) && place.meta.kind == FileKind::Folder;
        let is_target = |step: &WayName| {
            let names = self.targets.get(&step.folder);
            names.is_some_and(|names| {
                names.contains(&None) || step.name.is_none() || names.contains(&step.name)
            })
        };
        places.iter().any(|place| !is_root(place) && way_to(place).iter().any(is_target))
    }

    /// All else of all trees is done.
    pub(crate) fn end_trees(&self) {
        self.have_trees_ended.store(true, Ordering::Relaxed);
    }

    pub(crate) fn have_trees_ended(&self) -> bool {
        self.have_trees_ended.load(Ordering::Relaxed)
    }

    /// A name of a folder that stood there is made or replaced, or what is below that name.
    pub(crate) fn note_written(&self, folder: FileId, name: &OsStr) {
        self.note(&(folder, Some(name)));
    }

    /// Names are put into a folder that stood there.
    pub(crate) fn note_entered(&self, folder: FileId) {
        self.note(&(folder, None));
    }

    /// A root was made.
    pub(crate) fn note_root(&self, at: &PathAt) {
        if let Some((folder, name)) = folder_id(at).zip(at.name()) {
            self.note_written(folder, name);
        }
    }

    /// Notes a name or folder that this run writes, as far as links are followed and there is room.
    fn note(&self, key: &(FileId, Option<&OsStr>)) {
        if !self.are_followed() {
            return;
        }
        let mut state = self.state.lock();
        if state.written.len() < NAMES_MAX {
            state.written.insert(self.hasher.hash_one(key));
        }
    }

    /// The names of a folder of the source that were there when the run began.
    pub(crate) fn without_made(&self, folder: FileId, names: &mut Vec<Name>) {
        if let Some(made) = self.made.get(&folder) {
            names.retain(|name| {
                !(made.targets.contains_key(&name.name) || made.temporary.contains(&name.name))
            });
        }
    }

    /// Refuses the targets that a run makes in a folder of the source, of those that are selected: they are none of its
    /// names, and would be in the next run.
    pub(crate) fn check_made(
        &self,
        folder: FileId,
        is_selected: impl Fn(&OsStr, bool) -> bool,
        path_of: impl Fn(&OsStr) -> PathBuf,
    ) -> Vec<Problem> {
        let made = self.made.get(&folder).into_iter().flat_map(|made| &made.targets);
        let selected = made.filter(|&(name, &is_folder)| is_selected(name, is_folder));
        selected.map(|(name, _)| depends_on_order(&path_of(name), IS_MADE)).collect()
    }

    /// Whether this run makes or replaces a place, or a folder above it, or puts names into it.
    fn is_written(&self, place: &PlaceBehind) -> bool {
        let state = self.state.lock();
        let has = |key: (FileId, Option<&OsStr>)| state.written.contains(&self.hasher.hash_one(key));
        let is_full = state.written.len() >= NAMES_MAX;
        let (way, own) = (way_to(place), id(&place.meta));
        let is_folder = place.meta.kind == FileKind::Folder;
        let holds = |folder: FileId, name: &Option<OsString>| {
            self.targets.get(&folder).is_some_and(|names| names.contains(name))
        };
        let is_named = || way.first().is_some_and(|step| holds(step.folder, &step.name));
        let is_target = is_folder && (holds(own, &None) || is_named());
        let is_on_way = |(index, step): (usize, &WayName)| match &step.name {
            Some(name) => has((step.folder, Some(name))),
            None => index > 0 && self.targets.contains_key(&step.folder),
        };
        is_full || is_target || (is_folder && has((own, None))) || way.iter().enumerate().any(is_on_way)
    }

    /// Refuses a name that leads to what this run makes or replaces, or was reached by such links. What else is below a
    /// target is read from now on.
    pub(crate) fn check(
        &self,
        followed: &FollowedName<'_>,
        path: impl FnOnce() -> PathBuf,
    ) -> Result<(), Problem> {
        if !self.are_followed() {
            return Ok(());
        }
        let own = self.targets.get(&followed.folder);
        if own.is_some_and(|names| names.contains(&Some(followed.name.to_owned()))) {
            return Err(depends_on_order(&path(), IS_REPLACED));
        }
        match followed.places.iter().find(|place| self.is_written(place)) {
            Some(place) => {
                let shown = shown_path(&place.path()).to_string();
                let words = format!("leads to '{shown}', which this copy replaces or makes");
                Err(depends_on_order(&path(), &words))
            }
            None => {
                self.state.lock().read.extend(followed.places.iter().map(|place| id(&place.meta)));
                Ok(())
            }
        }
    }

    /// Whether a link that was followed to below a target leads to it.
    pub(super) fn read(&self, existing: FileId) -> bool {
        self.are_followed() && self.state.lock().read.contains(&existing)
    }

    pub(super) fn read_some(&self) -> bool {
        self.are_followed() && !self.state.lock().read.is_empty()
    }
}

fn depends_on_order(path: &Path, words: &str) -> Problem {
    Problem::new(Class::Io, Operation::Copy, path, format!("{words}: {ORDER}"))
}

fn folder_id(at: &PathAt) -> Option<FileId> {
    let Ok(Folder::Os(folder)) = at.folder() else { return None };
    file_meta(folder).ok().map(|meta| id(&meta))
}

/// The names on the way down to a place, its own first.
fn way_to(place: &PlaceBehind) -> Vec<WayName> {
    let mut name = place.name.clone();
    let step = |up: UpStep| {
        let name = std::mem::replace(&mut name, up.name);
        WayName { folder: up.id, name }
    };
    way_up(&place.folder).into_iter().map(step).collect()
}
