//! A server takes datagrams from whom it granted them to, within a rate and a time, and answers with no more than came.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use datapump::datagrams::{
    DATAGRAM_HEAD_BYTES, DatagramClient, DatagramGrant, DatagramHead, DatagramPath, DatagramRequest,
    DatagramUse, DatagramsSent,
};
use datapump::{Class, Host, Place, ServeOptions, Server, WayIn};
use datapump_core::wire::hello::Reply;
use datapump_core::wire::session::{Begin, Direction, Message};
use datapump_core::wire::{VERSION, decode, encode};
use datapump_engine::Socket;
use datapump_transport::{CancelToken, Channel, Dialer, Route, Seal, SocketOptions, random};

const WAIT_MAX: Duration = Duration::from_secs(10);

/// Stops a server, also where a test fails.
struct Stops(Arc<AtomicBool>);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A server that allows so much; it ends when `run` has.
fn with_server(bytes_per_second: Option<u64>, run: impl FnOnce(DatagramClient)) {
    let options = ServeOptions {
        insecure: true,
        datagram_bytes_per_second: bytes_per_second,
        ..ServeOptions::for_place(Place::parse("null:".as_ref()).expect("a place"))
    };
    let stop = Arc::new(AtomicBool::new(false));
    let server = Server::bind(options, Arc::clone(&stop)).expect("a port is free");
    let client = client(server.address());
    thread::scope(|scope| {
        scope.spawn(|| server.run());
        let _stops = Stops(stop);
        run(client);
    });
}

fn client(address: SocketAddr) -> DatagramClient {
    DatagramClient { host: Host::Served(address.to_string()), way_in: WayIn::Open, stop: Arc::default() }
}

fn request(wanted: DatagramUse, bytes_per_second: u64) -> DatagramRequest {
    let lasts_ns = 10_000_000_000;
    DatagramRequest { wanted, datagrams: 1000, payload_bytes: 100, bytes_per_second, lasts_ns }
}

fn datagram(path: &DatagramPath, sequence: u64) -> Vec<u8> {
    let mut bytes = vec![7; 100];
    DatagramHead { token: path.grant.token, sequence, sent_ns: 0 }.write(&mut bytes);
    bytes
}

fn socket(to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a port is free");
    socket.connect(to).expect("loopback");
    socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a time");
    socket
}

/// What comes until nothing more does.
fn answers(socket: &UdpSocket) -> Vec<Vec<u8>> {
    let mut bytes = [0; 1 << 16];
    std::iter::from_fn(|| socket.recv(&mut bytes).ok().map(|len| bytes[..len].to_vec())).collect()
}

/// So many of what comes, however late.
fn next_answers(socket: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
    let usual = socket.read_timeout().expect("a socket");
    socket.set_read_timeout(Some(WAIT_MAX)).expect("a time");
    let mut bytes = [0; 1 << 16];
    let mut next = || socket.recv(&mut bytes).map(|len| bytes[..len].to_vec()).expect("it is answered");
    let came = (0..count).map(|_| next()).collect();
    socket.set_read_timeout(usual).expect("a time");
    came
}

#[test]
fn only_the_one_with_the_token_is_answered_and_with_what_it_sent() {
    with_server(Some(1 << 30), |client| {
        let (came, counts) = client
            .measure(request(DatagramUse::Reflect, 0), |path| {
                let (own, other) = (socket(path.address), socket(path.address));
                // Another host that has the token is not answered, although it is the first.
                let third = UdpSocket::bind(("127.0.0.2", 0)).expect("loopback has this address");
                third.set_read_timeout(Some(Duration::from_millis(300))).expect("a time");
                third.send_to(&datagram(path, 0), path.address).expect("loopback");
                assert_eq!(answers(&third), [[0_u8; 0]; 0]);
                let mut wrong = datagram(path, 0);
                wrong[3] ^= 1;
                let long = [datagram(path, 0), vec![0; 1]].concat();
                let unknown = datagram(path, 1000);
                // No token, too short for one, too long, a number that was not asked for.
                for bytes in [&wrong[..], &wrong[..DATAGRAM_HEAD_BYTES - 1], &[], &long, &unknown] {
                    own.send(bytes).expect("loopback");
                }
                let sent: Vec<Vec<u8>> = (0..5).map(|sequence| datagram(path, sequence)).collect();
                sent.iter().for_each(|bytes| assert_eq!(own.send(bytes).expect("loopback"), 100));
                let came = next_answers(&own, sent.len());
                assert_eq!((&came, answers(&own).len()), (&sent, 0));
                // Once more.
                own.send(&sent[2]).expect("loopback");
                assert_eq!(answers(&own), [[0_u8; 0]; 0]);
                // Another port with the same token.
                other.send(&datagram(path, 7)).expect("loopback");
                assert_eq!(answers(&other), [[0_u8; 0]; 0]);
                Ok(DatagramsSent { sent: 5, outcome: came.len() })
            })
            .expect("it is granted");
        assert_eq!(came, 5);
        assert_eq!((counts.received, counts.duplicates, counts.unique, counts.lost), (6, 1, 5, 0));
        assert_eq!(counts.foreign, 6);
    });
}

