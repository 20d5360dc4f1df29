//! A stop while another host is called is answered at once, whatever that host does not say.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::support::programs::script;
use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder, noise_file};
use rustix::process::Signal;

/// Signals are answered within a second; a machine that is busy with other tests has more. Calls may take ten.
const ANSWERED_WITHIN: Duration = Duration::from_secs(8);

/// A folder with a file, and a ticket that a server has let in before.
fn home() -> (Home, Serving) {
    let home = Home::new();
    make_folder(&home, "served");
    noise_file(&home, "file", 100_000, 1);
    let serving = Serving::new(&home, &[]);
    (home, serving)
}

/// Stops a copy once `is_waiting`.
fn stopped(home: &Home, words: &[&str], row: &str, signal: Signal, is_waiting: &mut dyn FnMut() -> bool) {
    let words = [&["copy", "--ticket-file=ticket"], words].concat();
    let running = Running::start(home.command(&words));
    eventually(row, || is_waiting() || running.has_ended());
    assert!(!running.has_ended(), "{row}: {:?}", running.end());
    let start = Instant::now();
    running.signal(signal);
    let run = running.end();
    let took = start.elapsed();
    expect(&run, 20, &[], row);
    assert!(took < ANSWERED_WITHIN, "{row}: {took:?}");
    assert!(!run.err.contains("trying again"), "{row}: {run:?}");
}

/// Whether a socket of this system waits for an answer to its call of this address (IPv4).
fn is_called(port: u16) -> bool {
    const SYN_SENT: &str = "02";
    let sockets = std::fs::read_to_string("/proc/net/tcp").expect("Linux tells it");
    let mut lines = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.any(|line| line[2].ends_with(&format!(":{port:04X}")) && line[3] == SYN_SENT)
}

#[test]
fn a_call_that_nobody_answers_ends_with_a_stop() {
    let (home, _serving) = home();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    rustix::net::listen(&listener, 0).expect("a short queue");
    let address = listener.local_addr().expect("an address");
    // Its queue is full once a call goes unanswered, which is as good as an address that drops everything.
    let short = Duration::from_millis(300);
    let queued: Vec<_> = (0..100).map_while(|_| TcpStream::connect_timeout(&address, short).ok()).collect();
    assert!(queued.len() < 100, "the queue has no end");
    eventually("nobody else calls", || !is_called(address.port()));
    for signal in [Signal::INT, Signal::TERM] {
        let there = format!("pump://{address}/there");
        let mut is_waiting = || is_called(address.port());
        stopped(&home, &["file", &there], "no answer", signal, &mut is_waiting);
    }
}

#[test]
fn a_handshake_that_never_comes_ends_with_a_stop() {
    let (home, _serving) = home();
    for push in [true, false] {
        // One for each: a client calls several times.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("a listener");
        let there = format!("pump://{}/there", listener.local_addr().expect("an address"));
        let words = if push { ["file", &there] } else { [&there[..], "back"] };
        let mut client = None;
        let mut is_waiting = || {
            client = client.take().or_else(|| listener.accept().ok());
            client.is_some()
        };
        stopped(&home, &words, "silent", Signal::INT, &mut is_waiting);
    }
}

/// Carries what a client says to a server, and no more than so many bytes back.
fn silenced(to: &str, most: usize) -> (String, std::sync::mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let (address, to) = (listener.local_addr().expect("an address").to_string(), to.to_owned());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(&to).expect("it listens");
            let (mut said, mut heard) =
                (client.try_clone().expect("a handle"), server.try_clone().expect("a handle"));
            std::thread::spawn(move || std::io::copy(&mut said, &mut heard));
            let sender = sender.clone();
            std::thread::spawn(move || {
                let (mut server, mut client, mut left) = (server, client, most);
                let mut bytes = [0; 4096];
                while let Ok(len @ 1..) = server.read(&mut bytes) {
                    let passed = len.min(left);
                    left -= passed;
                    let _ = client.write_all(&bytes[..passed]);
                    if passed < len {
                        let _ = sender.send(());
                    }
                }
            });
        }
    });
    (address, receiver)
}

/// The control connection is opened with a handshake, a welcome and `Begun`: all are cut off somewhere.
#[test]
fn a_welcome_or_a_beginning_that_never_comes_ends_with_a_stop() {
    let (home, serving) = home();
    std::fs::copy(home.path("file"), home.path("served/there")).expect("room");
    for most in [0, 100, 300, 600, 800, 1000, 1100] {
        for push in [true, false] {
            let (address, held_back) = silenced(&serving.address, most);
            let there = format!("pump://{address}/there");
            let words = if push { ["file", &there] } else { [&there, "back"] };
            let row = format!("{most} bytes, {words:?}");
            stopped(&home, &words, &row, Signal::INT, &mut || held_back.try_recv().is_ok());
        }
    }
}

#[test]
fn an_ssh_that_hangs_ends_with_a_stop() {
    let (home, _serving) = home();
    // The last one has ended its output, and is there.
    for (name, text) in
        [("silent", ":"), ("noisy", "echo Welcome"), ("waiting", "exec >&-"), ("deaf", "trap '' INT TERM")]
    {
        script(home.path(name), &format!("{text}\ntouch {name}.runs\nexec sleep 1000 2>&-"));
        let ssh = format!("--ssh=./{name}");
        let mark = home.path(format!("{name}.runs"));
        for words in [["file", "host:there"], ["host:there", "back"]] {
            let words = [&[&ssh[..]], &words[..]].concat();
            stopped(&home, &words, name, Signal::INT, &mut || mark.exists());
            std::fs::remove_file(&mark).expect("it is there");
        }
    }
}
