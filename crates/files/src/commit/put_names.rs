//! The names that a copy with backups has put under a folder. Sums of them are kept in a small file there until the copy
//! has ended well: a later run, or the next session of one whose connection was lost, so knows what the one before it
//! put. No backup of that replaces another, and no backup replaces it, whatever the source holds by now.
//!
//! The file has a temporary name and is locked while in use, as all of them. Of a tree it lies in the root, and has sums
//! of paths; of files that were named it lies beside them. (The list of a tree goes with a run that failed, lest it keeps
//! other copies out.) Two names with one sum cost a backup with a number, and so does a file that somebody else made.
//!
//! Names of files with several are kept in memory besides, with what was put there: a run may give them twice.
//!
//! Must not know: what a backup is called, what is put.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump_core::resume::fnv;
use datapump_engine::{Errno, Handle};

use crate::attributes;
use crate::commit::reserved;
use crate::disk::{Access, AttributeHolder, FileCalls, FileKind, Folder, Meta, Outcome, file_meta, names};
use crate::identity::{FileId, id};

/// What the file begins with.
const HEAD: &[u8] = b"Sums of names that a copy with backups put here; it did not end well, or still runs.\0";
/// The sum of a name.
const SUM_BYTES: usize = size_of::<u64>();
/// No file has this name, so that its temporary names are those of no file.
const NAME: &str = "/put";
/// Each folder costs two open files. In further ones all names count as put.
const FOLDERS_MAX: usize = 32;
/// More are neither read, of all folders together (18 MB), nor written: then all names count as put.
const SUMS_MAX: usize = 7 << 17;
/// Names of files with several that a run put (7 MB). Of further ones nobody knows.
const OWN_MAX: usize = 7 << 15;

/// The names that a run put.
#[derive(Debug, Default)]
pub struct PutNames {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The folders that names were put under; without anything where no file can be kept.
    folders: HashMap<FileId, Option<Notes>>,
    /// Sums that were read.
    sums: usize,
    /// What this run put under names that it may give once more, by the sums of those and their folders.
    own: HashMap<u64, FileId>,
    forgets_own: bool,
}

/// The files of one folder.
#[derive(Debug)]
struct Notes {
    folder: Arc<File>,
    /// Those that this run has locked; it writes to the first, whose end this is.
    locked: Vec<(OsString, File)>,
    end: u64,
    /// Put by other runs, and whether this one has dealt with it.
    earlier: HashMap<u64, bool>,
    /// False where there are too many to be read.
    knows_all: bool,
}

/// Whether a name is one of those that such a file may have.
pub fn is_note(name: &OsStr) -> bool {
    reserved::is_temporary_of(name, OsStr::new(NAME))
}

/// Whether such a file stands there, or what is left of one that a kill kept from being begun.
pub fn is_note_in(folder: &File, name: &OsStr) -> bool {
    if !is_note(name) {
        return false;
    }
    let Ok(file) = names::open_source(folder, name, true) else { return false };
    file_meta(&file).is_ok_and(|meta| meta.kind == FileKind::Regular)
        && begins(&file).is_ok_and(Head::is_note)
}

/// How a file begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    Whole,
    /// Only a part of the head is there, or nothing at all.
    Torn,
    Other,
}

impl Head {
    fn is_note(self) -> bool {
        self != Head::Other
    }
}

fn begins(mut file: &File) -> Outcome<Head> {
    let mut head = Vec::new();
    let read = (&mut file).take(HEAD.len() as u64).read_to_end(&mut head);
    read.map_err(|error| Errno::of(&error))?;
    Ok(match HEAD.starts_with(&head) {
        true if head.len() == HEAD.len() => Head::Whole,
        true => Head::Torn,
        false => Head::Other,
    })
}

fn sum_of(name: &OsStr) -> u64 {
    fnv(0, name.as_bytes())
}

impl PutNames {
    /// Notes a name that is about to be put. True if another run has put it, or where that is not known.
    pub fn put(&self, folder: &File, name: &OsStr) -> bool {
        self.known().with(folder, |notes| notes.put(sum_of(name)).unwrap_or(true)).unwrap_or(true)
    }

    /// Whether another run has put a name, or may have.
    pub fn has_earlier(&self, folder: &File, name: &OsStr) -> bool {
        let knows = |notes: &mut Notes| !notes.knows_all || notes.earlier.contains_key(&sum_of(name));
        self.known().with(folder, knows).unwrap_or(true)
    }

    /// What stands under a name is right and stays: an earlier run put it well.
    pub fn stays(&self, folder: &File, name: &OsStr) {
        self.known().with(folder, |notes| notes.deal_with(sum_of(name)));
    }

