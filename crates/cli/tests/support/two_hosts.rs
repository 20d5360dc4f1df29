//! One copy, in each way that there is between two places: here, to a server and from one, by ssh to one and from one,
//! within a host that ssh reaches, and from one such host to another. Hosts are folders of a test's own.
//!
//! Must not know: what is copied, and how a test judges it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::PUMP;
use super::home::{Home, Outcome, outcome};
use super::programs::script;
use super::serving::Serving;

/// Between which places a copy goes, seen from the program that is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Here,
    Pushed,
    Pulled,
    PushedBySsh,
    PulledBySsh,
    WithinSsh,
    Relayed,
}

impl Way {
    pub const ALL: [Way; 7] = [
        Way::Here,
        Way::Pushed,
        Way::Pulled,
        Way::PushedBySsh,
        Way::PulledBySsh,
        Way::WithinSsh,
        Way::Relayed,
    ];
    /// Those without ssh.
    pub const SERVED: [Way; 3] = [Way::Here, Way::Pushed, Way::Pulled];

    /// The folders that are the hosts of the source and of the target; an empty name is this host.
    fn hosts(self) -> [&'static str; 2] {
        match self {
            Way::Here => ["", ""],
            Way::Pushed | Way::PushedBySsh => ["", "served"],
            Way::Pulled | Way::PulledBySsh => ["served", ""],
            Way::WithinSsh => ["served", "served"],
            Way::Relayed => ["served", "other"],
        }
    }

    fn is_called(self) -> bool {
        matches!(self, Way::Pushed | Way::Pulled)
    }
}

/// Makes `./rsh`, in the place of ssh: the host is a folder, which is the home folder of its user.
pub fn stand_in_for_ssh(home: &Home) {
    script(home.path("rsh"), "HOST=$1; shift; export HOME=$PWD/$HOST; exec sh -c \"$*\"");
}

/// The places of a copy, and the programs at both ends.
pub struct TwoHosts<'home> {
    pub way: Way,
    home: &'home Home,
    here: PathBuf,
    there: PathBuf,
    serving: Option<Serving>,
}

impl<'home> TwoHosts<'home> {
    pub fn new(home: &'home Home, way: Way) -> TwoHosts<'home> {
        TwoHosts::of_programs(home, way, Path::new(PUMP), Path::new(PUMP))
    }

    /// One program is typed, and another answers.
    pub fn of_programs(home: &'home Home, way: Way, here: &Path, there: &Path) -> TwoHosts<'home> {
        for host in way.hosts().into_iter().filter(|host| !host.is_empty()) {
            std::fs::create_dir_all(home.path(host)).expect("a folder");
        }
        if way != Way::Here && !way.is_called() {
            stand_in_for_ssh(home);
        }
        let serving = way.is_called().then(|| {
            let mut command = home.program(there);
            command.args(["serve", "served", "--ticket-file", &ticket_of(way)]);
            Serving::start(command)
        });
        TwoHosts { way, home, here: here.into(), there: there.into(), serving }
    }

    /// A name at the source, as a path below the test's folder.
    pub fn source(&self, name: &str) -> String {
        below(self.way.hosts()[0], name)
    }

    /// A name at the target, as a path below the test's folder.
    pub fn target(&self, name: &str) -> String {
        below(self.way.hosts()[1], name)
    }

    /// A name at the source, as `pump` is told it.
    pub fn from(&self, name: &str) -> String {
        self.place(self.way.hosts()[0], name)
    }

    /// A name at the target, as `pump` is told it.
    pub fn to(&self, name: &str) -> String {
        self.place(self.way.hosts()[1], name)
    }

    fn place(&self, host: &str, name: &str) -> String {
        match &self.serving {
            _ if host.is_empty() => name.to_owned(),
            Some(serving) => serving.at(name),
            None => format!("{host}:{name}"),
        }
    }

    /// Ends the server, and waits until it is gone.
    pub fn end_server(&mut self) {
        self.serving.as_mut().expect("a server").kill();
    }

    /// `pump` with these words, the first of which is its command; behind it stands how the other host is reached.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.home.program(&self.here);
        command.args(&words[..1]).env_remove("SSH_CONNECTION");
        match &self.serving {
            Some(_) => drop(command.args(["--ticket-file", &ticket_of(self.way)])),
            None if self.way == Way::Here => {}
            None => drop(command.args(["--ssh=./rsh", "--remote-bin"]).arg(&self.there)),
        }
        command.args(&words[1..]);
        command
    }

    /// The same, with names at the source and one at the target behind them.
    pub fn line(&self, words: &[&str], sources: &[&str], target: &str) -> Command {
        let places = sources.iter().map(|name| self.from(name)).chain([self.to(target)]);
        let mut command = self.command(words);
        command.args(places);
        command
    }

    /// Runs that line.
    pub fn pump(&self, words: &[&str], sources: &[&str], target: &str) -> Outcome {
        outcome(self.line(words, sources, target), b"")
    }
}

/// The file of the ticket: servers of two ways may run at once.
fn ticket_of(way: Way) -> String {
    format!("{way:?}.ticket")
}

fn below(host: &str, name: &str) -> String {
    if host.is_empty() { name.to_owned() } else { format!("{host}/{name}") }
}
