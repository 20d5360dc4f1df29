//! Open folders of both sides: walked, entered, finished when nothing in them changes any more.
//!
//! Must not know: what becomes of a name that is no folder.

pub(crate) mod alive;
pub(crate) mod backup_place;
pub(crate) mod directory;
pub(crate) mod folded;
pub(crate) mod lister;
pub(crate) mod root;
pub mod side;
pub(crate) mod visited;
