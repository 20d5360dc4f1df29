//! The names of one folder, some at a time: which of them are next, and what has to be listed for it. A machine: it
//! says what it wants to have listed, and is given that.
//!
//! Must not know: how a folder is listed, on which host, what is done with its names.

pub(crate) mod listed_early;
pub(crate) mod names_once;

use std::collections::BTreeSet;

use crate::listed::Name;
use datapump_core::selection::Listing;
use datapump_files::disk::FileKind;

/// Names of a list that are taken at a time.
const LISTED_NAMES: usize = 1024;
/// A place that no file system gives: behind the names of a list (the folder's own are listed from the first on), or
/// behind all names (the end is not listed once more).
const BEHIND_NAMES: u64 = u64::MAX;

/// The next step.
pub(crate) enum Next {
    /// The folder's own names from this place on are wanted: [`Lister::handle_listed`].
    List(u64),
    /// These names; none at the end.
    Names(Vec<Name>),
}

/// The names of one folder from one place on.
pub(crate) struct Lister {
    way: ListWay,
    /// Where the next names begin.
    from: u64,
    listed: Option<Vec<Name>>,
}

enum ListWay {
    /// As the file system gives them.
    AsTheyCome,
    /// Files first, and in the order of their bytes, as rsync walks: then all are held at once.
    InOrder(Vec<Name>),
    /// Those of a list alone.
    Listed(Vec<Name>),
    /// Those of a list, then the others.
    ListedFirst(Vec<Name>),
}

impl Lister {
    /// `from`: [`Lister::from`] after the names before; 0 for the first.
    pub(crate) fn new(listing: Listing, from: u64, in_order: bool) -> Lister {
        let way = match listing {
            Listing::Folder if in_order => ListWay::InOrder(Vec::new()),
            Listing::Folder => ListWay::AsTheyCome,
            Listing::Listed(names) => ListWay::Listed(Name::selected(names)),
            Listing::Both(names) => ListWay::ListedFirst(Name::selected(names)),
        };
        Lister { way, from, listed: None }
    }

    /// Where the names behind these begin.
    pub(crate) fn from(&self) -> u64 {
        self.from
    }

    /// What was wanted.
    pub(crate) fn handle_listed(&mut self, names: Vec<Name>, from: u64) {
        (self.listed, self.from) = (Some(names), from);
    }

    /// The next step: names to deal with, or a position from which the folder is to be listed.
    pub(crate) fn poll(&mut self) -> Next {
        match (&mut self.way, self.listed.take()) {
            (ListWay::Listed(names), _) => {
                let names: Vec<Name> = names.drain(..).skip(self.from as usize).take(LISTED_NAMES).collect();
                self.from += names.len() as u64;
                Next::Names(names)
            }
            (ListWay::ListedFirst(names), None) if self.from == 0 => {
                self.from = BEHIND_NAMES;
                Next::Names(std::mem::take(names))
            }
            (ListWay::InOrder(_), None) if self.from == BEHIND_NAMES => Next::Names(Vec::new()),
            (_, None) => Next::List(if self.from == BEHIND_NAMES { 0 } else { self.from }),
            (ListWay::AsTheyCome, Some(found)) => Next::Names(found),
            (ListWay::InOrder(all), Some(found)) if found.is_empty() => {
                self.from = BEHIND_NAMES;
                all.sort_by_cached_key(|name| (name.kind == Some(FileKind::Folder), name.name.clone()));
                Next::Names(std::mem::take(all))
            }
            (ListWay::InOrder(all), Some(found)) => {
                all.extend(found);
                Next::List(self.from)
            }
            (ListWay::ListedFirst(names), Some(found)) => {
                others(names, found).map_or(Next::List(self.from), Next::Names)
            }
        }
    }
}

/// What was found and is not on the list. `None` if that is nothing, and more may come.
fn others(listed: &[Name], found: Vec<Name>) -> Option<Vec<Name>> {
    let is_end = found.is_empty();
    let listed: BTreeSet<_> = listed.iter().map(|name| &name.name).collect();
    let others: Vec<Name> = found.into_iter().filter(|name| !listed.contains(&name.name)).collect();
    (is_end || !others.is_empty()).then_some(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Name {
        let kind = if name.ends_with('/') { FileKind::Folder } else { FileKind::Regular };
        Name::here(name.into(), Some(kind))
    }

    /// All names of a folder that gives two at a time, as they come out batch by batch.
    fn walked(listing: impl Fn() -> Listing, in_order: bool) -> Vec<String> {
        let folder = ["b", "d/", "a", "c"];
        let (mut from, mut all) = (0, Vec::new());
        loop {
            let mut lister = Lister::new(listing(), from, in_order);
            let names = loop {
                match lister.poll() {
                    Next::Names(names) => break names,
                    Next::List(at) => {
                        let names: Vec<Name> =
                            folder.iter().skip(at as usize).take(2).map(|it| name(it)).collect();
                        let next = at + names.len() as u64;
                        lister.handle_listed(names, next);
                    }
                }
            };
            if names.is_empty() {
                return all;
            }
            from = lister.from();
            all.extend(names.iter().map(|name| name.name.to_string_lossy().into_owned()));
        }
    }

    #[test]
    fn every_name_comes_once_in_each_way() {
        let some = || vec![b"c".to_vec(), b"b".to_vec()];
        assert_eq!(walked(|| Listing::Folder, false), ["b", "d/", "a", "c"]);
        assert_eq!(walked(|| Listing::Folder, true), ["a", "b", "c", "d/"]);
        assert_eq!(walked(|| Listing::Listed(some()), false), ["c", "b"]);
        assert_eq!(walked(|| Listing::Both(some()), false), ["c", "b", "d/", "a"]);
        let long = || Listing::Listed((0..3000).map(|number| number.to_string().into_bytes()).collect());
        assert_eq!(walked(long, false).len(), 3000);
    }
}
