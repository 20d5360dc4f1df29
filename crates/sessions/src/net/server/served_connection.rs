//! The reading side of a session: each of its connections is a machine ([`ServedConnection`]) that sends blocks or
//! answers about names, driven by a thread of its own.
//!
//! Must not know: sessions, who called whom.

mod ahead_sender;
mod read_server;
mod send_lane;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use datapump_core::wire::hello::Purpose;
use datapump_core::wire::session::{SenderStats, ShortText};
use datapump_core::wire::{decode, encode};
use datapump_engine::os::linux::cpus;
use datapump_engine::{CpuStage, WAIT_MAX, meter::Meters};
use datapump_files::devices::control_groups::{DiskAccess, DiskTraffic};
use datapump_transport::{CancelToken, Channel, HANDSHAKE_MAX, NetFault, is_long_path};

use self::read_server::ReadServer;
use self::send_lane::{SendLane, SharedLane};
use crate::job::HostJob;
use crate::lane::{Lane, Stepped};
use crate::net::folder::handle_table::HandleTable;
use crate::net::folder::owners::Telling;
use crate::problem::Problem;
use crate::report::charges::{LaneResult, busy, waits_alone};
use crate::report::cpu::{cpu_now, cpu_since};
use crate::tree::Shared;

/// Between two looks whether all connections have ended: a tenth of what a short copy takes.
const LOOK_AGAIN_AFTER: Duration = Duration::from_micros(500);

/// What the connections share over which another host is given what it asks for.
pub(crate) fn shared<'job>(job: &'job HostJob, handles: &HandleTable) -> Result<Shared<'job>, Problem> {
    job.served(handles.has_streams(), handles.null_fill())
}

/// Serves another host's requests over the connections that arrive, with the options of a job, until all have ended. Gives what
/// was sent, with the CPU time.
pub(crate) fn serve_connections(
    job: &HostJob,
    handles: &Arc<HandleTable>,
    channels: Receiver<(Purpose, Channel)>,
) -> SenderStats {
    let Ok(mut shared) = shared(job, handles) else { return SenderStats::default() };
    let meters = job.meters();
    shared.run.settings.meters = meters.as_ref();
    let (start, groups) = (Instant::now(), job.control_groups());
    let (cpu, busy, quota) = (cpu_now(), job.busy_cpus(), groups.begin_quota());
    let given = handles.add_times(serve_on_threads(&shared, handles, channels));
    let cpu = cpu_since(cpu);
    let kernel_ns = meters.as_ref().and_then(Meters::kernel_ns);
    let spent_ns = meters.as_ref().map(|meters| meters.spent().0);
    let traffic = DiskTraffic {
        access: DiskAccess::Read,
        bytes: given.bytes,
        requests: given.blocks,
        elapsed_ns: start.elapsed().as_nanos() as u64,
    };
    let read_limit = groups.reached_limit(&handles.devices(), traffic);
    SenderStats {
        user_ns: Some(cpu.user_ns),
        system_ns: Some(cpu.system_ns),
        spent_ns,
        kernel_ns,
        quota_held_ns: Some(quota.held_ns()),
        busy_cpus_ns: busy.busy_ns(),
        read_limit: read_limit.map(|limit| ShortText::shortened(&limit.to_string())),
        cpus: Some(cpus()),
        reads_a_pipe: Some(handles.reads_a_pipe()),
        ..given
    }
}

/// Serves each connection on a thread, until no more can arrive and all have ended. Gives what was sent.
fn serve_on_threads(
    shared: &Shared<'_>,
    handles: &Arc<HandleTable>,
    channels: Receiver<(Purpose, Channel)>,
) -> SenderStats {
    let given = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let mut lanes = 0..;
        for (purpose, channel) in channels {
            let is_blocks = matches!(purpose, Purpose::Blocks | Purpose::Ahead);
            let index = if is_blocks { lanes.next().unwrap_or(0) } else { 0 };
            let (handles, given) = (Arc::clone(handles), &given);
            // Where the system gives no more threads the connection is closed, and the other side goes on without it.
            let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
                let _meter =
                    shared.settings.metered(if is_blocks { CpuStage::Loop } else { CpuStage::Metadata });
                let gave = ServedConnection::new(shared, purpose, index, channel, handles)
                    .and_then(ServedConnection::run);
                given.lock().unwrap_or_else(PoisonError::into_inner).extend(gave);
            });
            drop(spawned);
        }
    });
    sum(&given.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The connections over which this side gives, at their end.
pub(crate) struct ServedEnd<'scope> {
    given: Option<ScopedJoinHandle<'scope, SenderStats>>,
    since: Option<Instant>,
}

