//! Settings of the user's ssh that suit log-ins and prevent a session: a terminal, a command of his own, no
//! input, the background, forwards that another log-in has taken. `ssh -G` says which hold for a host (ssh(1)). Only
//! those are set otherwise, and nothing where the program is not OpenSSH.
//!
//! ssh gives a host that does not answer up after the time that the user gives silent hosts.
//!
//! A master that exists is used: who logs in by one-time passwords has one. None is made: it would outlive the copy,
//! and hold its pipes.
//!
//! Must not know: what runs at the far end, why ssh is started.

use std::borrow::Cow;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::end;
use super::mux::wait_and_read;

/// Names are looked up for it, and commands of the configuration run (`Match exec`).
const LOOK_MAX: Duration = Duration::from_secs(10);
/// More of its words are not read.
const BYTES_MAX: usize = 1 << 20;

/// A setting as `ssh -G` says it, the values with which a session works, and the setting that replaces others.
struct Setting {
    name: &'static str,
    fits: &'static [&'static str],
    instead: &'static str,
}

const fn setting(name: &'static str, fits: &'static [&'static str], instead: &'static str) -> Setting {
    Setting { name, fits, instead }
}

const SETTINGS: [Setting; 11] = [
    setting("requesttty", &["auto", "false"], "RequestTTY=no"),
    setting("remotecommand", &["none"], "RemoteCommand=none"),
    setting("sessiontype", &["default"], "SessionType=default"),
    setting("forkafterauthentication", &["no"], "ForkAfterAuthentication=no"),
    setting("stdinnull", &["no"], "StdinNull=no"),
    setting("controlmaster", &["false"], "ControlMaster=no"),
    // Its output would come before the far end's, and it may read what is for the far end.
    setting("permitlocalcommand", &["no"], "PermitLocalCommand=no"),
    setting("tunnel", &["false"], "Tunnel=no"),
    setting("localforward", &[], CLEAR_FORWARDS),
    setting("remoteforward", &[], CLEAR_FORWARDS),
    setting("dynamicforward", &[], CLEAR_FORWARDS),
];
const CLEAR_FORWARDS: &str = "ClearAllForwardings=yes";

/// Settings for a command that would reach a host, instead of those in the way, and how long ssh waits for the host; the
/// words go from ssh to the host.
pub(super) fn instead(
    words: &[impl AsRef<str>],
    patience: Duration,
    stop: &AtomicBool,
) -> Vec<Cow<'static, str>> {
    let told = asked(words, stop).unwrap_or_default();
    let mut all: Vec<_> = in_the_way(&told).map(|(setting, _)| setting.instead).collect();
    all.dedup();
    all.into_iter().map(Cow::Borrowed).chain(connect_timeout(&told, patience).map(Cow::Owned)).collect()
}

/// A host that does not answer is waited for as long as a silent one, where ssh's own settings do not say less: TCP gives
/// a call up after 130 s. The clock of ssh does not run while it asks somebody for a password or about a host key.
fn connect_timeout(told: &[u8], patience: Duration) -> Option<String> {
    let mut lines = told.split(|byte| *byte == b'\n');
    let own = lines.find_map(|line| line.strip_prefix(b"connecttimeout "))?;
    let most = patience.as_secs() + u64::from(patience.subsec_nanos() > 0);
    let own = std::str::from_utf8(own).ok().and_then(|own| own.parse::<u64>().ok());
    own.is_none_or(|own| own > most).then(|| format!("ConnectTimeout={most}"))
}

/// For people: settings that are in the way although it was set otherwise, where anything does.
pub(super) fn left(words: &[impl AsRef<str>], stop: &AtomicBool) -> String {
    let told = asked(words, stop).unwrap_or_default();
    let lines: Vec<_> = in_the_way(&told).map(|(_, line)| datapump_core::problem::shown(line)).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("; of its settings these are in the way: {}", lines.join(", ")),
    }
}

