//! Which name of the source each entry of a target folder belongs to, where two names may be one entry.
//!
//! Some file systems take names for the same that differ in case, accents or width, by tables of their own. So they are
//! asked: the entry that a name finds (device and inode) belongs to the first name of the source that finds or makes
//! it, and a second name that finds it is refused. Folders that a run makes need none of this: there `EEXIST` tells.
//!
//! Other file systems give one number to several files. Two names that the folder lists as they are written are two
//! entries, whatever their number. A name that this run made where nothing stood counts as listed: the folder is listed
//! again only for names that others made.
//!
//! Must not know: what is done with names, how they are listed.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};

use crate::listed::name_batches;
use crate::lock::StateLock;
use datapump_files::disk::{self, FileKind, Meta, names};
use datapump_files::identity::{FileId, id};

/// The entries of one folder and the names that they belong to. Kept only as long as the folder is worked on.
#[derive(Debug, Default)]
pub(crate) struct Claims(StateLock<ClaimedNames>);

#[derive(Debug, Default)]
struct ClaimedNames {
    owners: HashMap<FileId, Owners>,
    /// Of files with several names: how many entries of this folder they have.
    entries: HashMap<FileId, usize>,
    known: EntryNames,
}

/// Sums of names as they are written.
#[derive(Debug, Default)]
struct EntryNames {
    /// Those that the folder lists; only where two names had one number.
    listed: HashSet<u64>,
    /// Those that this run made where nothing stood.
    made: HashSet<u64>,
    hasher: RandomState,
}

/// The names that an entry, or the entries of one file with several names, belong to.
#[derive(Debug)]
struct Owners {
    first: OsString,
    others: HashSet<OsString>,
}

impl Owners {
    fn new(name: &OsStr) -> Owners {
        Owners { first: name.to_owned(), others: HashSet::new() }
    }

    fn has(&self, name: &OsStr) -> bool {
        self.first == name || self.others.contains(name)
    }
}

impl Claims {
    /// `None` where the file system tells all names apart.
    pub(crate) fn of(folder: &File) -> Option<Claims> {
        disk::may_fold_names(folder).then(Claims::default)
    }

    /// Claims an entry that a name found, or that was just made under it; false if it belongs to another name.
    pub(crate) fn claim(&self, folder: &File, entry: &Meta, name: &OsStr) -> bool {
        let mut claimed = self.0.lock();
        let ClaimedNames { owners, entries, known } = &mut *claimed;
        let file = id(entry);
        let Some(owner) = owners.get_mut(&file) else {
            owners.insert(file, Owners::new(name));
            return true;
        };
        if owner.has(name) {
            return true;
        }
        // What had this number was replaced meanwhile, and the number used again.
        if !is(folder, &owner.first, file) {
            *owner = Owners::new(name);
            return is(folder, name, file);
        }
        let is_own = match entry.kind {
            FileKind::Folder => false,
            _ if entry.links > 1 => has_entries(folder, file, owner.others.len() + 2, entries),
            _ => known.are_listed(folder, [&owner.first, name]),
        };
        if is_own {
            owner.others.insert(name.to_owned());
        }
        is_own
    }
}

impl Claims {
    /// Whether two names of one number are two entries.
    pub(crate) fn are_listed(&self, folder: &File, names: [&OsStr; 2]) -> bool {
        let mut claimed = self.0.lock();
        claimed.known.are_listed(folder, names)
    }

    /// This run made the name, and nothing stood there.
    pub(crate) fn note_made(&self, name: &OsStr) {
        let mut claimed = self.0.lock();
        let EntryNames { made, hasher, .. } = &mut claimed.known;
        made.insert(hasher.hash_one(name));
    }

    /// Notes that a file got one more name in this folder, which is its own from now on.
    pub(crate) fn add(&self, entry: &Meta, name: &OsStr) {
        let mut claimed = self.0.lock();
        let ClaimedNames { owners, entries, .. } = &mut *claimed;
        let owner = owners.entry(id(entry)).or_insert_with(|| Owners::new(name));
        if !owner.has(name) {
            owner.others.insert(name.to_owned());
            entries.entry(id(entry)).and_modify(|count| *count += 1);
        }
    }
}

