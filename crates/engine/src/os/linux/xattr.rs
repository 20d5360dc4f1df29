//! The names of the extended attributes of a name in an open folder, in one call.
//!
//! Must not know: which attributes matter, why somebody asks.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Errno;

/// The number of listxattrat(2), which came with Linux 6.13.
const LISTXATTRAT: libc::c_long = 465;

/// The kernel has no such call.
static IS_MISSING: AtomicBool = AtomicBool::new(false);

/// Fills `list` with the names, a zero behind each, and gives their length; links are not followed. `None` where there
/// is no such call, or where it is forbidden as an unknown one.
pub fn list_xattrs_at(folder: &File, name: &CStr, list: &mut [u8]) -> Option<Result<usize, Errno>> {
    if IS_MISSING.load(Ordering::Relaxed) {
        return None;
    }
    let (folder, flags) = (folder.as_raw_fd(), libc::AT_SYMLINK_NOFOLLOW as libc::c_uint);
    // SAFETY: the name ends with a zero, the kernel writes at most `list.len()` bytes to `list`, both live through the
    // call, and it keeps no reference to them.
    let len =
        unsafe { libc::syscall(LISTXATTRAT, folder, name.as_ptr(), flags, list.as_mut_ptr(), list.len()) };
    if len >= 0 {
        return Some(Ok(len as usize));
    }
    match std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) {
        libc::ENOSYS | libc::EPERM => {
            IS_MISSING.store(true, Ordering::Relaxed);
            None
        }
        errno => Some(Err(Errno(errno))),
    }
}
