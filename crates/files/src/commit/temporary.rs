//! Temporary names: the one of a file, and which existing entries of that name may be removed.
//!
//! A file that a later run may resume or must clean up gets `.pump-` and 16 hexadecimal digits made from its final
//! name. It is locked while in use. What stands there is removed only if it is a leftover: unlocked, of this user, no
//! name that the source has itself, and to look at as such files are. Otherwise the next of a few such names is taken.
//! What has a temporary name only for a moment gets one that nothing else has, so that nothing is ever removed for it.
//!
//! In a source a file with such a name is a file like any other, unless it is partial: locked by a running pump, or a
//! journal, or the file that a journal belongs to.
//!
//! Must not know: trees, hosts, what is written.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use datapump_engine::{Errno, Handle};

use crate::commit::reserved::{is_temporary, journal_name, may_be_temporary, names_of, temporary_of};
use crate::commit::{made, shortage};
use crate::disk::{self, Access, FileCalls, FileKind, Folder, Meta, Outcome, names};
use crate::problem::{self, Class, Operation, Problem};
use crate::resume;

/// Why a file of a source is not copied.
pub const LEFT_OUT: &str =
    "has the name of a temporary file of pump, and a pump uses it or can resume it: it is left out";
/// A leftover is removed and the name taken again; two pumps that race for it need a few rounds at most.
const ROUNDS_MAX: u32 = 16;

/// The mode with which temporary files and journals are made.
const AS_MADE: u32 = 0o600;

/// What else may exist in the folder of a target.
pub trait Siblings {
    /// Whether the source has a file of this name, too, besides the existing one; `None` if nobody can tell.
    fn source_has(&self, name: &OsStr, existing: &Meta) -> Option<bool>;
    /// The source's metadata, if known: a copy that is complete but for its name looks like it.
    fn source(&self) -> Option<&Meta>;
    /// A non-regular file is passed by. Beside a single file it is an error, because no later run removes it.
    fn is_tree(&self) -> bool;
}

/// Whether a regular file has the mode of a temporary one on its way, and no other name.
pub fn is_as_made(meta: &Meta) -> bool {
    (meta.kind, meta.mode, meta.links) == (FileKind::Regular, AS_MADE, 1)
}

/// Whether it was made since then, and has a time of its own: a finished copy has that of its source, which is older.
pub fn is_young(folder: &Folder, name: &OsStr, meta: &Meta, since_ns: i128) -> bool {
    let born_ns = match folder {
        Folder::Os(folder) => names::hold(folder, name).map_or(i128::MAX, |held| disk::origin(&held).0),
        Folder::Sim(_) => 0,
    };
    // Not every file system tells.
    let born_ns = if born_ns == 0 { since_ns } else { born_ns };
    born_ns >= since_ns && meta.mtime_ns >= born_ns
}

/// Whether a name is that of a partial file: one that a running pump writes or a later run can resume, or its journal.
pub fn is_partial(folder: &File, name: &OsStr) -> bool {
    if !is_temporary(name) {
        return false;
    }
    let Ok(file) = names::open_source(folder, name, true) else { return false };
    let handle = Handle::Os(file);
    let is_file = handle.meta().is_ok_and(|meta| meta.kind == FileKind::Regular);
    is_file
        && match temporary_of(name) {
            Some(_) => resume::is_journal(&handle),
            // Whether it is locked may have to be waited for.
            None => resume::has_journal(folder, name, &handle) || disk::is_locked(handle.os()),
        }
}

/// Whether what stands under a temporary name, or the journal that was to go with it, is what a cut copy of this user
/// left to go on with, and nobody uses it.
pub fn is_abandoned(folder: &Folder, temporary: &OsStr) -> bool {
    let Folder::Os(open) = folder else { return false };
    let journal = journal_name(temporary);
    let is_believed = |meta: Meta| disk::why_not_own(folder, &meta).is_none();
    if !folder.metadata(&journal).is_ok_and(is_believed) {
        return false;
    }
    match names::open_source(open, temporary, true).map(Handle::Os) {
        Ok(file) => {
            let is_own = file.meta().is_ok_and(|meta| disk::why_foreign(folder, &meta).is_none());
            is_own && !disk::is_locked(file.os()) && resume::has_journal(open, temporary, &file)
        }
        Err(Errno::ENOENT) => resume::is_journal_at(folder, &journal),
        Err(_) => false,
    }
}

/// Removes it. False where it stays, because a pump took it meanwhile.
pub fn remove_abandoned(folder: &Folder, temporary: &OsStr, path: &Path) -> Result<bool, Problem> {
    remove_leftover(folder, temporary, path)?;
    match folder.metadata(&journal_name(temporary)) {
        Err(Errno::ENOENT) => Ok(folder.metadata(temporary) == Err(Errno::ENOENT)),
        _ => remove_lone_journal(folder, temporary, path),
    }
}

