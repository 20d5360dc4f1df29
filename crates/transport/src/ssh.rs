//! Starts the far end of a session over the user's own ssh, or any command that runs another somewhere else, and hears
//! how it is reached.
//!
//! Nothing but the host and the far program stand on that command line: places go over the session, so that no shell
//! reads them, and the ticket comes back over ssh. What ssh asks and says it asks and says on the terminal itself.
//!
//! Must not know: what the session is for, frames.

mod call;
mod distrusts;
mod mux;
mod said;
mod settings;
mod start_wait;

use std::fs::File;
use std::io::pipe;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use datapump_core::wire::VERSION;
use datapump_core::wire::opening::{FoundOpening, Opening, Search};

use crate::fault::NetFault;
use crate::tls::Ticket;

pub(crate) use distrusts::Distrusted;
pub use distrusts::Distrusts;
pub use mux::SshMux;

use call::SshCall;
use mux::wait_and_read;
use said::Said;
use start_wait::{ANSWER_MAX, Silent, StartWait, end_below};

/// What this side is, beside a far end of another version.
const RELEASE: &str = env!("CARGO_PKG_VERSION");
/// How long ssh may take to end when the session is over.
const END_MAX: Duration = Duration::from_secs(2);
/// The same for who was told to stop: signals are answered within a second.
const STOPPED_END_MAX: Duration = Duration::from_millis(300);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// So much of noise is shown.
const SHOWN_BYTES_MAX: usize = 200;

/// A host as ssh takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshHost {
    /// `host` or `user@host`.
    pub name: String,
    /// ssh's `-p`; none where its configuration says.
    pub port: Option<u16>,
}

/// How the far end is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// ssh and its options; the host and the far command follow.
    pub command: Vec<String>,
    /// The far `pump`, as the far shell finds it.
    pub remote_bin: String,
    /// All goes through ssh: the far end does not listen, and is not called.
    pub carries_all: bool,
    /// Hosts that are not called any more, although they listen.
    pub distrusts: Distrusts,
}

impl Default for Shell {
    fn default() -> Shell {
        let distrusts = Distrusts::default();
        Shell { command: vec!["ssh".into()], remote_bin: "pump".into(), carries_all: false, distrusts }
    }
}

impl Shell {
    /// Splits the words of `command` as a shell would, apart from expansions: spaces part, quotes and backslashes keep.
    ///
    /// Errors: words for the user: no command, an open quote, what would be taken for an option.
    pub fn new(command: &str, remote_bin: &str) -> Result<Shell, String> {
        let command = split_words(command)?;
        if command.first().is_none_or(String::is_empty) {
            return Err("no command to reach other hosts with: write for example --ssh 'ssh -p 2222'".into());
        }
        if remote_bin.is_empty() || remote_bin.starts_with('-') {
            let shown = datapump_core::problem::shown(remote_bin.as_bytes());
            return Err(format!(
                "'{shown}' is no program of the other host: write for example --remote-bin bin/pump"
            ));
        }
        Ok(Shell { command, remote_bin: remote_bin.into(), ..Shell::default() })
    }

    fn name(&self) -> String {
        datapump_core::problem::shown(self.command[0].as_bytes())
    }

    /// The command at the far end. A pump that does not hear by which address ssh came does not listen.
    fn remote_words(&self) -> Vec<&str> {
        let unheard: &[&str] = if self.carries_all { &["env", "-u", "SSH_CONNECTION"] } else { &[] };
        unheard.iter().copied().chain([self.remote_bin.as_str(), "serve", "--stdio"]).collect()
    }

    /// The word that is OpenSSH's ssh; programs that start it may precede it (`sshpass -e ssh`, `nice ssh`).
    fn openssh(&self) -> Option<usize> {
        let is_ssh = |word: &String| Path::new(word).file_name().is_some_and(|name| name == "ssh");
        self.command.iter().position(is_ssh)
    }

