//! Start files of the far shell that never get to the far command, over a real sshd and beside it.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::hosts::dead_addresses::dead;
use crate::support::programs::script;
use crate::support::running::Running;
use crate::support::{Home, Outcome, PUMP, expect, noise_file};
use crate::wider_parts::sshd::Sshd;

/// What a start file does before, or instead of, the far command.
const STARTS: [&str; 3] = ["read -r x;", "cat >/dev/null;", "exec sleep 1000;"];
const WORDS: &str = "did not run";
/// Behind six calls that nobody answers (tcp(7), tcp_syn_retries).
const TCP_GIVES_UP: Duration = Duration::from_secs(127);

fn started(home: &Home, ssh: &str) -> Running {
    let words = ["copy", "--ssh", ssh, "--remote-bin", PUMP, "file", "loop:x"];
    Running::start(home.command(&words))
}

/// With a real ssh, which opens its session when it has asked what it asks; and with a command that is none, has nobody
/// to ask and opens nothing.
#[test]
fn a_start_file_that_reads_or_runs_something_else_is_told_within_half_a_minute() {
    let mut runs = Vec::new();
    for start in STARTS {
        let home = Home::new();
        noise_file(&home, "file", 10, 1);
        let forced = format!("{start} exec sh -c \"$SSH_ORIGINAL_COMMAND\"");
        let sshd = Sshd::new(&home, Some(&forced));
        script(home.path("rsh"), &format!("shift; {start} exec sh -c \"$*\""));
        let (over_ssh, beside) = (started(&home, &Sshd::ssh(&home, "")), started(&home, "./rsh"));
        runs.push((start, home, sshd, [over_ssh, beside]));
    }
    for (start, home, _sshd, both) in runs {
        for run in both {
            expect(&run.end(), 5, &[WORDS, ".bashrc", "--version"], start);
        }
        let left = std::fs::read_dir(home.path("far")).expect("it is there").count();
        assert_eq!(left, 0, "{start}");
    }
}

/// A terminal at which ssh waits for a password is no far shell that hangs. `script` makes the terminal.
#[test]
fn a_password_is_waited_for_longer() {
    let home = Home::new();
    noise_file(&home, "file", 10, 1);
    // The name of a process that may ask is what tells it: the copy of a shell does as well as an ssh.
    std::fs::copy("/bin/sh", home.path("ssh")).expect("room");
    script(home.path("rsh"), "shift; ./ssh -c 'sleep 35; :'; exec sh -c \"$*\"");
    let line =
        format!("{PUMP} copy -q --ssh ./rsh --remote-bin {PUMP} file host:{}", home.path("x").display());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(home.path("."));
    let run = Running::start(command).end();
    expect(&run, 0, &[], "it was asked for a while");
    assert!(home.path("x").exists(), "{run:?}");
}

/// TCP gives such a call up after two minutes. The same time holds for each call of a copy that lost its connection.
#[test]
fn a_host_that_does_not_answer_is_waited_for_as_long_as_the_user_says() {
    let home = Home::new();
    noise_file(&home, "file", 10, 1);
    let (listener, _taken) = dead(0);
    let port = listener.local_addr().expect("its address").port();
    let ssh = format!("ssh -F none -o BatchMode=yes -p {port}");
    let start = Instant::now();
    let words = ["copy", "--peer-timeout=1s", "--retry-for=1s", "--ssh", &ssh, "file", "127.0.0.2:x"];
    let run = home.pump(&words);
    // What ssh says itself ends with a carriage return.
    let run = Outcome { err: run.err.replace("\r\n", "\n"), ..run };
    expect(&run, 10, &["nobody answers there", "timed out"], "a dead address");
    assert!(start.elapsed() < TCP_GIVES_UP / 2, "{:?}", start.elapsed());
}
