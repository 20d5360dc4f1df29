//! Two sides joined in memory, their bytes cut at every place; and messages of other versions.

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};
use proptest::prelude::*;

use super::attributes::{Attribute, Entry, OWNER_NAME_BYTES_MAX, OwnerName, TimeNs, WireMeta, is_plain};
use super::bounds::{COUNT_MAX, ErrorNumber, FileSize, OwnerId};
use super::datagrams::{DatagramCounts, DatagramGrant, DatagramRequest, DatagramUse};
use super::frame::{Messages, framed};
use super::hello::{Purpose, Reason, Reply, greet, read_greeting, read_reply};
use super::peer_request::{Answer, Fault, PeerRequest, Range};
use super::session::{
    Begin, Direction, HostSettings, Message, Progress, STAGES_MAX, SenderStats, Session, SessionEvent,
    ShortText, TcpStats,
};
use super::{ATTRIBUTES_MAX, NAMES_MAX, OWNERS_MAX, RANGES_MAX, VERSION, WireError, decode, encode};
use crate::FileKind;

/// A side of a session with the messages that it says in their turn.
struct Talker {
    session: Session,
    messages: Messages,
    says: Vec<Message>,
    heard: Vec<Message>,
}

impl Talker {
    fn new(session: Session, says: Vec<Message>) -> Talker {
        Talker { session, messages: Messages::default(), says, heard: Vec::new() }
    }

    /// Says whatever it may say now.
    fn bytes(&mut self) -> Vec<u8> {
        while let Some(message) = self.says.first() {
            if self.session.send(message.clone()).is_err() {
                break;
            }
            self.says.remove(0);
        }
        let bodies = std::iter::from_fn(|| self.session.poll_message());
        bodies.flat_map(|body| framed(&body, 0).expect("a short message")).collect()
    }

    fn hear(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        self.messages.handle_bytes(bytes);
        while let Some((_, body)) = self.messages.poll_message()? {
            self.heard.push(self.session.handle_message(&body)?);
        }
        Ok(())
    }
}

pub(super) fn session_answer() -> Message {
    let host = HostSettings {
        mtu_probing: Some(1),
        kernel: Some(ShortText::shortened("6.1")),
        ..HostSettings::default()
    };
    let (receives, reads_on, sends_ahead) = (Some(true), Some(true), Some(true));
    let grant = DatagramGrant { port: 4000, token: [9; 16], bytes_per_second: 7, buffer_bytes: 8 };
    let (host, datagrams) = (Some(Box::new(host)), Some(grant));
    let places = Some(vec![ByteVec::from(b"a.log".to_vec())]);
    let (has_links, holds_events) = (Some(false), Some(true));
    Message::Begun { receives, reads_on, sends_ahead, host, datagrams, places, has_links, holds_events }
}

pub(super) fn begin(way: Direction) -> Message {
    Message::Begin(Begin {
        way,
        sources: vec![ByteVec::from(b"a".to_vec())],
        target: ByteVec::from(b"b".to_vec()),
        options: "{}".into(),
        connections: 2,
        tells_files: None,
        boot: None,
        instead_of: Some([7; 16]),
        round_trip_ns: Some(180_000_000),
        sends_ahead: Some(true),
        reads_on: Some(true),
        asks_host: Some(true),
        datagrams: Some(DatagramRequest {
            wanted: DatagramUse::Reflect,
            datagrams: 7,
            payload_bytes: 1472,
            bytes_per_second: 1 << 40,
            lasts_ns: 1,
        }),
        expands: Some(true),
        counts_ahead: Some(true),
        keeps_links: Some(true),
        patience_ms: Some(30_000),
        sources_sum: Some(u64::MAX),
    })
}

