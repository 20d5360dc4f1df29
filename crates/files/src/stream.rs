//! Standard input and output, pipes and character devices: read and written in their own order, wherever they stand.
//!
//! Must not know: which end of a job they are.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};

use datapump_engine::{Errno, Handle};

use crate::disk::{Access, Disk, FileKind, Outcome, PathAt};
use crate::problem::{Class, Operation, Problem};
use datapump_engine::WAIT_MAX;

/// A pipe is widened to this if the system lets us (its default is 64 KiB): fewer, larger transfers. The largest that
/// an ordinary user may ask for is 1 MiB (pipe(7), /proc/sys/fs/pipe-max-size).
const PIPE_BYTES: usize = 1 << 20;

/// Standard input, to read from.
pub fn standard_input() -> Result<Handle, Problem> {
    duplicate(0, std::io::stdin().as_fd(), "standard input")
}

/// Standard output, to write to.
pub fn standard_output() -> Result<Handle, Problem> {
    duplicate(1, std::io::stdout().as_fd(), "standard output")
}

/// Opens a standard stream once more, with a larger pipe where it is one.
///
/// Errors: it was closed when the program began.
fn duplicate(number: u8, fd: std::os::fd::BorrowedFd<'_>, name: &str) -> Result<Handle, Problem> {
    if datapump_engine::os::linux::was_closed(number) {
        return Err(Problem::system(Operation::Open, Path::new(name), Errno::EBADF.0));
    }
    let owned = fd.try_clone_to_owned();
    let owned = owned.map_err(|error| {
        Problem::system(Operation::Open, Path::new(name), error.raw_os_error().unwrap_or(5))
    })?;
    let _ = rustix::pipe::fcntl_setpipe_size(&owned, PIPE_BYTES);
    Ok(Handle::Os(owned.into()))
}

/// Opens what is written as a stream where it stands.
pub fn open_special(target: &PathAt, stop: &Arc<AtomicBool>) -> Result<Handle, Problem> {
    let (path, owned) = (&target.path, target.clone());
    match target.metadata().map(|meta| meta.kind) {
        Ok(FileKind::Fifo) => open_waiting(path, stop, move || owned.open(Access::Write)),
        _ => target.open(Access::Write).map_err(|errno| Problem::system(Operation::Open, path, errno.0)),
    }
}

/// Opens a named pipe to read it.
pub fn open_fifo(path: &Path, stop: &Arc<AtomicBool>) -> Result<Handle, Problem> {
    let owned: PathBuf = path.to_path_buf();
    open_waiting(path, stop, move || Disk::Os.open(&owned, Access::Read))
}

/// Opens a pipe on a thread of its own, since the system waits for the other side: a stop is answered meanwhile, and the thread
/// is left behind.
fn open_waiting(
    path: &Path,
    stop: &Arc<AtomicBool>,
    open: impl FnOnce() -> Outcome<Handle> + Send + 'static,
) -> Result<Handle, Problem> {
    let (sender, receiver) = channel();
    let spawned = std::thread::Builder::new().spawn(move || sender.send(open()));
    spawned.map_err(|error| Problem::system(Operation::Open, path, error.raw_os_error().unwrap_or(5)))?;
    loop {
        match receiver.recv_timeout(WAIT_MAX) {
            Ok(opened) => {
                return opened.map(widened).map_err(|errno| Problem::system(Operation::Open, path, errno.0));
            }
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                return Err(Problem::new(
                    Class::Io,
                    Operation::Open,
                    path,
                    "interrupted while waiting for the other side of the pipe",
                ));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Problem::system(Operation::Open, path, Errno::EIO.0));
            }
        }
    }
}

fn widened(handle: Handle) -> Handle {
    let _ = rustix::pipe::fcntl_setpipe_size(handle.os(), PIPE_BYTES);
    handle
}
