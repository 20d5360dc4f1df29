//! The ends of the copy loop. An end is whole: it makes requests of the blocks that the pump names, has them performed,
//! and settles what comes back.
//!
//! Sources and sinks are closed sets: file, stripe, stream, null, another host, and a sink that compares with
//! another file instead of writing. A new one is a file here, and a line in `source` or `sink`.
//!
//! Must not know: which block comes next, when a file is finished, which engine performs.

mod block_sender;
mod copy;
mod file;
pub mod hash;
mod performer;
mod receive_lane;
mod remote_blocks;
mod sink;
mod source;
mod stream;
mod stripe;
mod zeros;

pub use block_sender::BlockSender;
pub use copy::{copy, settle_copied};
pub use file::FileEnd;
pub use performer::{Connection, Performer, Posted, QueuedNulls};
pub use receive_lane::{ReceiveLane, TRIES_MAX};
pub use remote_blocks::{ArrivedItem, BeforeBlock, RemoteBlocks, RemoteKind, Trouble};
pub use sink::Sink;
pub use source::Source;
pub use stripe::StripeEnd;

use datapump_core::{Block, Settled};
use datapump_engine::Errno;

/// The rest of a block behind `done` bytes: offset in the file and number of bytes.
fn rest(block: Block, done: u32) -> (u64, u32) {
    (block.at + u64::from(done), block.len - done)
}

/// How a request ends whose completion this is, where the kernel moves any number of bytes; at most `asked` count.
fn settle_completion(result: Result<u32, Errno>, asked: u32) -> Settled {
    match result {
        Ok(0) => Settled::EndOfData,
        // A padded direct request may move more than the block has left.
        Ok(bytes) => Settled::Moved(bytes.min(asked)),
        Err(Errno::ECANCELED) => Settled::Cancelled,
        Err(errno) => Settled::Failed(errno.0),
    }
}
