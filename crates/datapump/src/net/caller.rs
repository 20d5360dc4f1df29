//! The side that calls: a copy from or to another host.
//!
//! Must not know: command lines, how blocks are moved.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use datapump_core::wire::hello::Purpose;
use datapump_core::wire::session::{Begin, Given, Message, Session, Way};

use super::channel::{Channel, Line};
use super::control::{Control, Next, Outbox, boxes};
use super::dial::{Dialer, Welcome};
use super::far::Far;
use super::fault::NetFault;
use super::merged::merged;
use super::pool::Pool;
use super::reach::{Reached, Reaching, WayIn, reach};
use super::shelf::{Flow, Origin, Shelf};
use super::ssh::FarEnd;
use super::told;
use crate::account::{cpu_now, cpu_since};
use crate::disk::{Access, Disk, FileKind, boot};
use crate::job::Job;
use crate::options::Options;
use crate::place::{Host, Place, Remote};
use crate::problem::{Class, Problem, Status};
use crate::report::{Cpu, Report};
use crate::run::Event;
use crate::stream;
use crate::target::NULL_WANTS_SIZE;
use crate::watch::Watch;

/// Connections for blocks. Two: LIMITS §3, 1.07 times as fast as one, and four were slower.
const CONNECTIONS: u32 = 2;
/// Silence after which the other side is taken for dead.
const PEER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a lost connection is tried again.
const RETRY_FOR: Duration = Duration::from_secs(60);
/// How long blocks are waited for that were asked for before a stop: signals are answered within a second.
const STOP_MAX: Duration = Duration::from_millis(500);
/// Between two tries, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A copy of which one side lies on another host.
#[derive(Clone, Debug)]
pub struct RemoteCopy {
    /// Where from: all here, or all on one other host.
    pub sources: Vec<Place>,
    /// Where to.
    pub target: Place,
    /// What is asked besides.
    pub options: Options,
    /// What lets this side in.
    pub way_in: WayIn,
    /// Connections for blocks; by default as measured.
    pub connections: Option<u32>,
    /// Silence after which the other side is taken for dead; 30 s by default.
    pub peer_timeout: Option<Duration>,
    /// How long a connection that is lost is tried again; 60 s by default.
    pub retry_for: Option<Duration>,
    /// Tell of each file that is complete; otherwise of problems and changes alone.
    pub tells_files: bool,
    /// Ends the copy soon, once true.
    pub stop: Arc<AtomicBool>,
    /// Live counters.
    pub watch: Arc<Watch>,
}

type Events<'events> = &'events (dyn Fn(Event) + Sync);
/// The number of the session before, if there was one.
type LastSession = Mutex<Option<[u8; 16]>>;

