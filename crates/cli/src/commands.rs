//! The commands: each reads its arguments, runs what they say, and gives an exit status.
//!
//! Must not know: how arguments are written (`args`), how results are shown (`output`).

pub(crate) mod copy;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod hash;
pub(crate) mod lab;
pub(crate) mod serve;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod verify;
pub(crate) mod watch;
