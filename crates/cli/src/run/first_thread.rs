//! The first thread of the process, which handles its signals. A thread of its own performs the command, so that the
//! first one never hangs in a call; meanwhile it waits for what the command leaves to it.
//!
//! Must not know: what the command does, what is waited for.

use std::cell::Cell;
use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;

/// The usual limit of a first thread's stack; 64 KiB (`ulimit -s 64`) end while flags are read.
const COMMAND_STACK_BYTES: usize = 8 << 20;
/// A thread that waits does nothing else.
const WAITER_STACK_BYTES: usize = 64 << 10;

type BesideWait = Box<dyn FnOnce() + Send>;

thread_local! {
    /// The way to the first thread: the command's thread has it until something waits there.
    static FIRST_THREAD: Cell<Option<Sender<BesideWait>>> = const { Cell::new(None) };
}

/// Performs a command with a stack that no limit of the shell cuts. Without a thread for it the first one performs it.
pub(crate) fn perform_beside(perform: fn() -> !) {
    let (first_thread, waiters) = channel::<BesideWait>();
    let perform_in_thread = move || -> Infallible {
        FIRST_THREAD.set(Some(first_thread));
        perform()
    };
    let command = Builder::new().name("command".into()).stack_size(COMMAND_STACK_BYTES);
    let Ok(command) = command.spawn(perform_in_thread) else { perform() };
    waiters.into_iter().for_each(|wait| wait());
    match command.join() {
        Ok(never) => match never {},
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Has the first thread wait, or one of its own where that is not free.
pub(crate) fn wait_beside(name: &str, wait: impl FnOnce() + Send + 'static) -> io::Result<()> {
    match FIRST_THREAD.take() {
        Some(first_thread) => first_thread.send(Box::new(wait)).map_err(|_| ErrorKind::BrokenPipe.into()),
        None => Builder::new().name(name.into()).stack_size(WAITER_STACK_BYTES).spawn(wait).map(drop),
    }
}
