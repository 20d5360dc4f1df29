//! Standard error of ssh: passed on at once, and examined when ssh has ended without an answer.
//!
//! Must not know: why ssh was started.

use std::io::{Read, Write};
use std::process::ChildStderr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// So much of its end is kept.
const KEPT_BYTES: usize = 4096;
/// Behind the end of ssh: whoever it left running may hold its standard error open.
const REST_MAX: Duration = Duration::from_millis(300);
/// OpenSSH's words where there is no such host, where nothing listens, and where nothing comes behind a jump host (ssh.c,
/// sshconnect.c, kex.c). They are not translated; of whoever was let in nowhere they are not said.
const UNREACHED: [&str; 3] =
    ["Could not resolve hostname", "ssh: connect to host ", "timed out during banner exchange"];

/// What was said so far.
pub(crate) struct Said {
    end: Arc<Mutex<Vec<u8>>>,
    is_over: Receiver<()>,
}

impl Said {
    /// Passes on all that comes from now on.
    pub(crate) fn relay(mut from: ChildStderr) -> Said {
        let (end, (over, is_over)) = (Arc::new(Mutex::new(Vec::new())), channel());
        let kept = Arc::clone(&end);
        std::thread::spawn(move || {
            let mut bytes = [0; KEPT_BYTES];
            while let Ok(len @ 1..) = from.read(&mut bytes) {
                let _ = std::io::stderr().write_all(&bytes[..len]);
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&bytes[..len]);
                let too_many = kept.len().saturating_sub(KEPT_BYTES);
                kept.drain(..too_many);
            }
            drop(over);
        });
        Said { end, is_over }
    }

    /// Waits for what is on its way.
    pub(crate) fn await_rest(&self) {
        let _ = self.is_over.recv_timeout(REST_MAX);
    }

    /// Whether it has said nothing until now.
    pub(crate) fn is_silent(&self) -> bool {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether the host was never there, by what it said until now.
    pub(crate) fn is_unreached(&self) -> bool {
        let said = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&said);
        UNREACHED.iter().any(|words| said.contains(words))
    }
}
