//! Connections that another host made, until they have greeted.
//!
//! Must not know: what a greeting says, which session it is for.

mod handshake;
mod waiting;

pub use handshake::Handshake;
pub use waiting::{Caller, Waiting};
