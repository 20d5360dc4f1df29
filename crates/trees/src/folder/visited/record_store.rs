//! The names of folders: in memory as far the budget lets them, and in a file.
//!
//! When memory is used up all whole records are written, and read again one by one as they are needed. The record takes no
//! more than half of what its session may hold: listings, attributes and open folders need the other half. The names of
//! one folder must fit while it is worked on.
//!
//! Must not know: what folders are, what is asked of their names.

use std::fs::File;

use datapump_core::walked::{
    FolderNames, RECORD_BYTES, RecordDecoder, RecordEncoder, RecordPlace, StoredNames,
};

use crate::folder::visited::record_room::RecordRoom;
use crate::folder::visited::{FolderKey, FolderStates, WalkedFolder};
use crate::problem::{Class, Operation, Problem, system_words};
use crate::setup::budget::charged::ChargedRoom;
use datapump_files::disk;

/// Memory of a name: a list of them grows by halves, and is cut to its length at its end.
const NAME_BYTES: usize = RECORD_BYTES + RECORD_BYTES / 2;
const OTHER_BYTES: &str = "other bytes than were written";
/// Memory of the key of a name in a tree of them.
const MET_BYTES: usize = 24;

/// Memory and a file for names of folders.
#[derive(Debug, Default)]
pub(super) struct RecordStore {
    /// Without it all names are in memory, and nothing is charged.
    room: Option<Box<dyn RecordRoom>>,
    /// Names that do not fit in memory are written.
    writes: bool,
    /// Names in memory, and room for them.
    names: usize,
    names_room: ChargedRoom,
    met_room: ChargedRoom,
    file: Option<File>,
    /// The first byte behind the last record.
    end: u64,
    part: Vec<u8>,
    /// Why nothing more is written.
    refusal: Option<Problem>,
}

/// Memory that must stay free for others when more is taken for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Besides {
    /// As much as they take then.
    AsMuch,
    Nothing,
}

impl RecordStore {
    pub(super) fn new(room: Box<dyn RecordRoom>, writes: bool) -> RecordStore {
        RecordStore { room: Some(room), writes, ..RecordStore::default() }
    }

    /// Charges memory for so many names more; writes nothing out.
    ///
    /// Errors: with what must stay free besides they do not fit, and nothing is charged.
    fn charge_names(&mut self, count: usize, besides: Besides) -> Result<(), Problem> {
        let Some(room) = &self.room else { return Ok(()) };
        let taken_bytes = self.names_room.entries() * NAME_BYTES;
        self.names_room.make(self.names, count, NAME_BYTES, |bytes| match besides {
            Besides::AsMuch => room.charge(bytes, taken_bytes + bytes),
            Besides::Nothing => room.charge(bytes, 0),
        })
    }

    /// The names in memory of a record are others than before.
    pub(super) fn recount(&mut self, before: usize, now: usize) {
        self.names = (self.names + now).saturating_sub(before);
    }

    /// Names in all that moved are so many.
    pub(super) fn make_room_for_met(&mut self, count: usize) -> Result<(), Problem> {
        let Some(room) = &self.room else { return Ok(()) };
        self.met_room.make(count, 0, MET_BYTES, |bytes| room.charge(bytes, 0))
    }

    /// Writes the record of a folder to the file if it is whole, and frees its memory.
    fn write_out(&mut self, folder: FolderKey, stored: &mut StoredNames) -> Result<(), Problem> {
        let before = stored.len_in_memory();
        if let Some(names) = stored.to_write() {
            let place = self.write_record(folder, names)?;
            stored.handle_written(place);
            self.end = place.end();
        }
        stored.drop_written();
        self.recount(before, stored.len_in_memory());
        Ok(())
    }

    /// Writes the record of a folder at the end of the file, which is made for the first one.
    fn write_record(&mut self, folder: FolderKey, names: &FolderNames) -> Result<RecordPlace, Problem> {
        if let (None, Some(room)) = (&self.file, &self.room) {
            self.file = Some(room.make_file().map_err(|problem| not_written(&problem.to_string()))?);
        }
        let file = self.file.as_ref().expect("without room nothing is written");
        let mut record = RecordEncoder::new(names, folder, self.end);
        while let Some(at) = record.next_part(&mut self.part) {
            disk::put(file, at, &self.part).map_err(|errno| not_written(&system_words(errno.0)))?;
        }
        Ok(record.place())
    }

