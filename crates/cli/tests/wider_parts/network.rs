//! Two hosts in one: network namespaces joined by a cable that can be cut. Dropping it undoes everything.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::program;
use crate::support::Home;
use crate::support::serving::Serving;

/// How a cable is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The interface goes down: the kernel knows.
    Down,
    /// Nothing arrives any more, and nobody is told.
    Silent,
}

/// Whether the path forgets a connection, or knows it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    Now,
    NoMore,
}

/// linux/tcp_states.h.
const ESTABLISHED: &str = "01";

/// The two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

impl Side {
    const BOTH: [Side; 2] = [Side::Client, Side::Server];

    fn address(self) -> &'static str {
        match self {
            Side::Client => "10.77.0.1",
            Side::Server => "10.77.0.2",
        }
    }

    fn hardware_address(self) -> &'static str {
        match self {
            Side::Client => "02:00:00:00:00:01",
            Side::Server => "02:00:00:00:00:02",
        }
    }

    fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// Nobody has it.
const NO_HARDWARE: &str = "02:00:00:00:00:99";

/// The interface of both sides, each in its own namespace.
pub const INTERFACE: &str = "cable";

/// The namespaces and the cable, or the path that a program lays between them.
pub struct Network {
    name: String,
    path: Option<Child>,
}

/// Two sides with one boot id would be known for one machine. `ip netns exec` has mounts of its own.
const AS_ANOTHER_HOST: &str = r#"mount --bind "$1" /proc/sys/kernel/random/boot_id && shift && exec "$@""#;

impl Network {
    /// `None`, with a printed reason, where namespaces cannot be made.
    pub fn new() -> Option<Network> {
        let network = Network::unlaid();
        let made = Command::new("ip").args(["netns", "add", &network.namespace(Side::Client)]).output();
        match made {
            Ok(made) if made.status.success() => {}
            Ok(made) => {
                let why = String::from_utf8_lossy(&made.stderr).trim().to_owned();
                eprintln!("not tested: network namespaces: {why}");
                return None;
            }
            Err(error) => {
                eprintln!("not tested: network namespaces: ip: {error}");
                return None;
            }
        }
        program(&["ip", "netns", "add", &network.namespace(Side::Server)]);
        std::fs::write(network.boot_id(), "6d1f0c52-90a4-4c8e-9d3b-2f0e5a7b8c91\n").expect("room");
        network.lay();
        Some(network)
    }

    /// A path with a round trip, a rate or losses (`pump lab path`) in place of the cable. `None`, with a printed reason,
    /// where it cannot be laid.
    pub fn over_path(words: &[&str]) -> Option<Network> {
        let mut network = Network::unlaid();
        let [left, right] = Side::BOTH.map(|side| network.namespace(side));
        let [from, to] = Side::BOTH.map(|side| format!("{}/24", side.address()));
        let ends = ["--left", &left, "--right", &right, "--left-address", &from, "--right-address", &to];
        let mut command = Command::new(crate::support::PUMP);
        command.args(["lab", "path"]).args(ends).args(words).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut path = command.spawn().expect("pump was built");
        let mut line = String::new();
        let output = path.stdout.take().expect("a pipe");
        let _ = BufReader::new(output).read_line(&mut line);
        if line != "ready\n" {
            let _ = path.wait();
            eprintln!("not tested: a path of pump lab: {line:?}");
            return None;
        }
        network.path = Some(path);
        std::fs::write(network.boot_id(), "6d1f0c52-90a4-4c8e-9d3b-2f0e5a7b8c91\n").expect("room");
        Some(network)
    }

    fn unlaid() -> Network {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Network { name: format!("pump-{}-{number}", std::process::id()), path: None }
    }

    /// A setting of the kernel below /proc/sys on one side.
    pub fn set(&self, side: Side, home: &Home, setting: &str, value: &str) {
        let words = ["sh", "-c", "echo \"$1\" > \"/proc/sys/$0\"", setting, value];
        let set = self.command(side, home, &words).output().expect("ip is installed");
        assert!(set.status.success(), "{setting}: {set:?}");
    }

    fn lay(&self) {
        let (client, server) = (self.namespace(Side::Client), self.namespace(Side::Server));
        let ends = ["type", "veth", "peer", "name", INTERFACE, "netns", &server];
        program(&[&["ip", "-n", &client, "link", "add", INTERFACE], &ends[..]].concat());
        for side in Side::BOTH {
            let address = format!("{}/24", side.address());
            self.ip(side, &["address", "add", &address, "dev", INTERFACE]);
            self.ip(side, &["link", "set", INTERFACE, "address", side.hardware_address(), "up"]);
            self.ip(side, &["link", "set", "lo", "up"]);
            // Rules for what is received come before what is for this host.
            self.ip(side, &["rule", "add", "pref", "100", "lookup", "local"]);
            self.ip(side, &["rule", "delete", "pref", "0"]);
        }
        self.point_at(Side::hardware_address);
    }

