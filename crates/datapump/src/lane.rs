//! One lane: one thread that drives one pump over one engine until the plan is done.
//!
//! The whole program is the loop in [`Lane::run`]: ask the pump, do what it says, tell it what came of it. Every wait
//! is timed and charged to the end that the pump names.
//!
//! Must not know: how files are opened (`open`) and finished (`finish`), what the job is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datapump_core::{
    Block, Claimed, Counts, Event, Extent, Fault, FaultKind, Pump, Request, Settled, Side, Step, Transfer,
    Way,
};
use datapump_engine::{Completion, Engine, Errno, Kind, Op, Slot};

use crate::end::{EAGAIN, Sink, Source, settled};
use crate::plan::{Asker, Claim};
use crate::problem::{Class, Problem};
use crate::report::{Asked, Waits};
use crate::run::{QueuedNulls, Shared, Work};
use crate::task::{Finish, Task};
use crate::tree::branch::{Batch, Branch};
use crate::tree::entry::Hand;
use crate::watch::Watch;
use crate::world::PATIENCE;
use crate::{fault, finish, tree};

/// What a lane leaves behind.
#[derive(Debug)]
pub(crate) struct LaneResult {
    pub(crate) counts: Counts,
    pub(crate) waits: Waits,
    pub(crate) engine: Asked,
    pub(crate) done_ns: u64,
}

pub(crate) struct Lane<'run> {
    shared: &'run Shared<'run>,
    pump: Pump,
    engine: Engine,
    asked: Asked,
    /// The task of each slot's block. Slots keep their task until another needs them: on the null path nothing is
    /// counted up or down.
    tasks: Vec<Option<Arc<Task>>>,
    /// The task of the extent being cut.
    current: Option<Arc<Task>>,
    flights: Vec<Request>,
    queued: QueuedNulls,
    /// Posting may block: the time inside is a wait.
    blocking: bool,
    pub(crate) waits: Waits,
    /// What progress reads; this lane is the only writer.
    counter: &'run AtomicU64,
    /// There is a rate limit.
    limited: bool,
    stopping: bool,
    /// Bytes landed of `landed_of` and not yet told to the task, which other lanes share.
    landed_bytes: u64,
    landed_of: Option<Arc<Task>>,
    landed_file: u32,
    /// The plan had no more: each block may be the last of its file.
    draining: bool,
    /// Names that this lane deals with.
    hand: Option<Hand>,
    /// Pieces of large files come before names.
    moves_pieces: bool,
}

