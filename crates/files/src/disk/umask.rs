//! The umask of this process and the present time, as a new file gets them.
//!
//! Must not know: what is made.

use std::sync::OnceLock;

use rustix::fs::Mode;

/// The time that a file gets that is changed now, in nanoseconds since 1970: kernels take the clock of the last tick.
pub fn coarse_now_ns() -> i128 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// The process's umask: /proc shows it without changing it. Where that is not mounted umask(2) has to, for a moment in
/// which new files are closed to others. Looked at once.
pub fn umask() -> u32 {
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        line.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok())
            .unwrap_or_else(changed_for_a_moment)
    })
}

fn changed_for_a_moment() -> u32 {
    let umask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::umask(umask);
    umask.as_raw_mode()
}
