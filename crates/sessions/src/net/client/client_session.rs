//! A session that this side begins: reaches the other side, tells it what is wanted, makes its connections.
//!
//! Must not know: command lines, how blocks are moved, what follows when the session is lost.

mod local_name;
mod patterns;
mod wishes;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use datapump_core::wire::hello::Purpose;
use datapump_core::wire::session::{Begin, Direction, HostSettings, Message, SenderStats, Session};
use datapump_transport::{
    CancelToken, Channel, Dialer, Host, LONG_PATH_NS, NetFault, Reached, Reaching, RemoteEnd, SocketFacts,
    Stopping, Welcome, is_long_path, kernel_buffer_bytes, random, reach,
};

use crate::job::request_plan::{self, SlotPool};
use crate::net::client::client_session::local_name::{local_spelling, with_local_name};
use crate::net::client::remote_copy::{
    Events, LastSession, PAUSE_MAX, PAUSE_MIN, RemoteCopy, SessionBefore, SessionStart,
};
use crate::net::client::session_pools::{LOOK_EACH, SPARES_AFTER, SessionPools, sleep_unless};
use crate::net::folder::event_codec;
use crate::net::server::control::{Control, Follows, Outbox, message_boxes};
use crate::place::{Place, Remote};
use crate::problem::{Problem, words_about};
use crate::report::event::Event;
use crate::report::{Report, RoundTrips};
use crate::run::gate::LaneRange;
use crate::setup::defaults::{LONG_PATH_CONNECTIONS, Reads};
use crate::setup::options::told_bytes::OPTIONS_BYTES_MAX;
use crate::setup::options::{Choice, Options, PEER_TIMEOUT, RETRY_FOR};
use crate::setup::platform::Platform;
use datapump_files::disk::{Disk, FileKind};

/// Options are sent in one message of 1 MiB, with the places. Only a list of names makes them long.
const LIST_TOO_LONG: &str =
    "the list of --files-from is too long to be sent to another host (about 800 kB fit); copy in parts";
const FOLLOWS_LINKS: &str = "the pump there is older and follows symbolic links; install this version there, write \
                             SRC/ for a folder, or leave out -a, -d and --links (and unset PUMP_LINKS)";

impl RemoteCopy {
    /// Which side writes, and a place on the other host, which tells how it is reached.
    ///
    /// Errors: no place, or too many, lie on other hosts.
    pub(crate) fn direction(&self) -> Result<(Direction, Remote), Problem> {
        let remote = |place: &Place| match place {
            Place::Remote(remote) => Some(remote.clone()),
            _ => None,
        };
        let sources: Vec<Remote> = self.sources.iter().filter_map(remote).collect();
        match (&sources[..], remote(&self.target)) {
            ([], Some(target)) if self.sources.iter().all(Place::is_here) => Ok((Direction::Push, target)),
            ([first, ..], None) if sources.len() == self.sources.len() => {
                if sources.iter().all(|source| source.host == first.host) {
                    Ok((Direction::Pull, first.clone()))
                } else {
                    let words = "the sources are on several hosts; copy from one after the other";
                    Err(usage_with_spelling(words, &sources))
                }
            }
            ([_, ..], None) => Err(here_and_there(&sources)),
            ([_, ..], Some(_)) if self.compares => {
                Err(Problem::usage("both places are on other hosts; copy one here, and compare that"))
            }
            ([first, ..], Some(target)) if sources.len() == self.sources.len() => {
                Err(Problem::usage(format!(
                    "both places are on other hosts: that needs ssh for both, and all sources on one host; else copy \
                     here first: mkdir TMP && pump copy {first} TMP/ && pump copy TMP/ {target}"
                )))
            }
            ([_, ..], Some(_)) => Err(here_and_there(&sources)),
            ([], Some(_)) => Err(Problem::usage(
                "a web source cannot be copied to another host directly; copy it here first",
            )),
            ([], None) => Err(Problem::usage("no place is on another host")),
        }
    }

