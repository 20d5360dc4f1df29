//! One session of a server: what the caller wants is checked against what is served, and done.
//!
//! Nothing outside of a served folder is read or written: places are opened beneath it (openat2, RESOLVE_BENEATH), and
//! a target that is a symbolic link is refused. A far end that its own user started over ssh is not held back: there
//! places mean what they would mean in his shell.
//!
//! Must not know: how callers are let in, how a copy is made.

mod begin_kept;
mod expansion;
mod kept_links;
mod link_dest;
mod places;
mod reserve;
mod write_only;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use datapump_core::wire::hello::Purpose;
use datapump_core::wire::session::{Begin, Direction, Message, SenderStats, Session};
use datapump_transport::{
    CancelToken, Channel, CutOnPanic, HANDSHAKE_MAX, Host, NetFault, Pool, SocketOptions, Stopping,
    host_settings,
};
use minicbor::bytes::ByteVec;

use crate::count_ahead;
use crate::count_ahead::served_root::ServedRoot;
use crate::job::HostJob;
use crate::net::client::path_probe;
use crate::net::folder::event_codec::{self, progress, refusal};
use crate::net::folder::handle_table::HandleTable;
use crate::net::folder::owners::Mapping;
use crate::net::folder::remote_host::{PeerFacts, PurposePools, RemoteHost};
use crate::net::server::connections::NewSession;
use crate::net::server::control::{Control, Follows, Outbox};
use crate::net::server::datagram_session;
use crate::net::server::limits::{bounded_by_server, ignored_flags_notice};
use crate::net::server::served_connection::{self, ServedEnd};
use crate::net::server::server_state::ServerState;
use crate::place::{Fill, Place, Remote};
use crate::problem::{Class, Operation, Problem};
use crate::report::event::Event;
use crate::report::version;
use crate::report::watch::Watch;
use crate::setup::budget::charged::ChargedValue;
use crate::setup::budget::{Charge, Share};
use crate::setup::options::Options;
use crate::setup::platform::Platform;
use datapump_files::disk::{FileKind, Meta, PathAbove, PathAt};

use begin_kept::BeginKept;
use places::{ServedTo, find_target, folders_above, refuse_backups_elsewhere, sources_of};

/// What a lane's connections may hold at most of what is received and sent; most lanes have more than that in slots.
const CONNECTION_BYTES: u64 = 2 << 20;
/// A caller that waits longer than a week waits for good.
const PATIENCE_MAX_MS: u64 = 7 * 24 * 3600 * 1000;
/// How often progress is told.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Runs a session from its first message to its last, then closes it. What goes wrong is sent to the client, and ends
/// no other session.
pub(crate) fn run_session(state: &ServerState, channel: Channel, session: NewSession) {
    let (number, cancel) = (session.number, session.cancel.clone());
    // Whatever went wrong was told to the caller, if it could be told. A mistake of this program ends this session and
    // no other; whoever prints words has told it.
    let _ = catch_unwind(AssertUnwindSafe(|| hold(state, channel, session)));
    cancel.cut();
    state.close(&number);
}

