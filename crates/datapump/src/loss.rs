//! What of a file could not be kept although its content was, and whose limit that is.
//!
//! Must not know: how attributes are set, who is told.

use datapump_engine::Errno;

use crate::problem::{Class, class_of, system_words};

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// An ordinary user may give it to no file (an owner, a capability): told once, and no failure, as with cp and
    /// rsync.
    User,
    /// This file system keeps it of no file: told once.
    FileSystem,
    /// This file alone lost it.
    File,
}

/// One attribute that was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) limit: Limit,
    pub(crate) class: Class,
    /// What it is, a colon, and why.
    pub(crate) words: String,
}

/// All that one file lost.
pub(crate) type Lost = Vec<Loss>;

impl Loss {
    pub(crate) fn new(limit: Limit, errno: Errno, words: impl Into<String>) -> Loss {
        Loss { limit, class: class_of(errno.0), words: words.into() }
    }

    /// With what the system said of it.
    pub(crate) fn system(limit: Limit, errno: Errno, what: &str) -> Loss {
        Loss::new(limit, errno, format!("{what}: {}", system_words(errno.0)))
    }
}

/// Whose limit it is that something was not permitted.
pub(crate) fn not_permitted() -> Limit {
    if rustix::process::geteuid().is_root() { Limit::FileSystem } else { Limit::User }
}
