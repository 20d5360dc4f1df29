//! Plays a hostile peer with a ticket: it gets refusals, and never more than its session.
//!
//! Must not know: how honest peers are served; other tests hold that.

mod kept_links;

use crate::problem::Operation;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use datapump_core::wire::attributes::{Entry, WireMeta};
use datapump_core::wire::bounds::{ErrorNumber, FileSize};
use datapump_core::wire::frame::FrameKind;
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest};
use datapump_core::wire::session::{Begin, Direction, Message, Session};
use datapump_core::wire::{decode, encode};
use datapump_engine::Socket;
use datapump_transport::{
    CancelToken, Channel, Dialer, NetFault, Outgoing, Route, Seal, SocketOptions, Welcome, random,
};

use crate::net::folder::convert::to_wire;
use crate::net::server::Server;
use crate::net::server::control::{Control, message_boxes};
use crate::net::server::serve_options::ServeOptions;
use crate::place::Place;
use crate::setup::budget::Budget;
use crate::setup::platform::Platform;
use datapump_files::disk::Disk;

const WAIT_MAX: Duration = Duration::from_secs(20);
/// Callers that keep others out if they can; both ends of each are open files of this process.
const CROWD: usize = 150;
/// A source for which the session of a test server panics.
pub(super) const PANICS: &str = "/panic of a test";

/// A server, and a caller that speaks for itself.
struct HostileStage {
    home: tempfile::TempDir,
    dialer: Dialer,
    stop: Arc<AtomicBool>,
    server: Option<std::thread::JoinHandle<()>>,
}

impl HostileStage {
    fn new() -> HostileStage {
        let home = tempfile::tempdir().expect("room");
        std::fs::create_dir(home.path().join("served")).expect("room");
        std::fs::write(home.path().join("served/file"), vec![7; 100_000]).expect("room");
        let stop = Arc::new(AtomicBool::new(false));
        let place = Place::Path(home.path().join("served"));
        let server = Server::bind(ServeOptions::for_place(place), Arc::clone(&stop)).expect("a port is free");
        let dialer = Dialer {
            route: Route::Called(server.address().to_string()),
            ticket: Some(server.ticket().clone()),
            cancel: CancelToken::default(),
            sockets: SocketOptions::default(),
            patience: WAIT_MAX,
        };
        let server = Some(std::thread::spawn(move || server.run()));
        HostileStage { home, dialer, stop, server }
    }

    /// Begins a session. Gives its control connection and number.
    fn begin(&self, way: Direction, source: &str, target: &str) -> (Channel, [u8; 16]) {
        self.begin_with(way, source, target, |begin| begin)
    }

    fn begin_with(
        &self,
        way: Direction,
        source: &str,
        target: &str,
        wishes: impl FnOnce(Begin) -> Begin,
    ) -> (Channel, [u8; 16]) {
        let (mut control, welcome) = welcomed(&self.dialer).expect("the ticket is good");
        let begin = Begin {
            sources: vec![source.as_bytes().to_vec().into()],
            target: target.as_bytes().to_vec().into(),
            ..Begin::new(way)
        };
        control.send_message(&encode(&Message::Begin(wishes(begin))), 0).expect("sent");
        let (answer, _) = control.message_within(WAIT_MAX).expect("an answer");
        let Ok(Message::Begun { receives, .. }) = decode(&answer) else { panic!("{answer:?}") };
        assert_eq!(
            receives,
            (way == Direction::Push).then(|| self.home.path().join("served").join(target).is_dir())
        );
        (control, welcome.session)
    }

    fn join(&self, purpose: Purpose, session: [u8; 16]) -> Channel {
        self.dialer.join(purpose, session).expect("it was agreed")
    }

