//! A file of another host as a lane reads it: how its blocks are requested, and what precedes them.
//!
//! Must not know: connections, names, what becomes of a block.

use std::fmt::Debug;
use std::sync::Arc;

use datapump_core::Block;
use datapump_core::wire::WireError;
use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest};
use datapump_transport::{Digest, NetFault};

use crate::setup::budget::charged::ChargedValue;
use crate::setup::budget::{Charge, OverBudget};

/// How a file of another host is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteKind {
    /// It is open there: block by block.
    Open,
    /// Whole, with one request.
    Small,
    /// A pipe, or null: on and on, once.
    Stream,
}

/// A file of another host.
pub trait RemoteBlocks: Debug + Send + Sync {
    fn kind(&self) -> RemoteKind;
    /// How a block is requested.
    fn request(&self, at: u64, len: u32, is_sum: bool) -> PeerRequest;
    /// How a block is requested so that its file is looked at behind it, where that spares a round trip.
    fn request_looked(&self, block: Block, is_sum: bool) -> Option<PeerRequest>;
    /// Its number there, of a file of which blocks may be requested together.
    fn number(&self) -> Option<u64>;
    /// It will be looked at behind so many bytes of blocks.
    fn expect_look(&self, bytes: u64);
    /// Blocks come that are not followed by a look.
    fn doubt_looks(&self);
    /// Reads a message about it.
    fn read(&self, body: &[u8]) -> Result<Answer, WireError>;
    /// What a message before a block of this length means, and what it is charged to, where it came ahead.
    /// `looked_bytes`: those behind which the file is looked at with this message.
    fn before_block(
        &self,
        looked_bytes: u64,
        answer: Answer,
        charge: Option<Charge>,
        len: u32,
    ) -> Result<BeforeBlock, NetFault>;
    /// All of it in one block, where that comes without a request. `None` where it is to be requested.
    fn take_ahead(&self, at: u64, len: u32) -> Result<Option<ArrivedItem>, NetFault>;
    /// The same file, to be read by requests alone.
    fn once_more(self: Arc<Self>) -> Arc<dyn RemoteBlocks>;
}

/// What a message before a block means.
pub enum BeforeBlock {
    /// No block comes.
    Nothing(Fault),
    /// A block of so many bytes comes; 0: none does, and the file is empty by now. With why it cannot be taken.
    Block(u32, Option<Trouble>),
}

/// Why a block could not be had.
pub enum Trouble {
    /// The other host says why.
    Fault(Fault),
    /// The attributes of its file are more than this side may hold.
    Over(OverBudget),
    /// It came damaged each time.
    Damaged,
}

/// Something that came without a request.
#[derive(Debug)]
pub struct ArrivedItem {
    pub answer: ChargedValue<Answer>,
    /// Of a small file.
    pub block: Option<(Digest, Vec<u8>)>,
    pub frames_bytes: u64,
}

impl ArrivedItem {
    pub fn block_bytes(&self) -> u64 {
        self.block.as_ref().map_or(0, |(_, bytes)| bytes.len() as u64)
    }
}
