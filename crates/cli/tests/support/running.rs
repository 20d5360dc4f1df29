//! A run of `pump` that goes on while the test acts: its words are gathered as they come.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::home::{Home, Outcome, status};

/// What has not come true by then never will: a guard for the suite, not a measure of speed.
const BOUND: Duration = Duration::from_secs(120);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(2);

/// Waits until it is true.
pub fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < BOUND, "never happened: {what}");
        thread::sleep(LOOK_AGAIN_AFTER);
    }
}

/// What a host takes besides its `--memory`: the program, threads and their stacks, what a session keeps. A build with
/// debug information and checks takes more than the real one.
pub const BESIDES_BYTES: u64 = 64 << 20;

/// The most memory that a process has had so far; `None` if it has ended, or is not yet the program that it becomes: until
/// then what it has is the memory of this test (710 MiB).
pub fn memory_max_bytes(id: u32) -> Option<u64> {
    let program = |id: &str| std::fs::read_link(format!("/proc/{id}/exe"));
    if program(&id.to_string()).ok()? == program("self").ok()? {
        return None;
    }
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    Some(kibibytes << 10)
}

/// Bytes that a thread gathers from a pipe.
#[derive(Clone, Default)]
struct Gathered(Arc<Mutex<Vec<u8>>>);

impl Gathered {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic while gathering")).into_owned()
    }
}

/// The run. Dropped before its end it is killed.
pub struct Running {
    child: Child,
    pub stdin: Option<ChildStdin>,
    out: Gathered,
    err: Gathered,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Running {
    /// Starts with pipes at all three ends.
    pub fn start(mut command: Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::start_as_it_is(command)
    }

    /// Starts with what the command has as ends; those that are pipes are gathered.
    pub fn start_as_it_is(mut command: Command) -> Running {
        let mut child = command.spawn().expect("pump was built and can be started");
        let (out, err, mut threads) = (Gathered::default(), Gathered::default(), Vec::new());
        if let Some(pipe) = child.stdout.take() {
            threads.push(gather(pipe, out.clone()));
        }
        if let Some(pipe) = child.stderr.take() {
            threads.push(gather(pipe, err.clone()));
        }
        Running { stdin: child.stdin.take(), child, out, err, threads }
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to standard output so far.
    pub fn out(&self) -> String {
        self.out.text()
    }

    /// What it has written to standard error so far.
    pub fn err(&self) -> String {
        self.err.text()
    }

    /// Waits for its first line of progress on standard error: from then on signals are answered.
    pub fn await_progress(&mut self) {
        eventually("progress on standard error", || self.err().contains("B/s") || self.has_ended());
    }

    /// Waits until it has told of bytes that were moved, or the run is over.
    pub fn await_bytes(&mut self) {
        let is_some = |line: &str| line.contains("B/s") && !line.starts_with("0 B,");
        eventually("bytes moved", || self.err().lines().any(is_some) || self.has_ended());
    }

    /// Waits until its temporary file stands in the folder, or the run is over.
    pub fn await_temporary(&mut self, folder: &Path) {
        eventually("a temporary file", || has_temporary(folder) || self.has_ended());
    }

    /// Whether it is over. Its status is left where it is: until [`Running::end`] its number belongs to no other process,
    /// and a signal behind its end is one that it does not see, whatever the host was busy with in between.
    pub fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), look).expect("the child can be waited for").is_some()
    }

    pub fn send(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("standard input is a pipe");
        stdin.write_all(bytes).expect("pump reads its input");
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the process is ours and not waited for yet");
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for the end.
    pub fn end(mut self) -> Outcome {
        drop(self.stdin.take());
        self.end_with_open_input()
    }

    /// Waits for the end while its input stays open.
    pub fn end_with_open_input(&mut self) -> Outcome {
        let status = status(&mut self.child);
        self.threads.drain(..).for_each(|thread| thread.join().expect("a pipe can be read"));
        Outcome { status, out: self.out(), err: self.err() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Of a test that failed: nobody waits for the run any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn has_temporary(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).expect("the folder");
    // The list of a tree's copy is none.
    let is_one = |name: &str| name.starts_with(".pump-") && name != ".pump-job";
    entries.flatten().any(|entry| is_one(&entry.file_name().to_string_lossy()))
}

fn gather(mut pipe: impl Read + Send + 'static, into: Gathered) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut part = [0; 65_536];
        while let Ok(count @ 1..) = pipe.read(&mut part) {
            into.0.lock().expect("no panic while gathering").extend_from_slice(&part[..count]);
        }
    })
}

/// Kills a slow copy in its middle and gives the name of the temporary file that it leaves.
pub fn leave_temporary(home: &Home, source: &str, target: &str) -> String {
    let slow = ["copy", "--progress=always", "--request-size=4KiB", "--bwlimit=20kB", source, target];
    let mut running = Running::start(home.command(&slow));
    running.await_progress();
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 128 + Signal::KILL.as_raw());
    let mut leftovers = super::leftovers(home);
    assert_eq!(leftovers.len(), 1, "{leftovers:?}");
    let left = File::open(home.path(&leftovers[0])).expect("it is left");
    // Requests of a ring hold the file, and its lock, until the kernel has ended them behind the process.
    eventually("its lock is free", || is_unlocked(&left));
    leftovers.remove(0)
}

/// Whether nobody has the lock of a file. It is given back here and now: closed alone it stays with a child that
/// another test has forked meanwhile, until that has become its own program.
pub fn is_unlocked(file: &File) -> bool {
    file.try_lock().is_ok() && file.unlock().is_ok()
}
