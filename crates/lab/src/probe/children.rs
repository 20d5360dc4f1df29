//! Waits for a child and says what it and the children it waited for have cost.
//!
//! Must not know: what the child does.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Instant;

use datapump_engine::os::linux::{ContextSwitches, wait_with_usage};

/// How a child ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its status.
    pub status: ExitStatus,
    /// When it ended.
    pub at: Instant,
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, likewise.
    pub system_ns: u64,
    /// Largest resident memory of any one of its processes.
    pub max_rss_bytes: u64,
    /// How often their threads left a CPU.
    pub switches: ContextSwitches,
}

/// Waits until the child ends, and forgets it: `child` must not be waited for again.
pub fn wait(child: &Child) -> io::Result<Ended> {
    let usage = wait_with_usage(child.id())?;
    Ok(Ended {
        status: ExitStatus::from_raw(usage.wait_status),
        at: Instant::now(),
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        max_rss_bytes: usage.max_rss_bytes,
        switches: usage.switches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[expect(clippy::zombie_processes, reason = "wait4 reaps it")]
    fn a_child_is_waited_for() {
        for (line, code) in [("true", 0), ("exit 3", 3)] {
            let child = Command::new("sh").args(["-c", line]).spawn().expect("a shell");
            let ended = wait(&child).expect("it ends");
            assert_eq!(ended.status.code(), Some(code), "{line}");
            assert!(ended.max_rss_bytes > 0, "{line}: {ended:?}");
        }
    }
}
