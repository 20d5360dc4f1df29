//! What a new file gets of this process and this moment: permissions that it does not get, and the time.
//!
//! Must not know: what is made.

use std::sync::OnceLock;

/// The time that a file gets that is changed now, in nanoseconds since 1970: kernels take the clock of the last tick.
pub fn coarse_now_ns() -> i128 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// The process's umask: /proc tells it without changing it, as umask(2) would. Asked once.
pub fn umask() -> u32 {
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(|| {
        const USUAL: u32 = 0o022;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        line.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok()).unwrap_or(USUAL)
    })
}
