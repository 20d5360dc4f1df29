//! The system's calls that engines make, under the same names on every system; each system's file lists what it
//! lacks. Every call is made on an open file and reports the system's error number.
//!
//! `stopped` is asked only when a stream has nothing to give or no room: a stream that moves is never interrupted,
//! so what was written to it stays whole.
//!
//! Must not know: requests, slots, names of files, why a call is made.

#[cfg(unix)]
// Calls on names, and the signals that end a process, are Linux' alone.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod again;
#[cfg(target_os = "linux")]
pub mod linux;
#[cfg(target_os = "linux")]
pub use linux::{ECANCELED, ENOSYS, copy_file_range, read_at, read_stream, rw_flags, write_at, write_stream};

#[cfg(all(unix, not(target_os = "linux")))]
mod macos;
#[cfg(all(unix, not(target_os = "linux")))]
pub use macos::{ECANCELED, ENOSYS, copy_file_range, read_at, read_stream, write_at, write_stream};

pub(crate) mod pages;

#[cfg(unix)]
mod unix;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub use windows::{ECANCELED, ENOSYS, copy_file_range, read_at, read_stream, write_at, write_stream};