    /// The end of a session: what was reported, if anything.
    fn end(control: &mut Channel) -> Option<String> {
        loop {
            let (body, _) = control.message_within(WAIT_MAX).ok()?;
            match decode(&body) {
                Ok(Message::Report(report)) => return Some(report),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    /// The server serves others as before.
    fn serves_on(&self) {
        let (_control, session) = self.begin(Direction::Pull, "file", "");
        let mut names = self.join(Purpose::Names, session);
        assert!(matches!(ask(&mut names, &PeerRequest::Look(0)), Answer::Meta { .. }));
    }
}

/// A control connection that was let in.
fn welcomed(dialer: &Dialer) -> Result<(Channel, Welcome), NetFault> {
    let (mut control, _) = dialer.control(random(), &|| ())?;
    control.flush()?;
    control.within(dialer.patience, Channel::receive_reply)?;
    let welcome = Welcome::from_reply(control.take_reply())?;
    Ok((control, welcome))
}

impl Drop for HostileStage {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.server.take().map(std::thread::JoinHandle::join);
    }
}

fn ask(channel: &mut Channel, ask: &PeerRequest) -> Answer {
    channel.send_message(&encode(ask), 1).expect("sent");
    let (body, _) = channel.message_within(WAIT_MAX).expect("an answer");
    decode(&body).expect("an answer")
}

#[test]
fn strange_requests_for_blocks_are_refused_one_by_one() {
    let stage = HostileStage::new();
    let (_control, session) = stage.begin(Direction::Pull, "file", "");
    let mut blocks = stage.join(Purpose::Blocks, session);
    assert!(matches!(ask(&mut blocks, &PeerRequest::OpenPlace { file: 1, place: 0 }), Answer::File { .. }));
    for (file, at, len) in [
        (1, 1, 1024),
        (1, 0, 0),
        (1, 0, u32::MAX),
        (2, 0, 10),
        (1, FileSize::MAX.0 - 1023, 1024),
        (1, 1 << 40, 1024),
    ] {
        let answer = ask(&mut blocks, &PeerRequest::Read { file, at: FileSize(at), len, sum: None });
        assert!(matches!(answer, Answer::Fault(_)), "{file} {at} {len}: {answer:?}");
    }
    let fetch =
        PeerRequest::Fetch { above: 9, name: b"../file".to_vec().into(), len: 10, sum: None, len_max: None };
    assert!(matches!(ask(&mut blocks, &fetch), Answer::Fault(_)));
    // It is still a good connection.
    blocks
        .send_message(&encode(&PeerRequest::Read { file: 1, at: FileSize(1024), len: 10, sum: None }), 2)
        .expect("sent");
    let head = blocks.receive_head().expect("a block");
    assert_eq!((head.kind, head.len), (FrameKind::Block, 10));
    stage.serves_on();
}

/// A request for many blocks is one for a few thousand at most; each that is not there is told for itself.
#[test]
fn blocks_that_are_requested_together_are_counted() {
    let stage = HostileStage::new();
    let (_control, session) = stage.begin(Direction::Pull, "file", "");
    let mut blocks = stage.join(Purpose::Blocks, session);
    assert!(matches!(ask(&mut blocks, &PeerRequest::OpenPlace { file: 1, place: 0 }), Answer::File { .. }));
    let read_on = |file, len, block_len| PeerRequest::ReadOn {
        file,
        at: FileSize(0),
        len: FileSize(len),
        block_len,
        sum: None,
    };
    blocks.send_message(&encode(&read_on(1, 3 << 40, 1 << 30)), 7).expect("sent");
    for number in 7..7 + 3072 {
        let (body, answered) = blocks.message_within(WAIT_MAX).expect("an answer");
        assert_eq!((answered, matches!(decode(&body), Ok(Answer::Fault(_)))), (number, true));
    }
    for (len, block_len) in [(0, 1024), (1024, 0), (FileSize::MAX.0, u32::MAX), (4097, 1)] {
        let (_control, session) = stage.begin(Direction::Pull, "file", "");
        let mut blocks = stage.join(Purpose::Blocks, session);
        blocks.send_message(&encode(&read_on(1, len, block_len)), 1).expect("sent");
        assert!(blocks.message_within(WAIT_MAX).is_err(), "{len} {block_len}");
    }
    stage.serves_on();
}

/// Pushes a folder and sends ahead what it likes: frames of messages and blocks with their numbers.
fn push_ahead(stage: &HostileStage, target: &str, says: Vec<(u64, Option<Answer>)>) -> Option<String> {
    let (mut control, session) =
        stage.begin_with(Direction::Push, "tree", target, |begin| Begin { sends_ahead: Some(true), ..begin });
    let _others = [Purpose::Names, Purpose::Blocks].map(|purpose| stage.join(purpose, session));
    let mut ahead = stage.join(Purpose::Ahead, session);
    let (body, _) = ahead.message_within(WAIT_MAX).expect("it is requested");
    assert!(matches!(decode(&body), Ok(PeerRequest::Ahead { credit: 1.., file_bytes_max: 1.., .. })));
    for (number, answer) in says {
        // It may have had enough.
        let _ = match answer {
            Some(answer) => ahead.send_message(&encode(&answer), number),
            None => ahead.put_block(&[7; 1000], &[0; 32], number).and_then(|()| ahead.flush()),
        };
    }
    HostileStage::end(&mut control)
}

#[test]
fn what_is_sent_ahead_and_was_not_announced_ends_the_session() {
    let stage = HostileStage::new();
    let folder = to_wire(&Disk::Os.metadata(stage.home.path()).expect("it is there"));
    let looked = Answer::meta(folder);
    let opened = Answer::folder(folder, Vec::new());
    let names = |size: u64, numbers: [u64; 2]| {
        let mut entries = lies(&stage, &[b"one", b"two"]);
        for (entry, number) in entries.iter_mut().zip(numbers) {
            entry.follows = Some(number);
            entry.meta.iter_mut().for_each(|meta| meta.size_bytes = FileSize(size));
        }
        Some(Answer::Names { entries, cookie: 1, more: false, owners: None })
    };
    let root = || vec![(1, Some(looked.clone())), (2, Some(opened.clone()))];
    for (what, number, answer) in [
        ("a number that nothing has", 77, Some(Answer::Done)),
        ("a block that nothing has", 77, None),
        ("names of a folder that is not open", 77, names(10, [3, 4])),
        ("a number twice", 2, names(10, [3, 3])),
        ("the number of the root", 2, names(10, [3, 1 << 63])),
        ("a file that is larger than may come", 2, names(1 << 40, [3, 4])),
    ] {
        let says = root().into_iter().chain([(number, answer), (3, None)]).collect();
        let report = push_ahead(&stage, what, says);
        let is_failure = report.as_ref().is_none_or(|report| !report.contains("\"exit_status\":0,"));
        assert!(is_failure, "{what}: {report:?}");
    }
    stage.serves_on();
}

#[test]
fn no_more_connections_join_than_were_agreed() {
    let stage = HostileStage::new();
    let (_control, session) = stage.begin(Direction::Pull, "file", "");
    let _first = stage.join(Purpose::Blocks, session);
    assert!(stage.dialer.join(Purpose::Blocks, session).is_err());
    stage.serves_on();
}

/// Names of a folder that is pushed, as an honest sender would never tell them.
fn lies(stage: &HostileStage, names: &[&[u8]]) -> Vec<Entry> {
    let meta = to_wire(&Disk::Os.metadata(&stage.home.path().join("served/file")).expect("it is there"));
    let entry = |name: &&[u8]| Entry {
        name: name.to_vec().into(),
        meta: Some(meta),
        points_to: None,
        attributes: None,
        errno: None,
        is_partial: None,
        follows: None,
        is_withheld: None,
    };
    names.iter().map(entry).collect()
}

/// Pushes a folder of such names; blocks are never sent.
fn push(stage: &HostileStage, names: &[&[u8]]) -> Option<String> {
    let (mut control, session) = stage.begin(Direction::Push, "tree", "copy");
    let mut channel = stage.join(Purpose::Names, session);
    let blocks = stage.join(Purpose::Blocks, session);
    let folder = to_wire(&Disk::Os.metadata(stage.home.path()).expect("it is there"));
    let mut entries = Some(lies(stage, names));
    while let Ok((body, number)) = channel.message_within(WAIT_MAX) {
        let answer = match decode(&body).expect("an asking") {
            PeerRequest::Look(_) => Answer::meta(folder),
            PeerRequest::Root { .. } => Answer::folder(folder, Vec::new()),
            PeerRequest::List { .. } => Answer::Names {
                entries: entries.take().unwrap_or_default(),
                cookie: 1,
                more: false,
                owners: None,
            },
            _ => break,
        };
        if channel.send_message(&encode(&answer), number).is_err() || entries.is_none() {
            break;
        }
    }
    drop((channel, blocks));
    HostileStage::end(&mut control)
}

#[test]
fn names_that_lead_out_end_the_session_and_make_nothing() {
    let stage = HostileStage::new();
    for name in [&b"../evil"[..], b"..", b".", b"", b"a/b", b"/evil", b"a\0b"] {
        let report = push(&stage, &[name]);
        let is_failure = report.is_none_or(|report| !report.contains("\"exit_status\":0,"));
        assert!(is_failure, "{name:?}");
        for made in ["evil", "served/evil", "served/copy/a"] {
            assert!(!stage.home.path().join(made).exists(), "{name:?} made {made}");
        }
    }
    assert!(!Path::new("/evil").exists());
    stage.serves_on();
}

#[test]
fn a_file_that_is_told_and_never_sent_is_no_success() {
    let stage = HostileStage::new();
    for names in [&[&b"a"[..]][..], &[b"a", b"a"]] {
        let report = push(&stage, names);
        assert!(report.is_none_or(|report| !report.contains("\"exit_status\":0,")), "{names:?}");
        assert!(!stage.home.path().join("served/copy/a").exists());
    }
    stage.serves_on();
}

/// A session begun again after a loss takes what the first was told: the folder that it made receives nothing.
#[test]
fn whether_a_folder_receives_is_told() {
    let stage = HostileStage::new();
    drop(stage.begin(Direction::Push, "tree", "copy"));
    std::fs::create_dir(stage.home.path().join("served/copy")).expect("room");
    drop(stage.begin(Direction::Push, "tree", "copy"));
}

/// A number that no system says was a panic, and that the end of every session.
#[test]
fn a_number_that_no_system_says_ends_one_session_and_no_other() {
    let stage = HostileStage::new();
    let (_other, other_session) = stage.begin(Direction::Pull, "file", "");
    let mut other = stage.join(Purpose::Names, other_session);
    let folder = to_wire(&Disk::Os.metadata(stage.home.path()).expect("it is there"));
    let fault = |number| {
        let errno = Some(ErrorNumber(number));
        Answer::Fault(Fault { operation: Operation::Open.words().into(), errno, words: None, class: None })
    };
    let sized = |bytes| Answer::meta(WireMeta { size_bytes: FileSize(bytes), ..folder });
    for lie in [fault(0), fault(-1), fault(5000), sized(1 << 63), sized(u64::MAX)] {
        let (mut control, session) = stage.begin(Direction::Push, "tree", "copy");
        let mut names = stage.join(Purpose::Names, session);
        let (_, number) = names.message_within(WAIT_MAX).expect("something is asked");
        names.send_message(&encode(&lie), number).expect("sent");
        let report = HostileStage::end(&mut control);
        assert!(report.is_none_or(|report| !report.contains("\"exit_status\":0,")), "{lie:?}");
        assert!(matches!(ask(&mut other, &PeerRequest::Look(0)), Answer::Meta { .. }), "{lie:?}");
    }
    stage.serves_on();
}

/// A mistake of this program in a session is that session's end: its place and memory are free again.
#[test]
fn a_panic_in_a_session_ends_that_session_alone() {
    let stage = HostileStage::new();
    let (_other, other_session) = stage.begin(Direction::Pull, "file", "");
    let mut other = stage.join(Purpose::Names, other_session);
    let (mut control, session) = stage.begin(Direction::Push, PANICS, "copy");
    let _names = stage.join(Purpose::Names, session);
    assert_eq!(HostileStage::end(&mut control), None);
    assert!(matches!(ask(&mut other, &PeerRequest::Look(0)), Answer::Meta { .. }));
    drop((other, _other));
    stage.serves_on();
}

/// More callers than may wait, of one address, each of whom says so much. Those that gave way are closed there.
fn crowd(stage: &HostileStage, says: &[u8]) -> Vec<TcpStream> {
    let Route::Called(address) = &stage.dialer.route else { unreachable!("it is called") };
    let call = |_| {
        let mut stream = TcpStream::connect(address).expect("it listens");
        let _ = stream.write_all(says);
        stream
    };
    (0..CROWD).map(call).collect()
}

/// What a caller says first, who needs no ticket for that.
fn hello(stage: &HostileStage) -> Vec<u8> {
    let mut seal = Seal::caller(stage.dialer.ticket.as_ref().expect("it has one")).expect("a side");
    let mut outgoing = Outgoing::default();
    for _ in 0..2 {
        let _ = seal.open(&mut [], &mut outgoing, &mut |_| {}).expect("it begins");
    }
    outgoing.bytes().to_vec()
}

/// 64 of them, a byte each, kept everybody else out.
#[test]
fn callers_that_say_nothing_or_little_keep_nobody_out() {
    let stage = HostileStage::new();
    let hello = hello(&stage);
    for says in [&b""[..], b"\x16", &hello[..hello.len() - 1], &hello] {
        let crowd = crowd(&stage, says);
        let patience = Duration::from_secs(2);
        let dialer = Dialer { patience, ..stage.dialer.clone() };
        let let_in = (0..20).filter(|_| welcomed(&dialer).is_ok()).count();
        assert_eq!((let_in, crowd.len()), (20, CROWD), "{says:?}");
    }
}

/// It greeted, says that it lives, and never what it wants: it ends with the server, and before that by itself.
#[test]
fn a_session_that_never_begins_keeps_no_place_and_no_server() {
    let mut stage = HostileStage::new();
    let (mut control, _) = welcomed(&stage.dialer).expect("the ticket is good");
    let mut lives = || control.send_message(&encode(&Message::Alive(None)), 0);
    lives().expect("it is heard");
    stage.stop.store(true, Ordering::Relaxed);
    let is_cut = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        lives().is_err()
    });
    assert!(is_cut, "the server waits for it");
    stage.server.take().map(std::thread::JoinHandle::join).expect("it runs").expect("no panic");
}

#[test]
fn signs_of_life_are_no_beginning() {
    let (here, there) = UnixStream::pair().expect("two sockets");
    let channel = |socket| {
        Channel::new(Socket::Unix(socket), Seal::Open, CancelToken::default(), WAIT_MAX).expect("open")
    };
    let (_outbox, inbox) = message_boxes().expect("room");
    let budget = Budget::new(1 << 20);
    let mut control = Control::new(channel(here), Session::called(), inbox, WAIT_MAX, Platform::real().clock);
    let mut other = channel(there);
    let speaker = std::thread::spawn(move || {
        // Until nobody listens any more.
        while other.send_message(&encode(&Message::Alive(None)), 0).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let heard = control.receive_first(Duration::from_millis(100), &budget);
    let heard = heard.map(|(message, _)| message);
    drop(control);
    assert!(matches!(heard, Err(NetFault::Lost(_))), "{heard:?}");
    speaker.join().expect("no panic");
}
