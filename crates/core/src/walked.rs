//! The record of a walk over a source, and what may be removed at the target because of it.
//!
//! Deletion asks the source for no name: the names of each folder are kept as they were walked ([`FolderNames`]), what
//! the target has besides is judged by them (`name`), and before anything is removed all folders are looked at once
//! more ([`Passes`]): those that changed are walked again, until the record is what the source was at one moment, or
//! until what is left is known to be restless.
//!
//! Must not know: how folders are listed and looked at, paths, patterns, hashes of names (keys come in as numbers).

mod folder_names;
mod judgement;
mod missed;
mod passes;
mod stored_names;

pub use folder_names::{FolderNames, RECORD_BYTES, WalkedName};
pub use judgement::{StayReason, judge_staying};
pub use missed::{MissedName, NameNow, judge_missed};
pub use passes::{FolderOfTree, LooksFound, MovingNames, NextPass, Passes};
pub use stored_names::{RecordDecoder, RecordEncoder, RecordPlace, StoredNames};
