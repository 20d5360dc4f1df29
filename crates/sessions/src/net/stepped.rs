//! Both sides of a session, stepped by one thread over a simulated net: what is copied arrives whatever is cut when,
//! and round trips are counted, not timed.
//!
//! The side that writes runs its job, and while it waits the other side's machines go on: its control connection and
//! each connection over which it gives. Files are real, in a temporary folder; nothing else is.
//!
//! Must not know: sockets, threads, TLS.

mod answers;
mod as_read;
mod limits;
mod memory;
mod mirrors;
mod path;
mod read_on;
mod round_trips;
mod verify;
mod within_ssh;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use datapump_core::wire::hello::Purpose;
use datapump_core::wire::session::{Begin, Direction, Message, SenderStats, Session};
use datapump_engine::sim::SimClock;
use datapump_engine::{Link, SimLink, SimNet, go_on_meanwhile};
use datapump_transport::{CancelToken, Channel, HANDSHAKE_MAX, Host, NetFault, Pool, Seal};

use crate::job::HostJob;
use crate::lane::Stepped;
use crate::net::folder::handle_place::{Flow, HandlePlace};
use crate::net::folder::handle_table::HandleTable;
use crate::net::folder::owners::Mapping;
use crate::net::folder::remote_host::{PeerFacts, Pools, RemoteHost};
use crate::net::server::control::{Control, Follows, Outbox, message_boxes};
use crate::net::server::served_connection::{self, ServedConnection};
use crate::place::{Fill, Place, Remote};
use crate::report::event::Event;
use crate::report::{Report, RoundTrips};
use crate::run::rate::Rate;
use crate::setup::budget::Budget;
use crate::setup::options::{EngineChoice, FollowLinks, Options, Selection, Sync, Update};
use crate::setup::platform::{Clock, Platform};
use crate::tree::Shared;

use path::{ConnectionPairs, SteppedPath};

const DELAY: Duration = Duration::from_millis(90);
/// What was written in this time may be read twice: a change within a tick of the kernel's clock would not show.
const YOUNG: Duration = Duration::from_millis(30);
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// Two hosts and what lies between them.
struct TwoHosts {
    home: tempfile::TempDir,
    clock: SimClock,
    net: SimNet,
    path: SteppedPath,
    /// What a walk meets comes before it is requested, over a long path.
    reads_ahead: bool,
    /// What the side that writes may hold.
    memory_bytes: u64,
    /// It compares, and writes nothing.
    compares: bool,
    /// Both ends report that they are one host.
    is_one_host: bool,
    /// Every place that is read is null of so many bytes.
    null_bytes: Option<u64>,
    /// Ends what the side that writes does.
    stop: Arc<AtomicBool>,
    /// The limit that the server of the two keeps to, in bytes per second.
    server_limit: Option<u64>,
}

/// How a session went.
struct SessionOutcome {
    report: Report,
    /// Problems, and notes where they are asked for.
    said: Vec<String>,
    /// Why the writing side's control connection ended, unless all was agreed.
    lost: Option<NetFault>,
    /// What the reading side agreed to.
    given: Option<SenderStats>,
    round_trips: u64,
}

impl TwoHosts {
    fn new() -> TwoHosts {
        TwoHosts::at(SteppedPath::Long)
    }

