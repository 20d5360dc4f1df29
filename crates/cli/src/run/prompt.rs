//! A question on the terminal whose answer is not shown. A signal that ends it gives the terminal back as it was.
//!
//! Must not know: what the answer is for.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump::Status;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::SIGQUIT;
use signal_hook::{flag, low_level};

use crate::run::signals::stop_flag;

/// A signal may come between a look at its flag and the wait, and after Ctrl-Z the shell has switched echo on.
const LOOK_AGAIN_AFTER: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// What the kernel takes of one line.
const TERMINAL_LINE_BYTES_MAX: usize = 4096;

/// Why there is no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// Nobody is there to answer.
    NoTerminal,
    /// The terminal is gone.
    Failed(Errno),
}

/// Asks for a word. Ends the program if the user ends the question: nothing was done before, so nothing is reported.
pub fn hidden_word(question: &str) -> Result<String, NoAnswer> {
    if !std::io::stdin().is_terminal() {
        return Err(NoAnswer::NoTerminal);
    }
    let opened = File::options().read(true).write(true).open("/dev/tty");
    let terminal = opened.map_err(|_| NoAnswer::NoTerminal)?;
    let before = tcgetattr(&terminal).map_err(|_| NoAnswer::NoTerminal)?;
    let signals = PromptSignals::watched().map_err(|_| NoAnswer::NoTerminal)?;
    let answer = answer(&terminal, question, &before, &signals);
    let _ = tcsetattr(&terminal, OptionalActions::Flush, &before);
    let _ = (&terminal).write_all(b"\n");
    signals.end_if_set();
    answer.map_err(NoAnswer::Failed)
}

/// A line, or what there was when a signal came.
fn answer(
    mut terminal: &File,
    question: &str,
    before: &Termios,
    signals: &PromptSignals,
) -> Result<String, Errno> {
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ECHO);
    let _ = tcsetattr(terminal, OptionalActions::Flush, &quiet);
    let _ = terminal.write_all(question.as_bytes());
    let mut bytes = [0; TERMINAL_LINE_BYTES_MAX];
    // The wait, not the read, is what a signal cuts short.
    while !signals.is_set() {
        let mut fds = [PollFd::new(terminal, PollFlags::IN)];
        match poll(&mut fds, Some(&LOOK_AGAIN_AFTER)) {
            Ok(0) | Err(Errno::INTR) => {
                let _ = tcsetattr(terminal, OptionalActions::Now, &quiet);
            }
            Ok(_) => {
                let len = read(terminal, &mut bytes)?;
                return Ok(String::from_utf8_lossy(&bytes[..len]).into_owned());
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(String::new())
}

/// What ends the question.
struct PromptSignals {
    stop: Arc<AtomicBool>,
    quit: Arc<AtomicBool>,
    /// From then on SIGQUIT does what it does anywhere.
    is_over: Arc<AtomicBool>,
}

impl PromptSignals {
    fn watched() -> std::io::Result<PromptSignals> {
        let (quit, is_over) = (Arc::default(), Arc::default());
        flag::register_conditional_default(SIGQUIT, Arc::clone(&is_over))?;
        flag::register(SIGQUIT, Arc::clone(&quit))?;
        Ok(PromptSignals { stop: stop_flag()?, quit, is_over })
    }

    fn is_set(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.quit.load(Ordering::Relaxed)
    }

    fn end_if_set(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        if self.quit.load(Ordering::Relaxed) {
            let _ = low_level::emulate_default_handler(SIGQUIT);
        }
        if self.stop.load(Ordering::Relaxed) {
            let _ = writeln!(std::io::stderr(), "pump: interrupted; nothing was written");
            low_level::exit(Status::Interrupted as i32);
        }
    }
}
