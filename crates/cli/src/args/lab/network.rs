//! Flags of what the lab does with networks.
//!
//! Must not know: connections, paths.

pub mod path;
pub mod request_response;
pub mod tcp_read;
pub mod tcp_watch;
pub mod udp;
