//! The reading side of a session: lanes that give blocks, and threads that answer about names, one for each connection.
//!
//! Must not know: sessions, who called whom.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use datapump_core::wire::hello::Purpose;
use datapump_core::wire::session::Given;
use datapump_core::wire::{decode, encode};
use datapump_engine::Stage;
use datapump_transport::{Channel, HANDSHAKE_MAX, Line, NetFault};

use crate::lane::{Lane, LaneResult};
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
            let spawned = std::thread::Builder::new().spawn_scoped(scope, move || match purpose {
                Purpose::Blocks => give_blocks(shared, index, channel, shelf, given),
                Purpose::Control | Purpose::Names => {
                    let _meter = shared.settings.metered(Stage::Metadata);
                    drop(answer_names(channel, &shelf));
                }
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

fn give_blocks(
    shared: &Shared<'_>,
    index: usize,
    channel: Channel,
    shelf: Arc<Shelf>,
    given: &Mutex<Vec<LaneResult>>,
) {
    let _meter = shared.settings.metered(Stage::Loop);
    let lane = Lane::sending(shared, index, channel, shelf).and_then(Lane::run);
    if let Ok(result) = lane {
        given.lock().unwrap_or_else(PoisonError::into_inner).push(result);
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

/// Answers until the other side hangs up.
fn answer_names(mut channel: Channel, shelf: &Shelf) -> Result<(), NetFault> {
    let mut owners = Telling::default();
    loop {
        let (body, number) = channel.receive_request()?;
        shelf.answer(decode(&body)?, &mut |answer| {
            let put = &mut |answer| channel.put_message(&encode(&answer), number);
            owners.tell(answer, &shelf.own_names, put)
        })?;
        if !channel.has_come()? {
            channel.flush()?;
        }
    }
}
