//! One list of what every link must do, run over plain calls on TCP and Unix sockets and over the simulated net.
#![cfg(target_os = "linux")]

use std::io::{ErrorKind, IoSlice};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use datapump_engine::sim::SimClock;
use datapump_engine::{Link, SimNet, Socket, Until, go_on_meanwhile};

type Pair = fn() -> (Link, Link);

const POLL_INTERVAL: Duration = Duration::from_millis(20);

fn tcp() -> (Link, Link) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let one = TcpStream::connect(listener.local_addr().expect("its address")).expect("somebody listens");
    (Socket::Tcp(one).into(), Socket::Tcp(listener.accept().expect("somebody called").0).into())
}

fn unix() -> (Link, Link) {
    let (one, other) = UnixStream::pair().expect("a pair");
    (Socket::Unix(one).into(), Socket::Unix(other).into())
}

fn sim() -> (Link, Link) {
    let net = SimNet::new(SimClock::virtual_time(), Duration::from_millis(90));
    let (one, other) = net.pair();
    (Link::Sim(one), Link::Sim(other))
}

fn each(check: fn(Link, Link, &str)) {
    for (kind, pair) in [("tcp", tcp as Pair), ("unix", unix), ("sim", sim)] {
        let (one, other) = pair();
        [&one, &other].iter().for_each(|link| link.prepare(POLL_INTERVAL).expect("it can be prepared"));
        check(one, other, kind);
    }
}

fn noise(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251) as u8).collect()
}

fn send(link: &mut Link, parts: &[&[u8]]) -> std::io::Result<usize> {
    link.send(&parts.iter().map(|part| IoSlice::new(part)).collect::<Vec<_>>())
}

#[test]
fn parts_arrive_in_order_as_one_stream() {
    each(|mut one, mut other, kind| {
        let (bytes, mut got) = (noise(30_000), Vec::new());
        assert_eq!(
            send(&mut one, &[&bytes[..1], &[], &bytes[1..20_000], &bytes[20_000..]]).ok(),
            Some(30_000)
        );
        while got.len() < bytes.len() {
            let mut some = [0; 777];
            let len = other.receive(&mut some, Until::Some).expect("it was sent");
            got.extend_from_slice(&some[..len]);
        }
        assert!(got == bytes, "{kind}");
        let expected = if kind == "sim" { "sim" } else { "calls" };
        assert_eq!((one.kind(), one.tcp().is_some()), (expected, kind == "tcp"), "{kind}");
    });
}

#[test]
fn a_whole_block_comes_in_one_call() {
    each(|mut one, mut other, kind| {
        let bytes = noise(9000);
        assert_eq!(send(&mut one, &[&bytes]).ok(), Some(9000), "{kind}");
        let mut block = vec![0; 8000];
        assert_eq!(other.receive(&mut block, Until::Whole).ok(), Some(8000), "{kind}");
        assert!(block == bytes[..8000], "{kind}");
        assert_eq!(other.receive(&mut block, Until::Some).ok(), Some(1000), "{kind}: what is there");
    });
}

#[test]
fn nothing_is_there_until_it_is_sent() {
    each(|mut one, mut other, kind| {
        let now = other.receive(&mut [0; 10], Until::Now).expect_err("nothing was sent");
        assert_eq!(now.kind(), ErrorKind::WouldBlock, "{kind}");
        assert_eq!(other.has_input(None, POLL_INTERVAL).ok(), Some(false), "{kind}");
        send(&mut one, &[b"x"]).expect("it is open");
        assert_eq!(other.has_input(None, Duration::from_secs(5)).ok(), Some(true), "{kind}");
        assert_eq!(other.receive(&mut [0; 10], Until::Now).ok(), Some(1), "{kind}");
    });
}

