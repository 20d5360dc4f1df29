//! `pump lab path`: packets take the time and the losses that were asked for, data arrive whole, and nothing stays
//! behind, also not of a path that was killed.

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use datapump_engine::os::linux::in_net_space;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;

use crate::support::serving::Serving;
use crate::support::{Home, PUMP, expect, has_content, noise_file};

const LEFT: &str = "10.89.0.1";
pub const RIGHT: &str = "10.89.0.2";

/// A path between two namespaces whose names no other test has.
pub struct BoxPath {
    pump: Child,
    output: BufReader<std::process::ChildStdout>,
    spaces: [String; 2],
}

impl BoxPath {
    /// Lays it; none without root.
    pub fn lay(name: &str, words: &[&str]) -> Option<BoxPath> {
        if !geteuid().is_root() {
            eprintln!("not tested: {name}: only root makes network namespaces");
            return None;
        }
        let spaces = ["left", "right"].map(|side| format!("test-{name}-{side}-{}", std::process::id()));
        let mut command = Command::new(PUMP);
        command.args(["lab", "path", "--json", "--left", &spaces[0], "--right", &spaces[1]]).args(words);
        let mut pump = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("pump");
        let mut output = BufReader::new(pump.stdout.take().expect("piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        let path = BoxPath { pump, output, spaces };
        assert!(line.contains("\"event\":\"ready\""), "{line}");
        Some(path)
    }

    fn file(&self, side: usize) -> PathBuf {
        Path::new("/run/netns").join(&self.spaces[side])
    }

    /// Something in the namespace of the left end (0) or the right one.
    pub fn inside<T: Send>(&self, side: usize, run: impl FnOnce() -> T + Send) -> T {
        in_net_space(&self.file(side), || Ok(run())).expect("a namespace")
    }

    /// Nothing passes for so long: the program that passes packets on is stopped, and what waits is lost or late.
    pub fn black_out(&self, time: Duration) {
        let pump = Pid::from_child(&self.pump);
        kill_process(pump, Signal::STOP).expect("it runs");
        std::thread::sleep(time);
        kill_process(pump, Signal::CONT).expect("it stands");
    }

    /// Ends it, and gives what went from left to right, and back.
    pub fn end(mut self) -> (Value, Value) {
        kill_process(Pid::from_child(&self.pump), Signal::TERM).expect("it runs");
        let mut text = String::new();
        self.output.read_to_string(&mut text).expect("text");
        assert_eq!(self.pump.wait().expect("it ends").code(), Some(0), "{text}");
        let stats: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
        assert_eq!(stats["event"], "path_stats", "{text}");
        assert!((0..2).all(|side| !self.file(side).exists()), "namespaces stay behind");
        (stats["there"].clone(), stats["back"].clone())
    }
}

impl Drop for BoxPath {
    fn drop(&mut self) {
        let _ = self.pump.kill();
        let _ = self.pump.wait();
    }
}

#[test]
fn packets_take_the_time_and_the_losses_that_were_asked_for() {
    const PACKETS: usize = 500;
    let Some(path) = BoxPath::lay("losses", &["--rtt", "40ms", "--loss", "1/50", "--drop-at", "7"]) else {
        return;
    };
    let bound =
        |side, address: &str| path.inside(side, || UdpSocket::bind((address, 7000)).expect("a socket"));
    let (left, right) = (bound(0, LEFT), bound(1, RIGHT));
    rustix::net::sockopt::set_socket_recv_buffer_size(&right, 4 << 20).expect("a size");
    right.set_read_timeout(Some(Duration::from_secs(2))).expect("a time");
    left.connect((RIGHT, 7000)).expect("an address");
    let started = Instant::now();
    // No faster than a receiver that hardly gets the CPU has room for.
    let send = || {
        for number in 0..PACKETS as u32 {
            if number.is_multiple_of(20) {
                std::thread::sleep(Duration::from_millis(2));
            }
            left.send(&number.to_le_bytes()).expect("room");
        }
    };
    let mut came = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(send);
        let mut number = [0; 4];
        while right.recv(&mut number).is_ok() {
            came.push(u32::from_le_bytes(number));
            assert!(started.elapsed() >= Duration::from_millis(20), "faster than the path");
        }
    });
    // Counted from 1 as packets are, and the seventh besides.
    let lost: Vec<u32> = (0..PACKETS as u32).filter(|number| !came.contains(number)).collect();
    let expected: Vec<u32> = [6].into_iter().chain((1..=10).map(|loss| loss * 50 - 1)).collect();
    assert_eq!(lost, expected);
    assert!(came.is_sorted());
    let (there, _) = path.end();
    assert_eq!((&there["packets"], &there["lost"]), (&PACKETS.into(), &expected.len().into()));
}