/// Removes a journal whose temporary file is gone. That file is the lock: it is made anew, and goes with the journal,
/// so that a pump which starts there meanwhile keeps the one that it makes. False where a pump has started.
pub fn remove_lone_journal(folder: &Folder, temporary: &OsStr, path: &Path) -> Result<bool, Problem> {
    let system = |errno: Errno| Problem::system(Operation::RemoveLeftover, path, errno.0);
    let lock = match folder.create_new(temporary) {
        // There may be no room for it: a journal alone is in nobody's way.
        Err(Errno::EEXIST | Errno::ENOSPC) => return Ok(false),
        made => made.map_err(system)?,
    };
    // Another pump may have taken it for a leftover.
    match locked_and_ours(folder, temporary, &lock, path) {
        Ok(true) => {}
        Ok(false) => return Ok(false),
        Err(problem) => {
            let _ = folder.remove(temporary);
            return Err(problem);
        }
    }
    resume::remove_journal(folder, temporary);
    match folder.remove(temporary) {
        Ok(()) | Err(Errno::ENOENT) => Ok(true),
        Err(errno) => Err(system(errno)),
    }
}

/// Removes what a cut copy of a file left under the usual temporary name. Best effort: it is in nobody's way.
pub fn remove_partial_of(folder: &Folder, name: &OsStr, path: &Path) {
    if let Some(temporary) = names_of(name).next().filter(|temporary| is_abandoned(folder, temporary)) {
        let _ = remove_abandoned(folder, &temporary, path);
    }
}

/// Errors: a file of this name, which is to be replaced, is one that another pump writes.
pub fn refuse_in_use(folder: &Folder, name: &OsStr, path: &Path) -> Result<(), Problem> {
    let is_file = || folder.metadata(name).is_ok_and(|meta| meta.kind == FileKind::Regular);
    if !is_temporary(name) || !is_file() {
        return Ok(());
    }
    match folder.open(name, Access::Read).and_then(|handle| handle.lock()) {
        Ok(false) => Err(busy(path)),
        _ => Ok(()),
    }
}

/// Makes and locks a file under a temporary name, and removes leftovers from it. `None` if something exists there that is not
/// to be removed.
///
/// Errors: another pump takes it each time.
pub fn create(
    folder: &Folder,
    temporary: &OsStr,
    path: &Path,
    siblings: &dyn Siblings,
    create_new: impl Fn(&OsStr) -> Outcome<Handle>,
) -> Result<Option<Handle>, Problem> {
    for _ in 0..ROUNDS_MAX {
        let handle = match create_new(temporary) {
            Err(Errno::EEXIST) => {
                if remove_if_ours(folder, temporary, path, siblings)? {
                    continue;
                } else {
                    return Ok(None);
                }
            }
            made => made.map_err(|errno| shortage::of_name_in(Operation::Create, path, errno, folder))?,
        };
        if locked_and_ours(folder, temporary, &handle, path)? {
            return Ok(own_journal_alone(folder, temporary, siblings).then_some(handle));
        }
    }
    Err(busy(path))
}

/// A run that was killed between its rename and its end left a journal: it goes. If it is the source's, the temporary
/// file goes instead.
fn own_journal_alone(folder: &Folder, temporary: &OsStr, siblings: &dyn Siblings) -> bool {
    if journal_may_go(folder, temporary, siblings, || resume::remove_journal(folder, temporary)) {
        return true;
    }
    // Best effort: a leftover is recognised and removed by the next run.
    let _ = folder.remove(temporary);
    false
}

/// Whether no journal stands there, or one that may go. `act` runs if it may go.
fn journal_may_go(folder: &Folder, temporary: &OsStr, siblings: &dyn Siblings, act: impl FnOnce()) -> bool {
    let journal = journal_name(temporary);
    let Ok(there) = folder.metadata(&journal) else { return true };
    let is_sources = || siblings.source_has(&journal, &there) == Some(true);
    let is_file = there.kind == FileKind::Regular;
    let is_ours = !is_file || looks_made(folder, &journal, &there) || resume::is_journal_at(folder, &journal);
    let may_go = is_ours && !is_sources();
    if may_go {
        act();
    }
    may_go
}

/// Removes a leftover of this program that has a temporary name; false if what exists is not a leftover.
///
/// Errors: it is in use, or, beside a single file, no regular file.
fn remove_if_ours(
    folder: &Folder,
    temporary: &OsStr,
    path: &Path,
    siblings: &dyn Siblings,
) -> Result<bool, Problem> {
    let meta = match folder.metadata(temporary) {
        Err(Errno::ENOENT) => return Ok(true),
        meta => meta.map_err(|errno| Problem::system(Operation::LookForLeftovers, path, errno.0))?,
    };
    let is_file = meta.kind == FileKind::Regular;
    if !is_file && !siblings.is_tree() {
        let name = problem::shown(temporary.as_bytes());
        let words = format!("{name} is in the way and was not made by pump; remove it");
        return Err(Problem::new(Class::Refused, Operation::Create, path, words));
    }
    if !is_file || !is_leftover(folder, temporary, &meta, siblings) {
        return Ok(false);
    }
    remove_leftover(folder, temporary, path).map(|()| true)
}

