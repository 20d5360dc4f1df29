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
use std::path::Path;
use std::sync::OnceLock;

use datapump_engine::Errno;

mod mounts;
pub use mounts::MountEntry;

/// The error where only a name of an open file would do, and there is none: what the kernel says of a file that is held
/// (O_PATH) to calls that take a descriptor alone.
pub const NEEDS_PROC: Errno = Errno::EBADF;

/// Whether /proc is mounted, as it is not in many a chroot. Looked at once.
pub fn is_proc_mounted() -> bool {
    static IS_MOUNTED: OnceLock<bool> = OnceLock::new();
    *IS_MOUNTED.get_or_init(|| Path::new("/proc/self").exists())
}

/// The words of an error that says that there is no name of an open file.
pub fn proc_words(errno: Errno) -> Option<&'static str> {
    let needs = errno == NEEDS_PROC && !is_proc_mounted();
    needs.then_some("/proc is not mounted, and this needs it: mount it (mount -t proc proc /proc)")
}

/// A path to an open file or folder: proc(5).
pub(super) fn path_of_open_file(file: &File) -> CString {
    CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("digits and slashes")
}

/// Whether an open file or folder is the root of the mount that it was opened by, as /proc shows it: the number of the
/// mount in `fdinfo`, and where that is mounted in `mountinfo`. `None` where /proc is not mounted.
pub(super) fn is_mount_point(file: &File) -> Option<bool> {
    let path = rustix::fs::readlink(path_of_open_file(file), Vec::new()).ok()?.into_bytes();
    let info = path_of_open_file(file).into_string().ok()?.replace("/fd/", "/fdinfo/");
    let info = std::fs::read_to_string(info).ok()?;
    let number = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
    let mounts = MountEntry::list("self");
    if mounts.is_empty() {
        return None;
    }
    // A mount that is not listed begins above the root folder of this process.
    let own = mounts.into_iter().find(|mount| mount.number == number);
    Some(own.is_some_and(|own| own.point.as_os_str().as_encoded_bytes() == path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_the_same_by_proc_and_by_statx() {
        let home = tempfile::tempdir().expect("room");
        let folder = home.path().join("a b");
        std::fs::create_dir(&folder).expect("room");
        for path in ["/", "/proc", "/dev", "/proc/self", "/sys", folder.to_str().expect("plain")] {
            let Ok(file) = File::open(path) else { continue };
            assert_eq!(is_mount_point(&file), super::super::is_mount_root(&file), "{path}");
        }
        assert_eq!(is_mount_point(&File::open("/proc").expect("it is mounted")), Some(true));
    }
}
