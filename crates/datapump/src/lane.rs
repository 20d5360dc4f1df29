//! One lane: one thread that drives one pump over one engine until the plan is done.
//!
//! The whole program is the loop in [`Lane::run`]: ask the pump, do what it says, tell it what came of it. Every wait
//! is timed and charged to the end that the pump names.
//!
//! Must not know: how files are opened (`open`) and finished (`finish`), what the job is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datapump_core::{
    Block, Claimed, Counts, Event, Fault, FaultKind, Pump, Request, Settled, Side, Step, Transfer, Way,
};
use datapump_engine::{Completion, Engine, Errno, Kind, Op, Slot};

use crate::end::{Sink, Source, settled};
use crate::plan::Claim;
use crate::problem::{Class, Problem};
use crate::report::{Asked, Waits};
use crate::run::{QueuedNulls, Shared};
use crate::task::Task;
use crate::watch::Watch;
use crate::world::PATIENCE;
use crate::{finish, identity, open};

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
}

impl<'run> Lane<'run> {
    /// A lane with its engine; a problem when there is no memory for its slots.
    pub(crate) fn new(shared: &'run Shared<'run>, index: usize) -> Result<Lane<'run>, Problem> {
        let pump = Pump::new(shared.shape);
        let slots = pump.slots();
        let twins = if shared.compares { 2 } else { 1 };
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
        let claim = self.shared.plan.claim();
        self.draining = !matches!(claim, Claim::Piece(..));
        let claimed = match claim {
            Claim::Never => Claimed::Never,
            Claim::NotYet => Claimed::NotYet,
            Claim::Piece(task, extent) => {
                self.current = Some(task);
                Claimed::Extent(extent)
            }
            Claim::Item(item) => {
                let (start_ns, before) = (self.now_ns(), self.waits);
                open::open_item(self.shared, &mut self.waits, item);
                // A file that needs no block is finished in there, and has charged its own time.
                let charged = self.waits.metadata + self.waits.sync - before.metadata - before.sync;
                self.waits.metadata += (self.now_ns() - start_ns).saturating_sub(charged);
                return;
            }
        };
        if !self.stopping {
            self.pump.handle_claim(claimed);
        }
    }

    /// Nothing is in flight here; another lane may open or finish something.
    fn starve(&mut self) {
        self.shared.plan.wait();
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
        let at_once = if self.blocking || transfer == Transfer::Copy {
            self.post_timed(slot, op, transfer)
        } else {
            self.engine.post(slot, op)
        };
        if let Some(completion) = at_once {
            self.complete(completion.result, request);
        }
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
        let task = self.tasks[slot as usize].as_ref().expect("a slot in use has a task");
        let settled = match transfer {
            Transfer::Read => task.source.settle(block, done, result),
            Transfer::Write => task.sink.settle(&self.engine, (slot, self.twin(slot)), block, done, result),
            Transfer::Copy => copy_settled(block, done, result),
        };
        self.settle(slot, settled);
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
        finish::fail(self.shared, &task, problem_of(self.shared, &task, fault));
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

/// The words for a fault of the loop.
fn problem_of(shared: &Shared<'_>, task: &Task, fault: Fault) -> Problem {
    let (operation, name) = match (fault.side, task.reads_back, &task.sink) {
        (Side::Source, true, _) => ("read back", &task.target_name),
        (Side::Source, false, _) => ("read", &task.source_name),
        (Side::Sink, _, Sink::Compare(_)) => ("read", &task.target_name),
        (Side::Sink, _, _) => ("write", &task.target_name),
    };
    match fault.kind {
        FaultKind::Errno(errno) => shared.system_problem(operation, name, errno, task).at(fault.at),
        FaultKind::SourceEnded => {
            let words = format!("was truncated: it ended at byte {}", fault.at);
            identity::changed(&task.source_name, &words, task.target_is_kept()).at(fault.at)
        }
        FaultKind::SourceGrew => {
            identity::changed(&task.source_name, "grew", task.target_is_kept()).at(fault.at)
        }
        FaultKind::WroteNothing => {
            Problem::new(Class::Io, operation, name, "the system took no bytes and gave no error")
                .at(fault.at)
        }
        FaultKind::Differs => {
            let other = crate::shown(std::os::unix::ffi::OsStrExt::as_bytes(task.source_name.as_os_str()));
            Problem::new(Class::Mismatch, "compare", name, format!("differs from '{other}'")).at(fault.at)
        }
    }
}

/// Which way a task's blocks go, for the plan.
pub(crate) fn way(in_kernel: bool) -> Way {
    if in_kernel { Way::InKernel } else { Way::Slots }
}
