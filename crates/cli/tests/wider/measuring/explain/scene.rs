//! A copy with one limit: where its ends lie, how both of its programs are run, and its run by `copy` or `explain`.
//!
//! Must not know: which limits there are, what is right of them.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;

use super::cases::LimitCase;
use crate::support::running::Running;
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, PUMP, make_fifo, outcome};
use crate::wider_parts::network::{Network, Side};
use crate::wider_parts::sshd::Sshd;
use crate::wider_parts::{Kind, Mount, program, with_content};

const MIB: usize = 1 << 20;
/// A disk, a pipe or a path of some MB/s takes three seconds for it.
pub(super) const FILE_BYTES: usize = 24 * MIB;
/// Files of the tree, which is as large as the file.
const TREE_FILES: usize = 8;
/// Where nothing but a CPU is to be slow: more bytes.
const LARGE_BYTES: usize = 192 * MIB;
/// An explanation writes at most one part in twenty of what is free: enough for the file.
const ROOM_MEBIBYTES: u64 = 2048;
/// For how long a server is stopped: longer than the copy takes beside it.
const STOPPED: Duration = Duration::from_secs(3);

/// Which way a copy goes, and how the other host is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyWay {
    Local,
    Push,
    Pull,
    SshPush,
    SshPull,
}

impl CopyWay {
    /// As it is called in names of cases.
    pub(super) fn words(self) -> &'static str {
        match self {
            CopyWay::Local => "local",
            CopyWay::Push => "push",
            CopyWay::Pull => "pull",
            CopyWay::SshPush => "ssh push",
            CopyWay::SshPull => "ssh pull",
        }
    }

    /// The host that reads, as verdicts call it.
    pub(super) fn reader(self) -> &'static str {
        if self == CopyWay::Local { "local" } else { "sender" }
    }

    /// The host that writes.
    pub(super) fn writer(self) -> &'static str {
        if self == CopyWay::Local { "local" } else { "receiver" }
    }

    /// The program that was started reads, and not the one that it calls.
    pub(super) fn reads_here(self) -> bool {
        matches!(self, CopyWay::Local | CopyWay::Push | CopyWay::SshPush)
    }

    pub(super) fn writes_here(self) -> bool {
        matches!(self, CopyWay::Local | CopyWay::Pull | CopyWay::SshPull)
    }

    /// The side of a network that sends.
    pub(super) fn sending_side(self) -> Side {
        if self.reads_here() { Side::Client } else { Side::Server }
    }

    pub(super) fn receiving_side(self) -> Side {
        if self.reads_here() { Side::Server } else { Side::Client }
    }
}

/// The content of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyShape {
    /// One file.
    File,
    /// A file that is eight times as large.
    Large,
    /// As many bytes as the file has, in eight files.
    Tree,
    /// Null bytes, as many as this says.
    Null(&'static str),
}

impl CopyShape {
    /// The name in a folder of sources, or the word of null bytes.
    fn name(self) -> &'static str {
        match self {
            CopyShape::File => "big",
            CopyShape::Large => "large",
            CopyShape::Tree => "tree",
            CopyShape::Null(words) => words,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            CopyShape::File => "file",
            CopyShape::Large => "large file",
            CopyShape::Tree => "tree",
            CopyShape::Null(_) => "null",
        }
    }
}

/// Whether a scene has its limit, or is the same without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitState {
    On,
    Off,
}

/// A copy with its limit, until dropped.
pub(super) struct Scene {
    /// The folder of sources, at whichever host reads.
    pub(super) from: String,
    /// The folder of targets.
    pub(super) to: String,
    /// A place for the source in the stead of a name in that folder.
    pub(super) source: Option<String>,
    pub(super) target: Option<String>,
    /// Flags of the copy, and of `pump serve`.
    pub(super) flags: Vec<&'static str>,
    pub(super) serve_flags: Vec<&'static str>,
    /// Words before those of the program that is started, and before those of the remote one.
    pub(super) local_prefix: Vec<String>,
    pub(super) remote_prefix: Vec<String>,
    /// Both hosts are on loopback without.
    pub(super) network: Option<Rc<Network>>,
    /// A pipe that is made anew for each run.
    pub(super) pipe: Option<PathBuf>,
    /// The server is stopped in the middle.
    pub(super) is_stopped: bool,
    /// Guards that undo the limit when dropped.
    pub(super) guards: Vec<Box<dyn Any>>,
}