#[test]
fn what_was_sent_before_the_end_comes_before_it() {
    each(|mut one, mut other, kind| {
        send(&mut one, &[b"last words"]).expect("it is open");
        drop(one);
        let mut bytes = [0; 100];
        assert_eq!(other.receive(&mut bytes, Until::Whole).ok(), Some(10), "{kind}");
        assert_eq!(other.receive(&mut bytes, Until::Some).ok(), Some(0), "{kind}");
        assert_eq!(other.has_input(None, POLL_INTERVAL).ok(), Some(true), "{kind}: the end can be received");
        let sent = (0..1000).find_map(|_| send(&mut other, &[&[0; 4096]]).err());
        assert!(sent.is_some(), "{kind}: nobody takes it");
    });
}

#[test]
fn a_wait_of_a_real_link_ends_and_one_of_the_net_that_nothing_can_end_says_so() {
    each(|_one, mut other, kind| {
        let waited = other.receive(&mut [0; 10], Until::Some).expect_err("nothing was sent");
        let expected = if kind == "sim" { ErrorKind::Deadlock } else { ErrorKind::WouldBlock };
        assert_eq!(waited.kind(), expected, "{kind}");
    });
}

/// One asks and the other, who goes on while it waits, answers: in as much virtual time as the way takes.
#[test]
fn time_on_the_net_is_that_of_its_ways() {
    let clock = SimClock::virtual_time();
    let net = SimNet::new(clock.clone(), Duration::from_millis(90));
    let (one, other) = net.pair();
    let (mut one, mut other) = (Link::Sim(one), Link::Sim(other));
    go_on_meanwhile(move || {
        let mut asked = [0; 10];
        let answered =
            other.receive(&mut asked, Until::Now).and_then(|len| send(&mut other, &[&asked[..len]]));
        answered.is_ok_and(|len| len > 0)
    });
    for round in 1..=3u64 {
        send(&mut one, &[&[round as u8]]).expect("it is open");
        let mut answer = [0];
        assert_eq!(one.receive(&mut answer, Until::Some).ok(), Some(1));
        assert_eq!((u64::from(answer[0]), clock.now_ns()), (round, round * 180_000_000));
    }
    assert_eq!(net.sent_bytes(), 6);
    // Two of three bytes arrive, then nothing more.
    net.cut_after(2);
    assert_eq!(send(&mut one, &[b"abc"]).ok(), Some(2));
    assert_eq!(send(&mut one, &[b"c"]).map_err(|error| error.kind()), Err(ErrorKind::ConnectionReset));
    let lost = one.receive(&mut [0], Until::Some).map_err(|error| error.kind());
    assert_eq!(lost, Err(ErrorKind::ConnectionReset));
}

/// An end that sleeps on a clock of its own answers late, and keeps nobody waiting for anything else.
#[test]
fn an_end_with_its_own_clock_sleeps_while_the_other_goes_on() {
    let (clock, own_clock) = (SimClock::virtual_time(), SimClock::virtual_time());
    let net = SimNet::new(clock.clone(), Duration::from_millis(90));
    net.second_ends_have(Some(own_clock.clone()));
    let (one, other) = net.pair();
    net.second_ends_have(None);
    let (mut one, mut other) = (Link::Sim(one), Link::Sim(other));
    let ms = 1_000_000_000;
    go_on_meanwhile(move || {
        let mut request = [0];
        let len = other.receive(&mut request, Until::Now).unwrap_or(0);
        let sent = send(&mut other, &[&request[..len]]).unwrap_or(0);
        own_clock.advance_to(own_clock.now_ps() + 1000 * len as u64 * ms);
        sent > 0
    });
    let mut answer = [0];
    // It sleeps for a second behind each answer: the first of two requests is answered at once, and the second one later.
    send(&mut one, &[&[1]]).expect("it is open");
    send(&mut one, &[&[2]]).expect("it is open");
    for (expected, sleeps_ms, at_ms) in [(1, 500, 180), (2, 0, 1180)] {
        assert_eq!(one.receive(&mut answer, Until::Some).ok(), Some(1));
        assert_eq!((answer[0], clock.now_ns()), (expected, at_ms * 1_000_000));
        clock.advance_to(clock.now_ps() + sleeps_ms * ms);
    }
}
