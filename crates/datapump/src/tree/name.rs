//! A name of a folder of a tree, on this host or another, with what is known of it without asking.
//!
//! Must not know: what becomes of it.

use std::ffi::OsString;
use std::fs::File;

use crate::net::far::Told;
use datapump_files::disk::{DirEntry, FileKind, Outcome, names};

/// A name as a folder lists it.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) name: OsString,
    /// What the listing says it is; `None` where the file system does not tell there.
    pub(crate) kind: Option<FileKind>,
    /// What another host told of it with the listing.
    pub(crate) told: Option<Box<Told>>,
}

impl Name {
    /// A name of this host.
    pub(crate) fn here(name: OsString, kind: Option<FileKind>) -> Name {
        Name { name, kind, told: None }
    }
}

impl From<DirEntry> for Name {
    fn from(entry: DirEntry) -> Name {
        Name::here(entry.name, entry.kind)
    }
}

/// The next names of a folder of this host from `cookie` on (0: the first), and the cookie behind them; no names at the
/// end.
pub(crate) fn list(folder: &File, cookie: u64) -> Outcome<(Vec<Name>, u64)> {
    let (entries, next) = names::list(folder, cookie)?;
    Ok((entries.into_iter().map(Name::from).collect(), next))
}