/// What the two sides say, the caller first.
fn talk(way: Direction) -> (Vec<Message>, Vec<Message>) {
    let job = vec![
        Message::Event(SessionEvent::Note("x".into())),
        Message::Progress(Progress { bytes: 7, ..Progress::default() }),
        Message::Report("{}".into()),
    ];
    let spent_ns = Some([COUNT_MAX; 16]);
    let agreed =
        Message::Agreed(Box::new(SenderStats { blocks: 1, bytes: 7, spent_ns, ..SenderStats::default() }));
    match way {
        Direction::Push => (
            vec![begin(way), Message::HoldEvents(true), Message::HoldEvents(false), agreed],
            [vec![session_answer()], job].concat(),
        ),
        Direction::Pull => (
            [vec![begin(way), Message::DatagramsSent(7)], job].concat(),
            vec![
                session_answer(),
                Message::Counted { files: 7, bytes: FileSize(1 << 40), names: Some(9) },
                Message::DatagramsCounted(Box::new(DatagramCounts {
                    received: COUNT_MAX,
                    ..Default::default()
                })),
                agreed,
            ],
        ),
    }
}

fn pair(way: Direction) -> (Talker, Talker) {
    let (caller, called) = talk(way);
    (Talker::new(Session::caller(), caller), Talker::new(Session::called(), called))
}

/// Lets the two talk until nobody has anything to say; of all bytes at most `most` arrive, `piece` at a time.
fn drive(one: &mut Talker, other: &mut Talker, most: usize, piece: usize) -> usize {
    let mut arrived = 0;
    for _ in 0..100 {
        let (from_one, from_other) = (one.bytes(), other.bytes());
        if from_one.is_empty() && from_other.is_empty() {
            break;
        }
        for (bytes, to) in [(from_one, &mut *other), (from_other, &mut *one)] {
            let left = bytes.len().min(most - arrived);
            bytes[..left]
                .chunks(piece)
                .for_each(|bytes| to.hear(bytes).expect("they speak the same protocol"));
            arrived += left;
        }
    }
    arrived
}

#[test]
fn both_sides_agree_however_the_bytes_come() {
    for way in [Direction::Push, Direction::Pull] {
        for piece in [1, 3, 16, 1000] {
            let (mut caller, mut called) = pair(way);
            drive(&mut caller, &mut called, usize::MAX, piece);
            assert!(caller.session.is_over() && called.session.is_over(), "{way:?} {piece}");
            let (says, answers) = talk(way);
            assert_eq!((&caller.heard, &called.heard), (&answers, &says));
        }
    }
}

/// Wherever the connection is cut, no side takes the session for done unless the report was told and answered; and
/// the side that has to know, the caller of a push, never believes it without the report.
#[test]
fn a_cut_at_every_byte_is_never_taken_for_the_end() {
    for way in [Direction::Push, Direction::Pull] {
        let (mut caller, mut called) = pair(way);
        let whole = drive(&mut caller, &mut called, usize::MAX, 1000);
        for most in 0..whole {
            let (mut caller, mut called) = pair(way);
            drive(&mut caller, &mut called, most, 7);
            let (writer, reader) =
                if way == Direction::Push { (&called, &caller) } else { (&caller, &called) };
            let was_told = reader.heard.iter().any(|message| matches!(message, Message::Report(_)));
            assert!(!writer.session.is_over(), "{way:?} cut at {most}: the agreement did not arrive");
            assert_eq!(reader.session.is_over(), was_told, "{way:?} cut at {most}");
        }
    }
}

#[test]
fn what_is_out_of_turn_is_refused() {
    let agreed = || Message::Agreed(Box::default());
    for (says, unexpected) in [
        (vec![session_answer()], "the beginning of a session"),
        (vec![Message::Report("{}".into())], "a report"),
        (vec![agreed()], "its agreement"),
        (vec![Message::Stop], "a wish to stop"),
        (vec![begin(Direction::Push), begin(Direction::Push)], "the beginning of a session"),
        (vec![begin(Direction::Push), Message::Event(SessionEvent::Note("x".into()))], "an event"),
        (vec![begin(Direction::Pull), Message::Report("{}".into())], "a report"),
        (vec![begin(Direction::Push), agreed()], "its agreement"),
    ] {
        let mut called = Session::called();
        let handled: Result<Vec<_>, _> =
            says.iter().map(|message| called.handle_message(&encode(message))).collect();
        assert_eq!(handled, Err(WireError::Unexpected(unexpected)), "{says:?}");
    }
}

