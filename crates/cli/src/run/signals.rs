//! Ctrl-C, SIGTERM and SIGHUP let the job drain, clean up and end with status 20. More of them change nothing (a shell
//! and a service manager may both send one): whoever cannot wait has SIGKILL, after which the next run cleans up.
//!
//! Must not know: what the job does when it is told to stop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXCPU, SIGXFSZ};
use signal_hook::flag;

use crate::output::printer;

/// The flags that signals set.
#[derive(Debug, Default)]
pub struct SignalFlags {
    /// The user asks to stop.
    pub stop: Arc<AtomicBool>,
    /// The user asks how far it is: SIGUSR1, as dd's users do (SIGINFO of other systems is not there on Linux).
    pub asked: Arc<AtomicBool>,
}

/// For commands without progress.
pub fn stop_flag() -> io::Result<Arc<AtomicBool>> {
    signal_flags().map(|flags| flags.stop)
}

/// The flags from now on.
pub fn signal_flags() -> io::Result<SignalFlags> {
    let SignalFlags { stop, asked } = SignalFlags::default();
    // A write beyond the limit of file sizes then says EFBIG instead of killing.
    flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
    flag::register(SIGUSR1, Arc::clone(&asked))?;
    // A dropped connection ends a run as Ctrl-C does, but `nohup pump` goes on.
    let hang_up = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM, SIGXCPU].into_iter().chain(hang_up) {
        flag::register(signal, Arc::clone(&stop))?;
        // Words that nobody reads are not waited for.
        flag::register(signal, printer::stop_flag())?;
    }
    Ok(SignalFlags { stop, asked })
}

/// Whether whoever started us had the signal ignored: proc_pid_status(5), SigIgn, a bit for each signal from 1.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}
