//! Progress of a job, as the side that writes reports it.
//!
//! Must not know: messages, whose turn it is, how it is shown.

use minicbor::{Decode, Encode};

use crate::wire::bounds::HasCounts;

/// How far a job is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Progress {
    /// Bytes landed.
    #[n(0)]
    pub bytes: u64,
    /// Bytes that there are to move, once known.
    #[n(1)]
    pub bytes_total: Option<u64>,
    /// Files completed.
    #[n(2)]
    pub files: u64,
    /// Bytes found so far.
    #[n(3)]
    pub bytes_found: u64,
    /// Files found so far.
    #[n(4)]
    pub files_found: u64,
    /// What bounds the job so far, where that is at the side that tells; `None` if it waits for the other one.
    #[n(5)]
    pub limited_by: Option<String>,
    /// Bytes dealt with without being moved: of an earlier copy, or right as they stand.
    #[n(6)]
    pub bytes_present: Option<u64>,
    /// Files dealt with without being moved.
    #[n(7)]
    pub files_present: Option<u64>,
    /// What it does at the moment.
    #[n(8)]
    pub phase: Option<String>,
    /// Names that were removed.
    #[n(9)]
    pub deleted: Option<u64>,
    /// Names that are to be removed.
    #[n(10)]
    pub to_delete: Option<u64>,
    /// A file that is moved at the moment, as it is shown.
    #[n(11)]
    pub at_hand: Option<String>,
    /// Names that were compared, whatever they are.
    #[n(12)]
    pub names: Option<u64>,
}

impl HasCounts for Progress {
    fn counts(&mut self) -> impl Iterator<Item = &mut u64> {
        let Progress {
            bytes,
            bytes_total,
            files,
            bytes_found,
            files_found,
            bytes_present,
            files_present,
            deleted,
            to_delete,
            names,
            limited_by: _,
            phase: _,
            at_hand: _,
        } = self;
        let optional = [bytes_total, bytes_present, files_present, deleted, to_delete, names];
        [bytes, files, bytes_found, files_found].into_iter().chain(optional.into_iter().flatten())
    }
}
