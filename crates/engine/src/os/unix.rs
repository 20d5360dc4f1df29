//! What Linux and macOS share: calls at an offset, and streams that must answer an interrupt although read(2) and
//! write(2) would block.
//!
//! A stream is asked with poll(2) in steps of [`STEP`] before each blocking call. `O_NONBLOCK` would be simpler, but
//! it belongs to the open file description, which other processes share (the shell's terminal, the other commands of
//! a pipeline).
//!
//! Must not know: requests, slots, names of files, why a call is made.

use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno as Error;

use super::again::again;
use crate::Errno;

/// How long a stream is waited for before `stopped` is asked again: an interrupt is answered within it.
const STEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

const NO_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// The most that a write may bring to a stream which poll(2) called writable without blocking there: POSIX wants
/// `PIPE_BUF` bytes of room before it says so. 4096 on Linux, 512 on macOS.
const PIPE_ATOMIC_BYTES: usize = libc::PIPE_BUF;

/// The error number of one of rustix' errors.
pub(super) fn errno(error: Error) -> Errno {
    Errno(error.raw_os_error())
}

/// Reads at an offset in bytes: pread(2).
pub fn read_at(file: &File, at: u64, into: &mut [u8]) -> Result<usize, Errno> {
    again(|| rustix::io::pread(file, &mut *into, at)).map_err(errno)
}

/// Writes at an offset in bytes: pwrite(2). May write a part.
pub fn write_at(file: &File, at: u64, from: &[u8]) -> Result<usize, Errno> {
    again(|| rustix::io::pwrite(file, from, at)).map_err(errno)
}

/// Makes a call on a stream. An interrupt that ends the waiting for it is no error of the stream.
pub(super) fn call_stream(
    stopped: &dyn Fn() -> bool,
    call: impl FnMut() -> Result<usize, Error>,
) -> Result<usize, Error> {
    match again(call) {
        Err(Error::INTR) if stopped() => Err(Error::CANCELED),
        result => result,
    }
}

/// Waits until the stream has data, room, or an error to tell; `ECANCELED` once `stopped` says so.
pub(super) fn wait_for(file: &File, what: PollFlags, stopped: &dyn Fn() -> bool) -> Result<(), Error> {
    wait_in_steps(file, what, STEP, stopped)
}

fn wait_in_steps(
    file: &File,
    what: PollFlags,
    step: Timespec,
    stopped: &dyn Fn() -> bool,
) -> Result<(), Error> {
    loop {
        let mut asked = [PollFd::from_borrowed_fd(file.as_fd(), what)];
        match poll(&mut asked, Some(&step)) {
            Ok(0) | Err(Error::INTR) if stopped() => return Err(Error::CANCELED),
            Ok(0) | Err(Error::INTR) => {}
            // Ready; or closed, broken or not pollable (macOS: devices): the call itself tells.
            Ok(_) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Reads what there is, waiting for the first byte with poll(2). Blocks beyond `stopped` only if another reader of
/// the same stream takes the data between the two calls.
pub(super) fn read_polled(file: &File, into: &mut [u8], stopped: &dyn Fn() -> bool) -> Result<usize, Error> {
    loop {
        wait_for(file, PollFlags::IN, stopped)?;
        match call_stream(stopped, || rustix::io::read(file, &mut *into)) {
            Err(Error::AGAIN) => {}
            result => return result,
        }
    }
}

/// Fills the room there is, waiting for the first of it with poll(2): in pieces that fit wherever poll(2) says that
/// there is room. Blocks beyond `stopped` only if another writer to the same stream takes the room between the two
/// calls, or on a terminal that was halted.
pub(super) fn write_polled(file: &File, from: &[u8], stopped: &dyn Fn() -> bool) -> Result<usize, Error> {
    let piece_bytes = if may_block_for_ever(file) { PIPE_ATOMIC_BYTES } else { from.len().max(1) };
    let mut written = 0;
    for piece in from.chunks(piece_bytes) {
        let result = match written {
            0 => write_piece(file, piece, STEP, stopped),
            _ => write_piece(file, piece, NO_TIME, &|| true),
        };
        match result {
            Ok(count) => written += count,
            Err(error) if written == 0 => return Err(error),
            Err(_) => break, // no more room; an error that lasts is told by the next call
        }
        if result != Ok(piece.len()) {
            break;
        }
    }
    Ok(written)
}

fn write_piece(
    file: &File,
    piece: &[u8],
    step: Timespec,
    stopped: &dyn Fn() -> bool,
) -> Result<usize, Error> {
    loop {
        wait_in_steps(file, PollFlags::OUT, step, stopped)?;
        match call_stream(stopped, || rustix::io::write(file, piece)) {
            Err(Error::AGAIN) => {}
            result => return result,
        }
    }
}

/// Whether a blocking call may depend on somebody else: pipes, sockets and terminals, unlike files and devices.
pub(super) fn may_block_for_ever(file: &File) -> bool {
    match rustix::fs::fstat(file).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::Fifo | FileType::Socket) => true,
        Ok(FileType::CharacterDevice) => file.is_terminal(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::OwnedFd;

    fn pipe() -> (File, File) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        (OwnedFd::from(reader).into(), OwnedFd::from(writer).into())
    }

    #[test]
    fn a_polled_write_fills_the_pipe_and_tells_how_far_it_came() {
        let (mut reader, writer) = pipe();
        let bytes: Vec<u8> = (0..10_000_000_u32).map(|number| (number % 251) as u8).collect();
        let written = write_polled(&writer, &bytes, &|| true).expect("room at first");
        assert!((1..bytes.len()).contains(&written), "{written}");
        assert_eq!(write_polled(&writer, &bytes, &|| true), Err(Error::CANCELED));
        drop(writer);
        let mut got = Vec::new();
        reader.read_to_end(&mut got).expect("readable");
        assert!(got == bytes[..written], "{} read of {written} written", got.len());
    }

    #[test]
    fn a_polled_read_ends_with_the_pipe() {
        let (reader, writer) = pipe();
        let into = &mut [0; 10];
        assert_eq!(read_polled(&reader, into, &|| true), Err(Error::CANCELED));
        assert_eq!(write_polled(&writer, b"four", &|| true), Ok(4));
        assert_eq!(read_polled(&reader, into, &|| true), Ok(4));
        drop(writer);
        assert_eq!(read_polled(&reader, into, &|| true), Ok(0));
    }

    #[test]
    fn files_never_block_for_ever() {
        let file = tempfile::tempfile().expect("a temporary file");
        assert!(!may_block_for_ever(&file));
        assert!(may_block_for_ever(&pipe().0));
    }
}
