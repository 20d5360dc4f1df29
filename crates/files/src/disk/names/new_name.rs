//! Gives a name another one; one that nothing has by renameat2(2) with `RENAME_NOREPLACE`.
//!
//! Where a sandbox refuses that call the new name is a link, which replaces nothing, and the old one is removed. A
//! directory has no links: an empty one is made under the new name, which the old one then replaces; rename(2) replaces
//! no directory that has something in it.
//!
//! Must not know: what the names are for.

use std::ffi::OsStr;
use std::fs::File;

use datapump_engine::Errno;
use datapump_engine::os::linux::KernelCall;

use super::{errno, link, make_folder, metadata, remove};
use crate::disk::retried::{self as fs, RenameFlags};
use crate::disk::{FileKind, Outcome};
use crate::withheld::may_change;

/// A name in an open folder.
#[derive(Clone, Copy, Debug)]
pub struct NameAt<'name> {
    /// The open folder.
    pub folder: &'name File,
    /// The name in it.
    pub name: &'name OsStr,
}

/// Moves a name, replacing what has the new one.
pub fn rename(from: &File, from_name: &OsStr, to: &File, to_name: &OsStr) -> Outcome<()> {
    may_change(from, from_name).and_then(|()| may_change(to, to_name))?;
    match fs::renameat(from, from_name, to, to_name).map_err(errno) {
        Err(refused) if KernelCall::Renameat.is_refused_by(refused) => {
            fs::renameat_with(from, from_name, to, to_name, RenameFlags::empty()).map_err(|_| refused)
        }
        renamed => renamed,
    }
}

/// Moves a name within a folder; `EEXIST` if the new name is taken.
pub fn rename_new(folder: &File, from: &OsStr, to: &OsStr) -> Outcome<()> {
    move_new(NameAt { folder, name: from }, NameAt { folder, name: to })
}

/// Moves a name from folder to folder; `EEXIST` if the new name is taken. Where the file system does not know the flag
/// (NFS), a look before must do: a link to an open file would cost a name that stays until it is closed.
pub fn move_new(from: NameAt<'_>, to: NameAt<'_>) -> Outcome<()> {
    may_change(from.folder, from.name)?;
    let renamed =
        fs::renameat_with(from.folder, from.name, to.folder, to.name, RenameFlags::NOREPLACE).map_err(errno);
    match renamed {
        Err(refused) if KernelCall::Renameat2.is_refused_by(refused) => {
            // Files of others, and file systems without links: the call that is refused is the reason.
            let is_answer = |errno| [Errno::EEXIST, Errno::ENOENT].contains(&errno);
            in_two_steps(from, to).map_err(|errno| if is_answer(errno) { errno } else { refused })
        }
        Err(Errno::EINVAL | Errno::ENOSYS) => match metadata(to.folder, to.name) {
            Ok(_) => Err(Errno::EEXIST),
            Err(Errno::ENOENT) => rename(from.folder, from.name, to.folder, to.name),
            Err(errno) => Err(errno),
        },
        renamed => renamed,
    }
}

/// Moves a name by a link and a removal, a folder over an empty one that is made for it. On an error the new name is removed
/// again.
fn in_two_steps(from: NameAt<'_>, to: NameAt<'_>) -> Outcome<()> {
    if metadata(from.folder, from.name)?.kind == FileKind::Folder {
        make_folder(to.folder, to.name)?;
        return rename(from.folder, from.name, to.folder, to.name).inspect_err(|_| {
            // It is empty, or another's by now and stays.
            let _ = remove(to.folder, to.name, true);
        });
    }
    link(from.folder, from.name, to.folder, to.name)?;
    remove(from.folder, from.name, false).inspect_err(|_| {
        let _ = remove(to.folder, to.name, false);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, read_to_string, write};
    use std::os::unix::fs::symlink;

    #[test]
    fn a_name_is_moved_in_two_steps_and_replaces_nothing() {
        let home = tempfile::tempdir().expect("room");
        let at = |name: &str| home.path().join(name);
        let folder = File::open(home.path()).expect("it is there");
        let place = |name| NameAt { folder: &folder, name: OsStr::new(name) };
        let go = |from, to| in_two_steps(place(from), place(to));
        write(at("file"), "new").expect("room");
        write(at("taken"), "old").expect("room");
        create_dir(at("folder")).expect("room");
        write(at("folder/in"), "x").expect("room");
        create_dir(at("full")).expect("room");
        write(at("full/other"), "x").expect("room");
        symlink("nothing", at("link")).expect("room");
        for (from, to) in [
            ("file", "taken"),
            ("file", "full"),
            ("file", "link"),
            ("link", "taken"),
            ("folder", "taken"),
            ("folder", "full"),
            ("folder", "link"),
        ] {
            assert_eq!(go(from, to), Err(Errno::EEXIST), "{from} {to}");
        }
        for (from, to) in [("file", "file2"), ("link", "link2"), ("folder", "folder2")] {
            assert_eq!(go(from, to), Ok(()), "{from} {to}");
            assert!(at(from).symlink_metadata().is_err() && at(to).symlink_metadata().is_ok(), "{from} {to}");
        }
        assert_eq!(read_to_string(at("taken")).expect("it stays"), "old");
        assert_eq!(read_to_string(at("file2")).expect("it was moved"), "new");
        assert_eq!(read_to_string(at("folder2/in")).expect("it was moved"), "x");
        assert_eq!(go("none", "free"), Err(Errno::ENOENT));
    }
}
