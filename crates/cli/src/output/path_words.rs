//! Paths for people.
//!
//! Must not know: where they are shown.

pub(crate) mod change_words;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use datapump::shown;

/// A path for people, control characters escaped.
pub fn path_words(path: &Path) -> String {
    shown(path.as_os_str().as_bytes())
}
