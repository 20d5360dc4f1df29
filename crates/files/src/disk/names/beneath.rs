//! Opens a path below a folder that nothing on it may lead out of: openat2(2) with `RESOLVE_BENEATH`.
//!
//! Where a sandbox refuses that call the path is opened name by name, none of which is followed by the kernel. A link is
//! read and its words are put in its place; `..` takes back a folder that was entered, and the first one cannot be left.
//!
//! Must not know: what is done with what was opened.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use datapump_engine::Errno;
use datapump_engine::os::linux::KernelCall;
use rustix::io::Errno as System;
use rustix::process::geteuid;

use super::{ON_THE_WAY, errno, hold, read_held_symlink};
use crate::disk::retried::{self as fs, Mode, OFlags, ResolveFlags};
use crate::disk::{FileKind, Meta, Outcome, os};

/// So often is a path looked at again whose names are changed meanwhile.
const TRIES_MAX: u32 = 100;
/// As many links as the kernel follows: path_resolution(7).
const LINKS_MAX: u32 = 40;
const STICKY: u32 = 0o1000;
const WRITABLE_FOR_ALL: u32 = 0o002;

pub(super) fn open(root: &File, path: &Path, flags: OFlags) -> Outcome<File> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match by_one_call(root, path, flags) {
        Err(refused) if KernelCall::Openat2.is_refused_by(refused) => name_by_name(root, path, flags),
        opened => opened,
    }
}

fn by_one_call(root: &File, path: &Path, flags: OFlags) -> Outcome<File> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let open = || fs::openat2(root, path, flags, Mode::empty(), resolve);
    // EAGAIN: something on the way was renamed meanwhile, which may happen once more.
    let opened = (0..TRIES_MAX).map(|_| open()).find(|opened| !matches!(opened, Err(System::AGAIN)));
    opened.unwrap_or(Err(System::AGAIN)).map(File::from).map_err(errno)
}

/// Opens a path beneath a folder one name after the other, again where a name became a link meanwhile.
///
/// Errors: `EAGAIN` if that happens too often.
fn name_by_name(root: &File, path: &Path, flags: OFlags) -> Outcome<File> {
    let mut way = WayBeneath { root, entered: Vec::new(), rest: Vec::new(), links: 0 };
    way.put_first(path.as_os_str())?;
    for _ in 0..TRIES_MAX {
        match way.go(flags) {
            // It was no link when it was looked at.
            Err(Errno::ELOOP) if way.links <= LINKS_MAX => {}
            opened => return opened,
        }
        way = WayBeneath { root, entered: Vec::new(), rest: Vec::new(), links: 0 };
        way.put_first(path.as_os_str())?;
    }
    Err(Errno::EAGAIN)
}

/// A path that is being opened.
struct WayBeneath<'root> {
    root: &'root File,
    /// The folders that were entered below the first one, each in the one before.
    entered: Vec<File>,
    /// The remaining names, the next one last.
    rest: Vec<OsString>,
    links: u32,
}

impl WayBeneath<'_> {
    /// A slash at the end means that a folder is there: `.` in it.
    fn put_first(&mut self, path: &OsStr) -> Outcome<()> {
        let bytes = path.as_bytes();
        match bytes.first() {
            None => return Err(Errno::ENOENT),
            Some(b'/') => return Err(Errno::EXDEV),
            Some(_) => {}
        }
        let parts: Vec<&[u8]> = bytes.split(|&byte| byte == b'/').collect();
        let last = parts.len() - 1;
        let parts = parts.into_iter().enumerate().rev();
        let parts = parts.filter_map(|(at, part)| match part {
            b"" | b"." if at < last => None,
            b"" => Some(&b"."[..]),
            part => Some(part),
        });
        self.rest.extend(parts.map(|part| OsStr::from_bytes(part).to_owned()));
        Ok(())
    }

    fn here(&self) -> &File {
        self.entered.last().unwrap_or(self.root)
    }

    /// Walks the rest of the path, and opens where it ends.
    ///
    /// Errors: `EXDEV` where it leads out.
    fn go(&mut self, flags: OFlags) -> Outcome<File> {
        while let Some(part) = self.rest.pop() {
            match part.as_bytes() {
                b"." => {}
                b".." => drop(self.entered.pop().ok_or(Errno::EXDEV)?),
                _ => {
                    if let Some(opened) = self.enter(&part, flags)? {
                        return Ok(opened);
                    }
                }
            }
        }
        open_in(self.here(), OsStr::new("."), flags)
    }

    /// Enters a folder, or puts a link's words in its place, or opens the last name.
    fn enter(&mut self, name: &OsStr, flags: OFlags) -> Outcome<Option<File>> {
        let held = hold(self.here(), name)?;
        let meta = os::file_metadata(&held)?;
        let is_last = self.rest.is_empty();
        match meta.kind {
            FileKind::Symlink => {
                self.links += 1;
                if self.links > LINKS_MAX {
                    return Err(Errno::ELOOP);
                }
                may_follow(&os::file_metadata(self.here())?, &meta)?;
                self.put_first(&read_held_symlink(&held)?)?;
            }
            _ if is_last => return open_in(self.here(), name, flags).map(Some),
            FileKind::Folder => self.entered.push(open_in(self.here(), name, ON_THE_WAY)?),
            _ => return Err(Errno::ENOTDIR),
        }
        Ok(None)
    }
}

