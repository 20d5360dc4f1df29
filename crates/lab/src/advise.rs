//! Finds what limits a copy or a program, and what would help: measured parts, predictions, searches.
//!
//! Must not know: studies and their rows.

pub mod explain;
pub mod pid;
pub mod profile;
pub mod tune;