#[test]
fn what_comes_twice_behind_the_last_is_counted() {
    with_server(Some(1 << 30), |client| {
        let send = |path: &DatagramPath| {
            let (own, last) = (socket(path.address), datagram(path, 0));
            own.send(&last).expect("loopback");
            // Behind what tells that this was all, and often: the server listens for a tenth of a second yet.
            let again = thread::spawn(move || {
                thread::sleep(Duration::from_millis(10));
                for _ in 0..300 {
                    thread::sleep(Duration::from_millis(1));
                    let _ = own.send(&last);
                }
            });
            Ok(DatagramsSent { sent: 1, outcome: again })
        };
        let (again, counts) = client.measure(request(DatagramUse::Count, 0), send).expect("it is granted");
        again.join().expect("it sends");
        assert!(counts.duplicates > 1 && (counts.unique, counts.lost) == (1, 0), "{counts:?}");
    });
}

#[test]
fn what_comes_faster_than_granted_is_neither_counted_nor_answered() {
    // 128 bytes each: a second's worth is granted ahead.
    const ALLOWED: u64 = 100;
    with_server(Some(128 * ALLOWED), |client| {
        let (came, counts) = client
            .measure(request(DatagramUse::Reflect, 0), |path| {
                let own = socket(path.address);
                let sent: Vec<Vec<u8>> = (0..1000).map(|sequence| datagram(path, sequence)).collect();
                assert!(sent.iter().all(|bytes| own.send(bytes).is_ok()));
                Ok(DatagramsSent { sent: 1000, outcome: answers(&own).len() as u64 })
            })
            .expect("it is granted");
        assert!(counts.received >= ALLOWED && counts.above_rate > 0, "{counts:?}");
        assert!(counts.received + counts.above_rate <= 1000 && came <= counts.received, "{came} {counts:?}");
        assert_eq!(counts.unique + counts.lost, 1000);
    });
}

/// Each session would have a second's worth ahead of its own.
#[test]
fn who_begins_again_has_no_more_than_the_rate() {
    const ALLOWED: u64 = 100;
    with_server(Some(128 * ALLOWED), |client| {
        let start = Instant::now();
        let session = || {
            let send = |path: &DatagramPath| {
                let own = socket(path.address);
                assert!((0..1000).all(|sequence| own.send(&datagram(path, sequence)).is_ok()));
                Ok(DatagramsSent { sent: 1000, outcome: () })
            };
            client.measure(request(DatagramUse::Count, 0), send).expect("it is granted").1
        };
        let all = [session(), session(), session()].map(|counts| counts.received);
        let seconds = start.elapsed().as_secs_f64();
        let taken: u64 = all.iter().sum();
        assert!(
            all[0] >= ALLOWED && taken as f64 <= ALLOWED as f64 * (seconds + 1.0),
            "{all:?} in {seconds} s"
        );
    });
}

#[test]
fn who_was_told_his_counts_and_stays_holds_no_rate() {
    with_server(Some(1000), |client| {
        let Host::Served(address) = &client.host else { panic!("it is served") };
        let dialer = Dialer {
            route: Route::Called(address.clone()),
            ticket: None,
            cancel: CancelToken::default(),
            sockets: SocketOptions::default(),
            patience: WAIT_MAX,
        };
        let (mut channel, _) = dialer.control(random(), &|| ()).expect("it is there");
        channel.flush().expect("it listens");
        channel.within(WAIT_MAX, Channel::receive_reply).expect("it lets in");
        channel.take_reply();
        let begin = Begin { datagrams: Some(request(DatagramUse::Count, 0)), ..Begin::new(Direction::Pull) };
        for message in [Message::Begin(begin), Message::DatagramsSent(0)] {
            channel.send_message(&encode(&message), 0).expect("it listens");
        }
        while !matches!(heard(&mut channel), Message::DatagramsCounted(_)) {}
        let sent = |_: &DatagramPath| Ok(DatagramsSent { sent: 0, outcome: () });
        client.measure(request(DatagramUse::Count, 1000), sent).expect("all of it is free");
        drop(channel);
    });
}