impl RemoteCopy {
    /// Performs the copy, as [`Job::run`] does on one host. A connection that is lost is made again, and the copy goes
    /// on where it was.
    pub fn run(self, events: &(dyn Fn(Event) + Sync)) -> Report {
        let patience = self.retry_for.unwrap_or(RETRY_FOR);
        let (mut since, mut moved, mut pause) = (Instant::now(), 0, PAUSE_MIN);
        let (start, mut before, last) = (Instant::now(), Report::default(), Mutex::default());
        loop {
            let lost = Mutex::new(None);
            let report = self.clone().once(&last, &|event| match event {
                Event::Problem(problem) if problem.class == Class::Lost => {
                    *lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
                }
                event => events(event),
            });
            let now_moved = self.watch.snapshot().bytes;
            if now_moved != moved {
                (since, moved, pause) = (Instant::now(), now_moved, PAUSE_MIN);
            }
            let lost = lost.into_inner().unwrap_or_else(PoisonError::into_inner);
            let report = added(report, &before, start.elapsed());
            let is_lost = report.exit_status == Status::Lost as i32 && !self.reads_a_pipe();
            let goes_on = is_lost && since.elapsed() + pause <= patience;
            match lost {
                Some(problem) if goes_on && !self.stop.load(Ordering::Relaxed) => {
                    events(Event::Warning(format!("{problem}; trying again")));
                }
                // Who was told to stop does not mind that nobody is there any more.
                _ if self.stop.load(Ordering::Relaxed) && was_cut_short(&report) => {
                    return Report { exit_status: Status::Interrupted as i32, ..report };
                }
                lost => {
                    lost.into_iter().for_each(|problem| events(Event::Problem(problem)));
                    return report;
                }
            }
            before = report;
            self.rest(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn rest(&self, pause: Duration) {
        let end = Instant::now() + pause;
        while Instant::now() < end && !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(PAUSE_MIN.min(end - Instant::now()));
        }
    }

    fn once(self, last: &LastSession, events: Events<'_>) -> Report {
        let watch = Arc::clone(&self.watch);
        let done = match self.way() {
            // What came there is known by what was told of its progress.
            Ok((Way::Push, remote)) => {
                self.push(&remote, last, events).map_err(|problem| (problem, watch.snapshot().bytes))
            }
            Ok((Way::Pull, remote)) => self.pull(&remote, last, events).map_err(|problem| (problem, 0)),
            Err(problem) => Err((problem, 0)),
        };
        done.unwrap_or_else(|(problem, bytes_moved)| Report { bytes_moved, ..failed(problem, events) })
    }

    /// Which side writes, and the place on the other host that tells how it is reached.
    fn way(&self) -> Result<(Way, Remote), Problem> {
        let remote = |place: &Place| match place {
            Place::Remote(remote) => Some(remote.clone()),
            _ => None,
        };
        let sources: Vec<Remote> = self.sources.iter().filter_map(remote).collect();
        match (&sources[..], remote(&self.target)) {
            ([], Some(target)) => Ok((Way::Push, target)),
            ([first, ..], None) if sources.len() == self.sources.len() => {
                match sources.iter().all(|source| source.host == first.host) {
                    true => Ok((Way::Pull, first.clone())),
                    false => {
                        Err(Problem::usage("the sources are on several hosts; copy from one after the other"))
                    }
                }
            }
            ([_, ..], None) => {
                Err(Problem::usage("some sources are here and some on another host; copy in two steps"))
            }
            ([_, ..], Some(_)) => Err(Problem::usage("both places are on other hosts; copy in two steps")),
            ([], None) => Err(Problem::usage("no place is on another host")),
        }
    }

    /// Begins the session; while the other side is busy it is asked again, with growing pauses.
    fn begin(
        &self,
        way: Way,
        remote: &Remote,
        last: &LastSession,
        events: Events<'_>,
    ) -> Result<Begun, Problem> {
        self.options.sockets.check().map_err(Problem::usage)?;
        let patience = self.retry_for.unwrap_or(RETRY_FOR);
        let (since, mut pause, mut was_told) = (Instant::now(), PAUSE_MIN, false);
        loop {
            let words = match self.begin_now(way, remote, last, events)? {
                Answer::Begun(begun) => return Ok(*begun),
                Answer::Busy(words) => crate::shown(words.as_bytes()),
            };
            if since.elapsed() + pause > patience {
                let seconds = patience.as_secs_f64();
                let words = format!("{words}; gave up after {seconds} s (--retry-for)");
                return Err(NetFault::Refused(words).problem(&remote.to_string()));
            }
            if !std::mem::replace(&mut was_told, true) {
                events(Event::Warning(format!("{remote}: {words}; trying again until there is room")));
            }
            self.rest(jittered(pause));
            if self.stop.load(Ordering::Relaxed) {
                return Err(NetFault::Stopped.problem(&remote.to_string()));
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn begin_now(
        &self,
        way: Way,
        remote: &Remote,
        last: &LastSession,
        events: Events<'_>,
    ) -> Result<Answer, Problem> {
        let line = Line::default();
        let patience = self.peer_timeout.unwrap_or(PEER_TIMEOUT);
        let notice = |words: String| events(Event::Notice(format!("{remote}: {words}")));
        let lost = |fault: NetFault| fault.problem(&remote.to_string());
        let reaching =
            Reaching { way_in: &self.way_in, sockets: &self.options.sockets, patience, stop: &self.stop };
        let reached = reach(&remote.host, &reaching, &line, &notice);
        let was_begun = || last.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        // What refuses ssh now may not always.
        let reached = reached.map_err(|fault| match (fault, &remote.host) {
            (NetFault::Refused(words), Host::Ssh(_)) if was_begun() => NetFault::Lost(words),
            (fault, _) => fault,
        });
        let begun = reached.and_then(|Reached { dialer, channel, welcome, far_end }| {
            let (outbox, inbox) = boxes()?;
            let mut control = Control::new(channel, Session::caller(), inbox, patience);
            let connections =
                self.connections.unwrap_or(CONNECTIONS).clamp(1, welcome.connections_max.max(1));
            let instead_of = *last.lock().unwrap_or_else(PoisonError::into_inner);
            control.say(Message::Begin(Begin { instead_of, ..self.wishes(way, remote, connections) }))?;
            let answer = control.hear()?;
            Ok((Begun { control, dialer, welcome, outbox, line, connections, _far_end: far_end }, answer))
        });
        let (begun, answer) = match begun {
            Err(NetFault::Busy(words)) => return Ok(Answer::Busy(words)),
            begun => begun.map_err(lost)?,
        };
        match (begun, answer) {
            (begun, Message::Begun) => {
                *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun.welcome.session);
                Ok(Answer::Begun(Box::new(begun)))
            }
            (_, Message::Busy(words)) => Ok(Answer::Busy(words)),
            (_, Message::Refused(event)) => Err(match told::hear(event) {
                Event::Problem(problem) => problem,
                _ => lost(NetFault::Refused("it was refused".into())),
            }),
            _ => Err(lost(NetFault::Protocol("the other side does not begin".into()))),
        }
    }

    fn wishes(&self, way: Way, remote: &Remote, connections: u32) -> Begin {
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec().into();
        let path = |place: &Place| bytes(place.path().unwrap_or(Path::new("")));
        let options = match way {
            Way::Push => serde_json::to_string(&self.options).unwrap_or_default(),
            Way::Pull => serde_json::to_string(&Options {
                request_bytes: self.options.request_bytes,
                source_depth: self.options.source_depth,
                unhashed: self.options.unhashed,
                sockets: self.options.sockets.clone(),
                ..Options::default()
            })
            .unwrap_or_default(),
        };
        let target = if way == Way::Push { bytes(&remote.path) } else { Vec::new().into() };
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

    fn origin(&self, place: &Place) -> Result<Origin, Problem> {
        match place {
            Place::Path(path) if is_pipe(path) => {
                let pipe = stream::open_fifo(path, Access::Read, &self.stop)?;
                Ok(Origin::Flow(Flow::Stream(Arc::new(pipe))))
            }
            Place::Path(path) => Ok(Origin::Path(path.clone())),
            Place::Stream => Ok(Origin::Flow(Flow::Stream(Arc::new(stream::standard_input()?)))),
            Place::Null { bytes: Some(bytes), fill } => {
                Ok(Origin::Flow(Flow::Null { bytes: *bytes, fill: *fill }))
            }
            Place::Null { bytes: None, .. } => Err(Problem::usage(NULL_WANTS_SIZE)),
            Place::Remote(_) => Err(Problem::usage("both places are on other hosts; copy in two steps")),
        }
    }

    /// A pipe is read once: what was taken out of it is lost with the connection.
    fn reads_a_pipe(&self) -> bool {
        self.sources.iter().any(|place| match place {
            Place::Stream => true,
            Place::Path(path) => is_pipe(path),
            Place::Null { .. } | Place::Remote(_) => false,
        })
    }

    /// The other side writes, and this one gives it what it asks for.
    fn push(self, remote: &Remote, last: &LastSession, events: Events<'_>) -> Result<Report, Problem> {
        let cpu = cpu_now();
        let origins = self.sources.iter().map(|place| self.origin(place)).collect::<Result<_, _>>()?;
        let shelf = Arc::new(Shelf::of(origins, Arc::clone(&self.stop)));
        let mut begun = self.begin(Way::Push, remote, last, events)?;
        // The side that writes holds itself to the rate.
        let options = Options { bytes_per_second: None, ..self.options.clone() };
        let giver = Job::copy(Vec::new(), Place::null()).options(options);
        let (sender, receiver) = mpsc::channel();
        let (mut report, mut gave) = (None, Given::default());
        let talked = std::thread::scope(|scope| {
            let mut given = Some(scope.spawn(|| giver.give(&shelf, receiver)));
            let mut answer = |message| match message {
                Message::Event(event) => {
                    events(told::hear(event));
                    Next::Go
                }
                Message::Progress(progress) => {
                    self.watch.show(&progress);
                    Next::Go
                }
                Message::Report(text) => {
                    report = serde_json::from_str(&text).ok();
                    Next::Agree
                }
                _ => Next::Go,
            };
            let mut was_given = || {
                gave = given.take().and_then(|given| given.join().ok()).unwrap_or_default();
                gave
            };
            let talked =
                begun.dial(sender).and_then(|()| begun.talk(&self.stop, &mut answer, &mut was_given));
            begun.line.cut();
            talked
        });
        talked.map_err(|fault| fault.problem(&remote.to_string()))?;
        let report = report.map(|report| merged(report, &gave));
        let report = report.map(|report| Report { cpu_far: Some(report.cpu), cpu: cpu_since(cpu), ..report });
        let was_stopped = |report: &Report| report.exit_status == Status::Interrupted as i32;
        if report.as_ref().is_some_and(was_stopped) && !self.stop.load(Ordering::Relaxed) {
            return Err(NetFault::Lost("the other side was stopped".into()).problem(&remote.to_string()));
        }
        report.ok_or_else(|| {
            NetFault::Protocol("its report cannot be read".into()).problem(&remote.to_string())
        })
    }

    /// This side writes.
    fn pull(self, remote: &Remote, last: &LastSession, events: Events<'_>) -> Result<Report, Problem> {
        let mut begun = self.begin(Way::Pull, remote, last, events)?;
        let pool = || Arc::new(begun.pool());
        let far = Far::new(remote.host.to_string(), begun.line.clone(), pool(), pool(), begun.welcome.boot);
        let options = Options { lanes: self.options.lanes.or(Some(begun.connections)), ..self.options };
        let job = Job::copy(self.sources, self.target).options(options).far(far);
        let stop = Arc::clone(&self.stop);
        let job = job.stop(self.stop).watch(self.watch);
        let outbox = begun.outbox.clone();
        let mut gave = Given::default();
        let (report, talked) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let report = job.run(events);
                outbox.say(Message::Report(serde_json::to_string(&report).unwrap_or_default()));
                report
            });
            let mut answer = |message| {
                if let Message::Agreed(given) = message {
                    gave = given;
                }
                Next::Go
            };
            let talked = begun.talk_until(&stop, &mut answer);
            begun.line.cut();
            (writer.join().unwrap_or_default(), talked)
        });
        match talked {
            // All was done here, whatever the other side heard of it.
            Err(fault) if report.exit_status != 0 && !report.problems.contains_key(Class::Lost.name()) => {
                events(Event::Problem(fault.problem(&remote.to_string())));
                Ok(Report { exit_status: Status::Lost as i32, ..report })
            }
            _ => Ok(Report { cpu_far: far_cpu(&gave), ..merged(report, &gave) }),
        }
    }
}

fn was_cut_short(report: &Report) -> bool {
    [Status::Lost as i32, Status::Interrupted as i32].contains(&report.exit_status)
}

/// What a called side says to a wish, unless it refuses.
enum Answer {
    Begun(Box<Begun>),
    /// Not now: why.
    Busy(String),
}

/// Between a half and all of a pause: callers that were sent away at once do not come back at once.
fn jittered(pause: Duration) -> Duration {
    let [byte] = super::keys::random::<1>();
    pause / 2 + pause * u32::from(byte) / 512
}

/// A session that has begun.
struct Begun {
    control: Control,
    dialer: Dialer,
    welcome: Welcome,
    outbox: Outbox,
    line: Line,
    connections: u32,
    /// Ends when the session is over.
    _far_end: Option<FarEnd>,
}

impl Begun {
    /// Makes the connections over which the other side asks.
    fn dial(&self, sender: mpsc::Sender<(Purpose, Channel)>) -> Result<(), NetFault> {
        for _ in 0..self.connections {
            for purpose in [Purpose::Names, Purpose::Blocks] {
                let channel = self.dialer.join(purpose, self.welcome.session)?;
                let _ = sender.send((purpose, channel));
            }
        }
        Ok(())
    }

