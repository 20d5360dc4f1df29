//! The side that calls: a copy from or to another host, or a comparison with what lies there.
//!
//! Must not know: command lines, how blocks are moved.

pub(crate) mod relay;
mod session_problems;
mod teller;

use std::cell::RefCell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use datapump_core::verdict::Cpu;
use datapump_core::wire::session::{Direction, Message, SenderStats};
use datapump_transport::NetFault;

use crate::count_ahead;
use crate::job::{HostJob, request_plan};
use crate::net::client::client_session::{ClientSession, is_name_of};
use crate::net::client::remote_copy::{Events, LastSession, PAUSE_MAX, PAUSE_MIN, RemoteCopy, SessionStart};
use crate::net::client::remote_verdict::{bill_of_hosts, merge_reports, seen_by_client};
use crate::net::client::session_pools::sleep_unless;
use crate::net::client::sessions::Sessions;
use crate::net::folder::event_codec;
use crate::net::folder::handle_place::{Flow, HandlePlace};
use crate::net::folder::handle_table::HandleTable;
use crate::net::folder::owners::Mapping;
use crate::net::folder::remote_host::{PeerFacts, RemoteHost, read_ahead};
use crate::net::server::control::Follows;
use crate::net::server::served_connection::{self, ServedEnd};
use crate::place::{Place, Remote, stands_for_content};
use crate::problem::{Class, Operation, Problem, Status};
use crate::report::Report;
use crate::report::cpu::{cpu_now, cpu_since};
use crate::report::event::Event;
use crate::report::failed::{self, JobFailed};
use crate::report::watch::Watch;
use crate::setup::budget::{Budget, Charge, Share};
use crate::setup::options::{Choice, FollowLinks, RETRY_FOR};
use crate::targets::NULL_WANTS_SIZE;
use datapump_files::disk::{Disk, FileKind, PathAt};
use datapump_files::followed::named_link;
use datapump_files::stream;
use relay::handle_reader_message;
use session_problems::SessionProblems;
use teller::{Closing, Teller, report_notices};

impl RemoteCopy {
    /// Performs the copy, as [`HostJob::run`] does on one host. A connection that is lost is made again, and the copy goes
    /// on where it was.
    ///
    /// Errors: its status is not 0. The report is in the error.
    pub fn run(self, events: &(dyn Fn(Event) + Sync)) -> Result<Report, JobFailed> {
        failed::run_checked(|events| self.run_reported(events), events)
    }

    /// Runs as [`RemoteCopy::run`] does and gives the report, whatever its `exit_status`.
    pub fn run_reported(mut self, events: &(dyn Fn(Event) + Sync)) -> Report {
        self.options.place.keep_links = self.keeps_a_link();
        self.bound_slots();
        let (watch, sources, options) = (Arc::clone(&self.watch), self.sources.clone(), self.options.clone());
        count_ahead::copy_and_count(&watch, &sources, &options, || self.run_in_sessions(events))
    }

    /// Whether a source is a link that stays one, or may be one on another host, which says that when the session
    /// begins. A version that knows of none is told of them only then.
    fn keeps_a_link(&self) -> bool {
        let may_be_link = |place: &Place| match place {
            Place::Path(path) => named_link(path).is_some(),
            Place::Remote(remote) => remote.path.file_name().is_some() && !stands_for_content(&remote.path),
            _ => false,
        };
        let options = &self.options;
        let makes_names = matches!(self.target, Place::Path(_) | Place::Remote(_))
            && options.measuring.rehearsal_bytes.is_none()
            && !self.compares;
        options.place.keep_links && makes_names && self.sources.iter().any(may_be_link)
    }

