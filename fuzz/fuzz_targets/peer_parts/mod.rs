//! What a peer says of its own accord: honest answers, and what is told to say instead.

mod words;

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, atomic::AtomicBool, atomic::Ordering};
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use datapump_core::FileKind;
use datapump_core::wire::attributes::{Entry, TimeNs, WireMeta};
use datapump_core::wire::bounds::{ErrorNumber, FileSize, OwnerId};
use datapump_core::wire::frame::{Head, Messages, framed};
use datapump_core::wire::hello::{Greeting, Purpose, Reply, greet};
use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest, Range};
use datapump_core::wire::session::{Begin, Direction, Message, Progress, SenderStats, TcpStats};
use datapump_core::wire::{VERSION, decode, encode};

/// So long a connection of the peer lives, however little is said on it.
const LIVES: Duration = Duration::from_millis(600);
const LOOKS_UP: Duration = Duration::from_millis(10);
/// Honest answers of a connection.
const ANSWERS_MAX: u32 = 200;

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
pub enum Role {
    Caller,
    Called,
}

/// A number, mostly one at the end of a range.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Number {
    Small(u8),
    MinusOne,
    Most31,
    Over31,
    Most63,
    Over63,
    Most,
    Any(u64),
}

impl Number {
    pub fn value(self) -> u64 {
        match self {
            Number::Small(number) => number.into(),
            Number::MinusOne | Number::Most => u64::MAX,
            Number::Most31 => i32::MAX as u64,
            Number::Over31 => 1 << 31,
            Number::Most63 => i64::MAX as u64,
            Number::Over63 => 1 << 63,
            Number::Any(number) => number,
        }
    }
}

/// A message in the place of the honest one.
#[derive(Arbitrary, Clone, Debug)]
pub enum Say {
    Honest,
    Fault(Number),
    /// One of the numbers of what is told of a file.
    Meta(u8, Number, u8),
    Ranges(Vec<(Number, Number)>),
    Stream(Option<Number>),
    Names(Vec<(u8, Number)>, Number, bool),
    /// The honest answer, and what owners are called.
    Owners(Vec<(bool, Number, u8)>),
    Block(u16, Option<Number>),
    PeerRequest(u8, [Number; 3]),
    SenderStats(Number),
    Progress(Number),
    Report(u8, Number),
    Alive,
    Stop,
    Message(Vec<u8>),
    Bytes(Vec<u8>),
    /// If it is the first: the settings of the host that is called.
    Host(Number, Vec<u8>),
    Gone,
}

type Says = Mutex<VecDeque<Say>>;

fn next(says: &Says) -> Option<Say> {
    says.lock().expect("no panic").pop_front()
}

fn meta(kind: FileKind, which: u8, number: u64) -> WireMeta {
    let mut meta = WireMeta {
        kind,
        mode: 0o755,
        uid: OwnerId(0),
        gid: OwnerId(0),
        size_bytes: FileSize(9000),
        allocated_bytes: FileSize(12_288),
        device: 1,
        inode: 2,
        links: 1,
        atime: TimeNs(1),
        mtime: TimeNs(1),
        ctime: TimeNs(1),
        special_device: 0,
        generation: None,
        handle: None,
    };
    let time = TimeNs(i128::from(number as i64) * 1_000_000_000 + 999_999_999);
    match which % 13 {
        1 => meta.mode = number as u32,
        2 => meta.uid = OwnerId(number as u32),
        3 => meta.gid = OwnerId(number as u32),
        4 => meta.size_bytes = FileSize(number),
        5 => meta.allocated_bytes = FileSize(number),
        6 => meta.device = number,
        7 => meta.inode = number,
        8 => meta.links = number,
        9 => meta.atime = time,
        10 => meta.mtime = time,
        11 => meta.special_device = number,
        12 => meta.generation = Some(number as u32),
        _ => {}
    }
    meta
}

fn kind(which: u8) -> FileKind {
    use FileKind::{BlockDevice, CharDevice, Fifo, Folder, Regular, Socket, Symlink};
    [Regular, Folder, Symlink, Fifo, Socket, Regular, CharDevice, BlockDevice][usize::from(which % 8)]
}

fn entry(index: usize, which: u8, number: Number) -> Entry {
    let kind = kind(which);
    Entry {
        name: format!("name{index}").into_bytes().into(),
        meta: (which < 200).then(|| meta(kind, which / 8, number.value())),
        points_to: (kind == FileKind::Symlink).then(|| b"away".to_vec().into()),
        attributes: None,
        errno: (which >= 200).then(|| ErrorNumber(number.value() as i32)),
        is_partial: (which % 5 == 0).then_some(true),
        follows: (which % 7 == 0).then(|| number.value()),
        is_withheld: (which % 11 == 0).then_some(true),
    }
}

