//! The names that a copy with backups has put under a folder. Sums of them are kept in a small file there until the same
//! command has ended well, as a whole: a later run, or the next session of one whose connection was lost, so knows what
//! the one before it put. No backup of that replaces another, and no backup replaces it, whatever the source holds by
//! now. Another command (other sources, or others of their names) that ends well takes away what it put itself.
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
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump_core::resume::fnv;
use datapump_engine::{Errno, Handle};
use rustix::fs::{self, Mode};

use crate::attributes;
use crate::commit::reserved;
use crate::disk::{
    self, Access, AttributeHolder, FileCalls, FileKind, Folder, Meta, Outcome, file_meta, names,
};
use crate::identity::{FileId, id};

/// What the file begins with. The sum of the command follows, and those of names, 8 bytes each.
const HEAD: &[u8] = b"Sums of names that a copy with backups put here; it did not end well, or still runs.\0";
/// The sum of a name.
const SUM_BYTES: usize = size_of::<u64>();
/// Where those of names begin.
const NAMES_AT: u64 = (HEAD.len() + SUM_BYTES) as u64;
/// The owner may change what a folder holds.
const WRITABLE: u32 = 0o300;
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
    /// What tells this command from others.
    command: u64,
    known: Mutex<KnownNames>,
}

#[derive(Debug, Default)]
struct KnownNames {
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
    command: u64,
    /// Those that this run has locked.
    locked: Vec<NoteFile>,
    /// Put by other runs.
    earlier: HashMap<u64, EarlierName>,
    /// False where there are too many to be read.
    knows_all: bool,
}

#[derive(Debug)]
struct NoteFile {
    name: OsString,
    file: File,
    command: u64,
    /// Where the next sum is written.
    end: u64,
}

/// A name that another run put.
#[derive(Clone, Copy, Debug)]
struct EarlierName {
    /// The number of its file; none that is locked if that run goes on beside this one.
    file: u8,
    is_dealt_with: bool,
}

/// Whether a name is one of those that such a file may have.
pub fn is_note(name: &OsStr) -> bool {
    reserved::is_temporary_of(name, OsStr::new(NAME))
}

/// Whether a name has such a file, or the rest of one whose start a kill cut short.
pub fn is_note_in(folder: &File, name: &OsStr) -> bool {
    if !is_note(name) {
        return false;
    }
    let Ok(file) = names::open_source(folder, name, true) else { return false };
    file_meta(&file).is_ok_and(|meta| meta.kind == FileKind::Regular)
        && begins(&file).is_ok_and(NoteHead::is_note)
}

/// How a file begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoteHead {
    Whole,
    /// Only a part of the head is there, or nothing at all.
    Torn,
    Other,
}

impl NoteHead {
    fn is_note(self) -> bool {
        self != NoteHead::Other
    }
}

/// What the head of a file says: it is another program's, whole, or torn by a kill.
fn begins(file: &File) -> Outcome<NoteHead> {
    let mut head = [0; HEAD.len()];
    let count = disk::fill(file, 0, &mut head)?;
    Ok(if !HEAD.starts_with(&head[..count]) {
        NoteHead::Other
    } else if count == HEAD.len() {
        NoteHead::Whole
    } else {
        NoteHead::Torn
    })
}

fn sum_of(name: &OsStr) -> u64 {
    fnv(0, name.as_bytes())
}

impl PutNames {
    /// Of a command, by a sum of its sources and of what is chosen of them.
    pub fn for_command(command: u64) -> PutNames {
        PutNames { command, ..PutNames::default() }
    }

    /// Notes a name that is about to be put. True if another run has put it, or where that is not known.
    pub fn put(&self, folder: &File, name: &OsStr) -> bool {
        let put = |notes: &mut Notes| notes.put(sum_of(name)).unwrap_or(true);
        self.known().with(folder, self.command, put).unwrap_or(true)
    }

    /// Whether another run has put a name, or may have.
    pub fn has_earlier(&self, folder: &File, name: &OsStr) -> bool {
        let knows = |notes: &mut Notes| !notes.knows_all || notes.earlier.contains_key(&sum_of(name));
        self.known().with(folder, self.command, knows).unwrap_or(true)
    }

    /// The existing entry of a name is right and stays: an earlier run put it well.
    pub fn stays(&self, folder: &File, name: &OsStr) {
        self.known().with(folder, self.command, |notes| notes.deal_with(sum_of(name)));
    }

