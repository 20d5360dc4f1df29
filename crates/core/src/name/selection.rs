//! Which names of a tree are dealt with: patterns as rsync has them, lists of names, bounds of files.
//!
//! Must not know: how folders are listed, what becomes of a name that is selected.

mod below;
mod bounds;
mod filter;
mod names;
mod pattern;
mod rule_text;
mod select;
mod selection_option;
mod unmatched;
mod weight;

pub use below::ListStep;
pub use bounds::FileBounds;
pub use select::{Listing, Select};
pub use selection_option::Selection;
pub use weight::selection_bytes;

/// What the allocator adds to a piece of memory, at most.
pub const ALLOCATED_BYTES: usize = 32;

/// Memory of a piece of so many bytes; nothing is allocated for none.
pub fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes + ALLOCATED_BYTES }
}
