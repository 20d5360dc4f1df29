//! The verdict's bench, of file systems that a server answers for: each call of some kinds takes long, and that kind and
//! its host must be named, and the right thing advised. `DATAPUMP_CASE` and `DATAPUMP_ROUNDS` as in the wider tests.

mod parts;

use std::time::Duration;

use parts::fuse::Fuse;
use parts::support;
use parts::wider_parts::limits::{LimitRun, LimitTruth, advised_flag, judge_limits, with_hosts};
use parts::wider_parts::report;
use serde_json::Value;
use support::serving::Serving;
use support::{Home, noise};

/// Of half a minute each.
const RUNS_OF_A_FULL_RUN: usize = 60;
const FILES: usize = 60;
const SMALL_BYTES: usize = 500;
const LARGE_BYTES: usize = 2 << 20;
/// As slow as calls to a loaded name server nearby.
const NAME_CALL: Duration = Duration::from_millis(10);
const BLOCK_CALL: Duration = Duration::from_millis(40);
/// Attributes that changed a moment ago are read twice.
const SETTLED_AFTER: Duration = Duration::from_millis(100);
const SYNC_CALL: Duration = Duration::from_millis(1500);

/// A limit: calls that are slow, of which end, and what is right.
struct SlowServer {
    what: &'static str,
    calls: &'static [&'static str],
    time: Duration,
    is_source: bool,
    is_tree: bool,
    flags: &'static [&'static str],
    right: &'static [&'static str],
    advice: &'static [&'static str],
}

const LOOKS: &[&str] = &["lookup", "getattr", "open"];
const CHANGES: &[&str] = &["lookup", "getattr", "setattr", "create", "rename"];
const OF_NAMES: &[&str] = &["--lanes", "--connections", "A file system that is faster with names"];

const SERVERS: &[SlowServer] = &[
    SlowServer {
        what: "names of the target",
        calls: CHANGES,
        time: NAME_CALL,
        is_source: false,
        is_tree: true,
        flags: &[],
        right: &["metadata/names and attributes/WRITER"],
        advice: OF_NAMES,
    },
    SlowServer {
        what: "names of the source",
        calls: LOOKS,
        time: NAME_CALL,
        is_source: true,
        is_tree: true,
        flags: &[],
        right: &["metadata/names and attributes/READER"],
        advice: OF_NAMES,
    },
    SlowServer {
        what: "reads",
        calls: &["read"],
        time: BLOCK_CALL,
        is_source: true,
        is_tree: false,
        flags: &["--request-size", "64KiB"],
        right: &["source/device/READER"],
        advice: &["--source-depth", "--lanes", "Read from a faster device"],
    },
    SlowServer {
        what: "writes",
        calls: &["write"],
        time: BLOCK_CALL,
        is_source: false,
        is_tree: false,
        flags: &["--request-size", "64KiB"],
        right: &["sink/device/WRITER"],
        advice: &["--sink-depth", "--lanes", "Write to a faster device"],
    },
    SlowServer {
        what: "syncs",
        calls: &["fsync"],
        time: SYNC_CALL,
        is_source: false,
        is_tree: false,
        flags: &[],
        right: &["sync/stable storage/WRITER"],
        advice: &["--sync=none"],
    },
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerWay {
    Local,
    Push,
    Pull,
}

impl ServerWay {
    const ALL: [ServerWay; 3] = [ServerWay::Local, ServerWay::Push, ServerWay::Pull];

    /// The host that reads, and the one that writes.
    fn hosts(self) -> (&'static str, &'static str) {
        if self == ServerWay::Local { ("local", "local") } else { ("sender", "receiver") }
    }
}

/// A copy by `verb` whose slow end is a file system of its own.
fn run(server: &SlowServer, way: ServerWay, verb: &str, more: &[&str]) -> Value {
    let (home, fuse) = (Home::new(), Fuse::on_threads(8));
    let name = if server.is_tree { "tree" } else { "file" };
    let folder = if server.is_source { fuse.at("") } else { home.path("").display().to_string() };
    fill(&folder, server.is_tree);
    std::thread::sleep(SETTLED_AFTER);
    fuse.slow.slow_down(server.calls, server.time);
    let target = if server.is_source { home.path("").display().to_string() } else { fuse.at("") };
    let served = if way == ServerWay::Pull { &folder } else { &target };
    let words = ["serve", served, "--ticket-file", "ticket"];
    let serving = (way != ServerWay::Local).then(|| Serving::start(home.command(&words)));
    let there = |name: &str| serving.as_ref().map(|serving| serving.at(name)).unwrap_or_default();
    let (source, target) = match way {
        ServerWay::Local => (format!("{folder}/{name}"), format!("{target}/new")),
        ServerWay::Push => (format!("{folder}/{name}"), there("new")),
        ServerWay::Pull => (there(name), format!("{target}/new")),
    };
    let reach: &[&str] = if way == ServerWay::Local { &[] } else { &["--ticket-file", "ticket"] };
    let words = [&[verb, "--json"], reach, server.flags, more, &[&source, &target]].concat();
    let run = home.pump(&words);
    assert_eq!(run.status, 0, "{}, {way:?}: {run:?}", server.what);
    report(&run)
}

fn fill(folder: &str, is_tree: bool) {
    let write = |path: String, bytes| std::fs::write(path, noise(bytes, 1)).expect("room");
    if !is_tree {
        return write(format!("{folder}/file"), LARGE_BYTES);
    }
    std::fs::create_dir(format!("{folder}/tree")).expect("room");
    (0..FILES).for_each(|number| write(format!("{folder}/tree/{number}"), SMALL_BYTES));
}

#[test]
fn the_calls_that_are_slow_are_what_is_named() {
    let cases: Vec<(&SlowServer, ServerWay)> =
        SERVERS.iter().flat_map(|server| ServerWay::ALL.map(|way| (server, way))).collect();
    let truth = |(server, way): &(&SlowServer, ServerWay)| {
        let (reader, writer) = way.hosts();
        LimitTruth {
            name: format!("{}, {way:?}", server.what),
            what: server.what,
            right: with_hosts(server.right, reader, writer),
            advice: server.advice,
        }
    };
    let truths: Vec<LimitTruth> = cases.iter().map(truth).collect();
    let truths: Vec<&LimitTruth> = truths.iter().collect();
    judge_limits(&truths, RUNS_OF_A_FULL_RUN, &|at| {
        let (server, way) = cases[at];
        let (explain, copy) = (run(server, way, "explain", &[]), run(server, way, "copy", &[]));
        // The calls stay slow, whatever is advised.
        let cured = run(server, way, "copy", &advised_flag(&explain).unwrap_or_default());
        Ok(Some(LimitRun::new(explain, copy, &cured)))
    });
}