/// Receives the request that begins a session, checks it and reserves its memory, agrees, and holds the session to its end. A
/// refusal is sent.
fn hold(state: &ServerState, channel: Channel, session: NewSession) -> Result<(), NetFault> {
    let NewSession { number, cancel, acceptor, boxes: (outbox, inbox), left } = session;
    let mut control =
        Control::new(channel, Session::called(), inbox, state.options.peer_timeout, Platform::real().clock);
    // Nothing is under way yet: a stop ends it at once, and who wants nothing has no place for long.
    control.join(&cancel.heeding(&state.stop));
    let (message, one) = control.receive_first(HANDSHAKE_MAX, &state.budget)?;
    let Message::Begin(begin) = message else {
        return Err(NetFault::Protocol("a session begins with what is wanted".into()));
    };
    if let Some(request) = begin.datagrams {
        drop(one);
        end_earlier_session(state, &mut control, &begin, &number)?;
        control.join(&cancel);
        return datagram_session::hold(state, control, cancel, outbox, request);
    }
    let share = state.budget.share();
    let kept = BeginKept::charged(begin, &share);
    drop(one);
    let begin = match kept {
        Ok(begin) => begin,
        Err(problem) => return control.say(*refusal(problem)),
    };
    if let (ServedRoot::User(_), Some(patience_ms)) = (&state.root, begin.begin.patience_ms) {
        control.set_patience(Duration::from_millis(patience_ms.clamp(1, PATIENCE_MAX_MS)))?;
    }
    end_earlier_session(state, &mut control, &begin.begin, &number)?;
    let (way, asks_host, keeps_links) = (begin.begin.way, begin.begin.asks_host, begin.begin.keeps_links);
    // It looks at the disk, which may take longer than the caller waits for a sign of life.
    let checked = control.run_meanwhile(|| -> Result<_, Box<Message>> {
        let mut wanted = check_request(state, begin, share).map_err(refusal)?;
        let memory = reserve::reserve(state, &mut wanted)?;
        let receives = wanted.target.as_ref().map(PathAt::is_folder);
        Ok((wanted, memory, receives))
    })?;
    match checked {
        Ok((mut wanted, memory, receives)) => {
            state.agree(&left, wanted.connections_max(), wanted.sends_ahead);
            let sends_ahead = Some(wanted.sends_ahead);
            let host = (asks_host == Some(true))
                .then(|| Box::new(host_settings(&version(), control.channel.socket_facts().as_ref())));
            control.say(Message::Begun {
                receives,
                reads_on: Some(true),
                sends_ahead,
                host,
                datagrams: None,
                places: wanted.places.take(),
                has_links: (keeps_links == Some(true)).then(|| wanted.links.contains(&true)),
                holds_events: Some(true),
            })?;
            control.join(&cancel);
            let done = match way {
                Direction::Push => write(state, control, cancel, acceptor, outbox, wanted),
                Direction::Pull => serve_and_count(state, control, cancel, acceptor, outbox, wanted),
            };
            drop(memory);
            done
        }
        Err(answer) => control.say(*answer),
    }
}

/// Ends the lost session that this one replaces, if any, and waits until what it had in hand is free.
fn end_earlier_session(
    state: &ServerState,
    control: &mut Control,
    begin: &Begin,
    number: &[u8; 16],
) -> Result<(), NetFault> {
    match &begin.instead_of {
        Some(before) => control.run_meanwhile(|| state.end(before, number)),
        None => Ok(()),
    }
}

/// The request, as far as it is allowed.
struct Wanted {
    /// What all of this takes, and what is made of it: held until the session ends.
    held: Charge,
    /// What else the session holds is charged to this.
    share: Arc<Share>,
    /// Where places are: what is served, or null.
    root: ServedRoot,
    sources: Vec<PathBuf>,
    /// Which of them are kept as symbolic links; empty where all are followed.
    links: Vec<bool>,
    /// What the caller's places stand for, where he wants to know.
    places: Option<Vec<ByteVec>>,
    /// Where is written, as the caller calls it.
    target: Option<PathAt>,
    /// The folders above it, where those that are missing are to be made.
    above: Option<PathAbove>,
    options: Options,
    /// What the caller chose and does not get, in words.
    left_out: Option<String>,
    connections: u32,
    tells_files: bool,
    /// Which start of which system the caller runs on.
    boot: Option<[u8; 16]>,
    /// The shortest round trip that the caller has seen; none: `u64::MAX`.
    round_trip_ns: u64,
    /// It has a connection for what it sends without a request.
    sends_ahead: bool,
    /// Over a long path blocks may be requested before they have slots.
    reads_on: bool,
    /// What there is to give is counted.
    counts_ahead: bool,
    /// What tells the caller's places from others of the same words.
    sources_sum: Option<u64>,
}

fn refused(path: &Path, words: &str) -> Problem {
    Problem::new(Class::Refused, Operation::Open, path, words)
}

/// The root that is served to this client.
///
/// Errors: null of unknown size is read, which would look like an empty file.
fn root_for(
    state: &ServerState,
    options: &Options,
    way: Direction,
    shown: &Path,
) -> Result<ServedRoot, Problem> {
    match (options.measuring.far_null_bytes, &state.root) {
        (Some(bytes), _) => Ok(ServedRoot::Null { bytes: Some(bytes), fill: Fill::Noise }),
        (None, ServedRoot::Null { bytes: None, .. }) if way == Direction::Pull => Err(refused(
            shown,
            "this server serves null: without a size, which gives nothing; serve for example null:10GiB",
        )),
        (None, root) => Ok(root.clone()),
    }
}

