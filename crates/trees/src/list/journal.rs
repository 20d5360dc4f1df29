//! `.pump-job` in the root of a target: what was committed, so that the same command goes on where it was cut.
//!
//! The file is locked while its job runs. A mark is written when what it tells would outlast a kill (`checkpoint`):
//! what a kill loses of them is copied again, never taken for done. Marks count only where and for what they were
//! made (`header`); else the command goes on into the same folder, and copies all of it again.
//!
//! A list that another may have made is none. Where others could make one, it holds no marks and leads nowhere: it
//! stands only so that a later run knows since when what it finds may not be on the disk (`memory`).
//!
//! Must not know: how files are copied, how marks are made (`core::journal`).

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use datapump_core::journal::{HEADER_BYTES, Header, JournalEntry, PathSum, is_list, is_torn, marks};
use datapump_engine::{Errno, Handle};

use crate::list::checkpoint::{Checkpoint, Written};
use crate::list::header::{SourceRoot, new_header};
use crate::list::list_clock::time_after;
use crate::list::list_file::{header_in, open_own};
use crate::lock::StateLock;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::report::cut_leaves::CutLeaves;
use crate::run::ledger::Ledger;
use crate::setup::options::{Options, Sync, Update};
use datapump_core::name::Unverified;
use datapump_files::commit::final_name;
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::disk::{Access, FileCalls, Folder, Meta, origin, read_whole, why_foreign, why_not_own};
use datapump_files::identity::tick::SAME_TIME_NS;
use datapump_files::identity::{FileId, id};

/// When a file was made.
pub(crate) struct Birth {
    /// 0 if nobody tells.
    pub(crate) ns: i128,
    /// It is of this kernel's clock.
    pub(crate) is_kernels: bool,
}

/// The list of one tree.
#[derive(Debug)]
pub(crate) struct TreeJournal {
    folder: Folder,
    /// The writer of the journal; none in a dry run.
    checkpoint: Option<Checkpoint>,
    /// Marks of earlier runs, sorted.
    earlier: Vec<u64>,
    /// An earlier run left it.
    stood: bool,
    /// A later run will believe it.
    pub(crate) is_believed: bool,
    /// The command goes on where an earlier run ended.
    pub(crate) continues: bool,
    /// The folder was made for this copy, by this run or an earlier one.
    pub(crate) is_of_new_folder: bool,
    /// This run deals with all names that earlier ones dealt with.
    covers: bool,
    /// Since when what stands there may be of those earlier runs, and not on the disk.
    pub(crate) unverified: Unverified,
    /// When the first of the runs that it tells of began: what did not change since was made by none of them.
    pub(crate) begun_ns: i128,
    /// When this run began, if another left the list: what that wrote changed before.
    since_ns: i128,
    /// The list itself.
    id: FileId,
    /// Files that an earlier run committed and this one left: device and inode.
    known: StateLock<HashSet<FileId>>,
}

/// A list that stood before this run, or not.
struct FoundList {
    stood: bool,
    /// It is this user's own.
    is_believed: bool,
    earlier: Earlier,
}