    /// ssh takes the first of two ports.
    fn names_another_port(&self, host: &SshHost) -> bool {
        host.port.is_some() && self.command.iter().skip(1).any(|word| word.starts_with("-p"))
    }
}

/// Words as a shell parts them (POSIX, Shell Command Language, 2.2), without expansions.
fn split_words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut letters) = (Vec::new(), None::<String>, line.chars());
    let open = || format!("a quote is left open in '{}'", datapump_core::problem::shown(line.as_bytes()));
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(letters.next().ok_or_else(open)?),
            '\'' | '"' => loop {
                let word = word.get_or_insert_default();
                match letters.next().ok_or_else(open)? {
                    end if end == letter => break,
                    '\\' if letter == '"' => match letters.next().ok_or_else(open)? {
                        kept @ ('"' | '\\' | '$' | '`') => word.push(kept),
                        other => word.extend(['\\', other]),
                    },
                    plain => word.push(plain),
                }
            },
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Ok(words)
}

/// A far end that was started, until dropped.
pub struct RemoteEnd {
    child: Child,
    said: Said,
    ssh_mux: Arc<SshMux>,
    /// The user has no more time.
    stop: Arc<AtomicBool>,
    /// The far end's output, until somebody reads it; and the bytes that came behind its line.
    input: Option<(File, Vec<u8>)>,
    /// What lets this side in.
    pub(crate) ticket: Ticket,
    /// Where it listens.
    pub(crate) address: Option<std::net::SocketAddr>,
    /// It is not to be called there.
    pub(crate) carries_all: bool,
    /// It was called there before, and is not any more.
    pub(crate) distrusted: Distrusted,
}

impl std::fmt::Debug for RemoteEnd {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "RemoteEnd({})", self.child.id())
    }
}

impl RemoteEnd {
    /// Starts it and hears its line. Takes as long as the user needs for a password; ends early with `stop`, or where the
    /// host does not answer for as long as `patience`.
    ///
    /// Errors: `Refused` where another try would end the same.
    pub(crate) fn start(
        shell: &Shell,
        host: &SshHost,
        patience: Duration,
        stop: &Arc<AtomicBool>,
    ) -> Result<RemoteEnd, NetFault> {
        if shell.names_another_port(host) {
            let words = "the place and --ssh both name a port; drop one";
            return Err(NetFault::Refused(words.into()));
        }
        let call = SshCall::new(shell, host, patience, stop)?;
        let (mut child, output, mut input, mut wait) = spawn(&call, patience)?;
        let said = Said::relay(child.stderr.take().expect("it was asked for"));
        let mut search = Search::default();
        let heard = hear(&mut input, &mut search, &mut wait, stop);
        let opening = match heard {
            Ok(Heard::Found(FoundOpening::Opening(opening))) => read(opening),
            Ok(Heard::Found(FoundOpening::OtherVersion(protocol, program))) => {
                Err(other_version(&protocol, &program))
            }
            Ok(Heard::Found(FoundOpening::Noise)) => Err(NetFault::Refused(format!(
                "no pump answers on the other host, but something that prints much; a login script must be silent when \
                 it runs commands{}",
                printed(&search)
            ))),
            Ok(Heard::Silence(silent)) => Err(unanswered(&call, silent, &search)),
            Ok(Heard::End) => {
                drop(output);
                let status = end(&mut child, END_MAX, stop);
                // A terminal tells ssh to stop, too: that it did is no news.
                return Err(if stop.load(Ordering::Relaxed) {
                    NetFault::Stopped
                } else {
                    ended(&call, status, &search, &said)
                });
            }
            Err(fault) => Err(fault),
        };
        // From now on ssh is the only reader of its input.
        drop(wait);
        let (ticket, address) = opening.inspect_err(|_| {
            end_below(child.id());
            end(&mut child, Duration::ZERO, stop);
        })?;
        let (ssh_mux, input) = (SshMux::new(output), Some((input, search.rest().to_vec())));
        let (stop, distrusted) = (Arc::clone(stop), shell.distrusts.of(host));
        let carries_all = shell.carries_all || distrusted.is_in();
        Ok(RemoteEnd { child, said, ssh_mux, stop, input, ticket, address, carries_all, distrusted })
    }