#[test]
fn data_arrive_whole_over_a_path_that_loses_doubles_and_disorders() {
    let words = ["--rtt", "4ms", "--rate", "400Mbit", "--jitter", "500us", "--queue", "300KiB"];
    let bad = ["--loss", "0.005", "--loss-burst", "3", "--reorder", "0.01", "--duplicate", "0.01"];
    let Some(path) = BoxPath::lay("data", &[&words[..], &bad].concat()) else { return };
    let home = Home::new();
    let content = noise_file(&home, "sent", 24 << 20, 1);
    std::fs::create_dir(home.path("served")).expect("room");
    let serve = ["serve", "served", "--ticket-file", "ticket", "--listen", &format!("{RIGHT}:0")];
    let server = path.inside(1, || Serving::start(home.command(&serve)));
    let to = server.at("got");
    let copied = path.inside(0, || home.pump(&["copy", "--ticket-file", "ticket", "sent", &to]));
    drop(server);
    expect(&copied, 0, &[], "over the path");
    has_content(&home.path("served/got"), &content, "over the path");
    let (there, back) = path.end();
    let count = |name: &str| there[name].as_u64().expect("a number");
    assert!(count("lost") > 0 && count("duplicated") > 0 && count("overtook") > 0, "{there}");
    assert!(count("refused") == 0 && back["refused"] == 0, "{there} {back}");
}

/// The session over TCP loses packets, too: of those the path tells how many there were.
#[test]
fn lost_datagrams_are_counted_one_by_one() {
    const SENT: u64 = 5000;
    let Some(path) = BoxPath::lay("udp", &["--rtt", "2ms", "--loss", "1/50"]) else { return };
    let home = Home::new();
    std::fs::create_dir(home.path("served")).expect("room");
    let listen = format!("{RIGHT}:0");
    let serve = ["serve", "served", "--ticket-file", "ticket", "--allow-udp", "100Mbit", "--listen", &listen];
    let server = path.inside(1, || Serving::start(home.command(&serve)));
    let measure = ["lab", "udp", "throughput", "--ticket-file", "ticket", "--json"];
    let words = ["--frame-size", "1000", "--spacing", "200us", "--count", &SENT.to_string(), &server.at("")];
    let run = path.inside(0, || home.pump(&[&measure[..], &words].concat()));
    drop(server);
    expect(&run, 0, &["udp_throughput"], "over the path");
    let figures: Value = serde_json::from_str(run.out.lines().next().expect("a line")).expect("JSON");
    let (there, _) = path.end();
    let [lost, unique] = ["lost", "unique"].map(|name| figures[name].as_u64().expect("a number"));
    let [lost_by_path, packets] = ["lost", "packets"].map(|name| there[name].as_u64().expect("a number"));
    assert_eq!((lost + unique, &figures["sent"]), (SENT, &SENT.into()));
    assert_eq!(lost_by_path, packets / 50, "{there}");
    let of_session = packets - SENT;
    assert!((lost..=lost + of_session.div_ceil(50)).contains(&lost_by_path), "{figures} {there}");
    assert_eq!((&figures["loss_pattern"], &figures["duplicates"]), (&"queue".into(), &0.into()));
}

