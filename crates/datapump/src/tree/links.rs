//! Hard links: names of one source file become names of one copy.
//!
//! The first name seen is copied; the others wait until it is committed and are then linked to it, or, when it came to
//! nothing, are tried one after the other. An entry is dropped when all names of the file were seen, so that the table
//! holds only files whose other names are still to come (or lie outside of what is copied).
//!
//! Must not know: how files are copied or linked.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::Meta;
use crate::tree::branch::Branch;

/// A source file: device and inode.
pub(crate) type FileId = (u64, u64);

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
}

#[derive(Debug)]
enum State {
    /// On its way; these names wait for it.
    Copying(Vec<Waiting>),
    /// It stands here.
    Done(Spot),
}

#[derive(Debug)]
struct Linked {
    state: State,
    /// Names not seen yet, by the count of the source when it was first seen.
    unseen: u64,
}

/// What is to be done with a name of a file that has several.
#[derive(Debug)]
pub(crate) enum Meeting {
    /// The first: copy it, then call [`Links::committed`] or [`Links::failed`].
    First,
    /// It waits; whoever copies the first gets it back.
    Waits,
    /// Link it to this.
    Link(Spot),
    /// The target has no hard links: copy it for itself.
    Alone,
}

/// The table of one job: hard links across all its sources are kept.
#[derive(Debug, Default)]
pub(crate) struct Links {
    table: Mutex<HashMap<FileId, Linked>>,
    /// The target's file system has none.
    unknown: AtomicBool,
}

impl Links {
    fn table(&self) -> MutexGuard<'_, HashMap<FileId, Linked>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name of a file with several names. A name that waits keeps its folder from being finished.
    pub(crate) fn meet(&self, meta: &Meta, spot: &Spot) -> Meeting {
        if self.unknown.load(Ordering::Relaxed) {
            return Meeting::Alone;
        }
        let (id, mut table) = (id(meta), self.table());
        let Some(linked) = table.get_mut(&id) else {
            let state = State::Copying(Vec::new());
            table.insert(id, Linked { state, unseen: meta.links.saturating_sub(1) });
            return Meeting::First;
        };
        linked.unseen = linked.unseen.saturating_sub(1);
        match &mut linked.state {
            State::Copying(waiting) => {
                spot.branch.hold();
                waiting.push(Waiting { spot: spot.clone(), meta: *meta });
                Meeting::Waits
            }
            State::Done(there) => {
                let there = there.clone();
                if linked.unseen == 0 {
                    table.remove(&id);
                }
                Meeting::Link(there)
            }
        }
    }

    /// The first name stands; gives the names that waited for it.
    pub(crate) fn committed(&self, id: FileId, spot: Spot) -> Vec<Waiting> {
        let mut table = self.table();
        let Some(linked) = table.get_mut(&id) else { return Vec::new() };
        let waiting = match std::mem::replace(&mut linked.state, State::Done(spot)) {
            State::Copying(waiting) => waiting,
            State::Done(_) => Vec::new(),
        };
        if linked.unseen == 0 {
            table.remove(&id);
        }
        waiting
    }

    /// The target's file system has no hard links.
    pub(crate) fn give_up(&self) {
        self.unknown.store(true, Ordering::Relaxed);
    }

    /// A name cannot be linked to what stands here: the next one is a first again. If another has begun meanwhile, it
    /// stays.
    pub(crate) fn forget(&self, id: FileId, there: &Spot) {
        let mut table = self.table();
        let is_there = |spot: &Spot| Arc::ptr_eq(&spot.branch, &there.branch) && spot.name == there.name;
        if let Some(Linked { state: State::Done(spot), .. }) = table.get(&id)
            && is_there(spot)
        {
            table.remove(&id);
        }
    }

    /// The first name came to nothing; gives the names that waited, each to be met anew.
    pub(crate) fn failed(&self, id: FileId) -> Vec<Waiting> {
        match self.table().remove(&id) {
            Some(Linked { state: State::Copying(waiting), .. }) => waiting,
            _ => Vec::new(),
        }
    }
}

/// What tells a source file from all others.
pub(crate) fn id(meta: &Meta) -> FileId {
    (meta.device, meta.inode)
}
