//! A connection over which a lane sends blocks: another host requests them, and gets them in the order of its requests.
//!
//! Must not know: which tasks read the blocks, who requests them, why.

use datapump_core::wire::peer_request::Fault;
use datapump_transport::{ConnectionStats, Digest, NetFault};

/// The connection, and what was requested over it.
pub trait BlockSender {
    /// Sends a block that a task has read, and whatever can be said behind it.
    fn send(&mut self, task: u32, bytes: &[u8], digest: &Digest) -> Result<(), NetFault>;
    /// A stream has ended: nothing is left for the first that was requested of it.
    fn end(&mut self, task: u32) -> Result<(), NetFault>;
    /// A block could not be read.
    fn fail(&mut self, task: u32, fault: Fault) -> Result<(), NetFault>;
    /// Sends what was put: nothing more comes to it for now.
    fn flush(&mut self) -> Result<(), NetFault>;
    /// The connection is lost.
    fn hang_up(&mut self);
    /// The other host waits no more for what is sent.
    fn is_cut(&self) -> bool;
    /// For how long calls that send have waited.
    fn waited_ns(&self) -> u64;
    /// What the connection did.
    fn stats(&self) -> ConnectionStats;
}
