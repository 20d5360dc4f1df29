//! Watches that can be refused or must tell something, the table of verdicts, and their words.

use std::process::Command;

use super::verdict::verdict;
use super::wait::Doing;
use super::watched::{Process, Thread, Watched, WatchedConnection, WatchedDevice, WatchedFile};
use super::*;

const S: u64 = 1_000_000_000;

/// A thread that did these things for so many of 100 rounds.
fn thread(doing: &[(Doing, u32)]) -> Thread {
    let running = doing
        .iter()
        .filter(|(kind, _)| *kind == Doing::Running)
        .map(|(_, count)| u64::from(*count))
        .sum::<u64>();
    Thread { doing: doing.iter().copied().collect(), cpu_ns: running * S / 100, ..Thread::default() }
}

/// Watched for a second, in 100 rounds.
fn of(threads: Vec<Thread>) -> Watched {
    let process = Process { called_read_bytes: 1 << 20, ..Process::default() };
    Watched { elapsed_ns: S, rounds: 100, processes: vec![process], threads, ..Watched::default() }
}

fn alone(doing: &[(Doing, u32)]) -> Watched {
    of(vec![thread(doing)])
}

fn with_device(doing: &[(Doing, u32)], device: WatchedDevice) -> Watched {
    Watched { devices: vec![device], ..alone(doing) }
}

fn with_connection(doing: &[(Doing, u32)], connection: WatchedConnection) -> Watched {
    Watched { connections: vec![connection], ..alone(doing) }
}

/// A source that is busy all the time, with large requests.
fn disk() -> WatchedDevice {
    WatchedDevice {
        source: true,
        busy_ns: S,
        reads: 100,
        read_bytes: 100 << 20,
        read_ns: 2 * S,
        ..WatchedDevice::default()
    }
}

/// A sender that always has something to send.
fn path() -> WatchedConnection {
    WatchedConnection {
        samples: 100,
        sent_bytes: 1 << 20,
        busy_ns: S,
        sent_segments: 1000,
        unsent_samples: 100,
        rtt_us: 1100,
        min_rtt_us: 1000,
        ..Default::default()
    }
}

fn check(rows: Vec<(&str, Watched, &str, &str, &str)>) {
    for (row, watched, limited_by, stage, why) in rows {
        let found = verdict(&watched);
        let detail = &found.limited_detail;
        let got = (found.limited_by.words(), detail.stage.as_str(), detail.why.words());
        assert_eq!(got, (limited_by, stage, why), "{row}: {:?}", found.shares);
        assert!(!paragraph(&watched, &found).is_empty(), "{row}");
    }
}

#[test]
fn ends_are_named_by_who_waits_for_them() {
    use Doing::*;
    let sink = WatchedDevice {
        source: false,
        sink: true,
        writes: 100,
        write_bytes: 100 << 20,
        write_ns: 9 * S,
        ..disk()
    };
    let ruled_sink = WatchedDevice { write_rule: Some("8:0 1".into()), ..sink.clone() };
    let ruled = WatchedDevice { read_rule: Some("8:0 1".into()), ..disk() };
    let idle = WatchedDevice { busy_ns: S / 5, ..disk() };
    let small = WatchedDevice { reads: 25_600, read_ns: S, ..disk() };
    let shared = WatchedDevice { sink: true, writes: 9, write_bytes: 90 << 20, ..disk() };
    check(vec![
        ("a slow source", with_device(&[(Source, 90), (Sink, 5)], disk()), "source", "read", "device"),
        ("a slow sink", with_device(&[(Sink, 90), (Source, 5)], sink.clone()), "sink", "write", "device"),
        (
            "both",
            with_device(&[(Sink, 48), (Source, 50)], sink.clone()),
            "balanced",
            "read",
            "two stages take equal time",
        ),
        ("syncs", with_device(&[(Sync, 80), (Sink, 10)], sink.clone()), "sink", "sync", "stable storage"),
        ("a rule for syncs", with_device(&[(Sync, 80)], ruled_sink), "sink", "sync", "cgroup limit"),
        ("a rule", with_device(&[(Source, 90)], ruled), "source", "read", "cgroup limit"),
        ("an idle device", with_device(&[(Source, 90)], idle), "source", "read", "round trips"),
        ("small requests one by one", with_device(&[(Source, 90)], small), "source", "read", "round trips"),
        ("one device", with_device(&[(Source, 90)], shared), "source", "read", "shared device"),
        ("a file on no device", alone(&[(Source, 90)]), "source", "read", "device"),
        ("a pipe that is fed slowly", alone(&[(PipeIn, 90), (Sink, 3)]), "source", "read", "pipe"),
        ("a pipe that is emptied slowly", alone(&[(PipeOut, 90)]), "sink", "write", "pipe"),
        ("names", alone(&[(Metadata, 60), (Sink, 20)]), "metadata", "metadata", "names and attributes"),
        ("a rate limit", alone(&[(Sleep, 90), (Source, 2)]), "source", "read", "rate limit"),
        ("queued reads", with_device(&[(Queue, 95)], disk()), "source", "read", "device"),
        ("queued writes", with_device(&[(Queue, 95)], sink), "sink", "write", "device"),
    ]);
}