    /// What carries streams to it.
    pub(crate) fn carry(&mut self) -> Arc<SshMux> {
        if let Some((input, early)) = self.input.take() {
            let ssh_mux = Arc::clone(&self.ssh_mux);
            // It ends with ssh. Whatever it ends with, its streams end, and who used them tells.
            std::thread::spawn(move || ssh_mux.receive(&early, input, None));
        }
        Arc::clone(&self.ssh_mux)
    }
}

impl Drop for RemoteEnd {
    /// The far end ends when its input does, and ssh with it.
    fn drop(&mut self) {
        self.ssh_mux.finish(if self.stop.load(Ordering::Relaxed) { STOPPED_END_MAX } else { END_MAX });
        end(&mut self.child, END_MAX, &self.stop);
        self.said.await_rest();
    }
}

/// Waits for its end, and brings it about when it takes too long.
fn end(child: &mut Child, patience: Duration, stop: &AtomicBool) -> Option<ExitStatus> {
    let start = Instant::now();
    let most = || if stop.load(Ordering::Relaxed) { patience.min(STOPPED_END_MAX) } else { patience };
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if start.elapsed() < most() => std::thread::sleep(POLL_INTERVAL),
            _ => break,
        }
    }
    let _ = child.kill();
    child.wait().ok()
}

/// Starts the command, with what goes to it and comes from it, and the wait for its answer.
fn spawn(call: &SshCall<'_>, patience: Duration) -> Result<(Child, File, File, StartWait), NetFault> {
    let (shell, words) = (call.shell, call.words());
    let (to_ssh, output) = pipe().map_err(|error| NetFault::of_io("make a pipe", &error))?;
    let ours = to_ssh.try_clone().map_err(|error| NetFault::of_io("make a pipe", &error))?;
    let mut command = Command::new(&*words[0]);
    command.args(words[1..].iter().map(|word| &**word)).args(shell.remote_words());
    command.stdin(to_ssh).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        let name = shell.name();
        NetFault::Refused(format!("{name} cannot be started: {error}; --ssh names another command"))
    })?;
    let input = File::from(OwnedFd::from(child.stdout.take().expect("it was asked for")));
    let wait = StartWait::new(ours, child.id(), patience);
    Ok((child, File::from(OwnedFd::from(output)), input, wait))
}

/// What came of a start.
enum Heard {
    Found(FoundOpening),
    /// Nothing of ours came, and nothing more will.
    End,
    /// Nothing of ours came for too long.
    Silence(Silent),
}

/// Reads until something was found, nothing more comes, or nothing came for too long.
fn hear(
    input: &mut File,
    search: &mut Search,
    wait: &mut StartWait,
    stop: &AtomicBool,
) -> Result<Heard, NetFault> {
    let mut bytes = [0; 4096];
    while !stop.load(Ordering::Relaxed) {
        match wait_and_read(input, &mut bytes)? {
            Some(0) => return Ok(Heard::End),
            Some(len) => search.handle_bytes(&bytes[..len]),
            None => {}
        }
        if let Some(found) = search.poll() {
            return Ok(Heard::Found(found));
        }
        if let Some(silent) = wait.poll() {
            return Ok(Heard::Silence(silent));
        }
    }
    Err(NetFault::Stopped)
}

