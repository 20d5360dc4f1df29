//! A stripe that is written: its open members, and what is done with them before and behind their blocks.
//!
//! Each member is written where it stands, as a device is. Files get their lengths when all has landed; one that is
//! there keeps its owner and mode.
//!
//! Must not know: how blocks are moved, where they come from, which step comes next.

use std::path::PathBuf;
use std::sync::Arc;

use datapump_engine::{Errno, Handle};
use datapump_transport::random;

use crate::open::stripe::mark::StripeMark;
use crate::open::stripe::peek::peek;
use crate::place::stripe::{StripeMembers, StripeTarget};
use crate::problem::{Class, Operation, Problem};
use datapump_files::commit::compressed::{Compression, Compressions};
use datapump_files::commit::shortage::{self, Rooms};
use datapump_files::commit::temporary::busy;
use datapump_files::devices::open_device;
use datapump_files::disk::{Access, AttributeHolder, FileCalls, FileKind, Meta, PathAt, umask};

/// An open stripe that is written.
#[derive(Debug)]
pub struct OpenStripe {
    /// As the user named it.
    pub name: PathBuf,
    pub members: Vec<StripeMember>,
    pub(super) description: Arc<StripeMembers>,
    /// What its members have in common.
    id: u64,
}

/// One of its members.
#[derive(Debug)]
pub struct StripeMember {
    pub at: PathAt,
    pub handle: Arc<Handle>,
    /// What it was; `None` if it was made.
    before: Option<Meta>,
}

impl OpenStripe {
    /// Opens the members, and makes those that do not exist, no more readable than the source. Marks of an earlier stripe are
    /// removed from files that exist. On an error what was made is removed again.
    ///
    /// `bytes`: the length of the stripe, if it is known.
    pub fn open(
        target: &StripeTarget,
        source: Option<&Meta>,
        bytes: Option<u64>,
    ) -> Result<OpenStripe, Problem> {
        let (name, description) = (target.name.clone(), Arc::clone(&target.members));
        let id = u64::from_le_bytes(random());
        let mut stripe = OpenStripe { name, members: Vec::new(), description, id };
        for (member, (at, before)) in target.ats.iter().enumerate() {
            let needed_bytes = bytes.map_or(0, |bytes| stripe.description.map.member_bytes(bytes, member));
            let opened = match before {
                Some(meta) if meta.kind == FileKind::BlockDevice => open_device(at, needed_bytes),
                Some(meta) => open_file(at, meta),
                None => make_file(at, source),
            };
            let handle = Arc::new(opened.inspect_err(|_| stripe.give_up())?);
            stripe.members.push(StripeMember { at: at.clone(), handle, before: *before });
        }
        stripe.remove_marks()?;
        Ok(stripe)
    }

    /// Reserves the room of so many bytes in the files that are not compressed. On an error all of it is given back.
    pub fn reserve(&self, bytes: u64, known: &Compressions) -> Result<(), Problem> {
        let is_reserved =
            |member: &StripeMember| !member.is_device() && known.of(&member.handle) == Compression::Never;
        for (number, member) in self.members.iter().enumerate().filter(|(_, member)| is_reserved(member)) {
            let needed_bytes = self.description.map.member_bytes(bytes, number);
            if let Err(problem) = member.reserve(needed_bytes) {
                self.members[..=number].iter().for_each(StripeMember::give_back);
                return Err(problem);
            }
        }
        Ok(())
    }

    /// Until all has landed the first member is two chunks longer than in this stripe, and no stripe has such members:
    /// what a cut copy leaves is refused as a source, whose missing bytes would be read as zeros. [`Self::set_length`]
    /// ends it. Devices, a file alone, and a source of unknown length leave nothing that tells.
    pub fn mark_unfinished(&self, bytes: u64) -> Result<(), Problem> {
        let (map, first) = (self.description.map, &self.members[0]);
        if first.is_device() || map.members() == 1 {
            return Ok(());
        }
        let length = map.member_bytes(bytes, 0) + 2 * u64::from(map.chunk_bytes());
        first.done(Operation::SetLength, |handle| handle.set_len(length))
    }

    /// A file that is to be written over is no member of another stripe any more.
    fn remove_marks(&self) -> Result<(), Problem> {
        let mut files = self.members.iter().filter(|member| !member.is_device() && member.before.is_some());
        files.try_for_each(|member| member.done(Operation::SetAttributes, StripeMark::remove))
    }

    /// Nothing was written: what was made goes again.
    pub fn give_up(&self) {
        for member in self.members.iter().filter(|member| member.before.is_none()) {
            // Best effort on the way out: an empty file is left.
            let _ = member.at.folder().and_then(|folder| folder.remove(member.at.name().unwrap_or_default()));
        }
    }

    /// Gives each file the length that it has in a stripe of so many bytes, and its mark.
    pub fn set_length(&self, bytes: u64) -> Result<(), Problem> {
        let length = |number| self.description.map.member_bytes(bytes, number);
        let mut files = (0..).zip(&self.members).filter(|(_, member)| !member.is_device());
        let mark = StripeMark::first(self.id, self.description.map, bytes);
        files.try_for_each(|(number, member)| {
            member.done(Operation::SetLength, |handle| handle.set_len(length(number)))?;
            mark.put(&member.handle, number);
            Ok(())
        })
    }

