//! What a client can make a server hold: memory within its budget, open files within its limit, and others are served.
//!
//! One test alone: what a process has had at most is one number for all that runs in it.

mod net_parts;
#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "../../cli/tests/support/wire.rs"]
mod wire;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use datapump::{Options, Place, ServeOptions, WayIn};
use datapump_core::wire::attributes::{Attribute, Entry, WireMeta};
use datapump_core::wire::bounds::{ErrorNumber, FileSize};
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::session::{Begin, Direction, Message};
use datapump_core::wire::{decode, encode};
use net_parts::{Served, noise};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use wire::{WAIT_MAX, Wire};

const MIB: u64 = 1 << 20;
const MEMORY: u64 = 64 * MIB;
/// What a server takes besides its budget: the program, threads and their stacks, buffers of connections; here also
/// what the clients take, which run in the same process.
const BESIDES: u64 = 32 * MIB;

const LEVELS: u64 = 1000;
/// Listings that are answered to a server.
const LISTS_MAX: u64 = 40;
const NAME: [u8; 250] = [b'n'; 250];

/// A session that has started: its control connection, and its number. As any client it comes again while others
/// that end have the memory.
fn begin(address: &str, way: Direction, connections: u32) -> (Wire, [u8; 16]) {
    let session = (0..200).find_map(|_| {
        let session = try_begin(address, way, connections);
        if session.is_none() {
            std::thread::sleep(Duration::from_millis(50));
        }
        session
    });
    session.expect("sessions end, and their memory is given back")
}

/// Nothing where the server has not so much memory free.
fn try_begin(address: &str, way: Direction, connections: u32) -> Option<(Wire, [u8; 16])> {
    let begin = Begin { connections, tells_files: Some(true), ..wire::begin(way) };
    match wire::try_begin(address, begin) {
        Ok(session) => Some(session),
        Err(answer) if matches!(*answer, Message::Busy(_)) => None,
        Err(answer) => panic!("{answer:?}"),
    }
}

fn join(address: &str, purpose: Purpose, session: [u8; 16]) -> Wire {
    Wire::call(address, purpose, Some(session)).0
}

/// Folders nested in each other, a folder of many names, and a file.
fn make_served(served: &Path) {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY;
    std::fs::create_dir_all(served.join("tree/many")).expect("room");
    std::fs::write(served.join("tree/file"), noise(3_000_000)).expect("room");
    (0..1000).for_each(|number| {
        File::create(served.join(format!("tree/many/a-name-of-some-length-{number}"))).expect("room");
    });
    let mut folder = openat(CWD, served.join("tree"), flags, Mode::empty()).expect("it was made");
    for _ in 0..LEVELS {
        mkdirat(&folder, &NAME[..], Mode::from(0o755)).expect("room");
        folder = openat(&folder, &NAME[..], flags, Mode::empty()).expect("it was just made");
    }
}

fn is_refused(answer: &Answer) -> bool {
    match answer {
        Answer::Fault(fault) => {
            assert_eq!(fault.class.as_deref(), Some("refused"), "{fault:?}");
            true
        }
        _ => false,
    }
}

fn enter(folder: u64, above: u64, name: &[u8]) -> PeerRequest {
    PeerRequest::Enter { folder, above, name: name.to_vec().into() }
}

/// The most memory that this process has had.
fn memory_max() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("Linux tells it").count()
}

struct Attacked {
    served: Served,
    home: tempfile::TempDir,
}

impl Attacked {
    /// The budget holds, and a client that means no harm gets its file.
    fn holds(&self, row: &str) {
        let most = memory_max();
        eprintln!("{row}: {} MiB at most, the budget is {} MiB", most / MIB, MEMORY / MIB);
        assert!(most <= MEMORY + BESIDES, "{row}: {} MiB", most / MIB);
        let target = self.home.path().join("got");
        let file = self.served.place("tree/file");
        let honest = self.served.remote(vec![file], Place::Path(target.clone())).way_in(WayIn::Open);
        let options = Options::default().with(|it| it.tuning.lanes = Some(2));
        let honest = honest.options(options).connections(Some(2));
        let report = honest.run_reported(&|event| eprintln!("{row}: {event:?}"));
        assert_eq!(report.exit_status, 0, "{row}");
        assert!(std::fs::read(&target).expect("it is there") == noise(3_000_000), "{row}");
    }