    /// Where each side sends its packets for the other; no question is asked on the cable.
    fn point_at(&self, hardware_address: fn(Side) -> &'static str) {
        for side in Side::BOTH {
            let (address, hardware) = (side.other().address(), hardware_address(side.other()));
            let entry = [address, "lladdr", hardware, "dev", INTERFACE, "nud", "permanent"];
            self.ip(side, &[&["neighbour", "replace"], &entry[..]].concat());
        }
    }

    fn ip(&self, side: Side, words: &[&str]) {
        program(&[&["ip", "-n", &self.namespace(side)], words].concat());
    }

    /// The server's.
    fn boot_id(&self) -> PathBuf {
        std::env::temp_dir().join(format!("{}-boot-id", self.name))
    }

    fn namespace(&self, side: Side) -> String {
        let letter = if side == Side::Client { 'c' } else { 's' };
        format!("{}-{letter}", self.name)
    }

    /// Ports of the client's connections to this one of the server.
    pub fn connections(&self, home: &Home, server_port: u16) -> Vec<u16> {
        let table = self.command(Side::Client, home, &["cat", "/proc/net/tcp"]).output().expect("ip runs");
        let table = String::from_utf8_lossy(&table.stdout).into_owned();
        // proc(5): number, local address, remote address, state, in hexadecimal.
        let port = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
        let mut ports: Vec<u16> = table
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .filter(|words| words.len() > 3 && words[3] == ESTABLISHED && port(words[2]) == Some(server_port))
            .filter_map(|words| port(words[1]))
            .collect();
        ports.sort_unstable();
        ports
    }

    /// The path forgets one connection, and all others go on.
    pub fn forget(&self, client_port: u16, how: Forget) {
        let port = client_port.to_string();
        for (side, end) in [(Side::Client, "dport"), (Side::Server, "sport")] {
            let word = if how == Forget::Now { "add" } else { "delete" };
            let which = ["iif", INTERFACE, "ipproto", "tcp", end, &port];
            self.ip(side, &[&["rule", word, "pref", "10"], &which[..], &["blackhole"]].concat());
        }
    }

    pub fn cut(&self, cut: Cut) {
        match cut {
            Cut::Down => self.ip(Side::Server, &["link", "set", INTERFACE, "down"]),
            // The other end drops what is not for it.
            Cut::Silent => self.point_at(|_| NO_HARDWARE),
        }
    }

    pub fn mend(&self) {
        self.ip(Side::Server, &["link", "set", INTERFACE, "up"]);
        // An interface that goes down forgets its neighbours.
        self.point_at(Side::hardware_address);
    }

    /// A command on one side, in a folder of the test.
    pub fn command(&self, side: Side, home: &Home, words: &[&str]) -> Command {
        self.command_in(side, &home.path(""), words)
    }

    /// A command on one side, in any folder.
    pub fn command_in(&self, side: Side, folder: &Path, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(side)]);
        if side == Side::Server {
            command.args(["sh", "-c", AS_ANOTHER_HOST, "sh"]).arg(self.boot_id());
        }
        command.args(words);
        command.current_dir(folder).stdin(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PUMP_")) {
            command.env_remove(name);
        }
        command
    }

    /// `pump` on one side.
    pub fn pump(&self, side: Side, home: &Home, words: &[&str]) -> Command {
        self.command(side, home, &[&[crate::support::PUMP], words].concat())
    }

    /// `pump serve served` on the side of the server.
    pub fn serve(&self, home: &Home, words: &[&str]) -> Serving {
        let listen = format!("{}:0", Side::Server.address());
        let serve = ["serve", "served", "--ticket-file", "ticket", "--listen", &listen];
        Serving::start(self.pump(Side::Server, home, &[&serve, words].concat()))
    }

    /// Address of the server's side.
    pub fn server_address(&self) -> &'static str {
        Side::Server.address()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.boot_id());
        if let Some(path) = &mut self.path {
            let ended = rustix::process::Pid::from_child(path);
            let _ = rustix::process::kill_process(ended, rustix::process::Signal::TERM);
            let _ = path.wait();
        }
        // The cable goes with them.
        for side in Side::BOTH {
            let _ = Command::new("ip").args(["netns", "delete", &self.namespace(side)]).output();
        }
    }
}
