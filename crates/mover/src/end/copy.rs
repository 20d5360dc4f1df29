//! Blocks that the kernel copies from file to file (`copy_file_range(2)`): one request for both ends.
//!
//! Must not know: when that is the faster way (`how`).

use std::sync::Arc;

use datapump_core::{Request, Settled};
use datapump_engine::os::linux::KernelCall;
use datapump_engine::{Errno, Op};

use super::performer::{Performer, Posted};
use super::{Sink, Source, rest, settle_completion};

/// The errors of copy_file_range(2) where it cannot serve these two files.
const UNABLE: [Errno; 4] = [Errno::EXDEV, Errno::EINVAL, Errno::ENOSYS, Errno::EOPNOTSUPP];

/// Posts the request that copies a block.
pub fn copy(by: &mut Performer<'_>, source: &Source, sink: &Sink, request: Request, inline: bool) -> Posted {
    let performed = by.perform(request, make_copy_op(source, sink, request), inline);
    performed.settled(|result| settle_copied(by, request, result))
}

/// How a request to copy inside the kernel ends. `Unable`: the kernel cannot, and nothing of the block is copied.
pub fn settle_copied(by: &mut Performer<'_>, request: Request, result: Result<u32, Errno>) -> Settled {
    let result = by.completed(request, result, || unreachable!("files have no O_NONBLOCK"));
    let is_unable = |errno| UNABLE.contains(&errno) || KernelCall::CopyFileRange.is_refused_by(errno);
    match result {
        Err(errno) if request.done == 0 && is_unable(errno) => Settled::Unable,
        result => settle_completion(result, request.block.len - request.done),
    }
}

/// The operation that copies the rest of a block inside the kernel.
fn make_copy_op(source: &Source, sink: &Sink, request: Request) -> Op {
    let (Source::File(from), Sink::File(to)) = (source, sink) else {
        unreachable!("only files are copied inside the kernel")
    };
    let (at, len) = rest(request.block, request.done);
    let (from, to) = (Arc::clone(&from.handle), Arc::clone(&to.handle));
    Op::CopyRange { from, from_at: at, to, to_at: at, len }
}