#[test]
fn greetings_of_other_versions_are_answered() {
    let greeting = greet(Purpose::Control, None, Some([7; 16]), Some(3), "pump 0.1.0");
    let read = read_greeting(&greeting).expect("a greeting").expect("our version");
    assert_eq!((read.version, read.purpose), (VERSION, Purpose::Control));
    let other = super::hello::Greeting { version: (2, 0), ..read };
    let answer = read_greeting(&encode(&other)).expect("a greeting");
    assert!(matches!(answer, Err(Reply::Refused { reason: Reason::Version, .. })), "{answer:?}");
    let welcome = Reply::Welcome {
        version: (VERSION.0 + 1, 0),
        session: None,
        connections_max: None,
        program: None,
        boot: None,
    };
    let reply = read_reply(&encode(&welcome)).expect("a reply");
    assert!(matches!(reply, Reply::Refused { reason: Reason::Version, .. }), "{reply:?}");
}

#[test]
fn a_connection_for_blocks_belongs_to_a_session() {
    for (purpose, session) in
        [(Purpose::Control, Some([1; 16])), (Purpose::Blocks, None), (Purpose::Names, None)]
    {
        let read = read_greeting(&greet(purpose, session, None, None, ""));
        assert_eq!(read, Err(WireError::Unexpected("a greeting for no session")));
    }
}

/// A message of a later version: one field more, and a list where an older one has nothing.
#[derive(Encode, Decode)]
struct LaterGiven {
    #[n(0)]
    blocks: u64,
    #[n(1)]
    bytes: u64,
    #[n(99)]
    more: Vec<String>,
}

#[test]
fn unknown_fields_are_skipped_and_missing_ones_are_nothing() {
    let later = LaterGiven { blocks: 3, bytes: 9, more: vec!["x".into(); 5] };
    let given = SenderStats { blocks: 3, bytes: 9, ..SenderStats::default() };
    assert_eq!(decode::<SenderStats>(&encode(&later)), Ok(given));
}

#[test]
fn names_that_mean_another_place_are_not_plain() {
    for name in [&b""[..], b".", b"..", b"a/b", b"/", b"a\0b", &[b'x'; 256]] {
        assert!(!is_plain(name), "{name:?}");
    }
    for name in [&b"..."[..], b"..a", b"\xff", b" ", &[b'x'; 255]] {
        assert!(is_plain(name), "{name:?}");
    }
}

fn meta() -> WireMeta {
    WireMeta {
        kind: FileKind::Regular,
        mode: 0o7644,
        uid: OwnerId(u32::MAX - 1),
        gid: OwnerId(0),
        size_bytes: FileSize::MAX,
        allocated_bytes: FileSize(0),
        device: 5,
        inode: 6,
        links: 7,
        atime: TimeNs(-1),
        mtime: TimeNs(1_700_000_000_123_456_789),
        ctime: TimeNs(i128::from(i64::MAX) * 1_000_000_000 + 999_999_999),
        special_device: 0,
        generation: Some(8),
        handle: Some(u64::MAX),
    }
}

/// An older version writes neither of these fields, and reads past them.
#[test]
fn what_older_versions_do_not_know_is_left_out() {
    let list = |with_attributes| PeerRequest::List { folder: 2, cookie: 1, with_attributes };
    let older = [0x82, 3, 0x82, 2, 1];
    assert_eq!(encode(&list(None)), older);
    assert_eq!(decode::<PeerRequest>(&older), Ok(list(None)));
    let alive = [0x82, 8, 0x80];
    assert_eq!(encode(&Message::Alive(None)), alive);
    assert_eq!(decode::<Message>(&alive), Ok(Message::Alive(None)));
}

