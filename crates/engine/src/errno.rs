//! Error numbers by their names: errno(3).
//!
//! They differ between systems, and are written nowhere else. Must not know: what follows from an error.

/// An error number of the operating system (`errno`), as the system gave it; its text is made elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

/// Why an engine cannot be had here: the call that failed and what the system said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The call, such as `io_uring_setup`.
    pub call: &'static str,
    /// What the system said.
    pub errno: Errno,
}

impl Errno {
    /// The number in an I/O error of the standard library; `EIO` where it carries none.
    pub fn from_io_error(error: &std::io::Error) -> Errno {
        error.raw_os_error().map_or(Errno::EIO, Errno)
    }
}

/// Defines each number: that of this system, or where it has none of these names the one that Windows' C runtime has.
macro_rules! named {
    ($($name:ident $other:literal $what:literal)*) => {
        impl Errno {
            $(
                #[doc = $what]
                #[cfg(unix)]
                pub const $name: Errno = Errno(libc::$name);
                #[doc = $what]
                #[cfg(not(unix))]
                pub const $name: Errno = Errno($other);
            )*
        }
    };
}

named! {
    EPERM 1 "Not permitted."
    ENOENT 2 "It is not there."
    EINTR 4 "Interrupted by a signal."
    EIO 5 "Input or output failed."
    E2BIG 7 "Too long a list."
    EBADF 9 "No open file."
    EAGAIN 11 "It would have to wait."
    EACCES 13 "Its mode forbids it."
    EBUSY 16 "In use."
    EEXIST 17 "It is there already."
    EXDEV 18 "On another file system."
    ENOTDIR 20 "Not a directory."
    EISDIR 21 "A directory."
    EINVAL 22 "Not a valid argument."
    ENFILE 23 "Too many files are open in the system."
    EMFILE 24 "Too many files are open in this process."
    EFBIG 27 "Too large a file."
    ENOSPC 28 "No room is left."
    ESPIPE 29 "It has no places to go to."
    EROFS 30 "A file system that is mounted read-only."
    EMLINK 31 "Too many names."
    ENAMETOOLONG 38 "Too long a name."
    ERANGE 34 "More than there is room for."
    ENOSYS 40 "The system has no such call."
    ENOTEMPTY 41 "A directory that is not empty."
    EILSEQ 42 "Bytes that are no characters here."
    ECANCELED 105 "Cancelled."
    EOVERFLOW 132 "Too large a value."
    ECONNRESET 108 "The connection was lost."
    ELOOP 114 "Too many symbolic links."
    EOPNOTSUPP 130 "Not supported here."
    ESTALE 70 "The file system no longer knows the handle."
}