    fn at(path: SteppedPath) -> TwoHosts {
        let clock = SimClock::virtual_time();
        let net = SimNet::new(clock.clone(), path.delay());
        TwoHosts {
            home: tempfile::tempdir().expect("room"),
            clock,
            net,
            path,
            reads_ahead: true,
            memory_bytes: 1 << 30,
            compares: false,
            is_one_host: false,
            null_bytes: None,
            stop: Arc::default(),
            server_limit: None,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn options(&self) -> Options {
        // One lane, whose thread is the only one.
        let once = Options::default().with(|it| {
            it.tuning.lanes = Some(1);
            it.place.target_is_name = true;
        });
        once.with(|it| {
            it.tuning.engine = EngineChoice::Inline;
            it.durability.sync = Sync::None;
        })
    }

    /// The side that is read: its control connection and what it gives go on while this thread waits. Gives how the
    /// other side gets connections.
    fn reading_side(
        &self,
        sources: &[PathBuf],
        connections: ConnectionPairs,
        control: Channel,
        is_caller: bool,
    ) -> Result<Pools, NetFault> {
        let place = |source: &PathBuf| match self.null_bytes {
            Some(bytes) => HandlePlace::Flow(Flow::Null { bytes, fill: Fill::Noise }),
            None => HandlePlace::Path(source.into()),
        };
        let places = sources.iter().map(place).collect();
        let handles = Arc::new(HandleTable::new(
            places,
            FollowLinks::Never,
            Arc::default(),
            Budget::of_client(None).share(),
            None,
        ));
        // A server that is read keeps to its limit by a clock of its own: this side goes on while it sleeps.
        let limit = self.server_limit.filter(|_| !is_caller);
        let own_clock = limit.map(|_| SimClock::virtual_time());
        let clock = own_clock.clone().unwrap_or_else(|| self.clock.clone());
        let job = HostJob::copy(Vec::new(), Place::null())
            .options(self.options())
            .shared_rate(limit.map(|limit| server_rate(limit, &clock)))
            .platform(Platform::stepped(clock));
        let job: &'static HostJob = Box::leak(Box::new(job));
        let shared: &'static Shared<'static> =
            Box::leak(Box::new(served_connection::shared(job, &handles).expect("nothing is asked of it")));
        let session = if is_caller { Session::caller() } else { Session::called() };
        let (_, inbox) = message_boxes()?;
        let mut control = Control::new(control, session, inbox, WAIT_MAX, self.platform().clock);
        if is_caller {
            control.say(Message::Begin(begin(Direction::Push, sources.len())))?;
        }
        let mut is_over = false;
        go_on_meanwhile(move || !is_over && goes_on(&mut control, &mut is_over));
        let (count, net) = (AtomicUsize::new(0), self.net.clone());
        let dial = move |purpose: Purpose| {
            net.second_ends_have(own_clock.clone().filter(|_| purpose == Purpose::Blocks));
            let made = connections();
            net.second_ends_have(None);
            let [one, other] = made?;
            let index = count.fetch_add(1, Ordering::Relaxed);
            let mut served = ServedConnection::new(shared, purpose, index, other, Arc::clone(&handles));
            go_on_meanwhile(move || gives(&mut served));
            Ok(one)
        };
        let dial = Arc::new(dial);
        let [names, blocks, ahead] = [0; 3].map(|_| {
            let dial = Arc::clone(&dial);
            Arc::new(Pool::dialled(CancelToken::default(), Box::new(move |purpose| dial(purpose))))
        });
        Ok(Pools { names, blocks, ahead: self.is_ahead().then_some(ahead) })
    }

    fn platform(&self) -> Platform {
        Platform::stepped(self.clock.clone())
    }

    /// Something is sent before it is requested.
    fn is_ahead(&self) -> bool {
        self.reads_ahead && self.path.is_long()
    }

    /// A whole session; the side that writes is the caller (`Pull`) or the called one (`Push`).
    fn copy(&self, way: Direction, (source, target): (&str, &str), options: Options) -> SessionOutcome {
        self.copy_all(way, &[source], target, options)
    }

    /// The same of several sources.
    fn copy_all(&self, way: Direction, sources: &[&str], target: &str, options: Options) -> SessionOutcome {
        std::thread::sleep(YOUNG);
        let begun_ns = self.clock.now_ns();
        let said = Mutex::new(Vec::new());
        let sources: Vec<PathBuf> = sources.iter().map(|source| self.path(source)).collect();
        let copied = self.copied(way, sources, self.path(target), options, &said);
        let (report, talked) = copied.unwrap_or_else(|fault| (Report::default(), Err(fault)));
        let (given, lost) = match talked {
            Ok(given) => (Some(given), None),
            Err(fault) => (None, Some(fault)),
        };
        let round_trips = (self.clock.now_ns() - begun_ns).div_ceil(self.path.round_trip_ns());
        let said = said.into_inner().expect("no panic");
        SessionOutcome { report, said, lost, given, round_trips }
    }

    fn copied(
        &self,
        way: Direction,
        sources: Vec<PathBuf>,
        target: PathBuf,
        options: Options,
        said: &Mutex<Vec<String>>,
    ) -> Result<(Report, Result<SenderStats, NetFault>), NetFault> {
        let connections = self.path.connections(&self.net);
        let [own, other] = connections()?;
        let pools = self.reading_side(&sources, connections, other, way == Direction::Push)?;
        let (outbox, inbox) = message_boxes()?;
        let session = if way == Direction::Pull { Session::caller() } else { Session::called() };
        let mut control = Control::new(own, session, inbox, WAIT_MAX, self.platform().clock);
        match way {
            Direction::Pull => {
                control.say(Message::Begin(begin(way, sources.len())))?;
                assert!(matches!(control.hear()?, Message::Begun { .. }));
            }
            Direction::Push => {
                assert!(matches!(control.hear()?, Message::Begin(_)));
                control.say(started(Some(false)))?;
            }
        }
        let (cancel, share) = (CancelToken::default(), Budget::new(self.memory_bytes).share());
        let remote_host = RemoteHost::new(self.peer(), cancel, pools, share, Mapping::new(true));
        let remote = |path| Place::Remote(Remote { host: Host::Served("far:1".into()), path });
        let (mut places, target) = (sources.into_iter().map(remote).collect::<Vec<_>>(), Place::Path(target));
        let job = if self.compares {
            HostJob::compare(places.remove(0), target)
        } else {
            HostJob::copy(places, target)
        };
        let limit = self.server_limit.filter(|_| way == Direction::Push);
        let job = job.shared_rate(limit.map(|limit| server_rate(limit, &self.clock)));
        let job =
            job.options(options).tells_files(false).remote_host(remote_host).stop(Arc::clone(&self.stop));
        let report = job.platform(self.platform()).run_reported(&|event| {
            let words = match event {
                Event::Problem(problem) => problem.to_string(),
                Event::Note(note) => note,
                _ => return,
            };
            said.lock().expect("no panic").push(words);
        });
        Ok((report.clone(), ended(&mut control, &outbox, &report)))
    }

    /// As the side that writes knows the other: through a client it knows the time of its own part of the path.
    fn peer(&self) -> PeerFacts {
        let round_trip_ns = match self.path {
            path if path.is_long() && !self.reads_ahead => u64::MAX,
            path => 2 * path.delay().as_nanos() as u64,
        };
        let reads_on = self.path == SteppedPath::Short || self.is_ahead();
        let boot = self.is_one_host.then(datapump_files::disk::boot);
        PeerFacts { place: "far".into(), boot, round_trip_ns, requested: None, reads_on }
    }
}

/// The limit of a server, which its sessions share.
fn server_rate(bytes_per_second: u64, clock: &SimClock) -> Arc<Rate> {
    Arc::new(Rate::new(bytes_per_second, Clock::Sim(clock.clone())))
}

/// The report is told, and the other side agrees.
fn ended(control: &mut Control, outbox: &Outbox, report: &Report) -> Result<SenderStats, NetFault> {
    outbox.say(Message::Report(serde_json::to_string(report).expect("it has a form")));
    let mut given = None;
    let mut hear = |message| {
        if let Message::Agreed(agreed) = message {
            given = Some(*agreed);
        }
        Follows::Go
    };
    control.run(&mut hear, &mut || None, &mut || Some(SenderStats::default()))?;
    Ok(given.expect("a session that is over was agreed"))
}

fn open(link: SimLink, cancel: CancelToken) -> Result<Channel, NetFault> {
    Channel::new(Link::Sim(link), Seal::Open, cancel, HANDSHAKE_MAX)
}

fn begin(way: Direction, sources: usize) -> Begin {
    Begin { sources: vec![Vec::new().into(); sources], ..Begin::new(way) }
}

fn started(receives: Option<bool>) -> Message {
    Message::Begun {
        receives,
        reads_on: Some(true),
        sends_ahead: Some(true),
        host: None,
        datagrams: None,
        places: None,
        has_links: None,
        holds_events: None,
    }
}

/// The control connection of the side that is read.
fn goes_on(control: &mut Control, is_over: &mut bool) -> bool {
    let mut said = None;
    let mut hear = |message| match message {
        Message::Begin(_) => {
            said = Some(started(None));
            Follows::Go
        }
        Message::Report(_) => Follows::Agree,
        _ => Follows::Go,
    };
    let stepped = control.step(Duration::ZERO, &mut hear, &mut || None, &mut || Some(SenderStats::default()));
    let told = said.map_or(Ok(()), |message| control.say(message));
    *is_over = told.is_err() || !matches!(stepped, Ok(Stepped::On | Stepped::Waits));
    matches!(stepped, Ok(Stepped::On))
}

/// What was asked over a connection is answered, as far as it has come. False if nothing was.
fn gives(connection: &mut Option<ServedConnection<'static>>) -> bool {
    let mut went = false;
    while connection.as_mut().is_some_and(|served| served.wait(Duration::ZERO)) {
        went = true;
        while let Some(served) = connection {
            match served.step() {
                Stepped::On => {}
                Stepped::Waits => break,
                Stepped::Over => drop(connection.take().and_then(ServedConnection::result)),
            }
        }
    }
    went
}

/// What happens at the host that is read, when so many one-way trips have passed.
fn happens(stage: &TwoHosts, trips: u32, act: impl FnOnce() + 'static) {
    happens_after(stage, trips * DELAY, act);
}

/// The same after so much time.
fn happens_after(stage: &TwoHosts, time: Duration, act: impl FnOnce() + 'static) {
    let (clock, mut act) = (stage.clock.clone(), Some(act));
    let due_ns = clock.now_ns() + time.as_nanos() as u64;
    go_on_meanwhile(move || {
        let due = if clock.now_ns() >= due_ns { act.take() } else { None };
        due.map(|act| act()).is_some()
    });
}

fn noise(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// A file whose blocks are there before its bytes. ext4 finds those of others when it writes them back, and a look then
/// may tell too few: the file is taken for one with holes, and requested to learn where they are.
fn write_source(path: &Path, content: &[u8]) {
    let mut file = fs::File::create(path).expect("room");
    // Where the file system cannot, bytes alone are written.
    let _ = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, content.len() as u64);
    file.write_all(content).expect("room");
}

fn make_tree(root: &Path, files: usize) {
    for folder in ["", "empty", "sub", "sub/deeper"] {
        fs::create_dir(root.join(folder)).expect("room");
    }
    for (name, bytes) in [("zero", 0), ("sub/c", 5000), ("sub/deeper/d", 300_001), ("large", 3_000_003)] {
        write_source(&root.join(name), &noise(bytes));
    }
    for number in 0..files {
        write_source(&root.join(format!("sub/file-{number}")), &noise(number * 13));
    }
    std::os::unix::fs::symlink("sub/c", root.join("link")).expect("room");
    fs::hard_link(root.join("zero"), root.join("sub/zero again")).expect("one file system");
}

fn same(one: &Path, other: &Path, row: &str) {
    let differ = Mutex::new(Vec::new());
    // Without a ring: when the kernel has taken one down it wakes this thread, and a folder that is listed just then is
    // listed in two parts.
    let options = Options::default().with(|it| it.tuning.engine = EngineChoice::Inline);
    let compared = HostJob::compare(Place::Path(one.into()), Place::Path(other.into())).options(options);
    let report = compared.run_reported(&|event| {
        if let Event::Problem(problem) = event {
            differ.lock().expect("no panic").push(problem.to_string());
        }
    });
    assert_eq!(report.exit_status, 0, "{row}: {differ:?}");
}

/// Names in the target that only a copy under way has.
fn leftovers(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".pump-")).collect()
}