    /// Opens each folder in the one before, and then the last ones again and again, giving nothing back.
    fn opens_folders(&self) {
        let (_control, session) = begin(&self.served.address, Direction::Pull, 2);
        let mut names = join(&self.served.address, Purpose::Names, session);
        assert!(matches!(names.ask(&PeerRequest::Root { folder: 0, place: 0 }), Answer::Folder { .. }));
        for level in 0..LEVELS {
            let answer = names.ask(&enter(level + 1, level, &NAME));
            assert!(matches!(answer, Answer::Folder { .. }), "an honest depth: {level}: {answer:?}");
            // It stays open for those below it.
            names.ask(&PeerRequest::Leave(level));
        }
        self.holds("nested folders");
        assert!(matches!(names.ask(&PeerRequest::Root { folder: 0, place: 0 }), Answer::Folder { .. }));
        let refused = (LEVELS + 1..200_000).find(|number| is_refused(&names.ask(&enter(*number, 0, &NAME))));
        eprintln!("folders: {refused:?} was refused");
        assert!(refused.is_some(), "folders without end");

        self.holds("folders");
        (LEVELS + 1..refused.unwrap_or(0)).for_each(|number| drop(names.ask(&PeerRequest::Leave(number))));
        assert!(matches!(names.ask(&enter(1, 0, &NAME)), Answer::Folder { .. }), "they were given back");
    }

    /// Opens roots and files, which stay open.
    fn opens_files(&self) {
        let (_control, session) = begin(&self.served.address, Direction::Pull, 2);
        let mut names = join(&self.served.address, Purpose::Names, session);
        let before = open_files();
        let root = |folder| PeerRequest::Root { folder, place: 0 };
        assert!((0..100_000).any(|number| is_refused(&names.ask(&root(number)))), "roots without end");
        (100..100_000)
            .take_while(|number| names.ask(&PeerRequest::Leave(*number)) == Answer::Done)
            .take(5000)
            .count();
        let file = |file| PeerRequest::Open { file, above: 0, name: b"file".to_vec().into() };
        assert!((0..100_000).any(|number| is_refused(&names.ask(&file(number)))), "files without end");
        eprintln!("files: {} more are open", open_files() - before);
        self.holds("files");
    }

    /// Asks for a block and, behind it, for names on and on, and reads no answer.
    fn reads_nothing(&self) {
        let (_control, session) = begin(&self.served.address, Direction::Pull, 4);
        let wires: Vec<Wire> = (0..4).map(|_| self.asks_on(session)).collect();
        self.holds("answers that nobody reads");
        drop(wires);
    }

    fn asks_on(&self, session: [u8; 16]) -> Wire {
        let mut blocks = join(&self.served.address, Purpose::Blocks, session);
        assert!(matches!(blocks.ask(&PeerRequest::Root { folder: 0, place: 0 }), Answer::Folder { .. }));
        assert!(matches!(blocks.ask(&enter(1, 0, b"many")), Answer::Folder { .. }));
        let open = PeerRequest::Open { file: 1, above: 0, name: b"file".to_vec().into() };
        assert!(matches!(blocks.ask(&open), Answer::File { .. }));
        let short = Duration::from_millis(500);
        blocks.0.set_write_timeout(Some(short)).expect("a socket");
        let asks =
            std::iter::once(PeerRequest::Read { file: 1, at: FileSize(0), len: 1 << 20, sum: None }).chain(
                std::iter::repeat_n(PeerRequest::List { folder: 1, cookie: 0, with_attributes: None }, 400),
            );
        let frame = |ask: PeerRequest| wire::frame(&encode(&ask), 1);
        // Whatever the connection takes.
        let _ = blocks.0.write_all(&asks.flat_map(frame).collect::<Vec<u8>>());
        blocks
    }

    /// Is pushed what cannot be read, and hears none of the problems that it is told.
    fn listens_to_nothing(&self) {
        let (_control, session) = begin(&self.served.address, Direction::Push, 2);
        let mut names = join(&self.served.address, Purpose::Names, session);
        let _blocks = join(&self.served.address, Purpose::Blocks, session);
        let meta = match self.look() {
            Answer::Meta { meta, .. } => meta,
            answer => panic!("{answer:?}"),
        };
        names.0.set_read_timeout(Some(Duration::from_secs(3))).expect("a socket");
        let mut answers = 0;
        while let Ok(body) = names.take()
            && answers < 20
        {
            let answer = match decode(&body).expect("an asking") {
                PeerRequest::Look(_) => Answer::meta(meta),
                PeerRequest::Root { .. } => Answer::folder(meta, Vec::new()),
                PeerRequest::List { .. } => {
                    answers += 1;
                    (0..63).for_each(|part| {
                        let more = Answer::Names {
                            entries: unreadable(part),
                            cookie: answers,
                            more: true,
                            owners: None,
                        };
                        let _ = names.put(&encode(&more), 1);
                    });
                    Answer::Names { entries: unreadable(63), cookie: answers, more: false, owners: None }
                }
                ask => panic!("{ask:?}"),
            };
            if names.put(&encode(&answer), 1).is_err() {
                break;
            }
        }
        eprintln!("problems: {answers} times {}", 64 * 1000);
        self.holds("problems that nobody hears");
    }