    /// Puts all members on stable storage, each by a thread of its own: their devices work at the same time.
    pub fn sync(&self) -> Result<(), Problem> {
        let sync = |member: &StripeMember| member.done(Operation::Sync, Handle::sync);
        std::thread::scope(|scope| {
            let spawn = |member| std::thread::Builder::new().spawn_scoped(scope, move || sync(member));
            let threads: Vec<_> = self.members[1..].iter().map(|member| (member, spawn(member))).collect();
            let first = sync(&self.members[0]);
            // Where the system gives no more threads it is done here. All are waited for, whatever the first says.
            let others: Vec<_> = threads
                .into_iter()
                .map(|(member, thread)| match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    Err(_) => sync(member),
                })
                .collect();
            others.into_iter().fold(first, Result::and)
        })
    }

    /// Hears what a close tells of each.
    pub fn close(&self) -> Result<(), Problem> {
        self.members.iter().try_for_each(|member| member.done(Operation::Close, FileCalls::flush))
    }

    /// Makes the names of the files durable: one that stands there may have been made by a copy that was cut.
    pub fn sync_names(&self) -> Result<(), Problem> {
        let mut files = self.members.iter().filter(|member| !member.is_device());
        files.try_for_each(|member| {
            let synced = member.at.folder_to_sync().and_then(|folder| folder.sync());
            synced.map_err(|errno| Problem::system(Operation::SyncFolderOf, &member.at.path, errno.0))
        })
    }
}

impl OpenStripe {
    /// Its members, open to be read: reads a few bytes of the whole.
    pub fn open_to_read(&self) -> Result<impl Fn(u64, &mut [u8]) -> Result<usize, Errno> + use<>, Problem> {
        let open = |member: &StripeMember| {
            let opened = member.at.open(Access::Read);
            opened.map_err(|errno| Problem::system(Operation::OpenAgain, &member.at.path, errno.0))
        };
        let (map, members) =
            (self.description.map, self.members.iter().map(open).collect::<Result<Vec<_>, _>>()?);
        Ok(move |at, into: &mut [u8]| peek(map, &members, at, into))
    }
}

impl StripeMember {
    /// Another handle, which goes through the page cache when the first does not.
    pub fn open_again(&self) -> Result<Handle, Problem> {
        let opened = self.at.open(Access::Write);
        opened.map_err(|errno| Problem::system(Operation::OpenAgain, &self.at.path, errno.0))
    }

    fn is_device(&self) -> bool {
        self.before.is_some_and(|meta| meta.kind == FileKind::BlockDevice)
    }

    fn done(&self, operation: Operation, act: impl Fn(&Handle) -> Result<(), Errno>) -> Result<(), Problem> {
        act(&self.handle).map_err(|errno| Problem::system(operation, &self.at.path, errno.0))
    }

    /// Reserves room in this member; a file system that cannot is no error.
    fn reserve(&self, bytes: u64) -> Result<(), Problem> {
        if bytes == 0 {
            return Ok(());
        }
        let rooms = Rooms::of_file(&self.handle);
        match self.handle.reserve(0, bytes) {
            Ok(()) | Err(Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINVAL) => Ok(()),
            Err(errno) => {
                let problem = Problem::system(Operation::Reserve, &self.at.path, errno.0);
                Err(rooms.explain(problem, Some(bytes)))
            }
        }
    }

    /// What was reserved, but not what stood there before.
    fn give_back(&self) {
        if !self.is_device() {
            let _ = self.handle.set_len(self.before.map_or(0, |meta| meta.size_bytes));
        }
    }
}

/// Opens and locks an existing file.
///
/// Errors: it was replaced since it was looked at, or another pump writes it.
fn open_file(at: &PathAt, before: &Meta) -> Result<Handle, Problem> {
    let system = |operation: Operation| move |errno: Errno| Problem::system(operation, &at.path, errno.0);
    let handle = at.open(Access::ReadWrite).map_err(system(Operation::Open))?;
    let now = handle.meta().map_err(system(Operation::Stat))?;
    if (now.device, now.inode, now.kind) != (before.device, before.inode, before.kind) {
        return Err(Problem::new(
            Class::Changed,
            Operation::Open,
            &at.path,
            "was replaced meanwhile; copy again",
        ));
    }
    locked(at, handle)
}

fn locked(at: &PathAt, handle: Handle) -> Result<Handle, Problem> {
    if handle.lock().map_err(|errno| Problem::system(Operation::Lock, &at.path, errno.0))? {
        Ok(handle)
    } else {
        Err(busy(&at.path))
    }
}

/// Makes and locks a new file. Where that fails behind its creation the empty file stays: another pump may write it by now.
fn make_file(at: &PathAt, source: Option<&Meta>) -> Result<Handle, Problem> {
    let system = |operation: Operation| move |errno: Errno| Problem::system(operation, &at.path, errno.0);
    let folder = at.folder().map_err(system(Operation::OpenFolder))?;
    let made = folder.create_new(at.name().unwrap_or_default());
    let handle = made.map_err(|errno| shortage::of_name_in(Operation::Create, &at.path, errno, folder))?;
    // What fails from here on leaves an empty file: another pump may have found it meanwhile, and write it.
    if let Handle::Os(file) = &handle {
        let mode = source.map_or(0o666, |source| source.mode & 0o777) & !umask();
        // Where that is refused it stays as it was made: for this user alone.
        let _ = AttributeHolder::Open(file).set_mode(mode);
    }
    locked(at, handle)
}
