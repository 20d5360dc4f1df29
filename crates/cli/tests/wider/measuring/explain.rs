//! Truth tests of `pump explain SRC DST` and of the verdict of `pump copy`: one part of a copy is throttled by a real
//! limit, and that part must be named. `DATAPUMP_ROUNDS=20` makes that many rounds, each in an order of its own;
//! `DATAPUMP_CASE=path` makes only those that have the word, `DATAPUMP_ONE_CASE_IN=3` every third one.

mod more_limits;
mod predictions;

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::running::Running;
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, make_fifo, make_folder, outcome};
use crate::wider_parts::network::{INTERFACE, Network, Side};
use crate::wider_parts::peer::Peer;
use crate::wider_parts::throttle::{Quota, SlowDisk, device_of};
use crate::wider_parts::truth::{Table, is_meant, is_run, order};
use crate::wider_parts::{Kind, Mount, program, with_content};
use rustix::fs::OFlags;
use serde_json::Value;

const MIB: usize = 1 << 20;
/// What a throttled disk moves in a second; a file lasts for three of them.
const SLOW_BYTES_PER_SECOND: u64 = 8 << 20;
const FILE_BYTES: usize = 24 * MIB;
/// An explanation writes at most one part in twenty of what is free: enough for the file.
const ROOM_MEBIBYTES: u64 = 2048;
/// Each 20 ms a feeder gives so much: 3 MB/s.
const FED_BYTES: usize = 64 << 10;
/// For how long a peer is stopped: longer than the copy takes beside it.
const STOPPED: Duration = Duration::from_secs(3);

/// What the cases share: a disk that can be throttled, files, two hosts.
struct Bench {
    home: Home,
    disk: Mount,
    network: Option<Network>,
}

/// What an explanation and a plain copy said.
struct Said {
    explain: Value,
    copy: Value,
}

impl Bench {
    fn new() -> Bench {
        let (home, disk) = (Home::new(), Mount::of(Kind::Ext4, ROOM_MEBIBYTES));
        with_content(&disk.at("big"), FILE_BYTES, 1);
        with_content(&home.path("big").display().to_string(), FILE_BYTES, 2);
        make_folder(&home, "served");
        with_content(&home.path("served/big").display().to_string(), FILE_BYTES, 3);
        with_content(&home.path("served/large").display().to_string(), 8 * FILE_BYTES, 4);
        program(&["sync"]);
        Bench { home, disk, network: Network::new() }
    }

    fn at(&self, name: &str) -> String {
        self.home.path(name).display().to_string()
    }

    /// The files again as they were, with nothing of them in memory.
    fn tidy(&self) {
        for target in [self.at("target"), self.at("served/target"), self.disk.at("target")] {
            let _ = std::fs::remove_file(target);
        }
        for file in [self.at("big"), self.at("served/big"), self.at("served/large"), self.disk.at("big")] {
            program(&["dd", &format!("if={file}"), "iflag=nocache", "count=0", "status=none"]);
        }
    }

    /// Both commands with the same words.
    fn both(&self, command: &dyn Fn(&[&str]) -> Command, words: &[&str]) -> Said {
        self.both_run(&|words| outcome(command(words), b""), words)
    }

    fn both_run(&self, run: &dyn Fn(&[&str]) -> Outcome, words: &[&str]) -> Said {
        let [explain, copy] = ["explain", "copy"].map(|verb| {
            self.tidy();
            let run = run(&[&[verb, "--json"], words].concat());
            let report = crate::wider_parts::report(&run);
            assert_eq!(run.status, 0, "{verb} {words:?}: {run:?}");
            report
        });
        self.tidy();
        Said { explain, copy }
    }

    fn here(&self, words: &[&str]) -> Command {
        self.home.command(words)
    }

    /// The path takes no more than this where `side` sends.
    fn shape(&self, network: &Network, side: Side, tbf: &[&str]) {
        self.there(
            network,
            side,
            &[&["tc", "qdisc", "replace", "dev", INTERFACE, "root", "tbf"], tbf].concat(),
        );
    }

    fn unshape(&self, network: &Network, side: Side) {
        self.there(network, side, &["tc", "qdisc", "delete", "dev", INTERFACE, "root"]);
    }

    fn there(&self, network: &Network, side: Side, words: &[&str]) {
        let done = network.command(side, &self.home, words).output().expect("ip is installed");
        assert!(done.status.success(), "{words:?}: {done:?}");
    }

