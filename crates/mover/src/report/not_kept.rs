//! Promises that a target cannot keep because its file system takes each file in order and once.
//!
//! Must not know: how that is found out, how files are written there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A promise that does not hold at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NotKept {
    /// A name appears with a whole file only.
    WholeNames,
    /// A later run resumes inside a file, or knows which files are done.
    Resume,
    /// Files are on stable storage: they are complete when they are closed, and no sync adds to that.
    Sync,
    /// Attributes that the file system refuses are lost without a problem for each.
    Attributes,
    /// A host that runs a later version has another one.
    #[serde(other)]
    Unknown,
}
