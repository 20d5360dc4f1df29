//! Two hosts: the connections between them, who may have them, and what is asked and answered over them.
//!
//! One side writes and performs the job; it asks the other for names, attributes and blocks (`far`), which answers from
//! its disk (`giver`). Which side called is of no matter to that.
//!
//! Must not know: how blocks are moved, command lines.

pub mod client;
pub(crate) mod folder;
#[cfg(test)]
mod hostile;
pub mod server;
#[cfg(test)]
mod stepped;