#[test]
fn a_tree_arrives_whole_whoever_called() {
    let stage = TwoHosts::new();
    make_tree(&stage.path("from"), 100);
    for (way, target) in [(Direction::Pull, "pulled"), (Direction::Push, "pushed")] {
        let SessionOutcome { report, said, lost, given, .. } =
            stage.copy(way, ("from", target), stage.options());
        assert_eq!((report.exit_status, lost, &said[..]), (0, None, &[][..]), "{way:?}");
        same(&stage.path("from"), &stage.path(target), target);
        assert!(given.is_some(), "{way:?}: it was agreed");
        assert_eq!(report.sockets.map(|asked| asked.got).as_deref(), Some("sim"), "{way:?}");
    }
}

/// Wherever the net is cut, what stands under a name is whole, and the same command completes it.
#[test]
fn a_cut_anywhere_loses_nothing() {
    let stage = TwoHosts::new();
    make_tree(&stage.path("from"), 30);
    let sent = |before| stage.net.sent_bytes() - before;
    let whole = stage.copy(Direction::Pull, ("from", "whole"), stage.options());
    assert_eq!(whole.report.exit_status, 0);
    let bytes = sent(0);
    for (round, cut) in (0..bytes).step_by(bytes as usize / 61).enumerate() {
        let way = if round % 2 == 0 { Direction::Pull } else { Direction::Push };
        let (target, row) = (format!("cut-{round}"), format!("{way:?} cut after {cut} bytes of {bytes}"));
        stage.net.cut_after(cut);
        let outcome = stage.copy(way, ("from", &target), stage.options());
        assert!(outcome.lost.is_some(), "{row}: {:?}", outcome.said);
        stage.net.mend();
        let again = stage.copy(way, ("from", &target), stage.options());
        assert_eq!((again.report.exit_status, &again.said[..]), (0, &[][..]), "{row}");
        same(&stage.path("from"), &stage.path(&target), &row);
        assert_eq!(leftovers(&stage.path(&target)), [""; 0], "{row}");
        fs::remove_dir_all(stage.path(&target)).expect("it is there");
    }
}

