//! Tests of the relay over real sockets: what arrives, in which order, and not before its time.

use std::io::ErrorKind;
use std::net::Shutdown;

use super::*;
use datapump_engine::sim::Random;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, listen, socket_with};

/// A test that takes longer hangs: a guard, not a measure.
const BOUND: Duration = Duration::from_secs(60);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A server, and a relay in front of it.
struct RelayedPair {
    server: TcpListener,
    relay: Relay,
}

impl RelayedPair {
    fn new(delay: Duration, jitter: Duration) -> RelayedPair {
        let server = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let options = RelayOptions { delay, jitter, bytes_per_second: None };
        let to = server.local_addr().expect("it listens");
        RelayedPair { server, relay: Relay::start(to, options, 7).expect("a relay") }
    }

    fn client(&self) -> TcpStream {
        bounded(TcpStream::connect(self.relay.address()).expect("the relay listens"))
    }

    /// Both ends of a connection.
    fn connect(&self) -> (TcpStream, TcpStream) {
        let client = self.client();
        let (server, _) = self.server.accept().expect("the relay connects");
        (client, bounded(server))
    }
}

fn bounded(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(BOUND)).expect("a time");
    stream.set_write_timeout(Some(BOUND)).expect("a time");
    stream
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    Random::new(3).fill(&mut content);
    content
}

fn read_all(mut stream: &TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("it comes whole");
    all
}

/// Sends in pieces of many sizes, then closes this direction.
fn send_all(mut stream: &TcpStream, content: &[u8]) {
    let (mut random, mut rest) = (Random::new(9), content);
    while !rest.is_empty() {
        let most = 1 << random.index(20);
        let len = 1 + random.index(rest.len().min(most));
        stream.write_all(&rest[..len]).expect("somebody reads");
        rest = &rest[len..];
    }
    stream.shutdown(Shutdown::Write).expect("it is open");
}

#[test]
fn bytes_arrive_whole_and_in_order_both_ways_under_jitter() {
    for jitter in [ms(0), ms(20)] {
        let pair = RelayedPair::new(ms(5), jitter);
        let (client, server) = pair.connect();
        let (there, back) = (noise(6_000_000), noise(2_500_001));
        thread::scope(|scope| {
            scope.spawn(|| send_all(&client, &there));
            scope.spawn(|| send_all(&server, &back));
            let received = scope.spawn(|| read_all(&server));
            assert!(read_all(&client) == back, "jitter {jitter:?}");
            assert!(received.join().expect("no panic") == there, "jitter {jitter:?}");
        });
        assert_eq!(pair.relay.accepted(), 1);
        // It counts after it has sent.
        let begun = Instant::now();
        while pair.relay.forwarded_bytes() < 8_500_001 && begun.elapsed() < BOUND {
            thread::sleep(ms(1));
        }
        assert_eq!(pair.relay.forwarded_bytes(), 8_500_001);
    }
}

/// A byte there, and one back.
fn round_trip(mut client: &TcpStream, mut server: &TcpStream) -> Duration {
    let begun = Instant::now();
    client.write_all(b"?").expect("it is open");
    server.read_exact(&mut [0]).expect("it comes");
    server.write_all(b"!").expect("it is open");
    client.read_exact(&mut [0]).expect("it comes");
    begun.elapsed()
}

#[test]
fn nothing_arrives_before_its_delay_and_a_connection_takes_a_round_trip() {
    let pair = RelayedPair::new(ms(30), ms(0));
    let begun = Instant::now();
    let (client, server) = pair.connect();
    assert!(begun.elapsed() >= ms(30), "the server sees the connection after the delay");
    round_trip(&client, &server);
    assert!(begun.elapsed() >= ms(120), "open, there and back: two round trips");
    assert!(round_trip(&client, &server) >= ms(60));
    pair.relay.set_delay(ms(100));
    assert!(round_trip(&client, &server) >= ms(200));
    pair.relay.set_delay(ms(1));
    assert!(round_trip(&client, &server) >= ms(2));
}

