//! Settings of ssh for log-ins, and flags in `--ssh`, over a real sshd: replaced where they are in the way, or named.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::programs::script;
use crate::support::running::eventually;
use crate::support::{Home, Outcome, PUMP, expect, has_content, noise_file};
use crate::wider_parts::sshd::Sshd;

/// The far end cannot be called: all data go through ssh.
const UNREACHABLE: &str = "env -u SSH_CONNECTION sh -c \"$SSH_ORIGINAL_COMMAND\"";
/// Settings that suit log-ins and prevent a session.
const LOG_IN_SETTINGS: [&str; 11] = [
    "RequestTTY force",
    "RequestTTY yes\n  RemoteCommand /bin/true",
    "SessionType none",
    "SessionType subsystem",
    "SessionType subsystem\n  ForkAfterAuthentication yes\n  RemoteCommand sftp",
    "ForkAfterAuthentication yes",
    "StdinNull yes",
    "PermitLocalCommand yes\n  LocalCommand cat",
    "ControlMaster auto\n  ControlPersist yes\n  ControlPath sshd/master",
    "ControlMaster yes\n  ControlPath sshd/master",
    "ExitOnForwardFailure yes\n  DynamicForward ",
];

fn copy(home: &Home, ssh: &str, words: &[&str]) -> Outcome {
    let run = home.pump(&[&["copy", "--ssh", ssh, "--remote-bin", PUMP][..], words].concat());
    // ssh ends its lines as terminals take them.
    Outcome { err: run.err.replace('\r', ""), ..run }
}

/// Puts a setting in front of the configuration.
fn set(home: &Home, setting: &str) {
    let config = home.path("sshd/config");
    let rest = std::fs::read_to_string(&config).expect("it was written");
    std::fs::write(&config, format!("Host *\n  {setting}\n{rest}")).expect("room");
}

/// Whether a process has this test's configuration on its command line.
fn ssh_runs(home: &Home) -> bool {
    let config = home.path("sshd/config").display().to_string();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(&config))
}

#[test]
fn settings_of_ssh_for_log_ins_are_not_in_the_way() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port();
    for setting in LOG_IN_SETTINGS {
        let home = Home::new();
        let _sshd = Sshd::new(&home, Some(UNREACHABLE));
        let content = noise_file(&home, "file", 300_000, 1);
        let end = if setting.ends_with(' ') { port.to_string() } else { String::new() };
        set(&home, &format!("{setting}{end}"));
        // Programs that start ssh may precede it.
        for (number, before) in ["", "env LC_ALL=C nice -n 1 "].into_iter().enumerate() {
            let ssh = format!("{before}{}", Sshd::ssh(&home, ""));
            let place = format!("loop:there{number}");
            expect(&copy(&home, &ssh, &["file", &place]), 0, &[], setting);
            expect(&copy(&home, &ssh, &[&place, "back"]), 0, &[], setting);
            has_content(&home.path("back"), &content, setting);
            assert!(!home.path("sshd/master").exists(), "{setting}: a master was made");
            assert!(!ssh_runs(&home), "{setting}: an ssh outlives the copy");
        }
    }
}

/// No option replaces a flag: it is named before ssh is started.
#[test]
fn flags_of_ssh_that_prevent_a_session_are_named() {
    let home = Home::new();
    let _sshd = Sshd::new(&home, None);
    noise_file(&home, "file", 10, 1);
    for (flag, line) in [
        ("-tt", "requesttty force"),
        ("-N", "sessiontype none"),
        ("-s", "sessiontype subsystem"),
        ("-f", "forkafterauthentication yes"),
        ("-n", "stdinnull yes"),
    ] {
        let run = copy(&home, &Sshd::ssh(&home, flag), &["file", "loop:x"]);
        expect(&run, 5, &[&format!("drop {flag} ({line}) from --ssh")], flag);
    }
    for flag in ["-t", "-T", "-q", "-v", "-x", "-o RequestTTY=force", "-o StdinNull=yes", "-R 0:localhost:9"]
    {
        expect(&copy(&home, &Sshd::ssh(&home, flag), &["file", "loop:x"]), 0, &[], flag);
    }
}

/// Without its words an unreachable host would look like one that refuses.
#[test]
fn a_quiet_ssh_still_reports_why_a_host_is_not_reached() {
    let home = Home::new();
    let sshd = Sshd::new(&home, None);
    noise_file(&home, "file", 10, 1);
    drop(sshd);
    for level in ["QUIET", "FATAL", "INFO"] {
        let ssh = Sshd::ssh(&home, &format!("-o LogLevel={level}"));
        let run = copy(&home, &ssh, &["file", "loop:x"]);
        expect(&run, 10, &["ssh: connect to host", "nobody answers there"], level);
    }
    // By its flag nothing else is possible.
    let run = copy(&home, &Sshd::ssh(&home, "-q"), &["file", "loop:x"]);
    expect(&run, 5, &["status 255", "it printed no reason"], "-q");
}

/// A user with one-time passwords has a master: only through it a log-in is possible.
#[test]
fn a_master_that_exists_is_used() {
    let home = Home::new();
    let _sshd = Sshd::new(&home, Some(UNREACHABLE));
    let content = noise_file(&home, "file", 300_000, 1);
    set(&home, "ControlMaster auto\n  ControlPath sshd/master\n  RequestTTY force");
    let config = home.path("sshd/config");
    let mut master = Command::new("ssh");
    master.arg("-F").arg(&config).args(["-o", "RequestTTY=no", "-N", "loop"]).current_dir(home.path("."));
    let mut master: Child = master.stdin(Stdio::null()).spawn().expect("ssh");
    eventually("there is a master", || home.path("sshd/master").exists());
    std::fs::write(home.path("sshd/key.pub"), "").expect("room");
    expect(&copy(&home, &Sshd::ssh(&home, ""), &["file", "loop:there"]), 0, &[], "there");
    expect(&copy(&home, &Sshd::ssh(&home, ""), &["loop:there", "back"]), 0, &[], "back");
    has_content(&home.path("back"), &content, "back");
    assert!(home.path("sshd/master").exists(), "the master is still the user's");
    let pid = Pid::from_raw(master.id() as i32).expect("a number");
    kill_process(pid, Signal::TERM).expect("it is ours");
    master.wait().expect("it ends");
    let run = copy(&home, &Sshd::ssh(&home, ""), &["file", "loop:there"]);
    expect(&run, 5, &["Permission denied"], "without a master");
}

/// Any command may reach the host: it is started as it was given, and nothing but a start is asked of it.
#[test]
fn a_command_that_is_no_ssh_gets_no_options() {
    let home = Home::new();
    let _sshd = Sshd::new(&home, Some(UNREACHABLE));
    let content = noise_file(&home, "file", 300_000, 1);
    let config = home.path("sshd/config");
    let exec = format!("echo \"$*\" >>calls; exec ssh -F {} \"$@\"", config.display());
    script(home.path("wrapper"), &exec);
    expect(&copy(&home, "./wrapper", &["file", "loop:there"]), 0, &[], "there");
    has_content(&home.path("far/there"), &content, "there");
    let calls = std::fs::read_to_string(home.path("calls")).expect("it was started");
    assert_eq!(calls, format!("loop {PUMP} serve --stdio\n"));
    set(&home, "RequestTTY force");
    let run = copy(&home, "./wrapper", &["file", "loop:there"]);
    expect(&run, 5, &["if ./wrapper starts ssh", "RequestTTY"], "a terminal");
}
