//! The side that calls: it begins sessions with another host, over one connection or several, and sums them up.
//!
//! Must not know: how a server admits sessions.

pub(crate) mod client_session;
pub(crate) mod datagram_client;
pub(crate) mod path_look;
pub(crate) mod path_probe;
pub(crate) mod remote_copy;
pub(crate) mod remote_job;
pub(crate) mod remote_verdict;
pub(crate) mod request_response;
mod session_pools;
pub(crate) mod sessions;
pub(crate) mod started;
