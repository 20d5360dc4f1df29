//! Attributes that could not be kept although the content was, and whose limit that is.
//!
//! Must not know: how attributes are set, who is told.

use datapump_engine::Errno;

use crate::disk::proc_words;
use crate::problem::{AttributeKind, Class, class_of, system_words};

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Only root gives files to others, of which cp and rsync say nothing; or nobody asked to keep it: for those who
    /// ask.
    Silent,
    /// An ordinary user may give it to no file (a capability): told once, and no failure, as with cp and rsync.
    User,
    /// It was to be kept, and is not.
    Lost,
}

/// One attribute that was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// What it is.
    pub kind: AttributeKind,
    /// Whose limit that is.
    pub limit: Limit,
    /// The class of the problem.
    pub class: Class,
    /// What the system said, if it refused.
    pub errno: Option<Errno>,
    /// What it is, a colon, and why.
    pub words: String,
}

/// All that one file lost.
pub type Lost = Vec<Loss>;

impl Loss {
    /// What the system refused, in words.
    pub fn new(kind: AttributeKind, limit: Limit, errno: Errno, words: impl Into<String>) -> Loss {
        Loss { kind, limit, class: class_of(errno.0), errno: Some(errno), words: words.into() }
    }

    /// With what the system said of it.
    pub fn system(kind: AttributeKind, errno: Errno, what: &str) -> Loss {
        Loss::new(kind, Limit::Lost, errno, format!("{what}: {}", words_of(errno)))
    }

    /// The system took it, and gives back something else.
    pub fn changed(kind: AttributeKind, words: impl Into<String>) -> Loss {
        Loss { kind, limit: Limit::Lost, class: Class::Io, errno: None, words: words.into() }
    }

    /// Silent where nobody asked to keep the attribute.
    pub fn if_asked(self, is_asked: bool) -> Loss {
        Loss { limit: if is_asked { self.limit } else { Limit::Silent }, ..self }
    }
}

fn words_of(errno: Errno) -> String {
    proc_words(errno).map_or_else(|| system_words(errno.0), str::to_owned)
}

/// Whether this user may do what only root may.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
