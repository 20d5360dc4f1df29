//! Samples what the threads of a process do.
//!
//! Must not know: what is open, beyond what the kind of a descriptor says; what the counts amount to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;

use super::parse;
use super::wait::{self, Doing, OpenAs};
use super::watched::Thread;

/// Threads that are looked at; one look takes some 20 us.
pub const THREADS_MAX: usize = 128;

/// What cannot be read without more rights.
pub const STACKS: &str = "where threads wait in the kernel (/proc/PID/task/TID/stack)";

/// CPU time and the like of a thread at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    user_ns: u64,
    system_ns: u64,
    cpu_ns: u64,
    run_delay_ns: u64,
}

#[derive(Debug)]
struct SeenThread {
    first: Times,
    thread: Thread,
}

/// All threads that were seen.
#[derive(Debug, Default)]
pub struct SeenThreads {
    seen: BTreeMap<u32, SeenThread>,
    processes: BTreeSet<u32>,
    /// What could not be read.
    pub denied: BTreeSet<&'static str>,
}

/// The threads of a process.
pub fn tasks(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).take(THREADS_MAX).collect()
}

impl SeenThreads {
    /// Looks at the times of all threads of a process.
    pub fn note(&mut self, pid: u32, tasks: &[u32]) {
        let first_look = self.processes.insert(pid);
        for &tid in tasks {
            let Some((name, times)) = times(pid, tid) else { continue };
            if !self.seen.contains_key(&tid) && self.seen.len() >= THREADS_MAX {
                continue;
            }
            let seen = self.seen.entry(tid).or_insert_with(|| {
                // A thread that is new has had no times before.
                let first = if first_look { times } else { Times::default() };
                SeenThread { first, thread: Thread { pid, tid, name: name.clone(), ..Thread::default() } }
            });
            let SeenThread { first, thread } = seen;
            thread.name = name;
            thread.user_ns = times.user_ns.saturating_sub(first.user_ns);
            thread.system_ns = times.system_ns.saturating_sub(first.system_ns);
            thread.cpu_ns = times.cpu_ns.saturating_sub(first.cpu_ns);
            thread.run_delay_ns = times.run_delay_ns.saturating_sub(first.run_delay_ns);
        }
    }

    /// Looks at what a thread does, and the descriptor that it waits for if that is told; nothing when it has ended.
    pub fn doing(
        &mut self,
        pid: u32,
        tid: u32,
        open: &dyn Fn(u32) -> OpenAs,
    ) -> Option<(Doing, Option<u32>)> {
        let stat = parse::stat(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?)?;
        match stat.state {
            'R' => Some((Doing::Running, None)),
            'Z' | 'X' => None,
            // Stopped by a signal or a debugger.
            'T' | 't' => Some((Doing::Other, None)),
            _ => Some(self.waiting(pid, tid, open)),
        }
    }

    fn waiting(&mut self, pid: u32, tid: u32, open: &dyn Fn(u32) -> OpenAs) -> (Doing, Option<u32>) {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}"));
        let call = || read("syscall").ok().as_deref().and_then(wait::system_call);
        let by_stack = match read("stack") {
            Ok(stack) => wait::by_stack(&stack),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                self.denied.insert(STACKS);
                None
            }
            Err(_) => None,
        };
        match by_stack {
            // Which pipe or socket it is decides whether that leads out.
            Some(doing @ (Doing::PipeIn | Doing::PipeOut)) => {
                return (doing, call().map(|it| it.descriptor()));
            }
            // The stack does not tell that there is no file to wait for.
            Some(Doing::Poll) if call().is_some_and(|it| it.is_a_sleep()) => return (Doing::Sleep, None),
            Some(doing) => return (doing, None),
            None => {}
        }
        let call = call();
        let by_call = call.and_then(|it| wait::by_call(&it, open(it.descriptor())));
        let by_sleep = || read("wchan").ok().as_deref().and_then(wait::by_sleep);
        (by_call.or_else(by_sleep).unwrap_or(Doing::Other), call.map(|it| it.descriptor()))
    }

    /// Counts it.
    pub fn count(&mut self, tid: u32, doing: Doing) {
        if let Some(seen) = self.seen.get_mut(&tid) {
            *seen.thread.doing.entry(doing).or_default() += 1;
        }
    }

    /// The list.
    pub fn list(&self) -> Vec<Thread> {
        self.seen.values().map(|seen| seen.thread.clone()).collect()
    }
}

fn times(pid: u32, tid: u32) -> Option<(String, Times)> {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}"));
    let stat = parse::stat(&read("stat").ok()?)?;
    let by_ticks = (stat.user_ns + stat.system_ns, 0);
    let (cpu_ns, run_delay_ns) =
        read("schedstat").ok().and_then(|text| parse::schedstat(&text)).unwrap_or(by_ticks);
    let name = datapump::shown(stat.name.as_bytes());
    Some((name, Times { user_ns: stat.user_ns, system_ns: stat.system_ns, cpu_ns, run_delay_ns }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use rustix::event::{Timespec, poll};

    const LOOKS_MAX: u32 = 1000;

    #[test]
    fn a_thread_that_polls_nothing_for_a_time_sleeps() {
        let own = std::process::id();
        let (tell, told) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).expect("somebody listens");
            poll(&mut [], Some(&Timespec { tv_sec: 1, tv_nsec: 0 })).expect("a time")
        });
        let tid = told.recv().expect("its number");
        if fs::read_to_string(format!("/proc/{own}/task/{tid}/syscall")).is_err() {
            eprintln!("not tested: system calls cannot be read here");
            return;
        }
        let mut threads = SeenThreads::default();
        let mut look = || {
            std::thread::sleep(Duration::from_millis(1));
            threads.doing(own, tid, &|_| OpenAs::Other).map(|(doing, _)| doing)
        };
        let slept = (0..LOOKS_MAX).any(|_| look() == Some(Doing::Sleep));
        assert!(slept || cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64"))));
        sleeper.join().expect("it slept");
    }
}