impl TreeJournal {
    /// Begins a list in a folder, or goes on with the one that is there. In a folder that this run makes (`anew`) a
    /// list can only be left over from a run killed before it had done anything.
    pub(crate) fn begin(
        folder: &Arc<File>,
        path: &Path,
        source: &SourceRoot,
        options: &Options,
        anew: bool,
    ) -> Result<Kept, Problem> {
        let (open, name) = (Folder::Os(Arc::clone(folder)), path.join(LIST_NAME));
        let system = |operation, errno: Errno| Problem::system(operation, &name, errno.0);
        if final_name::is_append_only(folder) {
            let why = "its folder is append-only (chattr +a), and would keep it for ever";
            return Ok(Kept::Ignored(doubtful(path, why, options)));
        }
        let standing = match create_or_open(&open, &name)? {
            Ok(standing) => standing,
            Err(why) => return Ok(Kept::Ignored(ignored(&name, why))),
        };
        if !standing.file.lock().map_err(|errno| system(Operation::Lock, errno))? {
            let words = "another pump is copying into this folder; wait for it to end";
            return Err(Problem::new(Class::Refused, Operation::Lock, &name, words));
        }
        let this = new_header(folder, source, options, anew);
        let (stood, why) = (!standing.is_new && !anew, standing.why_doubtful);
        if let Some(why) = why.filter(|_| stood && !is_of_copy(&standing.file, &this)) {
            return Ok(Kept::Ignored(ignored(&name, why)));
        }
        let meta = standing.file.meta().map_err(|errno| system(Operation::Stat, errno))?;
        let earlier = if stood {
            read_list(standing.file.os(), &name, &this)?
        } else {
            Earlier::none(this, meta.ctime_ns)
        };
        let earlier = if why.is_none() { earlier } else { earlier.of_nobody() };
        let (device, sync) =
            (datapump_files::disk::file_meta(folder).map(|meta| meta.device), options.durability.sync);
        let device = device.map_err(|errno| system(Operation::Stat, errno))?;
        let since_ns = if stood { time_after(&standing.file) } else { 0 };
        let found = FoundList { stood, is_believed: why.is_none(), earlier };
        // A clock that does not go says nothing: what then counts is when the list changed last.
        let begun_ns = if stood && since_ns < i128::MAX { since_ns } else { meta.ctime_ns };
        let this = Header { begun_ns, ..this };
        // Locked until it is gone.
        let made = standing.is_new.then(|| standing.file.os().try_clone());
        let journal = TreeJournal::resume(open.clone(), standing.file, found, this, device, sync);
        let journal = journal.map(|journal| TreeJournal { since_ns, id: id(&meta), ..journal });
        let journal = journal.map_err(|errno| {
            // One that this run could not write holds nothing.
            made.map(|_lock| open.remove(OsStr::new(LIST_NAME)));
            system(Operation::Write, errno)
        })?;
        journal.witness(device, folder, path);
        Ok(match why {
            None => Kept::List(journal),
            Some(why) => Kept::Doubtful(journal, doubtful(path, why, options)),
        })
    }

    /// Writes the header of what earlier copies and this one left, and goes on behind the marks that count.
    fn resume(
        folder: Folder,
        file: Handle,
        found: FoundList,
        this: Header,
        device: u64,
        sync: Sync,
    ) -> Result<TreeJournal, Errno> {
        let FoundList { stood, is_believed, earlier: Earlier { header, marks } } = found;
        let joined = header.joined(&this);
        if marks.is_empty() || joined != header {
            write_header(&file, &joined, marks.len())?;
        }
        // What this run writes is in doubt from now on, whatever becomes of the system: the list that stood may have
        // been settled.
        if stood {
            file.sync()?;
        }
        let len = (HEADER_BYTES + 8 * marks.len()) as u64;
        let known = (header.life.mount != 0).then_some(device);
        let checkpoint = Checkpoint::begin(file, len, joined, sync, known);
        Ok(TreeJournal {
            folder,
            checkpoint: Some(checkpoint),
            earlier: marks,
            stood,
            is_believed,
            continues: stood && is_believed,
            is_of_new_folder: joined.is_new,
            covers: joined.is_covered_by(this.selection),
            unverified: if stood {
                Unverified::since(&Header { is_settled: header.is_settled, ..joined })
            } else {
                Unverified::default()
            },
            begun_ns: header.begun_ns,
            since_ns: 0,
            id: (0, 0),
            known: StateLock::default(),
        })
    }

