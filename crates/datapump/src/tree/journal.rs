//! `.pump-job` in the root of a target: what was committed, so that the same command goes on where it was cut.
//!
//! The file is locked while its job runs. Marks are written a few at a time: what a kill loses of them is copied again,
//! never taken for done. After a restart of the system its marks count for nothing, because what was not synced may be
//! lost; the command still goes on into the same folder.
//!
//! Must not know: how files are copied, how marks are made (`core::journal`).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use datapump_core::journal::{Entry, HEADER_BYTES, Header, is_torn, marks};
use datapump_engine::{Errno, Handle};

use crate::disk::{Access, FileCalls, FileKind, Folder, Meta, file_meta, names};
use crate::problem::{Class, Problem};
use crate::tree::branch::Branch;

/// The name of the list.
pub(crate) const NAME: &str = ".pump-job";
/// Marks kept back until they are written together.
const PENDING_BYTES: usize = 32 * 8;

const EEXIST: Errno = Errno(17);
const ENOENT: Errno = Errno(2);

/// The list of one tree.
#[derive(Debug)]
pub(crate) struct Journal {
    file: Handle,
    folder: Folder,
    /// Marks of earlier runs, sorted.
    earlier: Vec<u64>,
    /// The command goes on where an earlier run ended.
    pub(crate) continues: bool,
    /// The folder was made for this copy, by this run or an earlier one.
    is_of_new_folder: bool,
    pending: Mutex<Vec<u8>>,
}

impl Journal {
    /// Begins a list in a folder, or goes on with the one that is there. In a folder that this run makes (`anew`) a
    /// list can only be left over from a run killed before it had done anything.
    pub(crate) fn begin(
        folder: &Arc<File>,
        path: &Path,
        source: &Meta,
        anew: bool,
    ) -> Result<Journal, Problem> {
        let folder = Folder::Os(Arc::clone(folder));
        let name = path.join(NAME);
        let system = |operation, errno: Errno| Problem::system(operation, &name, errno.0);
        let (file, is_new) = match folder.create_new(OsStr::new(NAME)) {
            Ok(file) => (file, true),
            Err(EEXIST) => {
                let opened = folder.open(OsStr::new(NAME), Access::ReadWrite);
                (opened.map_err(|errno| system("open", errno))?, false)
            }
            Err(errno) => return Err(system("create", errno)),
        };
        if file.meta().map_or(true, |meta| meta.kind != FileKind::Regular) {
            return Err(foreign(&name));
        }
        if !file.lock().map_err(|errno| system("lock", errno))? {
            let words = "another pump is copying into this folder; wait for it to end";
            return Err(Problem::new(Class::Refused, "lock", &name, words));
        }
        let mut header = header_of(&folder, source, anew);
        let earlier = match is_new || anew {
            true => Vec::new(),
            false => read(file.os(), &name, &mut header)?,
        };
        if earlier.is_empty() {
            write_header(file.os(), &header).map_err(|errno| system("write", errno))?;
        }
        let (continues, is_of_new_folder) = (!is_new && !anew, header.is_new);
        Ok(Journal { file, folder, earlier, continues, is_of_new_folder, pending: Mutex::default() })
    }

    /// What a dry run may know of the list of an unfinished copy; nothing is locked or written.
    pub(crate) fn look(folder: &Arc<File>, path: &Path, source: &Meta) -> Option<Journal> {
        let file = open_regular(folder)?;
        let folder = Folder::Os(Arc::clone(folder));
        let earlier = read(&file, &path.join(NAME), &mut header_of(&folder, source, false)).ok()?;
        let file = Handle::Os(file);
        let (continues, is_of_new_folder) = (true, false);
        Some(Journal { file, folder, earlier, continues, is_of_new_folder, pending: Mutex::default() })
    }

    /// Whether the list is of use when the copy has ended and something in it failed: in a folder that was made for the
    /// copy it keeps the same command from going below it. In one that stood there before, it would only keep others
    /// out.
    pub(crate) fn outlives_failures(&self) -> bool {
        self.is_of_new_folder
    }

    /// Whether an earlier run committed this file and nothing changed since.
    pub(crate) fn has(&self, branch: &Branch, name: &OsStr, source: &Meta, target: &Meta) -> bool {
        !self.earlier.is_empty() && self.earlier.binary_search(&mark(branch, name, source, target)).is_ok()
    }

