//! A copy between two other hosts: each of them has a session with this side, and what the one that writes requests of
//! the one that reads goes through here. Blocks keep their digests, which the writing host checks: nothing depends on
//! what lies between.
//!
//! Must not know: what is requested.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, OnceLock, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use datapump_core::wire::WireError;
use datapump_core::wire::frame::{DIGEST_BYTES, FrameKind};
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::session::{Direction, Message, SenderStats};
use datapump_engine::WAIT_MAX;
use datapump_transport::{CancelToken, Channel, HANDSHAKE_MAX, Host, NetFault};

use super::teller::{Closing, Teller, report_notices};
use super::{charged_places, why_lost, with_places};
use crate::net::client::client_session::ClientSession;
use crate::net::client::remote_copy::{Events, LastSession, RemoteCopy, SessionStart};
use crate::net::client::remote_verdict::{merge_reports, seen_by_client};
use crate::net::client::session_pools::SessionPools;
use crate::net::server::control::{Follows, Outbox};
use crate::place::{Place, Remote};
use crate::problem::Problem;
use crate::report::Report;
use crate::report::cpu::{cpu_now, cpu_since};
use crate::report::event::Event;
use crate::report::watch::{TreeCounts, Watch};
use crate::setup::budget::{Budget, Charge, OverBudget, Share};

/// The largest block that is forwarded, unless greater requests were asked for: no default is greater than 4 MiB.
const BLOCK_BYTES: u32 = 16 << 20;
/// Between two looks whether the session with the host that reads has ended.
const LOOK_EACH: Duration = Duration::from_millis(1);
/// How long that may take: the host that reads hangs up on connections that do not end (`HANDSHAKE_MAX`), and agrees.
const SOURCE_END_MAX: Duration = Duration::from_secs(2 * HANDSHAKE_MAX.as_secs());

impl RemoteCopy {
    /// The first source and the target, where both are on hosts that ssh reaches and nothing is only compared.
    pub(super) fn two_hosts(&self) -> Option<(Remote, Remote)> {
        let remote = |place: &Place| match place {
            Place::Remote(remote) if matches!(remote.host, Host::Ssh(_)) => Some(remote.clone()),
            _ => None,
        };
        let target = remote(&self.target).filter(|_| !self.compares)?;
        let sources = self.sources.iter().map(remote).collect::<Option<Vec<_>>>()?;
        let first = sources.first()?.clone();
        sources.iter().all(|source| source.host == first.host).then_some((first, target))
    }

