//! The handle that identifies a file in its file system, also against an earlier file of the same inode number.
//!
//! Must not know: why somebody asks.

use std::ffi::CStr;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::AsRawFd;

/// `MAX_HANDLE_SZ`: linux/exportfs.h.
const HANDLE_BYTES_MAX: usize = 128;

/// `struct file_handle` with room for the longest: linux/fs.h.
#[repr(C)]
struct FileHandle {
    bytes: u32,
    kind: i32,
    handle: [u8; HANDLE_BYTES_MAX],
}

/// A sum of the handle of a name in an open folder and of the mount by which it is seen; of an empty name of the open
/// file itself. Links are not followed. `None` where the file system tells none or the call is forbidden.
pub fn handle_sum(folder: &File, name: &CStr) -> Option<u64> {
    let mut handle = FileHandle { bytes: HANDLE_BYTES_MAX as u32, kind: 0, handle: [0; HANDLE_BYTES_MAX] };
    let mut mount: libc::c_int = 0;
    let flags = if name.is_empty() { libc::AT_EMPTY_PATH } else { 0 };
    // SAFETY: the name ends with a zero, the handle has the kernel's layout and as much room as `bytes` says, the mount
    // is one int; all live through the call, and the kernel keeps no reference to them (name_to_handle_at(2)).
    let result = unsafe {
        libc::syscall(
            libc::SYS_name_to_handle_at,
            folder.as_raw_fd(),
            name.as_ptr(),
            &raw mut handle,
            &raw mut mount,
            flags,
        )
    };
    let told = handle.handle.get(..handle.bytes as usize).filter(|told| result == 0 && !told.is_empty())?;
    let mut hasher = DefaultHasher::new();
    (mount, handle.kind, told).hash(&mut hasher);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_file_have_one_handle() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("a"), "a").expect("room");
        std::fs::write(path("b"), "b").expect("room");
        std::fs::hard_link(path("a"), path("c")).expect("hard links");
        let open = File::open(folder.path()).expect("a folder");
        let Some(a) = handle_sum(&open, c"a") else {
            return eprintln!("skipped: this file system tells no handles");
        };
        assert_eq!(handle_sum(&open, c"c"), Some(a));
        assert_eq!(handle_sum(&File::open(path("a")).expect("it is there"), c""), Some(a));
        assert_ne!(handle_sum(&open, c"b"), Some(a));
        assert_eq!(handle_sum(&open, c"none"), None);
    }
}
