//! `.pump-job` in the root of a target: what was committed, so that the same command goes on where it was cut.
//!
//! The file is locked while its job runs. A mark is written when what it tells would outlast a kill (`checkpoint`):
//! what a kill loses of them is copied again, never taken for done. Marks count only where and for what they were
//! made (`header`); else the command goes on into the same folder, and copies all of it again. A list that another
//! may have made is none.
//!
//! Must not know: how files are copied, how marks are made (`core::journal`).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use datapump_core::journal::{Entry, HEADER_BYTES, Header, is_list, is_torn, marks};
use datapump_engine::{Errno, Handle};

use crate::disk::{Access, FileCalls, FileKind, Folder, Meta, names, origin, why_not_own};
use crate::options::Options;
use crate::problem::{Class, Problem, shown_path};
use crate::tree::branch::Branch;
use crate::tree::checkpoint::{Checkpoint, Written};
use crate::tree::header::{SourceRoot, header};

/// The name of the list.
pub(crate) const NAME: &str = ".pump-job";
const EEXIST: Errno = Errno(17);
const ENOENT: Errno = Errno(2);

/// The list of one tree.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: Folder,
    /// Who writes to it; nobody in a dry run.
    checkpoint: Option<Checkpoint>,
    /// Marks of earlier runs, sorted.
    earlier: Vec<u64>,
    /// The command goes on where an earlier run ended.
    pub(crate) continues: bool,
    /// The folder was made for this copy, by this run or an earlier one.
    pub(crate) is_of_new_folder: bool,
    /// When the first of the runs that it tells of began: what did not change since was made by none of them.
    pub(crate) begun_ns: i128,
}

impl Journal {
    /// Begins a list in a folder, or goes on with the one that is there. In a folder that this run makes (`anew`) a
    /// list can only be left over from a run killed before it had done anything.
    pub(crate) fn begin(
        folder: &Arc<File>,
        path: &Path,
        (source, options): (&SourceRoot, &Options),
        anew: bool,
    ) -> Result<Kept, Problem> {
        let mut header = header(folder, source, options, anew);
        let open = Folder::Os(Arc::clone(folder));
        let name = path.join(NAME);
        let (file, is_new) = match create_or_open(&open, &name)? {
            Ok(opened) => opened,
            Err(why) => return Ok(Kept::Ignored(ignored(&name, why))),
        };
        let system = |operation, errno: Errno| Problem::system(operation, &name, errno.0);
        if !file.lock().map_err(|errno| system("lock", errno))? {
            let words = "another pump is copying into this folder; wait for it to end";
            return Err(Problem::new(Class::Refused, "lock", &name, words));
        }
        let meta = file.meta().map_err(|errno| system("stat", errno))?;
        header.begun_ns = meta.ctime_ns;
        let earlier = match is_new || anew {
            true => Vec::new(),
            false => read(file.os(), &name, &mut header)?,
        };
        if earlier.is_empty() {
            write_header(&file, &header).map_err(|errno| system("write", errno))?;
        }
        let (continues, is_of_new_folder) = (!is_new && !anew, header.is_new);
        let len = (HEADER_BYTES + 8 * earlier.len()) as u64;
        let device = crate::disk::file_meta(folder).map_err(|errno| system("stat", errno))?.device;
        let known = (header.life.mount != 0).then_some(device);
        let checkpoint = Checkpoint::begin(file, len, options.sync, known);
        checkpoint.witness(device, folder, path);
        let (folder, checkpoint) = (open, Some(checkpoint));
        let begun_ns = header.begun_ns;
        Ok(Kept::List(Journal { folder, checkpoint, earlier, continues, is_of_new_folder, begun_ns }))
    }

    /// What a dry run may know of the list of an unfinished copy; nothing is locked or written.
    pub(crate) fn look(
        folder: &Arc<File>,
        path: &Path,
        (source, options): (&SourceRoot, &Options),
    ) -> Option<Journal> {
        let file = open_own(folder)?.ok()?;
        let mut header = header(folder, source, options, false);
        let earlier = read(&file, &path.join(NAME), &mut header).ok()?;
        let (folder, checkpoint) = (Folder::Os(Arc::clone(folder)), None);
        let (is_of_new_folder, begun_ns) = (header.is_new, header.begun_ns);
        Some(Journal { folder, checkpoint, earlier, continues: true, is_of_new_folder, begun_ns })
    }

