//! What becomes of one name of a tree: a file, a folder, a link, a device; or nothing.
//!
//! Must not know: how folders are listed, how blocks are moved.

pub(crate) mod content;
pub(crate) mod entry;
pub(crate) mod items;
pub(crate) mod make_way;
mod name_work;
pub(crate) mod named;
pub(crate) mod special;
