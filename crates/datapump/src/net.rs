//! Two hosts: the connections between them, who may have them, and what is asked and answered over them.
//!
//! One side writes and performs the job; it asks the other for names, attributes and blocks (`far`), which answers from
//! its disk (`giver`). Which side called is of no matter to that.
//!
//! Must not know: how blocks are moved, command lines.

mod begun;
pub(crate) mod called;
pub(crate) mod caller;
pub(crate) mod control;
pub(crate) mod convert;
pub(crate) mod far;
pub(crate) mod giver;
#[cfg(test)]
mod hostile;
mod joins;
mod limits;
mod listing;
pub(crate) mod merged;
pub(crate) mod owners;
pub(crate) mod refusal;
pub(crate) mod remote_copy;
mod root;
pub(crate) mod serve_options;
pub(crate) mod server;
mod server_state;
mod sessions;
pub(crate) mod shelf;
pub(crate) mod started;
pub(crate) mod told;
pub(crate) mod weight;