/// Whether a caller looks at the path alone: it gets null bytes, and nothing of what is served.
fn looks_only(begin: &Begin, options: &Options) -> bool {
    begin.asks_host == Some(true)
        && options.measuring.far_null_bytes.is_some_and(|bytes| bytes <= path_probe::BYTES_MAX)
}

/// The words for options that cannot be read: a later version may request what this one does not know.
fn options_error(error: &str) -> String {
    match error.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')) {
        Some((field, _)) => {
            let field = crate::shown(field.as_bytes());
            format!(
                "the remote pump does not know the option '{field}'; install the same version on both hosts"
            )
        }
        None => format!("the options cannot be read: {}", crate::shown(error.as_bytes())),
    }
}

/// Refuses to resume a copy into a pipe: bytes that it has taken do not come back.
fn refuse_pipe(target: Option<&PathAt>, shown: &Path) -> Result<(), Problem> {
    let is_pipe = |meta: Meta| matches!(meta.kind, FileKind::Fifo | FileKind::CharDevice);
    if target.is_some_and(|target| target.metadata().is_ok_and(is_pipe)) {
        Err(refused(shown, "is a pipe, and has taken bytes that do not come back; copy anew"))
    } else {
        Ok(())
    }
}

/// Refuses what this server does not do for anybody, or the options do not allow.
fn check_allowed(state: &ServerState, begin: &Begin, options: &Options, shown: &Path) -> Result<(), Problem> {
    match begin.way {
        Direction::Push if !state.options.writes => {
            return Err(refused(shown, "this server may only be read from"));
        }
        Direction::Pull if !state.options.reads && !looks_only(begin, options) => {
            return Err(refused(shown, "this server may only be written to"));
        }
        _ => {}
    }
    write_only::check(&state.options, options, begin.way, shown)?;
    options.check().map_err(Problem::usage)?;
    let refused_here = |words| Problem::usage(format!("the other host: {words}"));
    options.network.sockets.check().map_err(refused_here)?;
    if options.place.devices {
        return Err(refused(shown, "--devices is not for other hosts yet"));
    }
    if options.network.unhashed && !state.options.unhashed {
        return Err(refused(
            shown,
            "this server hashes all blocks; --insecure=unhashed must be asked for at both ends",
        ));
    }
    Ok(())
}

/// Checks a request against what this server allows, bounds its options, and finds its places.
///
/// Errors: the reason of the refusal.
fn check_request(
    state: &ServerState,
    kept: ChargedValue<BeginKept>,
    share: Arc<Share>,
) -> Result<Wanted, Problem> {
    let (BeginKept { begin, options }, mut held) = kept.into_parts();
    let (begin, shown) = (&begin, begin_kept::shown(&begin));
    check_allowed(state, begin, &options, &shown)?;
    let connections = begin.connections.clamp(1, state.options.connections_max);
    let asked = options.clone();
    let is_own = matches!(state.root, ServedRoot::User(_));
    let options = bounded_by_server(options, &state.options, is_own, connections);
    let left_out = ignored_flags_notice(&asked, &options);
    let root = root_for(state, &options, begin.way, &shown)?;
    let to = ServedTo { root: &root, way: begin.way, shown: &shown };
    let options = link_dest::resolve_link_dest(to, options)?;
    refuse_backups_elsewhere(to, &options)?;
    let above = folders_above(to, &options)?;
    let target = match begin.way {
        Direction::Push => {
            let found = find_target(to, above.as_ref(), state.options.reads);
            write_only::hidden(&state.options, &shown, found)?
        }
        Direction::Pull => None,
    };
    if begin.instead_of.is_some() {
        write_only::hidden(&state.options, &shown, refuse_pipe(target.as_ref(), &shown))?;
    }
    let places = expansion::expand_patterns(&root, begin)?;
    begin_kept::charge_places(&mut held, places.as_deref().unwrap_or_default(), to)?;
    let typed = places.as_ref().unwrap_or(&begin.sources);
    let sources = sources_of(to, typed)?;
    let links = kept_links::which_are_links(&root, begin, typed, &sources);
    Ok(Wanted {
        held,
        share,
        root,
        sources,
        links,
        places,
        target,
        above,
        options,
        left_out,
        connections,
        tells_files: begin.tells_files.unwrap_or(false),
        boot: begin.boot,
        // No path is longer than that.
        round_trip_ns: begin.round_trip_ns.map_or(u64::MAX, |ns| ns.min(HANDSHAKE_MAX.as_nanos() as u64)),
        sends_ahead: begin.sends_ahead.unwrap_or(false),
        reads_on: begin.reads_on.unwrap_or(false),
        counts_ahead: begin.counts_ahead.unwrap_or(false),
        sources_sum: begin.sources_sum,
    })
}

