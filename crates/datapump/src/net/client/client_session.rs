//! A session that this side begins: reaches the other side, tells it what is wanted, makes its connections.
//!
//! Must not know: command lines, how blocks are moved, what follows when the session is lost.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, mpsc};
use std::time::{Duration, Instant};

use datapump_core::wire::hello::Purpose;
use datapump_core::wire::session::{Begin, Direction, Message, SenderStats, Session};
use datapump_transport::{
    CancelToken, Channel, Dialer, Host, NetFault, Pool, Reached, Reaching, RemoteEnd, Stopping, Welcome,
    reach,
};

use crate::job::defaults::Reads;
use crate::job::options::{Options, RETRY_FOR};
use crate::job::platform::Platform;
use crate::net::client::remote_copy::{Events, LastSession, PAUSE_MAX, PAUSE_MIN, RemoteCopy};
use crate::net::folder::event_codec;
use crate::net::server::control::{Control, Follows, Outbox, boxes};
use crate::problem::Problem;
use crate::run::event::Event;
use crate::target::place::{Place, Remote};
use datapump_files::disk::{Disk, FileKind, boot};

/// Options are told in one message of 1 MiB, with the places. Only a list of names makes them long.
const OPTIONS_BYTES_MAX: usize = 900 << 10;
const LIST_TOO_LONG: &str =
    "the list of --files-from is too long to be told to another host (about 250 kB fit); copy in parts";
/// Silence after which the other side is taken for dead.
const PEER_TIMEOUT: Duration = Duration::from_secs(30);

impl RemoteCopy {
    /// Which side writes, and the place on the other host that tells how it is reached.
    pub(crate) fn way(&self) -> Result<(Direction, Remote), Problem> {
        let remote = |place: &Place| match place {
            Place::Remote(remote) => Some(remote.clone()),
            _ => None,
        };
        let sources: Vec<Remote> = self.sources.iter().filter_map(remote).collect();
        match (&sources[..], remote(&self.target)) {
            ([], Some(target)) if self.sources.iter().all(Place::is_here) => Ok((Direction::Push, target)),
            ([first, ..], None) if sources.len() == self.sources.len() => {
                match sources.iter().all(|source| source.host == first.host) {
                    true => Ok((Direction::Pull, first.clone())),
                    false => {
                        Err(Problem::usage("the sources are on several hosts; copy from one after the other"))
                    }
                }
            }
            ([_, ..], None) => {
                Err(Problem::usage("some sources are here and some on another host; copy in two steps"))
            }
            (_, Some(_)) => Err(Problem::usage("both places are on other hosts; copy in two steps")),
            ([], None) => Err(Problem::usage("no place is on another host")),
        }
    }

