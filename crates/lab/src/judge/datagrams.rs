//! What streams and round trips of datagrams say: the cost of a byte and the width of a
//! distribution, spacing and rates, the pattern of losses; and a path in simulated time on which these are tested.
//!
//! Must not know: sockets, how datagrams are sent.

pub mod latency;
pub mod losses;
pub mod simulated;
pub mod spacing;
#[cfg(test)]
mod tests;