/// Why a far end that says nothing is given up.
fn unanswered(call: &SshCall<'_>, silent: Silent, search: &Search) -> NetFault {
    let shell = call.shell;
    let (name, bin) = (shell.name(), datapump_core::problem::shown(shell.remote_bin.as_bytes()));
    let (by_hand, unasked) = (call.shown(), call.unasked());
    let words = match silent {
        Silent::Shell => format!(
            "the far shell did not run '{bin}' within {} s: a start file there (~/.bashrc, ~/.cshrc) may read its \
             input, wait or run another program; try: {by_hand} {bin} --version",
            ANSWER_MAX.as_secs()
        ),
        Silent::Ssh => format!("{name} did not log in; try: {by_hand} true"),
    };
    NetFault::Refused(format!("{words}{unasked}{}", printed(search)))
}

fn read(opening: Opening) -> Result<(Ticket, Option<std::net::SocketAddr>), NetFault> {
    // Only numbers: the far end does not choose which names are looked up here.
    let address = opening.address.and_then(|address| address.parse().ok());
    match Ticket::parse(&opening.ticket) {
        Ok(ticket) => Ok((ticket, address)),
        Err(words) => Err(NetFault::Refused(format!("the other host's ticket: {words}"))),
    }
}

fn other_version(protocol: &str, program: &str) -> NetFault {
    let (first, second, here) = (VERSION.0, VERSION.1, RELEASE);
    NetFault::Refused(format!(
        "the other host has pump {program}, which speaks version {protocol} of the protocol; this is pump {here}, which \
         speaks version {first}.{second}: install the same version on both, or name another with --remote-bin"
    ))
}

/// Why there is no far end. ssh has said its part on standard error.
fn ended(call: &SshCall<'_>, status: Option<ExitStatus>, search: &Search, said: &Said) -> NetFault {
    let shell = call.shell;
    let (name, bin) = (shell.name(), datapump_core::problem::shown(shell.remote_bin.as_bytes()));
    let by_hand = call.shown();
    // Its own words precede those about it.
    said.await_rest();
    let own = if said.is_silent() { "it printed no reason" } else { "see its message above" };
    if status.and_then(|status| status.code()) == Some(255) && said.is_unreached() {
        return NetFault::Unreached(format!(
            "{name} found no such host, or nobody answers there; see its message above"
        ));
    }
    let words = match (status.and_then(|status| status.code()), status.and_then(|status| status.signal())) {
        (Some(255), _) => format!(
            "{name} ended with status 255: the host is not known, cannot be reached or does not let you in; {own}; \
             try: {by_hand} true"
        ),
        (Some(127), _) => format!(
            "there is no '{bin}' on the other host (status 127): install pump there, or say where it is with \
             --remote-bin; try: {by_hand} {bin} --version"
        ),
        (Some(126), _) => {
            format!("'{bin}' cannot be run on the other host (status 126); --remote-bin names another")
        }
        (Some(2), _) => format!(
            "'{bin} serve --stdio' ended with status 2 on the other host: it is of another version than this pump {}, or \
             has a terminal instead of pipes; install the same version on both",
            RELEASE
        ),
        (Some(status), _) => {
            format!("{name} or '{bin}' on the other host ended with status {status} before it answered")
        }
        (None, Some(signal)) => format!("{name} was ended by signal {signal} before the other host answered"),
        (None, None) => format!("{name} ended before the other host answered"),
    };
    let reached = matches!(status.and_then(|status| status.code()), Some(126 | 127 | 255));
    let unasked = if reached { String::new() } else { call.unasked() };
    NetFault::Refused(format!("{words}{unasked}{}", printed(search)))
}

