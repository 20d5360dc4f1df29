//! Puts a finished file under its name so that nobody ever sees half of it.
//!
//! Written under a temporary name beside the final one, reserved first, then: data, attributes, sync of the file
//! (which makes both durable), rename, sync of the folder. An old target stays whole until the rename. The temporary
//! name (`temporary`) is locked while in use: unlocked it is a leftover of a killed run and removed, or gone on with if
//! its journal agrees (`resume`); locked it belongs to another pump.
//!
//! A small file of a tree has no name at all until it is linked in (O_TMPFILE): cheaper than a temporary name, and a
//! killed run leaves nothing.
//!
//! Some file systems take a file in order, and once, and may rename nothing: `in_order` has what holds there.
//!
//! *Written*, *synced* and *committed* are three promises; each function says which one it gives.
//!
//! Must not know: where the bytes come from, who writes them, plans.

pub mod aside;
pub mod backup_folders;
pub mod compressed;
pub mod final_name;
pub mod in_order;
pub mod made;
pub mod own_copy;
pub mod partial;
pub mod put_names;
pub mod reserved;
pub mod shortage;
pub mod temporary;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::os::linux::KernelCall;
use datapump_engine::{Errno, Handle};

use crate::commit::final_name::NamingRule;
use crate::commit::in_order::InOrder;
use crate::commit::shortage::Rooms;
use crate::commit::temporary::{Siblings, busy, same_file};
use crate::disk::{Access, FileCalls, FileKind, Folder, Meta, Outcome, PathAt, names};
use crate::problem::{Class, Operation, Problem, class_of};
use crate::resume::{self, Found, Journal, OpenedJournal, ResumeRequest};
use datapump_core::units::bytes_words;
/// A rehearsal takes no more than this: what is measured is seldom longer than seconds.
pub const REHEARSAL_BYTES_MAX: u64 = 2 << 30;
/// A rehearsal takes one in so many of the bytes that are free: 5 %.
pub const REHEARSAL_FREE_PARTS: u64 = 20;

/// Where a target is until it has its name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CommitStage {
    /// It is written where it stands.
    InPlace,
    /// Under a temporary name.
    Temporary(OsString),
    /// Nowhere: an open file without a name.
    Unnamed,
    /// Under its final name, on a file system that renames nothing; what one was that was emptied for it.
    Final(Option<Box<Meta>>),
}

/// What may stand under the final name when it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Anything, which is replaced.
    Anything,
    /// Nothing: a name that is taken all the same is somebody else's.
    Nothing,
}

/// A target on its way.
#[derive(Debug)]
pub struct StagedFile {
    /// The folder of the final name.
    pub folder: Folder,
    /// The final name's path, for messages.
    path: PathBuf,
    /// The final name.
    pub name: OsString,
    stage: CommitStage,
    before: Before,
    /// The file system takes it in order, and once.
    takes: Option<InOrder>,
    /// The open file.
    pub handle: Arc<Handle>,
    /// Tells a later run what is written.
    journal: Option<Box<Journal>>,
    /// What an earlier run told, until the copy goes on.
    earlier: Option<Box<OpenedJournal>>,
    /// An earlier run began it.
    pub goes_on: bool,
    /// Why what an earlier run left is of no use.
    pub starts_over: Option<String>,
}

/// Where a file gets its final name.
#[derive(Clone, Debug)]
pub struct FinalName {
    /// The folder.
    pub folder: Folder,
    /// The name in it.
    pub name: OsString,
    /// Its path, for messages.
    pub path: PathBuf,
}

impl StagedFile {
    /// A new file that will replace whatever stands at the target, or come to stand there.
    pub fn replacing(
        target: &PathAt,
        wish: Option<&ResumeRequest>,
        siblings: &dyn Siblings,
    ) -> Result<StagedFile, Problem> {
        let at = FinalName::of_path(target)?;
        temporary::refuse_in_use(&at.folder, &at.name, &at.path)?;
        StagedFile::checked(at, Before::Anything, wish, siblings)
    }

    /// A file as of [`StagedFile::temporary`], if it can get its final name; without any in a folder that would keep
    /// the temporary one.
    pub fn checked(
        at: FinalName,
        before: Before,
        wish: Option<&ResumeRequest>,
        siblings: &dyn Siblings,
    ) -> Result<StagedFile, Problem> {
        match final_name::check(&at.folder, &at.name, &at.path, true)? {
            NamingRule::Renamed => StagedFile::temporary(at, before, wish, siblings),
            NamingRule::Linked => {
                StagedFile::unnamed(&at.folder, &at.name, &at.path, 0o600, Before::Nothing)?
                    .ok_or_else(|| final_name::append_only(&at.path))
            }
        }
    }

