//! `pump lab udp`: what comes is counted, what is not allowed is refused before anything is sent, and a path that takes
//! no datagrams is told apart from one that loses some.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, expect};

/// The address of the relay; the server listens at 127.0.0.1.
const RELAY: &str = "127.0.0.2";

fn serving(home: &Home, words: &[&str]) -> Serving {
    std::fs::create_dir_all(home.path("served")).expect("room");
    Serving::new(home, words)
}

fn udp(home: &Home, what: &str, words: &[&str], place: &str) -> Outcome {
    home.pump(&[&["lab", "udp", what, "--ticket-file", "ticket"], words, &[place]].concat())
}

fn stream(home: &Home, words: &[&str], place: &str) -> Outcome {
    udp(home, "throughput", words, place)
}

/// The event of a measurement, and the status of its report.
fn figures(outcome: &Outcome) -> Value {
    assert_eq!(outcome.report()["exit_status"], 0, "{outcome:?}");
    outcome.events().swap_remove(0)
}

/// What becomes of a datagram, by its number and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Passes,
    Lost,
    Twice,
    /// Behind the next one that passes.
    Late,
    /// It passes, and is not answered.
    OneWay,
}

/// Passes connections on, and datagrams with a fate.
struct UdpRelay {
    address: SocketAddr,
    came: Arc<AtomicU64>,
}

impl UdpRelay {
    /// In front of a server; none: no datagram passes, and nobody listens for one.
    fn start(server: &Serving, fate: Option<fn(u64, usize) -> Fate>) -> UdpRelay {
        let to: SocketAddr = server.address.parse().expect("an address");
        let listener = TcpListener::bind((RELAY, 0)).expect("loopback has this address");
        let address = listener.local_addr().expect("it is bound");
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(to) else { continue };
                pass_on(&client, &server);
                pass_on(&server, &client);
            }
        });
        let came = Arc::new(AtomicU64::new(0));
        if let Some(fate) = fate {
            let socket = UdpSocket::bind((RELAY, to.port())).expect("the port is free here");
            set_socket_recv_buffer_size(&socket, 4 << 20).expect("as much as the system allows");
            let counted = Arc::clone(&came);
            thread::spawn(move || datagrams(&socket, to, fate, &counted));
        }
        UdpRelay { address, came }
    }

    fn place(&self) -> String {
        format!("pump://{}/", self.address)
    }
}

fn pass_on(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().expect("a file"), to.try_clone().expect("a file"));
    thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        while let Ok(len @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..len]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn datagrams(socket: &UdpSocket, to: SocketAddr, fate: fn(u64, usize) -> Fate, came: &AtomicU64) {
    let (mut bytes, mut held) = (vec![0; 1 << 16], None::<Vec<u8>>);
    let mut clients: HashMap<SocketAddr, UdpSocket> = HashMap::new();
    while let Ok((len, from)) = socket.recv_from(&mut bytes) {
        let fate = fate(came.fetch_add(1, Ordering::SeqCst), len);
        let is_answered = fate != Fate::OneWay;
        let server = clients.entry(from).or_insert_with(|| {
            let server = UdpSocket::bind(("127.0.0.1", 0)).expect("a port is free");
            server.connect(to).expect("loopback");
            let (socket, other) = (socket.try_clone().expect("a file"), server.try_clone().expect("a file"));
            is_answered.then(|| thread::spawn(move || send_back(&socket, &other, from)));
            server
        });
        let datagram = &bytes[..len];
        let send = |datagram: &[u8]| drop(server.send(datagram));
        match fate {
            Fate::Lost => continue,
            Fate::Late => {
                held = Some(datagram.to_vec());
                continue;
            }
            Fate::Twice => (0..2).for_each(|_| send(datagram)),
            Fate::Passes | Fate::OneWay => send(datagram),
        }
        if let Some(late) = held.take() {
            send(&late);
        }
    }
}

fn send_back(socket: &UdpSocket, server: &UdpSocket, client: SocketAddr) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(len) = server.recv(&mut bytes) {
        let _ = socket.send_to(&bytes[..len], client);
    }
}