/// A version that withholds nothing writes no such field, and reads past it: the error number is what it knows.
#[test]
fn a_name_that_is_withheld_is_one_that_an_older_version_cannot_look_at() {
    let entry = |is_withheld| Entry {
        name: ByteVec::from(b"x".to_vec()),
        meta: None,
        points_to: None,
        attributes: None,
        errno: Some(ErrorNumber(1)),
        is_partial: None,
        follows: None,
        is_withheld,
    };
    let older = [0x85, 0x41, b'x', 0xf6, 0xf6, 0xf6, 1];
    assert_eq!(encode(&entry(None)), older);
    assert_eq!(decode::<Entry>(&older), Ok(entry(None)));
    assert_eq!(decode::<Entry>(&encode(&entry(Some(true)))), Ok(entry(Some(true))));
}

#[test]
fn messages_are_read_as_they_were_written() {
    let bytes = |bytes: &[u8]| ByteVec::from(bytes.to_vec());
    let attribute = Attribute { name: bytes(b"user.x"), value: bytes(b"\0\xff"), is_unreadable: None };
    let entry = Entry {
        name: bytes(b"\xff\n"),
        meta: Some(meta()),
        points_to: Some(bytes(b"../x")),
        attributes: Some(vec![attribute.clone()]),
        errno: None,
        is_partial: Some(true),
        follows: None,
        is_withheld: Some(true),
    };
    let owners =
        |name: &[u8]| Some(vec![OwnerName { is_group: true, id: OwnerId(u32::MAX - 1), name: bytes(name) }]);
    for ask in [
        PeerRequest::Look(0),
        PeerRequest::Root { folder: 1, place: 2 },
        PeerRequest::Enter { folder: 2, above: 1, name: bytes(b"x") },
        PeerRequest::List { folder: 2, cookie: u64::MAX, with_attributes: Some(true) },
        PeerRequest::Leave(2),
        PeerRequest::OpenPlace { file: 1, place: 0 },
        PeerRequest::Open { file: 1, above: 2, name: bytes(b"x") },
        PeerRequest::LookAgain(1),
        PeerRequest::LookAt { above: 1, name: bytes(b"x"), with_attributes: None },
        PeerRequest::Close(1),
        PeerRequest::Fetch { above: 1, name: bytes(b"x"), len: 9, sum: Some(true), len_max: None },
        PeerRequest::Fetch { above: 1, name: bytes(b"x"), len: 9, sum: None, len_max: Some(1 << 20) },
        PeerRequest::Read { file: 1, at: FileSize(1 << 40), len: 9, sum: None },
        PeerRequest::ReadOn { file: 1, at: FileSize(0), len: FileSize(9), block_len: 2, sum: Some(true) },
    ] {
        assert_eq!(decode::<PeerRequest>(&encode(&ask)), Ok(ask));
    }
    for answer in [
        Answer::Done,
        Answer::Fault(Fault {
            operation: "open".into(),
            errno: Some(ErrorNumber(13)),
            words: None,
            class: None,
        }),
        Answer::meta(meta()),
        Answer::Folder {
            meta: meta(),
            attributes: vec![attribute.clone()],
            made_up: true,
            owners: None,
            is_young: None,
        },
        Answer::Names { entries: vec![entry; 3], cookie: 7, more: false, owners: owners(b"ann@a.example") },
        Answer::File {
            meta: meta(),
            attributes: vec![attribute],
            ranges: Some(vec![Range { start: FileSize(1), end: FileSize(2) }]),
            owners: None,
            follows: None,
            is_young: Some(false),
            block_len: Some(7),
        },
    ] {
        assert_eq!(decode::<Answer>(&encode(&answer)), Ok(answer));
    }
}