/// Whether a temporary file is what a cut run of this user left, and may be removed: the source has no such file, it looks like
/// one of ours, and its journal may go.
fn is_leftover(folder: &Folder, temporary: &OsStr, meta: &Meta, siblings: &dyn Siblings) -> bool {
    // A loss of power may have taken the content of it, and not its time. One of which some is left stays: files that
    // were made in one tick have one time.
    let is_complete = siblings.source().is_some_and(|source| {
        let is_as_long = [0, source.size_bytes].contains(&meta.size_bytes);
        source.mtime_ns == meta.mtime_ns && is_as_long && meta.links == 1
    });
    let was_given_away = is_complete && siblings.source().is_some_and(|source| source.uid == meta.uid);
    let is_own = match folder {
        Folder::Os(folder) => was_given_away || made::is_own(folder, meta),
        Folder::Sim(_) => true,
    };
    let has_journal = || resume::is_journal_at(folder, &journal_name(temporary));
    let looks_own = || is_complete || looks_made(folder, temporary, meta) || has_journal();
    is_own
        && siblings.source_has(temporary, meta) != Some(true)
        && looks_own()
        && journal_may_go(folder, temporary, siblings, || {})
}

/// Whether what stands under a name looks as if a copy that was killed had it on its way to another name.
pub fn looks_left(folder: &Folder, name: &OsStr, there: &Meta) -> bool {
    may_be_temporary(name) && looks_made(folder, name, there)
}

fn looks_made(folder: &Folder, name: &OsStr, meta: &Meta) -> bool {
    is_as_made(meta) && is_young(folder, name, meta, 0)
}

/// Removes the temporary file of a run that was killed; refuses when its owner lives.
pub fn remove_leftover(folder: &Folder, temporary: &OsStr, path: &Path) -> Result<(), Problem> {
    let system = |operation, errno: Errno| Problem::system(operation, path, errno.0);
    let opened = match folder.open(temporary, Access::Write) {
        // It has its final mode already, which may let nobody write.
        Err(Errno::EACCES) => folder.open(temporary, Access::Read),
        opened => opened,
    };
    let leftover = match opened {
        Err(Errno::ENOENT) => return Ok(()),
        opened => opened.map_err(|errno| system(Operation::OpenLeftover, errno))?,
    };
    if !leftover.lock().map_err(|errno| system(Operation::Lock, errno))? {
        return Err(busy(path));
    }
    // Locked, but is it still the one under the name? Another pump may have replaced it in between.
    if same_file(folder, temporary, &leftover) {
        resume::remove_journal(folder, temporary);
        match folder.remove(temporary) {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(errno) => return Err(system(Operation::RemoveLeftover, errno)),
        }
    }
    Ok(())
}

/// Locks a temporary file just made. `false` when another pump took it for a leftover in between and removed it.
fn locked_and_ours(
    folder: &Folder,
    temporary: &OsStr,
    handle: &Handle,
    path: &Path,
) -> Result<bool, Problem> {
    let locked = handle.try_lock().map_err(|errno| Problem::system(Operation::Lock, path, errno.0))?;
    Ok(locked && same_file(folder, temporary, handle))
}

/// Whether a name means an open file.
pub fn same_file(folder: &Folder, name: &OsStr, handle: &Handle) -> bool {
    match (folder.metadata(name), handle.meta()) {
        (Ok(named), Ok(open)) => (named.device, named.inode) == (open.device, open.inode),
        _ => false,
    }
}

/// Another pump has the lock.
pub fn busy(path: &Path) -> Problem {
    let words = "another pump is writing it; wait for it to end, or choose another name";
    Problem::new(Class::Refused, Operation::Create, path, words)
}

/// Whether another pump has what this one needs, here or on another host: a file, or the list of a folder.
pub fn is_in_use(problem: &Problem) -> bool {
    let locks = [Operation::Create, Operation::Lock].contains(&problem.operation);
    problem.class == Class::Refused && locks && problem.message.starts_with("another pump is ")
}

/// Each of the names is passed by.
pub fn all_taken(path: &Path) -> Problem {
    let words = "each of its temporary names (.pump- and 16 digits) exists; remove those that are not needed";
    Problem::new(Class::Refused, Operation::Create, path, words)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_journal_alone_goes_unless_a_pump_has_started_there() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = Folder::Os(Arc::new(File::open(home.path()).expect("it is there")));
        let temporary = OsStr::new(".pump-0123456789abcdef");
        let (file, journal) = (home.path().join(temporary), home.path().join(journal_name(temporary)));
        for is_taken in [false, true] {
            std::fs::write(&journal, "of a cut copy").expect("room");
            let taken = is_taken.then(|| folder.create_new(temporary).expect("room"));
            assert_eq!(remove_lone_journal(&folder, temporary, &file), Ok(!is_taken));
            assert_eq!([journal.exists(), file.exists()], [is_taken; 2], "a pump has started: {is_taken}");
            drop(taken);
        }
        assert_eq!(remove_abandoned(&folder, temporary, &file), Ok(true), "nobody has it any more");
        assert!(!journal.exists() && !file.exists());
    }
}
