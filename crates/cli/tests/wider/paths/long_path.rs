//! Copies over a long path in a box: as many connections as the path needs, and no more.

use std::path::Path;
use std::time::Duration;

use crate::paths::box_path::{BoxPath, RIGHT};
use crate::support::running::Running;
use crate::support::serving::Serving;
use crate::support::{Home, has_content, noise_file};
use crate::wider_parts::program;
use rustix::process::Signal;
use serde_json::Value;

/// What a connection may have under way at both ends, so that one alone does not fill a path.
fn small_buffers(path: &BoxPath) {
    for (name, value) in [("tcp_wmem", "4096 16384 262144"), ("tcp_rmem", "4096 131072 524288")] {
        let file = Path::new("/proc/sys/net/ipv4").join(name);
        (0..2).for_each(|side| path.inside(side, || std::fs::write(&file, value).expect("root")));
    }
}

/// The report of a copy to the right end of a path or from it.
pub(crate) fn report(path: &BoxPath, pushes: bool, mib: usize, words: &[&str]) -> Value {
    let home = Home::new();
    let content = noise_file(&home, "sent", mib << 20, 1);
    std::fs::create_dir(home.path("served")).expect("room");
    std::fs::copy(home.path("sent"), home.path("served/sent")).expect("room");
    let serve = ["serve", "served", "--ticket-file", "ticket", "--listen", &format!("{RIGHT}:0")];
    let server = path.inside(1, || Serving::start(home.command(&serve)));
    let (from, to) =
        if pushes { ("sent".to_string(), server.at("got")) } else { (server.at("sent"), "got".to_string()) };
    let copy = [&["copy", "--json", "--ticket-file", "ticket"][..], words, &[&from, &to]].concat();
    let run = path.inside(0, || home.pump(&copy));
    assert_eq!(run.status, 0, "{run:?}");
    has_content(&home.path(if pushes { "served/got" } else { "got" }), &content, "over the path");
    let last = run.out.lines().last().expect("a report");
    serde_json::from_str(last).expect("JSON")
}

#[test]
fn where_buffers_bound_a_connection_there_are_more_of_them() {
    let Some(path) = BoxPath::lay("buffers", &["--rtt", "60ms", "--rate", "800Mbit"]) else { return };
    small_buffers(&path);
    for pushes in [true, false] {
        let report = report(&path, pushes, 36, &[]);
        let lanes = report["lanes"].as_u64().expect("a number");
        assert!((8..=16).contains(&lanes), "pushes {pushes}: {report}");
        assert!(report["lanes_why"].is_string(), "pushes {pushes}: {report}");
        let asked = self::report(&path, pushes, 4, &["--connections", "2"]);
        assert_eq!((&asked["lanes"], &asked["lanes_why"]), (&2.into(), &Value::Null), "pushes {pushes}");
    }
}

#[test]
fn a_server_with_little_memory_or_few_connections_is_asked_for_no_more() {
    let Some(path) = BoxPath::lay("little", &["--rtt", "60ms", "--rate", "800Mbit"]) else { return };
    small_buffers(&path);
    let home = Home::new();
    let content = noise_file(&home, "sent", 16 << 20, 1);
    for limit in [["--memory", "16MiB"], ["--max-connections", "2"]] {
        let served = format!("served{}", limit[0]);
        std::fs::create_dir(home.path(&served)).expect("room");
        let listen = format!("{RIGHT}:0");
        let serve = ["serve", &served, "--ticket-file", "ticket", "--listen", &listen, limit[0], limit[1]];
        let server = path.inside(1, || Serving::start(home.command(&serve)));
        for (from, to, got) in [
            ("sent".to_string(), server.at("got"), format!("{served}/got")),
            (server.at("got"), "back".to_string(), "back".to_string()),
        ] {
            let copy = ["copy", "--json", "--ticket-file", "ticket", &from, &to];
            let run = path.inside(0, || home.pump(&copy));
            assert_eq!(run.status, 0, "{limit:?}: {run:?}");
            has_content(&home.path(&got), &content, "over the path");
            let last = run.report();
            let sessions = run.err.matches("trying again").count();
            assert_eq!((&last["lanes"], sessions), (&2.into(), 0), "{limit:?}, {got}: {last}");
            std::fs::remove_file(home.path("back")).unwrap_or_default();
        }
    }
}

/// The samples of the connection that moved the data, of a copy of null bytes over a path, plain.
pub(crate) fn traced(path: &BoxPath, words: &[&str]) -> Vec<Value> {
    let home = Home::new();
    let listen = format!("{RIGHT}:0");
    let serve = ["serve", "null:", "--ticket-file", "ticket", "--listen", &listen];
    let server = path.inside(1, || Serving::start(home.command(&serve)));
    let own = ["copy", "--ticket-file", "ticket", "--connections=1", "--tcp-trace", "series"];
    let target = server.at("x");
    let words = [&own[..], words, &[&target]].concat();
    let run = path.inside(0, || home.pump(&words));
    assert_eq!(run.status, 0, "{run:?}");
    let series = std::fs::read_to_string(home.path("series")).expect("a series");
    let all: Vec<Value> = series.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let sent = |sample: &&Value| sample["bytes_acked"].as_u64();
    let socket = all.iter().max_by_key(sent).expect("samples")["socket"].clone();
    all.into_iter().filter(|sample| sample["socket"] == socket).collect()
}

