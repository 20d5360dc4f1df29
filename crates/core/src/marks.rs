//! Files that a copy leaves beside its target, so that the next run of the same command resumes it.
//!
//! Must not know: where the marks are kept.

pub mod journal;
pub mod resume;