#[test]
fn what_a_killed_path_left_behind_goes_with_the_next() {
    let Some(mut path) = BoxPath::lay("killed", &["--rtt", "1ms"]) else { return };
    path.pump.kill().expect("it runs");
    path.pump.wait().expect("it ends");
    let next = BoxPath::lay("next", &["--rtt", "1ms"]).expect("root");
    assert!(!path.file(0).exists() && !path.file(1).exists());
    next.end();
}

#[test]
fn a_namespace_that_took_the_name_of_a_killed_path_stays() {
    let Some(mut path) = BoxPath::lay("taken", &["--rtt", "1ms"]) else { return };
    path.pump.kill().expect("it runs");
    path.pump.wait().expect("it ends");
    let taken = path.file(0);
    datapump_engine::os::linux::remove_net_space(&taken).expect("root");
    datapump_engine::os::linux::make_net_space(&taken).expect("root");
    let next = BoxPath::lay("next-taken", &["--rtt", "1ms"]).expect("root");
    assert!(taken.exists() && !path.file(1).exists());
    next.end();
    datapump_engine::os::linux::remove_net_space(&taken).expect("root");
}

#[test]
fn a_namespace_that_was_there_stays() {
    let Some(path) = BoxPath::lay("there", &[]) else { return };
    let other = format!("test-other-{}", std::process::id());
    let file = Path::new("/run/netns").join(&other);
    datapump_engine::os::linux::make_net_space(&file).expect("root");
    let home = Home::new();
    let words = ["lab", "path", "--left", &other, "--right", &path.spaces[0]];
    let addresses = ["--left-address", "10.88.0.1/24", "--right-address", "10.88.0.2/24"];
    let mut command = Command::new(PUMP);
    command
        .args(words)
        .args(addresses)
        .current_dir(home.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut pump = command.spawn().expect("pump");
    let mut line = String::new();
    BufReader::new(pump.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    kill_process(Pid::from_child(&pump), Signal::INT).expect("it runs");
    let code = pump.wait().expect("it ends").code();
    let stays = file.exists() && path.file(0).exists();
    datapump_engine::os::linux::remove_net_space(&file).expect("root");
    assert!(code == Some(0) && stays, "{code:?}");
    path.end();
}

#[test]
fn a_path_that_cannot_be_laid_is_refused() {
    let home = Home::new();
    for (words, status, said) in [
        (&["--left", "a"][..], 2, "--right"),
        (&["--left", "a", "--right", "b", "--left-address", "10.0.0.1"], 2, "write for example 10.9.0.1/24"),
        (&["--left", "a", "--right", "b", "--loss", "1/0"], 2, "is no loss rate"),
        (&["--left", "a", "--right", "b", "--aqm", "codel"], 2, "--rate"),
        (&["--left", "a", "--right", "b", "--mtu", "20"], 2, "mtu"),
        (&["--left", "a", "--right", "a"], 2, "name two"),
        (&["--left", "../a", "--right", "b"], 2, "is no name of a network namespace"),
        (&["--left", "a", "--right", "b", "--rate", "7bit"], 2, "a rate must be from 1kbit"),
        (&["--left", "a", "--right", "b", "--rtt", "2m"], 2, "at most 60s"),
        (&["--left", "a", "--right", "b", "--rtt", "2ms", "--jitter", "2ms"], 2, "at most that"),
        (&["--left", "a", "--right", "b", "--reorder", "0.1"], 2, "nothing to overtake"),
        (&["--left", "a", "--right", "b", "--left-address", "fd00::1/64"], 2, "of one version"),
        (&["--left", "a", "--right", "b", "--left-address", "10.8.0.1/24"], 2, "not in one network"),
    ] {
        let run = home.pump(&[&["lab", "path"], words].concat());
        expect(&run, status, &[said], &format!("{words:?}"));
    }
}
