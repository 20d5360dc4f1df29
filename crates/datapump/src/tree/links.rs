//! Hard links: names of one source file become names of one copy.
//!
//! The first name seen is copied; the others wait until it is committed and are then linked to it, or, when it came to
//! nothing, are tried one after the other. An entry is dropped when all names of the file were seen, so that the table
//! holds only files whose other names are still to come (or lie outside of what is copied).
//!
//! A source may be changed while it is copied, and an inode number that was deleted is used again. So a name is linked
//! only to a copy of the very state that it has itself: size, times, generation. One of another state is a first of its
//! own.
//!
//! Must not know: how files are copied or linked.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::budget::Charge;
use crate::disk::Meta;
use crate::tree::branch::Branch;

/// A file: device and inode.
pub(crate) type FileId = (u64, u64);

/// A source file as it was when one of its names was met. Only changes of the file itself change its `ctime_ns`: names
/// that it gets or loses count as such, reading it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileState {
    id: FileId,
    generation: u32,
    size_bytes: u64,
    mtime_ns: i128,
    ctime_ns: i128,
}

impl FileState {
    pub(crate) fn new(meta: &Meta, generation: u32) -> FileState {
        let &Meta { size_bytes, mtime_ns, ctime_ns, .. } = meta;
        FileState { id: id(meta), generation, size_bytes, mtime_ns, ctime_ns }
    }

    /// The least state that a file of this number may have.
    fn least(self) -> FileState {
        let (least, none) = (i128::MIN, 0);
        FileState { id: self.id, generation: 0, size_bytes: none, mtime_ns: least, ctime_ns: least }
    }
}

/// A name in a folder of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) branch: Arc<Branch>,
    pub(crate) name: OsString,
}

/// A name that waits until the first one of its file stands, and what it is at the source.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) spot: Spot,
    pub(crate) meta: Meta,
    pub(crate) _charge: Option<Charge>,
}

/// The first name of a file at the target, and the file that this run left under it; `None` where nothing is written.
#[derive(Clone, Debug)]
pub(crate) struct Copied {
    pub(crate) spot: Spot,
    pub(crate) copy: Option<FileId>,
}

#[derive(Debug)]
enum State {
    /// On its way; these names wait for it.
    Copying(Vec<Waiting>),
    /// It stands here.
    Done(Copied),
}

#[derive(Debug)]
struct Linked {
    state: State,
    /// Names not seen yet, by the count of the source when it was first seen.
    unseen: u64,
    _charge: Option<Charge>,
}

/// What is to be done with a name of a file that has several.
#[derive(Debug)]
pub(crate) enum Meeting {
    /// The first: copy it, then call [`Links::committed`] or [`Links::failed`].
    First {
        /// A name of this file was met when it was another, or in another state.
        has_changed: bool,
    },
    /// It waits; whoever copies the first gets it back.
    Waits,
    /// Link it to this.
    Link(Copied),
    /// The target has no hard links: copy it for itself.
    Alone,
}

/// The table of one job: hard links across all its sources are kept.
#[derive(Debug, Default)]
pub(crate) struct Links {
    table: Mutex<BTreeMap<FileState, Linked>>,
    /// The target's file system has none.
    unknown: AtomicBool,
}

impl Links {
    fn table(&self) -> MutexGuard<'_, BTreeMap<FileState, Linked>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name of a file with several names. A name that waits keeps its folder from being finished. What is kept of it
    /// is charged: [`memory_of`].
    pub(crate) fn meet(&self, file: FileState, meta: &Meta, spot: &Spot, charge: Option<Charge>) -> Meeting {
        if self.unknown.load(Ordering::Relaxed) {
            return Meeting::Alone;
        }
        let mut table = self.table();
        let Some(linked) = table.get_mut(&file) else {
            let has_changed =
                table.range(file.least()..).next().is_some_and(|(other, _)| other.id == file.id);
            let state = State::Copying(Vec::new());
            table.insert(file, Linked { state, unseen: meta.links.saturating_sub(1), _charge: charge });
            return Meeting::First { has_changed };
        };
        linked.unseen = linked.unseen.saturating_sub(1);
        match &mut linked.state {
            State::Copying(waiting) => {
                spot.branch.hold();
                waiting.push(Waiting { spot: spot.clone(), meta: *meta, _charge: charge });
                Meeting::Waits
            }
            State::Done(there) => {
                let there = there.clone();
                if linked.unseen == 0 {
                    table.remove(&file);
                }
                Meeting::Link(there)
            }
        }
    }

    /// The first name stands; gives the names that waited for it.
    pub(crate) fn committed(&self, file: FileState, copied: Copied) -> Vec<Waiting> {
        let mut table = self.table();
        let Some(linked) = table.get_mut(&file) else { return Vec::new() };
        let waiting = match std::mem::replace(&mut linked.state, State::Done(copied)) {
            State::Copying(waiting) => waiting,
            State::Done(_) => Vec::new(),
        };
        if linked.unseen == 0 {
            table.remove(&file);
        }
        waiting
    }

    /// The target's file system has no hard links.
    pub(crate) fn give_up(&self) {
        self.unknown.store(true, Ordering::Relaxed);
    }

    /// A name cannot be linked to what stands here: the next one is a first again. If another has begun meanwhile, it
    /// stays.
    pub(crate) fn forget(&self, file: FileState, there: &Spot) {
        let mut table = self.table();
        let is_there = |spot: &Spot| Arc::ptr_eq(&spot.branch, &there.branch) && spot.name == there.name;
        if let Some(Linked { state: State::Done(copied), .. }) = table.get(&file)
            && is_there(&copied.spot)
        {
            table.remove(&file);
        }
    }

    /// The first name came to nothing; gives the names that waited, each to be met anew.
    pub(crate) fn failed(&self, file: FileState) -> Vec<Waiting> {
        match self.table().remove(&file) {
            Some(Linked { state: State::Copying(waiting), .. }) => waiting,
            _ => Vec::new(),
        }
    }
}

/// What the table keeps of a name.
pub(crate) fn memory_of(name: &OsStr) -> usize {
    /// What nodes of the table leave free, and the name's own piece of memory.
    const BESIDES: usize = 128;
    size_of::<FileState>() + size_of::<Linked>().max(size_of::<Waiting>()) + BESIDES + name.len()
}

/// What tells a source file from all others.
pub(crate) fn id(meta: &Meta) -> FileId {
    (meta.device, meta.inode)
}