fn is(folder: &File, name: &OsStr, file: FileId) -> bool {
    names::metadata(folder, name).is_ok_and(|meta| id(&meta) == file)
}

/// Whether a file has so many entries in the folder. They are counted again when they do not suffice.
fn has_entries(folder: &File, file: FileId, count: usize, entries: &mut HashMap<FileId, usize>) -> bool {
    let enough = |entries: &HashMap<FileId, usize>| entries.get(&file).is_some_and(|&found| found >= count);
    if !enough(entries) {
        *entries = counted(folder);
    }
    enough(entries)
}

impl EntryNames {
    /// Whether a folder lists both names as they are written. It is listed again where that was not so.
    fn are_listed(&mut self, folder: &File, names: [&OsStr; 2]) -> bool {
        let EntryNames { listed, made, hasher } = self;
        let sums = names.map(|name| hasher.hash_one(name));
        if sums.iter().all(|sum| listed.contains(sum) || made.contains(sum)) {
            return true;
        }
        listed.clear();
        each_name(folder, |name| {
            listed.insert(hasher.hash_one(name));
        });
        // A folder that lists what was made otherwise lists no name as it is written.
        if !made.is_subset(listed) {
            listed.clear();
        }
        sums.iter().all(|sum| listed.contains(sum))
    }
}

/// How many names of this folder each file with several has.
fn counted(folder: &File) -> HashMap<FileId, usize> {
    let mut entries = HashMap::new();
    each_name(folder, |name| {
        if let Some(meta) = names::metadata(folder, name).ok().filter(|meta| meta.links > 1) {
            *entries.entry(id(&meta)).or_insert(0) += 1;
        }
    });
    entries
}

/// What cannot be listed has no entries: then names are refused rather than lost. The folder is opened anew: some file
/// systems list what an open one held when it was opened.
fn each_name(folder: &File, mut deal: impl FnMut(&OsStr)) {
    let Ok(folder) = names::open_folder(folder, OsStr::new(".")) else { return };
    let batches = name_batches(|cookie| names::list(&folder, cookie));
    batches.map_while(Result::ok).flatten().for_each(|name| deal(&name.name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_belongs_to_the_first_name_that_finds_it() {
        let room = tempfile::tempdir().expect("room");
        let path = |name: &str| room.path().join(name);
        for name in ["a", "b"] {
            std::fs::write(path(name), name).expect("room");
        }
        std::fs::hard_link(path("a"), path("linked")).expect("links");
        let (folder, claims) = (File::open(room.path()).expect("it is there"), Claims::default());
        let found = |name: &str| names::metadata(&folder, OsStr::new(name)).expect("it is there");
        for (entry, name, expected) in [
            ("b", "b", true),
            // It is dealt with once more.
            ("b", "b", true),
            ("b", "B", false),
            ("a", "a", true),
            // One file with two entries here has room for two names.
            ("linked", "linked", true),
            ("linked", "LINKED", false),
        ] {
            assert_eq!(claims.claim(&folder, &found(entry), OsStr::new(name)), expected, "{name}");
        }
        // Another file of the same number has an entry of its own; another name of it has none.
        std::fs::write(path("numbered"), "n").expect("room");
        assert!(claims.claim(&folder, &found("b"), OsStr::new("numbered")), "a file of its own");
        assert!(!claims.claim(&folder, &found("b"), OsStr::new("NUMBERED")), "the same entry");
        // What was made where nothing stood counts as listed, until the folder lists it otherwise.
        std::fs::write(path("made"), "m").expect("room");
        for made in ["made", "MADE"] {
            claims.note_made(OsStr::new(made));
            assert!(claims.claim(&folder, &found("b"), OsStr::new(made)), "{made}");
        }
        std::fs::write(path("other"), "o").expect("room");
        assert!(!claims.claim(&folder, &found("b"), OsStr::new("other")), "MADE is listed otherwise");
        // The number of what was replaced is used again.
        let (b, b_path) = (found("b"), path("b"));
        std::fs::rename(path("a"), b_path).expect("one folder");
        assert!(!claims.claim(&folder, &b, OsStr::new("c")), "nothing stands under this name");
    }
}
