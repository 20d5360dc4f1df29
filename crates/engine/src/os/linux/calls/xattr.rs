//! The names of the extended attributes of a name in an open folder, in one call.
//!
//! Must not know: which attributes matter, why somebody asks.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Errno;
use crate::os::linux::again;

use super::{KernelCall, LISTXATTRAT};

/// The call was refused: it is not made again.
static IS_MISSING: AtomicBool = AtomicBool::new(false);

/// Fills `list` with the names, a zero behind each, and gives their length; links are not followed. `None` where there
/// is no such call (Linux 6.13 has it), or where a sandbox refuses it.
pub fn list_xattrs_at(folder: &File, name: &CStr, list: &mut [u8]) -> Option<Result<usize, Errno>> {
    if IS_MISSING.load(Ordering::Relaxed) {
        return None;
    }
    let (folder, flags) = (folder.as_raw_fd(), libc::AT_SYMLINK_NOFOLLOW as libc::c_uint);
    let list_once = || {
        // SAFETY: the name ends with a zero, the kernel writes at most `list.len()` bytes to `list`, both live through
        // the call, and it keeps no reference to them.
        match unsafe {
            libc::syscall(LISTXATTRAT, folder, name.as_ptr(), flags, list.as_mut_ptr(), list.len())
        } {
            -1 => Err(Errno::of(&std::io::Error::last_os_error())),
            len => Ok(len as usize),
        }
    };
    let listed = again(list_once);
    if listed.is_err_and(|errno| KernelCall::Listxattrat.is_refused_by(errno)) {
        IS_MISSING.store(true, Ordering::Relaxed);
        return None;
    }
    Some(listed)
}
