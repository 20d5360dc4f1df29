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
//! Work that finds no memory is put back in front, and no work is claimed until memory was given back ([`Plan::defer`],
//! [`Plan::go_on`]). Blocks of open files and work in hand go on meanwhile: they end, and give memory back. So that
//! nothing waits for itself, work waits only while something else is unsettled and no lane was lost.
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
    /// Work was put back for lack of memory, and none was given back since.
    lacks_memory: bool,
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
            lacks_memory: false,
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
        if !state.holds_work()
            && let Some(work) = state.work.pop_front()
        {
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

    /// Has the caller's work wait for memory; it puts that back ([`Plan::add_first`]) before it settles it. False if nothing
    /// else is under way that may give memory back.
    pub fn defer(&self) -> bool {
        let mut state = self.state();
        let may_wait = state.unsettled > 1 && !state.lane_lost;
        state.lacks_memory |= may_wait;
        may_wait
    }

    /// Memory was given back: work that waits for it goes on.
    pub fn go_on(&self) {
        if std::mem::take(&mut self.state().lacks_memory) {
            self.more.notify_all();
        }
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
        if state.has_nothing_for(asker) {
            let _ = self.more.wait_timeout(state, WAIT_MAX);
        }
    }
}

impl<Work> PlanState<Work> {
    /// Whether work waits for memory that something under way may give back.
    fn holds_work(&self) -> bool {
        self.lacks_memory && self.unsettled > 0 && !self.lane_lost
    }