    /// A new file under a temporary name beside `name`, or, with a wish, the one that an earlier run left there.
    pub fn temporary(
        at: FinalName,
        before: Before,
        wish: Option<&ResumeRequest>,
        siblings: &dyn Siblings,
    ) -> Result<StagedFile, Problem> {
        let (temporary, handle, earlier, starts_over) =
            resume_or_create(&at, wish, siblings, |new| at.folder.create_new(new))?;
        let staged = StagedFile::new(at, CommitStage::Temporary(temporary), before, handle);
        Ok(StagedFile { goes_on: earlier.is_some(), earlier, starts_over, ..staged })
    }

    /// A file in this stage, with no journal, that does not resume an earlier one.
    fn new(at: FinalName, stage: CommitStage, before: Before, handle: Handle) -> StagedFile {
        let FinalName { folder, name, path } = at;
        let (journal, earlier, handle) = (None, None, Arc::new(handle));
        let (goes_on, starts_over, takes) = (false, None, None);
        StagedFile {
            folder,
            path,
            name,
            stage,
            before,
            takes,
            handle,
            journal,
            earlier,
            goes_on,
            starts_over,
        }
    }

    /// What an earlier run told of this file.
    pub fn earlier(&self) -> Option<&OpenedJournal> {
        self.earlier.as_deref()
    }

    /// Begins the journal by which a later run can resume, or removes what exists of one that cannot be written. Only a file
    /// with a temporary name has one.
    pub fn keep_journal(&mut self, wish: &ResumeRequest) {
        if let CommitStage::Temporary(temporary) = &self.stage {
            let earlier = self.earlier.take().map(|opened| *opened);
            let begun = Journal::begin(&self.folder, temporary, &self.handle, wish, earlier);
            if begun.is_none() {
                // It may have been made before it could not be written, and who has none removes none.
                resume::remove_journal(&self.folder, temporary);
            }
            self.journal = begun.map(Box::new);
        }
    }

    /// The journal, if one is kept.
    #[inline]
    pub fn journal(&self) -> Option<&Journal> {
        self.journal.as_deref()
    }

    /// A new file without a name, with these permissions (less the umask). `None` where the file system has none such,
    /// or a sandbox refuses the call that would give it one.
    pub fn unnamed(
        folder: &Folder,
        name: &OsStr,
        path: &Path,
        mode: u32,
        before: Before,
    ) -> Result<Option<StagedFile>, Problem> {
        if KernelCall::Linkat.is_offered() {
            StagedFile::create_unnamed(folder, name, path, mode, before)
        } else {
            Ok(None)
        }
    }

    /// Makes a file without a name (`O_TMPFILE`); `None` where the file system has none such.
    fn create_unnamed(
        folder: &Folder,
        name: &OsStr,
        path: &Path,
        mode: u32,
        before: Before,
    ) -> Result<Option<StagedFile>, Problem> {
        match folder.make_unnamed(mode) {
            Ok(handle) => {
                let at =
                    FinalName { folder: folder.clone(), name: name.to_owned(), path: path.to_path_buf() };
                Ok(Some(StagedFile::new(at, CommitStage::Unnamed, before, handle)))
            }
            // EISDIR: kernels before 3.11 took it for the folder (open(2)).
            Err(Errno::EOPNOTSUPP | Errno::EINVAL | Errno::ENOSYS | Errno::EISDIR) => Ok(None),
            Err(errno) => Err(shortage::of_name_in(Operation::Create, path, errno, folder)),
        }
    }

    /// A file in the folder of the target that never gets a name: to be measured. An error where there are none such.
    pub fn rehearsed(target: &PathAt) -> Result<StagedFile, Problem> {
        let FinalName { folder, name, path } = FinalName::of_path(target)?;
        let made = StagedFile::create_unnamed(&folder, &name, &path, 0o600, Before::Nothing)?;
        made.ok_or_else(|| {
            let words = "this file system has no unnamed temporary files (O_TMPFILE), and its folder is not to be littered";
            Problem::new(Class::Io, Operation::Measure, &path, words)
        })
    }