impl<'run> Lane<'run> {
    /// A lane with its engine; a problem when there is no memory for its slots.
    pub(crate) fn new(shared: &'run Shared<'run>, index: usize) -> Result<Lane<'run>, Problem> {
        let pump = Pump::new(shared.shape);
        let slots = pump.slots();
        let twins = if shared.has_twins { 2 } else { 1 };
        let (mut engine, asked) = shared.engine(slots * twins, slots)?;
        shared.fill_null_slots(&mut engine, slots, index);
        let block = Block { file: 0, at: 0, len: 0 };
        let empty = Request { transfer: Transfer::Read, slot: 0, done: 0, block };
        Ok(Lane {
            shared,
            blocking: matches!(engine.kind(), Kind::Inline | Kind::Sim),
            queued: shared.queued_nulls,
            pump,
            engine,
            asked,
            tasks: vec![None; slots as usize],
            current: None,
            flights: vec![empty; slots as usize],
            waits: Waits::default(),
            stopping: false,
            landed_bytes: 0,
            landed_of: None,
            landed_file: u32::MAX,
            counter: shared.watch.counter(index),
            limited: shared.rate.is_some(),
            draining: false,
            hand: None,
            moves_pieces: index < shared.lanes_for_pieces,
        })
    }

    /// Moves blocks until the plan is done or the run is stopped.
    pub(crate) fn run(mut self) -> Result<LaneResult, Problem> {
        loop {
            match self.pump.poll() {
                Step::Post(request) => self.post(request),
                Step::Claim => self.claim(),
                Step::Wait(side) => self.reap(side)?,
                Step::Starved => self.starve(),
                Step::Done => break,
            }
        }
        let done_ns = self.shared.world.clock.now_ns();
        Ok(LaneResult { counts: self.pump.counts(), waits: self.waits, engine: self.asked, done_ns })
    }

    fn claim(&mut self) {
        self.heed_stop();
        self.tell_landed();
        let asker = self.asker();
        let claim = self.shared.plan.claim(asker);
        self.draining = !matches!(claim, Claim::Piece(..));
        let claimed = match claim {
            Claim::Never => Some(Claimed::Never),
            Claim::NotYet => Some(Claimed::NotYet),
            Claim::Piece(task, extent) => Some(self.take_up(task, extent)),
            Claim::Own => self.timed(Lane::next_name),
            Claim::Work(work) => self.timed(|lane| lane.work(work)),
        };
        match claimed {
            Some(Claimed::Extent(_)) if self.stopping => self.shared.plan.cut(),
            Some(claimed) if !self.stopping => self.pump.handle_claim(claimed),
            _ => {}
        }
    }

    fn asker(&self) -> Asker {
        Asker { moves_pieces: self.moves_pieces, has_own: self.hand.is_some() }
    }

    fn take_up(&mut self, task: Arc<Task>, extent: Extent) -> Claimed {
        self.current = Some(task);
        Claimed::Extent(extent)
    }

    /// Time between blocks goes to metadata, but for what was charged otherwise inside: files that need no block are
    /// finished in there.
    fn timed(&mut self, act: impl FnOnce(&mut Self) -> Option<Claimed>) -> Option<Claimed> {
        let (start_ns, before) = (self.now_ns(), self.waits);
        let claimed = act(self);
        let charged = self.waits.metadata + self.waits.sync - before.metadata - before.sync;
        self.waits.metadata += (self.now_ns() - start_ns).saturating_sub(charged);
        claimed
    }

    fn work(&mut self, work: Work) -> Option<Claimed> {
        match work {
            Work::Item(item) => tree::open_item(self.shared, &mut self.waits, &item),
            Work::List(branch) => tree::walk::list(self.shared, &branch),
            Work::Others(branch) => tree::compare::others(self.shared, &branch),
            Work::Batch(batch) => return self.take_batch(batch),
        }
        self.shared.plan.settled();
        None
    }

    fn take_batch(&mut self, batch: Batch) -> Option<Claimed> {
        match Hand::take(batch) {
            Ok(hand) => {
                debug_assert!(self.hand.is_none(), "names in hand come before others");
                self.hand = Some(hand);
                self.next_name()
            }
            Err((branch, walks, problem)) => {
                branch.root.report(self.shared, problem);
                self.put_down(&branch, walks);
                None
            }
        }
    }

    /// Goes on with this lane's own names.
    fn next_name(&mut self) -> Option<Claimed> {
        let mut hand = self.hand.take()?;
        let ready = hand.next(self.shared, &mut self.waits);
        match hand.left() {
            0 => self.put_down(&hand.branch, hand.walks),
            _ if self.shared.stop.load(Ordering::Relaxed) => self.shared.plan.cut(),
            _ => self.hand = Some(hand),
        }
        ready.map(|(task, extent)| self.take_up(task, extent))
    }

    fn put_down(&self, branch: &Arc<Branch>, walks: bool) {
        if walks {
            self.shared.trees.walked(&self.shared.watch);
        }
        tree::finish::release(self.shared, branch);
        self.shared.plan.settled();
    }

    /// Nothing is in flight here; another lane may open or finish something.
    fn starve(&mut self) {
        self.shared.plan.wait(self.asker());
        self.heed_stop();
        if !self.stopping {
            self.pump.handle_more();
        }
    }

    /// A stop was asked for: post no more, call back what may never end.
    fn heed_stop(&mut self) {
        if self.shared.stop.load(Ordering::Relaxed) {
            if !self.stopping {
                self.stopping = true;
                self.pump.handle_stop();
            }
            // Each time: a request may have started anew just when it was looked for.
            self.engine.cancel();
        }
    }

    #[inline]
    fn post(&mut self, request: Request) {
        let Request { transfer, slot, block, done } = request;
        if transfer != Transfer::Write {
            self.own(slot, block.file);
        }
        if self.does_nothing(transfer, slot) {
            return self.settle(slot, Settled::Moved(block.len - done));
        }
        let op = self.op(request);
        self.flights[slot as usize] = request;
        let at_once = match () {
            () if self.shared.has_trees && self.is_small(slot) => self.post_small(slot, op, transfer),
            () if self.blocking || transfer == Transfer::Copy => self.post_timed(slot, op, transfer),
            () => self.engine.post(slot, op),
        };
        if let Some(completion) = at_once {
            self.complete(completion.result, request);
        }
    }

    fn is_small(&self, slot: u32) -> bool {
        self.tasks[slot as usize].as_ref().is_some_and(|task| task.is_small())
    }

    /// A small file of a tree: one request at a time costs less than a queue (LIMITS §5).
    fn post_small(&mut self, slot: u32, op: Op, transfer: Transfer) -> Option<Completion> {
        let start_ns = self.now_ns();
        let completion = self.engine.post_inline(slot, op);
        let side = if transfer == Transfer::Read { Side::Source } else { Side::Sink };
        self.charge(side, self.now_ns() - start_ns);
        Some(completion)
    }

    /// Null ends complete where they stand, unless the engine itself is what is studied.
    #[inline]
    fn does_nothing(&self, transfer: Transfer, slot: u32) -> bool {
        let Some(task) = &self.tasks[slot as usize] else { return false };
        match transfer {
            Transfer::Read => matches!(task.source, Source::Null) && !self.queued.source,
            Transfer::Write => matches!(task.sink, Sink::Null) && !self.queued.sink,
            Transfer::Copy => false,
        }
    }

    /// Makes the slot hold a reference to its block's task.
    #[inline]
    fn own(&mut self, slot: u32, file: u32) {
        let owner = &mut self.tasks[slot as usize];
        if owner.as_ref().is_none_or(|task| task.number != file) {
            owner.clone_from(&self.current);
        }
    }

    #[inline]
    fn op(&mut self, request: Request) -> Op {
        let Request { transfer, slot, block, done } = request;
        let task = self.tasks[slot as usize].as_ref().expect("a slot in use has a task");
        match transfer {
            Transfer::Read => task.source.op(slot, block, done),
            Transfer::Write => {
                let padding = task.sink.padding(block);
                if padding > 0 {
                    let start = block.len as usize;
                    self.engine.bytes_mut(Slot(slot))[start..start + padding as usize].fill(0);
                }
                task.sink.op(slot, self.twin(slot), block, done)
            }
            Transfer::Copy => copy_op(task, block, done),
        }
    }

    /// The slot into which a comparing sink reads.
    fn twin(&self, slot: u32) -> u32 {
        slot + self.tasks.len() as u32
    }

    /// A request that may block: the time inside is charged to its end.
    fn post_timed(&mut self, slot: u32, op: Op, transfer: Transfer) -> Option<Completion> {
        let start_ns = self.now_ns();
        let completion = self.engine.post(slot, op);
        let side = if transfer == Transfer::Read { Side::Source } else { Side::Sink };
        self.charge(side, self.now_ns() - start_ns);
        self.heed_stop();
        completion
    }

    /// Takes a completion that is there, or waits for one.
    fn reap(&mut self, side: Side) -> Result<(), Problem> {
        if let Some(completion) = self.engine.take() {
            let request = self.flights[completion.token as usize];
            self.complete(completion.result, request);
            return Ok(());
        }
        let start_ns = self.now_ns();
        let waited = self.engine.wait(PATIENCE);
        self.charge(side, self.now_ns() - start_ns);
        self.heed_stop();
        waited.map_err(|errno| {
            let message = format!("the engine failed: {}", crate::problem::system_words(errno.0));
            Problem { class: Class::Io, path: None, operation: "wait", offset: None, message }
        })
    }

    fn charge(&mut self, side: Side, ns: u64) {
        let reads_back = self.current.as_ref().is_some_and(|task| task.reads_back);
        match side {
            _ if reads_back => self.waits.verify += ns,
            Side::Source => self.waits.source += ns,
            Side::Sink => self.waits.sink += ns,
        }
    }

    #[inline]
    fn complete(&mut self, result: Result<u32, Errno>, request: Request) {
        let Request { transfer, slot, block, done } = request;
        if result == Err(EAGAIN) {
            let result = self.wait_inline(request);
            return self.complete(result, request);
        }
        let task = self.tasks[slot as usize].as_ref().expect("a slot in use has a task");
        let settled = match transfer {
            Transfer::Read => task.source.settle(block, done, result),
            Transfer::Write => task.sink.settle(&self.engine, (slot, self.twin(slot)), block, done, result),
            Transfer::Copy => copy_settled(block, done, result),
        };
        self.settle(slot, settled);
    }

    /// A stream that somebody opened with O_NONBLOCK has nothing now: it is waited for here instead of asked in a loop.
    #[cold]
    fn wait_inline(&mut self, request: Request) -> Result<u32, Errno> {
        let start_ns = self.now_ns();
        let result = loop {
            let op = self.op(request);
            match self.engine.post_inline(request.slot, op).result {
                Err(EAGAIN) => {}
                result => break result,
            }
        };
        let side = if request.transfer == Transfer::Read { Side::Source } else { Side::Sink };
        self.charge(side, self.now_ns() - start_ns);
        result
    }

    /// Tells the pump how a request ended, and does what follows from it.
    #[inline]
    fn settle(&mut self, slot: u32, settled: Settled) {
        match self.pump.handle_completion(slot, settled) {
            Event::Nothing => {}
            Event::Filled { slot, block, ended } => {
                self.filled(slot, block);
                if let Some(at) = ended {
                    self.ended(slot, block.file, at);
                }
            }
            Event::Landed { block } => self.landed(slot, block),
            Event::Ended { file, at } => self.ended(slot, file, at),
            Event::Failed(fault) => self.failed(slot, fault),
        }
    }

    #[inline]
    fn filled(&mut self, slot: u32, block: Block) {
        let task = self.tasks[slot as usize].as_ref().expect("a slot in use has a task");
        let Some(hash) = &task.hash else { return };
        // The devices work on while this computes.
        let _ = self.engine.submit();
        let start_ns = self.shared.world.clock.now_ns();
        hash.add(block, self.engine.bytes(Slot(slot)));
        self.waits.hashing += self.shared.world.clock.now_ns() - start_ns;
    }

    /// Counts a block that landed. The task's counter is shared and costs a locked instruction, so blocks are told to
    /// it in batches: at the latest when the next extent is claimed.
    #[inline]
    fn landed(&mut self, slot: u32, block: Block) {
        let bytes = u64::from(block.len);
        if self.limited {
            self.obey_rate(bytes);
        }
        Watch::lane_moved(self.counter, bytes);
        if self.landed_file != block.file {
            self.tell_landed();
            self.landed_of.clone_from(&self.tasks[slot as usize]);
            self.landed_file = block.file;
        }
        self.landed_bytes += bytes;
        if self.draining {
            self.tell_landed();
            self.let_go(slot);
        }
    }

    /// A small file is closed as soon as it is done: a process may have few files open.
    fn let_go(&mut self, slot: u32) {
        if self.shared.has_trees && self.is_small(slot) {
            let done = self.tasks[slot as usize].take();
            let is_done = |task: &Arc<Task>| done.as_ref().is_some_and(|done| done.number == task.number);
            self.current = self.current.take().filter(|current| !is_done(current));
            (self.landed_of, self.landed_file) = (None, u32::MAX);
        }
    }

    /// Tells the task what landed; finishes it if that was all.
    fn tell_landed(&mut self) {
        let bytes = std::mem::take(&mut self.landed_bytes);
        if let Some(task) = &self.landed_of
            && task.landed(bytes)
        {
            self.finish(Arc::clone(task));
        }
    }

    /// An open-ended source has ended; the last block may land later.
    fn ended(&mut self, slot: u32, file: u32, at: u64) {
        let task = self.tasks[slot as usize].clone().expect("a slot in use has a task");
        debug_assert_eq!(task.number, file);
        self.draining = true;
        self.tell_landed();
        if task.ended(at) {
            self.finish(task);
        }
    }

    fn finish(&mut self, task: Arc<Task>) {
        finish::finish(self.shared, &mut self.waits, task);
    }

    fn failed(&mut self, slot: u32, fault: Fault) {
        let task = self.tasks[slot as usize].clone().expect("a slot in use has a task");
        if fault.kind == FaultKind::Differs && matches!(task.finish, Finish::Checked) {
            return tree::finish::copy_after_all(self.shared, &task);
        }
        finish::fail(self.shared, &task, fault::problem_of(self.shared, &task, fault));
    }

    /// Sleeps until the rate limit admits so many bytes.
    fn obey_rate(&mut self, bytes: u64) {
        if let Some(rate) = &self.shared.rate {
            let _ = self.engine.submit();
            let start_ns = self.shared.world.clock.now_ns();
            rate.admit(&self.shared.world.clock, bytes, &self.shared.stop);
            self.waits.rate_limit += self.shared.world.clock.now_ns() - start_ns;
        }
    }

    fn now_ns(&self) -> u64 {
        self.shared.world.clock.now_ns()
    }
}

fn copy_op(task: &Task, block: Block, done: u32) -> Op {
    let (Source::File(from), Sink::File(to)) = (&task.source, &task.sink) else {
        unreachable!("only files are copied inside the kernel")
    };
    let at = block.at + u64::from(done);
    let (from, to) = (Arc::clone(&from.handle), Arc::clone(&to.handle));
    Op::CopyRange { from, from_at: at, to, to_at: at, len: block.len - done }
}

fn copy_settled(block: Block, done: u32, result: Result<u32, Errno>) -> Settled {
    /// What copy_file_range(2) says where it cannot serve these two files, or is forbidden: EPERM, EXDEV, EINVAL,
    /// ENOSYS, EOPNOTSUPP.
    const UNABLE: [i32; 5] = [1, 18, 22, 38, 95];
    match result {
        Err(errno) if done == 0 && UNABLE.contains(&errno.0) => Settled::Unable,
        result => settled(result, block.len - done),
    }
}

/// Which way a task's blocks go, for the plan.
pub(crate) fn way(in_kernel: bool) -> Way {
    if in_kernel { Way::InKernel } else { Way::Slots }
}