    /// What a dry run may know of the list of an unfinished copy; nothing is locked or written.
    pub(crate) fn open_for_dry_run(
        folder: &Arc<File>,
        path: &Path,
        source: &SourceRoot,
        options: &Options,
    ) -> Option<TreeJournal> {
        let file = open_own(folder)?.ok()?;
        let this = new_header(folder, source, options, false);
        let Earlier { header, marks } = read_list(&file, &path.join(LIST_NAME), &this).ok()?;
        Some(TreeJournal {
            folder: Folder::Os(Arc::clone(folder)),
            checkpoint: None,
            earlier: marks,
            stood: true,
            is_believed: true,
            continues: true,
            is_of_new_folder: header.is_new,
            covers: false,
            unverified: Unverified::since(&header),
            begun_ns: header.begun_ns,
            since_ns: 0,
            id: (0, 0),
            known: StateLock::default(),
        })
    }

    /// Puts the list and its name on stable storage.
    pub(crate) fn sync(&self) -> Result<(), Errno> {
        self.checkpoint.as_ref().map_or(Ok(()), Checkpoint::sync_list)?;
        self.folder.sync()
    }

    /// Files are also written on another file system, below this folder.
    pub(crate) fn witness(&self, device: u64, folder: &File, path: &Path) {
        self.checkpoint.as_ref().inspect(|checkpoint| checkpoint.watch_file_system(device, folder, path));
    }

    /// Whether the list goes when the copy has ended, after which everything in the tree is right or something failed.
    /// What an earlier run left is put right only by one of as many names in which nothing failed. In a folder that was
    /// made for the copy the list keeps the same command from going below it, and after a failed sync it tells what may
    /// be lost. Otherwise it would only keep others out.
    pub(crate) fn is_over(&self, is_whole: bool) -> bool {
        let has_failed = || self.checkpoint.as_ref().is_some_and(Checkpoint::has_failed);
        if is_whole { self.covers } else { !(self.stood || self.is_of_new_folder || has_failed()) }
    }

    /// Whether an earlier run committed this file and nothing changed since.
    pub(crate) fn has(&self, folder: &PathSum, name: &OsStr, source: &Meta, target: &Meta) -> bool {
        let has = || self.earlier.binary_search(&file_mark(folder, name, source, target)).is_ok();
        let has = !self.earlier.is_empty() && has();
        if has {
            self.know(target);
        }
        has
    }

    /// This run gave a file that stood there attributes or another name, and knows it for right.
    pub(crate) fn know(&self, existing: &Meta) {
        if self.stood {
            self.known.lock().insert(id(existing));
        }
    }

    /// Whether something that stands in its folder is the list itself.
    pub(crate) fn is(&self, existing: &Meta) -> bool {
        self.id == id(existing)
    }

    /// An earlier run left the list.
    pub(crate) fn stood(&self) -> bool {
        self.stood
    }

    /// Earlier runs may have left what is not on the disk.
    pub(crate) fn has_unverified(&self) -> bool {
        self.unverified != Unverified::default()
    }

    /// Whether this run knows that a file is on the disk, or made it; or it is of none of the earlier ones. A file that lost
    /// or got another name has changed, too: its birth tells, where the file system does. A run writes into nothing that is
    /// older than its list, but for what it resumes, which it syncs. `born`: `None` where it cannot be
    /// looked at.
    pub(crate) fn is_settled(&self, there: &Meta, born: impl FnOnce() -> Option<Birth>) -> bool {
        if !self.unverified.may_reach(there) || self.known.lock().contains(&id(there)) {
            return true;
        }
        let Some(Birth { ns, is_kernels }) = born() else { return false };
        let is_made = there.ctime_ns >= self.since_ns && (ns == 0 || ns >= self.since_ns);
        is_made || (is_kernels && ns != 0 && ns < self.begun_ns.saturating_sub(SAME_TIME_NS))
    }

    /// A file is committed; `soon` if it was expensive to copy. A problem: a sync beside the copy failed.
    pub(crate) fn add(&self, mark: u64, target: &Meta, written: Written, soon: bool) -> Option<Problem> {
        self.checkpoint.as_ref()?.add(mark, target.device, target.size_bytes, written, soon)
    }

    /// The copy is over but for the last sync. A problem: one beside the copy failed.
    pub(crate) fn close(&self) -> Option<Problem> {
        let checkpoint = self.checkpoint.as_ref()?;
        checkpoint.close();
        checkpoint.failure()
    }

