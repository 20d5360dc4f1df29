//! Which names are copied: patterns, lists of names, flags for files.

mod anchors;
mod file_flags;
mod patterns_and_lists;
