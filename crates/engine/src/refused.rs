//! Why an engine cannot be had.
//!
//! Must not know: which engine.

use crate::Errno;

/// Why an engine cannot be had here: the call that failed and what the system said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The call, such as `io_uring_setup`.
    pub call: &'static str,
    /// What the system said.
    pub errno: Errno,
}
