//! What of a file could not be kept although its content was, and whose limit that is.
//!
//! Must not know: how attributes are set, who is told.

use datapump_engine::Errno;

use crate::problem::{Class, class_of, system_words};

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Only root gives files to others, of which cp and rsync say nothing: for those who ask.
    Owner,
    /// An ordinary user may give it to no file (a capability): told once, and no failure, as with cp and rsync.
    User,
    /// This file system keeps it of no file: told once.
    FileSystem,
    /// This file alone lost it.
    File,
}

/// One attribute that was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Whose limit that is.
    pub limit: Limit,
    /// The class of the problem.
    pub class: Class,
    /// What it is, a colon, and why.
    pub words: String,
}

/// All that one file lost.
pub type Lost = Vec<Loss>;

impl Loss {
    /// What the system refused, in words.
    pub fn new(limit: Limit, errno: Errno, words: impl Into<String>) -> Loss {
        Loss { limit, class: class_of(errno.0), words: words.into() }
    }

    /// With what the system said of it.
    pub fn system(limit: Limit, errno: Errno, what: &str) -> Loss {
        Loss::new(limit, errno, format!("{what}: {}", system_words(errno.0)))
    }
}

/// Whose limit it is that something was not permitted.
pub fn not_permitted() -> Limit {
    if rustix::process::geteuid().is_root() { Limit::FileSystem } else { Limit::User }
}

/// The same of an owner.
pub fn owner_not_permitted() -> Limit {
    match not_permitted() {
        Limit::User => Limit::Owner,
        limit => limit,
    }
}