    /// Files are also written on another file system, below this folder.
    pub(crate) fn witness(&self, device: u64, folder: &File, path: &Path) {
        self.checkpoint.as_ref().inspect(|checkpoint| checkpoint.witness(device, folder, path));
    }

    /// Whether the list is of use when the copy has ended and something in it failed: in a folder that was made for the
    /// copy it keeps the same command from going below it, and after a failed sync it tells what may be lost. Otherwise
    /// it would only keep others out.
    pub(crate) fn outlives_failures(&self) -> bool {
        self.is_of_new_folder || self.checkpoint.as_ref().is_some_and(Checkpoint::has_failed)
    }

    /// Whether an earlier run committed this file and nothing changed since.
    pub(crate) fn has(&self, branch: &Branch, name: &OsStr, source: &Meta, target: &Meta) -> bool {
        !self.earlier.is_empty() && self.earlier.binary_search(&mark(branch, name, source, target)).is_ok()
    }

    /// A file is committed; `soon` if it was expensive to copy. A problem: a sync beside the copy failed.
    pub(crate) fn add(&self, mark: u64, target: &Meta, (written, soon): (Written, bool)) -> Option<Problem> {
        let checkpoint = self.checkpoint.as_ref()?;
        checkpoint.add(mark, (target.device, target.size_bytes), written, soon);
        checkpoint.failure()
    }

    /// The copy is over but for the last sync. A problem: one beside the copy failed.
    pub(crate) fn close(&self) -> Option<Problem> {
        let checkpoint = self.checkpoint.as_ref()?;
        checkpoint.close();
        checkpoint.failure()
    }

    /// What the last sync said.
    pub(crate) fn synced(&self, said: &Result<(), (&Path, Errno)>) {
        match (&self.checkpoint, said) {
            (Some(checkpoint), Ok(())) => checkpoint.all_synced(),
            (Some(checkpoint), Err((path, errno))) => checkpoint.distrust(path, *errno),
            (None, _) => {}
        }
    }

    /// All is done: the list goes, and nothing more is written to it.
    pub(crate) fn remove(&self) -> Result<(), Errno> {
        self.checkpoint.as_ref().inspect(|checkpoint| checkpoint.forget());
        match self.folder.remove(OsStr::new(NAME)) {
            Err(ENOENT) => Ok(()),
            removed => removed,
        }
    }
}

/// What became of beginning a list.
#[derive(Debug)]
pub(crate) enum Kept {
    List(Journal),
    /// What stands in its place is not believed, and left: in these words.
    Ignored(String),
}

fn ignored(name: &Path, why: &str) -> String {
    let name = shown_path(name);
    format!(
        "'{name}' is ignored and left as it is: {why}; if this copy is cut, the next one copies all of it again"
    )
}

/// What stands under the list's name: opened and whether it was made, or why it is not believed.
type Standing = Result<(Handle, bool), &'static str>;

/// Makes the list, or opens the one that stands there.
fn create_or_open(folder: &Folder, name: &Path) -> Result<Standing, Problem> {
    let system = |operation, errno: Errno| Problem::system(operation, name, errno.0);
    match folder.create_new(OsStr::new(NAME)) {
        Ok(file) => return Ok(Ok((file, true))),
        Err(EEXIST) => {}
        Err(errno) => return Err(system("create", errno)),
    }
    // Asked before it is opened (a pipe would be waited for), and once more of what is open.
    let stands = folder.metadata(OsStr::new(NAME)).map_err(|errno| system("look at", errno))?;
    if let Some(why) = why_not_own(folder, &stands) {
        return Ok(Err(why));
    }
    let file = folder.open(OsStr::new(NAME), Access::ReadWrite).map_err(|errno| system("open", errno))?;
    let opened = file.meta().map_err(|errno| system("stat", errno))?;
    Ok(match why_not_own(folder, &opened) {
        Some(why) => Err(why),
        None => Ok((file, false)),
    })
}

