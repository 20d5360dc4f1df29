//! Which files of one tree and of another have the same names.
//!
//! Must not know: what is compared besides.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use datapump_files::identity::FileId;

/// Which file of the other tree has the names of which of this one.
#[derive(Debug, Default)]
pub(crate) struct Twins(Mutex<HashMap<FileId, FileId>>);

impl Twins {
    /// Whether the two files have met before only each other.
    pub(crate) fn agree(&self, one: FileId, other: FileId) -> bool {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *table.entry(one).or_insert(other) == other
    }
}
