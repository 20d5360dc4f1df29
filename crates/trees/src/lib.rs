//! Performs a job on one host: finds its targets, walks its folders, decides about each name, and keeps the list of what
//! is done.
//!
//! A source folder is an `origin::Origin`, on this host or another. The code that knows another host implements
//! [`origin::source_host::SourceHost`] and [`origin::source_host::RemoteOrigin`].
//!
//! Must not know: sessions, messages, how another host is asked.

#![forbid(unsafe_code)]
// Its users are the crates above, for which its rooms are parts of one program.
#![allow(missing_docs)]

pub mod count_ahead;
pub mod folder;
pub mod job;
mod list;
pub mod listed;
mod lock;
pub mod origin;
pub mod targets;
pub mod tree;

pub(crate) use datapump_core::problem::{self, shown};
pub(crate) use datapump_core::units;
pub(crate) use datapump_mover::{end, file, lane, open, place, report, run, setup};
