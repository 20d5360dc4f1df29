//! The names that a copy with backups has put under a folder, kept in a small file there until the copy has ended well.
//! A later run, or the next session of one whose connection was lost, so knows what the one before it put: no backup of
//! that replaces another, whatever the source holds by now.
//!
//! The file has a temporary name and is locked while in use, as all of them. Of a tree it lies in the root, and has the
//! paths of what was replaced; of files that were named it lies beside them. (The list of a tree goes with a run that
//! failed, lest it keeps other copies out.)
//!
//! Must not know: what a backup is called, what is put.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump_engine::{Errno, Handle};

use crate::attributes;
use crate::commit::reserved;
use crate::disk::{Access, AttributeHolder, FileCalls, FileKind, Folder, Meta, Outcome, file_meta, names};
use crate::identity::{FileId, id};

/// What the file begins with.
const HEAD: &[u8] = b"Names that a copy with backups put here; it did not end well, or still runs.\0";
/// No file has this name, so that its temporary names are those of no file.
const NAME: &str = "/put";
/// Each folder costs two open files. In further ones all names count as put.
const FOLDERS_MAX: usize = 32;
/// More is not read: then all names count as put.
const BYTES_MAX: u64 = 16 << 20;

/// The folders that a run put names under; without anything where no file can be kept.
#[derive(Debug, Default)]
pub struct PutNames {
    folders: Mutex<HashMap<FileId, Option<Notes>>>,
}

/// The files of one folder.
#[derive(Debug)]
struct Notes {
    folder: Arc<File>,
    /// Those that this run has locked; it writes to the first.
    locked: Vec<(OsString, File)>,
    /// Put by other runs; false where there are too many to be read.
    earlier: HashSet<OsString>,
    knows_all: bool,
    /// Those of them that this run has dealt with.
    dealt_with: HashSet<OsString>,
}

/// Whether a name is one of those that such a file may have.
pub fn is_note(name: &OsStr) -> bool {
    reserved::is_temporary_of(name, OsStr::new(NAME))
}

impl PutNames {
    /// Notes a name that is about to be put. True if another run has put it, or where that is not known.
    pub fn put(&self, folder: &File, name: &OsStr) -> bool {
        let Ok(meta) = file_meta(folder) else { return true };
        let mut folders = self.folders();
        let has_room = folders.len() < FOLDERS_MAX;
        let find = || has_room.then(|| Notes::find(folder).ok()).flatten();
        let notes = folders.entry(id(&meta)).or_insert_with(find);
        notes.as_mut().is_none_or(|notes| notes.put(name).unwrap_or(true))
    }

    /// What stands under a name is right and stays: an earlier run put it well.
    pub fn stays(&self, folder: &File, name: &OsStr) {
        let Ok(meta) = file_meta(folder) else { return };
        let mut folders = self.folders();
        let has_room = folders.len() < FOLDERS_MAX;
        let find = || has_room.then(|| Notes::find(folder).ok()).flatten();
        if let Some(notes) = folders.entry(id(&meta)).or_insert_with(find) {
            notes.deal_with(name);
        }
    }

    /// A tree ended well: what it and earlier runs put under its root counts no more.
    pub fn end(&self, root: &File) {
        let known = file_meta(root).ok().and_then(|meta| self.folders().remove(&id(&meta)));
        if let Some(notes) = known.flatten().or_else(|| Notes::find(root).ok()) {
            notes.remove();
        }
    }

    /// The run ended well: what it put counts no more.
    pub fn finish(&self) {
        let folders = std::mem::take(&mut *self.folders());
        folders.into_values().flatten().for_each(Notes::finish);
    }

    fn folders(&self) -> MutexGuard<'_, HashMap<FileId, Option<Notes>>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    /// What earlier runs left.
    fn find(folder: &File) -> Outcome<Notes> {
        let folder = Arc::new(names::open_folder(folder, OsStr::new("."))?);
        let (locked, earlier, dealt_with) = (Vec::new(), HashSet::new(), HashSet::new());
        let mut notes = Notes { folder, locked, earlier, knows_all: true, dealt_with };
        for name in reserved::names_of(OsStr::new(NAME)) {
            if let Ok(Handle::Os(file)) = notes.open().open(&name, Access::ReadWrite) {
                notes.read(name, file)?;
            }
        }
        Ok(notes)
    }

    fn open(&self) -> Folder {
        Folder::Os(Arc::clone(&self.folder))
    }

    /// Makes a file to write to. The folder keeps its times.
    fn begin(&mut self) -> Outcome<()> {
        let (mut tried, before) = (reserved::names_of(OsStr::new(NAME)), file_meta(&self.folder)?);
        while self.locked.is_empty() {
            let name = tried.next().ok_or(Errno::EEXIST)?;
            let made = match self.open().create_new(&name) {
                Err(Errno::EEXIST) => continue,
                made => made?,
            };
            let Handle::Os(file) = made else { return Err(Errno::EOPNOTSUPP) };
            // A file system without locks is no reason to keep none.
            let _ = Handle::Os(file.try_clone().map_err(|error| Errno::of(&error))?).try_lock();
            if let Err(errno) = write(&file, HEAD) {
                let _ = self.open().remove(&name);
                return Err(errno);
            }
            self.locked.push((name, file));
            let _ = attributes::copy_times(&before, AttributeHolder::Open(&self.folder));
        }
        Ok(())
    }

