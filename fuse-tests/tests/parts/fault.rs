//! What may go wrong in a file system.
//!
//! Must not know: the file system.

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Reading this byte fails with this error number.
    Read(u64, i32),
    /// Writing this byte fails with this error number.
    Write(u64, i32),
    /// Every sync of a file fails.
    Sync(i32),
    /// Every close of a file whose number is a multiple of this fails, and what it held is lost.
    Close(u64, i32),
    /// A name of more bytes, or with a colon, is given to nothing: it fails with this error number.
    Name(usize, i32),
    /// Every rename fails.
    Rename(i32),
    /// When this byte is read, the file is cut off there first.
    Truncate(u64),
    /// This byte is stored with a bit flipped, the next time that it is written.
    Flip(u64),
}
