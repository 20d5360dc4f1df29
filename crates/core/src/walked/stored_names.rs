//! The names of one folder where they do not all fit in memory: in memory, in a file, or both.
//!
//! A whole record is written part by part behind those of other folders, and read back the same way. One that changes
//! is written once more, behind all others. Each has a sum over its folder's key and its bytes: a record that the disk
//! did not keep, or that of another folder, is never taken for it.
//!
//! Must not know: files, when memory is used up.

use super::{FolderNames, RECORD_BYTES, WalkedName};
use crate::marks::resume::fnv;

/// So many names are written or read at once.
const PART_NAMES: usize = 4096;

/// A record in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// Its first byte.
    at: u64,
    names: usize,
    sum: u64,
}

impl RecordPlace {
    /// Names in it.
    pub fn names(&self) -> usize {
        self.names
    }

    /// The first byte behind it.
    pub fn end(&self) -> u64 {
        self.at + self.names as u64 * RECORD_BYTES as u64
    }
}

/// The names of one folder, wherever they are.
#[derive(Clone, Debug)]
pub struct StoredNames {
    /// `None` where they are in the file alone.
    memory: Option<FolderNames>,
    /// The record in the file, as long as it says the same.
    written: Option<RecordPlace>,
}

impl Default for StoredNames {
    /// No names, of a folder that was not listed.
    fn default() -> StoredNames {
        StoredNames { memory: Some(FolderNames::default()), written: None }
    }
}

impl StoredNames {
    /// The names, where they are in memory.
    pub fn in_memory(&self) -> Option<&FolderNames> {
        self.memory.as_ref()
    }

    /// Names that are in memory.
    pub fn len_in_memory(&self) -> usize {
        self.memory.as_ref().map_or(0, FolderNames::len)
    }

    /// Whether the folder was listed to its end.
    pub fn is_whole(&self) -> bool {
        self.written.is_some() || self.memory.as_ref().is_some_and(FolderNames::is_whole)
    }

    /// The record that must be read before it answers.
    pub fn to_read(&self) -> Option<RecordPlace> {
        self.written.filter(|_| self.memory.is_none())
    }

    /// The record that must be written before it can be dropped from memory.
    pub fn to_write(&self) -> Option<&FolderNames> {
        self.memory.as_ref().filter(|names| self.written.is_none() && names.is_whole() && !names.is_empty())
    }

    /// It was written.
    pub fn handle_written(&mut self, place: RecordPlace) {
        self.written = Some(place);
    }

    /// It was read.
    pub fn handle_read(&mut self, names: FolderNames) {
        self.memory = Some(names);
    }

    /// Memory is for others. Names that are in the file are dropped here.
    pub fn drop_written(&mut self) {
        if self.written.is_some() {
            self.memory = None;
        }
    }

    /// The next names that the listing gave.
    pub fn add(&mut self, names: impl IntoIterator<Item = WalkedName>) {
        self.change(|memory| memory.add(names));
    }

    /// The listing has ended.
    pub fn end(&mut self) {
        self.change(FolderNames::end);
    }

    /// A name vanished before it was copied: [`FolderNames::miss`]. One that is in the file alone must be read before.
    pub fn miss(&mut self, key: u64) {
        self.change(|memory| memory.miss(key));
    }

    /// Names that were not read before they change are those of a folder that was not listed.
    fn change(&mut self, change: impl FnOnce(&mut FolderNames)) {
        self.written = None;
        change(self.memory.get_or_insert_default());
    }
}

/// A record on its way into a file.
#[derive(Debug)]
pub struct RecordEncoder<'names> {
    rest: &'names [WalkedName],
    next: u64,
    place: RecordPlace,
}

impl<'names> RecordEncoder<'names> {
    /// The names of the folder of this key, from this byte of the file on.
    pub fn new(names: &'names FolderNames, folder: u64, at: u64) -> RecordEncoder<'names> {
        let rest = names.names();
        RecordEncoder {
            rest,
            next: at,
            place: RecordPlace { at, names: rest.len(), sum: fnv(0, &folder.to_le_bytes()) },
        }
    }

    /// The next part, little endian, and its first byte in the file; `None` behind the last.
    pub fn next_part(&mut self, out: &mut Vec<u8>) -> Option<u64> {
        out.clear();
        if self.rest.is_empty() {
            return None;
        }
        let (part, rest) = self.rest.split_at(self.rest.len().min(PART_NAMES));
        for name in part {
            out.extend_from_slice(&name.key.to_le_bytes());
            out.extend_from_slice(&name.inode.to_le_bytes());
        }
        let at = self.next;
        (self.rest, self.next) = (rest, at + out.len() as u64);
        self.place.sum = fnv(self.place.sum, out);
        Some(at)
    }

    /// The record, once all parts are written.
    pub fn place(&self) -> RecordPlace {
        self.place
    }
}

/// A record on its way out of a file.
#[derive(Debug)]
pub struct RecordDecoder {
    names: Vec<WalkedName>,
    place: RecordPlace,
    sum: u64,
}

impl RecordDecoder {
    /// The record of the folder of this key.
    pub fn new(place: RecordPlace, folder: u64) -> RecordDecoder {
        RecordDecoder { names: Vec::with_capacity(place.names), place, sum: fnv(0, &folder.to_le_bytes()) }
    }

