//! A batch of names of a folder in a lane's hands, and what follows for the folder when all of it is done.
//!
//! Must not know: what becomes of a name.

pub(crate) mod cursor;
pub(crate) mod folder_done;
pub(crate) mod listing;
