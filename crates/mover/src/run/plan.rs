//! The work that is left, shared by the lanes: sources not opened yet, folders to list, names to deal with, and ranges
//! of open files not claimed yet.
//!
//! A lane claims a piece of an open file, or a piece of work that leads to files, and does it itself, outside the lock.
//! A slow lane takes less. Trees are walked depth first, so that what is known but not done stays small: a folder's
//! names come in batches, and a batch is done before the next is read.
//!
//! Large files and small ones do not wait for each other: the first lanes move pieces before anything else, the others
//! go on with names and leave large files to them until there is nothing else to do.
//!
//! Must not know: how files are opened, moved or finished, what a folder is.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use datapump_core::{BlockRoute, Extent, Length};

use crate::file::task::Task;
use datapump_engine::WAIT_MAX;

/// Blocks that a lane claims at a time: enough to make the lock rare, few enough that lanes end together.
const CLAIM_BLOCKS: u64 = 32;
/// The same over a long path, where a connection may move 20 MB/s: 32 blocks would take it 1.7 s behind the others.
const CLAIM_BLOCKS_LONG: u64 = 4;
/// Large files that are open at a time for the lanes that move them, so that one is at hand when another ends.
const OPEN_MAX: usize = 4;
/// Large files known but not opened; beyond, every lane moves pieces until there are fewer.
const LATER_MAX: usize = 4096;

/// An open file and what nobody has claimed of it.
#[derive(Debug)]
struct OpenTask {
    task: Arc<Task>,
    unclaimed: Unclaimed,
    way: BlockRoute,
}

#[derive(Debug)]
enum Unclaimed {
    Ranges(VecDeque<(u64, u64)>),
    UntilEnd,
}

#[derive(Debug)]
struct PlanState<Work> {
    /// Taken from the front; what work leads to is put there.
    work: VecDeque<Work>,
    /// Large files for the lanes that move pieces.
    later: VecDeque<Work>,
    open: VecDeque<OpenTask>,
    /// The work that is done once, when all else is done.
    behind: Option<Work>,
    /// Work that somebody does, and files that may still bring new ones (to be read back).
    unsettled: usize,
    /// A lane has failed: what it had claimed will never land.
    lane_lost: bool,
    /// Names or a small file were given back undone, because the run is stopping.
    cut: bool,
}

/// The plan of one run over pieces of `Work`, which the caller knows how to do.
#[derive(Debug)]
pub struct Plan<Work> {
    state: Mutex<PlanState<Work>>,
    more: Condvar,
    claim_bytes: u64,
}

/// The files of a plan, whatever work leads to them.
pub trait FilePlan: Sync {
    /// Enqueues a file's ranges for all lanes (`None`: until its end); it stays unsettled until [`FilePlan::settled`].
    fn enqueue(&self, task: Arc<Task>, ranges: Option<Vec<(u64, u64)>>, way: BlockRoute);
    /// Work, or a file that was enqueued, will bring nothing new any more.
    fn settled(&self);
    /// A piece of an open file, for who requests it before it has room for it.
    fn claim_ahead(&self) -> Option<(Arc<Task>, Extent)>;
    /// Something that was claimed is not done, because the run is stopping.
    fn cut(&self);
    /// A lane has failed, wherever that was.
    fn lose_lane(&self);
}

impl<Work: Send> FilePlan for Plan<Work> {
    fn enqueue(&self, task: Arc<Task>, ranges: Option<Vec<(u64, u64)>>, way: BlockRoute) {
        task.share();
        let unclaimed = ranges.map_or(Unclaimed::UntilEnd, |ranges| Unclaimed::Ranges(ranges.into()));
        let mut state = self.state();
        state.unsettled += 1;
        state.open.push_back(OpenTask { task, unclaimed, way });
        drop(state);
        self.more.notify_all();
    }

    fn settled(&self) {
        Plan::settled(self);
    }

    fn claim_ahead(&self) -> Option<(Arc<Task>, Extent)> {
        match self.claim_large(&mut self.state(), true) {
            Some(Claim::Piece(task, extent)) => Some((task, extent)),
            _ => None,
        }
    }

    fn cut(&self) {
        Plan::cut(self);
    }

    fn lose_lane(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).lane_lost = true;
        self.more.notify_all();
    }
}

/// What a lane got.
#[derive(Debug)]
pub enum Claim<Work> {
    /// A piece of an open file.
    Piece(Arc<Task>, Extent),
    /// Something to do; call [`Plan::settled`] when it is done.
    Work(Work),
    /// Go on with what you have.
    Own,
    /// Nothing now.
    NotYet,
    /// Nothing ever again.
    Never,
}

/// A lane that asks for something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// Pieces of large files come before names.
    pub moves_pieces: bool,
    /// It has names of its own to go on with.
    pub has_own: bool,
}

