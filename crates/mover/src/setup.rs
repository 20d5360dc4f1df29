//! Means of a job that every room reads: its options, the platform that it runs on, the memory that it may hold.
//!
//! Must not know: jobs, files, sessions.

pub mod budget;
pub mod defaults;
pub mod options;
pub mod platform;
pub mod storage_reads;