#[test]
fn a_stream_is_counted_whole() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "1Gbit"]);
    // All of them have room in the server's socket, which may take 416 KiB: a busy machine loses none.
    let words = ["--spacing", "100us", "--count", "256", "--frame-size", "600", "--json"];
    for more in [&[][..], &["--batch", "8"], &["--batch", "8", "--offload"]] {
        let run = stream(&home, &[&words[..], more].concat(), &server.at(""));
        expect(&run, 0, &["udp_throughput"], &format!("{more:?}"));
        let figures = figures(&run);
        for (field, count) in
            [("sent", 256), ("unique", 256), ("received", 256), ("lost", 0), ("duplicates", 0)]
        {
            assert_eq!(figures[field], count, "{field}: {figures}");
        }
        assert_eq!((&figures["frame_size"], &figures["asked_spacing_us"]), (&600.into(), &100.0.into()));
        let mean = figures["spacing"]["mean_us"].as_f64().expect("a number");
        assert!(mean >= 99.9, "no closer than was asked: {mean}");
        assert_eq!(figures["loss_pattern"], "none");
        assert_eq!(figures["interface"], "lo");
    }
    // For people, and by a rate.
    let run = stream(&home, &["--rate", "10Mbit", "--for", "200ms"], &server.at(""));
    expect(&run, 0, &["sent 166 datagrams of 1472 bytes", "lost 0", "on an Ethernet wire"], "for people");
}

/// Statement S53 with real hosts: each fate by the number of the datagram.
#[test]
fn scripted_losses_duplicates_and_swaps_are_counted_one_by_one() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "100Mbit"]);
    let relay = UdpRelay::start(
        &server,
        Some(|number, _| match number % 100 {
            7 | 53 => Fate::Lost,
            20 => Fate::Twice,
            30 | 60 | 90 => Fate::Late,
            _ => Fate::Passes,
        }),
    );
    // So slow that a relay or server that does not run for half a second loses none of its own.
    let words = ["--spacing", "1ms", "--count", "2000", "--frame-size", "64", "--json"];
    let figures = figures(&stream(&home, &words, &relay.place()));
    assert_eq!(relay.came.load(Ordering::SeqCst), 2000);
    let counted =
        ["sent", "received", "unique", "lost", "duplicates", "reordered"].map(|field| &figures[field]);
    assert_eq!(counted, [2000, 1980, 1960, 40, 20, 60].map(Value::from).each_ref(), "{figures}");
    let rate = |side: &str| figures[side]["wire_mbit_per_s"].as_f64().expect("a rate");
    assert!(0.0 < rate("receiver") && rate("receiver") <= rate("sender"), "{figures}");
    // 46 and 54 apart, in turns.
    assert_eq!(figures["loss_pattern"], "queue");
    assert!((figures["loss_gap_mean"].as_f64().expect("a number") - 49.9).abs() < 0.2, "{figures}");
}

#[test]
fn round_trips_of_each_size_are_timed() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "1Gbit"]);
    let words = ["--frame-size", "1400,64,512,64", "--count", "50", "--json"];
    let run = udp(&home, "latency", &words, &server.at(""));
    let figures = figures(&run);
    let frames = figures["frames"].as_array().expect("a list");
    let sizes: Vec<_> = frames.iter().map(|frame| frame["frame_size"].as_u64().expect("a number")).collect();
    assert_eq!(sizes, [64, 512, 1400]);
    for frame in frames {
        assert_eq!((&frame["sent"], &frame["lost"]), (&50.into(), &0.into()), "{frame}");
        let bins = frame["histogram"]["counts"].as_array().expect("a list");
        assert_eq!(bins.iter().filter_map(Value::as_u64).sum::<u64>(), 50, "{frame}");
        assert!(frame["min_us"].as_f64() <= frame["median_us"].as_f64(), "{frame}");
    }
    assert_eq!(figures["curve"]["whole"]["from_bytes"], 64);
    let run = udp(&home, "latency", &["--count", "5"], &server.at(""));
    expect(&run, 0, &["  1400 bytes: median ", "all sizes: 64 to 1400 bytes: "], "for people");
}

#[test]
fn the_rate_that_is_allowed_is_granted() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "1Mbit"]);
    for words in [
        &["--rate", "1Mbit", "--frame-size", "8972", "--count", "3"][..],
        &["--rate", "1Mbit", "--frame-size", "32", "--count", "3"],
        // 1000 bytes each.
        &["--spacing", "8ms", "--frame-size", "972", "--count", "3"],
    ] {
        expect(&stream(&home, words, &server.at("")), 0, &["lost 0"], &format!("{words:?}"));
    }
}

