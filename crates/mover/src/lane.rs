//! One lane: one thread that drives one pump over one engine until the plan is done.
//!
//! The whole program is the loop in [`Lane::run`]: ask the pump, do what it says, tell it what came of it. Every wait
//! is timed and charged to the end that the pump names.
//!
//! Must not know: how requests are performed (`end`), how files are opened (`work`) and finished (`finish`), names,
//! trees, what the job is.

mod claim_ahead;
mod land;
mod link;
mod post;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use claim_ahead::reads_on;
use datapump_core::{Claimed, Extent, Pump, Shape, Step};
use datapump_engine::{
    CpuStage, Engine, WAIT_MAX,
    meter::{add_workers, within},
};
use datapump_transport::{Channel, CutOnPanic};

use crate::end::{BlockSender, Connection, Performer, ReceiveLane};
use crate::file::task::Task;
use crate::problem::Problem;
use crate::report::AskedAndGot;
use crate::report::charges::{LaneResult, ThreadTime};
use crate::report::latency::LaneLatencies;
use crate::run::MoverRun;
use crate::run::owner::{FileOwner, Ready, Worker};
use crate::run::plan::{Claim, FilePlan};

pub struct Lane<'run> {
    run: &'run MoverRun<'run>,
    owner: &'run dyn FileOwner<'run>,
    pump: Pump,
    performer: Performer<'run>,
    asked: AskedAndGot,
    /// The task of each slot's block. Slots keep their task until another needs them: on the null path nothing is
    /// counted up or down.
    tasks: Vec<Option<Arc<Task>>>,
    /// Pieces that are claimed and requested of another host, and that the pump gets next.
    claimed_ahead: VecDeque<Ready>,
    /// The task of the extent being cut.
    current: Option<Arc<Task>>,
    /// Its number.
    index: usize,
    /// What progress reads; this lane is the only writer.
    counter: &'run AtomicU64,
    /// There is a rate limit.
    limited: bool,
    stopping: bool,
    /// Something is kept of blocks that landed.
    keeps_blocks: bool,
    /// Bytes landed of `landed_of` and not yet told to the task, which other lanes share.
    landed_bytes: u64,
    landed_of: Option<Arc<Task>>,
    landed_file: u32,
    /// The plan had no more: each block may be the last of its file.
    draining: bool,
    /// What it does between blocks.
    worker: Box<dyn Worker + 'run>,
    began: ThreadTime,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// There is more to do.
    On,
    /// Nothing can be done now: see [`Lane::wait`].
    Waits,
    /// All is done.
    Over,
}

/// A pump and an engine with its slots. Where there is no memory for the greater depth that a long path could have, it
/// does without.
fn pump_with_slots(run: &MoverRun<'_>) -> Result<(Pump, (Engine, AskedAndGot)), Problem> {
    let shape = run.settings.shape;
    // Their memory is touched by their first use.
    let twins = if run.settings.has_twins { 2 } else { 1 };
    let with = |shape: Shape| {
        let pump = Pump::new(shape);
        let slots = pump.slots();
        run.make_engine(slots * twins, slots).map(|engine| (pump, engine))
    };
    let least = Shape { source_depth_max: shape.source_depth, ..shape };
    with(shape).or_else(|problem| if least == shape { Err(problem) } else { with(least) })
}

