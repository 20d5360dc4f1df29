//! The file system as Datapump uses it: open files, their attributes, and the names in one folder. Real or simulated.
//!
//! Every call gives the system's error number; words are made by the caller, who knows what it was for.
//!
//! Must not know: plans, jobs, in which order things must happen to be safe (see `commit`).

mod above;
mod attribute_holder;
mod file_calls;
pub mod kind;
pub mod names;
mod os;
mod own;
mod path_at;
mod proc;
mod sim;
mod umask;
mod way;

pub use above::{PathAbove, make_above};
pub use attribute_holder::{AttributeHolder, handed_down, xattr_names_at};
pub use file_calls::{FileCalls, is_cached};
pub use names::DirEntry;
pub(crate) use os::retried;
pub use os::{
    acts_as_owner, boot, file_system, fill, inode_flags, is_locked, is_mount_root, metadata_of_name,
    mount_options, mtime_from_disk, origin, project_of_files, put, read_whole, takes_names,
};
pub use own::{is_closed, why_foreign, why_not_own};
pub use path_at::{PathAt, folder_of};
pub use proc::{MountEntry, is_proc_mounted, proc_words};
pub use umask::{coarse_now_ns, umask};
pub use way::{FoldersAbove, UpStep, WayStep, path_of, way, way_up};

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

pub use datapump_core::{FileKind, Meta};
use datapump_engine::sim::SimDisk;
use datapump_engine::{Errno, Handle};

/// How to open an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For reading.
    Read,
    /// For reading and writing.
    ReadWrite,
    /// For writing.
    Write,
    /// To write to a block device that nothing else uses: open(2), `O_EXCL` without `O_CREAT`.
    WriteAlone,
}

/// A file system.
#[derive(Clone, Debug)]
pub enum Disk {
    /// That of this host.
    Os,
    /// A simulated one.
    Sim(Arc<SimDisk>),
}

/// An open folder, in which names are made, moved and removed.
#[derive(Clone, Debug)]
pub enum Folder {
    /// A folder of this host.
    Os(Arc<std::fs::File>),
    /// The only folder of a simulated file system.
    Sim(Arc<SimDisk>),
}

/// A result, or the number of the error that the system told.
pub type Outcome<T> = Result<T, Errno>;

/// What the file system says about itself where a file lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Bytes that this user may still write.
    pub free_bytes: u64,
    /// Bytes that the file system has, or the quota of a project.
    pub total_bytes: u64,
    /// Files that may still be made.
    pub free_inodes: u64,
    /// Files that there may be; 0 where they are not counted.
    pub inodes: u64,
    /// `statfs(2)` type.
    pub magic: u64,
}

impl Room {
    /// Room of a simulated file system.
    fn endless() -> Room {
        Room { free_bytes: u64::MAX, total_bytes: u64::MAX, ..Room::default() }
    }

    /// Whether no file can be made, since all inodes are used.
    pub fn has_no_inodes(&self) -> bool {
        self.inodes > 0 && self.free_inodes == 0
    }
}

impl Disk {
    /// Opens an existing file by its path, following links.
    pub fn open(&self, path: &Path, access: Access) -> Outcome<Handle> {
        match self {
            Disk::Os => os::open(path, access).map(Handle::Os),
            Disk::Sim(disk) => disk.open(sim::name(path.as_os_str())).map(Handle::Sim),
        }
    }

    /// What the path refers to, following links.
    pub fn metadata(&self, path: &Path) -> Outcome<Meta> {
        match self {
            Disk::Os => os::metadata(path),
            Disk::Sim(disk) => disk.metadata(sim::name(path.as_os_str())).map(sim::meta),
        }
    }

    /// Opens a folder to change names in it.
    pub fn folder(&self, path: &Path) -> Outcome<Folder> {
        match self {
            Disk::Os => os::folder(path).map(Arc::new).map(Folder::Os),
            Disk::Sim(disk) => Ok(Folder::Sim(Arc::clone(disk))),
        }
    }
}

impl Folder {
    /// Makes a new file that only this user may read, open for reading and writing; `EEXIST` if the name is taken.
    pub fn create_new(&self, name: &OsStr) -> Outcome<Handle> {
        match self {
            Folder::Os(folder) => os::create_new(folder, name).map(Handle::Os),
            Folder::Sim(disk) => disk.create_new(sim::name(name), 0o600).map(Handle::Sim),
        }
    }

    /// Opens a file in the folder, never through a symbolic link, and waits for nothing.
    pub fn open(&self, name: &OsStr, access: Access) -> Outcome<Handle> {
        match self {
            Folder::Os(folder) => os::open_file_at(folder, name, access).map(Handle::Os),
            Folder::Sim(disk) => disk.open(sim::name(name)).map(Handle::Sim),
        }
    }