impl Wanted {
    /// The facts about the client, which has the sources.
    fn peer(&self) -> PeerFacts {
        PeerFacts {
            place: "the sender".into(),
            boot: self.boot,
            round_trip_ns: self.round_trip_ns,
            requested: None,
            reads_on: self.reads_on,
        }
    }

    /// Whether this side reads, and gives what is not requested.
    fn gives_ahead(&self) -> bool {
        self.sends_ahead && self.target.is_none()
    }
}

/// The connections that arrived, with the session's patience and the requested socket options set. One that cannot have
/// them is closed.
fn tune_arrived(
    acceptor: &Receiver<(Purpose, Channel)>,
    sockets: &SocketOptions,
    patience: Duration,
) -> impl Iterator<Item = (Purpose, Channel)> {
    acceptor.try_iter().filter_map(move |(purpose, mut channel)| {
        channel.watch(patience).ok()?;
        channel.tune(sockets).ok()?;
        Some((purpose, channel))
    })
}

/// Enqueues an event for the client; frequent ones are sent later, together.
fn report_event(outbox: &Outbox, event: Event, tells_files: bool) {
    let message = |event| Message::Event(event_codec::to_wire(event));
    match event {
        Event::File { .. } if !tells_files => {}
        event @ (Event::File { .. } | Event::Change(_)) => outbox.enqueue_message(message(event)),
        // What each file lost.
        Event::Problem(problem) if problem.lost.is_some_and(|lost| lost.names.is_none()) => {
            outbox.enqueue_message(message(Event::Problem(problem)));
        }
        event => outbox.say(message(event)),
    }
}

/// The event; a problem with what the client has is marked as one of the sender. Where both sides have names that begin
/// alike it may be of either, and stays without a host.
fn mark_sender(event: Event, sources: &[PathBuf]) -> Event {
    let is_there = |path: &PathBuf| sources.iter().any(|source| path.starts_with(source));
    match event {
        Event::Problem(problem) if problem.path.as_ref().is_some_and(is_there) => {
            Event::Problem(problem.on("the sender"))
        }
        event => event,
    }
}

/// The job that writes here what the client has, and the memory charged for its task.
fn push_job(state: &ServerState, wanted: Wanted, remote_host: Arc<RemoteHost>) -> (HostJob, Charge) {
    let place = wanted.target.as_ref().map_or_else(Place::null, |target| Place::Path(target.path.clone()));
    let source = |path: PathBuf| Place::Remote(Remote { host: Host::Caller, path });
    let sources: Vec<Place> = wanted.sources.into_iter().map(source).collect();
    let job = HostJob::copy(sources, place)
        .options(wanted.options)
        .tells_files(wanted.tells_files)
        .sources_sum(wanted.sources_sum)
        .remote_host(remote_host);
    let job = if matches!(state.root, ServedRoot::User(_)) { job } else { job.confined() };
    let job = job.hides_target(!state.options.reads);
    (job.found(wanted.target).above(wanted.above).shared_rate(state.rate.clone()), wanted.held)
}

