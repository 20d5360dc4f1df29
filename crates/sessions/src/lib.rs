//! Performs a job between two hosts: one side performs it, the other answers from its disk.
//!
//! [`net::client::remote_copy::RemoteCopy`] is what calls another host, [`net::server::Server`] what is called.
//!
//! Must not know: command lines, terminals, how a block is moved.

#![forbid(unsafe_code)]
// Its users are the crates above, for which its rooms are parts of one program.
#![allow(missing_docs)]

pub mod net;

pub(crate) use datapump_core::problem::{self, shown};
pub(crate) use datapump_mover::{end, file, lane, open, place, report, run, setup};
pub(crate) use datapump_trees::{count_ahead, folder, job, listed, origin, targets, tree};
