//! Probes: what the host is, and what a run cost.
//!
//! Must not know: studies, rows (but `tcp_series`).

pub mod children;
pub mod host;
pub mod identity;
pub mod limits;
pub mod machine;
pub mod memory;
pub mod soaked;
pub mod soaker;
pub mod sock_diag;
pub mod sockets;
pub(crate) mod tcp_series;
pub mod tcp_trace;
