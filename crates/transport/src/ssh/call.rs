//! The command line that starts a far end: the user's words, with options where settings of ssh are in the way.
//!
//! Must not know: what the far end answers.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Shell, SshHost, settings};
use crate::fault::NetFault;

/// The command that starts the far end of one session.
pub(super) struct SshCall<'shell> {
    pub(super) shell: &'shell Shell,
    host: &'shell SshHost,
    /// Options for ssh that replace settings of the user's.
    instead: Vec<Cow<'static, str>>,
}

impl<'shell> SshCall<'shell> {
    pub(super) fn new(
        shell: &'shell Shell,
        host: &'shell SshHost,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<Self, NetFault> {
        let plain = SshCall { shell, host, instead: Vec::new() };
        let Some(ssh) = shell.openssh() else { return Ok(plain) };
        let look = |options: &[Cow<'static, str>]| {
            let call = SshCall { instead: options.to_vec(), ..plain };
            let mut words = call.words();
            words.insert(ssh + 1, "-G".into());
            words.extend(shell.remote_words().into_iter().map(Cow::Borrowed));
            settings::output(&words, stop)
        };
        match settings::instead(&look, patience) {
            Ok(instead) => Ok(SshCall { instead, ..plain }),
            Err(_) if stop.load(Ordering::Relaxed) => Err(NetFault::Stopped),
            Err(words) => Err(NetFault::Refused(words)),
        }
    }

    /// The words that run a command on the host, but for that command. The port is right before the host: what is
    /// in front may be another program that starts ssh. Of two settings ssh takes the first.
    pub(super) fn words(&self) -> Vec<Cow<'_, str>> {
        let port = self.host.port.map(|port| ["-p".into(), port.to_string().into()]);
        let command = self.shell.command.iter().map(|word| Cow::Borrowed(word.as_str()));
        let instead = self.instead.iter().flat_map(|it| [Cow::Borrowed("-o"), Cow::Borrowed(&**it)]);
        let programs = self.shell.openssh().map_or(0, |ssh| ssh + 1);
        let words = command.clone().take(programs).chain(instead).chain(command.skip(programs));
        words.chain(port.into_iter().flatten()).chain([self.host.name.as_str().into()]).collect()
    }

    /// Those words as a shell would take them, for people.
    pub(super) fn shown(&self) -> String {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./@:=%+,[]".contains(letter);
        let quoted = |word: &Cow<'_, str>| {
            if word.chars().all(is_plain) && !word.is_empty() {
                word.to_string()
            } else {
                format!("'{}'", word.replace('\'', "'\\''"))
            }
        };
        let line = self.words().iter().map(quoted).collect::<Vec<_>>().join(" ");
        datapump_core::problem::shown(line.as_bytes())
    }

    /// For people, where a session did not begin: a command that is not asked may start an ssh with such settings.
    pub(super) fn unasked(&self) -> String {
        match self.shell.openssh() {
            Some(_) => String::new(),
            None => format!(
                "; if {} starts ssh, these settings must not be for log-ins: RequestTTY, RemoteCommand, SessionType, \
                 ForkAfterAuthentication, StdinNull",
                self.shell.name()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str) -> SshHost {
        SshHost { name: name.into(), port: None }
    }

    #[test]
    fn a_port_stands_before_the_host_and_what_is_shown_can_be_typed() {
        let shell = Shell::new("ssh -J jump -o 'User Known'", "pump").expect("words");
        let host = SshHost { name: "user@host".into(), port: Some(2222) };
        assert!(Shell::new("ssh -p 1", "pump").expect("words").names_another_port(&host));
        assert!(!Shell::new("ssh -p 1", "pump").expect("words").names_another_port(&at("host")));
        let call = SshCall { shell: &shell, host: &host, instead: vec!["StdinNull=no".into()] };
        let expected = "ssh -o StdinNull=no -J jump -o 'User Known' -p 2222 user@host";
        assert_eq!(call.words()[5..], ["-o", "User Known", "-p", "2222", "user@host"]);
        assert_eq!(call.shown(), expected);
        // Another program that starts ssh; and one that may be anything.
        let shell = Shell::new("nice -n 5 /usr/bin/ssh -v", "pump").expect("words");
        let call = SshCall { shell: &shell, host: &host, instead: vec!["StdinNull=no".into()] };
        assert_eq!(call.shown(), "nice -n 5 /usr/bin/ssh -o StdinNull=no -v -p 2222 user@host");
        assert_eq!(call.unasked(), "");
        for command in ["plink -batch", "./wrapper ssh-like", "sshpass -e autossh"] {
            let shell = Shell::new(command, "pump").expect("words");
            let call = SshCall::new(&shell, &host, Duration::ZERO, &AtomicBool::new(false)).expect("words");
            assert_eq!(call.shown(), format!("{command} -p 2222 user@host"));
            assert!(call.unasked().contains("RequestTTY"), "{command}");
        }
        let (shell, host) = (Shell::new("a \"it's\"", "pump").expect("words"), at("b"));
        assert_eq!(SshCall { shell: &shell, host: &host, instead: vec![] }.shown(), "a 'it'\\''s' b");
    }
}
