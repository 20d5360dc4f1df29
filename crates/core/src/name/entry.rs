//! A directory entry as `stat(2)` describes it.
//!
//! Must not know: paths, how entries are looked at, what is decided about them.

use minicbor::{Decode, Encode};

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum FileKind {
    /// A regular file.
    #[n(0)]
    Regular,
    /// A directory.
    #[n(1)]
    Folder,
    /// A symbolic link.
    #[n(2)]
    Symlink,
    /// A named pipe.
    #[n(3)]
    Fifo,
    /// A character device.
    #[n(4)]
    CharDevice,
    /// A block device.
    #[n(5)]
    BlockDevice,
    /// A socket.
    #[n(6)]
    Socket,
}

/// `stat(2)` of an entry, as far as it matters here. Times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// The device that it lies on.
    pub device: u64,
    /// Its inode number there.
    pub inode: u64,
    /// Its kind.
    pub kind: FileKind,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Bytes that the file system says it allocated.
    pub allocated_bytes: u64,
    /// Names that the file has.
    pub links: u64,
    /// Permissions and set-id bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Time of access.
    pub atime_ns: i128,
    /// Time of change of the content.
    pub mtime_ns: i128,
    /// Time of change of the attributes.
    pub ctime_ns: i128,
    /// The device that a device file stands for.
    pub special_device: u64,
    /// Which of the files that had this inode number it is. Read only where names are linked; 0: not known.
    pub generation: u32,
    /// A sum of the handle by which its file system tells it from all others. Read only where names are linked;
    /// 0: not known.
    pub handle: u64,
}

impl Meta {
    /// An empty file: tests change what they are about.
    pub fn nothing() -> Meta {
        Meta {
            device: 1,
            inode: 1,
            kind: FileKind::Regular,
            size_bytes: 0,
            allocated_bytes: 0,
            links: 1,
            mode: 0,
            uid: 0,
            gid: 0,
            atime_ns: 0,
            mtime_ns: 0,
            ctime_ns: 0,
            special_device: 0,
            generation: 0,
            handle: 0,
        }
    }
}
