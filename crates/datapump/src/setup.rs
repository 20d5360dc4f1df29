//! Means of a job that every room reads: its options, the platform that it runs on, the memory that it may hold.
//!
//! Must not know: jobs, files, sessions.

pub(crate) mod budget;
pub(crate) mod defaults;
pub(crate) mod options;
pub(crate) mod platform;
