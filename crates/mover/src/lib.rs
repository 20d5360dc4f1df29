//! Moves the blocks of files: lanes, the ends that they move between, the life of each file, the plan of what is left.
//!
//! The owner of the files implements [`run::owner::FileOwner`]; the code that knows another host implements
//! [`run::block_host::BlockHost`], [`end::RemoteBlocks`] and [`end::BlockSender`].
//!
//! Must not know: trees, names, sessions, jobs.

#![forbid(unsafe_code)]
// Its users are the crates above, for which its rooms are parts of one program.
#![allow(missing_docs)]

pub mod end;
pub mod file;
pub mod lane;
pub mod open;
pub mod place;
pub mod report;
pub mod run;
pub mod setup;

pub(crate) use datapump_core::problem::{self, shown};
pub(crate) use datapump_core::units;