fn folder(meta: WireMeta) -> Answer {
    Answer::folder(meta, Vec::new())
}

fn file(meta: WireMeta, ranges: Option<Vec<Range>>) -> Answer {
    let block_len = (meta.size_bytes.0 % 2 == 0).then_some(meta.size_bytes.0 as u32);
    Answer::File {
        meta,
        attributes: Vec::new(),
        ranges,
        owners: None,
        follows: None,
        is_young: None,
        block_len,
    }
}

fn honest(ask: &PeerRequest, listed: &mut bool) -> Answer {
    let names = |count: usize| Answer::Names {
        entries: (0..count).map(|index| entry(index, index as u8 % 2, Number::Small(0))).collect(),
        cookie: 1,
        more: false,
        owners: None,
    };
    match ask {
        PeerRequest::Look(_) => {
            let meta = meta(FileKind::Folder, 0, 0);
            Answer::meta(meta)
        }
        PeerRequest::LookAgain(_) => {
            let regular = meta(FileKind::Regular, 0, 0);
            Answer::Meta {
                meta: regular,
                named: Some(regular),
                is_partial: None,
                owners: None,
                is_young: None,
            }
        }
        PeerRequest::Root { .. } | PeerRequest::Enter { .. } => folder(meta(FileKind::Folder, 0, 0)),
        PeerRequest::List { .. } => names(if std::mem::replace(listed, true) { 0 } else { 3 }),
        PeerRequest::LookAt { .. } => names(1),
        PeerRequest::OpenPlace { .. } | PeerRequest::Open { .. } => file(
            meta(FileKind::Regular, 0, 0),
            Some(vec![Range { start: FileSize(0), end: FileSize(9000) }]),
        ),
        PeerRequest::Fetch { .. } => file(meta(FileKind::Regular, 0, 0), None),
        PeerRequest::Leave(_)
        | PeerRequest::Close(_)
        | PeerRequest::Read { .. }
        | PeerRequest::ReadOn { .. } => Answer::Done,
        PeerRequest::Ahead { .. } | PeerRequest::Credit(_) | PeerRequest::Unwanted(_) => Answer::Done,
    }
}

/// An answer as it is told to be, with the kind of answer that was asked for.
fn told(ask: &PeerRequest, say: &Say, listed: &mut bool) -> Option<Answer> {
    let errno = |number: Number| Some(ErrorNumber(number.value() as i32));
    Some(match say {
        Say::Fault(number) => {
            Answer::Fault(Fault { operation: "open".into(), errno: errno(*number), words: None, class: None })
        }
        Say::Meta(which, number, of) => {
            let meta = meta(kind(*of), *which, number.value());
            match ask {
                PeerRequest::Root { .. } | PeerRequest::Enter { .. } => folder(meta),
                PeerRequest::OpenPlace { .. } | PeerRequest::Open { .. } => file(meta, Some(Vec::new())),
                PeerRequest::Fetch { .. } => file(meta, None),
                _ => Answer::Meta { meta, named: Some(meta), is_partial: None, owners: None, is_young: None },
            }
        }
        Say::Ranges(ranges) => {
            let range = |(start, end): &(Number, Number)| Range {
                start: FileSize(start.value()),
                end: FileSize(end.value()),
            };
            file(meta(FileKind::Regular, 4, i64::MAX as u64), Some(ranges.iter().map(range).collect()))
        }
        Say::Stream(bytes) => Answer::Stream { bytes: bytes.map(|bytes| FileSize(bytes.value())) },
        Say::Names(names, cookie, more) => Answer::Names {
            entries: names.iter().enumerate().map(|(index, (which, it))| entry(index, *which, *it)).collect(),
            cookie: cookie.value(),
            more: *more,
            owners: None,
        },
        Say::Owners(owners) => words::named(honest(ask, listed), owners),
        Say::Honest => honest(ask, listed),
        _ => return None,
    })
}

fn block(len: u16, number: u64) -> Vec<u8> {
    let bytes = vec![7; len.into()];
    let digest = [0; 32];
    [&Head::block(len.into(), number).encode()[..], &digest, &bytes].concat()
}