    /// A file is committed; `soon` if it was expensive to copy.
    pub(crate) fn add(&self, branch: &Branch, name: &OsStr, source: &Meta, target: &Meta, soon: bool) {
        let mark = mark(branch, name, source, target);
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.extend(mark.to_le_bytes());
        if soon || pending.len() >= PENDING_BYTES {
            // A list that cannot be written (disk full) only lets more be copied again.
            let _ = self.file.os().write_all(&pending);
            pending.clear();
        }
    }

    /// All is done: the list goes, and nothing more is written to it.
    pub(crate) fn remove(&self) -> Result<(), Errno> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).clear();
        match self.folder.remove(OsStr::new(NAME)) {
            Err(ENOENT) => Ok(()),
            removed => removed,
        }
    }
}

impl Drop for Journal {
    /// Writes what was kept back, also when the run was interrupted.
    fn drop(&mut self) {
        let pending = self.pending.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !pending.is_empty() {
            let _ = self.file.os().write_all(pending);
        }
    }
}

/// Whether a folder holds the list of an unfinished copy of this source: the same command then goes on into it.
pub(crate) fn is_of(folder: &Folder, source: &Meta) -> bool {
    let Folder::Os(folder) = folder else { return false };
    let Some(mut file) = open_regular(folder) else { return false };
    let mut header = [0; HEADER_BYTES];
    let read = file.read_exact(&mut header);
    let header = read.ok().and_then(|()| Header::decode(&header));
    header.is_some_and(|header| header.source == (source.device, source.inode))
}

/// Opens a list that is there for reading; what is no file is nobody's list (a pipe would be waited for).
fn open_regular(folder: &File) -> Option<File> {
    let file = names::open_source(folder, OsStr::new(NAME), false).ok()?;
    file_meta(&file).is_ok_and(|meta| meta.kind == FileKind::Regular).then_some(file)
}

/// The marks of earlier runs; whether the folder was new then is known from here on.
fn read(mut file: &File, name: &Path, expected: &mut Header) -> Result<Vec<u64>, Problem> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .map_err(|error| Problem::system("read", name, error.raw_os_error().unwrap_or(5)))?;
    let Some(header) = Header::decode(&bytes) else {
        // Killed before it was written: nothing was committed.
        return if is_torn(&bytes) { Ok(Vec::new()) } else { Err(foreign(name)) };
    };
    if header.source != expected.source {
        return Err(foreign(name));
    }
    expected.is_new = header.is_new;
    if header.boot != expected.boot {
        return Ok(Vec::new());
    }
    let mut earlier: Vec<u64> = marks(&bytes).collect();
    // What follows goes behind the last whole mark.
    let end = HEADER_BYTES as u64 + 8 * earlier.len() as u64;
    file.seek(SeekFrom::Start(end)).map_err(|error| Problem::system("read", name, Errno::of(&error).0))?;
    earlier.sort_unstable();
    Ok(earlier)
}

fn header_of(folder: &Folder, source: &Meta, is_new: bool) -> Header {
    Header { source: (source.device, source.inode), boot: folder.boot(), is_new }
}

fn foreign(name: &Path) -> Problem {
    let words = "is no list of this copy: it belongs to an unfinished copy of another source (finish that one, or \
                 remove this file), or to you (move it)";
    Problem::new(Class::Refused, "read", name, words)
}

fn write_header(mut file: &File, header: &Header) -> Result<(), Errno> {
    let written = file
        .set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| file.write_all(&header.encode()));
    written.map_err(|error| Errno::of(&error))
}

fn mark(branch: &Branch, name: &OsStr, source: &Meta, target: &Meta) -> u64 {
    let path = branch.relative().join(name);
    Entry {
        path: path.as_os_str().as_bytes(),
        inode: target.inode,
        size_bytes: target.size_bytes,
        mtime_ns: target.mtime_ns,
        ctime_ns: target.ctime_ns,
        source_size_bytes: source.size_bytes,
        source_mtime_ns: source.mtime_ns,
        source_ctime_ns: source.ctime_ns,
    }
    .mark()
}