/// Whether a folder holds the list of an unfinished copy of this source: what another run of it finds there is its own.
pub(crate) fn stands_in(folder: &Arc<File>, expected: &Header) -> bool {
    let Some(Ok(file)) = open_own(folder) else { return false };
    header_in(&file).is_some_and(|header| header.is_of_source(expected))
}

/// When the list was begun that another copy left here, whosever it is and whether or not it is believed: in the worst
/// case that makes a few files be copied again.
pub(crate) fn begun_by_another(folder: &Arc<File>) -> Option<i128> {
    let stands = names::metadata(folder, OsStr::new(NAME)).ok()?;
    let file = names::open_source(folder, OsStr::new(NAME), false).ok();
    let file = file.filter(|_| stands.kind == FileKind::Regular)?;
    let is_own = stands.uid == rustix::process::geteuid().as_raw();
    let told = header_in(&file).filter(|_| is_own).map(|header| header.begun_ns);
    Some(told.unwrap_or_else(|| origin(&file).0))
}

/// Whether a folder was made for a copy of this source that was cut: the same command then goes on into it. An error:
/// what stands there is not believed, in words. A list in a folder that stood there before says nothing about where.
pub(crate) fn was_made_for(
    (folder, path): (&Arc<File>, &Path),
    source: impl FnOnce() -> Option<SourceRoot>,
    options: &Options,
) -> Result<bool, String> {
    let Some(file) = open_own(folder) else { return Ok(false) };
    let file = file.map_err(|why| ignored(&path.join(NAME), why))?;
    let (Some(found), Some(source)) = (header_in(&file), source()) else { return Ok(false) };
    let expected = header(folder, &source, options, true);
    Ok(found.is_new && found.is_of_source(&expected) && found.is_of_target(&expected))
}

fn header_in(mut file: &File) -> Option<Header> {
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact(&mut bytes).ok()?;
    Header::decode(&bytes)
}

/// Opens a list that is there for reading; what is no file is nobody's list (a pipe would be waited for). An error: why
/// it is not believed.
fn open_own(folder: &Arc<File>) -> Option<Result<File, &'static str>> {
    let file = names::open_source(folder, OsStr::new(NAME), false).ok()?;
    let meta = crate::disk::file_meta(&file).ok().filter(|meta| meta.kind == FileKind::Regular)?;
    Some(match why_not_own(&Folder::Os(Arc::clone(folder)), &meta) {
        Some(why) => Err(why),
        None => Ok(file),
    })
}

/// The marks of earlier runs; whether the folder was new then is known from here on.
fn read(mut file: &File, name: &Path, expected: &mut Header) -> Result<Vec<u64>, Problem> {
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes))
        .map_err(|error| Problem::system("read", name, Errno::of(&error).0))?;
    // What a list does not tell itself its file may.
    expected.begun_ns = origin(file).0;
    let Some(header) = Header::decode(&bytes) else {
        // Killed before it was written, or of another version: nothing counts.
        return if is_torn(&bytes) || is_list(&bytes) { Ok(Vec::new()) } else { Err(foreign(name)) };
    };
    if !header.is_of_source(expected) {
        return Err(foreign(name));
    }
    // In another folder it lies if that was copied with it.
    let is_of_target = header.is_of_target(expected);
    expected.is_new = header.is_new && is_of_target;
    expected.begun_ns = if is_of_target { header.begun_ns } else { expected.begun_ns };
    if !header.counts_for(expected) {
        return Ok(Vec::new());
    }
    let mut earlier: Vec<u64> = marks(&bytes).collect();
    earlier.sort_unstable();
    Ok(earlier)
}

fn foreign(name: &Path) -> Problem {
    let words = "is no list of this copy: it belongs to an unfinished copy of another source (finish that one, or \
                 remove this file), or to you (move it)";
    Problem::new(Class::Refused, "read", name, words)
}

/// Marks that do not count go first: they never stand under a header that is not theirs.
fn write_header(file: &Handle, header: &Header) -> Result<(), Errno> {
    if file.meta()?.size_bytes > HEADER_BYTES as u64 {
        file.set_len(HEADER_BYTES as u64)?;
    }
    file.put(0, &header.encode())
}

pub(crate) fn mark(branch: &Branch, name: &OsStr, source: &Meta, target: &Meta) -> u64 {
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
