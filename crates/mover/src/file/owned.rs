//! What the owner of a file says of it, and keeps with it.
//!
//! Must not know: what is kept, how a file is moved.

use std::any::Any;

/// What its owner says of a file, and keeps with it.
#[derive(Debug, Default)]
pub struct Owned {
    /// Where it lies, if in a tree.
    pub tree: Option<PlaceInTree>,
    pub kept: Option<Box<dyn Any + Send + Sync>>,
}

/// The place of a file in a tree, as far as it decides how the file is moved.
#[derive(Clone, Copy, Debug)]
pub struct PlaceInTree {
    /// The user named it, and no folder that it lies in.
    pub is_named: bool,
    /// Other names of it wait for this one.
    pub has_waiting_names: bool,
    /// Another name of the same file was compared before: this one counts as a hard link.
    pub is_other_name: bool,
    /// The permissions that its folder hands down to new files.
    pub handed_down: Option<u32>,
    /// Its file system is one that syncs as a whole, and of which a close has nothing to report.
    pub syncs_whole: bool,
    /// It is synced by itself, unless no sync is asked for. What replaces an entry is so in any case.
    pub syncs_data: bool,
    /// Nothing had its name when that was looked at.
    pub is_new: bool,
    /// Its name is made durable at once.
    pub syncs_name: bool,
}
