//! Settings of the user's ssh that suit log-ins and prevent a session: a terminal, a command of the user's, no
//! input, the background, forwards that another log-in has taken. `ssh -G` reports which hold for a host and a command
//! (ssh(1)). Only those are replaced, and nothing where the program is not OpenSSH.
//!
//! ssh gives a host that does not answer up after the time that the user gives silent hosts.
//!
//! A master that exists is used: users with one-time passwords have one. None is made: it would outlive the copy,
//! and hold its pipes.
//!
//! Must not know: what runs at the far end, why ssh is started.

use std::borrow::Cow;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::end;
use super::mux::wait_and_read;

/// Names are looked up for it, and commands of the configuration run (`Match exec`).
const LOOK_MAX: Duration = Duration::from_secs(10);
/// More of its words are not read.
const BYTES_MAX: usize = 1 << 20;

/// A setting as `ssh -G` reports it, the values with which a session works, and the option that replaces others.
struct Setting {
    name: &'static str,
    fits: &'static [&'static str],
    instead: &'static str,
}

const fn setting(name: &'static str, fits: &'static [&'static str], instead: &'static str) -> Setting {
    Setting { name, fits, instead }
}

const SETTINGS: [Setting; 13] = [
    setting("requesttty", &["auto", "false", "no"], "RequestTTY=no"),
    setting("remotecommand", &["none"], NO_REMOTE_COMMAND),
    setting("sessiontype", &["default"], "SessionType=default"),
    setting("forkafterauthentication", &["no"], "ForkAfterAuthentication=no"),
    setting("stdinnull", &["no"], "StdinNull=no"),
    setting("controlmaster", &["false", "no"], "ControlMaster=no"),
    // Its output would precede the far end's, and it may read the input of the far end.
    setting("permitlocalcommand", &["no"], "PermitLocalCommand=no"),
    setting("tunnel", &["false", "no"], "Tunnel=no"),
    setting("localforward", &[], CLEAR_FORWARDS),
    setting("remoteforward", &[], CLEAR_FORWARDS),
    setting("dynamicforward", &[], CLEAR_FORWARDS),
    // The session is idle while the data use connections of their own.
    setting("channeltimeout", &["none"], "ChannelTimeout=none"),
    // Quieter, it does not report why a host was not reached.
    setting(
        "loglevel",
        &["ERROR", "INFO", "VERBOSE", "DEBUG", "DEBUG1", "DEBUG2", "DEBUG3"],
        "LogLevel=ERROR",
    ),
];
const CLEAR_FORWARDS: &str = "ClearAllForwardings=yes";
const NO_REMOTE_COMMAND: &str = "RemoteCommand=none";

/// Lines that no session survives, and the flags of ssh that no option replaces; `-f` is `-n`, too.
const PREVENTING: [(&str, &str); 5] = [
    ("requesttty force", "-tt"),
    ("sessiontype none", "-N"),
    ("sessiontype subsystem", "-s"),
    ("forkafterauthentication yes", "-f"),
    ("stdinnull yes", "-n"),
];

/// Gives the output of `ssh -G` with more options in front; none where the program is another.
type SettingsLook<'call> = dyn Fn(&[Cow<'static, str>]) -> Option<Vec<u8>> + 'call;

