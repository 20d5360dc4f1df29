//! A name for an open file, for the calls that take no descriptor.
//!
//! This is the only place that names `/proc/self/fd` (`tidy` looks for others). The name means the very file that is
//! open, whatever became of its own name. It has no `join`: a path below it would be resolved anew, and be led
//! elsewhere by whoever may change names there.
//!
//! Must not know: what the name is for.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;

/// A path to an open file or folder: proc(5).
pub(super) fn path_of_open_file(file: &File) -> CString {
    CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("digits and slashes")
}