    /// Reads the record of a folder into memory, if it is in the file alone. There must be room for it.
    ///
    /// Errors: it cannot be read.
    fn read(&mut self, folder: FolderKey, stored: &mut StoredNames) -> Result<(), Problem> {
        let (Some(place), Some(file)) = (stored.to_read(), &self.file) else { return Ok(()) };
        let mut record = RecordDecoder::new(place, folder);
        while let Some((at, len)) = record.next_part() {
            self.part.resize(len, 0);
            let read = disk::fill(file, at, &mut self.part);
            if read.map_err(|errno| not_read(&system_words(errno.0)))? < len {
                return Err(not_read(OTHER_BYTES));
            }
            record.add(&self.part);
        }
        stored.handle_read(record.end().ok_or_else(|| not_read(OTHER_BYTES))?);
        self.names += stored.len_in_memory();
        Ok(())
    }
}

fn not_written(words: &str) -> Problem {
    let words = format!("they could not be written to a file either: {words}");
    Problem::of(Class::Refused, Operation::Write, words)
}

fn not_read(words: &str) -> Problem {
    let words = format!("they were written to a file, and could not be read again: {words}");
    Problem::of(Class::Refused, Operation::Read, words)
}

/// Which names of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhichWalk {
    Last,
    Before,
}

impl WalkedFolder {
    fn stored(&mut self, which: WhichWalk) -> Option<&mut StoredNames> {
        match which {
            WhichWalk::Last => Some(&mut self.names),
            WhichWalk::Before => self.before.as_deref_mut(),
        }
    }

    /// Names of it that are in memory.
    pub(super) fn len_in_memory(&self) -> usize {
        self.names.len_in_memory() + self.before.as_ref().map_or(0, |before| before.len_in_memory())
    }
}

impl FolderStates {
    /// Memory for so many names more. Whole records are written where that is used up.
    ///
    /// Errors: they fit neither in memory nor on disk.
    pub(super) fn make_room_for_names(&mut self, count: usize) -> Result<(), Problem> {
        if self.records.charge_names(count, Besides::AsMuch).is_ok() {
            return Ok(());
        }
        self.write_out();
        let made = self.records.charge_names(count, Besides::AsMuch);
        if let Some(refusal) = &self.records.refusal {
            // The copy needs the rest.
            return made.map_err(|_| refusal.clone());
        }
        // The folder that is worked on must fit.
        made.or_else(|_| self.records.charge_names(count, Besides::Nothing))
    }

    /// Writes all whole records out, and frees their memory; the first that fails ends that, and is kept as `refusal`.
    fn write_out(&mut self) {
        let FolderStates { of, records, .. } = self;
        for (folder, walked) in of {
            for stored in std::iter::once(&mut walked.names).chain(walked.before.as_deref_mut()) {
                if !records.writes || records.refusal.is_some() {
                    return;
                }
                records.refusal = records.write_out(*folder, stored).err();
            }
        }
    }

    /// The folder is not known any more.
    pub(super) fn forget(&mut self, folder: FolderKey) {
        let len = self.of.remove(&folder).map_or(0, |walked| walked.len_in_memory());
        self.records.recount(len, 0);
    }

    /// Changes what is known of a folder.
    pub(super) fn change(&mut self, folder: FolderKey, change: impl FnOnce(&mut WalkedFolder)) {
        let Some(walked) = self.of.get_mut(&folder) else { return };
        let before = walked.len_in_memory();
        change(walked);
        self.records.recount(before, walked.len_in_memory());
    }

    /// Names of a folder, read again where they are in the file alone; `None` where it has none, or they cannot be
    /// read, which [`FolderStates::lacks`] says.
    pub(super) fn names(&mut self, folder: FolderKey, which: WhichWalk) -> Option<&FolderNames> {
        if self.of.get_mut(&folder)?.stored(which)?.to_read().is_some() {
            let mut stored = std::mem::take(self.of.get_mut(&folder)?.stored(which)?);
            self.read(folder, &mut stored);
            *self.of.get_mut(&folder)?.stored(which)? = stored;
        }
        self.of.get_mut(&folder)?.stored(which)?.in_memory()
    }