impl Scene {
    /// From one folder into another, of one disk, and nothing is slow.
    pub(super) fn new(bench: &Bench) -> Scene {
        Scene {
            from: bench.at("from"),
            to: bench.at("to"),
            source: None,
            target: None,
            flags: Vec::new(),
            serve_flags: Vec::new(),
            local_prefix: Vec::new(),
            remote_prefix: Vec::new(),
            network: None,
            pipe: None,
            is_stopped: false,
            guards: Vec::new(),
        }
    }

    pub(super) fn guarded(mut self, guard: impl Any) -> Scene {
        self.guards.push(Box::new(guard));
        self
    }

    /// The program that reads, or the one that writes, runs behind these words.
    pub(super) fn behind(self, is_here: bool, words: Vec<String>) -> Scene {
        let (local_prefix, remote_prefix) =
            if is_here { (words, self.remote_prefix) } else { (self.local_prefix, words) };
        Scene { local_prefix, remote_prefix, ..self }
    }
}

/// Fixtures of all cases: files, a disk that can be throttled, an sshd, two hosts.
pub(super) struct Bench {
    pub(super) home: Home,
    pub(super) disk: Mount,
    pub(super) network: Option<Rc<Network>>,
    _sshd: Sshd,
}

impl Bench {
    pub(super) fn new() -> Bench {
        let (home, disk) = (Home::new(), Mount::of(Kind::Ext4, ROOM_MEBIBYTES));
        for folder in [home.path("from"), home.path("to"), disk.at("from").into(), disk.at("to").into()] {
            std::fs::create_dir(folder).expect("room");
        }
        for folder in [home.path("from"), disk.at("from").into()] {
            make_sources(&folder);
        }
        let large = home.path("from/large").display().to_string();
        with_content(&large, LARGE_BYTES, 4);
        let sshd = Sshd::new(&home, None);
        program(&["sync"]);
        Bench { home, disk, network: Network::new().map(Rc::new), _sshd: sshd }
    }

    pub(super) fn at(&self, name: &str) -> String {
        self.home.path(name).display().to_string()
    }

    /// A command on one side of a network that must succeed.
    pub(super) fn on(&self, network: &Network, side: Side, words: &[&str]) {
        let done = network.command(side, &self.home, words).output().expect("ip is installed");
        assert!(done.status.success(), "{words:?}: {done:?}");
    }

    /// No target of before, and no source in memory.
    fn tidy(&self, scene: &Scene) {
        for target in [self.at("to/target"), self.disk.at("to/target"), format!("{}/target", scene.to)] {
            program(&["rm", "-rf", &target]);
        }
        program(&["sync", "-f", &self.disk.point()]);
        for folder in [self.at("from"), self.disk.at("from")] {
            let forget = "exec dd if=\"$0\" iflag=nocache count=0 status=none";
            program(&["find", &folder, "-type", "f", "-size", "+4", "-exec", "sh", "-c", forget, "{}", ";"]);
        }
    }

    /// One run of a case by `copy` or `explain`: its report, or how it failed.
    pub(super) fn run(
        &self,
        scene: &Scene,
        case: &LimitCase,
        verb: &str,
        more: &[&str],
    ) -> Result<Value, String> {
        self.tidy(scene);
        if let Some(pipe) = &scene.pipe {
            let _ = std::fs::remove_file(pipe);
            make_fifo(pipe);
        }
        let server = match (case.way, case.shape) {
            (CopyWay::Push, _) => Some(self.serve(scene, &scene.to)),
            (CopyWay::Pull, CopyShape::Null(words)) => Some(self.serve(scene, words)),
            (CopyWay::Pull, _) => Some(self.serve(scene, &scene.from)),
            (CopyWay::Local | CopyWay::SshPush | CopyWay::SshPull, _) => None,
        };
        let words = self.words(scene, case, more, server.as_ref());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let command = self.command(scene, Side::Client, &[&[verb, "--json"], &words[..]].concat());
        let run = match &server {
            Some(server) if scene.is_stopped => run_and_stop(command, server, Path::new(&scene.to)),
            _ => outcome(command, b""),
        };
        match run.status {
            0 => Ok(crate::wider_parts::report(&run)),
            _ => Err(format!("{verb}: status {}: {}", run.status, run.err)),
        }
    }