/// Those that do not fit, with their lines.
fn in_the_way(told: &[u8]) -> impl Iterator<Item = (&'static Setting, &[u8])> {
    SETTINGS.iter().flat_map(move |setting| {
        let does_not_fit = move |line: &&[u8]| {
            let value = line.strip_prefix(setting.name.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
            value.is_some_and(|value| !setting.fits.iter().any(|fits| fits.as_bytes() == value))
        };
        told.split(|byte| *byte == b'\n').filter(does_not_fit).map(move |line| (setting, line))
    })
}

/// Output of `ssh -G`; none where the program is another, or says nothing in time.
fn asked(words: &[impl AsRef<str>], stop: &AtomicBool) -> Option<Vec<u8>> {
    let (program, rest) = words.split_first()?;
    Path::new(program.as_ref()).file_name().filter(|name| *name == "ssh")?;
    let mut command = Command::new(program.as_ref());
    command.arg("-G").args(rest.iter().map(AsRef::as_ref));
    // Its complaints come again when it is called.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut output = File::from(OwnedFd::from(child.stdout.take().expect("it was asked for")));
    let told = read(&mut output, stop);
    let status = end(&mut child, Duration::from_secs(1), stop);
    told.filter(|_| status.is_some_and(|status| status.success()))
}

fn read(output: &mut File, stop: &AtomicBool) -> Option<Vec<u8>> {
    let (began, mut told, mut bytes) = (Instant::now(), Vec::new(), [0; 4096]);
    while !stop.load(Ordering::Relaxed) && began.elapsed() < LOOK_MAX && told.len() < BYTES_MAX {
        match wait_and_read(output, &mut bytes).ok()? {
            Some(0) => return Some(told),
            Some(len) => told.extend_from_slice(&bytes[..len]),
            None => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_the_way_is_set_otherwise() {
        let of = |told: &str| in_the_way(told.as_bytes()).map(|(it, _)| it.instead).collect::<Vec<_>>();
        let usual = "host h\nhostname h\nrequesttty auto\nsessiontype default\nstdinnull no\ncontrolmaster false\n\
                     forkafterauthentication no\npermitlocalcommand no\ntunnel false\nlocalcommand stdinnull yes\n";
        assert_eq!(of(usual), [""; 0]);
        for (line, expected) in [
            ("requesttty force", "RequestTTY=no"),
            ("requesttty true", "RequestTTY=no"),
            ("remotecommand tmux attach", "RemoteCommand=none"),
            ("sessiontype none", "SessionType=default"),
            ("forkafterauthentication yes", "ForkAfterAuthentication=no"),
            ("stdinnull yes", "StdinNull=no"),
            ("controlmaster auto", "ControlMaster=no"),
            ("localforward 80 [h]:80", CLEAR_FORWARDS),
            ("dynamicforward 1080", CLEAR_FORWARDS),
        ] {
            assert_eq!(of(&format!("hostname h\n{line}\n")), [expected], "{line}");
        }
    }

    #[test]
    fn a_host_that_does_not_answer_is_waited_for_as_long_as_the_user_says() {
        let of = |told: &str, ms| connect_timeout(told.as_bytes(), Duration::from_millis(ms));
        for (told, ms, expected) in [
            ("hostname h\nconnecttimeout none\n", 30_000, Some("ConnectTimeout=30")),
            ("connecttimeout none\n", 3_001, Some("ConnectTimeout=4")),
            ("connecttimeout 60\n", 30_000, Some("ConnectTimeout=30")),
            ("connecttimeout 5\n", 30_000, None),
            // Another program.
            ("", 30_000, None),
        ] {
            assert_eq!(of(told, ms).as_deref(), expected, "{told} {ms}");
        }
    }

    #[test]
    fn another_program_is_not_asked() {
        let stop = AtomicBool::new(false);
        assert_eq!(asked(&["sh", "-c", "echo requesttty force"], &stop), None);
        assert_eq!(asked(&["/nowhere/ssh", "h"], &stop), None);
        assert_eq!(instead(&["rsh", "h"], Duration::from_secs(30), &stop), [""; 0]);
        assert_eq!(left(&["rsh", "h"], &stop), "");
    }
}
