//! A real `pump serve` behind a delaying relay: trees and large files arrive whole, also when delays differ and change,
//! and a copy whose connections are all cut reconnects and completes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::running::{BESIDES_BYTES, memory_max_bytes};
use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::small_tree::{set_time, small_tree};
use crate::support::{Home, expect, has_attributes_of, has_content, make_folder, noise, set_mode, set_xattr};
use crate::wider_parts::judge::same_tree;
use crate::wider_parts::program;
use datapump_netlab::{Relay, RelayOptions};

/// 60 ms there and back.
const DELAY: Duration = Duration::from_millis(30);
const JITTER: Duration = Duration::from_millis(5);
const LARGE_BYTES: usize = 40 << 20;
const SMALL_FILES: usize = 400;
const SMALL_BYTES: usize = 8000;

/// The sources of the copies, and whether they go to the server.
const COPIES: [(&str, bool); 4] = [("tree", true), ("tree", false), ("large", true), ("large", false)];

/// A client, and a server behind a relay. Each has the tree and the large file.
struct Distant {
    home: Home,
    content: Vec<u8>,
    relay: Relay,
    /// Declared after the relay, so that it is dropped after it.
    serving: Serving,
}

impl Distant {
    fn new() -> Distant {
        Distant::with(&[])
    }

    /// Whose server has these flags.
    fn with(flags: &[&str]) -> Distant {
        let home = Home::new();
        make_folder(&home, "served");
        let content = noise(LARGE_BYTES, 41);
        for folder in ["", "served/"] {
            make_files(&home, folder, &content);
        }
        let serving = Serving::new(&home, &[&["--listen", "127.0.0.1:0"], flags].concat());
        let to: SocketAddr = serving.address.parse().expect("an address");
        let options = RelayOptions { delay: DELAY, jitter: JITTER, bytes_per_second: None };
        let relay = Relay::start(to, options, 42).expect("a relay");
        Distant { home, content, relay, serving }
    }

    fn at(&self, path: &str) -> String {
        format!("pump://{}/{path}", self.relay.address())
    }

    /// Starts a copy to the name `new`.
    fn start(&self, (what, push): (&str, bool), more: &[&str]) -> Running {
        let (source, target) =
            if push { (what.to_owned(), self.at("new")) } else { (self.at(what), "new".to_owned()) };
        let words = ["copy", "--ticket-file=ticket", "-T", &source, &target];
        Running::start(self.home.command(&[&words[..], more].concat()))
    }

    /// Checks that the copy is exact, and removes it.
    fn arrived(&self, (what, push): (&str, bool), row: &str) {
        let lands = self.lands(push);
        let source = self.home.path(what);
        match what {
            "tree" => same_tree(&source, &lands, row),
            _ => {
                has_content(&lands, &self.content, row);
                has_attributes_of(&source, &lands, row);
            }
        }
        program(&["rm", "-r", &lands.display().to_string()]);
    }

    fn lands(&self, push: bool) -> PathBuf {
        self.home.path(if push { "served/new" } else { "new" })
    }

    /// Waits until so many more bytes were forwarded; `false` if the copy ends before.
    fn forwards(&self, bytes: u64, running: &mut Running) -> bool {
        let from = self.relay.forwarded_bytes();
        let mut has_ended = false;
        eventually("more is forwarded", || {
            has_ended = running.has_ended();
            has_ended || self.relay.forwarded_bytes() >= from + bytes
        });
        !has_ended
    }
}

fn make_files(home: &Home, folder: &str, content: &[u8]) {
    let tree = small_tree(home, &format!("{folder}tree"));
    let many = tree.join("many");
    std::fs::create_dir(&many).expect("room");
    for number in 0..SMALL_FILES {
        let path = many.join(number.to_string());
        std::fs::write(&path, noise(SMALL_BYTES, number as u64)).expect("room");
        set_time(&path, 1_000_000_100 + number as i64, number as i64);
    }
    set_time(&tree.join("link"), 1_000_000_006, 6);
    set_time(&many, 1_000_000_007, 7);
    set_time(&tree, 1_000_000_008, 8);
    let large = home.path(format!("{folder}large"));
    std::fs::write(&large, content).expect("room");
    set_mode(&large, 0o640);
    set_xattr(&large, "user.colour", b"green");
    set_time(&large, 1_000_000_009, 123_456_789);
}

/// Size of a source.
fn bytes_of(what: &str) -> u64 {
    (if what == "tree" { SMALL_FILES * SMALL_BYTES } else { LARGE_BYTES }) as u64
}

