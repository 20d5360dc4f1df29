//! Watches a running process and what it started, without touching it, and says what limits it.
//!
//! Everything is read: /proc, /sys, and the kernel's answers about TCP connections. Must not know: what is printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use datapump::{Class, Operation, Problem};
use datapump_files::devices::control_groups::{ControlGroups, CpuQuota, MemoryWait};

mod advice;
mod connections;
mod delays;
mod devices;
mod files;
mod messages;
mod parse;
mod threads;
mod verdict;
mod wait;
pub mod watched;

use connections::{Connections, ConnectionsMoment};
use delays::Delays;
use devices::DeviceCounters;
use files::{
    Descriptor, DescriptorKind, Descriptors, Files, KnownSockets, PipeEnds, descriptors, leads_out,
    name_ends, outer_pipes, pipe_ends,
};
use threads::{SeenThreads, THREADS_MAX, tasks};
use wait::{Doing, OpenAs};
use watched::{Role, Watched};

pub use messages::paragraph;
pub use verdict::{Verdict, verdict};

use crate::probe::sockets;

/// A hundred looks a second.
const PERIOD: Duration = Duration::from_millis(10);
/// How often processes, threads, files and connections that are new are looked for.
const LOOK_EACH: u32 = 10;

const RIGHTS: &str = "; run as the user of the process, or as root";

/// Watches a process for a time, or until it ends or is told to stop.
///
/// Errors: no such process, one that has ended, a part of the kernel.
pub fn watch(pid: u32, time: Duration, stop: &Arc<AtomicBool>) -> Result<Watched, Problem> {
    let mut watcher = Watcher::new(pid)?;
    for round in 0_u32.. {
        let last = stop.load(Ordering::Relaxed) || watcher.start.elapsed() >= time;
        if round.is_multiple_of(LOOK_EACH) || last {
            watcher.look();
        }
        if round == 0 || last {
            watcher.look_at_pipes();
        }
        if last || !watcher.lives() {
            break;
        }
        watcher.round();
        std::thread::sleep((PERIOD * (round + 1)).saturating_sub(watcher.start.elapsed()));
    }
    Ok(watcher.seen())
}

struct Watcher {
    pid: u32,
    command: String,
    start: Instant,
    rounds: u32,
    tasks: BTreeMap<u32, Vec<u32>>,
    held: BTreeMap<u32, Descriptors>,
    pipe_ends: PipeEnds,
    outer: BTreeMap<u32, (bool, bool)>,
    threads: SeenThreads,
    files: Files,
    devices: DeviceCounters,
    delays: Delays,
    connections: Option<Connections>,
    sockets: KnownSockets,
    groups: BTreeMap<u32, SeenGroups>,
    missing: BTreeSet<String>,
}

/// The control groups of a process, and what their limits held back since it was seen there.
struct SeenGroups {
    groups: ControlGroups,
    quota: CpuQuota,
    memory: MemoryWait,
}

