//! What is left to do, shared by the lanes: sources not opened yet, and ranges of open files not claimed yet.
//!
//! A lane claims a piece of an open file, or opens the next source itself, outside the lock. A slow lane takes less.
//!
//! Must not know: how files are opened, moved or finished.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use datapump_core::{Extent, Length, Way};

use crate::task::Task;
use crate::world::PATIENCE;

/// Blocks that a lane claims at a time: enough to make the lock rare, few enough that lanes end together.
const CLAIM_BLOCKS: u64 = 32;

/// An open file and what nobody has claimed of it.
#[derive(Debug)]
struct Open {
    task: Arc<Task>,
    unclaimed: Unclaimed,
    way: Way,
}

#[derive(Debug)]
enum Unclaimed {
    Ranges(VecDeque<(u64, u64)>),
    UntilEnd,
}

#[derive(Debug)]
struct State<Item> {
    items: VecDeque<Item>,
    open: VecDeque<Open>,
    /// Items being opened, and files that may still bring new ones (to be read back).
    unsettled: usize,
    /// A lane has failed: what it had claimed will never land.
    lane_lost: bool,
}

/// The plan of one run over `Item`s, which the caller knows how to open.
#[derive(Debug)]
pub(crate) struct Plan<Item> {
    state: Mutex<State<Item>>,
    more: Condvar,
    claim_bytes: u64,
}

/// What a lane got.
#[derive(Debug)]
pub(crate) enum Claim<Item> {
    /// A piece of an open file.
    Piece(Arc<Task>, Extent),
    /// The next source: open it, then call [`Plan::opened`].
    Item(Item),
    /// Nothing now.
    NotYet,
    /// Nothing ever again.
    Never,
}

impl<Item> Plan<Item> {
    pub(crate) fn new(items: impl IntoIterator<Item = Item>, request_bytes: u32) -> Plan<Item> {
        let state = State {
            items: items.into_iter().collect(),
            open: VecDeque::new(),
            unsettled: 0,
            lane_lost: false,
        };
        Plan {
            state: Mutex::new(state),
            more: Condvar::new(),
            claim_bytes: CLAIM_BLOCKS * u64::from(request_bytes),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<Item>> {
        self.state.lock().expect("no panic while the plan is locked")
    }

    pub(crate) fn claim(&self) -> Claim<Item> {
        let mut state = self.state();
        while let Some(open) = state.open.front_mut() {
            match open.claim(self.claim_bytes) {
                Some(extent) => return Claim::Piece(Arc::clone(&open.task), extent),
                None => state.open.pop_front(),
            };
        }
        if let Some(item) = state.items.pop_front() {
            state.unsettled += 1;
            return Claim::Item(item);
        }
        if state.unsettled > 0 && !state.lane_lost { Claim::NotYet } else { Claim::Never }
    }

    /// Puts a file's ranges up for claiming (`None`: until its end); it stays unsettled until [`Plan::settled`].
    pub(crate) fn opened(&self, task: Arc<Task>, ranges: Option<Vec<(u64, u64)>>, way: Way) {
        let unclaimed = ranges.map_or(Unclaimed::UntilEnd, |ranges| Unclaimed::Ranges(ranges.into()));
        self.state().open.push_back(Open { task, unclaimed, way });
        self.more.notify_all();
    }

    /// An item, or what it led to, will bring nothing new any more.
    pub(crate) fn settled(&self) {
        self.state().unsettled -= 1;
        self.more.notify_all();
    }

    /// A lane has failed.
    pub(crate) fn lose_lane(&self) {
        self.state().lane_lost = true;
        self.more.notify_all();
    }

    /// Waits until something may have changed.
    pub(crate) fn wait(&self) {
        let state = self.state();
        if state.open.is_empty() && state.items.is_empty() && state.unsettled > 0 {
            let _ = self.more.wait_timeout(state, PATIENCE);
        }
    }
}

impl Open {
    fn claim(&mut self, most_bytes: u64) -> Option<Extent> {
        if self.task.has_failed() {
            return None;
        }
        let file = self.task.number;
        match &mut self.unclaimed {
            Unclaimed::UntilEnd => {
                // One lane reads it from start to end; nothing is left for the next claim.
                self.unclaimed = Unclaimed::Ranges(VecDeque::new());
                Some(Extent { file, at: 0, length: Length::UntilEnd, way: self.way })
            }
            Unclaimed::Ranges(ranges) => {
                let (start, end) = ranges.front_mut()?;
                let (at, bytes) = (*start, (*end - *start).min(most_bytes));
                *start += bytes;
                if start == end {
                    ranges.pop_front();
                }
                Some(Extent { file, at, length: Length::Bytes(bytes), way: self.way })
            }
        }
    }
}