    /// Serves a folder on this host.
    fn serve(&self, folder: &str) -> Serving {
        Serving::start(self.here(&["serve", folder, "--ticket-file", "ticket"]))
    }
}

type Told = Option<Said>;

fn slow_source(bench: &Bench) -> Told {
    let _slow = SlowDisk::new(&device_of(&bench.disk.point()), "read", SLOW_BYTES_PER_SECOND)?;
    Some(bench.both(&|words| bench.here(words), &[&bench.disk.at("big"), "target"]))
}

fn slow_far_source(bench: &Bench) -> Told {
    let _slow = SlowDisk::new(&device_of(&bench.disk.point()), "read", SLOW_BYTES_PER_SECOND)?;
    let serving = bench.serve(&bench.disk.point());
    Some(bench.both(&|words| bench.here(words), &["--ticket-file", "ticket", &serving.at("big"), "target"]))
}

fn slow_sink(bench: &Bench) -> Told {
    let slow = SlowDisk::for_writes(&device_of(&bench.disk.point()), SLOW_BYTES_PER_SECOND)?;
    let said = bench.both(&|words| bench.here(words), &["big", &bench.disk.at("target")]);
    drop(slow);
    Some(said)
}

fn slow_far_sink(bench: &Bench) -> Told {
    let _slow = SlowDisk::for_writes(&device_of(&bench.disk.point()), SLOW_BYTES_PER_SECOND)?;
    let serving = bench.serve(&bench.disk.point());
    Some(bench.both(&|words| bench.here(words), &["--ticket-file", "ticket", "big", &serving.at("target")]))
}

/// Each write is on the platter before the next begins, on a disk that is not slow otherwise.
fn far_sink_that_syncs(bench: &Bench) -> Told {
    let point = bench.disk.point();
    program(&["mount", "-o", "remount,sync", &point]);
    let serving = bench.serve(&point);
    let place = serving.at("target");
    let words = ["--request-size", "64KiB", "--ticket-file", "ticket", "big", &place];
    let said = bench.both(&|words| bench.here(words), &words);
    program(&["mount", "-o", "remount,async", &point]);
    Some(said)
}

/// `pump` in a group that may compute for one part of fifty.
fn quota(bench: &Bench, words: &[&str]) -> Told {
    let quota = Quota::new(2)?;
    Some(bench.both(&|words| in_group(&quota, bench, words), words))
}

fn in_group(quota: &Quota, bench: &Bench, words: &[&str]) -> Command {
    let inner = bench.here(words);
    let mut outer = Command::new("sh");
    outer.args(&quota.words()[1..]).arg(inner.get_program()).args(inner.get_args());
    outer.current_dir(bench.home.path("")).stdin(Stdio::null());
    outer
}

/// A server that may compute for a part of the time; `words` have THERE for what it serves.
fn far_quota(bench: &Bench, words: &[&str]) -> Told {
    let quota = Quota::new(5)?;
    let serving = Serving::start(in_group(&quota, bench, &["serve", "served", "--ticket-file", "ticket"]));
    let words: Vec<String> = words.iter().map(|word| word.replace("THERE", &serving.at(""))).collect();
    let words: Vec<&str> =
        ["--ticket-file", "ticket"].into_iter().chain(words.iter().map(String::as_str)).collect();
    Some(bench.both(&|words| bench.here(words), &words))
}

/// The path is slow where `side` sends.
fn slow_path(bench: &Bench, side: Side, tbf: &[&str], serve: &[&str], words: &[&str]) -> Told {
    let network = bench.network.as_ref()?;
    bench.shape(network, side, tbf);
    let serving = network.serve(&bench.home, serve);
    let place = |word: &&str| word.replace("THERE", &serving.at(""));
    let words: Vec<String> = words.iter().map(place).collect();
    let words: Vec<&str> =
        ["--ticket-file", "ticket"].into_iter().chain(words.iter().map(String::as_str)).collect();
    let said = bench.both(&|words| network.pump(Side::Client, &bench.home, words), &words);
    drop(serving);
    bench.unshape(network, side);
    Some(said)
}

const SLOW: [&str; 6] = ["rate", "40mbit", "burst", "64kb", "latency", "50ms"];
const FAST: [&str; 6] = ["rate", "400mbit", "burst", "512kb", "latency", "50ms"];
/// What acknowledges waits for milliseconds: a long way, as far as a small window is concerned.
const LATE: [&str; 6] = ["rate", "1mbit", "burst", "1600", "latency", "2s"];

