//! `pump explain --pid` and `pump lab tcp-watch`: what is refused and why, what ends early, and the form of events.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use support::home::{Home, Outcome, outcome};
use support::schema;
use support::serving::Serving;

fn expect(outcome: &Outcome, status: i32, parts: &[&str], row: &str) {
    assert_eq!(outcome.status, status, "{row}: {outcome:?}");
    let said = format!("{}{}", outcome.out, outcome.err);
    for part in parts {
        assert!(said.contains(part), "{row}: no {part:?} in: {said}");
    }
}

/// A program that runs until dropped.
struct Running(Child);

impl Running {
    fn start(words: &[&str]) -> Running {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Running(command.spawn().expect("it is installed"))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const NOBODY: &str = "2147483647";

#[test]
fn what_cannot_be_watched_is_refused_with_what_to_do() {
    let home = Home::new();
    for (words, status, part) in [
        (&["explain"][..], 2, "a source (SRC) and a target (DST) are required"),
        (&["explain", "--pid", "0"], 2, "write the number of a process, such as 1234; `ps` lists them"),
        (&["explain", "--pid", "word"], 2, "write the number of a process, such as 1234"),
        (
            &["explain", "--pid", NOBODY],
            1,
            "no process has the number 2147483647; `ps` lists those there are",
        ),
        (&["explain", "--pid", "1", "--for", "5"], 2, "is not a duration; write for example"),
        (&["lab", "tcp-watch", "word"], 2, "write a number, pid:NUMBER or port:NUMBER"),
        (&["lab", "tcp-watch", "pid:2147483647"], 1, "no process has the number 2147483647"),
        (&["lab", "tcp-watch", "port:1", "--for", "50ms"], 1, "no TCP connection was seen"),
        (&["lab", "tcp-watch", "port:1", "--out", "no/such/file"], 1, "create 'no/such/file': No such file"),
    ] {
        let row = format!("{words:?}");
        expect(&home.pump(words), status, &[part], &row);
        let json = home.pump(&[words, &["--json"]].concat());
        let events = schema::checked(&json.out);
        let report = &events[events.len() - 1];
        assert_eq!((json.status, &report["exit_status"]), (status, &status.into()), "{row}");
        if status == 1 {
            assert_eq!(report["problems"]["missing"], 1, "{row}: {report}");
        }
    }
}

#[test]
fn parts_of_the_kernel_and_the_dead_are_refused() {
    let home = Home::new();
    let comm = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    match comm("2").trim() {
        "kthreadd" => {
            expect(&home.pump(&["explain", "--pid", "2"]), 2, &["is a part of the kernel"], "kthreadd");
        }
        _ => eprintln!("not tested: no thread of the kernel is seen in this container"),
    }
    let dead = Running::start(&["true"]);
    let stat = || {
        std::fs::read_to_string(format!("/proc/{}/stat", dead.pid())).expect("nobody has asked how it ended")
    };
    while !stat().contains(") Z ") {
        std::thread::yield_now();
    }
    expect(
        &home.pump(&["explain", "--pid", &dead.pid()]),
        1,
        &["has ended, and its parent has not asked how"],
        "true",
    );
}

#[test]
fn a_running_process_is_watched_and_told_of() {
    let home = Home::new();
    let cat = Running::start(&["cp", "/dev/zero", "/dev/null"]);
    let words = ["explain", "--for", "700ms", "--pid", &cat.pid()];
    let row = "cp that copies memory";
    let run = home.pump(&words);
    expect(&run, 0, &["cp (", "limited by cpu"], row);
    // On a machine whose processors others use, that is what limits it.
    let expected = if format!("{}{}", run.out, run.err).contains("(waiting for a cpu)") {
        "try: others use the CPUs"
    } else {
        "try: the kernel copies bytes from memory"
    };
    expect(&run, 0, &[expected], row);
    let json = home.pump(&[&words[..], &["--json"]].concat());
    let events = schema::checked(&json.out);
    let [watched, report] = &events[..] else { panic!("{row}: {events:?}") };
    assert_eq!((&watched["event"], &watched["limited_by"]), (&"watched".into(), &"cpu".into()), "{row}");
    for name in ["limited_by", "limited_detail", "advice"] {
        assert_eq!(report[name], watched[name], "{row}: {name}");
    }
    assert!(report["cpu"]["system_ns"].as_u64().is_some_and(|ns| ns > 0), "{row}: {report}");
}

#[test]
fn both_ends_of_a_pipe_are_named() {
    let home = Home::new();
    let mut feeder = Command::new("sleep").arg("600").stdout(Stdio::piped()).spawn().expect("sleep runs");
    let pipe = feeder.stdout.take().expect("a pipe");
    let cat = Command::new("cat").stdin(pipe).stdout(Stdio::null()).spawn().expect("cat runs");
    let (fills, empties) = (feeder.id(), cat.id());
    for (pid, row, said) in [
        (empties, "the reader", ["limited by source (pipe)".into(), format!("' from sleep ({fills})")]),
        (fills, "the writer", [format!("sleep ({fills})"), format!("' to cat ({empties})")]),
    ] {
        let run = home.pump(&["explain", "--for", "700ms", "--pid", &pid.to_string()]);
        expect(&run, 0, &[&said[0], &said[1]], row);
    }
    for mut child in [feeder, cat] {
        child.kill().expect("it runs");
        child.wait().expect("it ran");
    }
}

#[test]
fn the_limit_that_a_copy_was_given_is_named() {
    let home = Home::new();
    let new = home.path("new").display().to_string();
    for (limit, flags, variables) in [
        ("--bwlimit 1MiB", &["--bwlimit", "1MiB"][..], &[][..]),
        ("PUMP_BWLIMIT=1MiB", &[], &["PUMP_BWLIMIT=1MiB"]),
    ] {
        let copy = ["copy", "--request-size", "64KiB", "--sync=none", "null:1GiB", &new];
        let words = [&["env"], variables, &[support::PUMP], &copy[..1], flags, &copy[1..]].concat();
        let copy = Running::start(&words);
        let run = home.pump(&["explain", "--for", "2s", "--pid", &copy.pid()]);
        let limited = format!("limited by source (rate limit: {limit})");
        expect(&run, 0, &[&limited, "try: it throttles itself"], limit);
        drop(copy);
        let _ = std::fs::remove_file(&new);
    }
}

/// The side that writes keeps to the limit: this one waits for it.
#[test]
fn a_push_that_was_given_a_limit_names_it() {
    let home = Home::new();
    std::fs::create_dir(home.path("served")).expect("room");
    let serving = Serving::new(&home, &[]);
    let ticket = home.path("ticket").display().to_string();
    let words = [support::PUMP, "copy", "--ticket-file", &ticket, "--bwlimit", "4MiB", "null:1GiB"];
    let copy = Running::start(&[&words[..], &[&*serving.at("new")]].concat());
    let run = home.pump(&["explain", "--for", "3s", "--pid", &copy.pid()]);
    expect(&run, 0, &["limited by source (rate limit: --bwlimit 4MiB)"], "a push");
}

#[test]
fn a_server_without_clients_is_idle() {
    let home = Home::new();
    std::fs::create_dir(home.path("served")).expect("room");
    let mut command = home.command(&["serve", "served", "--ticket-file", "ticket"]);
    command.stdin(Stdio::piped());
    let serving = Serving::start(command);
    let run = home.pump(&["explain", "--for", "700ms", "--pid", &serving.id().to_string()]);
    expect(&run, 0, &[": idle: it waits for clients.", "try: watch it while a client copies"], "a server");
}

#[test]
fn one_that_ends_is_told_of_with_what_was_seen() {
    let home = Home::new();
    let sleep = Running::start(&["sleep", "0.5"]);
    let run = home.pump(&["explain", "--for", "60s", "--pid", &sleep.pid()]);
    expect(&run, 0, &["then it ended", "cannot tell what limits it", "try: it has ended"], "sleep");
}

#[test]
fn pump_may_watch_itself() {
    let home = Home::new();
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" explain --for 400ms --pid $$", support::PUMP]);
    command.current_dir(home.path("")).stdin(Stdio::null());
    expect(&outcome(command, b""), 0, &["pump (", "try: "], "itself");
}