    /// The existing file at the target, to be overwritten where it stands; made if there is none.
    pub fn in_place(at: FinalName, siblings: &dyn Siblings) -> Result<StagedFile, Problem> {
        let path = &at.path;
        // Links were followed before: one that stands there now was put there meanwhile.
        let made = match at.folder.open(&at.name, Access::ReadWrite) {
            // Nothing stands there to be kept: the new name then appears whole or not at all.
            Err(Errno::ENOENT) => return StagedFile::checked(at, Before::Anything, None, siblings),
            existing => existing,
        };
        let handle = made.map_err(|errno| Problem::system(Operation::Open, path, errno.0))?;
        if handle.meta().map_or(true, |meta| meta.kind != FileKind::Regular) {
            return Err(Problem::new(Class::Changed, Operation::Open, path, "is no file any more"));
        }
        if !handle.lock().map_err(|errno| Problem::system(Operation::Lock, path, errno.0))? {
            return Err(busy(path));
        }
        Ok(StagedFile::new(at, CommitStage::InPlace, Before::Anything, handle))
    }

    /// Allocates the ranges, so that a full disk is known before anything is written. False where the file system cannot: then
    /// writes find out.
    pub fn reserve(&self, ranges: &[(u64, u64)], length_bytes: u64) -> Result<bool, Problem> {
        let rooms = self.rooms();
        let needed: u64 = ranges.iter().map(|(start, end)| end - start).sum();
        let failed = |errno: Errno| {
            let problem = Problem::system(Operation::Reserve, &self.path, errno.0);
            // A length alone needs no room, whatever it is.
            let length = if errno == Errno::EFBIG { length_bytes } else { needed };
            let offset = (class_of(errno.0) == Class::NoSpace).then_some(0);
            Problem { offset, ..rooms.explain(problem, Some(length)) }
        };
        let dense = ranges == [(0, length_bytes)];
        let before = self.handle.meta().map_err(failed)?;
        let is_reserved = match self.reserve_ranges(ranges) {
            Ok(()) => true,
            Err(Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINVAL) => false,
            Err(errno) => {
                // What stood there is given back as it was.
                let _ = self.handle.set_len(before.size_bytes);
                return Err(failed(errno));
            }
        };
        if !dense {
            self.handle.set_len(length_bytes).map_err(failed)?;
        }
        Ok(is_reserved)
    }

    fn reserve_ranges(&self, ranges: &[(u64, u64)]) -> Result<(), Errno> {
        let taken = |&(start, end): &(u64, u64)| self.handle.reserve(start, end - start);
        ranges.iter().filter(|(start, end)| end > start).try_for_each(taken)
    }

    /// Errors: a copy that is only measured would fill the disk.
    pub fn has_room_to_rehearse(&self, bytes: u64) -> Result<(), Problem> {
        let free_bytes = self.folder.room().free_bytes;
        if bytes <= REHEARSAL_BYTES_MAX && bytes <= free_bytes / REHEARSAL_FREE_PARTS {
            return Ok(());
        }
        let (needed, room) = (bytes_words(bytes), bytes_words(free_bytes));
        let most = bytes_words((free_bytes / REHEARSAL_FREE_PARTS).min(REHEARSAL_BYTES_MAX));
        let words =
            format!("a rehearsal of {needed} may use one in twenty of the {room} that are free: {most}");
        Err(Problem::new(Class::NoSpace, Operation::Reserve, &self.path, words).at(0))
    }

    /// What the file system says about itself where the target is written.
    pub fn rooms(&self) -> Rooms {
        Rooms::measured(&self.folder, &self.handle)
    }

    /// Rooms where nothing is reserved: one question to the file system.
    pub fn rooms_of_folder(&self) -> Rooms {
        Rooms::of_folder(&self.folder)
    }

    /// The final name's path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the target is written where it stands.
    pub fn is_in_place(&self) -> bool {
        self.stage == CommitStage::InPlace
    }

    /// Whether it has its final name before it is whole: what had the name before is not kept.
    pub fn has_final_name(&self) -> bool {
        matches!(self.stage, CommitStage::InPlace | CommitStage::Final(_))
    }

    /// Whether it is written into a file that existed, with the mode of that.
    pub fn is_over_existing(&self) -> bool {
        matches!(self.stage, CommitStage::InPlace | CommitStage::Final(Some(_)))
    }

    /// Whether its bytes are written in order, and once.
    pub fn is_in_order(&self) -> bool {
        self.takes.is_some()
    }

    /// Whether something stands under the final name that is replaced.
    pub fn replaces(&self) -> bool {
        self.before == Before::Anything
    }