#[test]
fn what_is_not_allowed_is_refused_before_anything_is_sent() {
    let home = Home::new();
    let server = serving(&home, &[]);
    let run = stream(&home, &["--rate", "1Mbit"], &server.at(""));
    expect(&run, 5, &["takes no datagrams", "pump serve --allow-udp"], "not allowed");
    drop(server);
    let server = serving(&home, &["--allow-udp", "10Mbit"]);
    let relay = UdpRelay::start(&server, Some(|_, _| Fate::Passes));
    for (words, status, said) in [
        (&["--rate", "11Mbit"][..], 5, "11.0 Mbit/s of datagrams were asked for and this server allows 10.0"),
        (&["--spacing", "1us"], 5, "(--spacing)"),
        (&["--rate", "1Mbit", "--for", "61s"], 2, "may take 60 s"),
        (&["--rate", "1Mbit", "--count", "1000000"], 2, "may take 60 s"),
        (&["--spacing", "1ms", "--frame-size", "31"], 2, "32 to 65507"),
        (&["--spacing", "1ms", "--frame-size", "65508"], 2, "32 to 65507"),
        (&["--spacing", "1ms", "--rate", "1Mbit"], 2, "--rate"),
        (&[], 2, "--spacing"),
        (&["--rate", "1Mbit", "--frame-size", "9000", "--batch", "8", "--offload"], 2, "--batch"),
    ] {
        let run = stream(&home, words, &relay.place());
        expect(&run, status, &[said], &format!("{words:?}"));
    }
    let words = ["--spacing", "30m", "--frame-size", "64"];
    expect(&udp(&home, "latency", &words, &relay.place()), 2, &["may take 60 s"], "a round too long");
    for place in ["served", "host:", "null:1MiB", "pump://host"] {
        expect(&stream(&home, &["--rate", "1Mbit"], place), 2, &["pump://HOST:PORT/"], place);
    }
    assert_eq!(relay.came.load(Ordering::SeqCst), 0, "something was sent");
    // A ticket of another server.
    std::fs::copy(home.path("ticket"), home.path("kept")).expect("it is there");
    let other = serving(&home, &["--allow-udp", "10Mbit"]);
    let wrong = ["lab", "udp", "latency", "--ticket-file", "kept", &other.at("")];
    let run = home.pump(&wrong);
    assert!([5, 10].contains(&run.status), "{run:?}");
}

#[test]
fn a_blocked_port_is_told_apart_from_losses() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "10Mbit"]);
    let port = server.address.rsplit_once(':').expect("a port").1.to_owned();
    let relay = UdpRelay::start(&server, None);
    let said = format!("no datagram arrived: UDP port {port} is blocked");
    let run = stream(&home, &["--rate", "1Mbit", "--count", "20"], &relay.place());
    expect(&run, 1, &[&said, "Allow UDP to port"], "a stream");
    let run = udp(&home, "latency", &["--count", "20", "--frame-size", "64", "--json"], &relay.place());
    expect(&run, 1, &[&said, "\"class\":\"denied\""], "round trips");
}

#[test]
fn answers_that_do_not_come_back_are_told_apart_from_losses() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "10Mbit"]);
    let relay = UdpRelay::start(&server, Some(|_, _| Fate::OneWay));
    let run = udp(&home, "latency", &["--count", "20", "--frame-size", "64"], &relay.place());
    expect(&run, 1, &["3 datagrams arrived and no answer came back"], "answers");
}

#[test]
fn all_lost_but_one_are_losses() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "10Mbit"]);
    let relay =
        UdpRelay::start(&server, Some(|number, _| if number == 3 { Fate::Passes } else { Fate::Lost }));
    let figures = figures(&stream(&home, &["--rate", "1Mbit", "--count", "20", "--json"], &relay.place()));
    assert_eq!((&figures["lost"], &figures["unique"]), (&19.into(), &1.into()));
}

