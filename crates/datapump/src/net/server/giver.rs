//! The reading side of a session: each of its connections is a machine ([`Giving`]) that gives blocks or answers about
//! names, driven by a thread of its own.
//!
//! Must not know: sessions, who called whom.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use datapump_core::wire::hello::Purpose;
use datapump_core::wire::session::Given;
use datapump_core::wire::{decode, encode};
use datapump_engine::{Stage, WAIT_MAX};
use datapump_transport::{Channel, HANDSHAKE_MAX, Line, NetFault};

use crate::lane::{Lane, LaneResult, Stepped};
use crate::net::folder::owners::Telling;
use crate::net::folder::shelf::Shelf;
use crate::report::account::busy;
use crate::run::Shared;

/// Between two looks whether all connections have ended: a tenth of what a short copy takes.
const LOOK_AGAIN_AFTER: Duration = Duration::from_micros(500);

/// Serves every connection that comes, until no more can come and all have ended. Gives what was given.
pub(crate) fn give(shared: &Shared<'_>, shelf: &Arc<Shelf>, channels: Receiver<(Purpose, Channel)>) -> Given {
    let given = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let mut lanes = 0..;
        for (purpose, channel) in channels {
            let index = if purpose == Purpose::Blocks { lanes.next().unwrap_or(0) } else { 0 };
            let (shelf, given) = (Arc::clone(shelf), &given);
            // Where the system gives no more threads the connection is closed, and the other side goes on without it.
            let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
                let is_blocks = purpose == Purpose::Blocks;
                let _meter = shared.settings.metered(if is_blocks { Stage::Loop } else { Stage::Metadata });
                let gave = Giving::new(shared, (purpose, index), channel, shelf).and_then(Giving::run);
                given.lock().unwrap_or_else(PoisonError::into_inner).extend(gave);
            });
            drop(spawned);
        }
    });
    sum(&given.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// What was given, once the other side has hung up; it is hung up on if it does not.
pub(crate) fn gave(given: ScopedJoinHandle<'_, Given>, line: &Line) -> Option<Given> {
    let start = Instant::now();
    while !given.is_finished() {
        if start.elapsed() > HANDSHAKE_MAX {
            line.cut();
        }
        std::thread::sleep(LOOK_AGAIN_AFTER);
    }
    given.join().ok()
}

/// One connection over which another host is given what it asks for: a machine that [`Giving::step`] moves, and that
/// waits for nothing but its disk. Whoever drives it waits for the connection.
pub(crate) enum Giving<'run> {
    Blocks(Box<Lane<'run>>),
    Names(Box<Names>),
}

impl<'run> Giving<'run> {
    /// `None` where there is no memory for its slots: the other side goes on without it.
    pub(crate) fn new(
        shared: &'run Shared<'run>,
        (purpose, index): (Purpose, usize),
        channel: Channel,
        shelf: Arc<Shelf>,
    ) -> Option<Giving<'run>> {
        match purpose {
            Purpose::Blocks => {
                let lane = Lane::sending(shared, index, channel, shelf);
                lane.ok().map(Box::new).map(Giving::Blocks)
            }
            Purpose::Control | Purpose::Names => {
                Some(Giving::Names(Box::new(Names { channel, shelf, owners: Telling::default() })))
            }
        }
    }

    /// Until the other side hangs up.
    fn run(mut self) -> Option<LaneResult> {
        loop {
            match self.step() {
                Stepped::On => {}
                Stepped::Waits => drop(self.wait(WAIT_MAX)),
                Stepped::Over => return self.result(),
            }
        }
    }

    /// Answers what has come, as far as that goes.
    pub(crate) fn step(&mut self) -> Stepped {
        match self {
            Giving::Blocks(lane) => lane.step().unwrap_or(Stepped::Over),
            Giving::Names(names) => names.step().unwrap_or(Stepped::Over),
        }
    }

    /// Waits until something more has come. False if nothing did for so long.
    pub(crate) fn wait(&mut self, patience: Duration) -> bool {
        match self {
            Giving::Blocks(lane) => lane.wait(patience),
            // What is wrong with the connection is told by the next step.
            Giving::Names(names) => names.channel.has_input(patience).unwrap_or(true),
        }
    }

    pub(crate) fn result(self) -> Option<LaneResult> {
        match self {
            Giving::Blocks(lane) => Some(lane.result()),
            Giving::Names(_) => None,
        }
    }
}

/// A connection over which names are asked for.
pub(crate) struct Names {
    channel: Channel,
    shelf: Arc<Shelf>,
    owners: Telling,
}

impl Names {
    fn step(&mut self) -> Result<Stepped, NetFault> {
        self.channel.line_check()?;
        if !self.channel.has_come()? {
            self.channel.flush()?;
            return Ok(Stepped::Waits);
        }
        let Names { channel, shelf, owners } = self;
        let (body, number) = channel.receive_request()?;
        shelf.answer(decode(&body)?, &mut |answer| {
            let put = &mut |answer| channel.put_message(&encode(&answer), number);
            owners.tell(answer, &shelf.own_names, put)
        })?;
        Ok(Stepped::On)
    }
}

fn sum(lanes: &[LaneResult]) -> Given {
    let mut given = Given::default();
    // A connection that was asked for nothing did not wait for anything either.
    busy(lanes).for_each(|lane| add(&mut given, lane));
    given
}

fn add(given: &mut Given, lane: &LaneResult) {
    let LaneResult { counts, waits, carried, .. } = lane;
    given.blocks += counts.sink_requests;
    given.bytes += counts.bytes;
    for (sum, ns) in [
        (&mut given.source_wait_ns, waits.source),
        (&mut given.network_wait_ns, waits.sink),
        (&mut given.hashing_ns, waits.hashing),
        (&mut given.sealing_ns, carried.sealing_ns),
        (&mut given.rate_wait_ns, waits.rate_limit),
        (&mut given.lanes_ns, lane.time.elapsed_ns),
        (&mut given.lanes_cpu_ns, lane.time.cpu_ns),
    ] {
        *sum.get_or_insert(0) += ns;
    }
    if let Some(path) = &carried.path {
        given.path = Some(given.path.unwrap_or_default().plus(path));
    }
}
