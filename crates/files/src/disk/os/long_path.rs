//! Paths that are longer than the system takes in one call (PATH_MAX): they lead to a folder on the way, and from that one
//! on by what is left of them.
//!
//! Must not know: what is called.

use std::ffi::{CStr, CString};

use datapump_engine::os::linux::again;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, CWD, Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

/// With the NUL at its end: linux/limits.h.
const PATH_MAX: usize = 4096;

/// Calls with a folder and a path from there on that is short enough.
pub fn by_parts<T>(path: impl Arg, call: impl Fn(BorrowedFd<'_>, &CStr) -> Result<T>) -> Result<T> {
    path.into_with_c_str(|path| {
        if path.to_bytes().len() < PATH_MAX { call(CWD, path) } else { in_parts(path.to_bytes(), call) }
    })
}

/// Calls with a path of any length: opens its folders in parts that the system takes, and calls with the last part.
fn in_parts<T>(path: &[u8], call: impl Fn(BorrowedFd<'_>, &CStr) -> Result<T>) -> Result<T> {
    let (mut folder, mut rest): (Option<OwnedFd>, &[u8]) = (None, path);
    while rest.len() >= PATH_MAX {
        let end = rest[..PATH_MAX - 1].iter().rposition(|&byte| byte == b'/').ok_or(Errno::NAMETOOLONG)?;
        // The root folder is its slash.
        let (part, behind) = (&rest[..end.max(1)], &rest[end + 1..]);
        folder = Some(open_on_the_way(folder.as_ref().map_or(CWD, AsFd::as_fd), part)?);
        rest = &behind[behind.iter().take_while(|&&byte| byte == b'/').count()..];
    }
    let rest = if rest.is_empty() { b"." } else { rest };
    call(folder.as_ref().map_or(CWD, AsFd::as_fd), &terminated(rest)?)
}

fn open_on_the_way(folder: BorrowedFd<'_>, part: &[u8]) -> Result<OwnedFd> {
    let (part, flags) = (terminated(part)?, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC);
    again(|| fs::openat(folder, &*part, flags, Mode::empty()))
}

fn terminated(part: &[u8]) -> Result<CString> {
    CString::new(part).map_err(|_| Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::os::retried::{lstat, open, stat};
    use std::path::{Path, PathBuf};

    /// A path of so many bytes that leads to `home`: there and back.
    fn detour(home: &Path, bytes: usize) -> PathBuf {
        let mut path = home.join("below");
        while path.as_os_str().len() < bytes {
            path.push("..//./below");
        }
        path.join("..")
    }

    #[test]
    fn long_paths_lead_to_what_short_ones_do() {
        let home = tempfile::tempdir().expect("room");
        std::fs::create_dir(home.path().join("below")).expect("room");
        std::fs::write(home.path().join("file"), "content").expect("room");
        let number = |path: &Path| stat(path).map(|stat| stat.st_ino);
        for bytes in (PATH_MAX - 40..PATH_MAX + 40).chain([3 * PATH_MAX]) {
            let path = detour(home.path(), bytes);
            assert_eq!(number(&path), number(home.path()), "{bytes}");
            let file = path.join("file");
            assert_eq!(lstat(&file).map(|stat| stat.st_size), Ok(7), "{bytes}");
            assert!(open(&file, OFlags::RDONLY, Mode::empty()).is_ok(), "{bytes}");
            assert_eq!(stat(path.join("none")).err(), Some(Errno::NOENT), "{bytes}");
            assert_eq!(stat(path.join("file/none")).err(), Some(Errno::NOTDIR), "{bytes}");
        }
        let slashes = format!("{}{}", "/".repeat(2 * PATH_MAX), home.path().display());
        assert_eq!(number(slashes.as_ref()), number(home.path()), "slashes");
        assert_eq!(number("x".repeat(PATH_MAX).as_ref()), Err(Errno::NAMETOOLONG), "a name");
    }
}