/// An unrequested message, or one in the place of any answer.
fn loose(say: &Say, number: u64) -> Option<Vec<u8>> {
    let message = |body: Vec<u8>| framed(&body, number).ok();
    let told = |told: Message| message(encode(&told));
    match say {
        Say::Block(len, other) => Some(block(*len, other.map_or(number, Number::value))),
        Say::PeerRequest(which, numbers) => message(encode(&asking(*which, numbers.map(Number::value)))),
        Say::SenderStats(count) => {
            let (count, path) = (count.value(), TcpStats { busy_ns: count.value(), ..TcpStats::default() });
            let given =
                SenderStats { bytes: count, hashing_ns: Some(count), path: Some(path), ..Default::default() };
            told(Message::Agreed(Box::new(given)))
        }
        Say::Progress(count) => {
            let count = count.value();
            told(Message::Progress(Progress {
                bytes: count,
                bytes_total: Some(count),
                ..Progress::default()
            }))
        }
        Say::Report(status, count) => {
            let count = count.value();
            told(Message::Report(format!(
                r#"{{"exit_status":{status},"bytes":{count},"elapsed_ns":{count},"requests":{count}}}"#
            )))
        }
        Say::Alive => told(Message::Alive(None)),
        Say::Stop => told(Message::Stop),
        Say::Message(body) => message(body.clone()),
        Say::Bytes(bytes) => Some(bytes.clone()),
        _ => None,
    }
}

fn asking(which: u8, [one, two, three]: [u64; 3]) -> PeerRequest {
    let name = || [&b"tree"[..], b"file", b"below", b".."][(three % 4) as usize].to_vec().into();
    match which % 12 {
        0 => PeerRequest::Look(one as u32),
        1 => PeerRequest::Root { folder: one, place: two as u32 },
        2 => PeerRequest::Enter { folder: one, above: two, name: name() },
        3 => PeerRequest::List { folder: one, cookie: two, with_attributes: Some(three % 2 == 0) },
        4 => PeerRequest::Leave(one),
        5 => PeerRequest::OpenPlace { file: one, place: two as u32 },
        6 => PeerRequest::Open { file: one, above: two, name: name() },
        7 => PeerRequest::LookAgain(one),
        8 => PeerRequest::Close(one),
        9 => PeerRequest::Fetch {
            above: one,
            name: name(),
            len: two as u32,
            sum: Some(three % 2 == 0),
            len_max: (three % 3 == 0).then_some(three as u32),
        },
        10 => PeerRequest::LookAt { above: one, name: name(), with_attributes: Some(two % 2 == 0) },
        _ => PeerRequest::Read { file: one, at: FileSize(two), len: three as u32, sum: Some(two % 2 == 0) },
    }
}

/// A connection of the peer.
struct End {
    stream: TcpStream,
    messages: Messages,
    ends: Instant,
}

impl End {
    fn new(stream: TcpStream) -> Option<End> {
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(LOOKS_UP)).ok()?;
        stream.set_write_timeout(Some(LOOKS_UP)).ok()?;
        Some(End { stream, messages: Messages::default(), ends: Instant::now() + LIVES })
    }

    /// The next message; an empty one where nothing came for a while.
    fn hear(&mut self) -> Option<Option<(u64, Vec<u8>)>> {
        if let Some(message) = self.messages.poll_message().ok()? {
            return Some(Some(message));
        }
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => return None,
            Ok(len) => self.messages.handle_bytes(&bytes[..len]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        (Instant::now() < self.ends).then_some(None)
    }

    fn wait(&mut self) -> Option<(u64, Vec<u8>)> {
        loop {
            if let Some(message) = self.hear()? {
                return Some(message);
            }
        }
    }

    fn say(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.write_all(bytes).ok()
    }

    /// Answers what is asked, or asks of its own accord.
    fn converse(&mut self, says: &Says) -> Option<()> {
        let mut listed = false;
        for _ in 0..ANSWERS_MAX {
            let asked = self.hear()?;
            let say = match asked {
                Some(_) => next(says).unwrap_or(Say::Honest),
                None => next(says)?,
            };
            if matches!(say, Say::Gone) {
                return None;
            }
            let number = asked.as_ref().map_or(1, |(number, _)| *number);
            let answer = asked.and_then(|(_, body)| {
                let ask = decode::<PeerRequest>(&body).ok()?;
                let answer = framed(&encode(&told(&ask, &say, &mut listed)?), number).ok()?;
                let needs_block = matches!(ask, PeerRequest::Fetch { .. } | PeerRequest::Read { .. });
                Some(if needs_block { [answer, block(9000, number)].concat() } else { answer })
            });
            if let Some(bytes) = answer.or_else(|| loose(&say, number)) {
                self.say(&bytes)?;
            }
        }
        Some(())
    }
}

fn greeted(
    address: SocketAddr,
    purpose: Purpose,
    session: Option<[u8; 16]>,
) -> Option<(End, Option<[u8; 16]>)> {
    let mut end = End::new(TcpStream::connect(address).ok()?)?;
    end.say(&framed(&greet(purpose, session, None, None, "fuzz"), 0).ok()?)?;
    let Reply::Welcome { session, .. } = decode::<Reply>(&end.wait()?.1).ok()? else { return None };
    Some((end, session))
}

/// Whether a server lets another one in.
pub fn is_welcome(address: SocketAddr) -> bool {
    greeted(address, Purpose::Control, None).is_some_and(|(_, session)| session.is_some())
}

