//! A way through folders that were walked, each before those in it.
//!
//! Must not know: what is known of a folder, how it is looked at.

use std::ffi::OsString;

/// A folder by the names that lead to it.
pub type FolderKey = u64;

/// A step of a way through all folders, each before those in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderStep {
    /// Into the folder of this name, in the one that the way is in.
    Down(FolderKey, OsString),
    /// Back to the one above.
    Up,
}
