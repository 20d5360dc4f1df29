//! Which files of one tree and of another have the same names.
//!
//! Must not know: what is compared besides.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::folder::side::FolderSide;
use crate::lock::StateLock;
use crate::problem::Problem;
use crate::setup::budget::Charge;
use crate::setup::budget::charged::ChargedRoom;
use crate::tree::state::links::{TreeEntry, memory_of};
use datapump_files::identity::FileId;

/// Which file of the other tree has the names of which of this one. What another host brings is charged.
#[derive(Debug, Default)]
pub(crate) struct Twins {
    others: StateLock<TwinTable>,
    firsts: StateLock<HashMap<FileId, (TreeEntry, Option<Charge>)>>,
}

#[derive(Debug, Default)]
struct TwinTable {
    /// Of a file with the sum of its handle: names of one number alone may be of several files.
    of: HashMap<(FileId, u64), FileId>,
    room: ChargedRoom,
}

/// What two files take here, while the table moves, too.
const TWINS_BYTES: usize = 112;

impl Twins {
    /// Whether all names of this file that were met are names of one of that number in the other tree; `None` where this
    /// is the first of them.
    ///
    /// Errors: this side may not hold more of it.
    pub(crate) fn note_and_compare(
        &self,
        one: (FileId, u64),
        other: FileId,
        source: &FolderSide,
    ) -> Result<Option<bool>, Problem> {
        let mut table = self.others.lock();
        let TwinTable { of, room } = &mut *table;
        room.make(of.len(), 1, TWINS_BYTES, |bytes| source.charge_there(bytes))?;
        Ok(match of.entry(one) {
            Entry::Occupied(known) => Some(*known.get() == other),
            Entry::Vacant(new) => {
                new.insert(other);
                None
            }
        })
    }

    /// The first name of this number that was met without a handle; this one, which is kept, if there was none.
    ///
    /// Errors: this side may not hold more of them.
    pub(crate) fn first_name(&self, one: FileId, entry: &TreeEntry) -> Result<TreeEntry, Problem> {
        let mut table = self.firsts.lock();
        if let Some((first, _)) = table.get(&one) {
            return Ok(first.clone());
        }
        let charge = entry.directory.source.charge_there(memory_of(&entry.name))?;
        table.insert(one, (entry.clone(), charge));
        Ok(entry.clone())
    }
}
