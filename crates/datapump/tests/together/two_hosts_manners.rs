//! Limits and manners between two hosts: rates are kept, who is busy is waited for, sockets are as asked or nothing is
//! begun.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::net_parts::{Served, make_tree, noise};
use datapump::{Event, Job, Options, Place, ServeOptions, SocketOptions};

const BYTES: u64 = 3_000_000;
const RATE: u64 = 4_000_000;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(tempfile::tempdir().expect("room"));
        std::fs::create_dir(home.0.path().join("served")).expect("room");
        std::fs::write(home.0.path().join("one"), "1").expect("room");
        for name in ["file", "served/there"] {
            std::fs::write(home.0.path().join(name), noise(BYTES as usize)).expect("room");
        }
        home
    }

    fn place(&self, name: &str) -> Place {
        Place::Path(self.0.path().join(name))
    }

    fn options(&self) -> ServeOptions {
        ServeOptions::for_place(self.place("served"))
    }

    fn has(&self, name: &str) -> bool {
        self.0.path().join(name).exists()
    }
}

/// Half of what the rate allows: a limit is a promise, whatever else the host does meanwhile.
fn kept(bytes: u64, since: Instant) -> bool {
    since.elapsed() >= Duration::from_secs_f64(0.5 * bytes as f64 / RATE as f64)
}

#[test]
fn a_copy_keeps_its_rate_in_both_directions() {
    let home = Home::new();
    make_tree(&home.0.path().join("tree"));
    let served = Served::new(home.options());
    let limited = Options::default().with(|it| it.tuning.bytes_per_second = Some(RATE));
    for (name, source, target, bytes) in [
        ("push", home.place("file"), served.place("new"), BYTES),
        ("pull", served.place("there"), home.place("got"), BYTES),
        ("push of a tree", home.place("tree"), served.place("tree"), 6_900_000),
    ] {
        let since = Instant::now();
        let (report, said) = served.copy(vec![source], target, limited.clone());
        assert_eq!((report.exit_status, &said[..]), (0, &[][..]), "{name}");
        assert!(report.bytes >= bytes && kept(bytes, since), "{name}: {:?}", since.elapsed());
        assert!(report.waits_ns.rate_limit > 0, "{name}: {report:?}");
    }
}

#[test]
fn a_server_keeps_its_rate_over_all_sessions() {
    let home = Home::new();
    let served = Served::new(ServeOptions { bytes_per_second: Some(RATE), ..home.options() });
    let since = Instant::now();
    std::thread::scope(|scope| {
        for (source, target) in
            [(home.place("file"), served.place("one")), (served.place("there"), home.place("other"))]
        {
            let served = &served;
            scope.spawn(move || {
                let (report, said) = served.copy(vec![source], target, Options::default());
                assert_eq!((report.exit_status, &said[..]), (0, &[][..]));
            });
        }
    });
    assert!(kept(2 * BYTES, since), "{:?}", since.elapsed());
}

/// A client that goes away is not slept for.
#[test]
fn a_slow_session_ends_with_its_client() {
    let home = Home::new();
    let served = Served::new(ServeOptions { bytes_per_second: Some(1000), ..home.options() });
    for (source, target) in
        [(home.place("file"), served.place("one")), (served.place("there"), home.place("other"))]
    {
        let stop = Arc::new(AtomicBool::new(false));
        let copy = served.remote(vec![source], target).stop(Arc::clone(&stop));
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        let report = copy.run_reported(&|_| {});
        stopper.join().expect("no panic");
        assert_eq!(report.exit_status, 20);
    }
    // The server must be able to end at once, too: that is what dropping it waits for.
}

/// Somebody else hears of warnings and of files, too.
fn run(copy: Job, heard: &(dyn Fn() + Sync)) -> (i32, Vec<String>) {
    let said = Mutex::new(Vec::new());
    let report = copy.run_reported(&|event| match event {
        Event::Warning(words) => {
            said.lock().expect("no panic").push(words);
            heard();
        }
        Event::Problem(problem) => said.lock().expect("no panic").push(problem.to_string()),
        Event::File { .. } => heard(),
        _ => {}
    });
    (report.exit_status, said.into_inner().expect("no panic"))
}