    /// What a name in the folder is, not following links.
    pub fn metadata(&self, name: &OsStr) -> Outcome<Meta> {
        match self {
            Folder::Os(folder) => os::metadata_at(folder, name),
            Folder::Sim(disk) => disk.metadata(sim::name(name)).map(sim::meta),
        }
    }

    /// Makes a file without a name, to be linked in when it is complete; `EOPNOTSUPP` where that cannot be had.
    pub fn make_unnamed(&self, mode: u32) -> Outcome<Handle> {
        match self {
            Folder::Os(folder) => names::make_unnamed(folder, mode).map(Handle::Os),
            Folder::Sim(_) => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Gives a file without a name its first one; `EEXIST` if it is taken.
    pub fn link_in(&self, file: &Handle, name: &OsStr) -> Outcome<()> {
        match (self, file) {
            (Folder::Os(folder), Handle::Os(file)) => names::link_in(file, folder, name),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Removes a name that is no folder.
    pub fn remove(&self, name: &OsStr) -> Outcome<()> {
        match self {
            Folder::Os(folder) => os::remove(folder, name),
            Folder::Sim(disk) => disk.remove(sim::name(name)),
        }
    }

    /// Moves a name within the folder, replacing what stood there.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> Outcome<()> {
        match self {
            Folder::Os(folder) => names::rename(folder, from, folder, to),
            Folder::Sim(disk) => disk.rename(sim::name(from), sim::name(to)),
        }
    }

    /// Moves a name within the folder; `EEXIST` if the new name is taken.
    pub fn rename_new(&self, from: &OsStr, to: &OsStr) -> Outcome<()> {
        match self {
            Folder::Os(folder) => names::rename_new(folder, from, to),
            Folder::Sim(disk) => disk.rename(sim::name(from), sim::name(to)),
        }
    }

    /// Makes the names in the folder durable.
    pub fn sync(&self) -> Outcome<()> {
        match self {
            Folder::Os(folder) => os::sync(folder),
            Folder::Sim(disk) => disk.sync_folder(),
        }
    }

    /// The free space where the folder lies.
    pub fn room(&self) -> Room {
        match self {
            Folder::Os(folder) => os::room(folder),
            Folder::Sim(_) => Room::endless(),
        }
    }

    /// Which run of the system this is; zeros where it does not tell.
    pub fn boot(&self) -> [u8; 16] {
        match self {
            Folder::Os(_) => os::boot(),
            Folder::Sim(disk) => u128::from(disk.boots() + 1).to_le_bytes(),
        }
    }
}

/// What the file system says about itself where an open folder lies.
pub fn room(folder: &std::fs::File) -> Room {
    os::room(folder)
}

/// The `statfs(2)` type of the file system on which an open folder lies.
pub fn magic(folder: &std::fs::File) -> u64 {
    os::room(folder).magic
}

/// Whether the kernel makes the file's content up as it is read: its size tells nothing.
pub fn is_made_up(handle: &Handle) -> bool {
    kind::is_made_up(handle.room().magic)
}

/// The same for all files of a folder.
pub fn folder_is_made_up(folder: &std::fs::File) -> bool {
    kind::is_made_up(magic(folder))
}

/// Whether a link of this name in an open folder is a descriptor of a process, as those that /dev/fd leads to. It
/// stands for what is open, and its words may name another file by now, or none.
pub fn is_descriptor(folder: &std::fs::File, name: &OsStr) -> bool {
    let is_number = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    is_number && kind::holds_descriptors(magic(folder))
}

/// Whether two names in an open folder may be one.
pub fn may_fold_names(folder: &std::fs::File) -> bool {
    match kind::name_rule(magic(folder)) {
        kind::NameRule::Exact => false,
        kind::NameRule::ByFlag => os::folds_case(folder),
        kind::NameRule::Unknown => true,
    }
}

/// The same file, read through the cache, whatever was asked of the open one: direct reads would have to be aligned.
pub fn open_cached(handle: &Handle) -> Outcome<Handle> {
    match handle {
        Handle::Os(file) => names::open_again(file, Access::Read).map(Handle::Os),
        Handle::Sim(_) => Err(Errno::EINVAL),
    }
}

/// With what tells an open file from all that have or had its inode number: [`names::with_identity`].
pub fn open_with_identity(meta: Meta, handle: &Handle) -> Meta {
    if meta.links > 1 { with_handle(meta, handle) } else { meta }
}

/// The same of a file that may be reached by several names, though it has one.
pub fn with_handle(meta: Meta, handle: &Handle) -> Meta {
    Meta { generation: handle.generation(), handle: handle.handle_sum(), ..meta }
}

/// What an open folder is.
pub fn file_meta(folder: &std::fs::File) -> Outcome<Meta> {
    os::file_metadata(folder)
}