    /// Opens the written file, of so many bytes, once more to read it back.
    pub fn reopen_to_read(&self, bytes: u64) -> Result<Handle, Problem> {
        let name = match &self.stage {
            CommitStage::Temporary(temporary) => temporary,
            CommitStage::InPlace | CommitStage::Final(_) => &self.name,
            CommitStage::Unnamed => return self.reopen_unnamed(),
        };
        let opened = self.folder.open(name, Access::Read);
        let opened = opened.map_err(|errno| Problem::system(Operation::Open, &self.path, errno.0))?;
        if !self.is_in_place() {
            self.still_ours(name, bytes)?;
        }
        Ok(opened)
    }

    fn reopen_unnamed(&self) -> Result<Handle, Problem> {
        let opened = names::open_again(self.handle.os(), Access::Read).map(Handle::Os);
        opened.map_err(|errno| Problem::system(Operation::Open, &self.path, errno.0))
    }

    /// Puts data and attributes on stable storage. Gives: *synced*. A sync that fails is final: what the kernel could
    /// not write it may have forgotten (Rebello and others, *Can Applications Recover from fsync Failures?*, 2020).
    pub fn sync(&self) -> Result<(), Problem> {
        let synced = match self.handle.sync() {
            Err(errno) if self.takes.is_some() && in_order::is_unknown_sync(errno) => Ok(()),
            synced => synced,
        };
        synced.map_err(|errno| {
            self.journal().inspect(|journal| journal.distrust(errno));
            Problem::system(Operation::Sync, &self.path, errno.0)
        })
    }

    /// Gives the file, of so many bytes, its name.
    pub fn publish(&self, bytes: u64) -> Result<(), Problem> {
        let renamed = match (&self.stage, self.before) {
            (CommitStage::InPlace | CommitStage::Final(_), _) => Ok(()),
            (CommitStage::Unnamed, Before::Nothing) => self.folder.link_in(&self.handle, &self.name),
            (CommitStage::Unnamed, Before::Anything) => self.link_over_existing()?,
            (CommitStage::Temporary(temporary), before) => {
                self.still_ours(temporary, bytes)?;
                match before {
                    Before::Anything => self.folder.rename(temporary, &self.name),
                    Before::Nothing => self.folder.rename_new(temporary, &self.name),
                }
            }
        };
        match renamed {
            Err(Errno::EEXIST) if self.before == Before::Nothing => return Err(taken(&self.path)),
            // It may have been performed all the same: the name says.
            Err(Errno::EINTR) if same_file(&self.folder, &self.name, &self.handle) => {}
            renamed => renamed.map_err(|errno| self.unnamed_for(errno))?,
        }
        // Killed before this, the journal is left; it belongs to a temporary file that is not there.
        self.journal().inspect(|journal| journal.remove());
        Ok(())
    }

    fn unnamed_for(&self, errno: Errno) -> Problem {
        let problem = shortage::of_name_in(Operation::Rename, &self.path, errno, &self.folder);
        match &self.folder {
            Folder::Os(folder) => final_name::of_kept(problem, folder, &self.name),
            Folder::Sim(_) => problem,
        }
    }

    /// Gives an unnamed file a temporary name, and renames it over the final one: a link cannot replace a name.
    ///
    /// Errors: it cannot be locked.
    fn link_over_existing(&self) -> Result<Outcome<()>, Problem> {
        // A process that finds it under the temporary name sees that it is in use.
        if !self.handle.try_lock().map_err(|errno| Problem::system(Operation::Lock, &self.path, errno.0))? {
            return Err(busy(&self.path));
        }
        let linked = reserved::under_new_name(|temporary| self.folder.link_in(&self.handle, temporary));
        Ok(linked.and_then(|(temporary, ())| {
            let renamed = self.folder.rename(&temporary, &self.name);
            // Best effort on the way out, as with every temporary name.
            renamed.inspect_err(|_| {
                let _ = self.folder.remove(&temporary);
            })
        }))
    }

    /// Makes the name durable. With a file that was synced before, gives: *committed*.
    pub fn sync_name(&self) -> Result<(), Problem> {
        if self.is_in_place() {
            return Ok(());
        }
        self.folder.sync().map_err(|errno| Problem::system(Operation::SyncFolderOf, &self.path, errno.0))
    }