/// A version that knows no names of owners writes none.
#[test]
fn an_answer_without_names_of_owners_is_as_it_was() {
    let older = [0x82, 4, 0x83, 0x80, 1, 0xf4];
    let of_names = |owners| Answer::Names { entries: Vec::new(), cookie: 1, more: false, owners };
    assert_eq!(encode(&of_names(None)), older);
    assert_eq!(decode::<Answer>(&older), Ok(of_names(None)));
}

#[test]
fn names_that_no_owner_has_are_refused() {
    let answer = |name: &[u8], count| {
        let owner = OwnerName { is_group: false, id: OwnerId(5), name: ByteVec::from(name.to_vec()) };
        let owners = Some(vec![owner; count]);
        Answer::Meta { meta: meta(), named: None, is_partial: None, owners, is_young: None }
    };
    let is_read = |name: &[u8], count| decode::<Answer>(&encode(&answer(name, count))).is_ok();
    for name in [&b"ann"[..], b"EXAMPLE\\ann", "ä".as_bytes(), &[b'x'; OWNER_NAME_BYTES_MAX]] {
        assert!(is_read(name, 1), "{name:?}");
    }
    for name in [&b""[..], b"a\0b", b"a:b", b"a\nb", &[b'x'; OWNER_NAME_BYTES_MAX + 1]] {
        assert!(!is_read(name, 1), "{name:?}");
    }
    assert!(is_read(b"x", OWNERS_MAX) && !is_read(b"x", OWNERS_MAX + 1));
}

/// A thing of three bytes takes a hundred in memory.
#[test]
fn longer_lists_than_there_can_be_are_refused_before_they_are_read() {
    let attribute =
        Attribute { name: ByteVec::from(Vec::new()), value: ByteVec::from(Vec::new()), is_unreadable: None };
    let attributes = |count| vec![attribute.clone(); count];
    let folder = |count| Answer::folder(meta(), attributes(count));
    let file = |count, ranges| {
        file_of(attributes(count), vec![Range { start: FileSize(0), end: FileSize(0) }; ranges])
    };
    let names = |count, of_each| {
        let name = ByteVec::from(b"x".to_vec());
        let attributes = Some(attributes(of_each));
        let entry = Entry {
            name,
            meta: None,
            points_to: None,
            attributes,
            errno: None,
            is_partial: None,
            follows: None,
            is_withheld: None,
        };
        Answer::Names { entries: vec![entry; count], cookie: 0, more: false, owners: None }
    };
    const MOST: usize = ATTRIBUTES_MAX;
    for answer in [folder(MOST), file(MOST, RANGES_MAX), names(NAMES_MAX, 1), names(1, MOST)] {
        assert!(decode::<Answer>(&encode(&answer)) == Ok(answer));
    }
    for (row, answer) in [
        ("a folder", folder(MOST + 1)),
        ("a file", file(MOST + 1, 0)),
        ("a map", file(0, RANGES_MAX + 1)),
        ("names", names(NAMES_MAX + 1, 0)),
        ("a name", names(1, MOST + 1)),
    ] {
        let read = decode::<Answer>(&encode(&answer));
        let Err(WireError::Unreadable(why)) = read else { panic!("{row}") };
        assert!(why.contains("are taken"), "{row}: {why}");
    }
}

fn file_of(attributes: Vec<Attribute>, ranges: Vec<Range>) -> Answer {
    let (meta, ranges) = (meta(), Some(ranges));
    Answer::File { meta, attributes, ranges, owners: None, follows: None, is_young: None, block_len: None }
}