    /// Runs a copy between two other hosts: one writes, and what it requests of the other goes through this side.
    ///
    /// Errors: a session that could not begin, or the one that was lost first.
    pub(super) fn relay(
        mut self,
        from: &Remote,
        to: &Remote,
        last: &LastSession,
        last_read: &LastSession,
        events: Events<'_>,
    ) -> Result<Report, Problem> {
        let cpu = cpu_now();
        if last_read.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            events(Event::Notice(format!(
                "{} -> {}: all data goes through this host; to avoid that, run pump on one of the two",
                from.host, to.host
            )));
        }
        self.connections = Some(self.lanes());
        let mut reading =
            self.begin(&SessionStart::of_this_side(Direction::Pull, from, last_read), events)?;
        let share = Budget::of_client(self.memory_bytes).share();
        let _places = charged_places(reading.sources.as_deref(), &share)?;
        self.sources = reading.sources.take().unwrap_or(self.sources);
        self.options.place.keep_links = reading.has_links;
        self.connections = Some(reading.lanes);
        let start = SessionStart::of_this_side(Direction::Push, to, last);
        let start = SessionStart { source_boot: reading.welcome.boot, ..start };
        let from_host = from.host.to_string();
        let events: Events<'_> = &|event| events(mark_host(event, &from_host));
        let (report, talked) = std::thread::scope(|scope| {
            let source = SourceSide::of_session(&reading);
            report_notices(scope, reading.notices.take(), reading.cancel.clone(), events, from.to_string());
            // It is heard while the other one begins, which may take a password.
            let (sender, comes) = mpsc::channel();
            let dialled = reading.dial(scope, sender, Arc::clone(&source.is_over));
            source.start(scope, &mut reading, &self.stop, &self.watch, self.options.durability.verify);
            let writing = self.begin(&start, events);
            let mut writing = writing.inspect_err(|_| source.end())?;
            let (report, talked) = self.run_writing_session(&mut writing, &source, comes, events, to, &share);
            let gave = source.gave();
            // Nobody makes connections to that host any more.
            source.cancel.cut();
            // What was lost first is why the rest is: a connection that could not be made, a session.
            let not_made = dialled.join().ok().and_then(Result::err);
            let talked = match (talked, source.lost_before()) {
                (Ok(()), _) => Ok(()),
                (Err(_), Some(fault)) => Err(not_made.unwrap_or(fault).problem(&from.to_string())),
                (Err(fault), None) => Err(fault.problem(&to.to_string())),
            };
            let counted = report.map(|report| {
                let report = merge_reports(with_places(report, to), &gave);
                let is_limited = self.options.tuning.bytes_per_second.is_some();
                let report = seen_by_client(report, "receiver", is_limited);
                writing.with_round_trips(Report { cpu_remote: Some(report.cpu), ..report })
            });
            Ok((counted, talked))
        })?;
        talked?;
        let report = self.check_not_stopped(report).map_err(|fault| fault.problem(&to.to_string()))?;
        Ok(Report { cpu: cpu_since(cpu), ..report })
    }

    /// Runs the session with the host that writes, and forwards frames between it and the host that reads, until it ends.
    fn run_writing_session(
        &self,
        writing: &mut ClientSession,
        source: &SourceSide<'_>,
        from_comes: Receiver<(Purpose, Channel)>,
        events: Events<'_>,
        to: &Remote,
        share: &Arc<Share>,
    ) -> (Option<Report>, Result<(), NetFault>) {
        let own = Watch::default();
        own.begin(writing.lanes, false, None);
        source.ends_with(&writing.cancel);
        let host = to.host.to_string();
        let most = self.options.tuning.request_bytes.unwrap_or(0).max(BLOCK_BYTES);
        let teller = Teller::default();
        std::thread::scope(|scope| {
            scope.spawn(|| teller.pass_on(events));
            let _closing = Closing(&teller);
            report_notices(scope, writing.notices.take(), writing.cancel.clone(), events, to.to_string());
            let (sender, comes) = mpsc::channel();
            let dialled = writing.dial(scope, sender, Arc::clone(&source.is_over));
            scope.spawn(move || {
                // Both dial names and blocks in the same order (`SessionPools::dial`), and nothing ahead.
                for ((_, reader), (_, writer)) in from_comes.iter().zip(comes) {
                    // Where the system gives no more threads the two are closed, and the hosts go on without.
                    let work = move || forward(writer, reader, most, share).unwrap_or_default();
                    drop(std::thread::Builder::new().spawn_scoped(scope, work));
                }
            });
            let mut was_given = |report: Option<&String>| {
                source.begin_end(report.cloned());
                source.poll_end()
            };
            let (report, talked) = self.follow_writer(writing, &host, &teller, &own, &mut was_given);
            source.end();
            writing.cancel.cut();
            (report, why_lost(talked, dialled))
        })
    }
}

type SourceThread<'scope> = ScopedJoinHandle<'scope, Result<SenderStats, NetFault>>;

/// The session with the host that reads, on a thread of its own.
struct SourceSide<'scope> {
    thread: RefCell<Option<SourceThread<'scope>>>,
    ended: RefCell<Option<Result<SenderStats, NetFault>>>,
    /// When it was told that all is over.
    since: Cell<Option<Instant>>,
    outbox: Outbox,
    connections: Arc<SessionPools>,
    cancel: CancelToken,
    /// Nothing is requested any more: what is lost from then on does no harm.
    is_over: Arc<AtomicBool>,
    /// It was lost before that, and what is to end then.
    is_lost: Arc<AtomicBool>,
    ends: Arc<OnceLock<CancelToken>>,
}

