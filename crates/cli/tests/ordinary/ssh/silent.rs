//! HOST:PATH places where something on the way or in the far shell is not as a session wants it: a middle box that
//! takes connections and says nothing, and variables that are for another use. With start files that never end:
//! `wider/ssh/start_files.rs`.

use std::io::copy;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use crate::ssh::copies;
use crate::support::programs::script;
use crate::support::running::eventually;
use crate::support::{Home, PUMP, expect, has_content, make_folder, noise_file, outcome};

fn command(home: &Home, words: &[&str]) -> Command {
    copies::command(home, PUMP, copies::DIRECT, words)
}

/// Takes calls for the far end: so many go through, all others are held and get no answer.
struct MiddleBox {
    port: u16,
    far: Arc<AtomicU16>,
    calls: Arc<AtomicUsize>,
}

impl MiddleBox {
    fn new(pass: usize) -> MiddleBox {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("an address").port();
        let (far, calls) = (Arc::new(AtomicU16::new(0)), Arc::new(AtomicUsize::new(0)));
        let taken = MiddleBox { port, far: Arc::clone(&far), calls: Arc::clone(&calls) };
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for call in listener.incoming().flatten() {
                match calls.fetch_add(1, Ordering::Relaxed) {
                    number if number < pass => {
                        // The line that names this port may be read before the one in the file.
                        eventually("the far end is known", || far.load(Ordering::Relaxed) > 0);
                        let there = TcpStream::connect(("127.0.0.1", far.load(Ordering::Relaxed)));
                        carry(call, there.expect("the far end listens"));
                    }
                    _ => held.push(call),
                }
            }
        });
        taken
    }

    /// Has the far end say that it listens here. Where it does goes into a file.
    fn stand_before(&self, home: &Home) -> PathBuf {
        let (port, said) = (self.port, home.path("said"));
        let shown = said.display();
        let text = format!(
            "shift; sh -c \"$*\" | {{ IFS= read -r line; printf '%s\\n' \"$line\" >{shown}; \
             printf '%s\\n' \"$line\" | sed 's/127.0.0.1:[0-9]*/127.0.0.1:{port}/'; exec cat; }}"
        );
        script(home.path("rsh"), &text);
        said
    }

    /// Where the far end of a copy that was just started listens.
    fn find(&self, said: &Path) {
        let port = || {
            let line = std::fs::read_to_string(said).ok().filter(|line| line.ends_with('\n'))?;
            line.trim_end().rsplit(':').next()?.parse::<u16>().ok()
        };
        eventually("the far end says where it listens", || port().is_some());
        self.far.store(port().expect("it said it"), Ordering::Relaxed);
    }
}

fn carry(one: TcpStream, other: TcpStream) {
    let pair = |stream: &TcpStream| stream.try_clone().expect("an open socket");
    for (mut from, mut to) in [(pair(&one), pair(&other)), (other, one)] {
        std::thread::spawn(move || {
            let _ = copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Write);
        });
    }
}

#[test]
fn a_middle_box_that_takes_calls_and_says_nothing_sends_the_data_through_ssh() {
    for (row, words, lands) in
        [("push", ["file", "host:there"], "far/there"), ("pull", ["host:file", "back"], "back")]
    {
        let home = Home::new();
        make_folder(&home, "far");
        let content = noise_file(&home, "file", 3_000_000, 1);
        noise_file(&home, "far/file", 3_000_000, 1);
        let silent = MiddleBox::new(0);
        silent.stand_before(&home);
        let run = outcome(command(&home, &words), b"");
        let told = format!("no direct connection to 127.0.0.1:{} (nothing answers there)", silent.port);
        expect(&run, 0, &[&told, "everything goes through ssh"], row);
        has_content(&home.path(lands), &content, row);
        assert_eq!(silent.calls.load(Ordering::Relaxed), 1, "{row}: one call shows it");
    }
}

#[test]
fn a_middle_box_that_lets_the_first_connections_pass_costs_the_copy_nothing() {
    for pass in [1, 2, 3] {
        let home = Home::new();
        make_folder(&home, "far");
        let content = noise_file(&home, "file", 3_000_000, 1);
        let silent = MiddleBox::new(pass);
        let said = silent.stand_before(&home);
        std::thread::scope(|scope| {
            scope.spawn(|| silent.find(&said));
            let run = outcome(command(&home, &["--retry-for=0s", "file", "host:there"]), b"");
            expect(&run, 0, &[], &format!("{pass} pass"));
            // With some of its data connections the copy may be done before it misses the others.
            let told = run.err.matches("no direct connection").count();
            assert!(told == 1 || pass > 1 && told == 0, "{run:?}");
        });
        has_content(&home.path("far/there"), &content, "it came through ssh");
    }
}

#[test]
fn variables_of_the_far_shell_change_nothing_in_a_session() {
    let home = Home::new();
    make_folder(&home, "far");
    let content = noise_file(&home, "file", 3_000_000, 1);
    noise_file(&home, "far/other", 10, 1);
    let variables = "PUMP_LISTEN=nowhere PUMP_BWLIMIT=1 PUMP_MEMORY=1B PUMP_READ_ONLY=maybe PUMP_WRITE_ONLY=1 \
                     PUMP_ONCE=no PUMP_MAX_SESSIONS=0 PUMP_PEER_TIMEOUT=1ms PUMP_TICKET_FILE=ticket \
                     PUMP_DELETE=1 PUMP_UPDATE=none PUMP_CONGESTION=none PUMP_INSECURE=open PUMP_STDIO=0";
    script(home.path("rsh"), &format!("shift; export {variables}; exec sh -c \"$*\""));
    for (words, lands) in [(["file", "host:"], "far/file"), (["host:file", "back"], "back")] {
        expect(&outcome(command(&home, &words), b""), 0, &[], words[0]);
        has_content(&home.path(lands), &content, words[0]);
    }
    assert!(home.path("far/other").exists() && !home.path("far/ticket").exists());
}

/// Of the first start what goes there is swallowed behind some bytes, while what comes from there goes on: the far end
/// alone can tell.
#[test]
fn a_far_end_has_the_patience_of_its_caller() {
    let home = Home::new();
    let content = noise_file(&home, "file", 8_000_000, 1);
    let text = "shift; mkdir started 2>/dev/null || exec sh -c \"$*\"\n\
                { head -c 2000000; exec cat >/dev/null; } | sh -c \"$*\"";
    script(home.path("rsh"), text);
    let target = format!("host:{}", home.path("copied").display());
    let words = ["--peer-timeout=2s", "--retry-for=12s", "--bwlimit=4MB", "file", &target];
    let run = outcome(copies::command(&home, PUMP, copies::CARRIED, &words), b"");
    expect(&run, 0, &["trying again"], "noticed in time");
    has_content(&home.path("copied"), &content, "noticed in time");
}