    /// Why the list does not tell all that was done.
    pub(crate) fn lacks(&self) -> Option<Errno> {
        self.checkpoint.as_ref().and_then(Checkpoint::lacks)
    }

    /// What the last sync said.
    pub(crate) fn synced(&self, said: &Result<(), (&Path, Errno)>) {
        match (&self.checkpoint, said) {
            (Some(checkpoint), Ok(())) => checkpoint.mark_all_synced(),
            (Some(checkpoint), Err((path, errno))) => checkpoint.distrust(path, *errno),
            (None, _) => {}
        }
    }

    /// Whether it may say that all of the copy is on stable storage, if what earlier runs left is.
    pub(crate) fn may_settle(&self) -> bool {
        let is_vouched_for = || self.checkpoint.as_ref().is_some_and(Checkpoint::is_vouched_for);
        self.is_believed && self.covers && is_vouched_for()
    }

    /// All of the copy is on stable storage: the list stays for what the source did not give, and nothing that stands
    /// there is in doubt.
    pub(crate) fn settle(&self) -> Result<(), Errno> {
        self.checkpoint.as_ref().map_or(Ok(()), Checkpoint::settle)
    }

    /// All is done: the list goes, and nothing more is written to it.
    pub(crate) fn remove(&self) -> Result<(), Errno> {
        self.checkpoint.as_ref().inspect(|checkpoint| checkpoint.forget());
        match self.folder.remove(OsStr::new(LIST_NAME)) {
            Ok(()) | Err(Errno::ENOENT) => {}
            refused => return refused,
        }
        self.checkpoint.as_ref().inspect(|checkpoint| checkpoint.close_file());
        Ok(())
    }
}

/// What became of beginning a list.
#[derive(Debug)]
pub(crate) enum Kept {
    List(TreeJournal),
    /// No later run will believe it: what that means, in words.
    Doubtful(TreeJournal, String),
    /// What stands in its place is not this user's, and left: in these words.
    Ignored(String),
}

impl Kept {
    /// Gives the list, if there is one, and reports what is to be known of it.
    pub(crate) fn report(self, ledger: &Ledger<'_>) -> Option<TreeJournal> {
        match self {
            Kept::List(journal) => {
                ledger.leaves(CutLeaves::Resumable);
                Some(journal)
            }
            Kept::Doubtful(journal, words) => {
                ledger.notice(words);
                Some(journal)
            }
            Kept::Ignored(words) => {
                ledger.warn(words);
                None
            }
        }
    }
}

fn ignored(name: &Path, why: &str) -> String {
    let name = shown_path(name);
    format!(
        "'{name}' is ignored and not changed: {why}; if this copy is cut, the next one copies all of it again"
    )
}

/// The warning that no list can be kept for this reason, with what the next run does.
fn doubtful(path: &Path, why: &str, options: &Options) -> String {
    let path = shown_path(path);
    let next = match options.comparison.update {
        Update::All => "copies all of it again",
        _ => "compares all that exists",
    };
    format!("'{path}': no list of what was done can be kept: {why}; if this copy is cut, the next one {next}")
}

/// A list that is open.
struct Standing {
    file: Handle,
    is_new: bool,
    /// It is of this user, but a later run will not believe that.
    why_doubtful: Option<&'static str>,
}