/// Opens a name that is no link.
fn open_in(folder: &File, name: &OsStr, flags: OFlags) -> Outcome<File> {
    let opened = fs::openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty());
    let opened = opened.map(File::from).map_err(errno)?;
    // A link is held like anything else: it was put there since it was looked at.
    let is_link = || os::file_metadata(&opened).is_ok_and(|meta| meta.kind == FileKind::Symlink);
    if flags.contains(OFlags::PATH) && !flags.contains(OFlags::DIRECTORY) && is_link() {
        return Err(Errno::ELOOP);
    }
    Ok(opened)
}

/// In a folder in which all users make names, only links of this user and of the folder's owner are followed, as
/// `fs.protected_symlinks` has it (proc(5)), whatever that is set to.
fn may_follow(folder: &Meta, link: &Meta) -> Outcome<()> {
    let is_shared = folder.mode & (STICKY | WRITABLE_FOR_ALL) == STICKY | WRITABLE_FOR_ALL;
    let is_trusted = link.uid == geteuid().as_raw() || link.uid == folder.uid;
    if !is_shared || is_trusted { Ok(()) } else { Err(Errno::EACCES) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::{MetadataExt, symlink};

    /// Device and inode, or the error.
    fn found(opened: Outcome<File>) -> Result<(u64, u64), i32> {
        let meta = |file: File| file.metadata().expect("it is open");
        opened.map(meta).map(|meta| (meta.dev(), meta.ino())).map_err(|errno| errno.0)
    }

    const LINKS: [(&str, &str); 12] = [
        ("a/b", "folder"),
        ("a/b/", "slashed"),
        ("a/b/file", "file"),
        ("a/b/file/", "wrong"),
        ("../outside", "out"),
        ("folder/../../outside", "out2"),
        ("folder/../..", "top"),
        ("/", "slash"),
        ("loop", "loop"),
        ("none", "none_link"),
        ("folder/../b/./file", "winding"),
        (".", "self"),
    ];
    const PATHS: &str = ". a a/ a/b/.. a/b/../.. a/b/../../.. .. ../root / /etc a/b/file a/b/file/ a/b/file/. \
        a/b/file/x a//b///file ./a/./b a/none a/none/x none/.. folder folder/file folder/.. slashed/file file file/ \
        wrong out out2 top slash slash/etc loop loop/x none_link winding self/self/a absolute absolute/b self/../..";

    #[test]
    fn a_path_leads_to_the_same_by_one_call_and_name_by_name() {
        let above = tempfile::tempdir().expect("room");
        let root = above.path().join("root");
        create_dir_all(root.join("a/b")).expect("room");
        write(above.path().join("outside"), "x").expect("room");
        write(root.join("a/b/file"), "x").expect("room");
        LINKS.iter().for_each(|(to, name)| symlink(to, root.join(name)).expect("room"));
        symlink(root.join("a"), root.join("absolute")).expect("room");
        let open_root = File::open(&root).expect("it is there");
        let held = OFlags::PATH | OFlags::CLOEXEC;
        let read = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        for path in PATHS.split_whitespace() {
            for flags in [held, read, ON_THE_WAY] {
                let by_one_call = by_one_call(&open_root, Path::new(path), flags);
                if by_one_call.as_ref().is_err_and(|errno| KernelCall::Openat2.is_refused_by(*errno)) {
                    return eprintln!("SKIPPED: no openat2(2) to compare with");
                }
                let by_names = name_by_name(&open_root, Path::new(path), flags);
                assert_eq!(found(by_names), found(by_one_call), "{path} {flags:?}");
            }
        }
    }

    #[test]
    fn the_link_of_another_user_in_a_folder_of_all_is_not_followed() {
        let meta = |mode, uid| Meta { mode, uid, ..Meta::nothing() };
        let me = geteuid().as_raw();
        for (folder, link, follows) in [
            (meta(0o755, me), meta(0o777, me + 1), true),
            (meta(0o777, me), meta(0o777, me + 1), true),
            (meta(0o1777, me + 1), meta(0o777, me), true),
            (meta(0o1777, me + 1), meta(0o777, me + 1), true),
            (meta(0o1777, me), meta(0o777, me + 1), false),
            (meta(0o1777, me + 2), meta(0o777, me + 1), false),
            (meta(0o1775, me), meta(0o777, me + 1), true),
        ] {
            assert_eq!(may_follow(&folder, &link).is_ok(), follows, "{folder:?} {link:?}");
        }
    }
}