/// So that the kernel of the side that sends takes nothing for lost because an answer is late, where this machine is
/// busy: no probe of the last segment (tail loss probe), which counts as sent again, and a patient timeout. The window
/// has room for all that may wait to be sent at once, so that it has no reason to grow, either.
fn wait_for_answers(path: &BoxPath) {
    small_buffers(path);
    path.inside(0, || {
        std::fs::write("/proc/sys/net/ipv4/tcp_early_retrans", "0").expect("root");
        let devices = program(&["ip", "-o", "route", "get", RIGHT]);
        let device = devices.split_whitespace().skip_while(|word| *word != "dev").nth(1).expect("a device");
        program(&["ip", "route", "add", RIGHT, "dev", device, "initcwnd", "600", "rto_min", "20s"]);
    });
}

/// Where the program is the bottleneck TCP has no reason to do anything.
#[test]
fn s65_a_source_that_is_held_back_has_a_level_window_and_loses_nothing() {
    let Some(path) = BoxPath::lay("held", &["--rtt", "20ms", "--rate", "400Mbit"]) else { return };
    wait_for_answers(&path);
    let words = ["--congestion=reno", "--request-size=64KiB", "--bwlimit=3MB", "null:12MiB"];
    let samples = traced(&path, &words);
    let of = |name: &str| samples.iter().map(|it| it[name].as_u64().expect("a number")).collect::<Vec<_>>();
    let (windows, again) = (of("cwnd_segments"), of("retransmitted_segments"));
    // Behind the last of the data the connection idles, and begins anew.
    let acked = of("bytes_acked");
    let flows = acked.iter().take_while(|it| *it < acked.last().expect("samples")).count();
    let settled = &windows[flows / 2..flows];
    assert!(settled.len() > 20 && settled.iter().all(|it| it == &settled[0]), "{windows:?}");
    assert_eq!(again.last(), Some(&0), "{again:?}");
}

/// Whether the kernel spreads what the connections of this side send: a limit of the rate, which no path has, is set.
fn is_paced(path: &BoxPath, side: usize) -> bool {
    let told = path.inside(side, || program(&["ss", "-tinO"]));
    told.contains("bps/8796093022208bps")
}

/// A file and a server of it at the far side; what is to be found while it is pushed there (false) and pulled.
fn while_it_is_sent(path: &BoxPath, (side, address): (usize, &str), look: impl Fn(bool)) {
    let home = Home::new();
    std::fs::create_dir(home.path("served")).expect("room");
    noise_file(&home, "sent", 64 << 20, 1);
    std::fs::copy(home.path("sent"), home.path("served/sent")).expect("room");
    let serve = ["serve", "served", "--ticket-file", "ticket", "--listen", &format!("{address}:0")];
    let server = path.inside(side, || Serving::start(home.command(&serve)));
    let (push, pull) = (["sent", &server.at("got")], [&server.at("sent"), "got"]);
    for (is_pull, [from, to]) in [(false, push), (true, pull)] {
        let words = ["copy", "--ticket-file=ticket", "--bwlimit=8MB", "--progress=always", from, to];
        let mut copy = path.inside(0, || Running::start(home.command(&words)));
        copy.await_bytes();
        look(is_pull);
        copy.signal(Signal::KILL);
        copy.end();
    }
}

#[test]
fn what_is_sent_over_a_long_path_is_paced() {
    let Some(path) = BoxPath::lay("paced", &["--rtt", "20ms", "--rate", "400Mbit"]) else { return };
    while_it_is_sent(&path, (1, RIGHT), |is_pull| {
        let sends = usize::from(is_pull);
        assert!(is_paced(&path, sends), "pull: {is_pull}");
        assert!(!is_paced(&path, 1 - sends), "pull: {is_pull}: the side that receives");
    });
}

/// Over the loopback of one namespace, where the kernel alone passes packets on: a busy machine makes a path that a
/// program lays as long as it likes.
#[test]
fn what_is_sent_over_a_short_path_is_not_paced() {
    let Some(path) = BoxPath::lay("unpaced", &[]) else { return };
    path.inside(0, || drop(program(&["ip", "link", "set", "lo", "up"])));
    while_it_is_sent(&path, (0, "127.0.0.1"), |is_pull| assert!(!is_paced(&path, 0), "pull: {is_pull}"));
}

/// A minute with the times of the defaults; here all of it is a fifteenth.
#[test]
fn a_copy_over_a_path_that_loses_everything_for_a_while_goes_on() {
    let Some(path) = BoxPath::lay("outage", &["--rtt", "20ms", "--rate", "200Mbit"]) else { return };
    let home = Home::new();
    let content = noise_file(&home, "sent", 100 << 20, 1);
    std::fs::create_dir(home.path("served")).expect("room");
    let listen = format!("{RIGHT}:0");
    let serve = ["serve", "served", "--ticket-file", "ticket", "--listen", &listen, "--peer-timeout", "2s"];
    let server = path.inside(1, || Serving::start(home.command(&serve)));
    for (from, to, got) in
        [("sent".to_string(), server.at("got"), "served/got"), (server.at("got"), "back".into(), "back")]
    {
        let copy = ["copy", "--json", "--ticket-file", "ticket", "--peer-timeout", "2s", &from, &to];
        let run = std::thread::scope(|scope| {
            let run = scope.spawn(|| path.inside(0, || home.pump(&copy)));
            // Some of the four seconds that it takes.
            std::thread::sleep(Duration::from_millis(1500));
            path.black_out(Duration::from_secs(4));
            run.join().expect("no panic")
        });
        assert_eq!(run.status, 0, "{got}: {run:?}");
        has_content(&home.path(got), &content, got);
        assert!(run.err.contains("connection lost") || run.err.contains("again"), "{got}: {}", run.err);
    }
}