/// What the path costs: to begin, for what a walk meets, to look at a file again, to agree; then for each window.
#[test]
fn round_trips_are_counted() {
    let mut stage = TwoHosts::new();
    write_source(&stage.path("small"), &noise(8000));
    write_source(&stage.path("large"), &noise(64 << 20));
    for (tree, depth) in [("many", 0), ("deep", 30)] {
        let leaf = (0..depth).fold(stage.path(tree), |above, level| above.join(level.to_string()));
        fs::create_dir_all(&leaf).expect("room");
        for number in 0..500 {
            write_source(&leaf.join(number.to_string()), &noise(800));
        }
    }
    fs::create_dir(stage.path("holed")).expect("room");
    write_source(&stage.path("holed/whole"), &noise(800));
    write_source(&stage.path("holed/end"), &noise(800));
    let file = fs::File::options().write(true).open(stage.path("holed/end")).expect("it was made");
    file.set_len(1 << 18).expect("a hole");
    for (reads_ahead, source, expected) in [
        (false, "small", [1, 3]),
        (false, "large", [1, 3]),
        (false, "many", [4, 3]),
        (true, "small", [1, 0]),
        (true, "large", [1, 1]),
        (true, "many", [1, 0]),
        (true, "deep", [1, 0]),
        // It is opened to learn where its holes are, and looked at behind its block.
        (true, "holed", [1, 2]),
    ] {
        stage.reads_ahead = reads_ahead;
        for way in [Direction::Pull, Direction::Push] {
            let target = format!("{source} {way:?} {reads_ahead}");
            let outcome = stage.copy(way, (source, &target), stage.options());
            assert_eq!((outcome.report.exit_status, outcome.lost), (0, None), "{target}");
            same(&stage.path(source), &stage.path(&target), &target);
            let RoundTrips { listing, data, .. } = outcome.report.round_trips.expect("there are two hosts");
            assert_eq!([listing, data], expected, "{target}");
            // As simulated time has it: one more to begin and one to end.
            assert_eq!(outcome.round_trips, 2 + listing + data, "{target}");
        }
    }
}

