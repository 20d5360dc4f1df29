//! The names of one folder as its listing gave them: a key and an inode number each, 16 bytes.
//!
//! The key is a keyed hash of the name. Two names of one key are taken for one: a name that the source does not have is
//! kept then, never removed. Of a folder that was not listed to its end nothing is known.
//!
//! Must not know: how names are hashed, where records are kept.

/// Bytes of a name in a record.
pub const RECORD_BYTES: usize = size_of::<WalkedName>();

/// No file system gives this number to a file.
const MISSED: u64 = u64::MAX;

/// The number that a listing of FUSE reports where it knows none (`FUSE_UNKNOWN_INO` of libfuse).
const UNKNOWN: u64 = 0xffff_ffff;

/// A name of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WalkedName {
    /// The keyed hash of the name.
    pub key: u64,
    /// The inode number that the listing reported; 0 where it reports none.
    pub inode: u64,
}

impl WalkedName {
    /// Whether its number is that of a file.
    fn has_number(self) -> bool {
        ![MISSED, UNKNOWN].contains(&self.inode)
    }
}

/// The names of one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderNames {
    /// In order once the folder was listed to its end.
    names: Vec<WalkedName>,
    is_whole: bool,
    /// All names have one number: some file systems give it to every file.
    is_of_one_number: bool,
}

impl FolderNames {
    /// The next names that the listing gave.
    pub fn add(&mut self, names: impl IntoIterator<Item = WalkedName>) {
        self.is_whole = false;
        self.names.extend(names);
    }

    /// The listing came to its end.
    pub fn end(&mut self) {
        self.names.sort_unstable();
        self.names.dedup();
        self.names.shrink_to_fit();
        self.is_whole = true;
        self.is_of_one_number = is_of_one_number(&self.names);
    }

    /// Whether the folder was listed to its end.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Names so far.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether it has no names so far.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the folder has a name of this key; `None` where it was not listed to its end.
    pub fn has(&self, key: u64) -> Option<bool> {
        self.is_whole.then(|| self.first_of(key).is_some())
    }

    /// A name vanished before it was copied: it counts as listed, and as another file once it is met again.
    pub fn miss(&mut self, key: u64) {
        let missed = |name: &&mut WalkedName| name.key == key;
        self.names.iter_mut().filter(missed).for_each(|name| name.inode = MISSED);
        if self.is_whole {
            self.names.sort_unstable();
        }
    }

    /// Whether a name was listed and not copied then.
    pub fn is_missed(&self, key: u64) -> bool {
        self.inode_of(key) == Some(MISSED)
    }

    /// Whether it has this name for the same file, as far as the numbers identify files.
    pub fn has_same(&self, name: WalkedName) -> bool {
        self.is_whole && self.identifies(name) && self.names.binary_search(&name).is_ok()
    }

    fn identifies(&self, name: WalkedName) -> bool {
        name.has_number() && !self.is_of_one_number
    }

    /// Whether all its names are those of the other record, for the same files. `are_links`: they are names of one file, which
    /// is asked where all have one number.
    pub fn is_same(&self, other: &FolderNames, are_links: impl FnOnce() -> bool) -> bool {
        let have_numbers = self.names.iter().all(|name| name.has_number());
        self == other && have_numbers && (!self.is_of_one_number || are_links())
    }

    /// The inode number under a name of this key, where the folder was listed to its end and has one.
    pub fn inode_of(&self, key: u64) -> Option<u64> {
        self.first_of(key).filter(|_| self.is_whole).map(|name| name.inode)
    }

    fn first_of(&self, key: u64) -> Option<&WalkedName> {
        let at = self.names.partition_point(|name| name.key < key);
        self.names.get(at).filter(|name| name.key == key)
    }

    /// All names.
    pub fn names(&self) -> &[WalkedName] {
        &self.names
    }

    /// The names of a whole record; `None` of names in no order, which no whole record has.
    pub(super) fn whole(names: Vec<WalkedName>) -> Option<FolderNames> {
        let is_of_one_number = is_of_one_number(&names);
        names.is_sorted().then_some(FolderNames { names, is_whole: true, is_of_one_number })
    }
}

fn is_of_one_number(names: &[WalkedName]) -> bool {
    names.len() > 1 && names[0].inode != 0 && names.iter().all(|name| name.inode == names[0].inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(key: u64, inode: u64) -> WalkedName {
        WalkedName { key, inode }
    }

    #[test]
    fn a_record_answers_once_its_folder_was_listed_to_its_end() {
        let mut names = FolderNames::default();
        names.add([name(5, 50), name(3, 30)]);
        assert_eq!((names.has(5), names.has_same(name(5, 50))), (None, false), "more may come");
        names.add([name(4, 40), name(3, 30)]);
        names.end();
        assert_eq!([3, 4, 5, 6].map(|key| names.has(key)), [Some(true), Some(true), Some(true), Some(false)]);
        assert!(names.has_same(name(3, 30)) && !names.has_same(name(3, 31)));
        assert_eq!(names.len(), 3, "a listing may give a name twice");
        assert_eq!(RECORD_BYTES, 16);
    }

    #[test]
    fn numbers_that_identify_no_file_make_no_name_the_same() {
        for (numbers, is_same, may_be_links) in [
            ([7, 8], true, true),
            ([7, 7], false, true),
            ([UNKNOWN, UNKNOWN], false, false),
            ([UNKNOWN, 8], false, false),
            ([0, 0], true, true),
        ] {
            let mut names = FolderNames::default();
            names.add([name(1, numbers[0]), name(2, numbers[1])]);
            names.end();
            assert_eq!(names.has_same(name(1, numbers[0])), is_same, "{numbers:?}");
            assert_eq!(names.is_same(&names.clone(), || false), is_same, "{numbers:?}");
            assert_eq!(names.is_same(&names.clone(), || true), may_be_links, "{numbers:?}");
            assert_eq!(names.has(1), Some(true), "{numbers:?}");
        }
    }

    #[test]
    fn a_record_in_no_order_is_none() {
        assert!(FolderNames::whole(vec![name(1, 1), name(2, 1)]).is_some_and(|names| names.is_whole()));
        assert_eq!(FolderNames::whole(vec![name(2, 1), name(1, 1)]), None);
    }
}