/// Runs the job that writes here and requests from the client what it reads, on a thread, and holds the session meanwhile.
fn write(
    state: &ServerState,
    mut control: Control,
    cancel: CancelToken,
    acceptor: Receiver<(Purpose, Channel)>,
    outbox: Outbox,
    mut wanted: Wanted,
) -> Result<(), NetFault> {
    let (sockets, tells_files) = (wanted.options.network.sockets.clone(), wanted.tells_files);
    let patience = control.patience();
    let (left_out, sources) = (wanted.left_out.take(), wanted.sources.clone());
    #[cfg(test)]
    let is_mistaken = wanted.sources.iter().any(|path| path == Path::new(crate::net::hostile::PANICS));
    let joined = PurposePools::new(|| Pool::joined(cancel.clone()));
    let pools = joined.pools(wanted.sends_ahead);
    let (share, owners) =
        (Arc::clone(&wanted.share), Mapping::new(wanted.options.attributes.keep.numeric_ids));
    let sender = wanted.peer();
    let sender = RemoteHost::new(sender, cancel.clone(), pools, share, owners);
    let (stop, watch) = (Arc::new(AtomicBool::new(false)), Arc::new(Watch::default()));
    let (job, _held) = push_job(state, wanted, sender);
    let job = job.stop(Arc::clone(&stop)).watch(Arc::clone(&watch));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _cuts = CutOnPanic(cancel.clone());
            #[cfg(test)]
            assert!(!is_mistaken, "a test wants it");
            let events = |event: Event| report_event(&outbox, mark_sender(event, &sources), tells_files);
            let told = |event: Event| write_only::visible_event(&state.options, event).map_or((), events);
            left_out.into_iter().for_each(|words| events(Event::Warning(words)));
            let report = write_only::visible_report(&state.options, job.run_reported(&told));
            // The caller waits for that before it agrees.
            joined.close();
            outbox.say(Message::Report(serde_json::to_string(&report).unwrap_or_default()));
        });
        let (mut last, mut stopping) = (Instant::now(), Stopping::default());
        let talked = control.run(
            &mut |message| {
                if message == Message::Stop {
                    stop.store(true, Ordering::Relaxed);
                }
                Follows::Go
            },
            &mut || {
                for (purpose, channel) in tune_arrived(&acceptor, &sockets, patience) {
                    joined.of(purpose).give(channel);
                }
                stop.fetch_or(state.stop.load(Ordering::Relaxed), Ordering::Relaxed);
                stopping.heeds(&stop, &cancel);
                let is_due = last.elapsed() >= PROGRESS_EVERY;
                is_due.then(|| {
                    last = Instant::now();
                    Message::Progress(progress(&watch))
                })
            },
            &mut || Some(SenderStats::default()),
        );
        // A thread that still has something to say, or waits for the caller or the other side of a pipe, waits in vain.
        drop(control);
        cancel.cut();
        stop.store(true, Ordering::Relaxed);
        talked
    })
}

/// Serves the client, which writes; where somebody watches it, the names that it will meet are counted beside.
fn serve_and_count(
    state: &ServerState,
    control: Control,
    cancel: CancelToken,
    acceptor: Receiver<(Purpose, Channel)>,
    outbox: Outbox,
    wanted: Wanted,
) -> Result<(), NetFault> {
    let charge = || wanted.share.charge(count_ahead::COUNT_BYTES, 0).ok();
    let Some(_held) = wanted.counts_ahead.then(charge).flatten() else {
        return serve_reads(state, control, cancel, acceptor, wanted);
    };
    let (root, sources, options) = (wanted.root.clone(), wanted.countable_sources(), wanted.options.clone());
    let tell = |counts| outbox.say(event_codec::counted(counts));
    let read = || serve_reads(state, control, cancel, acceptor, wanted);
    count_ahead::serve_and_count(&root, &sources, &options, tell, read)
}

/// Serves the requests of the client, which writes, and holds the session meanwhile.
fn serve_reads(
    state: &ServerState,
    mut control: Control,
    cancel: CancelToken,
    acceptor: Receiver<(Purpose, Channel)>,
    wanted: Wanted,
) -> Result<(), NetFault> {
    let (stop, share) = (Arc::clone(&state.stop), Arc::clone(&wanted.share));
    let reads = state.shared_reads.clone();
    let (places, follow) = (wanted.handle_places(), wanted.options.links.follow);
    let handles = HandleTable::new(places, follow, stop, share, reads).with_options(&wanted.options);
    let handles = Arc::new(handles);
    let (sockets, patience) = (wanted.options.network.sockets.clone(), control.patience());
    let job =
        HostJob::copy(Vec::new(), Place::null()).options(wanted.options).shared_rate(state.rate.clone());
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut ending =
            ServedEnd::of(scope.spawn(|| served_connection::serve_connections(&job, &handles, receiver)));
        let sender = RefCell::new(Some(sender));
        let talked = control.run(
            &mut |message| match message {
                Message::Report(_) => Follows::Agree,
                _ => Follows::Go,
            },
            &mut || {
                for joined in tune_arrived(&acceptor, &sockets, patience) {
                    if let Some(sender) = &*sender.borrow() {
                        let _ = sender.send(joined);
                    }
                }
                state.stop.load(Ordering::Relaxed).then(|| cancel.stop());
                None
            },
            &mut || {
                sender.take();
                ending.poll_end(&cancel)
            },
        );
        cancel.cut();
        talked
    })
}