/// Where a ring of requests is waited for and no device is busy, a pipe is: `pump copy - file`.
#[test]
fn queued_requests_that_no_device_has_are_for_a_pipe() {
    use Doing::*;
    let file = |kind: &'static str, role, other: Option<&str>| WatchedFile {
        kind,
        role,
        other_process: other.map(String::from),
        ..WatchedFile::default()
    };
    let sink = WatchedDevice {
        source: false,
        sink: true,
        writes: 9,
        write_bytes: 9 << 20,
        write_ns: S / 50,
        ..WatchedDevice::default()
    };
    let of = |files: &[WatchedFile], busy_ns| Watched {
        files: files.to_vec(),
        ..with_device(&[(Queue, 95)], WatchedDevice { busy_ns, ..sink.clone() })
    };
    let outer = file("pipe", Role::Source, Some("yes (7)"));
    let (inner, log) = (file("pipe", Role::Source, None), file("file", Role::Sink, None));
    let emptied = file("fifo", Role::Sink, Some("gzip (8)"));
    let read = file("file", Role::Source, None);
    let mut chain = of(&[inner.clone(), log.clone()], S / 50);
    chain.threads.push(thread(&[(Running, 99)]));
    check(vec![
        ("a pipe that is fed slowly", of(&[outer.clone(), log.clone()], S / 50), "source", "read", "pipe"),
        ("a named one, emptied slowly", of(&[read.clone(), emptied], S / 50), "sink", "write", "pipe"),
        ("a disk that is busy", of(&[outer.clone(), log.clone()], S), "sink", "write", "device"),
        ("a file is read, too", of(&[outer, read, log], S / 50), "sink", "write", "round trips"),
        ("the other end computes", chain, "cpu", "compute", "computing"),
    ]);
}

/// `dd if=/dev/urandom of=file`: direct I/O would not help.
#[test]
fn random_bytes_are_computed_and_not_copied() {
    let of = |reads_random, files: &[WatchedFile]| {
        let thread = Thread { system_ns: S, ..thread(&[(Doing::Running, 99)]) };
        Watched { reads_random, files: files.to_vec(), ..self::of(vec![thread]) }
    };
    let (sink, source) = (WatchedFile { role: Role::Sink, ..WatchedFile::default() }, WatchedFile::default());
    let with = |sent_bytes, received_bytes, sink: &WatchedFile| {
        let connection = WatchedConnection { sent_bytes, received_bytes, ..WatchedConnection::default() };
        Watched { connections: vec![connection], ..of(true, std::slice::from_ref(sink)) }
    };
    check(vec![
        ("a generator", of(true, std::slice::from_ref(&sink)), "cpu", "compute", "computing"),
        ("a copy that has it open", of(true, &[source.clone(), sink.clone()]), "cpu", "compute", "copying"),
        ("a copy", of(false, &[source, sink.clone()]), "cpu", "compute", "copying"),
        ("a download", with(0, 1 << 30, &sink), "cpu", "compute", "copying"),
        ("a generator that sends", with(1 << 30, 0, &sink), "cpu", "compute", "computing"),
    ]);
    let random = std::fs::File::open("/dev/urandom").expect("it is there");
    let own = descriptors(std::process::id()).expect("our own");
    assert!(own.values().any(Descriptor::is_random), "{random:?} {own:?}");
}