    /// The first byte of the next part in the file, and its length; `None` behind the last.
    pub fn next_part(&self) -> Option<(u64, usize)> {
        let rest = self.place.names - self.names.len();
        let at = self.place.at + (self.names.len() * RECORD_BYTES) as u64;
        (rest > 0).then_some((at, rest.min(PART_NAMES) * RECORD_BYTES))
    }

    /// The next part was read.
    pub fn add(&mut self, part: &[u8]) {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let name = |bytes: &[u8]| WalkedName { key: number(&bytes[..8]), inode: number(&bytes[8..]) };
        self.names.extend(part.chunks_exact(RECORD_BYTES).map(name));
        self.sum = fnv(self.sum, part);
    }

    /// The names, once all parts were read; `None` of bytes that are not those that were written.
    pub fn end(self) -> Option<FolderNames> {
        let is_same = self.sum == self.place.sum && self.names.len() == self.place.names;
        FolderNames::whole(self.names).filter(|_| is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: u64 = 7;

    fn record(count: u64) -> StoredNames {
        let mut stored = StoredNames::default();
        stored.add((0..count).map(|at| WalkedName { key: at * 7919 % 65_537, inode: at }));
        stored.end();
        stored
    }

    fn write(stored: &StoredNames, folder: u64, file: &mut Vec<u8>) -> Option<RecordPlace> {
        let mut encoder = RecordEncoder::new(stored.to_write()?, folder, file.len() as u64);
        let mut part = Vec::new();
        while let Some(at) = encoder.next_part(&mut part) {
            assert_eq!(at, file.len() as u64);
            file.extend_from_slice(&part);
        }
        Some(encoder.place())
    }

    fn read(place: RecordPlace, folder: u64, file: &[u8]) -> Option<FolderNames> {
        let mut decoder = RecordDecoder::new(place, folder);
        while let Some((at, len)) = decoder.next_part() {
            decoder.add(&file[at as usize..at as usize + len]);
        }
        decoder.end()
    }

    #[test]
    fn a_record_is_read_as_it_was_written_or_not_at_all() {
        for count in [1, 2, PART_NAMES as u64, 3 * PART_NAMES as u64 + 1] {
            let (stored, mut file) = (record(count), vec![9; 100]);
            let place = write(&stored, FOLDER, &mut file).expect("it waits");
            assert_eq!((place.names() as u64, place.end()), (count, file.len() as u64));
            assert_eq!(file.len(), 100 + count as usize * RECORD_BYTES);
            assert_eq!(read(place, FOLDER, &file).as_ref(), stored.in_memory());
            assert_eq!(read(place, FOLDER + 1, &file), None, "the record of another folder");
            for at in [100, 100 + file.len() / 2 - 50, file.len() - 1] {
                let mut other = file.clone();
                other[at] ^= 1;
                assert_eq!(read(place, FOLDER, &other), None, "another byte {at} of {count} names");
            }
        }
    }

    #[test]
    fn names_leave_memory_once_they_are_written_and_are_written_again_once_they_change() {
        let (mut stored, mut file) = (record(10), Vec::new());
        stored.drop_written();
        assert_eq!(stored.len_in_memory(), 10, "they are nowhere else");
        let place = write(&stored, FOLDER, &mut file).expect("it waits");
        stored.handle_written(place);
        assert!(stored.to_write().is_none() && stored.to_read().is_none());
        stored.drop_written();
        assert_eq!((stored.len_in_memory(), stored.to_read(), stored.is_whole()), (0, Some(place), true));
        stored.handle_read(read(place, FOLDER, &file).expect("it is whole"));
        assert_eq!((stored.len_in_memory(), stored.to_read()), (10, None));
        stored.miss(0);
        let again = write(&stored, FOLDER, &mut file).expect("it says something else");
        stored.handle_written(again);
        stored.drop_written();
        let names = read(again, FOLDER, &file).expect("it is whole");
        assert!(!names.has_same(WalkedName { key: 0, inode: 0 }) && names.has(0) == Some(true));
    }

    #[test]
    fn what_is_not_listed_to_its_end_stays_in_memory() {
        let mut stored = StoredNames::default();
        assert!(stored.to_write().is_none() && !stored.is_whole());
        stored.add([WalkedName { key: 1, inode: 1 }]);
        assert!(stored.to_write().is_none() && !stored.is_whole());
        stored.end();
        assert!(stored.to_write().is_some() && stored.is_whole());
        let mut empty = StoredNames::default();
        empty.end();
        assert!(empty.to_write().is_none() && empty.is_whole(), "nothing is to be written");
        let place = write(&stored, FOLDER, &mut Vec::new()).expect("it waits");
        stored.handle_written(place);
        stored.drop_written();
        stored.add([WalkedName { key: 2, inode: 2 }]);
        assert!(!stored.is_whole(), "names of it were not read");
    }
}