impl<Work> Plan<Work> {
    /// `is_long`: over a long path.
    pub fn new(work: impl IntoIterator<Item = Work>, request_bytes: u32, is_long: bool) -> Plan<Work> {
        let state = PlanState {
            work: work.into_iter().collect(),
            later: VecDeque::new(),
            open: VecDeque::new(),
            behind: None,
            unsettled: 0,
            lane_lost: false,
            cut: false,
        };
        Plan {
            state: Mutex::new(state),
            more: Condvar::new(),
            claim_bytes: if is_long { CLAIM_BLOCKS_LONG } else { CLAIM_BLOCKS } * u64::from(request_bytes),
        }
    }

    /// A plan of which one lane claims each file as a whole, which moves it from start to end.
    pub fn of_whole_files(self) -> Plan<Work> {
        Plan { claim_bytes: u64::MAX, ..self }
    }

    fn state(&self) -> MutexGuard<'_, PlanState<Work>> {
        self.state.lock().expect("no panic while the plan is locked")
    }

    /// Claims what is next for a lane: a piece of an open file, its own work, work of the plan, and last what is behind all
    /// else.
    pub fn claim(&self, asker: Asker) -> Claim<Work> {
        let mut state = self.state();
        let crowded = state.later.len() >= LATER_MAX;
        if (asker.moves_pieces || crowded)
            && let Some(claim) = self.claim_large(&mut state, asker.has_own)
        {
            return claim;
        }
        if asker.has_own {
            return Claim::Own;
        }
        if let Some(work) = state.work.pop_front() {
            state.unsettled += 1;
            return Claim::Work(work);
        }
        if state.unsettled > 0 && !state.lane_lost { Claim::NotYet } else { self.claim_last(&mut state) }
    }

    /// Claims a piece of an open file, or a large file to be opened by a lane that has nothing else in hand.
    fn claim_large(&self, state: &mut PlanState<Work>, has_own: bool) -> Option<Claim<Work>> {
        while let Some(open) = state.open.front_mut() {
            match open.claim(self.claim_bytes) {
                Some(extent) => return Some(Claim::Piece(Arc::clone(&open.task), extent)),
                None => drop(state.open.pop_front()),
            }
        }
        if has_own {
            return None;
        }
        let work = state.later.pop_front()?;
        state.unsettled += 1;
        Some(Claim::Work(work))
    }

    /// Claims where no work is left: large files that other lanes did not move, then, once nothing is unsettled, what is behind
    /// all.
    fn claim_last(&self, state: &mut PlanState<Work>) -> Claim<Work> {
        if let Some(claim) = self.claim_large(state, false) {
            return claim;
        }
        match state.behind.take_if(|_| state.unsettled == 0) {
            Some(work) => {
                state.unsettled += 1;
                Claim::Work(work)
            }
            None => Claim::Never,
        }
    }

    /// One more piece of work, for when all else is done: what it leads to is done behind it.
    pub fn put_behind(&self, work: Work) {
        self.state().behind = Some(work);
    }

    /// Work that other work led to: done before what was there.
    pub fn add_first(&self, work: impl DoubleEndedIterator<Item = Work>) {
        let mut state = self.state();
        work.rev().for_each(|work| state.work.push_front(work));
        drop(state);
        self.more.notify_all();
    }

    /// Whether a large file must wait until others are done.
    pub fn has_enough_open(&self) -> bool {
        self.state().open.len() >= OPEN_MAX
    }

    /// A large file for the lanes that move them.
    pub fn add_later(&self, work: Work) {
        self.state().later.push_back(work);
        self.more.notify_all();
    }

    /// Something that one lane has may bring more; call [`Plan::settled`] when it will not any more.
    pub fn hold(&self) {
        self.state().unsettled += 1;
    }

    /// Work, or a file that was put up, will bring nothing new any more.
    pub fn settled(&self) {
        self.state().unsettled -= 1;
        self.more.notify_all();
    }

    /// Something that was claimed is not done, because the run is stopping.
    pub fn cut(&self) {
        self.state().cut = true;
    }

    /// Whether all was done.
    pub fn is_exhausted(&self) -> bool {
        let state = self.state();
        let is_empty = state.work.is_empty() && state.later.is_empty() && state.behind.is_none();
        !state.cut && is_empty && state.unsettled == 0
    }

    /// Waits until something may have changed for who asks.
    pub fn wait(&self, asker: Asker) {
        let state = self.state();
        let no_pieces = !asker.moves_pieces || (state.open.is_empty() && state.later.is_empty());
        if state.work.is_empty() && no_pieces && state.unsettled > 0 {
            let _ = self.more.wait_timeout(state, WAIT_MAX);
        }
    }
}

impl<Work> Claim<Work> {
    /// This claim without its work, which `keep` gets.
    pub fn keeping_work(self, keep: impl FnOnce(Work)) -> Claim<()> {
        match self {
            Claim::Piece(task, extent) => Claim::Piece(task, extent),
            Claim::Work(work) => {
                keep(work);
                Claim::Work(())
            }
            Claim::Own => Claim::Own,
            Claim::NotYet => Claim::NotYet,
            Claim::Never => Claim::Never,
        }
    }
}

impl OpenTask {
    /// Claims at most so many bytes from the front of what is unclaimed. `None` where nothing is, or the file has failed.
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
