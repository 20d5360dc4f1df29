//! Asks the kernel about an open file: pages that are not written yet, errors that only a close reports.
//!
//! Must not know: names of files, why somebody asks.

use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};

use super::host::cachestat;
use crate::Errno;

/// Writes the dirty pages of a range and waits for them, and write-protects them on the way: a store through a mapping
/// then faults, and changes the file's times. A cheap call where no page is dirty. The device's cache is not flushed.
/// What could not be written is no matter here: the error stays with the file for its owner.
pub fn write_back(file: &File, at: u64, len: u64) {
    let all =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (at, len) = (at.min(i64::MAX as u64) as i64, len.min(i64::MAX as u64) as i64);
    // SAFETY: takes numbers alone; the descriptor is open for as long as `file` is borrowed.
    let _ = unsafe { libc::sync_file_range(file.as_raw_fd(), at, len, all) };
}

/// Whether pages of a range of the file wait to be written. False where the kernel does not tell (see
/// [`super::cached_fraction`]).
pub fn has_dirty_pages(file: &File, at: u64, len: u64) -> bool {
    len > 0 && cachestat(file, at, len).is_some_and(|pages| pages.dirty > 0)
}

/// Tells what closing the file would tell, and keeps it open: FUSE asks its daemon (`FLUSH`) at each close of each
/// descriptor, NFS and CIFS write what they hold. An interrupted close has failed, and the next one does not know of it:
/// a store that gave the upload up (goofys) answers with success then.
pub fn flush(file: &File) -> Result<(), Errno> {
    let twin = file.try_clone().map_err(|error| Errno::from_io_error(&error))?.into_raw_fd();
    // SAFETY: the descriptor was made one line above, nobody else knows it, and it is not used after this: Linux frees it
    // whatever close(2) answers.
    match unsafe { libc::close(twin) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_was_written_back_is_not_dirty() {
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file");
        file.write_all(&[7; 1 << 20]).expect("room");
        if super::super::cached_fraction(&file, 1 << 20).is_none() {
            return eprintln!("skipped: this kernel has no cachestat(2)");
        }
        write_back(&file, 0, 1 << 20);
        assert!(!has_dirty_pages(&file, 0, 1 << 20));
        assert!(!has_dirty_pages(&file, 0, 0));
    }

    #[test]
    fn a_file_is_open_after_it_was_flushed() {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(b"one").expect("room");
        assert_eq!(flush(&file), Ok(()));
        file.write_all(b"two").expect("it is open");
        assert_eq!(file.metadata().expect("it is open").len(), 6);
    }
}