    /// Names that were taken out, so that they are not written meanwhile.
    pub(super) fn read(&mut self, folder: FolderKey, stored: &mut StoredNames) {
        let Some(place) = stored.to_read() else { return };
        let read = self.make_room_for_names(place.names()).and_then(|()| self.records.read(folder, stored));
        if let Err(problem) = read {
            self.lacks.get_or_insert(problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::hash_map::RandomState;
    use std::ffi::{OsStr, OsString};
    use std::sync::{Arc, Mutex};

    use datapump_core::walked::MissedName;

    use super::*;
    use crate::folder::visited::{Keeps, ROOT, Visited};
    use crate::listed::Name;
    use crate::setup::budget::{Budget, Charge, Share};
    use datapump_files::disk::Meta;

    const FOLDERS: u64 = 200;
    const NAMES: u64 = 500;
    /// A session may hold half of it, and something free; names take half of that, for 24 bytes each.
    const MEMORY: u64 = 3 << 20;

    /// Memory of a session, and a file that the test looks at, if any.
    #[derive(Debug)]
    struct SmallRoom {
        share: Arc<Share>,
        file: Option<File>,
        made: Arc<Mutex<u32>>,
    }

    impl RecordRoom for SmallRoom {
        fn charge(&self, bytes: usize, besides: usize) -> Result<Option<Charge>, Problem> {
            let charged = self.share.charge_beside(bytes, besides);
            charged.map(Some).map_err(|over| Problem::of(Class::Refused, Operation::Read, over.message()))
        }

        fn make_file(&self) -> Result<File, Problem> {
            *self.made.lock().expect("no panic") += 1;
            let file =
                self.file.as_ref().ok_or_else(|| Problem::of(Class::NoSpace, Operation::Make, "no room"))?;
            Ok(file.try_clone().expect("it is open"))
        }
    }

    struct SmallStage {
        visited: Visited,
        share: Arc<Share>,
        made: Arc<Mutex<u32>>,
    }

    fn stage(keeps: Keeps, memory: u64, file: Option<&File>) -> SmallStage {
        let (share, made) = (Budget::new(memory).share(), Arc::default());
        let file = file.map(|file| file.try_clone().expect("it is open"));
        let room = SmallRoom { share: Arc::clone(&share), file, made: Arc::clone(&made) };
        let visited = Visited::keeping(keeps, &RandomState::new()).in_room(Box::new(room));
        SmallStage { visited, share, made }
    }

    fn name(at: u64) -> Name {
        Name { listed_inode: at + 1, ..Name::here(at.to_string().into(), None) }
    }

    impl SmallStage {
        fn key(&self, folder: u64) -> FolderKey {
            self.visited.below(ROOT, OsStr::new(&folder.to_string()))
        }

        fn walk(&self, folder: u64, names: &[Name]) {
            let folder_name = OsString::from(folder.to_string());
            let folder = self.key(folder);
            self.visited.note_folder(folder, ROOT, &folder_name, &Meta::nothing(), false);
            for (cookie, part) in names.chunks(100).enumerate() {
                self.visited.note_names(folder, cookie as u64, part);
            }
            self.visited.note_names(folder, 9, &[]);
        }

        fn has(&self, folder: u64, name: u64) -> Option<bool> {
            self.visited.has_name(self.key(folder), OsStr::new(&name.to_string()))
        }

        fn walk_all(&self) {
            let names: Vec<Name> = (0..NAMES).map(name).collect();
            (0..FOLDERS).for_each(|folder| self.walk(folder, &names));
        }

        fn names_in_memory(&self) -> usize {
            self.visited.states.lock().records.names
        }
    }

    #[test]
    fn names_that_do_not_fit_in_memory_are_asked_as_those_that_do() {
        let file = tempfile::tempfile().expect("room");
        let stage = stage(Keeps::All, MEMORY, Some(&file));
        stage.walk_all();
        assert_eq!(*stage.made.lock().expect("no panic"), 1, "one file, made once it is needed");
        let most =
            |stage: &SmallStage| stage.names_in_memory() * NAME_BYTES < (1 << 20) + (MEMORY as usize) / 2;
        assert!(most(&stage), "{}", stage.names_in_memory());
        for folder in 0..FOLDERS {
            let found: Vec<Option<bool>> = [0, NAMES - 1, NAMES].map(|name| stage.has(folder, name)).to_vec();
            assert_eq!(found, [Some(true), Some(true), Some(false)], "{folder}");
        }
        let names: Vec<Name> = (0..NAMES).map(name).collect();
        let listed = |names: &[Name]| {
            stage.visited.is_listed_as_walked(
                stage.key(3),
                &Meta::nothing(),
                false,
                names,
                |_| None,
                || false,
            )
        };
        assert!(listed(&names) && !listed(&names[1..]));
        assert!(most(&stage), "{}", stage.names_in_memory());
        assert!(stage.share.charge_beside(1 << 20, 0).is_ok(), "the session has memory for other things");
        assert_eq!(stage.visited.lacks(), None);
        assert!(file.metadata().expect("open").len() <= FOLDERS * NAMES * 16, "each record once");
    }

    #[test]
    fn folders_are_walked_again_whose_names_are_on_disk() {
        let file = tempfile::tempfile().expect("room");
        let stage = stage(Keeps::All, MEMORY, Some(&file));
        stage.walk_all();
        let vanished = Problem::usage("it vanished");
        let missed = stage.visited.note_missed(stage.key(0), OsStr::new("7"), MissedName::Vanished, vanished);
        assert_eq!(missed, None);
        // All are under way at once.
        let again: Vec<Name> = (1..=NAMES).map(name).collect();
        for folder in 0..FOLDERS {
            let name = OsString::from(folder.to_string());
            stage.visited.note_folder(stage.key(folder), ROOT, &name, &Meta::nothing(), false);
        }
        for folder in 0..FOLDERS {
            let folder_key = stage.key(folder);
            let new = stage.visited.new_names(folder_key, again.clone(), |_| Some(i128::MIN));
            let new: Vec<String> = new.into_iter().map(|name| name.name.display().to_string()).collect();
            let missed = if folder == 0 { vec!["7".to_owned()] } else { vec![] };
            assert_eq!(new, [missed, vec![NAMES.to_string()]].concat(), "{folder}");
            stage.visited.note_names(folder_key, 0, &again);
            stage.visited.note_names(folder_key, 9, &[]);
            stage.visited.done(folder_key);
            assert_eq!([0, 1, NAMES].map(|name| stage.has(folder, name)), [false, true, true].map(Some));
        }
        assert!(["0", "500", "7"].iter().all(|name| stage.visited.may_be_on_its_way(OsStr::new(name))));
        assert!(!stage.visited.may_be_on_its_way(OsStr::new("1")));
        assert_eq!(stage.visited.lacks(), None);
        (0..FOLDERS).for_each(|folder| stage.visited.states.lock().forget(stage.key(folder)));
        assert_eq!(stage.names_in_memory(), 0, "each is counted once");
    }

    #[test]
    fn names_that_fit_nowhere_are_lacking() {
        let no_file = stage(Keeps::All, MEMORY / 2, None);
        no_file.walk_all();
        let lacks = no_file.visited.lacks().expect("they do not fit").message;
        assert!(lacks.contains("could not be written to a file either: no room"), "{lacks}");
        assert_eq!(*no_file.made.lock().expect("no panic"), 1, "it is tried once");
        assert_eq!(no_file.has(FOLDERS - 1, 0), None, "nothing is known of that folder");
        let file = tempfile::tempfile().expect("room");
        let one = stage(Keeps::All, MEMORY, Some(&file));
        one.walk(0, &(0..200_000).map(name).collect::<Vec<_>>());
        let lacks = one.visited.lacks().expect("one folder does not fit").message;
        assert!(lacks.contains("memory"), "{lacks}");
    }

    #[test]
    fn other_bytes_than_were_written_are_no_names() {
        let file = tempfile::tempfile().expect("room");
        let stage = stage(Keeps::All, MEMORY, Some(&file));
        stage.walk_all();
        let len = file.metadata().expect("open").len() as usize;
        disk::put(&file, 0, &vec![0; len]).expect("room");
        let folders = 0..FOLDERS;
        let unknown = folders.filter(|folder| stage.has(*folder, NAMES).is_none()).count();
        assert!(unknown > 0, "some were on disk alone");
        let lacks = stage.visited.lacks().expect("they are lacking").message;
        assert!(lacks.contains("could not be read again: other bytes than were written"), "{lacks}");
    }

    #[test]
    fn names_of_what_is_worked_on_alone_are_not_written() {
        let file = tempfile::tempfile().expect("room");
        let stage = stage(Keeps::WorkedOn, MEMORY / 2, Some(&file));
        stage.walk_all();
        assert_eq!((*stage.made.lock().expect("no panic"), stage.has(FOLDERS - 1, 0)), (0, None));
        (0..FOLDERS).for_each(|folder| stage.visited.done(stage.key(folder)));
        assert_eq!(stage.names_in_memory(), 0);
        stage.walk(0, &[name(1)]);
        assert_eq!(stage.has(0, 1), Some(true), "it has room again");
    }
}