/// Each of these ended the program once, or would make a sum of it overflow.
#[test]
fn numbers_beyond_their_bounds_are_refused_where_they_are_read() {
    let fault = |errno| Fault { operation: "open".into(), errno, words: None, class: None };
    for number in [0, -1, i32::MIN, 4096, 5000, i32::MAX] {
        let answer = Answer::Fault(fault(Some(ErrorNumber(number))));
        assert!(decode::<Answer>(&encode(&answer)).is_err(), "{answer:?}");
    }
    let sized = |size_bytes| Answer::meta(WireMeta { size_bytes, ..meta() });
    let allocated = |allocated_bytes| Answer::meta(WireMeta { allocated_bytes, ..meta() });
    let owned = |uid, gid| Answer::meta(WireMeta { uid, gid, ..meta() });
    let ranged = |start, end| file_of(Vec::new(), vec![Range { start: FileSize(start), end: FileSize(end) }]);
    for answer in [
        sized(FileSize(1 << 63)),
        allocated(FileSize(u64::MAX)),
        owned(OwnerId(u32::MAX), OwnerId(0)),
        owned(OwnerId(0), OwnerId(u32::MAX)),
        ranged(2, 1),
        ranged(0, u64::MAX),
        Answer::Stream { bytes: Some(FileSize(u64::MAX)) },
    ] {
        assert!(decode::<Answer>(&encode(&answer)).is_err(), "{answer:?}");
    }
    let read = PeerRequest::Read { file: 1, at: FileSize(u64::MAX), len: 9, sum: None };
    assert!(decode::<PeerRequest>(&encode(&read)).is_err());
}

/// A session that lasts for years ends as any other. One that says more is refused.
#[test]
fn counts_are_written_within_the_bound_to_which_they_are_read() {
    const MOST: [u8; 9] = [0x1b, 4, 0, 0, 0, 0, 0, 0, 0];
    let agreed = |given| Message::Agreed(Box::new(given));
    let bytes_total = Some(u64::MAX);
    let of_path = TcpStats { busy_ns: u64::MAX, ..TcpStats::default() };
    for message in [
        agreed(SenderStats { bytes: u64::MAX, ..SenderStats::default() }),
        agreed(SenderStats { lanes_ns: Some(COUNT_MAX + 1), ..SenderStats::default() }),
        agreed(SenderStats { spent_ns: Some([u64::MAX; STAGES_MAX]), ..SenderStats::default() }),
        agreed(SenderStats { path: Some(of_path), ..SenderStats::default() }),
        Message::Progress(Progress { bytes_total, ..Progress::default() }),
        Message::DatagramsCounted(Box::new(DatagramCounts {
            jitter_ns: u64::MAX,
            ..DatagramCounts::default()
        })),
    ] {
        let mut body = encode(&message);
        let read = decode::<Message>(&body).unwrap_or_else(|error| panic!("{message:?}: {error:?}"));
        assert_eq!(encode(&read), body, "{message:?}");
        let at = body.windows(MOST.len()).position(|bytes| bytes == MOST).expect("the bound");
        body[at + MOST.len() - 1] = 1;
        assert!(decode::<Message>(&body).is_err(), "{message:?}");
    }
}

proptest! {
    /// Bytes of strangers are refused or mean something; they do not end the program.
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode::<PeerRequest>(&bytes);
        let _ = decode::<Answer>(&bytes);
        let _ = decode::<Message>(&bytes);
        let _ = read_greeting(&bytes);
        let _ = read_reply(&bytes);
        let mut messages = Messages::default();
        messages.handle_bytes(&bytes);
        while let Ok(Some(_)) = messages.poll_message() {}
    }

    /// A damaged message is refused or is another message.
    #[test]
    fn damaged_messages_are_read(at in 0usize..400, bit in 0u8..8) {
        let mut body = encode(&Answer::Names { entries: vec![Entry {
            name: ByteVec::from(b"name".to_vec()), meta: Some(meta()), points_to: None, attributes: None, errno: None,
            is_partial: None,
            follows: None,
            is_withheld: None,
        }; 2], cookie: 3, more: true, owners: None });
        let at = at % body.len();
        body[at] ^= 1 << bit;
        let _ = decode::<Answer>(&body);
    }
}
