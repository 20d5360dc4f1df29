//! Waits for a child and says what it and the children it waited for have cost.
//!
//! Must not know: what the child does.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::Instant;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// How a child ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its status.
    pub status: ExitStatus,
    /// When it ended.
    pub at: Instant,
    /// CPU time in user mode, in nanoseconds, in steps of 10 ms.
    pub user_ns: Option<u64>,
    /// CPU time in the kernel, likewise.
    pub system_ns: Option<u64>,
    /// Largest resident memory of any one of its processes.
    pub max_rss_bytes: Option<u64>,
}

/// Waits until the child ends. Its costs are read from /proc after it has ended and before it is forgotten.
pub fn wait(child: &mut Child) -> io::Result<Ended> {
    let pid = Pid::from_child(child);
    rustix::io::retry_on_intr(|| {
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).map(drop)
    })?;
    let at = Instant::now();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    let (user_ns, system_ns) = cpu_of(&stat).unzip();
    Ok(Ended { status: child.wait()?, at, user_ns, system_ns, max_rss_bytes: None })
}

/// Fields 14 to 17 of proc_pid_stat(5): its own time and that of the children it waited for. The name in brackets may
/// hold anything.
fn cpu_of(stat: &str) -> Option<(u64, u64)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    Some(((ticks(14)? + ticks(16)?) * tick_ns, (ticks(15)? + ticks(17)?) * tick_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn own_time_and_that_of_children_are_added() {
        let stat = "7 (a) b (c)) Z 1 7 7 0 -1 4 0 0 0 0 11 22 33 44 20 0 1 0 5 0 0";
        assert_eq!(cpu_of(stat), Some((440_000_000, 660_000_000)));
        assert_eq!(cpu_of("7 (sh) Z 1"), None);
    }

    #[test]
    fn a_child_is_waited_for() {
        for (line, code) in [("true", 0), ("exit 3", 3)] {
            let mut child = Command::new("sh").args(["-c", line]).spawn().expect("a shell");
            let ended = wait(&mut child).expect("it ends");
            assert_eq!(ended.status.code(), Some(code), "{line}");
            assert!(ended.user_ns.is_some() && ended.system_ns.is_some(), "{line}: {ended:?}");
        }
    }
}