#[test]
fn what_is_stopped_is_not_watched_for_longer() {
    let still = Watched { stopped: true, processes: Vec::new(), ..alone(&[(Doing::Other, 99)]) };
    assert!(verdict(&still).advice.contains("kill -CONT"), "{:?}", verdict(&still));
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep runs");
    let signal = |signal| {
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).expect("our own");
    };
    signal(rustix::process::Signal::STOP);
    let seen = watch(child.id(), Duration::from_millis(50), &Arc::default()).expect("it is there");
    signal(rustix::process::Signal::KILL);
    child.wait().expect("it ended");
    assert!(seen.stopped && !seen.ended, "{seen:?}");
}

#[test]
fn a_chain_is_limited_by_the_one_that_does_not_wait_for_the_others() {
    use Doing::*;
    let ssh = || thread(&[(Poll, 98), (Running, 2)]);
    let rows = vec![
        (
            "rsync from a slow disk",
            of(vec![thread(&[(Source, 93)]), thread(&[(Within, 99)]), ssh()]),
            "source",
            "read",
            "device",
        ),
        (
            "ssh that computes",
            of(vec![thread(&[(Within, 95)]), thread(&[(Running, 97), (Poll, 3)])]),
            "cpu",
            "compute",
            "computing",
        ),
        (
            "reads and writes at once",
            of(vec![thread(&[(Source, 95)]), thread(&[(Sink, 93)])]),
            "balanced",
            "read",
            "two stages take equal time",
        ),
    ];
    check(rows);
}

#[test]
fn networks_are_named_with_the_window_that_is_full() {
    use Doing::*;
    let out = [(NetworkOut, 95)];
    check(vec![
        ("a path", with_connection(&out, path()), "network", "send", "congestion window"),
        (
            "a peer that reads slowly",
            with_connection(&out, WatchedConnection { receive_window_limited_ns: S * 9 / 10, ..path() }),
            "network",
            "send",
            "receive window",
        ),
        (
            "a peer that does not read",
            with_connection(&out, WatchedConnection { no_window_samples: 90, busy_ns: 0, ..path() }),
            "network",
            "send",
            "receive window",
        ),
        (
            "a small buffer",
            with_connection(&out, WatchedConnection { send_buffer_limited_ns: S * 9 / 10, ..path() }),
            "network",
            "send",
            "send buffer",
        ),
        (
            "loss",
            with_connection(&out, WatchedConnection { retransmitted_segments: 20, ..path() }),
            "network",
            "send",
            "loss",
        ),
    ]);
    assert_eq!(verdict(&with_connection(&out, path())).limited_detail.host, "sender");
    let full = WatchedConnection { retransmitted_segments: 20, rtt_us: 50_000, ..path() };
    let found = verdict(&with_connection(&out, full));
    assert_eq!(
        found.limited_detail.why.words(),
        "congestion window",
        "what is lost in a full queue is not the cause"
    );
    let paced = WatchedConnection { retransmitted_segments: 20, ignores_loss: true, ..path() };
    let found = verdict(&with_connection(&out, paced));
    assert_eq!(found.limited_detail.why.words(), "congestion window", "bbr is set already");
    assert!(!found.advice.contains("bbr"), "{}", found.advice);
}

#[test]
fn who_waits_for_the_other_host_is_told_so() {
    use Doing::*;
    let received = WatchedConnection {
        received_bytes: 1 << 20,
        window_bytes: 4 << 20,
        rtt_us: 1000,
        ..WatchedConnection::default()
    };
    check(vec![
        (
            "nothing comes",
            with_connection(&[(NetworkIn, 90)], received.clone()),
            "network",
            "receive",
            "peer",
        ),
        (
            "a window that is too small",
            with_connection(&[(NetworkIn, 90)], WatchedConnection { window_bytes: 1000, ..received.clone() }),
            "network",
            "receive",
            "receive window",
        ),
        (
            "waiting for any, receiving",
            with_connection(&[(Poll, 90)], received),
            "network",
            "receive",
            "peer",
        ),
        ("waiting for any, sending", with_connection(&[(Poll, 90)], path()), "network", "send", "peer"),
    ]);
}

