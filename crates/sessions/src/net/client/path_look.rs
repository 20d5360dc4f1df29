//! A session that copies nothing: it asks the other host for its network settings, moves a bounded number of null bytes
//! over connections as a copy makes them, and gives what both kernels say of the path.
//!
//! What was found when a session is lost is given with the problem.
//!
//! Must not know: what is good or bad about a path, how it is shown.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use datapump_core::wire::session::{Direction, HostSettings, Message, SenderStats, TcpStats};
use datapump_transport::{NetFault, SocketFacts, host_settings, is_long_path};

use crate::job::request_plan::{self, SlotPool};
use crate::net::client::client_session::ClientSession;
use crate::net::client::path_probe::{self, Probed};
use crate::net::client::remote_copy::{Events, RemoteCopy, SessionStart};
use crate::net::folder::remote_host::Pools;
use crate::net::server::control::Follows;
use crate::place::{Place, Remote};
use crate::problem::Problem;
use crate::report::{Report, version};
use crate::run::gate::LaneRange;
use crate::setup::defaults::Reads;
use crate::setup::options::{Choice, Options};
use datapump_files::disk::boot;

/// How long the other side may take to tell what it counted: one that cannot send what was requested takes long.
const AGREEING_MAX: Duration = Duration::from_secs(3);

/// What was found of a path.
#[derive(Clone, Debug, Default)]
pub struct PathFacts {
    /// This host.
    pub local: HostSettings,
    /// The other host; `None` where it was not reached, or its pump does not know the question.
    pub remote: Option<HostSettings>,
    /// The other host has answered: there is a session.
    pub has_answered: bool,
    /// Both are one host.
    pub same_host: bool,
    /// The first connection, as this side's kernel saw it; `None` where connections go through ssh.
    pub first: Option<SocketFacts>,
    /// How long the handshake or the beginning took: what both programs computed is part of it.
    pub session_round_trip_ns: Option<u64>,
    /// What the transfer of null bytes did.
    pub probed: Option<Probed>,
    /// What the other side's kernel says of the connections that it sent over.
    pub sender: Option<TcpStats>,
    /// What a copy would choose.
    pub choice: Option<PathChoice>,
}

/// What a copy of files over a path chooses where nothing is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathChoice {
    /// Connections for data.
    pub connections: u32,
    /// Requests under way on each.
    pub requests: u32,
    /// To so many they may grow.
    pub requests_max: u32,
    /// Bytes of one.
    pub request_bytes: u32,
    /// The path is taken for a long one.
    pub is_long: bool,
}

impl PathChoice {
    /// The choice for a path of this round trip with so many connections, or as many as a copy may have over a long one.
    fn for_round_trip(round_trip_ns: u64, lanes: u32, lane_range: Option<LaneRange>) -> PathChoice {
        let is_long = is_long_path(round_trip_ns);
        let request_bytes = Some(Options::defaults(Reads::RemoteFiles).request_bytes);
        let options = Options::default().with(|it| it.tuning.request_bytes = request_bytes);
        let range = lane_range.unwrap_or(LaneRange { at_first: lanes, most: lanes });
        let shape = request_plan::for_job(&[], &options, Reads::RemoteFiles, false);
        let pool = SlotPool::from_options(&options, false);
        let shape = request_plan::for_path(shape, is_long, lanes, range.most.max(lanes), pool);
        PathChoice {
            connections: range.at_first.max(lanes),
            requests: shape.source_depth,
            requests_max: shape.source_depth_max,
            request_bytes: shape.request_bytes,
            is_long,
        }
    }
}

impl PathFacts {
    /// The shortest round trip that this host's kernel saw; else what the other side says of its own, or else the
    /// session's.
    pub fn round_trip_ns(&self) -> Option<u64> {
        let of_sender = || self.sender.map(|sender| sender.min_rtt_us).filter(|us| *us > 0);
        let of_sender = || of_sender().map(|us| us.saturating_mul(1000));
        self.kernel_round_trip_ns().or_else(of_sender).or(self.session_round_trip_ns)
    }

    /// The shortest that this host's kernel saw: nobody's word. None where connections go through ssh.
    pub fn kernel_round_trip_ns(&self) -> Option<u64> {
        let of_probe = self.probed.iter().flat_map(|probed| &probed.sockets);
        let all_us = self.first.iter().chain(of_probe).map(|socket| u64::from(socket.info.min_rtt_us));
        let known_us = all_us.filter(|us| *us > 0);
        known_us.min().map(|us| us * 1000)
    }

