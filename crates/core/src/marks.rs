//! What a copy leaves beside its target, so that the next run of the same command goes on behind it.
//!
//! Must not know: where the marks are kept.

pub mod journal;
pub mod resume;