    /// This run put a file under a name that it may give once more.
    pub fn keep_own(&self, folder: &File, name: &OsStr, file: FileId) {
        let (Ok(meta), mut known) = (file_meta(folder), self.known()) else { return };
        match known.own.len() < OWN_MAX {
            true => drop(known.own.insert(own_sum(&meta, name), file)),
            false => known.forgets_own = true,
        }
    }

    /// Whether it is this run that put what stands under such a name; `None` where nobody knows.
    pub fn is_own(&self, folder: &File, name: &OsStr, file: FileId) -> Option<bool> {
        let (meta, known) = (file_meta(folder).ok()?, self.known());
        match known.own.get(&own_sum(&meta, name)) {
            Some(put) => Some(*put == file),
            None => (!known.forgets_own).then_some(false),
        }
    }

    /// A tree ended well: what it and earlier runs put under its root counts no more.
    pub fn end(&self, root: &File) {
        let known = file_meta(root).ok().and_then(|meta| self.known().folders.remove(&id(&meta)));
        if let Some(notes) = known.flatten().or_else(|| Notes::find(root, &mut 0).ok()) {
            notes.remove();
        }
    }

    /// The run ended well: what it put counts no more.
    pub fn finish(&self) {
        let folders = std::mem::take(&mut self.known().folders);
        folders.into_values().flatten().for_each(Notes::finish);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn own_sum(folder: &Meta, name: &OsStr) -> u64 {
    let (device, inode) = id(folder);
    fnv(fnv(inode, &device.to_le_bytes()), name.as_bytes())
}

impl Known {
    /// Asks the files of a folder, which are looked for once; nothing where there can be none.
    fn with<T>(&mut self, folder: &File, ask: impl FnOnce(&mut Notes) -> T) -> Option<T> {
        let at = id(&file_meta(folder).ok()?);
        let has_room = self.folders.len() < FOLDERS_MAX;
        let find = || has_room.then(|| Notes::find(folder, &mut self.sums).ok()).flatten();
        self.folders.entry(at).or_insert_with(find).as_mut().map(ask)
    }
}

impl Notes {
    /// What earlier runs left.
    fn find(folder: &File, sums: &mut usize) -> Outcome<Notes> {
        let folder = Arc::new(names::open_folder(folder, OsStr::new("."))?);
        let (locked, earlier) = (Vec::new(), HashMap::new());
        let mut notes = Notes { folder, locked, end: 0, earlier, knows_all: true };
        for name in reserved::names_of(OsStr::new(NAME)) {
            if let Ok(Handle::Os(file)) = notes.open().open(&name, Access::ReadWrite) {
                notes.read(name, file, sums)?;
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
            if let Err(errno) = write(&file, HEAD, 0) {
                let _ = self.open().remove(&name);
                return Err(errno);
            }
            self.lock(name, file, HEAD.len() as u64);
            let _ = attributes::copy_times(&before, AttributeHolder::Open(&self.folder));
        }
        Ok(())
    }

    fn lock(&mut self, name: OsString, file: File, end: u64) {
        if self.locked.is_empty() {
            self.end = end;
        }
        self.locked.push((name, file));
    }

    /// Whoever made it, what it says can only make backups get numbers. Files of other programs are left, and so are
    /// those with another name.
    fn read(&mut self, name: OsString, file: File, sums: &mut usize) -> Outcome<()> {
        let meta = file_meta(&file)?;
        if meta.kind != FileKind::Regular || meta.links != 1 {
            return Ok(());
        }
        let lock = Handle::Os(file.try_clone().map_err(|error| Errno::of(&error))?);
        let is_free = lock.try_lock()?;
        match begins(&file)? {
            Head::Other => return Ok(()),
            Head::Torn if is_free => write(&file, HEAD, 0)?,
            _ => {}
        }
        let end = self.read_sums(&file, is_free, sums)?;
        if is_free {
            self.lock(name, file, end);
        }
        Ok(())
    }

    /// Reads the sums behind the head, those of a run that goes on beside this one as its own to deal with. Gives their
    /// end: a kill may have torn the last one.
    fn read_sums(&mut self, file: &File, is_free: bool, sums: &mut usize) -> Outcome<u64> {
        let (mut end, mut bytes) = (HEAD.len() as u64, [0; SUM_BYTES << 10]);
        loop {
            let count = file.read_at(&mut bytes, end).map_err(|error| Errno::of(&error))?;
            let (read, _) = bytes[..count].as_chunks::<SUM_BYTES>();
            if read.is_empty() {
                return Ok(end);
            }
            *sums += read.len();
            self.knows_all &= *sums <= SUMS_MAX;
            if !self.knows_all {
                // What this run writes goes behind all of it.
                let length = file.metadata().map_err(|error| Errno::of(&error))?.len();
                return Ok(length - (length - HEAD.len() as u64) % SUM_BYTES as u64);
            }
            for sum in read {
                self.earlier.entry(u64::from_le_bytes(*sum)).or_insert(!is_free);
            }
            end += size_of_val(read) as u64;
        }
    }

    fn put(&mut self, sum: u64) -> Outcome<bool> {
        if self.deal_with(sum) {
            return Ok(true);
        }
        self.begin()?;
        let (_, file) = self.locked.first().ok_or(Errno::ENOENT)?;
        // With one more a later run takes all names for put.
        if self.end <= (HEAD.len() + SUMS_MAX * SUM_BYTES) as u64 {
            write(file, &sum.to_le_bytes(), self.end)?;
            self.end += SUM_BYTES as u64;
        }
        Ok(!self.knows_all)
    }

    /// Whether another run put it.
    fn deal_with(&mut self, sum: u64) -> bool {
        let is_of_other = self.earlier.get_mut(&sum);
        is_of_other.map(|is_dealt_with| *is_dealt_with = true).is_some()
    }

    /// Names that this run did not deal with are still of one that did not end well.
    fn finish(self) {
        let rest = self.earlier.iter().filter(|(_, is_dealt_with)| !**is_dealt_with);
        let rest: Vec<u8> = rest.flat_map(|(sum, _)| sum.to_le_bytes()).collect();
        match self.locked.first() {
            Some((_, file)) if self.knows_all && !rest.is_empty() => {
                let cut = file.set_len(HEAD.len() as u64);
                let _ = cut.map(|()| write(file, &rest, HEAD.len() as u64));
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

fn write(file: &File, bytes: &[u8], at: u64) -> Outcome<()> {
    file.write_all_at(bytes, at).map_err(|error| Errno::of(&error))
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
        assert!(reserved::names_of(OsStr::new(NAME)).all(|name| !is_note_in(&folder, &name)));
    }

    #[test]
    fn what_a_kill_tore_is_a_note() {
        for (bytes, is_known) in [(0, false), (5, false), (HEAD.len() + 8, true), (HEAD.len() + 13, true)] {
            let home = tempfile::tempdir().expect("room");
            let folder = File::open(home.path()).expect("a folder");
            let [a, b] = ["a", "b"].map(OsStr::new);
            let cut = PutNames::default();
            assert_eq!([a, b].map(|name| cut.put(&folder, name)), [false; 2]);
            drop(cut);
            let name = reserved::names_of(OsStr::new(NAME)).next().expect("one");
            let note = File::options().write(true).open(home.path().join(&name)).expect("it is there");
            note.set_len(bytes as u64).expect("room");
            assert!(is_note_in(&folder, &name), "{bytes}");
            let second = PutNames::default();
            assert_eq!([a, b].map(|name| second.has_earlier(&folder, name)), [is_known, false], "{bytes}");
            assert_eq!([a, b].map(|name| second.put(&folder, name)), [is_known, false], "{bytes}");
            drop(second);
            let third = PutNames::default();
            assert_eq!([a, b].map(|name| third.put(&folder, name)), [true; 2], "{bytes}");
            third.finish();
            assert_eq!(std::fs::read_dir(home.path()).expect("a folder").count(), 0, "{bytes}");
        }
    }

    #[test]
    fn of_too_many_names_all_count_as_put() {
        let home = tempfile::tempdir().expect("room");
        let folder = File::open(home.path()).expect("a folder");
        let cut = PutNames::default();
        for number in 0..SUMS_MAX + 10 {
            assert!(!cut.put(&folder, OsStr::new(&number.to_string())));
        }
        drop(cut);
        let name = reserved::names_of(OsStr::new(NAME)).next().expect("one");
        let length = std::fs::metadata(home.path().join(name)).expect("it is there").len();
        assert_eq!(length as usize, HEAD.len() + (SUMS_MAX + 1) * SUM_BYTES, "more are not written");
        let second = PutNames::default();
        assert!(second.put(&folder, OsStr::new("another")));
        assert!(second.known().folders.values().flatten().all(|notes| notes.earlier.len() <= SUMS_MAX));
        second.finish();
        assert_eq!(std::fs::read_dir(home.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn what_this_run_put_is_told_from_what_others_put_in_its_place() {
        let home = tempfile::tempdir().expect("room");
        let folder = File::open(home.path()).expect("a folder");
        let run = PutNames::default();
        let is_own = |name: &str, file| run.is_own(&folder, OsStr::new(name), file);
        run.keep_own(&folder, OsStr::new("a"), (1, 5));
        assert_eq!(is_own("a", (1, 5)), Some(true));
        assert_eq!([is_own("a", (1, 6)), is_own("b", (1, 5))], [Some(false); 2]);
        for number in 0..OWN_MAX {
            run.keep_own(&folder, OsStr::new(&format!("n{number}")), (1, 7));
        }
        assert_eq!(is_own("a", (1, 5)), Some(true));
        assert_eq!(is_own("b", (1, 5)), None, "nobody knows");
    }
}