/// The peer calls a server.
pub fn caller(
    address: SocketAddr,
    writes: bool,
    options: &[Option<Number>; 4],
    says: Vec<Say>,
) -> Option<()> {
    let says = Mutex::new(VecDeque::from(says));
    let (mut control, session) = greeted(address, Purpose::Control, None)?;
    let way = if writes { Direction::Push } else { Direction::Pull };
    let begin = Begin {
        sources: vec![b"tree".to_vec().into(), b"file".to_vec().into()],
        target: if writes { b"copied".to_vec().into() } else { Vec::new().into() },
        options: chosen(options),
        connections: options[0].map_or(1, |number| number.value() as u32),
        tells_files: Some(true),
        round_trip_ns: options[1].map(|_| 180_000_000),
        reads_on: Some(true),
        asks_host: options[2].map(|_| true),
        datagrams: options[3].map(crate::datagrams),
        ..Begin::new(way)
    };
    control.say(&framed(&encode(&Message::Begin(begin)), 0).ok()?)?;
    control.wait()?;
    std::thread::scope(|scope| {
        for purpose in [Purpose::Names, Purpose::Blocks] {
            let Some((mut end, _)) = greeted(address, purpose, session) else { continue };
            let says = &says;
            scope.spawn(move || end.converse(says));
        }
        while let Some(heard) = control.hear() {
            let is_report = heard.is_some_and(|(_, body)| matches!(decode(&body), Ok(Message::Report(_))));
            let is_done = says.lock().expect("no panic").is_empty();
            let agreed = framed(&encode(&Message::Agreed(Box::default())), 0).ok();
            let say = if is_report { agreed } else { next_loose(&says) };
            if say.is_some_and(|say| control.say(&say).is_none()) || is_report || (is_done && !writes) {
                break;
            }
        }
        drop(control);
    });
    Some(())
}

/// The next that is said unasked, if it is next.
fn next_loose(says: &Says) -> Option<Vec<u8>> {
    let mut says = says.lock().expect("no panic");
    let said = says.front().filter(|say| !matches!(say, Say::PeerRequest(..) | Say::Block(..)));
    let bytes = said.and_then(|say| loose(say, 0))?;
    says.pop_front();
    Some(bytes)
}

fn chosen(options: &[Option<Number>; 4]) -> String {
    let names = ["source_depth", "max_delete", "far_null_bytes", "bytes_per_second"];
    let told = names.iter().zip(options).filter_map(|(name, number)| {
        let number = number.as_ref()?.value();
        Some(format!(r#""{name}":{number}"#))
    });
    format!(
        r#"{{"no_reserve":true,"sync":"None"{}}}"#,
        told.map(|field| format!(",{field}")).collect::<String>()
    )
}

/// The peer is the server that `client` calls.
pub fn called(says: Vec<Say>, client: impl FnOnce(SocketAddr)) {
    let (says, over) = (Mutex::new(VecDeque::from(says)), AtomicBool::new(false));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.set_nonblocking(true).expect("it listens");
    let address = listener.local_addr().expect("it has one");
    std::thread::scope(|scope| {
        let (says, over) = (&says, &over);
        scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => drop(scope.spawn(move || serve(stream, says))),
                    Err(_) => std::thread::sleep(Duration::from_millis(1)),
                }
            }
        });
        client(address);
        over.store(true, Ordering::Relaxed);
    });
}

fn serve(stream: TcpStream, says: &Says) -> Option<()> {
    stream.set_nonblocking(false).ok()?;
    let mut end = End::new(stream)?;
    let greeting: Greeting = decode(&end.wait()?.1).ok()?;
    let welcome = Reply::Welcome {
        version: VERSION,
        session: (greeting.purpose == Purpose::Control).then_some([1; 16]),
        connections_max: Some(1),
        program: None,
        boot: None,
    };
    end.say(&framed(&encode(&welcome), 0).ok()?)?;
    if greeting.purpose != Purpose::Control {
        return end.converse(says);
    }
    end.wait()?;
    let host = words::host(says).map(Box::new);
    let reply = Message::Begun {
        receives: None,
        reads_on: Some(true),
        sends_ahead: None,
        host,
        datagrams: None,
        places: None,
        has_links: None,
        holds_events: None,
    };
    end.say(&framed(&encode(&reply), 0).ok()?)?;
    while let Some(heard) = end.hear() {
        if heard.is_some_and(|(_, body)| matches!(decode(&body), Ok(Message::Report(_)))) {
            return end.say(&framed(&encode(&Message::Agreed(Box::default())), 0).ok()?);
        }
        if let Some(bytes) = next_loose(says) {
            end.say(&bytes)?;
        }
    }
    None
}
