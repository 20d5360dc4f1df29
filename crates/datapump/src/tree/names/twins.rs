//! Which files of one tree and of another have the same names.
//!
//! Must not know: what is compared besides.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::job::budget::charged::ChargedRoom;
use crate::problem::Problem;
use crate::tree::folder::side::FolderSide;
use datapump_files::identity::FileId;

/// Which file of the other tree has the names of which of this one.
#[derive(Debug, Default)]
pub(crate) struct Twins(Mutex<TwinTable>);

#[derive(Debug, Default)]
struct TwinTable {
    of: HashMap<FileId, FileId>,
    room: ChargedRoom,
}

/// What two files take here, while the table moves, too.
const TWINS_BYTES: usize = 96;

impl Twins {
    /// Whether the two files have met before only each other. What another host brings is charged.
    ///
    /// Errors: this side may not hold more of it.
    pub(crate) fn agree(&self, one: FileId, other: FileId, source: &FolderSide) -> Result<bool, Problem> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let TwinTable { of, room } = &mut *table;
        room.make(of.len(), TWINS_BYTES, |bytes| source.charge_there(bytes))?;
        Ok(*of.entry(one).or_insert(other) == other)
    }
}