/// What came instead of a line of ours.
fn printed(search: &Search) -> String {
    let noise = search.rest();
    let (start, more) = (&noise[..noise.len().min(SHOWN_BYTES_MAX)], noise.len() > SHOWN_BYTES_MAX);
    match (start.is_empty(), more) {
        (true, _) => String::new(),
        (false, more) => {
            let dots = if more { " …" } else { "" };
            format!("; the other host printed: {}{dots}", datapump_core::problem::shown(start))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_parted_as_shells_do() {
        for (line, expected) in [
            ("ssh", &["ssh"][..]),
            ("  ssh -p\t2222 ", &["ssh", "-p", "2222"]),
            ("ssh -o 'User Known'", &["ssh", "-o", "User Known"]),
            (r#"a "b \" c \x" d\ e '\'"#, &["a", r#"b " c \x"#, "d e", r"\"]),
            ("a '' b\"c\"'d'", &["a", "", "bcd"]),
            ("a $HOME `b`", &["a", "$HOME", "`b`"]),
        ] {
            assert_eq!(split_words(line).expect(line), expected, "{line}");
        }
        for (line, remote_bin) in
            [("", "pump"), ("''", "pump"), ("a 'b", "pump"), ("a \\", "pump"), ("ssh", "-x")]
        {
            Shell::new(line, remote_bin).expect_err(line);
        }
        assert_eq!(Shell::new("ssh", "pump"), Ok(Shell::default()));
        assert_eq!(Shell::default().remote_words(), ["pump", "serve", "--stdio"]);
        let alone = Shell { carries_all: true, ..Shell::default() };
        assert_eq!(alone.remote_words(), ["env", "-u", "SSH_CONNECTION", "pump", "serve", "--stdio"]);
    }

    fn host(name: &str) -> SshHost {
        SshHost { name: name.into(), port: None }
    }

    /// The far end is a shell that reads its command from the options; the host and the far command are its arguments.
    fn started(script: &str) -> Result<RemoteEnd, NetFault> {
        let command = ["sh", "-c", script].map(str::to_owned).to_vec();
        let shell = Shell { command, remote_bin: "far pump".into(), ..Shell::default() };
        RemoteEnd::start(&shell, &host("user@host"), END_MAX, &Arc::default())
    }

    #[test]
    fn what_the_far_end_says_is_read_and_what_it_does_not_say_is_explained() {
        let ticket = format!("pump1-{}", "0a".repeat(64));
        let end = started(&format!(
            "echo \"Hello $0 $*\"; printf 'pump-far-end: 1.7 3.0 {ticket} [::1]:99 more\\n'; cat >&2"
        ))
        .expect("it answers");
        assert_eq!((end.ticket.word(), end.address), (ticket.clone(), "[::1]:99".parse().ok()));
        for (script, parts) in [
            ("exit 255", &["status 255", "try: sh -c 'exit 255' user@host true"][..]),
            ("exit 127", &["no 'far pump' on the other host", "--remote-bin"]),
            ("exit 126", &["cannot be run"]),
            ("exit 2", &["another version"]),
            ("echo hello; exit 3", &["status 3", "printed: hello"]),
            ("kill -9 $$", &["signal 9"]),
            ("printf 'a\\033[2J'", &["status 0", "printed: a\\u{1b}[2J"]),
            ("echo pump-far-end: 2.1 9.8.7", &["pump 9.8.7", "version 2.1", RELEASE, "version 1.1"]),
            ("echo pump-far-end: 1.0 1.0 pump1-zz -", &["ticket"]),
            ("yes aggressively", &["must be silent", "aggressively\\n", " …"]),
        ] {
            let Err(NetFault::Refused(words)) = started(script) else { panic!("{script}: it is refused") };
            for part in parts {
                assert!(words.contains(part), "{script}: no {part:?} in: {words}");
            }
        }
        let missing = Shell::new("/nowhere/ssh", "pump").expect("words");
        let fault = RemoteEnd::start(&missing, &host("host"), END_MAX, &Arc::default());
        assert!(format!("{fault:?}").contains("--ssh"), "{fault:?}");
        let silent = Shell::new("sh -c 'sleep 60'", "pump").expect("words");
        let stopped = RemoteEnd::start(&silent, &host("host"), END_MAX, &Arc::new(AtomicBool::new(true)));
        assert_eq!(stopped.expect_err("it stops"), NetFault::Stopped);
    }
}