impl<'run> Lane<'run> {
    /// A lane with its engine; a problem when there is no memory for its slots.
    pub fn new(owner: &'run dyn FileOwner<'run>, index: usize) -> Result<Lane<'run>, Problem> {
        let channel = owner.block_host.as_ref().map(|host| host.blocks()).transpose()?;
        Lane::with_channel(owner, index, channel)
    }

    /// A lane that receives its blocks over this channel, if there is one.
    fn with_channel(
        owner: &'run dyn FileOwner<'run>,
        index: usize,
        channel: Option<Channel>,
    ) -> Result<Lane<'run>, Problem> {
        let run = owner.run();
        let connection = match run.block_host.as_ref().zip(channel) {
            Some((host, channel)) => {
                let is_hashed = !run.settings.options.network.unhashed;
                run.gate.watch(channel.probe());
                let mut lane = ReceiveLane::new(channel, is_hashed, Arc::clone(host.trips()));
                lane.follow(host.round_trip_ns(), reads_on(run), run.settings.shape.request_bytes);
                Connection::Receive(Box::new(lane))
            }
            None => Connection::None,
        };
        let worker = owner.worker(index < run.settings.lanes_for_pieces);
        Lane::with_connection(owner, index, connection, worker)
    }

    /// A lane that sends another host the blocks that it requests.
    pub fn sending(
        owner: &'run dyn FileOwner<'run>,
        index: usize,
        sender: Box<dyn BlockSender>,
        worker: Box<dyn Worker + 'run>,
    ) -> Result<Lane<'run>, Problem> {
        Lane::with_connection(owner, index, Connection::Send(sender), worker)
    }

    /// A lane over this connection, with a pump, an engine and its slots.
    ///
    /// Errors: no engine or memory can be had.
    fn with_connection(
        owner: &'run dyn FileOwner<'run>,
        index: usize,
        connection: Connection,
        worker: Box<dyn Worker + 'run>,
    ) -> Result<Lane<'run>, Problem> {
        let run = owner.run();
        let settings = &run.settings;
        let (mut pump, (mut engine, asked)) = pump_with_slots(run)?;
        let slots = pump.slots();
        settings.fill_null_slots(&mut engine, slots, index);
        let (clock, is_metered) = (&settings.platform.clock, settings.meters.is_some());
        let nulls = settings.queued_nulls;
        let mut performer = Performer::new(engine, slots, connection, clock, nulls, is_metered);
        pump.raise_source_depth(performer.path_depth());
        performer.latencies = settings.options.reporting.latencies.then(|| LaneLatencies::new(slots));
        Ok(Lane {
            run,
            owner,
            pump,
            performer,
            asked,
            tasks: vec![None; slots as usize],
            current: None,
            claimed_ahead: VecDeque::new(),
            stopping: false,
            keeps_blocks: (settings.writes && settings.target.is_some()) || run.compares_by_sums(),
            landed_bytes: 0,
            landed_of: None,
            landed_file: u32::MAX,
            index,
            counter: run.ledger.watch.counter(index),
            limited: !run.limits.is_empty(),
            draining: false,
            worker,
            began: settings.platform.thread_time(),
        })
    }

    /// Moves blocks until the plan is done or the run is stopped.
    pub fn run(mut self) -> Result<LaneResult, Problem> {
        loop {
            match self.step()? {
                Stepped::On => {}
                Stepped::Waits => drop(self.wait(WAIT_MAX)),
                Stepped::Over => return Ok(self.into_result()),
            }
        }
    }

    /// Does what the pump says until nothing can be done now. Waits for what is in flight, but not for something to do.
    ///
    /// The loop is in here, so that polling the pump and posting have one call site each: with two the compiler inlined
    /// neither, which cost 6 of 23 ns a null request.
    pub fn step(&mut self) -> Result<Stepped, Problem> {
        loop {
            match self.pump.poll() {
                Step::Post(request) => self.post(request),
                Step::Claim => self.claim(),
                Step::Wait(side) => self.reap(side)?,
                Step::Starved => return Ok(Stepped::Waits),
                Step::Done => return Ok(Stepped::Over),
            }
        }
    }

    /// Ends the lane: gives its counts, times and statistics. Extents that were claimed ahead and not moved cut the plan.
    pub fn into_result(self) -> LaneResult {
        if !self.claimed_ahead.is_empty() {
            self.owner.plan().cut();
        }
        let now = self.run.settings.platform.thread_time();
        let source_depth = self.pump.source_depth().max(self.performer.depth());
        add_workers();
        LaneResult {
            connection_stats: self.performer.connection_stats(),
            latencies: self.performer.latencies,
            counts: self.pump.counts(),
            waits: self.performer.waits,
            engine: self.asked,
            source_depth,
            done_ns: self.run.settings.platform.clock.now_ns(),
            time: now.since(self.began),
        }
    }

    /// Claims what is next, for the pump. A lane that stops begins nothing more, and cuts the plan instead.
    fn claim(&mut self) {
        self.check_cancel();
        self.tell_charged();
        self.report_landed();
        let claim = self.next_claim().unwrap_or_else(|fault| self.lose(&fault, Claim::Never));
        self.draining = !matches!(claim, Claim::Piece(..));
        let claimed = match claim {
            Claim::Never => Some(Claimed::Never),
            Claim::NotYet => Some(Claimed::NotYet),
            Claim::Piece(task, extent) => Some(self.begin(task, extent)),
            Claim::Own | Claim::Work(()) => self.do_work(),
        };
        match claimed {
            Some(Claimed::Extent(_)) if self.stopping => self.owner.plan().cut(),
            Some(claimed) if !self.stopping => self.pump.handle_claim(claimed),
            _ => {}
        }
    }

    /// Progress says what bounds the copy so far.
    fn tell_charged(&self) {
        self.run.ledger.watch.charge(self.index, self.performer.waits);
    }

    fn begin(&mut self, task: Arc<Task>, extent: Extent) -> Claimed {
        self.take_up(Some(task));
        Claimed::Extent(extent)
    }

    /// Lets the worker work: open files, list folders, decide about names. The time goes to metadata, except what was charged
    /// otherwise inside.
    fn do_work(&mut self) -> Option<Claimed> {
        let _stage = within(CpuStage::Metadata);
        let clock = &self.run.settings.platform.clock;
        let (start_ns, before) = (clock.charged_ns(), self.performer.waits);
        let ready = self.worker.work(&mut self.performer.waits);
        let now_ns = clock.charged_ns();
        let waits = &mut self.performer.waits;
        let charged = waits.total() - before.total();
        waits.metadata += (now_ns - start_ns).saturating_sub(charged);
        ready.map(|(task, extent)| self.begin(task, extent))
    }

    /// Waits, as idle, until another lane opens or finishes something, or another host requests something. False if none did
    /// within `patience`.
    pub fn wait(&mut self, patience: Duration) -> bool {
        let stage = within(CpuStage::Waiting);
        let start_ns = self.performer.now_ns();
        let waited = self.worker.wait(patience);
        let has_more = waited.unwrap_or_else(|fault| self.lose(&fault, true));
        drop(stage);
        self.performer.waits.idle += self.performer.now_ns() - start_ns;
        self.tell_charged();
        self.check_cancel();
        if !self.stopping {
            self.pump.handle_more();
        }
        has_more
    }

    /// Where the run stops or the connection was cut: has the pump post no more, and cancels requests that may never end.
    fn check_cancel(&mut self) {
        if self.run.is_stopping() || self.performer.is_cut() {
            if !self.stopping {
                self.stopping = true;
                self.pump.handle_stop();
            }
            // Each time: a request may have started anew just when it was looked for.
            self.performer.engine.cancel();
        }
    }
}