/// Stops a copy when it goes.
struct Ends(Arc<AtomicBool>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn who_is_busy_is_asked_again_and_told_of_once() {
    let home = Home::new();
    std::fs::write(home.0.path().join("large"), vec![7; 160 << 20]).expect("room");
    let sessions = ServeOptions { sessions_max: 1, ..home.options() };
    let memory = ServeOptions { memory_bytes: 16 << 20, ..home.options() };
    for (served, words) in [(Served::new(sessions), "--max-sessions"), (Served::new(memory), "memory free")] {
        // Whichever blocks land before the short file, it is there in seconds; the whole takes most of a minute.
        let slow = Options::default().with(|it| it.tuning.bytes_per_second = Some(RATE));
        let (stop, sources) =
            (Arc::new(AtomicBool::new(false)), vec![home.place("one"), home.place("large")]);
        let first = served.remote(sources, served.place(""));
        let first = first.stop(Arc::clone(&stop)).options(slow);
        let (begun, begins) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let tell = move || begun.send(()).unwrap_or_default();
            let first = scope.spawn(move || run(first, &tell));
            // What fails below must not wait for hours for the slow one.
            let _ends = Ends(Arc::clone(&stop));
            begins.recv().expect("its first file is there soon");
            let other = || served.remote(vec![home.place("file")], served.place("b"));
            let (status, said) = run(other(), &|| {});
            assert_eq!((status, said.len()), (5, 1), "at once, without patience: {said:?}");
            assert!(said[0].contains(words), "{said:?}");
            let patient = other().retry_for(Duration::from_secs(60));
            let (status, said) = run(patient, &|| stop.store(true, Ordering::Relaxed));
            assert_eq!((status, said.len()), (0, 1), "once there is room: {said:?}");
            assert!(said[0].contains(words), "{said:?}");
            assert_eq!(first.join().expect("no panic").0, 20);
        });
        std::fs::remove_file(home.0.path().join("served/b")).expect("it was copied");
    }
}

#[test]
fn a_report_tells_of_both_hosts() {
    let home = Home::new();
    let served = Served::new(home.options());
    for (name, source, target) in [
        ("push", home.place("file"), served.place("new")),
        ("pull", served.place("there"), home.place("got")),
    ] {
        let (report, said) = served.copy(vec![source], target, Options::default());
        assert_eq!((report.exit_status, &said[..]), (0, &[][..]), "{name}");
        let network = report.network.expect("there were connections");
        assert!(network.connections > 0 && network.sent_segments > 0, "{name}: {network:?}");
        assert!(network.rtt_us > 0, "{name}: {network:?}");
        assert!(network.sealing_ns > 0 && network.opening_ns > 0, "{name}: {network:?}");
        let cpu = report.cpu_remote.expect("the other side reports it");
        assert!(cpu.total_ns() > 0, "{name}: {cpu:?}");
        let detail = &report.limited_detail;
        assert!(
            ["sender", "receiver"].contains(&detail.host.as_str()) && detail.of_ns > 0,
            "{name}: {detail:?}"
        );
    }
}

#[test]
fn sockets_are_as_asked_or_nothing_is_begun() {
    let home = Home::new();
    let served = Served::new(home.options());
    let with = |sockets: SocketOptions| Options::default().with(|it| it.network.sockets = sockets);
    let named = |name: &str| SocketOptions { congestion: Some(name.into()), ..SocketOptions::default() };
    let (report, said) =
        served.copy(vec![home.place("file")], served.place("new"), with(named("no-such-control")));
    assert_eq!((report.exit_status, said.len()), (2, 1), "{said:?}");
    assert!(said[0].contains("available: ") && said[0].contains("reno"), "{said:?}");
    assert!(!home.has("served/new"));
    let sockets = SocketOptions { buffer_bytes: Some(65_536), ..named("reno") };
    for (source, target) in
        [(home.place("file"), served.place("new")), (served.place("there"), home.place("got"))]
    {
        let (report, said) = served.copy(vec![source], target, with(sockets.clone()));
        assert_eq!((report.exit_status, &said[..]), (0, &[][..]));
    }
}