#[test]
fn an_interrupted_watch_tells_what_was_seen() {
    let home = Home::new();
    let sleep = Running::start(&["sleep", "60"]);
    let mut command = home.command(&["explain", "--for", "60s", "--json", "--pid", &sleep.pid()]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("pump was built");
    // Signals are caught once the status says so.
    let status = || std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = |text: &str| {
        let mask =
            text.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim).unwrap_or_default();
        u64::from_str_radix(mask, 16).is_ok_and(|mask| mask & 2 != 0)
    };
    while !caught(&status()) {
        std::thread::yield_now();
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process has a number");
    kill_process(pid, Signal::INT).expect("it is ours");
    let mut out = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(20), "{out}");
    let events = schema::checked(&out);
    assert_eq!(events.iter().map(|event| event["event"].clone()).collect::<Vec<_>>(), ["watched", "report"]);
}

/// A connection inside this process, with bytes under way.
fn connected() -> (TcpStream, TcpStream, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut one = TcpStream::connect(address).expect("it listens");
    let (mut other, _) = listener.accept().expect("it called");
    one.write_all(&[7; 20_000]).expect("room");
    other.read_exact(&mut [0; 20_000]).expect("it was sent");
    (one, other, address.port().to_string())
}

#[test]
fn connections_are_sampled_into_a_file_or_to_standard_output() {
    let home = Home::new();
    let (_one, _other, port) = connected();
    let target = format!("port:{port}");
    let words = ["lab", "tcp-watch", &target, "--for", "300ms"];
    let to_file = [&words[..], &["--out", "tcp.jsonl"]].concat();
    expect(&home.pump(&to_file), 0, &["established", "20000"], "to a file, for people");
    let text = std::fs::read_to_string(home.path("tcp.jsonl")).expect("the file");
    assert!(
        text.lines().count() > 2 && text.lines().all(|line| line.contains("\"event\":\"tcp\"")),
        "{text}"
    );

    let json = home.pump(&[&to_file[..], &["--json"]].concat());
    let events = schema::checked(&json.out);
    let [watched, _] = &events[..] else { panic!("{events:?}") };
    assert_eq!(watched["connections"].as_array().map(Vec::len), Some(2), "both ends: {watched}");

    let shown = home.pump(&words);
    assert!(shown.out.lines().count() > 2 && shown.err.contains("samples in"), "{shown:?}");
    let json = home.pump(&[&words[..], &["--json"]].concat());
    let events = schema::checked(&json.out);
    assert!(events.iter().filter(|event| event["event"] == "tcp").count() > 2, "{events:?}");
    assert_eq!(events[events.len() - 2]["event"], "tcp_watched");
}

#[test]
fn connections_of_a_process_are_its_own() {
    let home = Home::new();
    let (one, _other, _) = connected();
    let local = one.local_addr().expect("an address").to_string();
    let own = format!("pid:{}", std::process::id());
    let run = home.pump(&["lab", "tcp-watch", &own, "--for", "200ms"]);
    assert!(run.status == 0 && run.out.contains(&format!("\"connection\":\"{local} > ")), "{run:?}");
}
