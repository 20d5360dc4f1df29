//! A name as a folder lists it, on this host or another, with what is known of it without asking.
//!
//! Must not know: what becomes of it.

use std::ffi::OsString;
use std::fmt::Debug;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use datapump_engine::Errno;

use crate::open::held::Attributes;
use crate::setup::budget::Charge;
use datapump_files::disk::{DirEntry, FileKind, Meta, Outcome, names};

/// Something that comes without a request: another host is told when this is dropped and nobody took it.
pub trait Coming: Debug + Send + Sync {
    /// The number under which it comes.
    fn number(&self) -> u64;
}

/// What the listing of a folder told of a name.
#[derive(Clone, Debug)]
pub struct ListedEntry {
    pub meta: Result<Meta, Errno>,
    pub points_to: Option<OsString>,
    /// `None` of a folder or socket, and of a regular file where they were not requested or did not fit.
    pub attributes: Option<Attributes>,
    /// A temporary file that a pump uses or can resume. The flag is told of a name that is looked at alone.
    pub is_partial: bool,
    /// It comes before it is requested: its content, or the names of a folder.
    pub follows: Option<Arc<dyn Coming>>,
    /// What its listing takes, given back with the last name of it.
    pub _charge: Option<Arc<Charge>>,
}

impl ListedEntry {
    /// A file of which nothing else was reported.
    pub fn from_meta(meta: Meta) -> ListedEntry {
        ListedEntry {
            meta: Ok(meta),
            points_to: None,
            attributes: None,
            is_partial: false,
            follows: None,
            _charge: None,
        }
    }
}

/// A name as a folder lists it.
#[derive(Clone, Debug)]
pub struct Name {
    pub name: OsString,
    /// What the listing says it is; `None` where the file system does not tell there.
    pub kind: Option<FileKind>,
    /// What another host told of it with the listing.
    pub reported: Option<Box<ListedEntry>>,
    /// The inode number that a listing of this host told; 0 of what was not listed.
    pub listed_inode: u64,
    /// A server lists it and does not serve it: a file of its own. What the target has under the name stays.
    pub is_withheld: bool,
    /// A list of the user has it: it may never have been.
    pub is_selected: bool,
}

impl Name {
    /// A name of this host.
    pub fn here(name: OsString, kind: Option<FileKind>) -> Name {
        Name { name, kind, reported: None, listed_inode: 0, is_withheld: false, is_selected: false }
    }

    /// Names of a list of the user, of which nothing is known yet.
    pub fn selected(names: Vec<Vec<u8>>) -> Vec<Name> {
        let selected = |name| Name { is_selected: true, ..Name::here(OsString::from_vec(name), None) };
        names.into_iter().map(selected).collect()
    }

    /// A name with what another host reported of it.
    pub fn from_remote(name: OsString, kind: Option<FileKind>, reported: ListedEntry) -> Name {
        Name { reported: Some(Box::new(reported)), ..Name::here(name, kind) }
    }

    /// This name without what its listing says of it, if that can be requested again: it would hold the memory of all names of
    /// the listing, and what comes without a request.
    pub(crate) fn without_listing(&self) -> Name {
        let reported = self.reported.clone().filter(|_| self.kind.is_none());
        Name { name: self.name.clone(), reported, ..*self }
    }

    /// The inode number, as the listing told it.
    pub fn inode(&self) -> u64 {
        let reported = self.reported.as_ref().and_then(|reported| reported.meta.ok());
        reported.map_or(self.listed_inode, |meta| meta.inode)
    }

    /// Whether a folder listed it, or a look found it. One that another host lists without a kind was gone when that looked
    /// at it.
    pub fn was_seen(&self) -> bool {
        let is_found = |reported: &ListedEntry| reported.meta.is_ok() || !self.is_selected;
        self.kind.is_some() || self.reported.as_deref().is_some_and(is_found)
    }

    /// What comes without a request.
    pub fn follows(&self) -> Option<&Arc<dyn Coming>> {
        self.reported.as_ref()?.follows.as_ref()
    }
}

impl From<DirEntry> for Name {
    fn from(entry: DirEntry) -> Name {
        let DirEntry { name, kind, inode, is_withheld } = entry;
        Name { listed_inode: inode, is_withheld, ..Name::here(name, kind) }
    }
}

/// The names of a folder, as many at a time as it lists.
pub(crate) fn name_batches<N, E>(
    mut list: impl FnMut(u64) -> Result<(Vec<N>, u64), E>,
) -> impl Iterator<Item = Result<Vec<N>, E>> {
    let mut cookie = Some(0);
    std::iter::from_fn(move || match list(cookie.take()?) {
        Ok((names, _)) if names.is_empty() => None,
        Ok((names, next)) => {
            cookie = Some(next);
            Some(Ok(names))
        }
        Err(error) => Some(Err(error)),
    })
}

/// The next names of a folder of this host from `cookie` on (0: the first), and the cookie behind them; no names at the
/// end.
pub fn list(folder: &File, cookie: u64) -> Outcome<(Vec<Name>, u64)> {
    let (entries, next) = names::list(folder, cookie)?;
    Ok((entries.into_iter().map(Name::from).collect(), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Ahead;

    impl Coming for Ahead {
        fn number(&self) -> u64 {
            1
        }
    }

    /// A name without a kind cannot be requested again.
    #[test]
    fn a_name_that_waits_holds_nothing_of_its_listing() {
        for (kind, holders) in [(Some(FileKind::Regular), 1), (None, 2)] {
            let ahead: Arc<dyn Coming> = Arc::new(Ahead);
            let follows = Some(Arc::clone(&ahead));
            let reported = ListedEntry { follows, ..ListedEntry::from_meta(Meta::nothing()) };
            let waiting = Name::from_remote("name".into(), kind, reported).without_listing();
            assert_eq!((waiting.kind, Arc::strong_count(&ahead)), (kind, holders));
        }
    }
}
