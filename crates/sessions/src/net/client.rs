//! The side that calls: it begins sessions with another host, over one connection or several, and sums them up.
//!
//! Must not know: how a server admits sessions.

pub(crate) mod client_session;
pub mod datagram_client;
pub mod path_look;
pub mod path_probe;
pub mod remote_copy;
pub(crate) mod remote_job;
pub(crate) mod remote_verdict;
pub mod request_response;
mod session_pools;
pub(crate) mod sessions;
pub(crate) mod started;