#[test]
fn trees_and_large_files_arrive_whole() {
    let hosts = Distant::new();
    for copy in COPIES {
        let row = format!("{copy:?}");
        let before = hosts.relay.forwarded_bytes();
        expect(&hosts.start(copy, &[]).end(), 0, &[], &row);
        let forwarded = hosts.relay.forwarded_bytes() - before;
        assert!(forwarded >= bytes_of(copy.0), "{row}: the relay forwarded only {forwarded} bytes");
        hosts.arrived(copy, &row);
    }
}

#[test]
fn one_connection_may_have_a_longer_delay() {
    let hosts = Distant::new();
    // The first is the control connection, the others carry data.
    for (copy, slow) in [(COPIES[0], 0), (COPIES[1], 1), (COPIES[2], 1), (COPIES[3], 2)] {
        let row = format!("{copy:?}, connection {slow}");
        let before = hosts.relay.accepted();
        hosts.relay.set_delay_of(before + slow, 5 * DELAY);
        expect(&hosts.start(copy, &[]).end(), 0, &[], &row);
        assert!(hosts.relay.accepted() > before + slow, "{row}: there was no such connection");
        hosts.arrived(copy, &row);
    }
}

#[test]
fn the_delay_may_change_during_a_copy() {
    let hosts = Distant::new();
    for copy in COPIES {
        let row = format!("{copy:?}");
        let mut running = hosts.start(copy, &[]);
        let mut jumps = 0;
        while hosts.forwards(bytes_of(copy.0) / 8, &mut running) {
            let milliseconds = if jumps % 2 == 0 { 300 } else { 10 };
            hosts.relay.set_delay(Duration::from_millis(milliseconds));
            jumps += 1;
        }
        expect(&running.end(), 0, &[], &row);
        assert!(jumps >= 2, "{row}: {jumps} jumps");
        hosts.relay.set_delay(DELAY);
        hosts.arrived(copy, &row);
    }
}

#[test]
fn a_copy_completes_after_all_connections_were_cut() {
    let hosts = Distant::new();
    for copy in COPIES {
        let row = format!("{copy:?}");
        let bytes = bytes_of(copy.0);
        // The rate limit makes it last a second: the cut falls in the middle.
        let mut running = hosts.start(copy, &[&format!("--bwlimit={bytes}B")]);
        assert!(hosts.forwards(bytes / 4, &mut running), "{row}: over before it was cut: {}", running.err());
        let before = hosts.relay.accepted();
        hosts.relay.cut();
        expect(&running.end(), 0, &[], &row);
        assert!(hosts.relay.accepted() > before, "{row}: it did not reconnect");
        hosts.arrived(copy, &row);
    }
}

/// Neither side holds what it has not moved: what is under way is more than the server may keep.
#[test]
fn memory_stays_within_its_budget() {
    const BUDGET_BYTES: u64 = 8 << 20;
    const TREE_FILES: u64 = 8_000;
    const LONG_BYTES: usize = 256 << 20;
    /// The slots of two connections, of which each has as many requests under way as a long path may take.
    const CLIENT_BYTES: u64 = 256 << 20;
    let hosts = Distant::with(&["--memory=8MiB"]);
    for folder in ["", "served/"] {
        make_folder(&hosts.home, &format!("{folder}files"));
        for number in 0..TREE_FILES {
            let path = hosts.home.path(format!("{folder}files/{number}"));
            std::fs::write(&path, noise(SMALL_BYTES, number)).expect("room");
        }
        std::fs::write(hosts.home.path(format!("{folder}long")), vec![b'x'; LONG_BYTES]).expect("room");
    }
    for copy in [("files", true), ("files", false), ("long", true), ("long", false)] {
        let (row, running) =
            (format!("{copy:?}"), hosts.start(copy, &["--sync=none", "--request-size=256KiB"]));
        let mut client = 0;
        while !running.has_ended() {
            client = memory_max_bytes(running.id()).map_or(client, |most| client.max(most));
            std::thread::sleep(Duration::from_millis(2));
        }
        expect(&running.end(), 0, &[], &row);
        let server = memory_max_bytes(hosts.serving.id()).expect("it runs");
        eprintln!("{row}: the server had {} MiB at most, the client {} MiB", server >> 20, client >> 20);
        assert!(server <= BUDGET_BYTES + BESIDES_BYTES, "{row}: {server} bytes");
        assert!(client <= CLIENT_BYTES + BESIDES_BYTES, "{row}: {client} bytes");
        let [source, lands] =
            [hosts.home.path(copy.0), hosts.lands(copy.1)].map(|path| path.display().to_string());
        program(&["diff", "-r", &source, &lands]);
        program(&["rm", "-r", &lands]);
    }
}
