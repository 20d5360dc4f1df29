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
mod read_server;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use claim_ahead::reads_on;
use datapump_core::{Claimed, Pump, Shape, Step};
use datapump_engine::{
    CpuStage, Engine, WAIT_MAX,
    meter::{add_workers, within},
};
use datapump_transport::{Channel, CutOnPanic};
use read_server::ReadServer;

use crate::end::{Connection, Performer, ReceiveLane, SendLane};
use crate::file::task::Task;
use crate::net::folder::handle_table::HandleTable;
use crate::problem::Problem;
use crate::report::AskedAndGot;
use crate::report::charges::{LaneResult, ThreadTime};
use crate::report::latency::LaneLatencies;
use crate::run::Shared;
use crate::run::plan::{Claim, Plan};
use crate::run::work::{Ready, Worker};

pub(crate) struct Lane<'run> {
    shared: &'run Shared<'run>,
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
    worker: Worker,
    /// What another host reads over its connection.
    read_server: ReadServer,
    began: ThreadTime,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stepped {
    /// There is more to do.
    On,
    /// Nothing can be done now: see [`Lane::wait`].
    Waits,
    /// All is done.
    Over,
}

/// A pump and an engine with its slots. Where there is no memory for the greater depth that a long path could have, it
/// does without.
fn pump_with_slots(shared: &Shared<'_>) -> Result<(Pump, (Engine, AskedAndGot)), Problem> {
    let shape = shared.settings.shape;
    // Their memory is touched by their first use.
    let twins = if shared.settings.has_twins { 2 } else { 1 };
    let with = |shape: Shape| {
        let pump = Pump::new(shape);
        let slots = pump.slots();
        shared.engine(slots * twins, slots).map(|engine| (pump, engine))
    };
    let least = Shape { source_depth_max: shape.source_depth, ..shape };
    with(shape).or_else(|problem| if least == shape { Err(problem) } else { with(least) })
}

