//! What a peer gets that holds a ticket and means harm: refusals, and never more than its session.
//!
//! Must not know: how honest peers are served; other tests hold that.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use datapump_core::wire::ask::{Answer, Ask};
use datapump_core::wire::attributes::Entry;
use datapump_core::wire::bounds::FileSize;
use datapump_core::wire::frame::Kind;
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::session::{Begin, Message, Way};
use datapump_core::wire::{decode, encode};

use super::channel::{Channel, Line};
use super::convert::told;
use super::dial::{Dialer, Route};
use super::server::{ServeOptions, Server};
use super::sockets::SocketOptions;
use crate::disk::Disk;
use crate::place::Place;

const PATIENCE: Duration = Duration::from_secs(20);

/// A server, and a caller that speaks for itself.
struct Stage {
    home: tempfile::TempDir,
    dialer: Dialer,
    stop: Arc<AtomicBool>,
    server: Option<std::thread::JoinHandle<()>>,
}

impl Stage {
    fn new() -> Stage {
        let home = tempfile::tempdir().expect("room");
        std::fs::create_dir(home.path().join("served")).expect("room");
        std::fs::write(home.path().join("served/file"), vec![7; 100_000]).expect("room");
        let stop = Arc::new(AtomicBool::new(false));
        let place = Place::Path(home.path().join("served"));
        let server = Server::bind(ServeOptions::of(place), Arc::clone(&stop)).expect("a port is free");
        let dialer = Dialer {
            route: Route::Called(server.address().to_string()),
            ticket: Some(server.ticket().clone()),
            line: Line::default(),
            sockets: SocketOptions::default(),
            patience: PATIENCE,
        };
        let server = Some(std::thread::spawn(move || server.run()));
        Stage { home, dialer, stop, server }
    }

    /// Begins a session. Gives its control connection and number.
    fn begin(&self, way: Way, source: &str, target: &str) -> (Channel, [u8; 16]) {
        let (mut control, welcome) = self.dialer.control().expect("the ticket is good");
        let begin = Begin {
            way,
            sources: vec![source.as_bytes().to_vec().into()],
            target: target.as_bytes().to_vec().into(),
            options: "{}".into(),
            connections: 1,
            tells_files: None,
            boot: None,
            instead_of: None,
        };
        control.send_message(&encode(&Message::Begin(begin)), 0).expect("sent");
        let (answer, _) = control.message_within(PATIENCE).expect("an answer");
        let Ok(Message::Begun { receives }) = decode(&answer) else { panic!("{answer:?}") };
        assert_eq!(
            receives,
            (way == Way::Push).then(|| self.home.path().join("served").join(target).is_dir())
        );
        (control, welcome.session)
    }

    fn join(&self, purpose: Purpose, session: [u8; 16]) -> Channel {
        self.dialer.join(purpose, session).expect("it was agreed")
    }