    /// Begins the session; while the other side is busy it is asked again, with growing pauses.
    pub(crate) fn begin(
        &self,
        way: Direction,
        remote: &Remote,
        last: &LastSession,
        events: Events<'_>,
    ) -> Result<Begun, Problem> {
        self.options.sockets.check().map_err(Problem::usage)?;
        if self.wishes(way, remote, self.lanes(), false).options.len() > OPTIONS_BYTES_MAX {
            return Err(Problem::usage(LIST_TOO_LONG));
        }
        let patience = self.retry_for.unwrap_or(RETRY_FOR);
        let (since, mut pause, mut was_told) = (Instant::now(), PAUSE_MIN, false);
        loop {
            let words = match self.begin_now(way, remote, last, events)? {
                Beginning::Begun(begun) => return Ok(*begun),
                Beginning::Busy(words) => crate::shown(words.as_bytes()),
            };
            let left = patience.saturating_sub(since.elapsed());
            if left.is_zero() {
                let seconds = patience.as_secs_f64();
                let words = format!("{words}; gave up after {seconds} s (--retry-for)");
                return Err(NetFault::Refused(words).problem(&remote.to_string()));
            }
            if !std::mem::replace(&mut was_told, true) {
                events(Event::Warning(format!("{remote}: {words}; trying again until there is room")));
            }
            self.rest(jittered(pause).min(left));
            if self.stop.load(Ordering::Relaxed) {
                return Err(NetFault::Stopped.problem(&remote.to_string()));
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn begin_now(
        &self,
        way: Direction,
        remote: &Remote,
        last: &LastSession,
        events: Events<'_>,
    ) -> Result<Beginning, Problem> {
        let cancel = CancelToken::default();
        let patience = self.peer_timeout.unwrap_or(PEER_TIMEOUT);
        let notice = |words: String| events(Event::Notice(format!("{remote}: {words}")));
        let lost = |fault: NetFault| fault.problem(&remote.to_string());
        let reaching =
            Reaching { way_in: &self.way_in, sockets: &self.options.sockets, patience, stop: &self.stop };
        let reached = reach(&remote.host, &reaching, &cancel, &notice);
        let was_begun = || last.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let begun = reached.and_then(|Reached { dialer, channel, welcome, far_end }| {
            let (outbox, inbox) = boxes()?;
            let mut control =
                Control::new(channel, Session::caller(), (inbox, patience), Platform::real().clock);
            let connections = self.lanes().clamp(1, welcome.connections_max.max(1));
            let before = *last.lock().unwrap_or_else(PoisonError::into_inner);
            let instead_of = before.map(|(session, _)| session);
            let wishes = self.wishes(way, remote, connections, is_name_of(last));
            control.say(Message::Begin(Begin { instead_of, ..wishes }))?;
            let answer = control.hear()?;
            Ok((Begun { control, dialer, welcome, outbox, cancel, connections, _far_end: far_end }, answer))
        });
        let (begun, answer) = match begun {
            Err(NetFault::Busy(words)) => return Ok(Beginning::Busy(words)),
            // What refuses ssh now may not always.
            Err(NetFault::Refused(words)) if was_begun() && matches!(remote.host, Host::Ssh(_)) => {
                return Err(lost(NetFault::Lost(words)));
            }
            // Who speaks another language is not going to learn it meanwhile.
            Err(NetFault::Protocol(words)) if !was_begun() => return Err(lost(NetFault::Refused(words))),
            begun => begun.map_err(lost)?,
        };
        match (begun, answer) {
            (begun, Message::Begun { receives }) => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                let receives = last.map_or(receives.or_else(|| self.receives()), |(_, first)| first);
                *last = Some((begun.welcome.session, receives));
                drop(last);
                let mut begun = begun;
                // From now on a stop lets come what was asked for.
                begun.control.join(&begun.cancel);
                Ok(Beginning::Begun(Box::new(begun)))
            }
            (_, Message::Busy(words)) => Ok(Beginning::Busy(words)),
            (_, Message::Refused(event)) => {
                Err(match event_codec::from_wire(event, &remote.host.to_string()) {
                    Event::Problem(problem) => problem,
                    _ => lost(NetFault::Refused("it was refused".into())),
                })
            }
            _ => Err(lost(NetFault::Protocol("the other side does not begin".into()))),
        }
    }

    /// Connections for blocks that are asked for, each with a lane at both ends.
    fn lanes(&self) -> u32 {
        self.connections.unwrap_or(Options::defaults(Reads::FarFiles).lanes)
    }

    /// Whether a folder stands where this side writes.
    fn receives(&self) -> Option<bool> {
        let Place::Path(path) = &self.target else { return None };
        Some(Disk::Os.metadata(path).is_ok_and(|meta| meta.kind == FileKind::Folder))
    }

    fn wishes(&self, way: Direction, remote: &Remote, connections: u32, is_name: bool) -> Begin {
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec().into();
        let path = |place: &Place| bytes(place.path().unwrap_or(Path::new("")));
        let options = match way {
            Direction::Push => {
                let target_is_name = self.options.target_is_name || is_name;
                let options = Options { target_is_name, ..self.options.clone() };
                serde_json::to_string(&options).unwrap_or_default()
            }
            Direction::Pull => serde_json::to_string(&Options {
                request_bytes: self.options.request_bytes,
                source_depth: self.options.source_depth,
                unhashed: self.options.unhashed,
                bill: self.options.bill,
                sockets: self.options.sockets.clone(),
                far_null_bytes: self.options.far_null_bytes,
                ..Options::default()
            })
            .unwrap_or_default(),
        };
        let target = if way == Direction::Push { bytes(&remote.path) } else { Vec::new().into() };
        let sources = self.sources.iter().map(path).collect();
        Begin {
            way,
            sources,
            target,
            options,
            connections,
            tells_files: Some(self.tells_files),
            boot: Some(boot()),
            instead_of: None,
        }
    }
}

/// What a lost session made is not taken for a folder that was there to receive.
pub(crate) fn is_name_of(last: &LastSession) -> bool {
    let last = last.lock().unwrap_or_else(PoisonError::into_inner);
    last.is_some_and(|(_, receives)| receives == Some(false))
}

/// What a called side says to a wish, unless it refuses.
enum Beginning {
    Begun(Box<Begun>),
    /// Not now: why.
    Busy(String),
}

/// Between a half and all of a pause: callers that were sent away at once do not come back at once.
fn jittered(pause: Duration) -> Duration {
    let [byte] = datapump_transport::random::<1>();
    pause / 2 + pause * u32::from(byte) / 512
}

/// A session that has begun.
pub(crate) struct Begun {
    control: Control,
    dialer: Dialer,
    pub(crate) welcome: Welcome,
    pub(crate) outbox: Outbox,
    pub(crate) cancel: CancelToken,
    pub(crate) connections: u32,
    /// Ends when the session is over.
    _far_end: Option<RemoteEnd>,
}

impl Begun {
    /// Makes the connections over which the other side asks.
    pub(crate) fn dial(&self, sender: mpsc::Sender<(Purpose, Channel)>) -> Result<(), NetFault> {
        for _ in 0..self.connections {
            for purpose in [Purpose::Names, Purpose::Blocks] {
                match self.dialer.join(purpose, self.welcome.session) {
                    Ok(channel) => drop(sender.send((purpose, channel))),
                    // The other side is told in good order, and what it has been given is not for nothing.
                    Err(NetFault::Stopped) => return Ok(()),
                    Err(fault) => return Err(fault),
                }
            }
        }
        Ok(())
    }

    /// Connections over which this side asks.
    pub(crate) fn pool(&self) -> Pool {
        let (session, cancel) = (self.welcome.session, self.cancel.clone());
        // Lanes heed a stop themselves, and may need one more to complete what they have.
        let dialer = Dialer { cancel: cancel.clone(), ..self.dialer.clone() };
        Pool::dialled(cancel, Box::new(move |purpose| dialer.join(purpose, session)))
    }

    pub(crate) fn talk(
        &mut self,
        stop: &AtomicBool,
        answer: &mut dyn FnMut(Message) -> Follows,
        given: &mut dyn FnMut() -> SenderStats,
    ) -> Result<(), NetFault> {
        let (cancel, mut stopping, mut was_said) = (self.cancel.clone(), Stopping::default(), false);
        let mut look = || {
            let is_asked = stopping.heeds(stop, &cancel);
            (is_asked && !std::mem::replace(&mut was_said, is_asked)).then_some(Message::Stop)
        };
        self.control.run(answer, &mut look, given)
    }

    /// The same for the side that writes: its lanes heed a stop, but may wait for blocks that come late or never.
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
        self.control.run(answer, &mut look, &mut SenderStats::default)
    }
}
