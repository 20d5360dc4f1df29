//! How long a far end that is started may take to answer. Start files of the far shell may read, or run another
//! program, and never get to the far command; but ssh may ask the user for a password or a host key for as long as he
//! needs.
//!
//! ssh makes its standard input non-blocking when it opens its session: then it has asked all it asks (OpenSSH, with
//! and without a master; Dropbear). The flag is the pipe's, not the process's, so that it shows in the copy held here.
//!
//! Must not know: what the answer says.

use std::fs::{self, File};
use std::io::PipeReader;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::process::{Pid, Signal, kill_process};

/// A far shell that is silent for so long behind the log-in does not run what it was told to.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(30);
/// An ssh that can ask nobody connects and logs in within so many times the patience for a silent host: 150 s by default;
/// sshd's LoginGraceTime is 120 s.
const LOG_IN_PATIENCES: u32 = 5;
/// Processes are looked at so often.
const LOOK_EACH: Duration = Duration::from_secs(1);
/// Programs that log in and may ask.
const ASKING: [&str; 3] = ["ssh", "dbclient", "plink"];
/// More names of processes than a command has below it.
const BELOW_MAX: usize = 1000;

/// Why a far end is not waited for any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silent {
    /// The far shell did not run the far command.
    Shell,
    /// ssh did not get to the far shell.
    Ssh,
}

/// The wait for one answer.
pub(crate) struct StartWait {
    /// The input of ssh. Dropped before anything is sent, so that ssh is its only reader.
    input: PipeReader,
    pid: u32,
    began: Instant,
    opened: Option<Instant>,
    looked: Instant,
    /// Something that may ask runs, as far as was looked; and when it was seen last.
    logs_in: bool,
    seen: Instant,
    /// Somebody, or a program that he has for it, can be asked.
    has_user: bool,
    log_in_max: Duration,
}

impl StartWait {
    /// Begins when the command was started. `patience`: silence after which the host is taken for dead.
    pub(crate) fn new(input: PipeReader, pid: u32, patience: Duration) -> StartWait {
        let now = Instant::now();
        let (logs_in, has_user, opened) = (false, has_user(), None);
        let log_in_max = patience * LOG_IN_PATIENCES;
        StartWait { input, pid, began: now, opened, looked: now, logs_in, seen: now, has_user, log_in_max }
    }

    /// Why the wait is over, if it is.
    pub(crate) fn poll(&mut self) -> Option<Silent> {
        let now = Instant::now();
        let is_open = || fcntl_getfl(&self.input).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK));
        if self.opened.is_none() && is_open() {
            self.opened = Some(now);
        }
        if let Some(opened) = self.opened {
            return (now.duration_since(opened) >= ANSWER_MAX).then_some(Silent::Shell);
        }
        if now.duration_since(self.looked) >= LOOK_EACH {
            self.looked = now;
            self.logs_in = below(self.pid).iter().any(StartedProcess::may_ask);
            self.seen = if self.logs_in { now } else { self.seen };
        }
        self.verdict(now)
    }

    /// Of a command that opened no session which shows here.
    fn verdict(&self, now: Instant) -> Option<Silent> {
        let waits = |since: Instant, most| now.duration_since(since) >= most;
        if self.logs_in {
            (!self.has_user && waits(self.began, self.log_in_max)).then_some(Silent::Ssh)
        } else {
            waits(self.seen, ANSWER_MAX).then_some(Silent::Shell)
        }
    }
}

/// Whether somebody can be asked: on the terminal of this session, or in a window (ssh(1), SSH_ASKPASS).
fn has_user() -> bool {
    let asks = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    File::open("/dev/tty").is_ok() || ["DISPLAY", "WAYLAND_DISPLAY", "SSH_ASKPASS"].into_iter().any(asks)
}

/// A process that the command runs as.
struct StartedProcess {
    pid: u32,
    parent: u32,
    name: String,
}

