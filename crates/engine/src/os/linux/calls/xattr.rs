//! Attributes of a name in an open folder, and the mode of a file that is held (O_PATH), each in one call.
//!
//! Must not know: which attributes matter, what they are for.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::c_long;

use crate::Errno;
use crate::os::linux::again;

use super::{FCHMODAT2, GETXATTRAT, KernelCall, LISTXATTRAT, REMOVEXATTRAT, SETXATTRAT};

/// The call was refused: it is not made again.
static IS_MISSING: AtomicBool = AtomicBool::new(false);

/// `struct xattr_args` of linux/xattr.h.
#[repr(C, align(8))]
struct XattrArguments {
    value: u64,
    size: u32,
    flags: u32,
}

/// A name in an open folder.
#[derive(Clone, Copy, Debug)]
pub struct XattrName<'open> {
    /// The folder; paths that begin with a slash need none.
    pub folder: &'open File,
    /// The name.
    pub name: &'open CStr,
    /// Whether a symbolic link is followed.
    pub follows: bool,
}

impl XattrName<'_> {
    fn flags(&self) -> libc::c_uint {
        if self.follows { 0 } else { libc::AT_SYMLINK_NOFOLLOW as libc::c_uint }
    }

    /// Fills `list` with the names, a zero behind each, and gives their length.
    pub fn list(&self, list: &mut [u8]) -> Result<usize, Errno> {
        let (folder, name) = (self.folder.as_raw_fd(), self.name.as_ptr());
        repeated(|| {
            // SAFETY: the name ends with a zero, the kernel writes at most `list.len()` bytes to `list`, both live
            // through the call, and it keeps no reference to them.
            unsafe { libc::syscall(LISTXATTRAT, folder, name, self.flags(), list.as_mut_ptr(), list.len()) }
        })
    }

    /// Fills `value` and gives its length.
    pub fn get(&self, attribute: &CStr, value: &mut [u8]) -> Result<usize, Errno> {
        let (value, size) = (value.as_mut_ptr() as u64, value.len() as u32);
        self.with_value(GETXATTRAT, attribute, &XattrArguments { value, size, flags: 0 })
    }

    /// Sets an attribute, new or not.
    pub fn set(&self, attribute: &CStr, value: &[u8]) -> Result<(), Errno> {
        let (value, size) = (value.as_ptr() as u64, value.len() as u32);
        self.with_value(SETXATTRAT, attribute, &XattrArguments { value, size, flags: 0 }).map(drop)
    }

    /// Removes an attribute.
    pub fn remove(&self, attribute: &CStr) -> Result<(), Errno> {
        let (folder, name) = (self.folder.as_raw_fd(), self.name.as_ptr());
        let remove = || {
            // SAFETY: both names end with a zero and live through the call.
            unsafe { libc::syscall(REMOVEXATTRAT, folder, name, self.flags(), attribute.as_ptr()) }
        };
        repeated(remove).map(drop)
    }

    fn with_value(&self, call: c_long, attribute: &CStr, value: &XattrArguments) -> Result<usize, Errno> {
        let (folder, name, attribute) = (self.folder.as_raw_fd(), self.name.as_ptr(), attribute.as_ptr());
        let (value, size) = (std::ptr::from_ref(value), size_of::<XattrArguments>());
        repeated(|| {
            // SAFETY: the names end with a zero, the kernel moves at most `size` bytes at the address in `value`, all
            // live through the call, and it keeps no reference to them.
            unsafe { libc::syscall(call, folder, name, self.flags(), attribute, value, size) }
        })
    }
}

/// Makes a call again where it is interrupted.
fn repeated(mut call: impl FnMut() -> c_long) -> Result<usize, Errno> {
    again(|| match call() {
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error())),
        len => Ok(len as usize),
    })
}

/// Fills `list` with the names, a zero behind each, and gives their length; links are not followed. `None` where there
/// is no such call (Linux 6.13 has it), or where a sandbox refuses it.
pub fn list_xattrs_at(folder: &File, name: &CStr, list: &mut [u8]) -> Option<Result<usize, Errno>> {
    if IS_MISSING.load(Ordering::Relaxed) {
        return None;
    }
    match (XattrName { folder, name, follows: false }).list(list) {
        Err(errno) if KernelCall::Listxattrat.is_refused_by(errno) => {
            IS_MISSING.store(true, Ordering::Relaxed);
            None
        }
        listed => Some(listed),
    }
}

/// Sets the permissions of a file that is held, whatever it is. `None` where there is no such call (Linux 6.6 has it),
/// or where a sandbox refuses it.
pub fn set_mode_of_held(file: &File, mode: u32) -> Option<Result<(), Errno>> {
    let (file, flags) = (file.as_raw_fd(), libc::AT_EMPTY_PATH);
    // SAFETY: the path is an empty one that ends with a zero.
    let set = || unsafe { libc::syscall(FCHMODAT2, file, c"".as_ptr(), mode, flags) };
    match repeated(set) {
        Err(errno) if KernelCall::Fchmodat2.is_refused_by(errno) => None,
        set => Some(set.map(drop)),
    }
}
