//! The peer of a whole session, in both roles: whatever it says, in frames that can be read and with numbers at the
//! ends of their ranges, the other side is a server that serves on, or a client that ends with a status.
//!
//! A panic of any thread is the end of the target: libFuzzer's hook comes before whoever catches it.
#![no_main]

mod peer_parts;

use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arbitrary::Arbitrary;
use datapump::datagrams::{DatagramRequest, DatagramUse};
use datapump::{Host, Job, Options, Place, Remote, ServeOptions, Server, WayIn};
use libfuzzer_sys::fuzz_target;
use peer_parts::{Role, Say, called, caller, is_welcome};

#[derive(Arbitrary, Debug)]
struct Input {
    role: Role,
    /// Of the real side.
    writes: bool,
    /// The real client looks at the path instead of copying.
    looks: bool,
    /// What the peer chooses, as JSON: numbers for some of its options.
    options: [Option<peer_parts::Number>; 4],
    says: Vec<Say>,
}

/// A folder of this process: what is served, and what is copied.
fn home() -> PathBuf {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    let made = || {
        let home = std::env::temp_dir().join(format!("pump-fuzz-peer-{}", std::process::id()));
        std::fs::create_dir_all(home.join("served/tree/below")).expect("room");
        std::fs::write(home.join("served/file"), [7; 9000]).expect("room");
        std::fs::write(home.join("served/tree/below/file"), [8; 70_000]).expect("room");
        home
    };
    HOME.get_or_init(made).clone()
}

/// What a peer asks of datagrams: each number in its place, and sometimes all of them.
fn datagrams(number: peer_parts::Number) -> DatagramRequest {
    let number = number.value();
    let wanted = if number % 2 == 0 { DatagramUse::Count } else { DatagramUse::Reflect };
    let [small, all] = [number % 3 == 0, number % 5 == 0];
    DatagramRequest {
        wanted,
        datagrams: if small { 7 } else { number },
        payload_bytes: if all { number as u32 } else { 100 },
        bytes_per_second: if all { number } else { 0 },
        lasts_ns: if small { 1_000_000 } else { number },
    }
}

/// The real server, for one peer; behind it another one is welcome, and at its end nothing of it is left.
fn serve(peer: impl FnOnce(SocketAddr)) {
    let options = ServeOptions {
        insecure: true,
        peer_timeout: Duration::from_secs(1),
        datagram_bytes_per_second: Some(1 << 20),
        ..ServeOptions::for_place(Place::Path(home().join("served")))
    };
    let stop = Arc::new(AtomicBool::new(false));
    let server = Server::bind(options, Arc::clone(&stop)).expect("a port is free");
    let address = server.address();
    let running = std::thread::spawn(move || server.run());
    peer(address);
    assert!(is_welcome(address), "it serves on");
    stop.store(true, Ordering::Relaxed);
    // A connection wakes it.
    drop(TcpStream::connect(address));
    running.join().expect("no panic");
}

/// The real client, whose peer is a server of ours.
fn copy(address: SocketAddr, writes: bool, looks: bool) {
    let there = Place::Remote(Remote { host: Host::Served(address.to_string()), path: "tree".into() });
    let here = |name: &str| Place::Path(home().join(name));
    let (source, target) = if writes { (there, here("copied")) } else { (here("served/tree"), there) };
    let options = Options::default().with(|it| {
        it.tuning.no_reserve = true;
        it.durability.sync = datapump::Sync::None;
    });
    let copy = Job::copy(vec![source], target).options(options).way_in(WayIn::Open).connections(Some(1));
    let copy = copy.peer_timeout(Duration::from_secs(1)).retry_for(Duration::ZERO);
    if looks && writes {
        let (facts, problem) = copy.look_at_path(&|event| drop(format!("{event:?}")));
        let _ = (facts.round_trip_ns(), problem.map(|problem| problem.to_string()));
        return;
    }
    let report = copy.run_reported(&|event| drop(format!("{event:?}")));
    let _ = (report.sentence(), report.line());
    let _ = std::fs::remove_dir_all(home().join("copied"));
}

fuzz_target!(|input: Input| {
    let Input { role, writes, looks, options, says } = input;
    match role {
        Role::Caller => {
            serve(|address| caller(address, writes, &options, says).unwrap_or_default());
            let _ = std::fs::remove_dir_all(home().join("served/copied"));
        }
        Role::Called => called(says, |address| copy(address, writes, looks)),
    }
});