    /// In a folder that others may write to, the temporary name may have been given to another file. An object gets another
    /// inode number when it is uploaded: its length shows that it is the one.
    fn still_ours(&self, temporary: &OsStr, bytes: u64) -> Result<(), Problem> {
        let is_upload = |named: Meta| (named.kind, named.size_bytes) == (FileKind::Regular, bytes);
        let is_uploaded = || self.takes.is_some() && self.folder.metadata(temporary).is_ok_and(is_upload);
        if same_file(&self.folder, temporary, &self.handle) || is_uploaded() {
            return Ok(());
        }
        let words = "another program removed or replaced its temporary file; the target was not changed";
        Err(Problem::new(Class::Refused, Operation::Rename, &self.path, words))
    }

    /// Leaves what was written, and its journal, for the same command to go on with. False if that gains nothing: then
    /// it is to be discarded.
    pub fn leave(&self) -> bool {
        self.journal().is_some_and(|journal| journal.leave().is_ok() && journal.is_of_use())
    }

    /// Removes what was written; a target written in place stays as it is. Errors: a part of the file remains under
    /// its name.
    pub fn discard(&self) -> Result<(), Problem> {
        if let (CommitStage::Final(replaced), Some(takes)) = (&self.stage, self.takes) {
            let given_up =
                in_order::give_up(&self.folder, &self.name, &self.handle, replaced.as_deref(), takes);
            return given_up.map_err(|errno| Problem::system(Operation::Remove, &self.path, errno.0));
        }
        if let (CommitStage::Temporary(temporary), Some(takes)) = (&self.stage, self.takes) {
            let bytes = self.handle.meta().map_or(0, |meta| meta.size_bytes);
            match self.still_ours(temporary, bytes) {
                // A leftover is recognised and removed by the next run.
                Ok(()) => drop(in_order::give_up(&self.folder, temporary, &self.handle, None, takes)),
                Err(_) => in_order::refuse_upload(&self.handle, takes),
            }
            return Ok(());
        }
        if let CommitStage::Temporary(temporary) = &self.stage
            && same_file(&self.folder, temporary, &self.handle)
        {
            // First: without it the temporary file is a leftover like any other.
            let _ = self.journal().map(Journal::close);
            resume::remove_journal(&self.folder, temporary);
            // Best effort on the way out: a leftover is recognised and removed by the next run.
            let _ = self.folder.remove(temporary);
        }
        Ok(())
    }
}

/// A temporary name, the file under it, and what an earlier run told of it, or why that is of no use.
type BegunTemporary = (OsString, Handle, Option<Box<OpenedJournal>>, Option<String>);

/// Opens the temporary file of an earlier run that can be resumed, or makes a new one, under one of the temporary names.
///
/// Errors: another pump writes it, or all names are taken.
fn resume_or_create(
    at: &FinalName,
    wish: Option<&ResumeRequest>,
    siblings: &dyn Siblings,
    create_new: impl Fn(&OsStr) -> Outcome<Handle>,
) -> Result<BegunTemporary, Problem> {
    let FinalName { folder, name, path } = at;
    let mut starts_over = None;
    for temporary in reserved::names_of(name) {
        match wish.map_or(Found::Nothing, |wish| resume::find(folder, &temporary, wish)) {
            Found::GoesOn(found) => return Ok((temporary, found.0, Some(Box::new(found.1)), None)),
            Found::Busy => return Err(busy(path)),
            Found::StartsOver(words) => starts_over = Some(words),
            Found::Nothing => {}
        }
        if let Some(handle) = temporary::create(folder, &temporary, path, siblings, &create_new)? {
            return Ok((temporary, handle, None, starts_over));
        }
    }
    Err(temporary::all_taken(path))
}

impl FinalName {
    /// The name that a target has in its folder.
    pub fn of_path(target: &PathAt) -> Result<FinalName, Problem> {
        let path = &target.path;
        let folder = target.folder_to_sync();
        let system = |errno: Errno| Problem::system(Operation::OpenFolder, path, errno.0).of_folder_above();
        let folder = folder.map_err(system)?;
        let no_name = || Problem::new(Class::Usage, Operation::Create, path, "this is no name of a file");
        let name = target.name().ok_or_else(no_name)?.to_os_string();
        Ok(FinalName { folder, name, path: path.clone() })
    }
}

/// The name was free when the copy began, or its folder was made by this run.
pub fn taken(path: &Path) -> Problem {
    let words = "something took the name meanwhile: another program, or another name of the source that this file \
                 system takes for the same (upper and lower case); it was not changed";
    Problem::new(Class::Refused, Operation::Create, path, words)
}