/// Names alone come where files may stay; what is new is requested, with others under way.
#[test]
fn an_update_with_nothing_to_do_costs_its_names() {
    let stage = TwoHosts::new();
    make_tree(&stage.path("from"), 300);
    let options = stage.options().with(|it| it.comparison.update = Update::Differs);
    for way in [Direction::Pull, Direction::Push] {
        let target = format!("to {way:?}");
        let first = stage.copy(way, ("from", &target), options.clone());
        assert_eq!((first.report.exit_status, first.report.files > 300), (0, true), "{way:?}");
        let again = stage.copy(way, ("from", &target), options.clone());
        let report = &again.report;
        let moved = (report.exit_status, report.bytes_moved, report.bytes_dropped);
        assert_eq!((moved, again.round_trips), ((0, 0, 0), 3), "{way:?}");
        fs::write(stage.path(&target).join("sub/c"), "other").expect("room");
        let third = stage.copy(way, ("from", &target), options.clone());
        assert_eq!((third.report.exit_status, third.report.files, third.round_trips), (0, 1, 4), "{way:?}");
        same(&stage.path("from"), &stage.path(&target), &target);
    }
}

/// An excluded name is dropped, or not even sent: nobody waits for it, and its folder is given back.
#[test]
fn what_nobody_wants_is_dropped_and_counted() {
    let stage = TwoHosts::new();
    make_tree(&stage.path("from"), 300);
    for (pattern, dropped) in [("/sub/", false), ("file-*", true)] {
        let selection = vec![Selection::Exclude(pattern.into())];
        let options = stage.options().with(|it| it.selection.rules = selection);
        for way in [Direction::Pull, Direction::Push] {
            let row = format!("{pattern} {way:?}").replace('/', "_");
            let outcome = stage.copy(way, ("from", &row), options.clone());
            assert_eq!((outcome.report.exit_status, &outcome.said[..]), (0, &[][..]), "{row}");
            assert!(stage.path(&row).join("large").exists() && !stage.path(&row).join("sub/file-9").exists());
            assert!(
                !dropped || outcome.report.bytes_dropped > 0,
                "{row}: {:?}",
                outcome.report.bytes_dropped
            );
        }
    }
}
