//! Authentication and encryption of connections: keys, tickets, records of TLS 1.3.
//!
//! Must not know: sockets, frames, what is served.

mod keys;
mod outgoing;
mod seal;
mod ticket;

pub use keys::{PublicKey, Seed, random};
pub use outgoing::Outgoing;
pub use seal::{CalledConfig, Seal, Turn, called_config};
pub(crate) use seal::{NOT_SEALED, is_tls_handshake};
pub use ticket::Ticket;
