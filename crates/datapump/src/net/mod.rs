//! Two hosts: the connections between them, who may have them, and what is asked and answered over them.
//!
//! One side writes and performs the job; it asks the other for names, attributes and blocks (`far`), which answers from
//! its disk (`giver`). Which side called is of no matter to that.
//!
//! Must not know: how blocks are moved, command lines.

mod begun;
pub(crate) mod called;
pub(crate) mod caller;
pub(crate) mod carried;
pub(crate) mod carrier;
pub(crate) mod channel;
mod connect;
pub(crate) mod control;
pub(crate) mod convert;
pub(crate) mod dial;
pub(crate) mod far;
pub(crate) mod fault;
pub(crate) mod giver;
mod handshake;
#[cfg(test)]
mod hostile;
mod joins;
pub(crate) mod keys;
mod limits;
mod line;
mod listing;
pub(crate) mod merged;
mod outgoing;
pub(crate) mod owners;
mod pipe;
pub(crate) mod pool;
pub(crate) mod reach;
pub(crate) mod refusal;
mod root;
mod said;
pub(crate) mod seal;
pub(crate) mod server;
mod sessions;
pub(crate) mod shelf;
pub(crate) mod sockets;
pub(crate) mod ssh;
pub(crate) mod started;
pub(crate) mod ticket;
pub(crate) mod told;
mod waiting;
pub(crate) mod weight;