    /// Connections over which this side asks.
    fn pool(&self) -> Pool {
        let (dialer, session) = (self.dialer.clone(), self.welcome.session);
        Pool::dialled(self.line.clone(), Box::new(move |purpose| dialer.join(purpose, session)))
    }

    fn talk(
        &mut self,
        stop: &AtomicBool,
        answer: &mut dyn FnMut(Message) -> Next,
        given: &mut dyn FnMut() -> Given,
    ) -> Result<(), NetFault> {
        let mut was_said = false;
        let mut look = || {
            let says = stop.load(Ordering::Relaxed) && !was_said;
            was_said |= says;
            says.then_some(Message::Stop)
        };
        self.control.run(answer, &mut look, given)
    }

    /// The same for the side that writes: its lanes heed a stop, but may wait for blocks that come late or never.
    fn talk_until(
        &mut self,
        stop: &AtomicBool,
        answer: &mut dyn FnMut(Message) -> Next,
    ) -> Result<(), NetFault> {
        let (line, mut stopped) = (self.line.clone(), None);
        let mut look = || {
            if stop.load(Ordering::Relaxed) && stopped.get_or_insert_with(Instant::now).elapsed() > STOP_MAX {
                line.stop();
            }
            None
        };
        self.control.run(answer, &mut look, &mut Given::default)
    }
}

fn far_cpu(gave: &Given) -> Option<Cpu> {
    Some(Cpu { user_ns: gave.user_ns?, system_ns: gave.system_ns? })
}

fn is_pipe(path: &Path) -> bool {
    let kind = Disk::Os.metadata(path).map(|meta| meta.kind);
    matches!(kind, Ok(FileKind::Fifo | FileKind::CharDevice))
}

/// The report of a session, with what the sessions before it moved that were lost. What they did not tell is not known.
fn added(report: Report, before: &Report, elapsed: Duration) -> Report {
    let is_first = before.version.is_empty();
    Report {
        bytes_moved: report.bytes_moved + before.bytes_moved,
        bytes_moved_twice: report.bytes_moved_twice + before.bytes_moved_twice,
        // What a session of this very run had moved was not there before it.
        bytes_resumed: report.bytes_resumed.saturating_sub(before.bytes_moved),
        requests: report.requests + before.requests,
        elapsed_ns: if is_first { report.elapsed_ns } else { elapsed.as_nanos() as u64 },
        ..report
    }
}

/// The report of a copy that came to nothing.
fn failed(problem: Problem, events: Events<'_>) -> Report {
    let status = match problem.class {
        Class::Usage => Status::Usage,
        Class::Refused => Status::Refused,
        Class::Lost => Status::Lost,
        _ => Status::Failed,
    };
    let problems = [(problem.class.name().to_string(), 1)].into();
    events(Event::Problem(problem));
    Report { version: crate::account::version(), exit_status: status as i32, problems, ..Report::default() }
}