    /// Files of other programs and users are left.
    fn read(&mut self, name: OsString, file: File) -> Outcome<()> {
        if !is_own(&file_meta(&file)?) {
            return Ok(());
        }
        let lock = Handle::Os(file.try_clone().map_err(|error| Errno::of(&error))?);
        let is_free = lock.try_lock()?;
        let mut bytes = Vec::new();
        (&file).take(BYTES_MAX).read_to_end(&mut bytes).map_err(|error| Errno::of(&error))?;
        let Some(names) = bytes.strip_prefix(HEAD) else { return Ok(()) };
        self.knows_all &= (bytes.len() as u64) < BYTES_MAX;
        let parts = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        self.earlier.extend(parts.map(|name| OsString::from_vec(name.to_vec())));
        if is_free {
            (&file).seek(SeekFrom::End(0)).map_err(|error| Errno::of(&error))?;
            self.locked.push((name, file));
        }
        Ok(())
    }

    fn put(&mut self, name: &OsStr) -> Outcome<bool> {
        if self.deal_with(name) {
            return Ok(true);
        }
        self.begin()?;
        let (_, file) = self.locked.first().ok_or(Errno::ENOENT)?;
        write(file, &[name.as_bytes(), &[0]].concat())?;
        Ok(!self.knows_all)
    }

    /// Whether another run put it.
    fn deal_with(&mut self, name: &OsStr) -> bool {
        let is_of_other = self.earlier.contains(name);
        if is_of_other {
            self.dealt_with.insert(name.to_owned());
        }
        is_of_other
    }

    /// Names that this run did not deal with are still of one that did not end well.
    fn finish(self) {
        let rest = self.earlier.difference(&self.dealt_with);
        let rest: Vec<u8> = rest.flat_map(|name| [name.as_bytes(), &[0]].concat()).collect();
        match self.locked.first() {
            Some((_, file)) if self.knows_all && !rest.is_empty() => {
                let cut = file.set_len(HEAD.len() as u64);
                let _ = cut.and_then(|()| (&*file).seek(SeekFrom::End(0))).map(|_| write(file, &rest));
                self.remove_from(1);
            }
            _ => self.remove(),
        }
    }

    fn remove(self) {
        self.remove_from(0);
    }

    fn remove_from(self, first: usize) {
        let (open, before) = (self.open(), file_meta(&self.folder));
        let names: Vec<OsString> = self.locked.into_iter().skip(first).map(|(name, _)| name).collect();
        let removed = names.iter().filter(|name| open.remove(name).is_ok()).count();
        if let Some(before) = before.ok().filter(|_| removed > 0) {
            let _ = attributes::copy_times(&before, AttributeHolder::Open(&self.folder));
        }
    }
}

fn write(mut file: &File, bytes: &[u8]) -> Outcome<()> {
    file.write_all(bytes).map_err(|error| Errno::of(&error))
}

/// Whether this user alone can have made it: as it is made here.
fn is_own(meta: &Meta) -> bool {
    let user = rustix::process::geteuid().as_raw();
    meta.kind == FileKind::Regular && meta.uid == user && meta.links == 1 && meta.mode & 0o077 == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_put_that_did_not_end_well_is_known_to_the_next() {
        let home = tempfile::tempdir().expect("room");
        let folder = File::open(home.path()).expect("a folder");
        let put = |run: &PutNames, name: &str| run.put(&folder, OsStr::new(name));
        let count = || std::fs::read_dir(home.path()).expect("a folder").count();
        let first = PutNames::default();
        assert_eq!([put(&first, "a"), put(&first, "b"), put(&first, "a")], [false; 3]);
        // Another that runs beside it.
        let beside = PutNames::default();
        assert_eq!((put(&beside, "c"), put(&beside, "a")), (false, true));
        beside.finish();
        drop(first);
        let second = PutNames::default();
        assert_eq!((put(&second, "a"), put(&second, "d")), (true, false));
        second.finish();
        assert_eq!(count(), 1, "b is still to be dealt with");
        let third = PutNames::default();
        assert_eq!((put(&third, "a"), put(&third, "b")), (false, true));
        third.finish();
        assert_eq!(count(), 0);
        let cut = PutNames::default();
        put(&cut, "e");
        drop(cut);
        let well = PutNames::default();
        well.stays(&folder, OsStr::new("e"));
        well.finish();
        assert_eq!(count(), 0, "e is right");
        let fourth = PutNames::default();
        put(&fourth, "in/a");
        drop(fourth);
        PutNames::default().end(&folder);
        assert_eq!(count(), 0, "a tree deals with all names");
    }

    #[test]
    fn what_is_no_note_stays() {
        let home = tempfile::tempdir().expect("room");
        let folder = File::open(home.path()).expect("a folder");
        for name in reserved::names_of(OsStr::new(NAME)) {
            std::fs::write(home.path().join(name), "mine").expect("room");
        }
        let run = PutNames::default();
        assert!(run.put(&folder, OsStr::new("a")), "nobody can tell");
        run.finish();
        assert_eq!(std::fs::read_dir(home.path()).expect("a folder").count(), 8);
    }
}