/// Makes the list, or opens the one that stands there; or why that is not this user's. One that was made is looked at
/// as a later run will do it.
fn create_or_open(folder: &Folder, name: &Path) -> Result<Result<Standing, &'static str>, Problem> {
    let system = |operation, errno: Errno| Problem::system(operation, name, errno.0);
    let made = folder.create_new(OsStr::new(LIST_NAME));
    let (file, is_new) = match made {
        Ok(file) => (file, true),
        Err(Errno::EEXIST) => {
            // Asked before it is opened (a pipe would be waited for), and once more of what is open.
            let stands =
                folder.metadata(OsStr::new(LIST_NAME)).map_err(|errno| system(Operation::LookAt, errno))?;
            if let Some(why) = why_foreign(folder, &stands) {
                return Ok(Err(why));
            }
            let opened = folder.open(OsStr::new(LIST_NAME), Access::ReadWrite);
            (opened.map_err(|errno| system(Operation::Open, errno))?, false)
        }
        Err(errno) => return Err(system(Operation::Create, errno)),
    };
    let opened = file.meta().map_err(|errno| system(Operation::Stat, errno))?;
    Ok(match why_foreign(folder, &opened).filter(|_| !is_new) {
        Some(why) => Err(why),
        None if is_new && why_foreign(folder, &opened).is_some() => {
            let why_doubtful = Some("all files of this mount belong to another user, whoever makes them");
            Ok(Standing { file, is_new, why_doubtful })
        }
        None => Ok(Standing { file, is_new, why_doubtful: why_not_own(folder, &opened) }),
    })
}

/// Whether an open list is of this source and of this folder.
fn is_of_copy(file: &Handle, this: &Header) -> bool {
    header_in(file.os()).is_some_and(|found| found.is_of_source(this) && found.is_of_target(this))
}

/// What earlier runs left: the header of their list, and marks that count.
struct Earlier {
    header: Header,
    marks: Vec<u64>,
}

impl Earlier {
    fn none(header: Header, begun_ns: i128) -> Earlier {
        Earlier { header: Header { begun_ns, ..header }, marks: Vec::new() }
    }

    /// Of a list that others may have made nothing counts, and it leads nowhere.
    fn of_nobody(self) -> Earlier {
        let header = Header { is_new: false, is_settled: false, ..self.header.without_marks() };
        Earlier { header, marks: Vec::new() }
    }
}

/// Reads a list: whether the folder was new then, and the marks of earlier runs.
fn read_list(file: &File, name: &Path, this: &Header) -> Result<Earlier, Problem> {
    let bytes = read_whole(file).map_err(|errno| Problem::system(Operation::Read, name, errno.0))?;
    // What a list does not tell itself its file may. Whatever names its copies dealt with, it were not fewer than all.
    let unknown = Earlier::none(Header { selection: 0, ..*this }, origin(file).0);
    let Some(header) = Header::decode(&bytes) else {
        // Killed before it was written, or of another version: nothing counts.
        return if is_torn(&bytes) || is_list(&bytes) { Ok(unknown) } else { Err(foreign(name)) };
    };
    if !header.is_of_source(this) {
        return Err(foreign(name));
    }
    // In another folder it lies if that was copied with it.
    if !header.is_of_target(this) {
        return Ok(unknown);
    }
    let Header { is_new, loses_times, is_settled, selection, begun_ns, .. } = header;
    let header_here = Header { is_new, loses_times, is_settled, selection, ..*this };
    let mut earlier = Earlier::none(header_here, begun_ns);
    if header.counts_for(this) {
        earlier.marks = marks(&bytes).collect();
        earlier.marks.sort_unstable();
    }
    Ok(earlier)
}

fn foreign(name: &Path) -> Problem {
    let words = "is no list of this copy: it belongs to an unfinished copy of another source (finish that one, or \
                 remove this file), or to you (move it)";
    Problem::new(Class::Refused, Operation::Read, name, words)
}

/// Marks that do not count go first: they never stand under a header that is not theirs.
fn write_header(file: &Handle, header: &Header, marks: usize) -> Result<(), Errno> {
    if marks == 0 && file.meta()?.size_bytes > HEADER_BYTES as u64 {
        file.set_len(HEADER_BYTES as u64)?;
    }
    file.put(0, &header.encode())
}

/// The mark of a file that was committed; the sum is that of its folder's path.
pub(crate) fn file_mark(folder: &PathSum, name: &OsStr, source: &Meta, target: &Meta) -> u64 {
    JournalEntry {
        path: folder.name(name.as_bytes()),
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
