//! One lane: one thread that drives one pump over one engine until the plan is done.
//!
//! The whole program is the loop in [`Lane::run`]: ask the pump, do what it says, tell it what came of it. Every wait
//! is timed and charged to the end that the pump names.
//!
//! Must not know: how files are opened (`open`) and finished (`finish`), what the job is.

mod asking;
mod giving;
mod land;
pub(crate) mod latency;
mod link;
mod post;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use asking::Asking;
use datapump_core::{Block, Claimed, Counts, Extent, Pump, Request, Side, Step, Transfer};
use datapump_engine::{
    Engine, Kind, Stage,
    meter::{add_workers, within},
};
use giving::Giving;
use latency::LaneLatencies;

use crate::hash::BlockHash;
use crate::net::shelf::Shelf;
use crate::plan::{Asker, Claim};
use crate::problem::{Class, Problem};
use crate::report::{Asked, Waits};
use crate::run::{Shared, Work};
use crate::settings::QueuedNulls;
use crate::task::Task;
use crate::tree;
use crate::tree::branch::{Batch, Branch};
use crate::tree::hand::Hand;
use datapump_engine::WAIT_MAX;
use datapump_transport::{Carried, Channel, CutOnPanic};

/// What a lane leaves behind.
#[derive(Debug)]
pub(crate) struct LaneResult {
    pub(crate) counts: Counts,
    pub(crate) waits: Waits,
    pub(crate) engine: Asked,
    pub(crate) done_ns: u64,
    /// How long it was there, and the CPU time of its thread meanwhile.
    pub(crate) elapsed_ns: u64,
    pub(crate) cpu_ns: u64,
    /// What its connection to another host did.
    pub(crate) carried: Carried,
    /// How long its requests took, if that was asked for.
    pub(crate) latencies: Option<LaneLatencies>,
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
    /// Blocks may have to be told in journals.
    keeps_journals: bool,
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
    /// With a bill: what the requests are that were posted and not handed to the system.
    posted: Option<Stage>,
    is_metered: bool,
    /// Its connection to another host.
    link: Link,
    /// How long requests take, if that was asked for: without, no clock is read.
    latencies: Option<LaneLatencies>,
    /// Hashes of blocks that were read here and are sent, or came with them, by slot.
    hashes: Vec<Option<BlockHash>>,
}

/// What a lane has to do with another host.
enum Link {
    None,
    /// Blocks come from there.
    Asking(Box<Asking>),
    /// Blocks go there.
    Giving(Box<Giving>),
}

impl Link {
    /// Nobody waits any more for what this lane gives.
    fn is_cut(&self) -> bool {
        matches!(self, Link::Giving(giving) if giving.channel().line_check().is_err())
    }
}