impl StartedProcess {
    /// proc_pid_stat(5): `pid (name) state ppid`.
    fn read(stat: &str) -> Option<StartedProcess> {
        let (pid, rest) = stat.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let parent = rest.split(' ').nth(1)?.parse().ok()?;
        Some(StartedProcess { pid: pid.parse().ok()?, parent, name: name.into() })
    }

    /// It logs in to other hosts: `ssh`, but also `sshpass` and `autossh`.
    fn may_ask(&self) -> bool {
        ASKING.iter().any(|name| self.name.contains(name))
    }
}

/// The process of this number and all below it.
fn below(pid: u32) -> Vec<StartedProcess> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stat = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("stat")).ok();
    let (mut found, mut others): (Vec<_>, Vec<_>) =
        entries.filter_map(stat).filter_map(|stat| StartedProcess::read(&stat)).partition(|it| it.pid == pid);
    let mut next = 0;
    while next < found.len().min(BELOW_MAX) {
        let parent = found[next].pid;
        found.extend(others.extract_if(.., |it| it.parent == parent));
        next += 1;
    }
    found
}

/// Ends what a command left below it: an ssh that a script started would wait for its far shell for ever.
pub(crate) fn end_below(pid: u32) {
    for process in below(pid).into_iter().filter(|process| process.pid != pid) {
        if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT_MAX: Duration = Duration::from_secs(30);
    const LOG_IN_MAX: Duration = Duration::from_secs(150);

    fn wait(has_user: bool) -> StartWait {
        let (input, _output) = std::io::pipe().expect("a pipe");
        StartWait { has_user, ..StartWait::new(input, std::process::id(), WAIT_MAX) }
    }

    #[test]
    fn the_clock_does_not_run_while_somebody_may_be_asked() {
        for (logs_in, has_user, waited, expected) in [
            (true, true, LOG_IN_MAX * 100, None),
            (true, false, ANSWER_MAX, None),
            (true, false, LOG_IN_MAX, Some(Silent::Ssh)),
            (false, true, ANSWER_MAX - LOOK_EACH, None),
            (false, true, ANSWER_MAX, Some(Silent::Shell)),
            (false, false, ANSWER_MAX, Some(Silent::Shell)),
        ] {
            let wait = StartWait { logs_in, ..wait(has_user) };
            assert_eq!(wait.verdict(wait.began + waited), expected, "{logs_in} {has_user} {waited:?}");
        }
        // It asked until now: the far shell begins.
        let wait = wait(true);
        let wait = StartWait { seen: wait.began + LOG_IN_MAX, ..wait };
        assert_eq!(wait.verdict(wait.seen + LOOK_EACH), None);
        assert_eq!(wait.verdict(wait.seen + ANSWER_MAX), Some(Silent::Shell));
    }

    #[test]
    fn a_session_that_was_opened_shows_in_the_pipe_and_starts_the_clock() {
        let mut wait = wait(true);
        let other = wait.input.try_clone().expect("an open file");
        assert_eq!((wait.poll(), wait.opened), (None, None));
        rustix::fs::fcntl_setfl(&other, OFlags::NONBLOCK).expect("a flag");
        assert_eq!(wait.poll(), None);
        let opened = wait.opened.expect("it shows");
        wait.opened = opened.checked_sub(ANSWER_MAX);
        assert_eq!(wait.poll(), Some(Silent::Shell));
    }

    #[test]
    fn what_a_command_runs_is_found() {
        let read = |stat| StartedProcess::read(stat).map(|it| (it.pid, it.parent, it.may_ask(), it.name));
        assert_eq!(read("7 (a) b) S 3 7 7"), Some((7, 3, false, "a) b".into())));
        assert_eq!(read("7 (sshpass) S 3 7 7"), Some((7, 3, true, "sshpass".into())));
        assert_eq!(read("no process"), None);
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().expect("sh");
        let names = || below(child.id()).into_iter().map(|it| it.name).collect::<Vec<_>>();
        let end = Instant::now() + Duration::from_secs(60);
        while names() != ["sh", "sleep"] && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(names(), ["sh", "sleep"]);
        end_below(child.id());
        child.wait().expect("it ends when its own has ended");
    }
}