impl<'run> Lane<'run> {
    /// A lane with its engine; a problem when there is no memory for its slots.
    pub(crate) fn new(shared: &'run Shared<'run>, index: usize) -> Result<Lane<'run>, Problem> {
        let channel = shared.remote_host.as_ref().map(|remote_host| remote_host.blocks()).transpose()?;
        Lane::over(shared, index, channel)
    }

    /// The same over a connection to the host from which it receives.
    fn over(
        shared: &'run Shared<'run>,
        index: usize,
        channel: Option<Channel>,
    ) -> Result<Lane<'run>, Problem> {
        let connection = match shared.remote_host.as_ref().zip(channel) {
            Some((remote_host, channel)) => {
                let is_hashed = !shared.settings.options.network.unhashed;
                shared.gate.watch(channel.probe());
                let mut lane = ReceiveLane::new(channel, is_hashed, Arc::clone(remote_host.trips()));
                let path = (remote_host.round_trip_ns(), reads_on(shared));
                lane.follow(path, shared.settings.shape.request_bytes);
                Connection::Receive(Box::new(lane))
            }
            None => Connection::None,
        };
        Lane::with(shared, index, connection)
    }

    /// A lane that sends another host the blocks that it requests.
    pub(crate) fn sending(
        shared: &'run Shared<'run>,
        index: usize,
        channel: Channel,
        handles: Arc<HandleTable>,
    ) -> Result<Lane<'run>, Problem> {
        let request_bytes = shared.settings.shape.request_bytes;
        let lane = SendLane::new(channel, handles, request_bytes);
        Lane::with(shared, index, Connection::Send(Box::new(lane)))
    }

    fn with(shared: &'run Shared<'run>, index: usize, connection: Connection) -> Result<Lane<'run>, Problem> {
        let settings = &shared.settings;
        let (mut pump, (mut engine, asked)) = pump_with_slots(shared)?;
        let slots = pump.slots();
        settings.fill_null_slots(&mut engine, slots, index);
        let way = (&settings.platform.clock, settings.queued_nulls, settings.meters.is_some());
        let mut performer = Performer::new(engine, slots, connection, way);
        pump.raise_source_depth(performer.path_depth());
        performer.latencies = settings.options.reporting.latencies.then(|| LaneLatencies::new(slots));
        Ok(Lane {
            shared,
            pump,
            performer,
            asked,
            tasks: vec![None; slots as usize],
            current: None,
            claimed_ahead: VecDeque::new(),
            stopping: false,
            keeps_blocks: (settings.writes && settings.target.is_some()) || shared.compares_by_sums(),
            landed_bytes: 0,
            landed_of: None,
            landed_file: u32::MAX,
            index,
            counter: shared.ledger.watch.counter(index),
            limited: !shared.rates.is_empty(),
            draining: false,
            worker: Worker::new(index < settings.lanes_for_pieces),
            read_server: ReadServer::default(),
            began: settings.platform.thread_time(),
        })
    }

    /// Moves blocks until the plan is done or the run is stopped.
    pub(crate) fn run(mut self) -> Result<LaneResult, Problem> {
        loop {
            match self.step()? {
                Stepped::On => {}
                Stepped::Waits => drop(self.wait(WAIT_MAX)),
                Stepped::Over => return Ok(self.result()),
            }
        }
    }

    /// Does what the pump says until nothing can be done now. Waits for what is in flight, but not for something to do.
    ///
    /// The loop is in here, so that polling the pump and posting have one call site each: with two the compiler inlined
    /// neither, which cost 6 of 23 ns a null request.
    pub(crate) fn step(&mut self) -> Result<Stepped, Problem> {
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

    /// What it leaves behind.
    pub(crate) fn result(self) -> LaneResult {
        if !self.claimed_ahead.is_empty() {
            self.shared.plan.cut();
        }
        let now = self.shared.settings.platform.thread_time();
        let source_depth = self.pump.source_depth().max(self.performer.depth());
        add_workers();
        LaneResult {
            connection_stats: self.performer.connection_stats(),
            latencies: self.performer.latencies,
            counts: self.pump.counts(),
            waits: self.performer.waits,
            engine: self.asked,
            source_depth,
            done_ns: now.elapsed_ns,
            time: now.since(self.began),
        }
    }

    fn claim(&mut self) {
        self.check_cancel();
        self.tell_charged();
        self.tell_landed();
        let claim = match &mut self.performer.connection {
            Connection::Send(lane) => {
                let claim = self.read_server.claim(self.shared, lane);
                claim.unwrap_or_else(|fault| self.lose(&fault, Claim::Never))
            }
            _ => self.next_claim(),
        };
        self.draining = !matches!(claim, Claim::Piece(..));
        let claimed = match claim {
            Claim::Never => Some(Claimed::Never),
            Claim::NotYet => Some(Claimed::NotYet),
            Claim::Piece(task, extent) => Some(self.begin((task, extent))),
            Claim::Own => self.timed(|lane| lane.worker.next(lane.shared, &mut lane.performer.waits)),
            Claim::Work(work) => {
                self.timed(|lane| lane.worker.perform(lane.shared, &mut lane.performer.waits, work))
            }
        };
        match claimed {
            Some(Claimed::Extent(_)) if self.stopping => self.shared.plan.cut(),
            Some(claimed) if !self.stopping => self.pump.handle_claim(claimed),
            _ => {}
        }
    }

    /// Progress says what bounds the copy so far.
    fn tell_charged(&self) {
        self.shared.ledger.watch.charge(self.index, self.performer.waits);
    }

    fn begin(&mut self, (task, extent): Ready) -> Claimed {
        self.take_up(Some(task));
        Claimed::Extent(extent)
    }

    /// Time between blocks goes to metadata, but for what was charged otherwise inside: files that need no block are
    /// finished in there.
    fn timed(&mut self, act: impl FnOnce(&mut Self) -> Option<Ready>) -> Option<Claimed> {
        let _stage = within(CpuStage::Metadata);
        let (start_ns, before) = (self.now_ns(), self.performer.waits);
        let ready = act(self);
        let now_ns = self.now_ns();
        let waits = &mut self.performer.waits;
        let charged = waits.total() - before.total();
        waits.metadata += (now_ns - start_ns).saturating_sub(charged);
        ready.map(|ready| self.begin(ready))
    }

    /// Nothing is in flight here; another lane may open or finish something, or another host may request something.
    /// False if none did for so long.
    pub(crate) fn wait(&mut self, patience: Duration) -> bool {
        let stage = within(CpuStage::Waiting);
        let start_ns = self.now_ns();
        let has_more = match self.send_lane().map(|lane| lane.wait(patience)) {
            Some(waited) => waited.unwrap_or_else(|fault| self.lose(&fault, true)),
            None => {
                self.shared.plan.wait(self.worker.asker());
                true
            }
        };
        drop(stage);
        self.performer.waits.idle += self.now_ns() - start_ns;
        self.tell_charged();
        self.check_cancel();
        if !self.stopping {
            self.pump.handle_more();
        }
        has_more
    }

    /// A stop was asked for: post no more, call back what may never end.
    fn check_cancel(&mut self) {
        if self.shared.is_stopping() || self.performer.is_cut() {
            if !self.stopping {
                self.stopping = true;
                self.pump.handle_stop();
            }
            // Each time: a request may have started anew just when it was looked for.
            self.performer.engine.cancel();
        }
    }

    fn now_ns(&self) -> u64 {
        self.performer.now_ns()
    }
}