    /// Pushes folders in folders, each with attributes and with names that have attributes.
    fn pushes_names(&self, row: &str, folder: &[Attribute], others: &[Entry]) {
        let (mut control, session) = begin(&self.served.address, Direction::Push, 2);
        std::thread::spawn(move || while control.take().is_ok() {});
        let mut names = join(&self.served.address, Purpose::Names, session);
        let _blocks = join(&self.served.address, Purpose::Blocks, session);
        let Answer::Meta { meta, .. } = self.look() else { panic!("it is there") };
        let listing = listing(&meta, others);
        names.0.set_read_timeout(Some(Duration::from_secs(3))).expect("a socket");
        let (mut lists, mut depth) = (0, 0);
        while let Ok(body) = names.take()
            && lists < LISTS_MAX
        {
            let meta = WireMeta { inode: 1000 + depth, ..meta };
            let answer = match decode(&body).expect("a request") {
                PeerRequest::Look(_) => Answer::meta(meta),
                PeerRequest::Root { .. } => Answer::folder(meta, Vec::new()),
                PeerRequest::Enter { .. } => {
                    depth += 1;
                    Answer::folder(meta, folder.to_vec())
                }
                PeerRequest::List { .. } => {
                    lists += 1;
                    let parts = listing.iter().chain(std::iter::repeat_n(&listing[1], 4));
                    parts.for_each(|part| drop(names.put(part, 1)));
                    Answer::Names { entries: Vec::new(), cookie: lists, more: false, owners: None }
                }
                _ => Answer::Done,
            };
            if names.put(&encode(&answer), 1).is_err() {
                break;
            }
        }
        eprintln!("{row}: {lists} listings, {depth} folders");
        self.holds(row);
    }

    fn look(&self) -> Answer {
        let (_control, session) = begin(&self.served.address, Direction::Pull, 1);
        join(&self.served.address, Purpose::Names, session).ask(&PeerRequest::Look(0))
    }
}

/// A folder, and other names.
fn listing(meta: &WireMeta, others: &[Entry]) -> Vec<Vec<u8>> {
    let folder = Entry { name: b"d".to_vec().into(), meta: Some(*meta), ..unreadable(0).remove(0) };
    let folder = Entry { errno: None, ..folder };
    let first = Answer::Names { entries: vec![folder], cookie: 1, more: true, owners: None };
    let part = Answer::Names { entries: others.to_vec(), cookie: 1, more: true, owners: None };
    vec![encode(&first), encode(&part)]
}

fn attribute(name: &str, value_bytes: usize) -> Attribute {
    Attribute {
        name: name.as_bytes().to_vec().into(),
        value: vec![b'v'; value_bytes].into(),
        is_unreadable: None,
    }
}

fn unreadable(part: u32) -> Vec<Entry> {
    let entry = |number: u32| Entry {
        name: format!("{part}-{number}").into_bytes().into(),
        meta: None,
        points_to: None,
        attributes: None,
        errno: Some(ErrorNumber(13)),
        is_partial: None,
        follows: None,
        is_withheld: None,
    };
    (0..1000).map(entry).collect()
}

#[test]
fn what_a_client_makes_a_server_hold_is_bounded_by_its_budget() {
    let home = tempfile::tempdir().expect("room");
    let served = home.path().join("served");
    make_served(&served);
    let options = ServeOptions {
        memory_bytes: MEMORY,
        insecure: true,
        peer_timeout: WAIT_MAX,
        ..ServeOptions::for_place(Place::Path(served.clone()))
    };
    let attacked = Attacked { served: Served::new(options), home };
    attacked.holds("before");
    attacked.opens_folders();
    attacked.opens_files();
    attacked.reads_nothing();
    attacked.listens_to_nothing();
    let full = Entry { attributes: Some(vec![attribute("user.x", 15_000)]), ..unreadable(1).remove(0) };
    attacked.pushes_names("names with attributes", &[], &vec![full; 64]);
    attacked.pushes_names("folders with attributes", &vec![attribute("x", 0); 16_000], &[]);
    drop(attacked.served);
    // Its removal would take an open file for each level.
    let removed = std::process::Command::new("rm").arg("-rf").arg(served).status();
    assert!(removed.expect("rm is installed").success());
}
