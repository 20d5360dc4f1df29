//! Open folders of both sides: walked, entered, finished when nothing in them changes any more.
//!
//! Must not know: what becomes of a name that is no folder.

pub(crate) mod alive;
pub(crate) mod backup_place;
pub(crate) mod begin_tree;
pub(crate) mod directory;
pub(crate) mod folder_done;
mod lister;
pub(crate) mod listing;
pub(crate) mod paths;
pub mod side;
pub(crate) mod visited;
pub(crate) mod walk;