/// What a lane claims. If it fails, or panics, that will never land: the others must not wait for it.
struct ClaimGuard<'run, Work>(&'run Plan<Work>);

impl<Work> Drop for ClaimGuard<'_, Work> {
    fn drop(&mut self) {
        self.0.lose_lane();
    }
}

/// One lane runs in this thread: a short copy starts no other. Where the system gives no more threads there are fewer
/// lanes, and the report counts them. Those from the first to `most` wait until the path needs them, if ever.
pub(crate) fn run_all(shared: &Shared<'_>, (first, most): (u32, u32)) -> Vec<Result<LaneResult, Problem>> {
    let answers = shared.remote_host.as_ref().and_then(|host| host.names_waited());
    shared.ledger.watch.begin(first, shared.settings.reads_the_web, answers);
    std::thread::scope(|scope| {
        let spawn =
            |index| std::thread::Builder::new().spawn_scoped(scope, move || run_opened(shared, index)).ok();
        let others: Vec<_> = (1..most).map_while(spawn).collect();
        let own = run_opened(shared, 0);
        let join = |lane: std::thread::ScopedJoinHandle<'_, _>| {
            lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(own).chain(others.into_iter().map(join)).flatten().collect()
    })
}

/// A lane, once it is open; none if it never is, or if the other side gives a spare one no connection.
fn run_opened(shared: &Shared<'_>, index: u32) -> Option<Result<LaneResult, Problem>> {
    if !shared.gate.opens_for(index, &|| shared.is_stopping()) {
        return None;
    }
    let _meter = shared.settings.metered(CpuStage::Loop);
    // The other lanes must not wait for what this one would have received.
    let _cuts = shared.remote_host.as_ref().map(|remote_host| CutOnPanic(remote_host.cancel().clone()));
    let spare = shared.remote_host.as_ref().filter(|_| shared.gate.is_spare(index));
    let spare = spare.map(|remote_host| remote_host.spare_blocks(&|| shared.gate.is_over()));
    // Where there is no memory for one, the others do without it as well.
    let spare = spare.map(|channel| Lane::over(shared, index as usize, Some(channel?)).ok());
    if let Some(None) = spare {
        if !shared.is_stopping() {
            shared.gate.lacks_connection();
        }
        return None;
    }
    let (_last, claimed) = (shared.gate.guard(), ClaimGuard(&shared.plan));
    let lane = spare.flatten().map_or_else(|| Lane::new(shared, index as usize), Ok);
    let result = lane.and_then(Lane::run);
    if result.is_ok() {
        std::mem::forget(claimed);
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::plan::Asker;

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
