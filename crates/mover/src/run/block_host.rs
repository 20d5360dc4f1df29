//! The other host of a session, as the lanes know it: connections for blocks, and what is known of the path.
//!
//! Must not know: names, folders, how a session is made.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use datapump_transport::{CancelToken, Channel, NetFault};

use crate::problem::Problem;
use crate::report::latency::round_trips::TripCounter;

/// A host that blocks come from.
pub trait BlockHost: Debug + Send + Sync {
    /// The host as the user named it, for messages.
    fn place(&self) -> &str;
    fn cancel(&self) -> &CancelToken;
    fn trips(&self) -> &Arc<TripCounter>;
    /// The shortest wait for an answer so far; 0 when nothing was asked.
    fn round_trip_ns(&self) -> u64;
    /// Its counter of waits for names, over a long path.
    fn names_waited(&self) -> Option<Arc<AtomicU64>>;
    /// Whether it tells digests instead of blocks.
    fn tells_sums(&self) -> bool;
    /// Whether the path is so long that blocks are requested before they have slots.
    fn reads_on(&self) -> bool;
    /// The session is of no more use.
    fn lost(&self, fault: &NetFault) -> Problem;
    /// A connection for the blocks of one lane.
    fn blocks(&self) -> Result<Channel, Problem>;
    /// A connection for a lane that can be done without; none where the other side agreed to fewer.
    fn spare_blocks(&self, is_over: &dyn Fn() -> bool) -> Option<Channel>;
}