/// Options that replace the settings in the way, and how long ssh waits for the host.
///
/// Errors: a message: flags that prevent a session whatever is set.
pub(super) fn instead(look: &SettingsLook<'_>, patience: Duration) -> Result<Vec<Cow<'static, str>>, String> {
    let Some(reported) = look_at_all(look) else { return Ok(Vec::new()) };
    let mut all: Vec<_> = in_the_way(&reported).map(|setting| Cow::Borrowed(setting.instead)).collect();
    all.dedup();
    // Beside some of its flags ssh takes no such option: they remain, too.
    let remaining = preventing(&reported)
        .and_then(|found| look(&all).map_or(Some(found), |reported| preventing(&reported)));
    if let Some((line, flag)) = remaining {
        return Err(format!("ssh reaches no far end that way: drop {flag} ({line}) from --ssh"));
    }
    all.extend(connect_timeout(&reported, patience).map(Cow::Owned));
    Ok(all)
}

/// ssh takes no command beside a RemoteCommand, also not for `-G`.
fn look_at_all(look: &SettingsLook<'_>) -> Option<Vec<u8>> {
    let without = || Some([b"remotecommand set\n", &*look(&[NO_REMOTE_COMMAND.into()])?].concat());
    look(&[]).or_else(without)
}

/// A host that does not answer is waited for as long as a silent one, where ssh's own settings do not say less: TCP gives
/// a call up after 130 s. The clock of ssh does not run while it asks somebody for a password or about a host key.
fn connect_timeout(reported: &[u8], patience: Duration) -> Option<String> {
    let mut lines = reported.split(|byte| *byte == b'\n');
    let own = lines.find_map(|line| line.strip_prefix(b"connecttimeout "))?;
    let most = patience.as_secs() + u64::from(patience.subsec_nanos() > 0);
    let own = std::str::from_utf8(own).ok().and_then(|own| own.parse::<u64>().ok());
    own.is_none_or(|own| own > most).then(|| format!("ConnectTimeout={most}"))
}

/// Settings whose reported values do not fit.
fn in_the_way(reported: &[u8]) -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(move |setting| {
        let does_not_fit = |line: &[u8]| {
            let value = line.strip_prefix(setting.name.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
            value.is_some_and(|value| !setting.fits.iter().any(|fits| fits.as_bytes() == value))
        };
        reported.split(|byte| *byte == b'\n').any(does_not_fit)
    })
}

/// The first reported line that prevents a session, with its flag.
fn preventing(reported: &[u8]) -> Option<(&'static str, &'static str)> {
    let is_reported = |line: &str| reported.split(|byte| *byte == b'\n').any(|it| it == line.as_bytes());
    PREVENTING.into_iter().find(|(line, _)| is_reported(line))
}

/// Output of a command that is `ssh -G`; none where it fails, or reports nothing in time.
pub(super) fn output(words: &[impl AsRef<str>], stop: &AtomicBool) -> Option<Vec<u8>> {
    let (program, rest) = words.split_first()?;
    let mut command = Command::new(program.as_ref());
    command.args(rest.iter().map(AsRef::as_ref));
    // It complains once more when it is started.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut output = File::from(OwnedFd::from(child.stdout.take().expect("it was asked for")));
    let reported = read(&mut output, stop);
    let status = end(&mut child, Duration::from_secs(1), stop);
    reported.filter(|_| status.is_some_and(|status| status.success()))
}

fn read(output: &mut File, stop: &AtomicBool) -> Option<Vec<u8>> {
    let (began, mut reported, mut bytes) = (Instant::now(), Vec::new(), [0; 4096]);
    while !stop.load(Ordering::Relaxed) && began.elapsed() < LOOK_MAX && reported.len() < BYTES_MAX {
        match wait_and_read(output, &mut bytes).ok()? {
            Some(0) => return Some(reported),
            Some(len) => reported.extend_from_slice(&bytes[..len]),
            None => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT_MAX: Duration = Duration::from_secs(30);

    #[test]
    fn only_what_is_in_the_way_is_replaced() {
        let of = |reported: &str| in_the_way(reported.as_bytes()).map(|it| it.instead).collect::<Vec<_>>();
        let usual = "host h\nhostname h\nrequesttty auto\nsessiontype default\nstdinnull no\ncontrolmaster false\n\
                     forkafterauthentication no\npermitlocalcommand no\ntunnel false\nlocalcommand stdinnull yes\n\
                     loglevel INFO\nchanneltimeout\nchanneltimeout none\n";
        assert_eq!(of(usual), [""; 0]);
        for (line, expected) in [
            ("requesttty force", "RequestTTY=no"),
            ("requesttty true", "RequestTTY=no"),
            ("remotecommand tmux attach", "RemoteCommand=none"),
            ("sessiontype none", "SessionType=default"),
            ("sessiontype subsystem", "SessionType=default"),
            ("forkafterauthentication yes", "ForkAfterAuthentication=no"),
            ("stdinnull yes", "StdinNull=no"),
            ("controlmaster auto", "ControlMaster=no"),
            ("localforward 80 [h]:80", CLEAR_FORWARDS),
            ("dynamicforward 1080", CLEAR_FORWARDS),
            ("channeltimeout session=5m", "ChannelTimeout=none"),
            ("loglevel SILENT", "LogLevel=ERROR"),
        ] {
            assert_eq!(of(&format!("hostname h\n{line}\n")), [expected], "{line}");
        }
    }

    #[test]
    fn what_no_option_replaces_is_named_before_ssh_is_started() {
        // A setting of the configuration is replaced by an option, a flag is not.
        let set = |options: &[Cow<'static, str>]| match options {
            [] => Some(b"stdinnull yes\n".to_vec()),
            options => Some(format!("{options:?}\n").into_bytes()),
        };
        assert_eq!(instead(&set, WAIT_MAX), Ok(vec!["StdinNull=no".into()]));
        let flag = |_: &[Cow<'static, str>]| Some(b"stdinnull yes\nrequesttty force\n".to_vec());
        let message = instead(&flag, WAIT_MAX).expect_err("flags");
        assert!(message.contains("drop -tt (requesttty force) from --ssh"), "{message}");
        // Without a terminal at its input ssh asks for none by `-t`.
        let harmless = |_: &[Cow<'static, str>]| Some(b"requesttty true\n".to_vec());
        assert_eq!(instead(&harmless, WAIT_MAX), Ok(vec!["RequestTTY=no".into()]));
        let commanded = |options: &[Cow<'static, str>]| {
            options.contains(&Cow::Borrowed(NO_REMOTE_COMMAND)).then(|| b"sessiontype none\n".to_vec())
        };
        assert!(instead(&commanded, WAIT_MAX).is_err());
        let commanded =
            |options: &[Cow<'static, str>]| (!options.is_empty()).then(|| b"hostname h\n".to_vec());
        assert_eq!(instead(&commanded, WAIT_MAX), Ok(vec![NO_REMOTE_COMMAND.into()]));
    }

    #[test]
    fn a_host_that_does_not_answer_is_waited_for_as_long_as_the_user_says() {
        let of = |reported: &str, ms| connect_timeout(reported.as_bytes(), Duration::from_millis(ms));
        for (reported, ms, expected) in [
            ("hostname h\nconnecttimeout none\n", 30_000, Some("ConnectTimeout=30")),
            ("connecttimeout none\n", 3_001, Some("ConnectTimeout=4")),
            ("connecttimeout 60\n", 30_000, Some("ConnectTimeout=30")),
            ("connecttimeout 5\n", 30_000, None),
            // Another program.
            ("", 30_000, None),
        ] {
            assert_eq!(of(reported, ms).as_deref(), expected, "{reported} {ms}");
        }
    }

    #[test]
    fn a_program_that_fails_reports_nothing() {
        let stop = AtomicBool::new(false);
        assert_eq!(output(&["sh", "-c", "echo requesttty force; exit 1"], &stop), None);
        assert_eq!(output(&["/nowhere/ssh", "-G", "h"], &stop), None);
        assert_eq!(instead(&|_| None, WAIT_MAX), Ok(Vec::new()));
    }
}