#[test]
fn a_cpu_is_computed_on_or_waited_for() {
    use Doing::*;
    let running = |cpu: u64, system: u64| Thread {
        cpu_ns: cpu * S / 100,
        system_ns: system * S / 100,
        user_ns: (cpu - system) * S / 100,
        ..thread(&[(Running, 95)])
    };
    check(vec![
        ("computing", of(vec![running(95, 10)]), "cpu", "compute", "computing"),
        ("copying", of(vec![running(95, 80)]), "cpu", "compute", "copying"),
        ("others run", of(vec![running(20, 10)]), "cpu", "compute", "waiting for a cpu"),
        (
            "a quota",
            Watched { throttled_ns: S * 7 / 10, ..of(vec![running(20, 10)]) },
            "cpu",
            "compute",
            "cpu quota",
        ),
    ]);
}

#[test]
fn what_does_not_tell_is_unknown() {
    use Doing::*;
    let idle = || alone(&[(Other, 100)]);
    let nothing = || vec![Process::default()];
    check(vec![
        ("too short", Watched { rounds: 5, ..alone(&[(Source, 5)]) }, "unknown", "", "too short to tell"),
        (
            "nothing stands out",
            alone(&[(Source, 20), (Sink, 15), (Running, 10)]),
            "unknown",
            "",
            "no stage stands out",
        ),
        (
            "asleep",
            Watched { processes: nothing(), ..alone(&[(Sleep, 100)]) },
            "unknown",
            "",
            "nothing was moved",
        ),
        (
            "asleep, but for a line now and then",
            Watched {
                processes: vec![Process { called_write_bytes: 2, ..Process::default() }],
                ..alone(&[(Sleep, 100)])
            },
            "unknown",
            "",
            "no stage stands out",
        ),
        ("idle", Watched { processes: nothing(), ..idle() }, "unknown", "", "nothing was moved"),
        (
            "not ours",
            Watched { processes: nothing(), could_not_read: vec!["all".into()], ..idle() },
            "unknown",
            "",
            "not permitted",
        ),
        ("waiting without a connection", alone(&[(Poll, 90)]), "unknown", "", "no stage stands out"),
    ]);
}

#[test]
fn several_things_at_once_are_settled_by_what_they_are() {
    let moment = |any, unsent, unread| ConnectionsMoment { any, unsent, unread };
    for (moment, outer_in, outer_out, alone, expected) in [
        (moment(true, true, false), true, true, false, Doing::NetworkOut),
        (moment(true, false, true), true, false, false, Doing::Within),
        (moment(true, false, false), true, false, false, Doing::Poll),
        (moment(false, false, false), true, false, true, Doing::PipeIn),
        (moment(false, false, false), false, true, true, Doing::PipeOut),
        (moment(false, false, false), true, true, false, Doing::Within),
        (moment(false, false, false), false, false, true, Doing::Poll),
        (moment(false, false, false), false, false, false, Doing::Within),
    ] {
        let got = polled(moment, outer_in, outer_out, alone);
        assert_eq!(got, expected, "{moment:?} {outer_in} {outer_out} {alone}");
    }
}

/// The side that writes keeps to the limit: a push that was given one waits for its peer.
#[test]
fn a_limit_that_was_reached_is_named_whoever_keeps_to_it() {
    use Doing::*;
    let of = |doing, limit: f64| {
        let process = Process {
            rate_limit: Some("--bwlimit 1MiB".into()),
            limit_bytes_per_second: Some(limit),
            ..Process::default()
        };
        Watched { processes: vec![process], ..with_connection(doing, path()) }
    };
    let mib = f64::from(1 << 20);
    let sent = [(Poll, 95)];
    let none = Watched { processes: vec![Process::default()], ..of(&sent, mib) };
    let slow = Watched { devices: vec![disk()], ..of(&[(Source, 90), (Poll, 5)], mib) };
    check(vec![
        ("waiting for any connection", of(&sent, mib), "source", "read", "rate limit"),
        ("waiting for one", of(&[(NetworkIn, 90)], mib), "source", "read", "rate limit"),
        ("a full window", of(&[(NetworkOut, 90)], mib), "source", "read", "rate limit"),
        ("the rest of it in bursts", of(&[(Poll, 20), (Other, 80)], mib), "source", "read", "rate limit"),
        ("a limit that was not reached", of(&sent, 2.0 * mib), "network", "send", "peer"),
        ("no limit", none, "network", "send", "peer"),
        ("a slow disk", slow, "source", "read", "device"),
    ]);
    let found = verdict(&of(&sent, mib));
    assert_eq!(
        (&*found.limited_detail.setting, found.limited_detail.waited_ns),
        ("--bwlimit 1MiB", S * 95 / 100)
    );
}