    fn serve(&self, scene: &Scene, folder: &str) -> Serving {
        let listen = scene.network.as_ref().map(|network| format!("{}:0", network.server_address()));
        let listen: Vec<&str> = listen.iter().flat_map(|address| ["--listen", address]).collect();
        let words = [&["serve", folder, "--ticket-file", "ticket"], &scene.serve_flags[..], &listen].concat();
        Serving::start(self.command(scene, Side::Server, &words))
    }

    /// The words of the copy: flags, and those that replace them or come besides, source, target.
    fn words(&self, scene: &Scene, case: &LimitCase, more: &[&str], server: Option<&Serving>) -> Vec<String> {
        let name = case.shape.name();
        let within = |folder: &str, name: &str, is_here: bool| match (server, is_here) {
            (Some(server), false) => server.at(name),
            (None, false) => format!("loop:{folder}/{name}"),
            (_, true) => format!("{folder}/{name}"),
        };
        let source = match (&scene.source, case.shape) {
            (Some(place), _) => place.clone(),
            (None, CopyShape::Null(words)) if case.way.reads_here() => words.into(),
            // All that is served is null bytes.
            (None, CopyShape::Null(_)) => within("", "", false),
            (None, _) => within(&scene.from, name, case.way.reads_here()),
        };
        let target = scene.target.clone();
        let target = target.unwrap_or_else(|| within(&scene.to, "target", case.way.writes_here()));
        let reach = match case.way {
            CopyWay::Local => Vec::new(),
            CopyWay::Push | CopyWay::Pull => vec!["--ticket-file".into(), "ticket".into()],
            CopyWay::SshPush | CopyWay::SshPull => {
                let ssh = Sshd::ssh(&self.home, "");
                vec!["--ssh".into(), ssh, "--remote-bin".into(), self.remote_program(scene)]
            }
        };
        let flags = [&without(&scene.flags, more), more].concat();
        let flags = flags.iter().map(|flag| (*flag).to_owned());
        reach.into_iter().chain(flags).chain([source, target]).collect()
    }

    /// The program that ssh starts, behind its words.
    fn remote_program(&self, scene: &Scene) -> String {
        if scene.remote_prefix.is_empty() {
            return PUMP.into();
        }
        let quoted: Vec<String> = scene.remote_prefix.iter().map(|word| format!("'{word}'")).collect();
        let path = self.at("remote-pump");
        std::fs::write(&path, format!("#!/bin/sh\nexec {} {PUMP} \"$@\"\n", quoted.join(" "))).expect("room");
        program(&["chmod", "+x", &path]);
        path
    }

    /// `pump` with words on one side.
    fn command(&self, scene: &Scene, side: Side, words: &[&str]) -> Command {
        let before = if side == Side::Client { &scene.local_prefix } else { &scene.remote_prefix };
        let before: Vec<&str> = before.iter().map(String::as_str).chain([PUMP]).collect();
        if let Some(network) = &scene.network {
            return network.command(side, &self.home, &[&before, words].concat());
        }
        let mut command = self.home.program(Path::new(before[0]));
        command.args(&before[1..]).args(words).stdin(Stdio::null());
        command
    }
}

/// The flags, without the one that others replace.
fn without<'words>(flags: &[&'words str], more: &[&str]) -> Vec<&'words str> {
    let name = more.first().and_then(|flag| flag.split('=').next());
    let is_replaced = |flag: &str| name.is_some_and(|name| flag.split('=').next() == Some(name));
    let mut kept = Vec::new();
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        match is_replaced(flag) {
            false => kept.push(*flag),
            // Its value goes with it.
            true if !flag.contains('=') => drop(flags.next()),
            true => {}
        }
    }
    kept
}

/// A file and a tree.
fn make_sources(folder: &Path) {
    let at = |name: &str| folder.join(name).display().to_string();
    with_content(&at("big"), FILE_BYTES, 1);
    std::fs::create_dir(at("tree")).expect("room");
    for number in 0..TREE_FILES {
        with_content(&at(&format!("tree/{number}")), FILE_BYTES / TREE_FILES, number as u64);
    }
}

/// The server is stopped for longer than the rest takes, and not before the target's file is made.
fn run_and_stop(command: Command, server: &Serving, folder: &Path) -> Outcome {
    let mut running = Running::start(command);
    running.await_temporary(folder);
    std::thread::sleep(Duration::from_millis(100));
    server.signal("STOP");
    std::thread::sleep(STOPPED);
    server.signal("CONT");
    running.end()
}