#[test]
fn one_connection_alone_can_be_delayed() {
    let pair = RelayedPair::new(ms(1), ms(0));
    let (first, second) = (pair.connect(), pair.connect());
    pair.relay.set_delay_of(1, Duration::from_secs(3600));
    (&second.0).write_all(b"?").expect("it is open");
    for _ in 0..10 {
        round_trip(&first.0, &first.1);
    }
    second.1.set_nonblocking(true).expect("a socket");
    let error = (&second.1).read(&mut [0]).expect_err("it is under way");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
}

#[test]
fn each_direction_closes_by_itself() {
    let pair = RelayedPair::new(ms(10), ms(0));
    let (client, server) = pair.connect();
    client.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(read_all(&server), b"");
    (&server).write_all(b"the rest").expect("this direction is open");
    drop(server);
    assert_eq!(read_all(&client), b"the rest");
}

fn is_reset(mut stream: &TcpStream) {
    let error = stream.read(&mut [0]).expect_err("no close");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_reset_follows_the_bytes_that_were_sent_before() {
    let pair = RelayedPair::new(ms(20), ms(0));
    let (client, mut server) = pair.connect();
    round_trip(&client, &server);
    let begun = Instant::now();
    (&client).write_all(b"last words").expect("it is open");
    set_socket_linger(&client, Some(Duration::ZERO)).expect("TCP");
    drop(client);
    let mut words = [0; 10];
    server.read_exact(&mut words).expect("they come first");
    assert_eq!(&words, b"last words");
    is_reset(&server);
    assert!(begun.elapsed() >= ms(20));
}

#[test]
fn a_client_of_a_missing_server_is_reset_and_the_server_may_start_later() {
    // Bound, the port is nobody else's; connections are refused until it listens.
    let socket =
        socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("TCP");
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let to = SocketAddr::try_from(getsockname(&socket).expect("it is bound")).expect("IPv4");
    let options = RelayOptions { delay: ms(10), ..RelayOptions::default() };
    let relay = Relay::start(to, options, 7).expect("a relay");
    let begun = Instant::now();
    let client = bounded(TcpStream::connect(relay.address()).expect("the relay listens"));
    is_reset(&client);
    assert!(begun.elapsed() >= ms(20), "there and back");
    listen(&socket, 1).expect("it is bound");
    let pair = RelayedPair { server: TcpListener::from(socket), relay };
    let (client, server) = pair.connect();
    round_trip(&client, &server);
}

#[test]
fn a_cut_resets_all_connections_and_new_ones_are_made() {
    let pair = RelayedPair::new(ms(5), ms(0));
    let both = [pair.connect(), pair.connect()];
    for (client, server) in &both {
        round_trip(client, server);
    }
    pair.relay.cut();
    for (client, server) in &both {
        is_reset(client);
        is_reset(server);
    }
    let (client, server) = pair.connect();
    round_trip(&client, &server);
    assert_eq!(pair.relay.accepted(), 3);
}

#[test]
fn a_receiver_that_does_not_read_makes_its_sender_wait() {
    let pair = RelayedPair::new(ms(1), ms(0));
    let (mut client, server) = pair.connect();
    client.set_nonblocking(true).expect("a socket");
    let (bytes, begun) = (noise(1 << 20), Instant::now());
    let (mut sent, mut refused) = (0, 0);
    // The relay fills its queue, the kernel its socket buffers; then nothing more is accepted.
    while sent < line::QUEUED_BYTES_MAX || refused < 20 {
        match client.write(&bytes) {
            Ok(len) => (sent, refused) = (sent + len, 0),
            Err(_) => {
                refused += 1;
                thread::sleep(ms(10));
            }
        }
        assert!(sent < 2 * line::QUEUED_BYTES_MAX, "{sent} bytes: the queue has no bound");
        assert!(begun.elapsed() < BOUND, "{sent} bytes were taken");
    }
    client.set_nonblocking(false).expect("a socket");
    client.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(read_all(&server).len(), sent);
}

#[test]
fn dropping_the_relay_resets_its_connections() {
    let pair = RelayedPair::new(Duration::from_secs(5), ms(0));
    let client = pair.client();
    (&client).write_all(b"never arrives").expect("the relay takes it");
    let address = pair.relay.address();
    drop(pair.relay);
    is_reset(&client);
    TcpStream::connect(address).expect_err("nobody listens any more");
}
