//! Many clients of one `pump serve` read one file: the disk is read once for all of them.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::{Home, expect, has_direct, make_folder, noise_file};

const BYTES: usize = 40 << 20;
const CLIENTS: usize = 5;

/// What a process has had read from disks; `None` where the system does not tell.
fn read_bytes(process: &str) -> Option<u64> {
    let counters = std::fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    counters.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())
}

/// Takes the file out of the page cache. Whether it is out.
fn is_cold(path: &Path) -> bool {
    let file = File::open(path).expect("it is there");
    file.sync_all().expect("it can be written");
    fadvise(&file, 0, None, Advice::DontNeed).expect("it is a file");
    datapump_engine::os::linux::cached_fraction(&file, BYTES as u64) == Some(0.0)
}

/// A served file that is on a disk whose reads are counted; or this prints why there is none.
fn home() -> Option<Home> {
    let home = Home::new();
    make_folder(&home, "served");
    noise_file(&home, "served/file", BYTES, 7);
    if !has_direct(&home) {
        return None;
    }
    let path = home.path("served/file");
    let before = read_bytes("self");
    let counts = is_cold(&path)
        && std::fs::read(&path).is_ok()
        && read_bytes("self").zip(before).is_some_and(|(after, before)| after >= before + BYTES as u64);
    if !counts {
        eprintln!("not tested: the file system of {} does not count what it reads", path.display());
    }
    (counts && is_cold(&path)).then_some(home)
}

/// Connections to this port that the system has made, whoever has taken them (IPv4).
fn established(port: &str) -> usize {
    const ESTABLISHED: &str = "01";
    let port: u16 = port.parse().expect("a port");
    let sockets = std::fs::read_to_string("/proc/net/tcp").expect("Linux tells it");
    let lines = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(|line| line[2].ends_with(&format!(":{port:04X}")) && line[3] == ESTABLISHED).count()
}

fn client(home: &Home, serving: &Serving) -> Running {
    let there = serving.at("file");
    Running::start(home.command(&["copy", "-q", "--ticket-file", "ticket", &there, "null:"]))
}

/// What the server has had read meanwhile, as a part of the file.
fn part_read(serving: &Serving, before: u64) -> f64 {
    let after = read_bytes(&serving.id().to_string()).expect("it was told before");
    (after - before) as f64 / BYTES as f64
}

#[test]
fn clients_that_begin_together_share_the_reads_of_the_disk() {
    let Some(home) = home() else { return };
    let serving = Serving::new(&home, &["--read-only"]);
    let port = serving.address.rsplit(':').next().expect("a port").to_owned();
    let before = read_bytes(&serving.id().to_string()).expect("it is told of this user's processes");
    // All have called before the first is let in, however busy this machine is.
    serving.signal("STOP");
    let clients: Vec<Running> = (0..CLIENTS).map(|_| client(&home, &serving)).collect();
    eventually("all have called", || established(&port) >= CLIENTS);
    serving.signal("CONT");
    for client in clients {
        expect(&client.end(), 0, &[], "a client");
    }
    let part = part_read(&serving, before);
    assert!((0.99..=1.2).contains(&part), "{CLIENTS} clients: {part} times the file was read");
}