    /// Whether a lane waits, because what is under way may bring something.
    fn has_nothing_for(&self, asker: Asker) -> bool {
        let no_work = self.work.is_empty() || self.holds_work();
        let no_pieces = !asker.moves_pieces || (self.open.is_empty() && self.later.is_empty());
        no_work && no_pieces && self.unsettled > 0
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FOR_NAMES: Asker = Asker { moves_pieces: false, has_own: false };

    /// A plan of two pieces of work beside a file under way. The first was claimed and put back for lack of memory.
    fn deferred() -> Plan<u32> {
        let plan = Plan::new([1, 2], 1, false);
        plan.hold();
        assert!(matches!(plan.claim(FOR_NAMES), Claim::Work(1)));
        assert!(plan.defer(), "the file may give memory back");
        plan.add_first([1].into_iter());
        plan.settled();
        plan
    }

    #[test]
    fn work_waits_until_memory_is_given_back() {
        let plan = deferred();
        assert!(matches!(plan.claim(FOR_NAMES), Claim::NotYet));
        assert!(plan.state().has_nothing_for(FOR_NAMES), "the lane sleeps");
        assert!(
            matches!(plan.claim(Asker { has_own: true, ..FOR_NAMES }), Claim::Own),
            "work in hand goes on"
        );
        assert!(!plan.is_exhausted(), "a run that is stopped now is not complete");
        plan.go_on();
        assert!(!plan.state().has_nothing_for(FOR_NAMES));
        assert!(matches!(plan.claim(FOR_NAMES), Claim::Work(1)), "before what was behind it");
        assert!(matches!(plan.claim(FOR_NAMES), Claim::Work(2)));
    }

    #[test]
    fn work_does_not_wait_once_nothing_else_is_under_way() {
        let alone = Plan::new([1], 1, false);
        assert!(matches!(alone.claim(FOR_NAMES), Claim::Work(1)));
        assert!(!alone.defer(), "it would wait for itself");

        let plan = deferred();
        plan.settled(); // The file has ended, and gave nothing back.
        assert!(!plan.state().has_nothing_for(FOR_NAMES), "no lane sleeps");
        assert!(matches!(plan.claim(FOR_NAMES), Claim::Work(1)));
        assert!(!plan.defer());
        assert!(
            matches!(plan.claim(FOR_NAMES), Claim::NotYet),
            "another lane would defer its work for this one"
        );
        plan.settled();
        assert!(matches!(plan.claim(FOR_NAMES), Claim::Work(2)));
    }

    #[test]
    fn work_does_not_wait_for_a_lane_that_is_lost() {
        let plan = deferred();
        plan.lose_lane();
        assert!(matches!(plan.claim(FOR_NAMES), Claim::Work(1)));
        assert!(!plan.defer(), "what the lane had may never end");
    }

    /// A file with several names, of which the first is copied and the others wait for it.
    #[derive(Clone, Debug)]
    struct NamedOften {
        /// It ends once all else is done, as one does in whose place a folder is.
        ends_last: bool,
        /// So many of its first names fail.
        failures: usize,
        is_under_way: bool,
        is_copied: bool,
        waiting: usize,
    }

    /// A lane of the model, with a batch of names: the numbers of their files.
    #[derive(Clone, Debug, Default)]
    struct ModelLane {
        names: Vec<usize>,
        has_deferred: bool,
    }

    /// Lanes that deal with names by a plan. So many names may wait at a time.
    struct ModelRun {
        plan: Plan<Vec<usize>>,
        files: Vec<NamedOften>,
        lanes: Vec<ModelLane>,
        room: usize,
        waiting: usize,
        /// A name holds the plan until so many others have ended, as one with the form of a temporary name does.
        put_off_behind: Option<usize>,
        /// Files whose first name has ended, and so many names that waited for it.
        ending: Vec<(usize, usize)>,
        ended: usize,
        refused: usize,
    }

    impl ModelRun {
        /// One step of a lane; false if there is nothing to do for it.
        fn step(&mut self, lane: usize) -> bool {
            let has_own = !self.lanes[lane].names.is_empty();
            if std::mem::take(&mut self.lanes[lane].has_deferred) {
                let names = std::mem::take(&mut self.lanes[lane].names);
                self.plan.add_first([names].into_iter());
                self.plan.settled();
                return true;
            }
            match self.plan.claim(Asker { has_own, ..FOR_NAMES }) {
                Claim::Own => self.deal_with_name(lane),
                Claim::Work(names) if names.is_empty() => self.end_all(),
                Claim::Work(names) => self.lanes[lane].names = names,
                Claim::NotYet | Claim::Never => return false,
                Claim::Piece(..) => unreachable!("the model has no blocks"),
            }
            true
        }

        fn deal_with_name(&mut self, lane: usize) {
            let number = *self.lanes[lane].names.last().expect("it has some");
            let (has_room, waits) = (self.waiting < self.room, self.waiting > 0);
            let file = &mut self.files[number];
            match (file.is_copied, file.is_under_way) {
                (true, _) => self.ended += 1,
                (_, under_way) if !has_room && (under_way || waits) && self.plan.defer() => {
                    self.lanes[lane].has_deferred = true;
                    return;
                }
                _ if !has_room => (self.ended, self.refused) = (self.ended + 1, self.refused + 1),
                (_, true) => (file.waiting, self.waiting) = (file.waiting + 1, self.waiting + 1),
                (_, false) => {
                    file.is_under_way = true;
                    (!file.ends_last).then(|| self.plan.hold());
                }
            }
            self.lanes[lane].names.pop();
            if self.lanes[lane].names.is_empty() {
                self.plan.settled();
            }
        }

        /// The first name of a file ends: the names that waited for it are taken.
        fn end_first(&mut self, number: usize) {
            let file = &mut self.files[number];
            file.is_under_way = false;
            file.is_copied = file.failures == 0;
            file.failures = file.failures.saturating_sub(1);
            self.ended += 1;
            self.ending.push((number, std::mem::take(&mut file.waiting)));
        }

        /// Names that were taken are linked, or dealt with again, and gave their memory back.
        fn give_back(&mut self) -> bool {
            let Some((number, names)) = self.ending.pop() else { return false };
            if self.files[number].is_copied {
                self.ended += names;
            } else {
                self.plan.add_first((0..names).map(|_| vec![number]));
            }
            self.waiting -= names;
            self.plan.go_on();
            (!self.files[number].ends_last).then(|| self.plan.settled());
            true
        }

        /// The work behind all else: files end that waited for it.
        fn end_all(&mut self) {
            let last: Vec<usize> = (0..self.files.len()).filter(|&at| self.files[at].is_under_way).collect();
            for &number in &last {
                self.end_first(number);
                self.give_back();
            }
            if !last.is_empty() {
                self.plan.put_behind(Vec::new());
            }
            self.plan.settled();
        }

        /// A step of a lane, of a file under way or of one that ends. False if it has none.
        fn act(&mut self, actor: usize) -> bool {
            let files = self.files.len();
            if self.put_off_behind.take_if(|names| *names == self.ended).is_some() {
                self.plan.settled();
                return true;
            }
            match actor % (self.lanes.len() + files + 1) {
                0 => self.give_back(),
                at if at > files => self.step(at - files - 1),
                at if self.files[at - 1].is_under_way && !self.files[at - 1].ends_last => {
                    self.end_first(at - 1);
                    true
                }
                _ => false,
            }
        }
    }

    proptest! {
        /// Whatever the order of steps, every name ends, and none is refused where a first name under way will end.
        #[test]
        fn names_without_room_wait_and_none_is_lost(
            batches in prop::collection::vec(prop::collection::vec(0_usize..4, 1..6), 1..8),
            files in prop::collection::vec((prop::bool::weighted(0.2), 0_usize..2), 4),
            (lanes, room) in (1_usize..4, 1_usize..4),
            actors in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let names: usize = batches.iter().map(Vec::len).sum();
            let file = |(ends_last, failures)| NamedOften {
                ends_last, failures, is_under_way: false, is_copied: false, waiting: 0,
            };
            let mut run = ModelRun {
                plan: Plan::new(batches, 1, false),
                files: files.iter().copied().map(file).collect(),
                lanes: vec![ModelLane::default(); lanes],
                room,
                waiting: 0,
                put_off_behind: files.iter().all(|(ends_last, _)| !ends_last).then_some(names),
                ending: Vec::new(),
                ended: 0,
                refused: 0,
            };
            run.plan.put_behind(Vec::new());
            run.put_off_behind.iter().for_each(|_| run.plan.hold());
            for actor in actors {
                run.act(actor.into());
            }
            let all = lanes + files.len() + 1;
            let mut rounds = 0;
            while (0..all).filter(|&actor| run.act(actor)).count() > 0 {
                rounds += 1;
                prop_assert!(rounds < 1000, "it never comes to rest");
            }
            prop_assert!(run.plan.is_exhausted(), "{:?} {:?}", run.plan, run.lanes);
            prop_assert_eq!((run.ended, run.waiting), (names, 0));
            if files.iter().all(|(ends_last, _)| !ends_last) {
                prop_assert_eq!(run.refused, 0);
            }
        }
    }
}
