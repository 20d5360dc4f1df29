//! `pump lab` for networks: sampling connections, laying paths.
//!
//! Must not know: how.

pub mod path;
pub mod request_response;
pub mod tcp_read;
pub mod tcp_watch;
pub mod udp;