    /// This run put a file under a name that it may give once more.
    pub fn keep_own(&self, folder: &File, name: &OsStr, file: FileId) {
        let (Ok(meta), mut known) = (file_meta(folder), self.known()) else { return };
        if known.own.len() < OWN_MAX {
            known.own.insert(own_sum(&meta, name), file);
        } else {
            known.forgets_own = true;
        }
    }

    /// Whether this run put the existing entry of such a name; `None` where nobody knows.
    pub fn is_own(&self, folder: &File, name: &OsStr, file: FileId) -> Option<bool> {
        let (meta, known) = (file_meta(folder).ok()?, self.known());
        match known.own.get(&own_sum(&meta, name)) {
            Some(put) => Some(*put == file),
            None => (!known.forgets_own).then_some(false),
        }
    }

    /// What earlier runs put here is looked for, though this one may put nothing.
    pub fn look_in(&self, folder: &File) {
        self.known().with(folder, self.command, |_| ());
    }

    /// The run ended well: what it put counts no more, nor what earlier runs of the command put where it looked.
    pub fn finish(&self) {
        let folders = std::mem::take(&mut self.known().folders);
        folders.into_values().flatten().for_each(Notes::finish);
    }

    fn known(&self) -> MutexGuard<'_, KnownNames> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn own_sum(folder: &Meta, name: &OsStr) -> u64 {
    let (device, inode) = id(folder);
    fnv(fnv(inode, &device.to_le_bytes()), name.as_bytes())
}

impl KnownNames {
    /// Asks the files of a folder, which are looked for once; nothing where there can be none.
    fn with<T>(&mut self, folder: &File, command: u64, ask: impl FnOnce(&mut Notes) -> T) -> Option<T> {
        let at = id(&file_meta(folder).ok()?);
        let has_room = self.folders.len() < FOLDERS_MAX;
        let find = || has_room.then(|| Notes::find(folder, command, &mut self.sums).ok()).flatten();
        self.folders.entry(at).or_insert_with(find).as_mut().map(ask)
    }
}