    /// Runs the job in one session after another, with pauses, as long as lost connections may be retried. Problems of sessions
    /// are held back until it is known whether another follows.
    fn run_in_sessions(mut self, events: Events<'_>) -> Report {
        if self.options.links.follow != FollowLinks::Never || self.two_hosts().is_some() {
            // A tree with followed links is walked otherwise than it is sent ahead. Between two other hosts this side
            // requests nothing.
            self.options.network.read_ahead = Choice::Never;
        }
        if let ([one], true) = (&mut self.sources[..], self.compares)
            && matches!(self.target, Place::Remote(_))
        {
            // This side compares, whichever place is named first.
            std::mem::swap(one, &mut self.target);
            self.options.comparison.compares_backwards = true;
        }
        let patience = self.retry_for.unwrap_or(RETRY_FOR);
        let (mut since, mut most, mut pause) = (Instant::now(), 0, PAUSE_MIN);
        let way = match self.two_hosts() {
            Some(_) => Direction::Push,
            None => self.direction().map_or(Direction::Pull, |(way, _)| way),
        };
        let (mut sessions, mut problems) = (Sessions::new(way), SessionProblems::default());
        let (last, last_read) = (Mutex::default(), Mutex::default());
        loop {
            let report =
                self.again([&last, &last_read]).run_session(&last, &last_read, &|event| match event {
                    Event::Problem(problem) => problems.handle_problem(problem, events),
                    event => events(event),
                });
            let (now, held) = (self.watch.snapshot(), problems.take_held());
            let has_begun = last.lock().unwrap_or_else(PoisonError::into_inner).is_some();
            let report = sessions.add(report, has_begun);
            // Differences are told once.
            let may_again = !self.has_a_pipe() && !self.compares;
            let is_lost = report.exit_status == Status::Lost as i32 && may_again;
            // A peer that moves the same block again and again does not get on, nor does one that ends each walk.
            if is_lost && now.bytes + now.bytes_present > most {
                (since, most, pause) = (Instant::now(), now.bytes + now.bytes_present, PAUSE_MIN);
            }
            let left = patience.saturating_sub(since.elapsed());
            // A host that never answered is not waited for: a name may be written wrongly.
            let goes_on = |problem: &Problem| {
                let calls_again = is_lost && (has_begun || problem.operation != Operation::Reach);
                !left.is_zero() && (calls_again || problem.class != Class::Lost)
            };
            match held.iter().max_by_key(|problem| problem.class == Class::Lost) {
                Some(problem) if goes_on(problem) && !self.stop.load(Ordering::Relaxed) => {
                    let words = problems.begin_next_session(problem);
                    words.into_iter().for_each(|words| events(Event::Warning(words)));
                }
                // A stopped copy does not mind that nobody is there any more.
                _ if self.stop.load(Ordering::Relaxed) && was_cut_short(&report) => {
                    problems.report_lost(events);
                    return Report { exit_status: Status::Interrupted as i32, ..report };
                }
                _ => {
                    held.into_iter().for_each(|problem| problems.report_once(problem, events));
                    problems.report_lost(events);
                    return report;
                }
            }
            sleep_unless(pause.min(left), PAUSE_MIN, || self.stop.load(Ordering::Relaxed));
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// The copy as one session does it: what patterns stood for in the first, they stand for in all.
    fn again(&self, last: [&LastSession; 2]) -> RemoteCopy {
        let of = |last: &LastSession| {
            last.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.sources.clone()
        };
        let expanded = last.into_iter().find_map(of);
        RemoteCopy { sources: expanded.unwrap_or_else(|| self.sources.clone()), ..self.clone() }
    }

    /// Runs the job in one session, whichever way it goes. What was wrong is reported, and in the report's status.
    fn run_session(self, last: &LastSession, last_read: &LastSession, events: Events<'_>) -> Report {
        let watch = Arc::clone(&self.watch);
        watch.restart();
        // What came there is known by what was told of its progress; a session that told none had none.
        let came = || watch.snapshot().bytes;
        let done = match (self.two_hosts(), self.direction()) {
            (Some((from, to)), _) => {
                self.relay(&from, &to, last, last_read, events).map_err(|problem| (problem, came()))
            }
            (None, Ok((Direction::Push, remote))) => {
                self.push(&remote, last, events).map_err(|problem| (problem, came()))
            }
            (None, Ok((Direction::Pull, remote))) => {
                self.pull(&remote, last, events).map_err(|problem| (problem, 0))
            }
            (None, Err(problem)) => Err((problem, 0)),
        };
        done.unwrap_or_else(|(problem, bytes_moved)| Report { bytes_moved, ..failed(problem, events) })
    }

    /// Opens a source of this host for the other side, or names it: a kept link, a pipe, a path, null bytes.
    ///
    /// Errors: it cannot be sent to another host.
    fn source_place(&self, place: &Place) -> Result<HandlePlace, Problem> {
        match place {
            Place::Path(path) if self.options.place.keep_links && named_link(path).is_some() => {
                Ok(HandlePlace::Link(None, path.clone()))
            }
            Place::Path(path) if is_pipe(path) => {
                let pipe = stream::open_fifo(path, &self.stop)?;
                Ok(HandlePlace::Flow(Flow::Stream(Arc::new(pipe))))
            }
            Place::Path(path) => Ok(HandlePlace::Path(path.clone())),
            Place::Stream => Ok(HandlePlace::Flow(Flow::Stream(Arc::new(stream::standard_input()?)))),
            Place::Null { bytes: Some(bytes), fill } => {
                Ok(HandlePlace::Flow(Flow::Null { bytes: *bytes, fill: *fill }))
            }
            Place::Null { bytes: None, .. } => Err(Problem::usage(NULL_WANTS_SIZE)),
            Place::Stripe(_) => Err(Problem::usage(format!(
                "'{place}' is not given to another host; send it through a pipe: pump copy {place} - | \
                 pump copy - HOST:FILE"
            ))),
            _ => Err(Problem::usage("both places are on other hosts; copy in two steps")),
        }
    }

    /// A pipe is read and written once: what was taken out of it is lost with the connection, and what was put into it
    /// stays there.
    fn has_a_pipe(&self) -> bool {
        let once = |place: &Place| *place == Place::Stream || place.local_path().is_some_and(is_pipe);
        self.sources.iter().chain([&self.target]).any(once)
    }

    /// Runs a session in which the other side writes: this side sends what is requested, and receives the report.
    fn push(self, remote: &Remote, last: &LastSession, events: Events<'_>) -> Result<Report, Problem> {
        let cpu = cpu_now();
        let origins = self.sources.iter().map(|place| self.source_place(place)).collect::<Result<_, _>>()?;
        let share = Budget::of_client(self.memory_bytes).share();
        let (follow, stop) = (self.options.links.follow, Arc::clone(&self.stop));
        let handles = HandleTable::new(origins, follow, stop, share, None).with_options(&self.options);
        let handles = Arc::new(handles);
        let mut session = self.begin(&SessionStart::of_this_side(Direction::Push, remote, last), events)?;
        // The side that writes holds itself to the rate. Blocks that are sent ahead have slots of their own here.
        let lanes = session.lane_range.map_or(session.lanes, |range| range.most) + u32::from(session.ahead);
        let options = self.options.clone().with(|it| {
            it.tuning.bytes_per_second = None;
            it.tuning.lanes = Some(lanes);
        });
        // Nobody asks any more: a pipe that says nothing is not waited for.
        let over = Arc::new(AtomicBool::new(false));
        let reader = Arc::new(Watch::default());
        reader.begin(session.lanes, false, None);
        let read_server = HostJob::copy(Vec::new(), Place::null())
            .options(options)
            .stop(Arc::clone(&over))
            .watch(Arc::clone(&reader));
        let (sender, receiver) = mpsc::channel();
        let (cancel, host) = (session.cancel.clone(), remote.host.to_string());
        let mut gave = SenderStats::default();
        let teller = Teller::default();
        let (report, talked) = std::thread::scope(|scope| {
            scope.spawn(|| teller.pass_on(events));
            let _closing = Closing(&teller);
            report_notices(scope, session.notices.take(), session.cancel.clone(), events, remote.to_string());
            let mut ending = ServedEnd::of(
                scope.spawn(|| served_connection::serve_connections(&read_server, &handles, receiver)),
            );
            let mut was_given = |_: Option<&String>| {
                over.store(true, Ordering::Relaxed);
                gave = ending.poll_end(&cancel)?;
                Some(gave.clone())
            };
            let dialled = session.dial(scope, sender, Arc::clone(&over));
            let (report, talked) = self.follow_writer(&mut session, &host, &teller, &reader, &mut was_given);
            over.store(true, Ordering::Relaxed);
            session.cancel.cut();
            (report, why_lost(talked, dialled))
        });
        let cpu = cpu_since(cpu);
        let is_limited = self.options.tuning.bytes_per_second.is_some();
        let report =
            report.map(|report| pushed(&session, with_places(report, remote), gave, cpu, is_limited));
        talked
            .and_then(|()| self.check_not_stopped(report))
            .map_err(|fault| fault.problem(&remote.to_string()))
    }

    /// Exchanges messages with a host that writes, to the end of the session: passes its events on, shows its progress, and
    /// gives its report, if it sent one. `own` counts what this side sent. `given` is asked what that was, with the report,
    /// until it knows.
    fn follow_writer(
        &self,
        session: &mut ClientSession,
        host: &str,
        teller: &Teller,
        own: &Watch,
        given: &mut dyn FnMut(Option<&String>) -> Option<SenderStats>,
    ) -> (Option<Report>, Result<(), NetFault>) {
        let report = RefCell::new(None);
        let mut answer = |message| {
            match message {
                Message::Event(event) => teller.enqueue_event(event_codec::from_wire(event, host)),
                Message::Progress(progress) => self.watch.show_remote(&progress, own),
                Message::Report(text) => {
                    report.replace(Some(text));
                    return Follows::Agree;
                }
                _ => {}
            }
            Follows::Go
        };
        let mut given = || given(report.borrow().as_ref());
        let talked = session.talk(&self.stop, &mut answer, &mut given, &|| teller.poll_hold());
        (report.into_inner().and_then(|text| event_codec::report(&text)), talked)
    }

    /// The report of the other side.
    ///
    /// Errors: it cannot be read, or the other side was stopped and this one was not.
    fn check_not_stopped(&self, report: Option<Report>) -> Result<Report, NetFault> {
        let report = report.ok_or_else(|| NetFault::Protocol("its report cannot be read".into()))?;
        if report.exit_status == Status::Interrupted as i32 && !self.stop.load(Ordering::Relaxed) {
            Err(NetFault::Lost("the other side was stopped".into()))
        } else {
            Ok(report)
        }
    }

    /// Runs a session in which this side writes, and sends its report. A session that ends badly behind a job that ended well
    /// is no error.
    fn pull(self, remote: &Remote, last: &LastSession, events: Events<'_>) -> Result<Report, Problem> {
        let target = self.target.local_path().map(|path| PathAt::find(&Disk::Os, path));
        // The read-ahead to request before the job begins.
        let request = request_plan::ahead_request(&self.options, self.compares, target.as_ref());
        let is_name = is_name_of(last);
        let start = SessionStart::of_this_side(Direction::Pull, remote, last);
        let start = SessionStart { first: Some(read_ahead::first_request(request)), ..start };
        let mut session = self.begin(&start, events)?;
        let (pools, share) =
            (session.connections.pools.pools(session.ahead), Budget::of_client(self.memory_bytes).share());
        let owners = Mapping::new(self.options.attributes.keep.numeric_ids);
        let (boot, round_trip_ns) = (session.welcome.boot, session.round_trip_ns);
        let (place, reads_on) = (remote.host.to_string(), session.reads_on);
        let peer = PeerFacts { place, boot, round_trip_ns, requested: Some(request), reads_on };
        let remote_host = RemoteHost::new(peer, session.cancel.clone(), pools, share, owners);
        let is_limited = self.options.tuning.bytes_per_second.is_some();
        let lanes = self.options.tuning.lanes.unwrap_or(session.lanes).min(session.lanes);
        let (lanes_at_first, lanes_max) = session.lane_range.map(|it| (it.at_first, it.most)).unzip();
        let verifies = self.options.durability.verify;
        let options = self.options.with(|it| {
            it.tuning.lanes = Some(lanes);
            (it.limits.lanes_at_first, it.limits.lanes_max) = (lanes_at_first, lanes_max);
            it.place.target_is_name |= is_name;
            it.place.keep_links = session.has_links;
        });
        let _places = charged_places(session.sources.as_deref(), remote_host.share())?;
        let sources = session.sources.take().unwrap_or(self.sources);
        let job = match (self.compares, &sources[..]) {
            (true, [one]) => HostJob::compare(one.clone(), self.target),
            _ => HostJob::copy(sources, self.target),
        };
        let job = job.options(options).tells_files(self.tells_files).remote_host(remote_host);
        let job = job.stop(Arc::clone(&self.stop)).watch(Arc::clone(&self.watch));
        let (outbox, connections) = (session.outbox.clone(), Arc::clone(&session.connections));
        let mut gave = SenderStats::default();
        let (report, talked) = std::thread::scope(|scope| {
            report_notices(scope, session.notices.take(), session.cancel.clone(), events, remote.to_string());
            let writer = scope.spawn(|| {
                let report = job.run_reported(events);
                connections.pools.close();
                outbox.say(Message::Report(serde_json::to_string(&report).unwrap_or_default()));
                report
            });
            let mut answer = |message| handle_reader_message(message, &mut gave, &self.watch, verifies);
            let talked = session.talk_until(&self.stop, &mut answer);
            session.cancel.cut();
            (writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), talked)
        });
        Ok(match talked {
            // All was done here, whatever the other side heard of it.
            Err(fault) if report.exit_status != 0 && !report.problems.contains_key(Class::Lost.name()) => {
                events(Event::Problem(fault.problem(&remote.to_string())));
                let bill = bill_of_hosts(&report, &gave);
                Report { exit_status: Status::Lost as i32, bill, ..report }
            }
            _ => pulled(&session, report, &gave, is_limited),
        })
    }
}

/// What the places take that the other host named: each with what is known of it and of its target.
fn charged_places(places: Option<&[Place]>, share: &Arc<Share>) -> Result<Option<Charge>, Problem> {
    const PLACE_BYTES: usize = 4 << 10;
    let Some(places) = places else { return Ok(None) };
    let charge = share.charge(places.len() * PLACE_BYTES, 0);
    charge.map(Some).map_err(|over| Problem::of(Class::Refused, Operation::List, over.message()))
}

/// How the session ended; where it was cut because a connection could not be made, with that fault.
fn why_lost(
    talked: Result<(), NetFault>,
    dialled: ScopedJoinHandle<'_, Result<(), NetFault>>,
) -> Result<(), NetFault> {
    match (talked, dialled.join()) {
        (Err(NetFault::Lost(_)), Ok(Err(fault))) => Err(fault),
        (talked, _) => talked,
    }
}

/// The report of this side, which wrote, with what the other one gave and paid.
fn pulled(session: &ClientSession, report: Report, gave: &SenderStats, is_limited: bool) -> Report {
    let report = seen_by_client(merge_reports(report, gave), "sender", is_limited);
    let peer_cpu = gave.user_ns.zip(gave.system_ns);
    let cpu_remote = peer_cpu.map(|(user_ns, system_ns)| Cpu { user_ns, system_ns });
    session.with_round_trips(Report { cpu_remote, ..report })
}

/// The report of the side that writes, with what this one gave and paid, also before anything was requested.
fn pushed(session: &ClientSession, report: Report, gave: SenderStats, cpu: Cpu, is_limited: bool) -> Report {
    let gave = SenderStats { user_ns: Some(cpu.user_ns), system_ns: Some(cpu.system_ns), ..gave };
    let report = seen_by_client(merge_reports(report, &gave), "receiver", is_limited);
    session.with_round_trips(Report { cpu_remote: Some(report.cpu), cpu, ..report })
}

/// What the other side wrote, as the user of this one would name it.
fn with_places(report: Report, remote: &Remote) -> Report {
    let place = |path: &String| Remote { path: path.into(), ..remote.clone() }.to_string();
    Report { targets: report.targets.iter().map(place).collect(), ..report }
}

fn was_cut_short(report: &Report) -> bool {
    [Status::Lost as i32, Status::Interrupted as i32].contains(&report.exit_status)
}

fn is_pipe(path: &Path) -> bool {
    let kind = Disk::Os.metadata(path).map(|meta| meta.kind);
    matches!(kind, Ok(FileKind::Fifo | FileKind::CharDevice))
}

/// The report of a copy that came to nothing.
fn failed(problem: Problem, events: Events<'_>) -> Report {
    let status = problem.class.status();
    let problems = [(problem.class.name().to_string(), 1)].into();
    events(Event::Problem(problem));
    Report { version: crate::report::version(), exit_status: status as i32, problems, ..Report::default() }
}