/// What a lane claims. If it fails, or panics, that will never land: the others must not wait for it.
struct ClaimGuard<'run>(&'run dyn FilePlan);

impl Drop for ClaimGuard<'_> {
    fn drop(&mut self) {
        self.0.lose_lane();
    }
}

/// Runs all lanes to their ends, and gives their results. One lane runs in this thread: a short copy starts no other.
/// Where the system gives no more threads there are fewer lanes. Those from `first` to `most` wait until the path needs
/// them, if ever.
pub fn run_all<'run>(
    owner: &'run dyn FileOwner<'run>,
    first: u32,
    most: u32,
) -> Vec<Result<LaneResult, Problem>> {
    let answers = owner.block_host.as_ref().and_then(|host| host.names_waited());
    owner.ledger.watch.begin(first, owner.settings.reads_the_web, answers);
    let reads = owner.settings.platform.storage_reads();
    let results: Vec<Result<LaneResult, Problem>> = std::thread::scope(|scope| {
        let spawn =
            |index| std::thread::Builder::new().spawn_scoped(scope, move || run_opened(owner, index)).ok();
        let others: Vec<_> = (1..most).map_while(spawn).collect();
        let own = run_opened(owner, 0);
        let join = |lane: std::thread::ScopedJoinHandle<'_, _>| {
            lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(own).chain(others.into_iter().map(join)).flatten().collect()
    });
    // What another host reads is counted there.
    if owner.block_host.is_none() {
        let moved_bytes = results.iter().flatten().map(|lane| lane.counts.bytes).sum();
        owner.ledger.tally().note_storage_reads(reads.bytes(), moved_bytes);
    }
    results
}

/// Runs a lane once the gate opens for it. `None` if it is never needed, or if the other side gives a spare one no connection.
fn run_opened<'run>(owner: &'run dyn FileOwner<'run>, index: u32) -> Option<Result<LaneResult, Problem>> {
    let run = owner.run();
    if !run.gate.opens_for(index, &|| run.is_stopping()) {
        return None;
    }
    let _meter = run.settings.metered(CpuStage::Loop);
    // The other lanes must not wait for what this one would have received.
    let _cuts = run.block_host.as_ref().map(|host| CutOnPanic(host.cancel().clone()));
    let spare = run.block_host.as_ref().filter(|_| run.gate.is_spare(index));
    let spare = spare.map(|host| host.spare_blocks(&|| run.gate.is_over()));
    // Where there is no memory for one, the others do without it as well.
    let spare = spare.map(|channel| Lane::with_channel(owner, index as usize, Some(channel?)).ok());
    if let Some(None) = spare {
        if !run.is_stopping() {
            run.gate.lacks_connection();
        }
        return None;
    }
    let (_last, claimed) = (run.gate.guard(), ClaimGuard(owner.plan()));
    let lane = spare.flatten().map_or_else(|| Lane::new(owner, index as usize), Ok);
    let result = lane.and_then(Lane::run);
    if result.is_ok() {
        std::mem::forget(claimed);
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::plan::{Asker, Plan};

    #[test]
    fn nobody_waits_for_a_lane_that_panicked() {
        let (plan, asker) = (Plan::new([1], 1, false), Asker { moves_pieces: true, has_own: false });
        let panicked = std::thread::scope(|scope| {
            let lane = scope.spawn(|| {
                let _claimed = ClaimGuard(&plan);
                assert!(matches!(plan.claim(asker), Claim::Work(1)));
                std::panic::resume_unwind(Box::new("a mistake"));
            });
            lane.join()
        });
        assert!(panicked.is_err());
        assert!(matches!(plan.claim(asker), Claim::Never), "what it claimed never comes");
    }
}