fn state_of(pid: u32) -> Option<parse::Stat> {
    parse::stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn refuse(class: Class, message: String) -> Problem {
    Problem::of(class, Operation::Watch, message)
}

const NEEDS_PROC: &str =
    "/proc is not mounted, and shows what processes do: mount it (mount -t proc proc /proc)";

/// What cannot be watched is told before anything else.
fn refused(pid: u32) -> Result<parse::Stat, Problem> {
    let nobody = || {
        let words = if std::path::Path::new("/proc/self").exists() {
            format!("no process has the number {pid}; `ps` lists those there are")
        } else {
            format!("process {pid}: {NEEDS_PROC}")
        };
        refuse(Class::Missing, words)
    };
    let stat = state_of(pid).ok_or_else(nobody)?;
    let name = datapump::shown(stat.name.as_bytes());
    match stat.state {
        'Z' | 'X' => {
            let parent = stat.parent;
            let words = "has ended, and its parent has not asked how";
            Err(refuse(Class::Missing, format!("process {pid} ({name}) {words} (process {parent})")))
        }
        _ if stat.kernel_thread => {
            let words =
                "is a part of the kernel and moves nothing of its own; name the process that it works for";
            Err(refuse(Class::Usage, format!("process {pid} ({name}) {words}")))
        }
        _ => Ok(stat),
    }
}

impl Watcher {
    fn new(pid: u32) -> Result<Watcher, Problem> {
        let stat = refused(pid)?;
        let mut missing = BTreeSet::new();
        let connections = match sockets::diag_of(pid) {
            Ok(diag) => Some(Connections::new(diag)),
            Err(error) => {
                missing.insert(format!("TCP connections: {error:#}"));
                None
            }
        };
        Ok(Watcher {
            pid,
            command: datapump::shown(stat.name.as_bytes()),
            start: Instant::now(),
            rounds: 0,
            tasks: BTreeMap::new(),
            held: BTreeMap::new(),
            pipe_ends: PipeEnds::new(),
            outer: BTreeMap::new(),
            threads: SeenThreads::default(),
            files: Files::default(),
            devices: DeviceCounters::default(),
            delays: Delays::default(),
            connections,
            sockets: KnownSockets::default(),
            groups: BTreeMap::new(),
            missing,
        })
    }

    fn lives(&self) -> bool {
        state_of(self.pid).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
    }

    /// Takes in everything that changes slowly.
    fn look(&mut self) {
        let family = sockets::family(self.pid);
        self.held.clear();
        self.tasks.clear();
        for &pid in &family {
            let tasks = tasks(pid);
            self.threads.note(pid, &tasks);
            self.tasks.insert(pid, tasks);
            self.note_groups(pid);
            match descriptors(pid) {
                Ok(held) => {
                    self.files.note(pid, &held);
                    self.held.insert(pid, held);
                }
                Err(error) => self.note_denied("open files (/proc/PID/fd)", &error),
            }
            if let Err(error) = self.delays.note(pid) {
                self.note_denied("bytes read and written (/proc/PID/io)", &error);
            }
        }
        if let Err(error) = self.devices.note() {
            self.note_denied("devices (/proc/diskstats)", &error);
        }
        self.look_at_connections();
        let outer = |pid: u32| (pid, outer_pipes(pid, &self.held, &self.sockets));
        self.outer = family.iter().map(|&pid| outer(pid)).collect();
    }

    /// All processes are looked at for that: at the beginning, and at the end.
    fn look_at_pipes(&mut self) {
        self.pipe_ends.extend(pipe_ends(&self.held));
    }

    /// A process may be moved to other groups. One that has ended has none any more.
    fn note_groups(&mut self, pid: u32) {
        let groups = ControlGroups::of_process(pid);
        let is_known = self.groups.get(&pid).is_some_and(|known| known.groups == groups);
        if !is_known && groups != ControlGroups::default() {
            let (quota, memory) = (groups.begin_quota(), groups.begin_memory_wait());
            self.groups.insert(pid, SeenGroups { groups, quota, memory });
        }
    }

    fn note_denied(&mut self, what: &str, error: &std::io::Error) {
        // A process that has just ended is no lack of rights.
        if error.kind() == ErrorKind::PermissionDenied {
            self.missing.insert(format!("{what}: not permitted{RIGHTS}"));
        }
    }

    fn look_at_connections(&mut self) {
        let inodes: BTreeSet<u32> = self.held.values().flat_map(inodes).collect();
        let Some(connections) = &mut self.connections else { return };
        match connections.look(&inodes) {
            Ok(()) => {
                let (listening, unix_peers) =
                    (connections.listening(&inodes), connections.unix_peers(&inodes));
                self.sockets = KnownSockets { tcp: connections.inodes(), listening, unix_peers };
            }
            Err(error) => {
                self.missing.insert(format!("TCP connections: {error}"));
                (self.connections, self.sockets) = (None, KnownSockets::default());
            }
        }
    }

    /// One look at every thread and connection.
    fn round(&mut self) {
        self.rounds += 1;
        if let Some(Err(error)) = self.connections.as_mut().map(Connections::sample) {
            self.missing.insert(format!("TCP connections: {error}"));
        }
        self.sockets.tcp = self.connections.as_ref().map(Connections::inodes).unwrap_or_default();
        let tasks: Vec<(u32, u32)> =
            self.tasks.iter().flat_map(|(&pid, tids)| tids.iter().map(move |&tid| (pid, tid))).collect();
        // The observing thread runs: of itself it would see nothing else.
        let own = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        for (pid, tid) in tasks.into_iter().filter(|(_, tid)| *tid != own) {
            let held = self.held.get(&pid);
            let open = |number: u32| {
                held.and_then(|held| held.get(&number)).map_or(OpenAs::Other, |it| it.open(&self.sockets))
            };
            if let Some((doing, number)) = self.threads.doing(pid, tid, &open) {
                let descriptor = number.and_then(|number| held?.get(&number));
                let settled = self.settled(pid, doing, descriptor);
                self.threads.count(tid, settled);
            }
        }
    }

    /// Pipes and polls mean one thing or another, depending on who is at the other end.
    fn settled(&self, pid: u32, doing: Doing, waits_for: Option<&Descriptor>) -> Doing {
        let (outer_in, outer_out) = self.outer.get(&pid).copied().unwrap_or_default();
        let leads_out =
            |outer: bool| waits_for.map_or(outer, |it| leads_out(pid, it, &self.held, &self.sockets));
        let moment = || {
            let inodes = self.held.get(&pid).map(|held| inodes(held).collect()).unwrap_or_default();
            self.connections.as_ref().map(|it| it.moment(&inodes)).unwrap_or_default()
        };
        match doing {
            Doing::PipeIn if !leads_out(outer_in) => Doing::Within,
            Doing::PipeOut if !leads_out(outer_out) => Doing::Within,
            Doing::Poll => polled(moment(), outer_in, outer_out, self.tasks.len() == 1),
            doing => doing,
        }
    }

    fn seen(self) -> Watched {
        let elapsed_ns = self.start.elapsed().as_nanos() as u64;
        let mut files = self.files.list(elapsed_ns);
        name_ends(&mut files, &self.pipe_ends);
        let threads = self.threads.list();
        let mut missing = self.missing;
        missing.extend(self.threads.denied.iter().map(|what| format!("{what}: not permitted; run as root")));
        if threads.len() >= THREADS_MAX {
            missing.insert(format!("threads beyond the first {THREADS_MAX}"));
        }
        let devices = self.files.devices().into_iter().map(|number| {
            let has =
                |role: Role| files.iter().any(|it| it.role == role && it.device.as_ref() == Some(&number));
            let (source, sink) = (has(Role::Source), has(Role::Sink));
            let users = files.iter().filter(|it| it.device.as_ref() == Some(&number));
            let users: BTreeSet<u32> = users.map(|it| it.pid).collect();
            let groups = users.iter().filter_map(|pid| self.groups.get(pid)).map(|seen| &seen.groups);
            let groups = ControlGroups::joined(groups);
            watched::WatchedDevice { source, sink, ..self.devices.device(&number, &groups) }
        });
        let memory = self.groups.values().filter_map(|seen| seen.memory.held()).max_by_key(|held| held.ns);
        Watched {
            pid: self.pid,
            command: self.command,
            elapsed_ns,
            ended: state_of(self.pid).is_none_or(|stat| matches!(stat.state, 'Z' | 'X')),
            stopped: state_of(self.pid).is_some_and(|stat| matches!(stat.state, 'T' | 't')),
            listens: !self.sockets.listening.is_empty(),
            reads_random: self.held.values().flat_map(BTreeMap::values).any(Descriptor::is_random),
            rounds: self.rounds,
            processes: self.delays.list(),
            threads,
            devices: devices.collect(),
            files,
            connections: self.connections.as_ref().map(Connections::list).unwrap_or_default(),
            throttled_ns: self.groups.values().map(|seen| seen.quota.held_ns()).max().unwrap_or(0),
            memory_held_ns: memory.as_ref().map_or(0, |held| held.ns),
            memory_limit: memory.map(|held| held.limit.to_string()),
            could_not_read: missing.into_iter().collect(),
        }
    }
}

fn inodes(held: &Descriptors) -> impl Iterator<Item = u32> {
    held.values()
        .filter_map(|it| if let DescriptorKind::Socket(inode) = it.kind { Some(inode) } else { None })
}

/// What a process that waits for several things at once waits for.
fn polled(moment: ConnectionsMoment, outer_in: bool, outer_out: bool, alone: bool) -> Doing {
    match moment {
        ConnectionsMoment { any: true, unsent: true, .. } => Doing::NetworkOut,
        ConnectionsMoment { any: true, unread: true, .. } => Doing::Within,
        ConnectionsMoment { any: true, .. } => Doing::Poll,
        // Several processes mostly wait for each other.
        ConnectionsMoment { any: false, .. } if !alone => Doing::Within,
        ConnectionsMoment { any: false, .. } if outer_in => Doing::PipeIn,
        ConnectionsMoment { any: false, .. } if outer_out => Doing::PipeOut,
        ConnectionsMoment { any: false, .. } => Doing::Poll,
    }
}

#[cfg(test)]
mod tests;