impl<'scope> ServedEnd<'scope> {
    pub(crate) fn of(given: ScopedJoinHandle<'scope, SenderStats>) -> ServedEnd<'scope> {
        ServedEnd { given: Some(given), since: None }
    }

    /// What was sent in all, once the other side has hung up; its connections are closed if it does not. `None` where that
    /// takes longer than the holder of the session may wait.
    pub(crate) fn poll_end(&mut self, cancel: &CancelToken) -> Option<SenderStats> {
        let start = Instant::now();
        let since = *self.since.get_or_insert(start);
        while self.given.as_ref().is_some_and(|given| !given.is_finished()) {
            if since.elapsed() > HANDSHAKE_MAX {
                cancel.hang_up();
            }
            if start.elapsed() > WAIT_MAX {
                return None;
            }
            std::thread::sleep(LOOK_AGAIN_AFTER);
        }
        Some(self.given.take().and_then(|given| given.join().ok()).unwrap_or_default())
    }
}

/// One connection over which another host gets what it requests: a machine that [`ServedConnection::step`] moves. It
/// waits for nothing but its disk; its thread waits for the connection.
pub(crate) enum ServedConnection<'run> {
    Blocks(Box<Lane<'run>>),
    Names(Box<Names>),
}

impl<'run> ServedConnection<'run> {
    /// A connection of this purpose, whose requests are served from `handles`. `None` where there is no memory for its
    /// slots: the other side goes on without it.
    pub(crate) fn new(
        shared: &'run Shared<'run>,
        purpose: Purpose,
        index: usize,
        channel: Channel,
        handles: Arc<HandleTable>,
    ) -> Option<ServedConnection<'run>> {
        match purpose {
            Purpose::Blocks | Purpose::Ahead => {
                if is_long(&channel) {
                    fit_to_long_path(shared, purpose, &channel);
                }
                let lane = SendLane::new(channel, handles, shared.settings.shape.request_bytes);
                let lane = Rc::new(RefCell::new(lane));
                let lane = Lane::sending(
                    shared,
                    index,
                    Box::new(SharedLane(Rc::clone(&lane))),
                    Box::new(ReadServer::new(shared, lane)),
                );
                lane.ok().map(Box::new).map(ServedConnection::Blocks)
            }
            Purpose::Control | Purpose::Names => Some(ServedConnection::Names(Box::new(Names {
                channel,
                handles,
                owners: Telling::default(),
            }))),
        }
    }

    /// Serves requests until the other side hangs up. Gives what a lane of blocks has counted.
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
            ServedConnection::Blocks(lane) => lane.step().unwrap_or(Stepped::Over),
            ServedConnection::Names(names) => names.step().unwrap_or(Stepped::Over),
        }
    }

    /// Waits until something more has come. False if nothing did for so long.
    pub(crate) fn wait(&mut self, patience: Duration) -> bool {
        match self {
            ServedConnection::Blocks(lane) => lane.wait(patience),
            // An error of the connection is reported by the next step.
            ServedConnection::Names(names) => names.channel.has_input(patience).unwrap_or(true),
        }
    }

    pub(crate) fn result(self) -> Option<LaneResult> {
        match self {
            ServedConnection::Blocks(lane) => Some(lane.into_result()),
            ServedConnection::Names(_) => None,
        }
    }
}

fn is_long(channel: &Channel) -> bool {
    let look = channel.probe().and_then(|probe| probe.look());
    look.is_some_and(|look| is_long_path(look.path_round_trip_ns))
}

fn fit_to_long_path(shared: &Shared<'_>, purpose: Purpose, channel: &Channel) {
    channel.pace();
    if purpose == Purpose::Ahead && shared.settings.options.network.sockets.buffer_bytes.is_none() {
        channel.deepen();
    }
}

/// A connection over which names are asked for.
pub(crate) struct Names {
    channel: Channel,
    handles: Arc<HandleTable>,
    owners: Telling,
}

impl Names {
    /// Answers one request, if one has come; else sends what is held back.
    fn step(&mut self) -> Result<Stepped, NetFault> {
        self.channel.line_check()?;
        if !self.channel.has_come()? {
            self.channel.flush()?;
            return Ok(Stepped::Waits);
        }
        let Names { channel, handles, owners } = self;
        let (body, number) = channel.receive_request()?;
        handles.answer(decode(&body)?, &mut |answer| {
            let put = &mut |answer| channel.put_message(&encode(&answer), number);
            owners.send_with_names(answer, &handles.own_names, put)
        })?;
        Ok(Stepped::On)
    }
}

fn sum(lanes: &[LaneResult]) -> SenderStats {
    let mut given = SenderStats::default();
    // A connection that was asked for nothing did not wait for anything either.
    busy(lanes).for_each(|lane| add_lane(&mut given, lane));
    given
}

/// Adds what a lane sent and waited.
fn add_lane(given: &mut SenderStats, lane: &LaneResult) {
    let LaneResult { counts, waits, time, connection_stats, .. } = lane;
    given.blocks += counts.sink_requests;
    given.bytes += counts.bytes;
    for (sum, ns) in [
        (&mut given.source_wait_ns, waits.source),
        (&mut given.network_wait_ns, waits.sink),
        (&mut given.hashing_ns, waits.hashing),
        (&mut given.sealing_ns, connection_stats.sealing_ns),
        (&mut given.rate_wait_ns, waits.rate_limit),
        (&mut given.lanes_ns, time.elapsed_ns),
        (&mut given.lanes_cpu_ns, time.cpu_ns),
        // A lane charges its calls; its thread knows when it had no CPU.
        (&mut given.not_scheduled_ns, waits_alone(*waits, *time).not_scheduled),
    ] {
        *sum.get_or_insert(0) += ns;
    }
    if let Some(path) = &connection_stats.path {
        given.path = Some(given.path.unwrap_or_default().plus(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::charges::ThreadTime;
    use datapump_core::verdict::Waits;

    fn lane(time: ThreadTime) -> LaneResult {
        LaneResult {
            counts: Default::default(),
            waits: Waits { source: 300, idle: 500, ..Waits::default() },
            engine: Default::default(),
            source_depth: 1,
            done_ns: 0,
            time,
            connection_stats: Default::default(),
            latencies: None,
        }
    }

    /// No longer than it did not compute.
    #[test]
    fn the_sender_says_how_long_its_lanes_had_no_cpu() {
        let time = |cpu_ns, delayed_ns| ThreadTime { elapsed_ns: 1000, cpu_ns, delayed_ns };
        let lanes = [lane(time(200, 350)), lane(time(900, 350))];
        let given = sum(&lanes);
        assert_eq!((given.lanes_ns, given.lanes_cpu_ns), (Some(2000), Some(1100)));
        assert_eq!((given.source_wait_ns, given.not_scheduled_ns), (Some(600), Some(350 + 100)));
    }
}
