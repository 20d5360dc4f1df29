//! Files that this process writes for itself where it works for others: the ticket and the logs of a server in the folder
//! that it serves. Folders list them as withheld, and their names are neither read nor replaced.
//!
//! Must not know: whose files they are, what is done with names.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use datapump_engine::Errno;
use rustix::fs::{AtFlags, FileType, fstat, statat};

/// EPERM, as the system refuses to change a file that is immutable.
pub(crate) const REFUSED: Errno = Errno::EPERM;

static WITHHELD: RwLock<Vec<Withheld>> = RwLock::new(Vec::new());
/// There are some: most processes have none, and ask for each name.
static HAS_SOME: AtomicBool = AtomicBool::new(false);

/// A file that is withheld.
struct Withheld {
    device: u64,
    inode: u64,
    /// Once the last name of a file is removed and nobody has it open, another file gets its number: a server withheld a
    /// file of somebody else for the number of its removed ticket.
    _keeps_number: Option<OwnedFd>,
}

/// Withholds an open file from now on, if it is a regular one.
pub fn withhold(file: impl AsFd) {
    let Ok(stat) = fstat(&file) else { return };
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
        let _keeps_number = file.as_fd().try_clone_to_owned().ok();
        let withheld = Withheld { device: stat.st_dev, inode: stat.st_ino, _keeps_number };
        WITHHELD.write().unwrap_or_else(PoisonError::into_inner).push(withheld);
        HAS_SOME.store(true, Ordering::Relaxed);
    }
}

/// Whether a file with this inode number is withheld, whatever its device.
pub(crate) fn may_be_withheld(inode: u64) -> bool {
    HAS_SOME.load(Ordering::Relaxed)
        && WITHHELD.read().unwrap_or_else(PoisonError::into_inner).iter().any(|it| it.inode == inode)
}

/// What was opened, if it is not withheld.
pub(crate) fn given(file: File) -> Result<File, Errno> {
    let is_own = HAS_SOME.load(Ordering::Relaxed)
        && fstat(&file).is_ok_and(|stat| is_withheld(stat.st_dev, stat.st_ino));
    if is_own { Err(REFUSED) } else { Ok(file) }
}

/// Whether a name may be replaced, moved or removed.
pub(crate) fn may_change(folder: &File, name: &OsStr) -> Result<(), Errno> {
    if HAS_SOME.load(Ordering::Relaxed) && is_withheld_name(folder, name) { Err(REFUSED) } else { Ok(()) }
}

/// Whether a name is that of a file that is withheld.
pub(crate) fn is_withheld_name(folder: &File, name: &OsStr) -> bool {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| is_withheld(stat.st_dev, stat.st_ino))
}

/// Whether a file is withheld.
pub(crate) fn is_withheld(device: u64, inode: u64) -> bool {
    let is_it = |it: &Withheld| (it.device, it.inode) == (device, inode);
    HAS_SOME.load(Ordering::Relaxed)
        && WITHHELD.read().unwrap_or_else(PoisonError::into_inner).iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::names;
    use std::path::Path;

    #[test]
    fn a_file_that_is_withheld_is_listed_as_that_and_neither_read_nor_replaced() {
        let folder = tempfile::tempdir().expect("room");
        let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
        let file = File::create(&own).expect("room");
        std::fs::write(&other, "content").expect("room");
        let open = File::open(folder.path()).expect("it is one");
        let withheld = || {
            let listed = names::list(&open, 0).expect("it is one").0;
            assert_eq!(listed.len(), 2);
            listed.into_iter().filter(|entry| entry.is_withheld).map(|entry| entry.name).collect::<Vec<_>>()
        };
        assert_eq!(withheld(), [""; 0]);
        withhold(&file);
        withhold(&open);
        let own = OsStr::new("own");
        assert_eq!(withheld(), [own]);
        assert_eq!(names::metadata(&open, own), Err(REFUSED));
        assert_eq!(names::open_source(&open, own, true).err(), Some(REFUSED));
        assert_eq!(names::open_beneath(&open, Path::new("own")).err(), Some(REFUSED));
        assert_eq!(names::hold_beneath(&open, Path::new("own")).err(), Some(REFUSED));
        assert_eq!(names::open_emptied(&open, own).err(), Some(REFUSED));
        assert_eq!(names::remove(&open, own, false), Err(REFUSED));
        let other = OsStr::new("other");
        assert_eq!(names::rename(&open, other, &open, own), Err(REFUSED));
        assert_eq!(names::rename(&open, own, &open, other), Err(REFUSED));
        assert_eq!(withheld(), [own]);
        names::metadata(&open, other).expect("it is not withheld");
    }

    /// ext4 gives the number of a file that is gone to the next new one.
    #[test]
    fn the_number_of_a_removed_file_withholds_no_other() {
        let folder = tempfile::tempdir().expect("room");
        let ticket = folder.path().join("ticket");
        withhold(File::create(&ticket).expect("room"));
        std::fs::remove_file(&ticket).expect("it exists");
        (0..16).for_each(|number| std::fs::write(folder.path().join(number.to_string()), "").expect("room"));
        let open = File::open(folder.path()).expect("it is one");
        let listed = names::list(&open, 0).expect("it is one").0;
        assert_eq!(listed.iter().filter(|entry| !entry.is_withheld).count(), 16);
    }
}
