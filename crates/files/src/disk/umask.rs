//! The permissions that new files of this process do not get.
//!
//! Must not know: what is made.

use std::sync::OnceLock;

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
