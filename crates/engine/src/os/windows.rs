//! Windows.
//!
//! Lacks: io_uring, `copy_file_range` (answers [`ENOSYS`]), interruptible streams (`stopped` is ignored: a read from a
//! silent pipe lasts until its writer speaks or ends), reads at an offset that leave the file's position alone (a
//! handle must not be used as a stream and at offsets at once), and all that `os::linux` adds. Error numbers are those
//! of `GetLastError`, not of the C runtime.
//!
//! Must not know: requests, slots, names of files, why a call is made.

use std::fs::File;
use std::io::{Read, Write};
use std::os::windows::fs::FileExt;

use crate::{Errno, TransferFlags};

/// A request was ended before it moved anything: `ERROR_OPERATION_ABORTED`.
pub const ECANCELED: Errno = Errno(995);
/// The system has no such call: `ERROR_CALL_NOT_IMPLEMENTED`.
pub const ENOSYS: Errno = Errno(120);

fn checked(result: std::io::Result<usize>) -> Result<usize, Errno> {
    result.map_err(|error| Errno::from_io_error(&error))
}

/// Reads at an offset in bytes: `ReadFile` with an `OVERLAPPED` offset. 0 is the end.
pub fn read_at(file: &File, at: u64, into: &mut [u8], flags: TransferFlags) -> Result<usize, Errno> {
    if !flags.is_plain() {
        return Err(ENOSYS);
    }
    checked(file.seek_read(into, at))
}

/// Writes at an offset in bytes: `WriteFile` with an `OVERLAPPED` offset. May write a part.
pub fn write_at(file: &File, at: u64, from: &[u8], flags: TransferFlags) -> Result<usize, Errno> {
    if !flags.is_plain() {
        return Err(ENOSYS);
    }
    checked(file.seek_write(from, at))
}

/// Reads where the stream stands: `ReadFile`. 0 is its end.
pub fn read_stream(mut file: &File, into: &mut [u8], _stopped: &dyn Fn() -> bool) -> Result<usize, Errno> {
    checked(file.read(into))
}

/// Writes where the stream stands: `WriteFile`. May write a part.
pub fn write_stream(mut file: &File, from: &[u8], _stopped: &dyn Fn() -> bool) -> Result<usize, Errno> {
    checked(file.write(from))
}

/// This system has none that engines use: [`ENOSYS`].
pub fn copy_file_range(_: &File, _: u64, _: &File, _: u64, _: usize) -> Result<usize, Errno> {
    Err(ENOSYS)
}