/// At its group's limit for memory a write, and a read, waits until other pages were reclaimed.
#[test]
fn a_limit_for_memory_is_named_where_it_explains_the_wait() {
    use Doing::*;
    let of = |watched: Watched, held_ns| {
        let memory_limit = (held_ns > 0).then(|| "64.0 MiB, /sys/fs/cgroup/a/memory.max".into());
        Watched { memory_held_ns: held_ns, memory_limit, ..watched }
    };
    let sink = WatchedDevice { source: false, sink: true, writes: 9, write_bytes: 90 << 20, ..disk() };
    let written = || with_device(&[(Sink, 90), (Source, 5)], sink.clone());
    check(vec![
        ("writes", of(written(), S / 2), "sink", "write", "memory limit"),
        ("a few stalls", of(written(), S / 10), "sink", "write", "device"),
        ("reads", of(with_device(&[(Source, 90)], disk()), S / 2), "source", "read", "memory limit"),
        ("nowhere that is known", of(alone(&[(Other, 99)]), S / 2), "sink", "write", "memory limit"),
        ("a pipe", of(alone(&[(PipeIn, 90)]), S / 2), "source", "read", "pipe"),
    ]);
    let held = of(written(), S / 2);
    let text = paragraph(&held, &verdict(&held));
    for words in [
        "(memory limit: 64.0 MiB, /sys/fs/cgroup/a/memory.max)",
        "held threads back for 0.5 s",
        "try: a control",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// `pump serve` with pipes, as of a supervisor, and no client.
#[test]
fn a_server_without_clients_is_idle() {
    use Doing::*;
    let of = |doing, listens| Watched {
        listens,
        processes: vec![Process { called_write_bytes: 800, ..Process::default() }],
        ..alone(doing)
    };
    let with_client = Watched { connections: vec![path()], ..of(&[(Poll, 95)], true) };
    let stopped = WatchedConnection { sent_bytes: 0, no_window_samples: 100, busy_ns: 0, ..path() };
    let to_stopped = |doing| Watched { connections: vec![stopped.clone()], ..of(doing, true) };
    let reads = Watched {
        processes: vec![Process { called_read_bytes: 1 << 20, ..Process::default() }],
        ..of(&[(PipeIn, 95)], true)
    };
    check(vec![
        ("it polls, and has a pipe", of(&[(PipeIn, 95)], true), "unknown", "", "idle"),
        ("it polls", of(&[(Poll, 95)], true), "unknown", "", "idle"),
        ("it accepts", of(&[(NetworkIn, 95)], true), "unknown", "", "idle"),
        ("others accept for it", of(&[(Within, 95)], true), "unknown", "", "idle"),
        ("it computes", of(&[(Running, 95)], true), "cpu", "compute", "computing"),
        ("a client", with_client, "network", "send", "peer"),
        ("a client that takes nothing", to_stopped(&[(NetworkOut, 95)]), "network", "send", "receive window"),
        ("a client that takes nothing, polled", to_stopped(&[(Poll, 95)]), "network", "send", "peer"),
        ("it reads a pipe", reads, "source", "read", "pipe"),
        ("no server", of(&[(PipeIn, 95)], false), "source", "read", "pipe"),
    ]);
    let idle = of(&[(PipeIn, 95)], true);
    let text = paragraph(&idle, &verdict(&idle));
    assert!(
        text.contains(": idle: it waits for clients.\n") && text.contains("try: watch it while"),
        "{text}"
    );
}

fn watched_for(pid: u32, ms: u64) -> Result<Watched, Problem> {
    watch(pid, Duration::from_millis(ms), &Arc::default())
}

#[test]
fn who_cannot_be_watched_is_refused_with_the_reason() {
    let refused = |pid: u32| watched_for(pid, 10).expect_err("refused");
    let nobody = refused(i32::MAX as u32);
    assert_eq!(nobody.class, Class::Missing);
    assert!(nobody.to_string().contains("no process has the number 2147483647"), "{nobody}");
    let mut child = Command::new("true").spawn().expect("it is installed");
    while state_of(child.id()).is_some_and(|stat| stat.state != 'Z') {
        std::thread::sleep(Duration::from_millis(1));
    }
    let zombie = refused(child.id());
    assert!(zombie.to_string().contains("has ended, and its parent has not asked how"), "{zombie}");
    child.wait().expect("it ended");
    match state_of(2) {
        Some(stat) if stat.kernel_thread => {
            let kernel = refused(2);
            assert!(
                kernel.class == Class::Usage && kernel.to_string().contains("part of the kernel"),
                "{kernel}"
            );
        }
        _ => eprintln!("not tested: no thread of the kernel is seen in this container"),
    }
}

#[test]
fn a_process_that_ends_is_told_with_what_was_seen() {
    let mut child = Command::new("sleep").arg("0.3").spawn().expect("it is installed");
    let seen = watched_for(child.id(), 60_000).expect("it can be watched");
    child.wait().expect("it ended");
    assert!(seen.ended && seen.rounds > 0 && seen.elapsed_ns < 60 * S, "{seen:?}");
    let text = paragraph(&seen, &verdict(&seen));
    assert!(text.contains("then it ended") && !text.contains("for longer"), "{text}");
}

#[test]
fn time_on_a_cpu_and_time_without_one_are_named_as_they_were_counted() {
    let halves = Thread { cpu_ns: S * 3 / 5, run_delay_ns: S * 2 / 5, ..thread(&[(Doing::Running, 100)]) };
    let watched = of(vec![halves]);
    let text = paragraph(&watched, &verdict(&watched));
    let expected = "it ran on a CPU for 0.6 s and waited for one for 0.4 s (100 %)";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn direct_io_is_advised_only_where_a_disk_is_an_end() {
    let copying = Thread { cpu_ns: S, system_ns: S, ..thread(&[(Doing::Running, 100)]) };
    let file = |moved_bytes: u64, device: Option<&str>| WatchedFile {
        moved_bytes,
        device: device.map(String::from),
        ..WatchedFile::default()
    };
    let bytes = 1 << 20;
    for (file, wrote, direct) in [
        (file(0, None), 0, false),
        (file(bytes, None), 0, false),
        (file(bytes, Some("8:1")), 0, true),
        (file(100, Some("8:1")), 0, false),
        (file(0, Some("8:1")), bytes, true),
    ] {
        let process = Process { called_read_bytes: bytes, device_write_bytes: wrote, ..Process::default() };
        let seen = Watched { processes: vec![process], files: vec![file], ..of(vec![copying.clone()]) };
        let found = verdict(&seen);
        assert_eq!(found.limited_detail.why.words(), "copying");
        assert_eq!(found.advice.contains("direct I/O"), direct, "{:?} {wrote}: {}", seen.files, found.advice);
    }
}

#[test]
fn a_process_may_watch_itself() {
    let seen = watched_for(std::process::id(), 300).expect("it can be watched");
    assert!(!seen.ended && !seen.threads.is_empty() && !seen.processes.is_empty(), "{seen:?}");
    let text = paragraph(&seen, &verdict(&seen));
    assert!(text.contains(&format!("({})", std::process::id())) && text.contains("try: "), "{text}");
}

#[test]
fn a_process_that_computes_is_limited_by_the_cpu() {
    let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
    let seen = watched_for(child.id(), 1000);
    child.kill().expect("ours");
    child.wait().expect("killed");
    let found = verdict(&seen.expect("it can be watched"));
    assert_eq!(found.limited_by.words(), "cpu", "{:?}", found.shares);
}
