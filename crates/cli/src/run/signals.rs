//! Ctrl-C, SIGTERM and SIGHUP let the job drain, clean up and end with status 20, within a second. A run that has not
//! ended by then waits for a call that does not return (a dying disk, a server of files that is gone): Ctrl-C or SIGTERM
//! once more ends it at once, as SIGKILL does, with status 20. No partial file is visible then either, and the next run
//! cleans up. More signals within that second change nothing: a shell and a service manager may both send one.
//!
//! Must not know: what the job does when it is told to stop.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use datapump::Status;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXCPU, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;

use crate::output::printer;
use crate::run::first_thread::wait_beside;

/// A run answers its first signal within this time, if its calls return.
const ANSWER_MAX: Duration = Duration::from_secs(1);

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
    let hang_up = (!datapump_engine::os::linux::is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM, SIGXCPU].into_iter().chain(hang_up) {
        flag::register(signal, Arc::clone(&stop))?;
        // Words that nobody reads are not waited for.
        flag::register(signal, printer::stop_flag())?;
        // Calls that it interrupts are not made again.
        flag::register(signal, datapump_engine::os::linux::stop_flag())?;
    }
    Ok(SignalFlags { stop, asked })
}

/// Says how far a run is, if somebody asked.
pub type AnswerRequest = Box<dyn FnMut() + Send>;

/// The answer to SIGUSR1, as long as something runs.
#[derive(Clone, Default)]
pub struct ProgressAnswer(Arc<Mutex<Option<AnswerRequest>>>);

impl std::fmt::Debug for ProgressAnswer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("ProgressAnswer")
    }
}

impl ProgressAnswer {
    /// Has this called from now on, and now for a signal that came before.
    pub fn set(&self, answer: Option<AnswerRequest>) {
        *self.locked() = answer;
        self.call();
    }

    fn call(&self) {
        if let Some(answer) = &mut *self.locked() {
            answer();
        }
    }

    fn locked(&self) -> MutexGuard<'_, Option<AnswerRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// From now on SIGUSR1 is answered, and Ctrl-C or SIGTERM ends a run at once that has not answered the first of them in
/// time.
pub fn wait_for_signals(answer: ProgressAnswer) -> io::Result<()> {
    let is_unanswered = Arc::new(AtomicBool::new(false));
    let signals = [SIGINT, SIGTERM];
    for signal in signals {
        let status = Status::Interrupted as i32;
        flag::register_conditional_shutdown(signal, status, Arc::clone(&is_unanswered))?;
    }
    let mut received = Signals::new(signals.into_iter().chain([SIGUSR1]))?;
    wait_beside("signals", move || {
        for signal in received.forever() {
            if signal == SIGUSR1 {
                answer.call();
            } else {
                thread::sleep(ANSWER_MAX);
                is_unanswered.store(true, Ordering::Relaxed);
            }
        }
    })
}
