//! The ends of the copy loop: how a block becomes a request of the engine, and how a completion is read.
//!
//! A closed set: file, stream, null, and a sink that compares with another file instead of writing.
//!
//! Must not know: which block comes next, when a file is finished, which engine performs.

mod file;
mod sink;
mod source;

pub(crate) use file::FileEnd;
pub(crate) use sink::Sink;
pub(crate) use source::Source;

use datapump_core::{Block, Settled};
use datapump_engine::Errno;

/// The rest of a block behind `done` bytes: offset in the file and number of bytes.
fn rest(block: Block, done: u32) -> (u64, u32) {
    (block.at + u64::from(done), block.len - done)
}

/// What a completion means where the kernel moves any number of bytes.
pub(crate) fn settled(result: Result<u32, Errno>, asked: u32) -> Settled {
    match result {
        Ok(0) => Settled::EndOfData,
        // A padded direct request may move more than the block has left.
        Ok(bytes) => Settled::Moved(bytes.min(asked)),
        Err(Errno::EINTR) => Settled::Retry,
        Err(Errno::ECANCELED) => Settled::Cancelled,
        Err(errno) => Settled::Failed(errno.0),
    }
}
