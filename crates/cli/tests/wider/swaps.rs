//! Somebody else changes or swaps what a copy reads or writes.

mod changed_trees;
mod live_trees;
mod made;
mod mapped;
mod trees;