    /// Enters what the beginning of a session shows of the host and the path.
    fn fill_from_session(&mut self, session: &ClientSession) {
        self.has_answered = true;
        self.first = session.socket_facts();
        self.same_host = session.welcome.boot == Some(boot());
        self.session_round_trip_ns = Some(session.round_trip_ns);
        self.remote = session.peer_host.as_deref().cloned();
        self.local = host_settings(&version(), self.first.as_ref());
    }
}

impl RemoteCopy {
    /// Looks at the path to the host of the first source, and at both hosts. A problem is given with what was found
    /// until then; a host that is busy is not waited for.
    pub fn look_at_path(mut self, events: Events<'_>) -> (PathFacts, Option<Problem>) {
        let mut facts = PathFacts { local: host_settings(&version(), None), ..PathFacts::default() };
        self.target = Place::null();
        self.retry_for = Some(Duration::ZERO);
        self.options.measuring.far_null_bytes = Some(path_probe::BYTES_MAX);
        self.options.measuring.asks_host = true;
        // What comes without a request would be part of the transfer.
        self.options.network.read_ahead = Choice::Never;
        let looked = self.direction().and_then(|(_, remote)| self.look_at_host(&remote, &mut facts, events));
        (facts, looked.err())
    }

    /// Begins a session with the host and moves null bytes over its connections; what is found is entered in `facts`, also
    /// before an error.
    fn look_at_host(
        &self,
        remote: &Remote,
        facts: &mut PathFacts,
        events: Events<'_>,
    ) -> Result<(), Problem> {
        let last = Mutex::default();
        let mut session = self.begin(&SessionStart::of_this_side(Direction::Pull, remote, &last), events)?;
        facts.fill_from_session(&session);
        let lanes = session.lanes;
        let probe = |pools: &Pools| path_probe::probe_path(pools, lanes, &self.stop);
        let SessionWork { outcome: (probed, fault), gave, talked } = self.work_in(&mut session, probe);
        facts.sender = gave.and_then(|gave| gave.path);
        facts.probed = Some(probed);
        let round_trip_ns = facts.round_trip_ns().unwrap_or(session.round_trip_ns);
        facts.choice = Some(PathChoice::for_round_trip(round_trip_ns, lanes, session.lane_range));
        // Where the transfer went well, a session that ends badly has lost nothing but the other side's counts.
        fault.map_or(Ok(()), |fault| Err(talked.err().unwrap_or(fault).problem(&remote.to_string())))
    }

    /// Does something over a session's connections while messages are exchanged, then ends the session. One that does not agree
    /// on the end in time is cut.
    pub(crate) fn work_in<T: Send>(
        &self,
        session: &mut ClientSession,
        work: impl FnOnce(&Pools) -> T + Send,
    ) -> SessionWork<T> {
        let pools = session.connections.pools.pools(false);
        let (outbox, connections) = (session.outbox.clone(), Arc::clone(&session.connections));
        let mut gave: Option<SenderStats> = None;
        let (ended, end) = channel::<()>();
        let (outcome, talked) = std::thread::scope(|scope| {
            let cancel = session.cancel.clone();
            let worker = scope.spawn(move || {
                let outcome = work(&pools);
                connections.pools.close();
                let report = Report { version: version(), ..Report::default() };
                outbox.say(Message::Report(serde_json::to_string(&report).unwrap_or_default()));
                if end.recv_timeout(AGREEING_MAX) == Err(RecvTimeoutError::Timeout) {
                    cancel.cut();
                }
                outcome
            });
            let mut answer = |message| {
                if let Message::Agreed(given) = message {
                    gave = Some(*given);
                }
                Follows::Go
            };
            let talked = session.talk_until(&self.stop, &mut answer);
            session.cancel.cut();
            drop(ended);
            (worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), talked)
        });
        SessionWork { outcome, gave, talked }
    }
}

/// What was done over a session's connections, and how the session ended.
pub(crate) struct SessionWork<T> {
    pub(crate) outcome: T,
    /// What the other side gave.
    pub(crate) gave: Option<SenderStats>,
    pub(crate) talked: Result<(), NetFault>,
}