fn slow_fifo(bench: &Bench) -> Told {
    let path = bench.home.path("fifo");
    let command = |words: &[&str]| {
        // For one copy each.
        let _ = std::fs::remove_file(&path);
        make_fifo(&path);
        bench.here(words)
    };
    // The reader opens it once for the copy; then comes the end.
    let fifo = path.clone();
    let feeder = Peer::start(move |stop| {
        while !stop.load(Ordering::Relaxed) {
            feed(&fifo);
            // Until the reader, too, has seen the end.
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    let said = bench.both(&command, &["fifo", "target"]);
    drop(feeder);
    Some(said)
}

/// Feeds whoever reads; nobody does most of the time.
fn feed(path: &std::path::Path) {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK;
    let Ok(fifo) = rustix::fs::open(path, flags, rustix::fs::Mode::empty()) else { return };
    let _ = rustix::fs::fcntl_setfl(&fifo, OFlags::empty());
    let mut fifo = std::fs::File::from(fifo);
    for _ in 0..FILE_BYTES / 2 / FED_BYTES {
        if fifo.write_all(&[7; FED_BYTES]).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The server is stopped in the middle of the copy, for longer than the rest takes. The path is fast, but no faster
/// than both ends, so that they are stopped while they wait for it: one that stands still anywhere else cannot tell.
fn stopped_peer(bench: &Bench, is_push: bool) -> Told {
    let network = bench.network.as_ref()?;
    let side = if is_push { Side::Client } else { Side::Server };
    bench.shape(network, side, &FAST);
    let serving = network.serve(&bench.home, &[]);
    let (far, folder) = if is_push { ("target", "served") } else { ("big", "") };
    let far = serving.at(far);
    let words: [&str; 2] = if is_push { ["big", &far] } else { [&far, "target"] };
    let run = |words: &[&str]| {
        let mut running = Running::start(network.pump(Side::Client, &bench.home, words));
        running.await_temporary(&bench.home.path(folder));
        // Not while the file is made.
        std::thread::sleep(Duration::from_millis(100));
        serving.signal("STOP");
        std::thread::sleep(STOPPED);
        serving.signal("CONT");
        running.end()
    };
    let said = bench.both_run(&run, &[&["--ticket-file", "ticket"], &words[..]].concat());
    drop(serving);
    bench.unshape(network, side);
    Some(said)
}

/// A throttled part, the copy, what is right (part/reason/host; a star is any), and the run.
type Case = (&'static str, &'static str, &'static [&'static str], fn(&Bench) -> Told);

const RECEIVER_STOPPED: &[&str] = &["network/receive window/receiver", "network/peer/*"];
const SENDER_STOPPED: &[&str] = &["network/*/*"];

const CASES: &[Case] = &[
    ("source disk", "local", &["source/cgroup limit/local"], slow_source),
    ("source disk", "pull", &["source/cgroup limit/sender"], slow_far_source),
    ("sink disk", "local", &["sink/cgroup limit/local"], slow_sink),
    ("sink disk", "push", &["sink/cgroup limit/receiver"], slow_far_sink),
    ("sink that syncs each write", "push", &["sink/device/receiver"], far_sink_that_syncs),
    ("cpu quota", "to nothing", &["cpu/cpu quota/local"], |it| {
        quota(it, &["--request-size", "4KiB", "null:2GiB", "null:"])
    }),
    ("cpu quota", "local", &["cpu/cpu quota/local"], |it| {
        quota(it, &["--direct=never", "served/large", "target"])
    }),
    ("cpu quota", "pull", &["cpu/cpu quota/sender"], |it| far_quota(it, &["THERElarge", "target"])),
    ("cpu quota", "push", &["cpu/cpu quota/receiver"], |it| far_quota(it, &["served/large", "THEREtarget"])),
    ("path", "push", &["network/*/*"], |it| slow_path(it, Side::Client, &SLOW, &[], &["big", "THEREtarget"])),
    ("path", "pull", &["network/*/*"], |it| slow_path(it, Side::Server, &SLOW, &[], &["THEREbig", "target"])),
    ("small socket buffer", "push", &["network/*/*"], |it| {
        slow_path(it, Side::Server, &LATE, &["--socket-buffer", "64KiB"], &["big", "THEREtarget"])
    }),
    ("fifo", "local", &["source/pipe/local"], slow_fifo),
    ("reader of a pipe", "local", &["sink/pipe/local"], more_limits::slow_reader),
    ("idle host", "to nothing", &["cpu/*/local"], |it| {
        Some(it.both(&|words| it.here(words), &["--request-size", "4KiB", "null:2GiB", "null:"]))
    }),
    ("busy host", "local", &["cpu/waiting for a cpu/local"], more_limits::busy_host),
    ("busy host", "pull", &["cpu/waiting for a cpu/sender"], |it| {
        more_limits::busy_server(it, &["THERElarge", "null:"])
    }),
    ("busy host", "push", &["cpu/waiting for a cpu/receiver"], |it| {
        more_limits::busy_server(it, &["null:512MiB", "THEREtarget"])
    }),
    ("rate limit", "local", &["source/rate limit/*"], |it| {
        Some(it.both(&|words| it.here(words), &["--bwlimit", "8MiB", "big", "target"]))
    }),
    ("rate limit", "push", &["source/rate limit/*"], |it| {
        let serving = it.serve("served");
        let words = ["--ticket-file", "ticket", "--bwlimit", "8MiB", "big", &serving.at("target")];
        Some(it.both(&|words| it.here(words), &words))
    }),
    ("store on the web", "local", &["network/server or path/local"], more_limits::slow_store),
    ("source disk", "ssh", &["source/cgroup limit/sender"], more_limits::slow_disk_behind_ssh),
    ("source disk", "tree", &["source/cgroup limit/local"], more_limits::slow_tree),
    ("stopped peer", "push", RECEIVER_STOPPED, |it| stopped_peer(it, true)),
    ("stopped peer", "pull", SENDER_STOPPED, |it| stopped_peer(it, false)),
];

/// What was named, and where.
fn named(report: &Value) -> (String, String, String) {
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let detail = &report["limited_detail"];
    let (part, why) = (word(&report["limited_by"]), word(&detail["why"]));
    let words = format!(
        "{part} ({why}, {}: {} of {} ms)",
        word(&detail["host"]),
        ms(&detail["waited_ns"]),
        ms(&detail["of_ns"])
    );
    eprintln!("  {words}");
    (part, why, word(&detail["host"]))
}

/// The right verdict has stars.
fn fits(right: &str, named: &(String, String, String)) -> bool {
    let words = [&named.0, &named.1, &named.2];
    right.split('/').zip(words).all(|(right, word)| right == "*" || right == word)
}

fn ms(ns: &Value) -> u64 {
    ns.as_u64().unwrap_or(0) / 1_000_000
}

/// Only there may two parts be called equal where two are within a tenth.
fn is_close(explain: &Value) -> bool {
    let speed = |field: &str| explain[field].as_f64();
    match (speed("predicted_bytes_per_second"), speed("next_part_bytes_per_second")) {
        (Some(slowest), Some(next)) => next <= 1.1 * slowest,
        _ => false,
    }
}

/// Predicted and observed, in MB/s, and the parts.
fn speeds(explain: &Value) -> String {
    let mb = |value: &Value| value.as_f64().map_or("-".into(), |speed| format!("{:.2}", speed / 1e6));
    let parts = explain["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let part =
        |part: &Value| format!("{} {}", part["name"].as_str().unwrap_or(""), mb(&part["bytes_per_second"]));
    let (predicted, observed) =
        (mb(&explain["predicted_bytes_per_second"]), mb(&explain["observed_bytes_per_second"]));
    let parts: Vec<String> = parts.iter().map(part).collect();
    format!(
        "  MB/s: predicted {predicted}, observed {observed}; {}; {} ms besides the copy\n  {}",
        parts.join(", "),
        ms(&explain["added_ns"]),
        explain["advice"].as_str().unwrap_or("")
    )
}

#[test]
fn the_part_that_is_throttled_is_the_part_that_is_named() {
    let bench = Bench::new();
    let (mut explained, mut copied) = (Table::default(), Table::default());
    for at in order(CASES.len()) {
        let (throttled, mover, right, run) = CASES[at];
        let name = format!("{throttled}, {mover}");
        if !is_meant(&name) || !is_run(at, &name) {
            continue;
        }
        eprintln!("{name}");
        let Some(said) = run(&bench) else { continue };
        eprintln!("{}", speeds(&said.explain));
        let is_close = is_close(&said.explain);
        for (table, report) in [(&mut explained, &said.explain), (&mut copied, &said.copy)] {
            let named = named(report);
            let is_right = right.iter().any(|right| fits(right, &named));
            let is_right = is_right || named.0 == "balanced" && is_close;
            table.add(&name, format!("{} ({}, {})", named.0, named.1, named.2), is_right);
        }
    }
    eprintln!("pump explain:");
    explained.print();
    eprintln!("pump copy:");
    copied.print();
    copied.judge();
    explained.judge();
}
