//! A peer that speaks for itself, over connections that are not sealed (`--insecure`): it says what an honest program
//! never would.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use datapump_core::FileKind;
use datapump_core::wire::attributes::{Attribute, Entry, TimeNs, WireMeta};
use datapump_core::wire::bounds::{ErrorNumber, FileSize, OwnerId};
use datapump_core::wire::frame::{HEAD_BYTES, Head};
use datapump_core::wire::hello::{Greeting, Purpose, Reply, greet};
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::session::{Begin, Direction, Message};
use datapump_core::wire::{VERSION, decode, encode};

/// A guard for the suite, not a measure of speed.
pub const WAIT_MAX: Duration = Duration::from_secs(60);

/// One connection.
pub struct Wire(pub TcpStream);

impl Wire {
    fn new(stream: TcpStream) -> Wire {
        stream.set_read_timeout(Some(WAIT_MAX)).expect("a socket");
        stream.set_write_timeout(Some(WAIT_MAX)).expect("a socket");
        Wire(stream)
    }

    /// Calls a server, and greets it. The session that it made, if this begins one.
    pub fn call(address: &str, purpose: Purpose, session: Option<[u8; 16]>) -> (Wire, Option<[u8; 16]>) {
        let mut wire = Wire::new(TcpStream::connect(address).expect("it listens"));
        wire.put(&greet(purpose, session, None, None, "test"), 0).expect("sent");
        let reply = decode(&wire.take().expect("a reply")).expect("a reply");
        let Reply::Welcome { session, .. } = reply else { panic!("{reply:?}") };
        (wire, session)
    }

    /// Takes a client's call, and welcomes it.
    pub fn accept(listener: &TcpListener) -> (Wire, Purpose) {
        let (stream, _) = listener.accept().expect("it calls");
        let mut wire = Wire::new(stream);
        let greeting: Greeting = decode(&wire.take().expect("a greeting")).expect("a greeting");
        let session = (greeting.purpose == Purpose::Control).then(|| greeting.early.unwrap_or([7; 16]));
        let reply = Reply::Welcome {
            version: VERSION,
            session,
            connections_max: Some(4),
            program: Some("test".into()),
            boot: None,
        };
        wire.put(&encode(&reply), 0).expect("sent");
        (wire, greeting.purpose)
    }

    pub fn put(&mut self, body: &[u8], number: u64) -> std::io::Result<()> {
        self.0.write_all(&frame(body, number))
    }

    pub fn put_answer(&mut self, answer: &Answer, number: u64) -> std::io::Result<()> {
        self.put(&encode(answer), number)
    }

    pub fn ask(&mut self, ask: &PeerRequest) -> Answer {
        self.put(&encode(ask), 1).expect("sent");
        decode(&self.take().expect("an answer")).expect("an answer")
    }

    pub fn take(&mut self) -> std::io::Result<Vec<u8>> {
        self.take_numbered().map(|(body, _)| body)
    }

    pub fn take_numbered(&mut self) -> std::io::Result<(Vec<u8>, u64)> {
        let mut head = [0; HEAD_BYTES];
        self.0.read_exact(&mut head)?;
        let head = Head::decode(&head).expect("a head");
        let mut body = vec![0; head.len as usize];
        self.0.read_exact(&mut body)?;
        Ok((body, head.number))
    }
}

/// A message as it goes over a connection.
pub fn frame(body: &[u8], number: u64) -> Vec<u8> {
    [&Head::message(body, number).expect("it is short").encode()[..], body].concat()
}

/// What begins a session that copies `tree` to `pushed`.
pub fn begin(way: Direction) -> Begin {
    Begin { sources: vec![b"tree".to_vec().into()], target: b"pushed".to_vec().into(), ..Begin::new(way) }
}

/// A session with a server that has begun, and its number; or what it said instead.
pub fn try_begin(address: &str, begin: Begin) -> Result<(Wire, [u8; 16]), Box<Message>> {
    let (mut control, session) = Wire::call(address, Purpose::Control, None);
    control.put(&encode(&Message::Begin(begin)), 0).expect("sent");
    match decode(&control.take().expect("an answer")).expect("an answer") {
        Message::Begun { .. } => Ok((control, session.expect("a control connection"))),
        answer => Err(Box::new(answer)),
    }
}

pub fn meta(kind: FileKind, inode: u64) -> WireMeta {
    WireMeta {
        kind,
        mode: 0o755,
        uid: OwnerId(0),
        gid: OwnerId(0),
        size_bytes: FileSize(0),
        allocated_bytes: FileSize(0),
        device: 1,
        inode,
        links: 1,
        atime: TimeNs(0),
        mtime: TimeNs(0),
        ctime: TimeNs(0),
        special_device: 0,
        generation: None,
        handle: None,
    }
}

pub fn looked(kind: FileKind) -> Answer {
    Answer::meta(meta(kind, 1))
}

/// A folder was opened, with so many short attributes.
pub fn folder(inode: u64, attributes: usize) -> Answer {
    let attribute = Attribute { name: b"x".to_vec().into(), value: Vec::new().into(), is_unreadable: None };
    Answer::folder(meta(FileKind::Folder, inode), vec![attribute; attributes])
}

/// A folder's name, that comes under a number.
pub fn entry(name: &str, follows: u64) -> Entry {
    Entry {
        name: name.as_bytes().to_vec().into(),
        meta: Some(meta(FileKind::Folder, follows)),
        points_to: None,
        attributes: None,
        errno: None,
        is_partial: None,
        follows: Some(follows),
        is_withheld: None,
    }
}

/// The same of a name that cannot be read: nobody takes what comes under its number.
pub fn unreadable(name: &str, follows: u64) -> Entry {
    Entry { errno: Some(ErrorNumber(13)), ..entry(name, follows) }
}

pub fn names(entries: Vec<Entry>, cookie: u64) -> Answer {
    Answer::Names { entries, cookie, more: false, owners: None }
}