/// One is no black hole.
#[test]
fn a_round_trip_that_is_lost_is_one_loss() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "10Mbit"]);
    let first = |number, _| if number % 2 == 0 { Fate::Lost } else { Fate::Passes };
    let relay = UdpRelay::start(&server, Some(first));
    let words = ["--count", "1", "--frame-size", "1400,700"];
    let run = udp(&home, "latency", &words, &relay.place());
    expect(&run, 0, &["   700 bytes: lost 1 of 1\n", "  1400 bytes: median "], "for people");
    let figures = figures(&udp(&home, "latency", &[&words[..], &["--json"]].concat(), &relay.place()));
    let frames = &figures["frames"];
    assert_eq!((&frames[0]["lost"], &frames[0]["median_us"]), (&1.into(), &Value::Null), "{figures}");
    assert_eq!((&frames[1]["lost"], frames[1]["median_us"].is_number()), (&0.into(), true), "{figures}");
}

#[test]
fn an_mtu_black_hole_is_named() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "100Mbit"]);
    let relay =
        UdpRelay::start(&server, Some(|_, bytes| if bytes > 1472 { Fate::Lost } else { Fate::Passes }));
    let words = ["--frame-size", "8972", "--rate", "10Mbit", "--count", "20"];
    expect(&stream(&home, &words, &relay.place()), 1, &["an MTU black hole", "8972 bytes"], "a stream");
    let words = ["--frame-size", "1000,8972", "--count", "20"];
    expect(&udp(&home, "latency", &words, &relay.place()), 1, &["an MTU black hole", "8972"], "round trips");
}

#[test]
fn a_peer_that_disappears_ends_the_other_and_is_told() {
    let home = Home::new();
    let mut server = serving(&home, &["--allow-udp", "10Mbit"]);
    let relay = UdpRelay::start(&server, Some(|_, _| Fate::Passes));
    let start = |place: &str| {
        let words = [
            "lab",
            "udp",
            "throughput",
            "--ticket-file",
            "ticket",
            "--rate",
            "10Mbit",
            "--for",
            "50s",
            place,
        ];
        Running::start(home.command(&words))
    };
    let begun = |before: u64| eventually("datagrams", || relay.came.load(Ordering::SeqCst) > before + 50);
    // All that the server allows is in use.
    let client = start(&relay.place());
    begun(0);
    let run = stream(&home, &["--rate", "1Mbit"], &relay.place());
    expect(&run, 5, &["other sessions use what this server allows"], "a second one");
    // A client that is killed gives it back.
    drop(client);
    eventually("the rate is free again", || {
        let run = stream(&home, &["--rate", "10Mbit", "--count", "10"], &server.at(""));
        assert!([0, 5].contains(&run.status), "{run:?}");
        run.status == 0
    });
    let before = relay.came.load(Ordering::SeqCst);
    let client = start(&relay.place());
    begun(before);
    server.kill();
    expect(&client.end(), 10, &["pump://"], "the server was killed");
}

#[test]
fn an_interrupt_ends_a_stream() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "10Mbit"]);
    let relay = UdpRelay::start(&server, Some(|_, _| Fate::Passes));
    let words = ["lab", "udp", "throughput", "--ticket-file", "ticket", "--rate", "1Mbit", "--for", "50s"];
    let place = relay.place();
    let client = Running::start(home.command(&[&words[..], &[&place]].concat()));
    eventually("datagrams", || relay.came.load(Ordering::SeqCst) > 10);
    client.signal(Signal::INT);
    expect(&client.end(), 20, &[], "interrupted");
    drop(server);
}

#[test]
fn an_interrupt_ends_a_wait_between_two_datagrams() {
    let home = Home::new();
    let server = serving(&home, &["--allow-udp", "10Mbit"]);
    let relay = UdpRelay::start(&server, Some(|_, _| Fate::Passes));
    let place = relay.place();
    let words = ["--ticket-file", "ticket", "--spacing", "29s", "--count", "2", "--frame-size"];
    for more in [&["throughput", "64"][..], &["latency", "64,65"]] {
        let before = relay.came.load(Ordering::SeqCst);
        let words = [&["lab", "udp", more[0]], &words[..], &[more[1], &place]].concat();
        let client = Running::start(home.command(&words));
        eventually("the first", || relay.came.load(Ordering::SeqCst) > before);
        let start = Instant::now();
        client.signal(Signal::INT);
        expect(&client.end(), 20, &[], more[0]);
        assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    }
    drop(server);
}