    /// Begins the session. While the other side is busy it is requested again, with growing pauses, as long as `--retry-for`
    /// says; the first time that is reported.
    pub(crate) fn begin(
        &self,
        start: &SessionStart<'_>,
        events: Events<'_>,
    ) -> Result<ClientSession, Problem> {
        let place = start.remote.to_string();
        self.options.network.sockets.check().map_err(Problem::usage)?;
        if self.options.deletion.remove_sources {
            return Err(Problem::usage(
                "--remove-source-files is for copies on this host alone: leave it out, and remove the source when the \
                 copy has ended with status 0",
            ));
        }
        if self.begin_request(start, None, false).options.len() > OPTIONS_BYTES_MAX {
            return Err(Problem::usage(LIST_TOO_LONG));
        }
        let patience = self.retry_for.unwrap_or(RETRY_FOR);
        let (since, mut pause, mut was_told) = (Instant::now(), PAUSE_MIN, false);
        loop {
            let cancel = CancelToken::default();
            let beginning = self.try_begin(cancel.clone(), start, events);
            if !matches!(beginning, Ok(Beginning::Begun(_))) {
                // Connections that are made beside it have no session to join.
                cancel.cut();
            }
            let words = match beginning? {
                Beginning::Begun(session) => return Ok(*session),
                Beginning::Busy(words) => crate::shown(words.as_bytes()),
            };
            let left = patience.saturating_sub(since.elapsed());
            if left.is_zero() {
                let seconds = patience.as_secs_f64();
                let words = format!("{words}; gave up after {seconds} s (--retry-for)");
                return Err(NetFault::Refused(words).problem(&place));
            }
            if !std::mem::replace(&mut was_told, true) {
                let words = format!("{words}; trying again until there is room");
                events(Event::Warning(words_about(&place, &words)));
            }
            sleep_unless(jittered(pause).min(left), PAUSE_MIN, || self.stop.load(Ordering::Relaxed));
            if self.stop.load(Ordering::Relaxed) {
                return Err(NetFault::Stopped.problem(&place));
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Requests the session once, and keeps what the other side answers. Before a first session a fault names the local file
    /// that may have been meant; a refusal of ssh behind one counts as a lost connection.
    fn try_begin(
        &self,
        cancel: CancelToken,
        start: &SessionStart<'_>,
        events: Events<'_>,
    ) -> Result<Beginning, Problem> {
        let SessionStart { way, remote, last, .. } = *start;
        let notice = |words: String| events(Event::Notice(words_about(&remote.to_string(), &words)));
        let lost = |fault: NetFault| fault.problem(&remote.to_string());
        let was_started = || last.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        // Before the session, whose other side waits for signs of life: a call of a disk may take long.
        let receives_here = if was_started() { None } else { self.receives() };
        let session = self.connect_and_greet(cancel, start, &notice);
        let (session, answer) = match session {
            Err(NetFault::Busy(words)) => return Ok(Beginning::Busy(words)),
            // What refuses ssh now may not always.
            Err(NetFault::Refused(words)) if was_started() && matches!(remote.host, Host::Ssh(_)) => {
                return Err(lost(NetFault::Lost(words)));
            }
            // A peer that speaks another protocol is not going to learn it meanwhile.
            Err(NetFault::Protocol(words)) if !was_started() => return Err(lost(NetFault::Refused(words))),
            session if was_started() => session.map_err(lost)?,
            session => session.map_err(|fault| lost(with_local_name(fault, remote)))?,
        };
        match (session, answer) {
            (_, Message::Begun { has_links: None, .. }) if self.asks_links(way) => {
                Err(lost(NetFault::Refused(FOLLOWS_LINKS.into())))
            }
            (
                mut session,
                Message::Begun {
                    receives, reads_on, sends_ahead, host, places, has_links, holds_events, ..
                },
            ) => {
                let told = places.filter(|_| session.asks_places);
                session.sources = patterns::expand_sources(&self.sources, told).map_err(lost)?;
                session.remember(last, receives.or(receives_here));
                session.reads_on &= reads_on == Some(true);
                session.ahead &= sends_ahead != Some(false);
                session.peer_host = host;
                session.has_links = self.asks_links(way) && has_links == Some(true);
                session.holds_events = holds_events == Some(true);
                // From now on a stop lets come what was asked for.
                session.control.join(&session.cancel);
                Ok(Beginning::Begun(Box::new(session)))
            }
            (_, Message::Busy(words)) => Ok(Beginning::Busy(words)),
            (_, Message::Refused(event)) => Err(event_codec::refused(event, &remote.host.to_string())),
            _ => Err(lost(NetFault::Protocol("the other side does not begin".into()))),
        }
    }

    /// Connects to the other side and sends, with the greeting, what is requested. Gives the session and the answer.
    fn connect_and_greet(
        &self,
        cancel: CancelToken,
        start: &SessionStart<'_>,
        notice: &dyn Fn(String),
    ) -> Result<(ClientSession, Message), NetFault> {
        let way = start.way;
        let patience = self.peer_timeout.unwrap_or(PEER_TIMEOUT);
        let source_bytes = if way == Direction::Push && self.may_grow() { self.pushed_bytes() } else { None };
        let (proposed, connections) = (random(), Arc::new(SessionPools::new(&cancel)));
        let beside =
            |dialer: &Dialer| connections.dial_early(dialer, proposed, self.lanes(), start.first.clone());
        let (way_in, sockets, stop) = (&self.way_in, &self.options.network.sockets, &self.stop);
        let reaching = Reaching { way_in, sockets, patience, stop, proposed, beside: &beside };
        let Reached { dialer, channel, round_trip_ns, remote_end, notices } =
            reach(&start.remote.host, &reaching, &cancel, notice)?;
        let ((outbox, inbox), clock) = (message_boxes()?, Platform::real().clock);
        // Streams through one connection of ssh are no more of them.
        let has_own_connections = channel.probe().is_some();
        let mut control = Control::new(channel, Session::caller(), inbox, patience, clock);
        let is_long = self.reads_ahead(round_trip_ns);
        let round_trip_ns = round_trip_ns.or(self.is_forced_long().then_some(0)).map(|ns| self.taken_for(ns));
        connections.decide(is_long);
        let lane_range = self.lane_range(way, source_bytes, round_trip_ns.filter(|_| has_own_connections));
        let begin = Begin {
            boot: start.source_boot,
            round_trip_ns,
            sends_ahead: Some(is_long),
            ..self.begin_request_behind(start, lane_range)
        };
        let (said, asks_places) = (Instant::now(), begin.expands == Some(true));
        let asked = control.say(Message::Begin(begin)).and_then(|()| control.hear());
        let answer = asked.inspect_err(|fault| dialer.distrust(fault))?;
        let round_trip_ns = self.taken_for(shorter(round_trip_ns, said.elapsed()));
        let welcome = Welcome::from_reply(control.channel.take_reply())?;
        let connecting = dialer.round_trips();
        connections.know(dialer, welcome.session);
        let lanes = self.lanes().clamp(1, welcome.connections_max.max(1));
        let ahead = is_long && welcome.session == proposed;
        let session = ClientSession {
            control,
            connections,
            welcome,
            outbox,
            cancel,
            lanes,
            lane_range: lane_range.map(|range| range.at_most(welcome.connections_max.max(1))),
            round_trip_ns,
            connecting,
            ahead,
            reads_on: self.options.network.read_ahead != Choice::Never,
            peer_host: None,
            has_links: false,
            holds_events: false,
            asks_places,
            sources: None,
            notices,
            _remote_end: remote_end,
        };
        Ok((session, answer))
    }

    /// Whether what is not requested is sent over a path of this round trip. Nobody waits to learn it: over a short
    /// path that is taken for a long one small files are copied in 0.8 of the time, a large one in 1.0.
    fn reads_ahead(&self, round_trip_ns: Option<u64>) -> bool {
        match self.options.network.read_ahead {
            Choice::Auto => round_trip_ns.is_none_or(is_long_path),
            Choice::Always => true,
            Choice::Never => false,
        }
    }

    /// A round trip, or that of the shortest long path, if all are to be taken for one.
    fn taken_for(&self, round_trip_ns: u64) -> u64 {
        round_trip_ns.max(if self.is_forced_long() { LONG_PATH_NS } else { 0 })
    }

    fn is_forced_long(&self) -> bool {
        self.options.network.read_ahead == Choice::Always
    }

    /// Connections for blocks that are asked for, each with a lane at both ends.
    pub(super) fn lanes(&self) -> u32 {
        self.connections.unwrap_or(Options::defaults(Reads::RemoteFiles).lanes)
    }

    /// Whether a folder stands where this side writes.
    fn receives(&self) -> Option<bool> {
        let Place::Path(path) = &self.target else { return None };
        Some(Disk::Os.metadata(path).is_ok_and(|meta| meta.kind == FileKind::Folder))
    }

    /// How many lanes a copy of files begins with over a long path, and to how many it may grow. `None` over a short
    /// path, and where the user gave a number.
    fn lane_range(
        &self,
        way: Direction,
        source_bytes: Option<u64>,
        round_trip_ns: Option<u64>,
    ) -> Option<LaneRange> {
        let round_trip_ns = round_trip_ns.filter(|ns| is_long_path(*ns))?;
        if !self.may_grow() {
            return None;
        }
        let most = match way {
            Direction::Push => LONG_PATH_CONNECTIONS.min(request_plan::lanes_worth(source_bytes?)),
            Direction::Pull => LONG_PATH_CONNECTIONS,
        };
        let shape = request_plan::for_job(&[], &self.options, Reads::RemoteFiles, false);
        let most = most.min(SlotPool::from_options(&self.options, self.compares).lanes(shape));
        let asked_bytes = self.options.network.sockets.buffer_bytes.map(u64::from);
        let at_first = lanes_for(round_trip_ns, asked_bytes.unwrap_or_else(kernel_buffer_bytes));
        (most > self.lanes()).then_some(LaneRange { at_first: at_first.min(most), most })
    }

    /// Nobody asked for a number of connections.
    fn may_grow(&self) -> bool {
        self.connections.is_none() && self.options.tuning.lanes.is_none()
    }

    /// The bytes by which the number of connections is chosen: those of files and null that this side sends. `None` with a
    /// folder or a pipe, whose bytes are not known.
    fn pushed_bytes(&self) -> Option<u64> {
        let bytes_of = |place: &Place| match place {
            Place::Null { bytes, .. } => *bytes,
            Place::Path(path) => {
                let meta = Disk::Os.metadata(path).ok()?;
                (meta.kind == FileKind::Regular).then_some(meta.size_bytes)
            }
            _ => None,
        };
        self.sources.iter().map(bytes_of).try_fold(0_u64, |sum, bytes| Some(sum.saturating_add(bytes?)))
    }
}

/// So many connections fill 1 Gbit/s, each with what its buffers hold under way.
fn lanes_for(round_trip_ns: u64, buffer_bytes: u64) -> u32 {
    const BYTES_PER_S: u64 = 125_000_000;
    let path_bytes = BYTES_PER_S.saturating_mul(round_trip_ns) / 1_000_000_000;
    path_bytes.div_ceil(buffer_bytes.max(1)).clamp(1, u64::from(LONG_PATH_CONNECTIONS / 2)) as u32
}

fn here_and_there(sources: &[Remote]) -> Problem {
    usage_with_spelling("some sources are here and some on another host; copy in two steps", sources)
}

/// A pattern of the shell (`*.log`) may have found files with a colon in their names.
fn usage_with_spelling(words: &str, sources: &[Remote]) -> Problem {
    let local = sources.iter().find_map(local_spelling).unwrap_or_default();
    Problem::usage(format!("{words}{local}"))
}

/// What a lost session made is not taken for a folder that was there to receive.
pub(crate) fn is_name_of(last: &LastSession) -> bool {
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    last.as_ref().is_some_and(|before| before.receives == Some(false))
}

/// The shorter of the handshake and the beginning of a session: what either side computed meanwhile is part of them.
/// Without a handshake there is nothing but the other.
fn shorter(handshake_ns: Option<u64>, beginning: Duration) -> u64 {
    let beginning_ns = beginning.as_nanos() as u64;
    handshake_ns.map_or(beginning_ns, |ns| ns.min(beginning_ns))
}

/// What a called side says to a wish, unless it refuses.
enum Beginning {
    Begun(Box<ClientSession>),
    /// Not now: why.
    Busy(String),
}

/// Between a half and all of a pause: callers that were sent away at once do not come back at once.
fn jittered(pause: Duration) -> Duration {
    let [byte] = datapump_transport::random::<1>();
    pause / 2 + pause * u32::from(byte) / 512
}

/// A session that has begun.
pub(crate) struct ClientSession {
    control: Control,
    pub(crate) connections: Arc<SessionPools>,
    pub(crate) welcome: Welcome,
    pub(crate) outbox: Outbox,
    pub(crate) cancel: CancelToken,
    /// Lanes, and connections for blocks.
    pub(crate) lanes: u32,
    /// Of both over a long path, where nobody asked for a number.
    pub(crate) lane_range: Option<LaneRange>,
    /// How long the handshake took.
    pub(crate) round_trip_ns: u64,
    /// Round trips until the first connection was there.
    connecting: u64,
    /// The path is long, and the other side knows what comes without a request.
    pub(crate) ahead: bool,
    /// Over a long path blocks may be requested before they have slots.
    pub(crate) reads_on: bool,
    /// What the other host said of its settings.
    pub(crate) peer_host: Option<Box<HostSettings>>,
    /// A source of the other host is a symbolic link that stays one.
    pub(crate) has_links: bool,
    /// The other side waits with events when it is asked to.
    holds_events: bool,
    /// Whether it was asked what the sources stand for.
    asks_places: bool,
    /// What the patterns among the sources stand for, if there are any.
    pub(crate) sources: Option<Vec<Place>>,
    /// Says why connections are made otherwise than the first, if they are.
    pub(crate) notices: Option<Receiver<String>>,
    /// Ends when the session is over.
    _remote_end: Option<RemoteEnd>,
}

impl ClientSession {
    /// Leaves what the first session of a copy found to those that go on.
    fn remember(&self, last: &LastSession, receives: Option<bool>) {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let (receives, sources) = match last.take() {
            Some(before) => (before.receives, before.sources),
            None => (receives, self.sources.clone()),
        };
        *last = Some(SessionBefore { number: self.welcome.session, receives, sources });
    }

    /// The report, with the round trips of the session's beginning and end.
    pub(crate) fn with_round_trips(&self, report: Report) -> Report {
        let own =
            RoundTrips { connecting: self.connecting, beginning: 1, ending: 1, ..RoundTrips::default() };
        let round_trips = report.round_trips.map(|RoundTrips { listing, data, requests, .. }| RoundTrips {
            listing,
            data,
            requests,
            ..own
        });
        Report { round_trips, ..report }
    }

    /// What this side's kernel says of the first connection.
    pub(crate) fn socket_facts(&self) -> Option<SocketFacts> {
        self.control.channel.socket_facts()
    }

    /// Makes the connections over which the other side requests, on a thread, and gives them to `sender` as they are made,
    /// until all is over. Without one that was agreed the session is cut; the thread gives the reason.
    pub(crate) fn dial<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        sender: Sender<(Purpose, Channel)>,
        is_over: Arc<AtomicBool>,
    ) -> ScopedJoinHandle<'scope, Result<(), NetFault>> {
        let (connections, lanes, ahead) = (Arc::clone(&self.connections), self.lanes, self.ahead);
        let (cancel, range) = (self.cancel.clone(), self.lane_range);
        scope.spawn(move || {
            let dialled = connections.dial(lanes, ahead, &sender);
            // Behind the report nobody misses one.
            let has_ended = is_over.load(Ordering::Relaxed);
            dialled
                .or_else(|fault| if has_ended { Ok(()) } else { Err(fault) })
                .inspect_err(|_| cancel.cut())?;
            let is_over = || is_over.load(Ordering::Relaxed) || cancel.check().is_err();
            let Some(LaneRange { at_first, most }) = range else { return Ok(()) };
            let at_once = at_first.min(most).saturating_sub(lanes);
            connections.dial_spares(at_once, &sender, &is_over);
            if most > lanes + at_once && sleep_unless(SPARES_AFTER, LOOK_EACH, is_over) {
                connections.dial_spares(most - lanes - at_once, &sender, &is_over);
            }
            Ok(())
        })
    }

    /// Exchanges messages to the end of the session, and sends a stop once. `hold`: whether the other side is to hold events
    /// back from now on, or to send them.
    pub(crate) fn talk(
        &mut self,
        stop: &AtomicBool,
        answer: &mut dyn FnMut(Message) -> Follows,
        given: &mut dyn FnMut() -> Option<SenderStats>,
        hold: &dyn Fn() -> Option<bool>,
    ) -> Result<(), NetFault> {
        let (cancel, mut stopping, mut was_said) = (self.cancel.clone(), Stopping::default(), false);
        let holds_events = self.holds_events;
        let mut look = || {
            let is_asked = stopping.heeds(stop, &cancel);
            let stops = is_asked && !std::mem::replace(&mut was_said, is_asked);
            // A side that is to stop waits with nothing.
            let held = if holds_events && !is_asked { hold() } else { None };
            stops.then_some(Message::Stop).or(held.map(Message::HoldEvents))
        };
        self.control.run(answer, &mut look, given)
    }

    /// Exchanges messages to the end of the session of a side that writes. Its lanes heed a stop themselves; where they
    /// wait too long for blocks the session is cut.
    pub(crate) fn talk_until(
        &mut self,
        stop: &AtomicBool,
        answer: &mut dyn FnMut(Message) -> Follows,
    ) -> Result<(), NetFault> {
        let (cancel, mut stopping) = (self.cancel.clone(), Stopping::default());
        let mut look = || {
            stopping.heeds(stop, &cancel);
            None
        };
        self.control.run(answer, &mut look, &mut || Some(SenderStats::default()))
    }
}