impl<'run> Lane<'run> {
    /// A lane with its engine; a problem when there is no memory for its slots.
    pub(crate) fn new(shared: &'run Shared<'run>, index: usize) -> Result<Lane<'run>, Problem> {
        let link = match &shared.far {
            Some(far) => Link::Asking(Box::new(Asking::new(
                far.blocks()?,
                &far.place,
                !shared.settings.options.unhashed,
            ))),
            None => Link::None,
        };
        Lane::with(shared, index, link)
    }

    /// A lane that gives another host the blocks that it asks for.
    pub(crate) fn giving(
        shared: &'run Shared<'run>,
        index: usize,
        channel: Channel,
        shelf: Arc<Shelf>,
    ) -> Result<Lane<'run>, Problem> {
        Lane::with(shared, index, Link::Giving(Box::new(Giving::new(channel, shelf))))
    }

    fn with(shared: &'run Shared<'run>, index: usize, link: Link) -> Result<Lane<'run>, Problem> {
        let pump = Pump::new(shared.settings.shape);
        let slots = pump.slots();
        let twins = if shared.settings.has_twins { 2 } else { 1 };
        let (mut engine, asked) = shared.engine(slots * twins, slots)?;
        shared.settings.fill_null_slots(&mut engine, slots, index);
        let block = Block { file: 0, at: 0, len: 0 };
        let empty = Request { transfer: Transfer::Read, slot: 0, done: 0, block };
        Ok(Lane {
            shared,
            blocking: matches!(engine.kind(), Kind::Inline | Kind::Sim),
            queued: shared.settings.queued_nulls,
            pump,
            engine,
            asked,
            tasks: vec![None; slots as usize],
            current: None,
            flights: vec![empty; slots as usize],
            waits: Waits::default(),
            stopping: false,
            keeps_journals: shared.settings.writes && shared.settings.target.is_some(),
            landed_bytes: 0,
            landed_of: None,
            landed_file: u32::MAX,
            counter: shared.ledger.watch.counter(index),
            posted: None,
            is_metered: shared.settings.meters.is_some(),
            limited: !shared.rates.is_empty(),
            draining: false,
            hand: None,
            moves_pieces: index < shared.settings.lanes_for_pieces,
            hashes: match link {
                Link::None => Vec::new(),
                _ => (0..slots).map(|_| None).collect(),
            },
            link,
            latencies: shared.settings.options.latencies.then(|| LaneLatencies::new(slots)),
        })
    }

    /// Moves blocks until the plan is done or the run is stopped.
    pub(crate) fn run(mut self) -> Result<LaneResult, Problem> {
        let (start_ns, cpu_ns) = (self.now_ns(), thread_cpu_ns());
        loop {
            match self.pump.poll() {
                Step::Post(request) => self.post(request),
                Step::Claim => self.claim(),
                Step::Wait(side) => self.reap(side)?,
                Step::Starved => self.starve(),
                Step::Done => break,
            }
        }
        let done_ns = self.shared.settings.world.clock.now_ns();
        add_workers();
        Ok(LaneResult {
            carried: self.carried(),
            latencies: self.latencies,
            counts: self.pump.counts(),
            waits: self.waits,
            engine: self.asked,
            done_ns,
            elapsed_ns: done_ns - start_ns,
            cpu_ns: thread_cpu_ns() - cpu_ns,
        })
    }

    fn claim(&mut self) {
        self.heed_stop();
        self.tell_landed();
        let claim = match &mut self.link {
            Link::Giving(giving) => {
                let claim = giving.claim(self.shared);
                claim.unwrap_or_else(|fault| self.lose(&fault, Claim::Never))
            }
            _ => self.shared.plan.claim(self.asker()),
        };
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
        let _stage = within(Stage::Metadata);
        let (start_ns, before) = (self.now_ns(), self.waits);
        let claimed = act(self);
        let charged = self.waits.metadata + self.waits.sync - before.metadata - before.sync;
        self.waits.metadata += (self.now_ns() - start_ns).saturating_sub(charged);
        claimed
    }

    fn work(&mut self, work: Work) -> Option<Claimed> {
        match work {
            Work::Item(item) => tree::items::open_item(self.shared, &mut self.waits, &item),
            Work::List(branch) => tree::walk::list(self.shared, &branch),
            Work::Others(branch) => tree::compare::others(self.shared, &branch),
            Work::MakeWay => tree::make_way::make_way(self.shared),
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
                branch.root.report(&self.shared.ledger, *problem);
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
            _ if self.shared.is_stopping() => self.shared.plan.cut(),
            _ => self.hand = Some(hand),
        }
        ready.map(|(task, extent)| self.take_up(task, extent))
    }

    fn put_down(&self, branch: &Arc<Branch>, walks: bool) {
        if walks {
            self.shared.trees.walked(&self.shared.ledger.watch);
        }
        tree::folder_done::release(self.shared, branch);
        self.shared.plan.settled();
    }

    /// Nothing is in flight here; another lane may open or finish something.
    fn starve(&mut self) {
        let stage = within(Stage::Waiting);
        match &mut self.link {
            Link::Giving(giving) => {
                let waited = giving.wait(WAIT_MAX);
                waited.unwrap_or_else(|fault| self.lose(&fault, ()));
            }
            _ => self.shared.plan.wait(self.asker()),
        }
        drop(stage);
        self.heed_stop();
        if !self.stopping {
            self.pump.handle_more();
        }
    }

    /// A stop was asked for: post no more, call back what may never end.
    fn heed_stop(&mut self) {
        if self.shared.is_stopping() || self.link.is_cut() {
            if !self.stopping {
                self.stopping = true;
                self.pump.handle_stop();
            }
            // Each time: a request may have started anew just when it was looked for.
            self.engine.cancel();
        }
    }

    /// Takes a completion that is there, or waits for one.
    fn reap(&mut self, side: Side) -> Result<(), Problem> {
        if let Some(completion) = self.engine.take() {
            let request = self.flights[completion.token as usize];
            self.complete(completion.result, request);
            return Ok(());
        }
        if self.took_at_once() {
            return Ok(());
        }
        if self.may_receive(side) {
            self.receive();
            self.heed_stop();
            return Ok(());
        }
        let start_ns = self.now_ns();
        let stage = self.handing_over();
        let waited = self.engine.wait(WAIT_MAX);
        drop(stage);
        self.charge(side, self.now_ns() - start_ns);
        self.heed_stop();
        waited.map_err(|errno| {
            let message = format!("the engine failed: {}", crate::problem::system_words(errno.0));
            Problem { class: Class::Io, path: None, host: None, operation: "wait", offset: None, message }
        })
    }

    fn charge(&mut self, side: Side, ns: u64) {
        let reads_back = self.current.as_ref().is_some_and(|task| task.reads_back());
        match side {
            _ if reads_back => self.waits.verify += ns,
            Side::Source => self.waits.source += ns,
            Side::Sink => self.waits.sink += ns,
        }
    }

    fn now_ns(&self) -> u64 {
        self.shared.settings.world.clock.now_ns()
    }
}

/// CPU time of this thread, in user mode and in the kernel.
fn thread_cpu_ns() -> u64 {
    let (user_ns, system_ns) = datapump_engine::os::linux::thread_cpu_ns();
    user_ns + system_ns
}

/// One lane runs in this thread: a short copy starts no other. Where the system gives no more threads there are fewer
/// lanes, and the report counts them.
pub(crate) fn run_all(shared: &Shared<'_>, lanes: u32) -> Vec<Result<LaneResult, Problem>> {
    let run = |index: u32| {
        let _meter = shared.settings.metered(Stage::Loop);
        // The other lanes must not wait for what this one would have received.
        let _cuts = shared.far.as_ref().map(|far| CutOnPanic(far.line.clone()));
        let result = Lane::new(shared, index as usize).and_then(Lane::run);
        // What it had claimed will never land: the others must not wait for it.
        result.inspect_err(|_| shared.plan.lose_lane())
    };
    std::thread::scope(|scope| {
        let spawn = |index| std::thread::Builder::new().spawn_scoped(scope, move || run(index)).ok();
        let others: Vec<_> = (1..lanes).map_while(spawn).collect();
        let own = run(0);
        let join = |lane: std::thread::ScopedJoinHandle<'_, _>| {
            lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(own).chain(others.into_iter().map(join)).collect()
    })
}