impl<'scope> SourceSide<'scope> {
    /// The side that is read in this session, before its thread is started.
    fn of_session(session: &ClientSession) -> SourceSide<'scope> {
        SourceSide {
            thread: RefCell::default(),
            ended: RefCell::default(),
            since: Cell::default(),
            outbox: session.outbox.clone(),
            connections: Arc::clone(&session.connections),
            cancel: session.cancel.clone(),
            is_over: Arc::default(),
            is_lost: Arc::default(),
            ends: Arc::default(),
        }
    }

    /// Holds the session with the host that reads, on a thread. If it is lost before the copy is over the other session is cut.
    fn start(
        &self,
        scope: &'scope Scope<'scope, '_>,
        session: &'scope mut ClientSession,
        stop: &'scope AtomicBool,
        watch: &'scope Watch,
        verifies: bool,
    ) {
        let (is_over, is_lost, ends) =
            (Arc::clone(&self.is_over), Arc::clone(&self.is_lost), Arc::clone(&self.ends));
        let thread = scope.spawn(move || {
            source_session(session, stop, watch, verifies).inspect_err(|_| {
                if !is_over.load(Ordering::Relaxed) {
                    is_lost.store(true, Ordering::Relaxed);
                    ends.get().into_iter().for_each(CancelToken::cut);
                }
            })
        });
        self.thread.replace(Some(thread));
    }

    /// The other session ends with this one, if it is lost.
    fn ends_with(&self, other: &CancelToken) {
        let _ = self.ends.set(other.clone());
        if self.is_lost.load(Ordering::Relaxed) {
            other.cut();
        }
    }

    /// Begins to end the session, once: sends the report to the host that reads, or cuts the session if there is none.
    fn begin_end(&self, report: Option<String>) {
        if self.since.get().is_some() {
            return;
        }
        self.since.set(Some(Instant::now()));
        self.is_over.store(true, Ordering::Relaxed);
        self.connections.pools.close();
        match report {
            Some(report) => self.outbox.say(Message::Report(report)),
            None => self.cancel.cut(),
        }
    }

    /// What the host that reads sent in all, once it has agreed; it is cut if it does not. `None` where that takes longer than
    /// the holder of the other session may wait.
    fn poll_end(&self) -> Option<SenderStats> {
        let start = Instant::now();
        while self.thread.borrow().as_ref().is_some_and(|thread| !thread.is_finished()) {
            if self.since.get().is_some_and(|since| since.elapsed() > SOURCE_END_MAX) {
                self.cancel.cut();
            }
            if start.elapsed() > WAIT_MAX {
                return None;
            }
            std::thread::sleep(LOOK_EACH);
        }
        if let Some(thread) = self.thread.take() {
            let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            self.ended.replace(Some(ended));
        }
        Some(self.gave())
    }

    /// Ends it without a report, if it has none, and waits until it has ended.
    fn end(&self) {
        self.begin_end(None);
        while self.poll_end().is_none() {}
    }

    fn gave(&self) -> SenderStats {
        self.ended.borrow().as_ref().and_then(|ended| ended.as_ref().ok().cloned()).unwrap_or_default()
    }

    /// Why it was lost, if that was before nothing was requested any more.
    fn lost_before(&self) -> Option<NetFault> {
        let ended = self.ended.take().and_then(Result::err);
        ended.filter(|_| self.is_lost.load(Ordering::Relaxed))
    }
}

/// The session with the host that reads, until it has agreed; what it gave.
fn source_session(
    session: &mut ClientSession,
    stop: &AtomicBool,
    watch: &Watch,
    verifies: bool,
) -> Result<SenderStats, NetFault> {
    let mut gave = SenderStats::default();
    let mut answer = |message| handle_reader_message(message, &mut gave, watch, verifies);
    session.talk_until(stop, &mut answer)?;
    Ok(gave)
}