    /// The end of a session: what was reported, if anything.
    fn end(control: &mut Channel) -> Option<String> {
        loop {
            let (body, _) = control.message_within(PATIENCE).ok()?;
            match decode(&body) {
                Ok(Message::Report(report)) => return Some(report),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    /// The server serves others as before.
    fn serves_on(&self) {
        let (_control, session) = self.begin(Way::Pull, "file", "");
        let mut names = self.join(Purpose::Names, session);
        assert!(matches!(ask(&mut names, &Ask::Look(0)), Answer::Meta { .. }));
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.server.take().map(std::thread::JoinHandle::join);
    }
}

fn ask(channel: &mut Channel, ask: &Ask) -> Answer {
    channel.send_message(&encode(ask), 1).expect("sent");
    let (body, _) = channel.message_within(PATIENCE).expect("an answer");
    decode(&body).expect("an answer")
}

#[test]
fn strange_requests_for_blocks_are_refused_one_by_one() {
    let stage = Stage::new();
    let (_control, session) = stage.begin(Way::Pull, "file", "");
    let mut blocks = stage.join(Purpose::Blocks, session);
    assert!(matches!(ask(&mut blocks, &Ask::OpenPlace { file: 1, place: 0 }), Answer::File { .. }));
    for (file, at, len) in [
        (1, 1, 1024),
        (1, 0, 0),
        (1, 0, u32::MAX),
        (2, 0, 10),
        (1, FileSize::MAX.0 - 1023, 1024),
        (1, 1 << 40, 1024),
    ] {
        let answer = ask(&mut blocks, &Ask::Read { file, at: FileSize(at), len });
        assert!(matches!(answer, Answer::Fault(_)), "{file} {at} {len}: {answer:?}");
    }
    let fetch = Ask::Fetch { above: 9, name: b"../file".to_vec().into(), len: 10 };
    assert!(matches!(ask(&mut blocks, &fetch), Answer::Fault(_)));
    // It is still a good connection.
    blocks.send_message(&encode(&Ask::Read { file: 1, at: FileSize(1024), len: 10 }), 2).expect("sent");
    let head = blocks.receive_head().expect("a block");
    assert_eq!((head.kind, head.len), (Kind::Block, 10));
    stage.serves_on();
}

#[test]
fn no_more_connections_join_than_were_agreed() {
    let stage = Stage::new();
    let (_control, session) = stage.begin(Way::Pull, "file", "");
    let _first = stage.join(Purpose::Blocks, session);
    assert!(stage.dialer.join(Purpose::Blocks, session).is_err());
    stage.serves_on();
}

/// Names of a folder that is pushed, as an honest sender would never tell them.
fn lies(stage: &Stage, names: &[&[u8]]) -> Vec<Entry> {
    let meta = told(&Disk::Os.metadata(&stage.home.path().join("served/file")).expect("it is there"));
    let entry = |name: &&[u8]| Entry {
        name: name.to_vec().into(),
        meta: Some(meta),
        points_to: None,
        attributes: None,
        errno: None,
    };
    names.iter().map(entry).collect()
}

/// Pushes a folder of such names; blocks are never sent.
fn push(stage: &Stage, names: &[&[u8]]) -> Option<String> {
    let (mut control, session) = stage.begin(Way::Push, "tree", "copy");
    let mut channel = stage.join(Purpose::Names, session);
    let blocks = stage.join(Purpose::Blocks, session);
    let folder = told(&Disk::Os.metadata(stage.home.path()).expect("it is there"));
    let mut entries = Some(lies(stage, names));
    while let Ok((body, number)) = channel.message_within(PATIENCE) {
        let answer = match decode(&body).expect("an asking") {
            Ask::Look(_) => Answer::Meta { meta: folder, named: None },
            Ask::Root { .. } => Answer::Folder { meta: folder, attributes: Vec::new(), made_up: false },
            Ask::List { .. } => {
                Answer::Names { entries: entries.take().unwrap_or_default(), cookie: 1, more: false }
            }
            _ => break,
        };
        if channel.send_message(&encode(&answer), number).is_err() || entries.is_none() {
            break;
        }
    }
    drop((channel, blocks));
    Stage::end(&mut control)
}

#[test]
fn names_that_lead_out_end_the_session_and_make_nothing() {
    let stage = Stage::new();
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
    let stage = Stage::new();
    for names in [&[&b"a"[..]][..], &[b"a", b"a"]] {
        let report = push(&stage, names);
        assert!(report.is_none_or(|report| !report.contains("\"exit_status\":0,")), "{names:?}");
        assert!(!stage.home.path().join("served/copy/a").exists());
    }
    stage.serves_on();
}

/// Who begins again after a loss takes what the first session was told: the folder that it made receives nothing.
#[test]
fn whether_a_folder_receives_is_told() {
    let stage = Stage::new();
    drop(stage.begin(Way::Push, "tree", "copy"));
    std::fs::create_dir(stage.home.path().join("served/copy")).expect("room");
    drop(stage.begin(Way::Push, "tree", "copy"));
}
