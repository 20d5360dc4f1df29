//! A `pump serve` that runs beside a test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::Home;

/// Serves the folder `served`, until dropped.
pub struct Serving {
    child: Child,
    pub address: String,
}

impl Serving {
    /// Serves with these words; the ticket is in the file `ticket`.
    pub fn new(home: &Home, words: &[&str]) -> Serving {
        Serving::start(home.command(&[&["serve", "served", "--ticket-file", "ticket"], words].concat()))
    }

    /// Starts a command that ends in a `pump serve`.
    pub fn start(mut command: Command) -> Serving {
        Serving::of(command.stdout(Stdio::piped()).spawn().expect("pump was built"))
    }

    /// A `pump serve` that was started with a pipe for its standard output.
    pub fn of(mut child: Child) -> Serving {
        let out = child.stdout.take().expect("a pipe");
        let line = BufReader::new(out).lines().next().expect("a line").expect("text");
        let address = line.strip_prefix("listening: ").expect("where it listens").to_owned();
        Serving { child, address }
    }

    /// The place of a path that it serves.
    pub fn at(&self, path: &str) -> String {
        format!("pump://{}/{path}", self.address)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill is installed").success());
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    pub fn status(&mut self) -> i32 {
        self.child.wait().expect("it ends").code().expect("it ends by itself")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