/// Shows what a host that reads has counted, and keeps what it sent. Bytes that are read back move a second time.
pub(super) fn handle_reader_message(
    message: Message,
    gave: &mut SenderStats,
    watch: &Watch,
    verifies: bool,
) -> Follows {
    match message {
        Message::Agreed(given) => *gave = *given,
        Message::Counted { files, bytes, names } => {
            let bytes = bytes.0.saturating_mul(if verifies { 2 } else { 1 });
            watch.set_counted(TreeCounts { files, bytes, names });
        }
        _ => {}
    }
    Follows::Go
}

/// Forwards frames between two connections, until one side hangs up; then the other is hung up on, too.
fn forward(writer: Channel, reader: Channel, most: u32, share: &Arc<Share>) -> Result<(), NetFault> {
    let mut forwarding = Forwarding::new(writer, reader, most, share)?;
    loop {
        if !forwarding.step()? {
            forwarding.wait()?;
        }
    }
}

/// Two connections between which frames are forwarded.
pub(crate) struct Forwarding {
    writer: Channel,
    reader: Channel,
    block: BlockRoom,
}

impl Forwarding {
    /// Two connections between which frames are forwarded, with room for blocks of at most `most` bytes that is charged
    /// as it grows.
    pub(crate) fn new(
        writer: Channel,
        reader: Channel,
        most: u32,
        share: &Arc<Share>,
    ) -> Result<Forwarding, NetFault> {
        let block = BlockRoom { bytes: Vec::new(), most, charge: share.charge(0, 0).map_err(over)? };
        for channel in [&writer, &reader] {
            channel.relays();
        }
        Ok(Forwarding { writer, reader, block })
    }

    /// Forwards a frame each way, if one has come; whether one has.
    pub(crate) fn step(&mut self) -> Result<bool, NetFault> {
        let was_asked = forward_one(&mut self.writer, &mut self.reader, &mut self.block)?;
        let was_answered = forward_one(&mut self.reader, &mut self.writer, &mut self.block)?;
        Ok(was_asked || was_answered)
    }

    fn wait(&mut self) -> Result<(), NetFault> {
        for channel in [&mut self.writer, &mut self.reader] {
            channel.line_check()?;
            channel.looked_in_vain();
        }
        self.writer.wait_with(&self.reader, WAIT_MAX)
    }
}

/// Room for the block that is forwarded, as large as the largest that came.
struct BlockRoom {
    bytes: Vec<u8>,
    most: u32,
    charge: Charge,
}

impl BlockRoom {
    /// Gives room for a block of this length, and charges it when it grows.
    ///
    /// Errors: the block is longer than was requested, or memory is over.
    fn grow_to(&mut self, len: u32) -> Result<&mut [u8], NetFault> {
        if len > self.most {
            return Err(WireError::TooLong("a block", len.into(), u64::from(self.most)).into());
        }
        let len = len as usize;
        if len > self.bytes.len() {
            self.charge.grow(len - self.bytes.len()).map_err(over)?;
            self.bytes = vec![0; len];
        }
        Ok(&mut self.bytes[..len])
    }
}

fn over(over: OverBudget) -> NetFault {
    NetFault::Refused(over.message().into())
}

/// Forwards one frame, if one comes. Its rest is waited for: the side that sends it waits for nothing else.
fn forward_one(from: &mut Channel, to: &mut Channel, block: &mut BlockRoom) -> Result<bool, NetFault> {
    if !from.has_come()? {
        return Ok(false);
    }
    let head = from.receive_head()?;
    match head.kind {
        FrameKind::Message => to.put_message(&from.receive_body(head)?, head.number)?,
        FrameKind::Block => {
            let mut digest = [0; DIGEST_BYTES as usize];
            from.receive(&mut digest)?;
            let bytes = block.grow_to(head.len)?;
            from.receive(bytes)?;
            to.put_block(bytes, &digest, head.number)?;
        }
    }
    if !from.has_buffered() {
        to.flush()?;
    }
    Ok(true)
}

/// The event; a problem that has a path and no host yet is marked as one of this host.
fn mark_host(event: Event, host: &str) -> Event {
    match event {
        Event::Problem(problem) if problem.path.is_some() && problem.host.is_none() => {
            Event::Problem(problem.on(host))
        }
        event => event,
    }
}
