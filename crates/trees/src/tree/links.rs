//! Names that become hard links: of a file that has several, or of one that is unchanged in another folder.
//!
//! Must not know: which names wait for which, how files are copied.

pub(crate) mod equal;
pub(crate) mod link_dest;
pub(crate) mod linking;
pub(crate) mod own_attributes;