fn heard(channel: &mut Channel) -> Message {
    let (body, _) = channel.message_within(WAIT_MAX).expect("an answer");
    decode(&body).expect("a message")
}

#[test]
fn what_is_not_granted_is_refused_and_nothing_is_sent() {
    let refused = |client: &DatagramClient, request: DatagramRequest, class: Class, words: &str| {
        let outcome =
            client.measure(request, |_| -> Result<DatagramsSent<()>, _> { panic!("it was granted") });
        let problem = outcome.expect_err("it is not allowed");
        assert_eq!(problem.class, class, "{problem}");
        assert!(problem.to_string().contains(words), "{problem}");
    };
    let counted = |rate: u64| request(DatagramUse::Count, rate);
    with_server(None, |client| refused(&client, counted(1), Class::Refused, "start it with --allow-udp"));
    with_server(Some(1000), |client| {
        refused(&client, counted(1001), Class::Refused, "a higher --allow-udp");
        refused(&client, DatagramRequest { datagrams: 0, ..counted(1) }, Class::Usage, "not 0");
    });
    // One that does not know datagrams begins a session and grants none.
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let client = client(listener.local_addr().expect("it is bound"));
    thread::scope(|scope| {
        scope.spawn(|| older(&listener));
        refused(&client, counted(1), Class::Refused, "too old to take datagrams");
    });
}

/// A server that grants a byte a second, says that it lives, and never what came.
fn never_counts(listener: &TcpListener, stop: &AtomicBool) {
    let grant = DatagramGrant { port: 9, token: [0; 16], bytes_per_second: 1, buffer_bytes: 0 };
    let mut channel = accepted(listener, Some(grant));
    while !stop.load(Ordering::Relaxed) && channel.send_message(&encode(&Message::Alive(None)), 0).is_ok() {
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_server_that_never_counts_is_left() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let (client, over) = (client(listener.local_addr().expect("it is bound")), AtomicBool::new(false));
    thread::scope(|scope| {
        // By a stop at once, without one after a while.
        for (stops, words) in [(true, "stopped"), (false, "did not tell within 10 s")] {
            let serving = scope.spawn(|| never_counts(&listener, &over));
            let start = Instant::now();
            let sent = |_: &DatagramPath| {
                client.stop.store(stops, Ordering::Relaxed);
                Ok(DatagramsSent { sent: 1, outcome: () })
            };
            client.stop.store(false, Ordering::Relaxed);
            let problem = client.measure(request(DatagramUse::Count, 0), sent).expect_err("no counts");
            assert!(problem.to_string().contains(words), "{problem}");
            assert!(!stops || start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
            over.store(true, Ordering::Relaxed);
            serving.join().expect("it ends");
            over.store(false, Ordering::Relaxed);
        }
    });
}

/// A server of before.
fn older(listener: &TcpListener) {
    let mut channel = accepted(listener, None);
    let _ = channel.message_within(WAIT_MAX);
}

/// A server's connection for control, behind the beginning of a session.
fn accepted(listener: &TcpListener, datagrams: Option<DatagramGrant>) -> Channel {
    let (stream, _) = listener.accept().expect("it connects");
    let cancel = CancelToken::default();
    let mut channel = Channel::new(Socket::Tcp(stream), Seal::Open, cancel, WAIT_MAX).expect("no handshake");
    channel.message_within(WAIT_MAX).expect("a greeting");
    let (session, connections_max) = (Some([1; 16]), Some(1));
    let welcome = Reply::Welcome { version: VERSION, session, connections_max, program: None, boot: None };
    channel.send_message(&encode(&welcome), 0).expect("it listens");
    channel.message_within(WAIT_MAX).expect("what is wanted");
    let answer = Message::Begun {
        receives: None,
        reads_on: None,
        sends_ahead: None,
        host: None,
        datagrams,
        places: None,
        has_links: None,
        holds_events: None,
    };
    channel.send_message(&encode(&answer), 0).expect("it listens");
    channel
}