impl Notes {
    /// Reads the notes that earlier runs left in a folder, and locks those that no run uses.
    fn find(folder: &File, command: u64, sums: &mut usize) -> Outcome<Notes> {
        let folder = Arc::new(names::open_folder(folder, OsStr::new("."))?);
        let (locked, earlier) = (Vec::new(), HashMap::new());
        let mut notes = Notes { folder, command, locked, earlier, knows_all: true };
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

    /// The file to write notes to, made if there is none. The folder keeps its times.
    fn own_note(&mut self) -> Outcome<&mut NoteFile> {
        let (mut tried, command) = (reserved::names_of(OsStr::new(NAME)), self.command);
        let is_own = |note: &NoteFile| note.command == command;
        names::lets_names_go(&self.folder)?;
        let before = file_meta(&self.folder)?;
        while !self.locked.iter().any(is_own) {
            let name = tried.next().ok_or(Errno::EEXIST)?;
            let made = match self.open().create_new(&name) {
                Err(Errno::EEXIST) => continue,
                made => made?,
            };
            let Handle::Os(file) = made else { return Err(Errno::EOPNOTSUPP) };
            // A file system without locks is no reason to keep none.
            let _ = Handle::Os(file.try_clone().map_err(|error| Errno::from_io_error(&error))?).try_lock();
            if let Err(errno) = self.write_head(&file) {
                let _ = self.open().remove(&name);
                return Err(errno);
            }
            self.locked.push(NoteFile { name, file, command, end: NAMES_AT });
            let _ = attributes::copy_times(&before, AttributeHolder::Open(&self.folder));
        }
        self.locked.iter_mut().find(|note| is_own(note)).ok_or(Errno::ENOENT)
    }

    fn write_head(&self, file: &File) -> Outcome<()> {
        disk::put(file, 0, &[HEAD, &self.command.to_le_bytes()].concat())
    }

    /// It may be forged: what it says can only make backups get numbers. Files of other programs are left, and so are
    /// those with another name.
    fn read(&mut self, name: OsString, file: File, sums: &mut usize) -> Outcome<()> {
        let meta = file_meta(&file)?;
        if meta.kind != FileKind::Regular || meta.links != 1 {
            return Ok(());
        }
        let lock = Handle::Os(file.try_clone().map_err(|error| Errno::from_io_error(&error))?);
        let is_free = lock.try_lock()?;
        if begins(&file)? == NoteHead::Other {
            return Ok(());
        }
        if is_free && meta.size_bytes < NAMES_AT {
            self.write_head(&file)?;
        }
        let mut command = [0; SUM_BYTES];
        disk::fill(&file, HEAD.len() as u64, &mut command)?;
        let end = self.read_sums(&file, is_free, sums)?;
        if is_free {
            self.locked.push(NoteFile { name, file, command: u64::from_le_bytes(command), end });
        }
        Ok(())
    }

    /// Reads the sums behind the head, those of a run that goes on beside this one as its own to deal with. Gives their
    /// end: a kill may have torn the last one.
    fn read_sums(&mut self, file: &File, is_free: bool, sums: &mut usize) -> Outcome<u64> {
        let (mut end, mut bytes) = (NAMES_AT, [0; SUM_BYTES << 10]);
        let number = if is_free { self.locked.len() as u8 } else { u8::MAX };
        loop {
            let count = disk::fill(file, end, &mut bytes)?;
            let (read, _) = bytes[..count].as_chunks::<SUM_BYTES>();
            if read.is_empty() {
                return Ok(end);
            }
            *sums += read.len();
            self.knows_all &= *sums <= SUMS_MAX;
            if !self.knows_all {
                // What this run writes goes behind all of it.
                let length = file.metadata().map_err(|error| Errno::from_io_error(&error))?.len();
                return Ok(length - (length - NAMES_AT) % SUM_BYTES as u64);
            }
            for sum in read {
                let earlier = EarlierName { file: number, is_dealt_with: false };
                self.earlier.entry(u64::from_le_bytes(*sum)).or_insert(earlier);
            }
            end += size_of_val(read) as u64;
        }
    }

    /// Notes that this run puts something under a name. Gives whether an earlier run may have put it, or that is not known.
    fn put(&mut self, sum: u64) -> Outcome<bool> {
        if self.deal_with(sum) {
            return Ok(true);
        }
        let note = self.own_note()?;
        // With one more a later run takes all names for put.
        if note.end <= NAMES_AT + (SUMS_MAX * SUM_BYTES) as u64 {
            disk::put(&note.file, note.end, &sum.to_le_bytes())?;
            note.end += SUM_BYTES as u64;
        }
        Ok(!self.knows_all)
    }

    /// Whether another run put it.
    fn deal_with(&mut self, sum: u64) -> bool {
        let is_of_other = self.earlier.get_mut(&sum);
        is_of_other.map(|earlier| earlier.is_dealt_with = true).is_some()
    }

    /// Removes this run's notes. Notes of another command, which did not end well, keep the names that this run did not deal
    /// with.
    fn finish(self) {
        let (open, before, mut removed) = (self.open(), file_meta(&self.folder), false);
        for (number, note) in self.locked.iter().enumerate() {
            let is_left =
                |earlier: &EarlierName| usize::from(earlier.file) == number && !earlier.is_dealt_with;
            let rest = self.earlier.iter().filter(|(_, earlier)| is_left(earlier));
            let rest: Vec<u8> = rest.flat_map(|(sum, _)| sum.to_le_bytes()).collect();
            let is_own = note.command == self.command;
            if !self.knows_all && !is_own {
                continue;
            }
            if is_own || rest.is_empty() {
                removed |= self.remove(&open, &note.name);
            } else {
                let cut = note.file.set_len(NAMES_AT);
                let _ = cut.map(|()| disk::put(&note.file, NAMES_AT, &rest));
            }
        }
        if let Some(before) = before.ok().filter(|_| removed) {
            let _ = attributes::copy_times(&before, AttributeHolder::Open(&self.folder));
        }
    }

    /// Removes a note, also in a folder of this user that only its mode closes, as that of its source may. False if it stays.
    fn remove(&self, open: &Folder, name: &OsStr) -> bool {
        match (open.remove(name), file_meta(&self.folder)) {
            (Err(Errno::EACCES), Ok(meta)) => {
                let set = |mode| fs::fchmod(&*self.folder, Mode::from_raw_mode(mode));
                let removed = set(meta.mode | WRITABLE).is_ok() && open.remove(name).is_ok();
                let _ = set(meta.mode);
                removed
            }
            (removed, _) => removed.is_ok(),
        }
    }
}

#[cfg(test)]
mod tests;
