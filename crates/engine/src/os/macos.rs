//! macOS (and other Unix systems that are not Linux).
//!
//! Lacks: io_uring, `copy_file_range` (answers `ENOSYS`), one call that reads or writes without blocking whatever the
//! file's flags (streams are polled and written in pieces of `PIPE_BUF`, 512 bytes), poll(2) on devices (a terminal
//! blocks until it answers), and all that `os::linux` adds.
//!
//! Must not know: requests, slots, names of files, why a call is made.

use std::fs::File;

use super::unix;
use crate::{Errno, TransferFlags};

/// A request was ended before it moved anything.
pub const ECANCELED: Errno = Errno(libc::ECANCELED);
/// The system has no such call.
pub const ENOSYS: Errno = Errno(libc::ENOSYS);

/// Reads at an offset in bytes: pread(2). This system has none of the flags: `ENOSYS`.
pub fn read_at(file: &File, at: u64, into: &mut [u8], flags: TransferFlags) -> Result<usize, Errno> {
    if flags.is_plain() { unix::read_at(file, at, into) } else { Err(ENOSYS) }
}

/// Writes at an offset in bytes: pwrite(2). May write a part.
pub fn write_at(file: &File, at: u64, from: &[u8], flags: TransferFlags) -> Result<usize, Errno> {
    if flags.is_plain() { unix::write_at(file, at, from) } else { Err(ENOSYS) }
}

/// Reads where the stream stands: read(2) after poll(2). 0 is its end; `ECANCELED` if `stopped` while there was
/// nothing to read.
pub fn read_stream(file: &File, into: &mut [u8], stopped: &dyn Fn() -> bool) -> Result<usize, Errno> {
    unix::read_polled(file, into, stopped).map_err(unix::errno)
}

/// Writes where the stream stands: write(2) after poll(2). May write a part; `ECANCELED` if `stopped` while there
/// was no room at all.
pub fn write_stream(file: &File, from: &[u8], stopped: &dyn Fn() -> bool) -> Result<usize, Errno> {
    unix::write_polled(file, from, stopped).map_err(unix::errno)
}

/// This system has none: `ENOSYS`.
pub fn copy_file_range(_: &File, _: u64, _: &File, _: u64, _: usize) -> Result<usize, Errno> {
    Err(ENOSYS)
}
